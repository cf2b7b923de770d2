"""The vISA execution model for one instruction: from its operands to effects.

Channel enable, regions, indirect access, source modifiers, execution type, conversion and
saturation are written here, once, from specification 2 (Data Types), 3 (Execution Model) and 5
(Operands). The tracer records effects; it never computes a value and knows no engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from visim.operands import (
    AddressOf,
    AddressOperand,
    AddressVariable,
    Combine,
    ExecSize,
    General,
    GeneralDestination,
    GeneralSource,
    Immediate,
    IndirectDestination,
    IndirectSource,
    Modifier,
    PredicateOperand,
    PredicateVariable,
    Predication,
    RawOperand,
    Region,
    StateAddressOf,
    StateOperand,
    VectorDestination,
    VectorSource,
)
from visim.sem.effects import (
    Effect,
    Place,
    WriteAddress,
    WriteIndirect,
    WritePredicate,
    WriteRegister,
    WriteState,
)
from visim.sem.expr import (
    UOPS,
    Expr,
    absolute,
    bits_constant,
    broadcast,
    clock,
    constant,
    lane_numbers,
    node,
    select,
    signed,
    take,
    unary,
    unsigned,
    vector_constant,
)
from visim.sem.uops import Role
from visim.target import Platform
from visim.types import BF, BOOL, DF, HF, UD, UV, UW, VF, DataType, F, V, W

CHANNELS = 32
STATE_BYTES = 4
NULL, TSC, CE0, SCRATCHLOC = 0, 6, 15, 21
_WITHOUT_MAGNITUDE = {Modifier.ABS: Modifier.NONE, Modifier.NEG_ABS: Modifier.NEG}


class Integers(Enum):
    """How an instruction's meaning treats integers of different widths and signs.

    EXACT meanings see the mathematical values of their sources. RING meanings (sums, products,
    bitwise operations) need only as many low bits as the result has. UNSIGNED meanings
    reinterpret their sources as unsigned numbers.
    """

    EXACT = auto()
    RING = auto()
    UNSIGNED = auto()


class Unexecutable(Exception):
    """The instruction is well formed, but visim does not execute this form of it."""


@dataclass(slots=True)
class Tracer:
    """Records the effects of one instruction on `platform`.

    `exec_size` and `predication` are those of the instruction (predication None where its form
    has none). `block_shape` is the dword in its payload that has the shape of a 2D block, where
    that is known (None: the run knows it).
    """

    platform: Platform
    exec_size: ExecSize
    predication: Predication | None = None
    block_shape: int | None = None
    effects: list[Effect] = field(default_factory=list[Effect])

    @property
    def lanes(self) -> int:
        """The execution size."""
        return self.exec_size.size

    def emit(self, effect: Effect) -> None:
        """Record an effect."""
        self.effects.append(effect)

    # Channel enable (specification 5, Predication)

    def mask(self) -> Expr | None:
        """Return the enabled channels, or None when that is all of them."""
        predicate = self.predicate_mask()
        if self.exec_size.no_mask:
            return predicate
        execution = self.execution_mask()
        return execution if predicate is None else execution & predicate

    def execution_mask(self) -> Expr:
        """Return the execution mask from the mask control's offset on."""
        return self.execution(self.exec_size.offset, self.lanes)

    @staticmethod
    def execution(offset: int, lanes: int) -> Expr:
        """Return `lanes` bits of the execution mask from channel `offset` on."""
        return Expr(UOPS["execution"], BOOL, lanes, (), offset)

    def predicate_mask(self) -> Expr | None:
        """Return the predicate's bits, combined and inverted, or None without a predicate."""
        if self.predication is None:
            return None
        bits = self.predicate(self.predication.variable, self.exec_size.offset, self.lanes)
        match self.predication.combine:
            case Combine.ANY:
                bits = unary("any", bits)
            case Combine.ALL:
                bits = unary("all", bits)
            case Combine.NONE:
                pass
        return ~bits if self.predication.invert else bits

    @staticmethod
    def predicate(variable: PredicateVariable, offset: int, lanes: int) -> Expr:
        """Return `lanes` bits of a predicate variable from bit `offset` on."""
        return Expr(UOPS["predicate"], BOOL, lanes, (), (variable, offset))

    # Sources

    def read(self, source: VectorSource) -> Expr:
        """Return the channels' values of a source in its own type, without its modifier."""
        match source:
            case GeneralSource(variable, row, col, region, _):
                offset = row * self.platform.grf_bytes + col * variable.type.bytes
                return self._read_general(variable, offset, region)
            case IndirectSource():
                addresses = self._indirect_addresses(source)
                return Expr(UOPS["gather"], source.type, self.lanes, (addresses,))
            case Immediate(bits, kind):
                return self._immediate(bits, kind)
            case AddressOperand(variable, element, width):
                values = self.addresses(variable, element, min(width, self.lanes))
                return take(values, tuple(i % values.lanes for i in range(self.lanes)))
            case AddressOf(variable, offset):
                return Expr(UOPS["address"], UD, self.lanes, (), (variable, offset))
            case PredicateOperand(variable):
                bits = self.predicate(variable, 0, min(variable.count, CHANNELS))
                return broadcast(Expr(UOPS["mask_bits"], UD, 1, (bits,)), self.lanes)
            case StateOperand(variable, element):
                return Expr(UOPS["state"], UD, self.lanes, (), (variable, element))
            case StateAddressOf(variable, element):
                place = (variable, element * STATE_BYTES)
                return Expr(UOPS["address"], UD, self.lanes, (), place)

    def _read_general(self, variable: General, offset: int, region: Region) -> Expr:
        kind = variable.type
        root, base = _readable(variable)
        width = min(region.w, self.lanes)
        if root.index == TSC:
            steps = (n // width * (region.v or 0) + n % width * region.h for n in range(self.lanes))
            return clock(tuple((base + offset + step * kind.bytes) // 4 for step in steps))
        if root.index == CE0:
            return broadcast(
                Expr(UOPS["mask_bits"], UD, 1, (self.execution(0, CHANNELS),)), self.lanes
            )
        if root.index == NULL:
            return bits_constant(0, kind, self.lanes)
        row_stride = (region.v or 0) * kind.bytes
        place = Place(
            root, base + offset, kind, self.lanes, width, row_stride, region.h * kind.bytes
        )
        return Expr(UOPS["read"], kind, self.lanes, (), place)

    def _immediate(self, bits: int, kind: DataType) -> Expr:
        if kind in {V, UV}:
            return vector_constant(
                tuple(_nibble(bits, lane % 8, kind) for lane in range(self.lanes)),
                W if kind == V else UW,
            )
        if kind == VF:
            values = tuple(_restricted_float(bits, lane % 4) for lane in range(self.lanes))
            return vector_constant(values, F)
        return bits_constant(bits & ((1 << kind.bits) - 1), kind, self.lanes)

    @staticmethod
    def addresses(variable: AddressVariable, element: int, lanes: int) -> Expr:
        """Return `lanes` successive elements of an address variable (byte addresses, UD)."""
        return Expr(UOPS["addresses"], UD, lanes, (), (variable, element))

    def _indirect_addresses(self, source: IndirectSource) -> Expr:
        region, size = source.region, source.type.bytes
        width = min(region.w, self.lanes)
        rows = [lane // width for lane in range(self.lanes)]
        columns = [(lane % width) * region.h * size for lane in range(self.lanes)]
        if region.v is None:
            starts = self.addresses(source.address, source.element, self.lanes // width)
            base = take(starts, tuple(rows))
            steps = columns
        else:
            base = broadcast(self.addresses(source.address, source.element, 1), self.lanes)
            steps = [row * region.v * size + col for row, col in zip(rows, columns, strict=True)]
        return base + vector_constant(tuple((step + source.offset) % 2**32 for step in steps), UD)

    def modified(self, source: VectorSource, kind: DataType, *, computes: bool = False) -> Expr:
        """Return a source converted to `kind`, then with its modifier applied.

        Where an operation `computes` with it, CR0 says what becomes of an HF's denormals; moves
        keep them.
        """
        value = self.read(source)
        modifier = getattr(source, "modifier", Modifier.NONE)
        if value.type.is_float:
            value = self._modify(value, modifier)
            if computes and value.type == HF != kind:
                value = node("canonical", HF, value, attribute=Role.SOURCE)
            return value.to(kind)
        if modifier in _WITHOUT_MAGNITUDE:
            value, modifier = _magnitude(value, kind), _WITHOUT_MAGNITUDE[modifier]
        return self._modify(value.to(kind), modifier)

    @staticmethod
    def _modify(value: Expr, modifier: Modifier) -> Expr:
        if value.type == BF and modifier is not Modifier.NONE:
            value = value.to(F)  # BF has no arithmetic of its own
        match modifier:
            case Modifier.NONE:
                return value
            case Modifier.ABS:
                return absolute(value)
            case Modifier.NEG:
                return -value
            case Modifier.NEG_ABS:
                return -absolute(value)
            case Modifier.NOT:
                return ~value

    # Execution type (specification 2, Type Conversion)

    def compute_type(
        self, sources: Sequence[VectorSource], destination: DataType, rule: Integers, saturate: bool
    ) -> DataType:
        """Return the type in which a lane meaning sees its sources."""
        kinds = [source_type(source) for source in sources]
        floats = [kind for kind in kinds if kind.is_float]
        if floats:
            return _float_type(floats, destination)
        bits = max(32, *(kind.bits for kind in kinds))
        if rule is Integers.UNSIGNED:
            return unsigned(bits)
        changed = any(
            getattr(source, "modifier", Modifier.NONE)
            in {Modifier.ABS, Modifier.NEG, Modifier.NEG_ABS}
            for source in sources
        )
        all_signed = all(kind.is_signed for kind in kinds)
        all_unsigned = not any(kind.is_signed for kind in kinds) and not changed
        if rule is Integers.EXACT:
            if all_unsigned:
                return unsigned(bits)
            return signed(bits if all_signed and not changed else min(2 * bits, 128))
        if saturate or destination.is_float:
            if all_unsigned and bits < 64:
                return unsigned(64)
            return signed(64 if all_signed and bits == 32 else 128)
        bits = max(bits, destination.bits)
        return unsigned(bits) if all_unsigned else signed(bits)

    def lane_sources(
        self,
        sources: Sequence[VectorSource],
        destination: VectorDestination,
        rule: Integers,
        *,
        computes: bool = False,
    ) -> list[Expr]:
        """Return the sources of a lane meaning in its compute type; `computes` as in `modified`."""
        kind = self.compute_type(
            sources,
            destination_type(destination),
            rule,
            getattr(destination, "saturate", False),
        )
        if rule is Integers.UNSIGNED and kind.is_integer:
            return [self._as_unsigned(source, kind) for source in sources]
        return [self.modified(source, kind, computes=computes) for source in sources]

    def _as_unsigned(self, source: VectorSource, kind: DataType) -> Expr:
        value = self.read(source)
        bits = value.bits_as(unsigned(value.type.bits)).to(kind)
        return self._modify(bits, getattr(source, "modifier", Modifier.NONE))

    # Destinations

    def write_computed(
        self, destination: VectorDestination, value: Expr, mask: Expr | None
    ) -> None:
        """Write the result of a computation; CR0 says what becomes of an HF's denormals."""
        if value.type.is_float and value.type != HF == destination_type(destination):
            value = node("canonical", HF, value.to(HF), attribute=Role.RESULT)
        self.write(destination, value, mask)

    def write(self, destination: VectorDestination, value: Expr, mask: Expr | None) -> None:
        """Write a lane result: convert it, saturate it, and store it in the enabled channels."""
        match destination:
            case GeneralDestination(variable, row, col, stride, saturate):
                self._write_general(
                    variable,
                    row * self.platform.grf_bytes + col * variable.type.bytes,
                    stride,
                    fitted(value, variable.type, saturate),
                    mask,
                )
            case IndirectDestination():
                self._write_indirect(destination, value, mask)
            case AddressOperand(variable, element, _):
                self.emit(WriteAddress(variable, element, value.to(UD), mask))
            case PredicateOperand(variable):
                offset = self.exec_size.offset
                self.emit(WritePredicate(variable, offset, as_bool(value), mask))
            case StateOperand(variable, element):
                self.emit(WriteState(variable, element, value.to(UD), mask))

    def _write_general(
        self, variable: General, offset: int, stride: int, value: Expr, mask: Expr | None
    ) -> None:
        root, base = variable.root()
        if root.index == NULL:
            return
        size = variable.type.bytes
        place = Place(
            root, base + offset, variable.type, value.lanes, value.lanes, 0, stride * size
        )
        self.emit(WriteRegister(place, value, mask))

    def _write_indirect(
        self, destination: IndirectDestination, value: Expr, mask: Expr | None
    ) -> None:
        kind = destination.type
        start = self.addresses(destination.address, destination.element, 1)
        steps = tuple(
            (lane * destination.stride * kind.bytes + destination.offset) % 2**32
            for lane in range(self.lanes)
        )
        addresses = broadcast(start, self.lanes) + vector_constant(steps, UD)
        self.emit(WriteIndirect(addresses, fitted(value, kind, destination.saturate), mask))

    # Raw operands (specification 5, Raw Operands)

    def raw(self, operand: RawOperand, kind: DataType, lanes: int, offset: int = 0) -> Expr:
        """Return `lanes` elements of a message's payload from byte `offset` on."""
        return self.raw_strided(operand, kind, lanes, offset, kind.bytes)

    def raw_strided(
        self, operand: RawOperand, kind: DataType, lanes: int, offset: int, stride: int
    ) -> Expr:
        """Return elements of a message's payload that stand `stride` bytes apart."""
        if operand.is_null:
            return bits_constant(0, kind, lanes)
        root, base = _readable(operand.variable)
        start = base + operand.offset + offset
        place = Place(root, start, kind, lanes, lanes, 0, stride)
        return Expr(UOPS["read"], kind, lanes, (), place)

    def write_raw(
        self, operand: RawOperand, value: Expr, mask: Expr | None, offset: int = 0
    ) -> None:
        """Write elements one after another into a message's destination."""
        if operand.is_null:
            return
        root, base = operand.variable.root()
        start = base + operand.offset + offset
        kind = value.type
        place = Place(root, start, kind, value.lanes, value.lanes, 0, kind.bytes)
        self.emit(WriteRegister(place, value, mask))

    def scalar(self, source: VectorSource, kind: DataType) -> Expr:
        """Return the first element of a scalar operand as one lane of `kind`."""
        narrow = Tracer(self.platform, ExecSize(1, 0, no_mask=True))
        if isinstance(source, GeneralSource):
            source = replace(source, region=Region(0, 1, 0))
        return narrow.modified(source, kind)

    def successive(
        self, source: GeneralSource | IndirectSource, kind: DataType, count: int
    ) -> Expr:
        """Return `count` elements one after another from a source's start, whatever its region."""
        wide = Tracer(self.platform, ExecSize(count, 0, no_mask=True))
        return wide.modified(replace(source, region=Region(1, 1, 0)), kind)


def _readable(variable: General) -> tuple[General, int]:
    """Return a source's root and its place in it; the finalizer alone knows what SCRATCHLOC is."""
    root, base = variable.root()
    if root.index == SCRATCHLOC:
        raise Unexecutable("%scratchloc is read other than as the pointer in surf()")
    return root, base


def _magnitude(value: Expr, kind: DataType) -> Expr:
    """Return the magnitudes of integers, in as many bits as `kind` and they themselves have.

    Taken in `kind`, an unsigned source's could lose its upper half to the sign, and a signed one
    could have none.
    """
    if not value.type.is_signed:
        return value
    return absolute(value.to(signed(max(kind.bits, value.type.bits))))


def source_type(source: VectorSource) -> DataType:
    """Return the type that a source contributes to the execution type."""
    match source:
        case GeneralSource(variable):
            return variable.type
        case IndirectSource() | Immediate():
            return {V: W, UV: UW, VF: F}.get(source.type, source.type)
        case _:
            return UD


def destination_type(destination: VectorDestination) -> DataType:
    """Return the type of a destination's elements."""
    match destination:
        case GeneralDestination(variable):
            return variable.type
        case IndirectDestination():
            return destination.type
        case PredicateOperand():
            return BOOL
        case AddressOperand() | StateOperand():
            return UD


def _float_type(floats: Sequence[DataType], destination: DataType) -> DataType:
    if DF in floats:
        return DF
    if all(kind == HF for kind in floats) and destination != F:
        return HF
    return F


def fitted(value: Expr, kind: DataType, saturate: bool) -> Expr:
    """Return a result as the destination's type holds it (specification 2, Saturation)."""
    if value.type is BOOL:
        ones = bits_constant(-1 & ((1 << kind.bits) - 1), kind, value.lanes)
        return select(value, ones, bits_constant(0, kind, value.lanes))
    if kind.is_float:
        converted = value.to(kind)
        if not saturate:
            return converted
        if kind == BF:
            return unary("saturate", converted.to(F)).to(BF)
        return unary("saturate", converted)
    if value.type.is_integer and saturate and value.type != kind:
        return node("clamp", kind, value)
    return value.to(kind)


def as_bool(value: Expr) -> Expr:
    """Return a value as booleans: any bit set."""
    return value if value.type is BOOL else value.ne(constant(0, value.type, value.lanes))


def bits_of(value: Expr, lanes: int) -> Expr:
    """Return the low bits of a one-lane UD as booleans, bit 0 first."""
    if value.uop.name == "constant":
        return vector_constant(tuple(value.attribute >> lane & 1 for lane in range(lanes)), BOOL)
    ones = broadcast(value, lanes) >> lane_numbers(lanes)
    return (ones & 1).ne(0)


def _nibble(bits: int, index: int, kind: DataType) -> int:
    value = bits >> (4 * index) & 0xF
    return value - 16 if kind == V and value > 7 else value


def _restricted_float(bits: int, index: int) -> float:
    """Return one 8-bit restricted float: sign, 3 exponent bits of bias 3, 4 fraction bits."""
    byte = bits >> (8 * index) & 0xFF
    magnitude = byte & 0x7F
    if magnitude == 0:
        return -0.0 if byte & 0x80 else 0.0
    value = (1 + (magnitude & 0xF) / 16) * 2.0 ** ((magnitude >> 4) - 3)
    return -value if byte & 0x80 else value
