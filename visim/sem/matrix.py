"""The systolic products DPAS and DPASW: D = C + A x B on tiles in registers.

C (src0) and D (dst) have `repeats` rows of one element a channel. A (src2) has as many rows, one
after another. B (src1) has a column in each channel: successive elements fill the channel's dword
of a register, then that of the next one. Follows the specification's page DPAS.

Integers are added modulo 2**32. Floats are accumulated in F, one element of K after the other,
each product and sum rounded once to nearest even; denormals are kept, whatever CR0 says. An
accumulator of HF or BF is converted once before and once after.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from visim.operands import General
from visim.sem.effects import FusedExchange, Place
from visim.sem.exactness import Exactness
from visim.sem.expr import UOPS, Expr, concat, constant, node, take, unsigned, vector_constant
from visim.sem.nearest import RNE
from visim.sem.tracer import Tracer, Unexecutable
from visim.target import Platform
from visim.types import BF, HF, UB, UD, UW, D, DataType, F

ACCUMULATION = Exactness(None, "order and rounding of the accumulation", "Matrix products")
DEPTHS = (1, 2, 4, 8)
_TOGETHER = 4
"""So many products of integers are added at once."""
_TILES = {UD, D}


@dataclass(frozen=True, slots=True)
class Precision:
    """What the elements of A or B are: `bits` wide; `type` F, BF, HF, or D or UD for integers."""

    bits: int
    type: DataType

    @property
    def is_float(self) -> bool:
        """Whether elements are floats."""
        return self.type.is_float


PRECISIONS = {
    "u1": Precision(1, UD),
    "s1": Precision(1, D),
    "u2": Precision(2, UD),
    "s2": Precision(2, D),
    "u4": Precision(4, UD),
    "s4": Precision(4, D),
    "u8": Precision(8, UD),
    "s8": Precision(8, D),
    "bf": Precision(16, BF),
    "hf": Precision(16, HF),
    "bf8": Precision(8, HF),
    "tf32": Precision(32, F),
}


def elements_per_step(weights: Precision, activations: Precision) -> int:
    """Return how many elements of K one stage takes (the page's OPS_PER_CHAN)."""
    widest = max(weights.bits, activations.bits)
    return 32 // widest if widest >= 8 else 8


def legal(i: Any, platform: Platform | None) -> str | None:
    """Tell what is wrong with an instruction's precisions, sizes and types, or with the device."""
    weights, activations = PRECISIONS[i.weights], PRECISIONS[i.activations]
    if (weights.is_float or activations.is_float) and i.weights != i.activations:
        return f"{i.weights} and {i.activations} do not go together"
    if i.depth not in DEPTHS:
        return f"the depth is 1, 2, 4 or 8, found {i.depth}"
    if not 1 <= i.repeats <= 8:
        return f"the repeat count is 1 to 8, found {i.repeats}"
    accumulators = _accumulators(i.weights)
    for name, operand in (("dst", i.dst), ("src0", i.src0)):
        kind = operand.variable.type
        if kind not in accumulators and not operand.is_null:
            expected = " or ".join(repr(kind) for kind in accumulators)
            return f"{name} of a product of {i.weights} is {expected}, found {kind!r}"
    for name, operand in (("src1", i.src1), ("src2", i.src2)):
        if operand.variable.is_predefined:
            return f"{name} is a variable, found {operand.variable.name}"
        if operand.variable.type not in _TILES:
            return f"{name} is UD or D, found {operand.variable.type!r}"
    if platform is None:
        return None
    return _wrong_device(i, platform)


def restricted(i: Any, platform: Platform | None) -> str | None:
    """Tell what is wrong with an instruction, also with the places of its tiles."""
    return legal(i, platform) or (platform and _wrong_place(i, platform)) or None


def _wrong_device(i: Any, platform: Platform) -> str | None:
    if not platform.has_matrix:
        return f"{platform.name} has no matrix instructions"
    if i.op.mnemonic == "dpasw" and not platform.is_fused:
        return f"{platform.name} has no fused threads"
    size = platform.matrix_channels
    if i.exec.size != size:
        return f"the execution size is {size} on {platform.name}, found {i.exec.size}"
    return None


def _wrong_place(i: Any, platform: Platform) -> str | None:
    """Tell which tile does not start where it should, or does not fit in its variable."""
    weights, activations = PRECISIONS[i.weights], PRECISIONS[i.activations]
    elements = i.depth * elements_per_step(weights, activations)
    row = elements * activations.bits // 8
    # A dword of narrow weights lasts for several stages.
    column = -(-elements * weights.bits // 32) * 4
    shared = 2 if i.op.mnemonic == "dpasw" else 1
    start = i.src2.row * platform.grf_bytes + i.src2.col * i.src2.variable.type.bytes
    rows = i.repeats * i.exec.size
    tiles = (
        ("dst", i.dst.variable, i.dst.offset, platform.grf_bytes, rows * i.dst.variable.type.bytes),
        (
            "src0",
            i.src0.variable,
            i.src0.offset,
            platform.grf_bytes,
            rows * i.src0.variable.type.bytes,
        ),
        ("src1", i.src1.variable, i.src1.offset, platform.grf_bytes, column * i.exec.size),
        ("src2", i.src2.variable, start, row, -(-i.repeats // shared) * row),
    )
    for name, variable, offset, unit, size in tiles:
        if variable.is_predefined:
            continue
        if (variable.root()[1] + offset) % unit:
            return f"{name} starts at a multiple of {unit} bytes, found byte {offset}"
        if offset + size > variable.bytes:
            return f"{name} takes {size} bytes, {variable.name} has {variable.bytes - offset}"
    return None


def _accumulators(precision: str) -> tuple[DataType, ...]:
    match precision:
        case "hf":
            return (F, HF)
        case "bf":
            return (F, BF)
        case "tf32" | "bf8":
            return (F,)
        case _:
            return (UD, D)


def multiply_accumulate(t: Tracer, i: Any, *, shared: bool) -> None:
    """Record D = C + A x B; where A is `shared`, each thread of a fused pair has one half of it.

    The pages know no channel enable: all channels are written.

    Raises:
        Unexecutable: the device has no such instruction, or not of this form.
    """
    wrong = legal(i, t.platform)
    if wrong is not None:
        raise Unexecutable(wrong)
    if shared:
        t.emit(FusedExchange())
    tile = _Tile(t, i, shared=shared)
    total = tile.float_sum() if tile.weights.is_float else tile.integer_sum()
    t.write_raw(i.dst, total, None)


class _Tile:
    """One instruction's operands as vectors of all elements of D, one row after another."""

    def __init__(self, t: Tracer, i: Any, *, shared: bool) -> None:
        self.t, self.i, self.shared = t, i, shared
        self.weights = PRECISIONS[i.weights]
        self.activations = PRECISIONS[i.activations]
        self.step = elements_per_step(self.weights, self.activations)
        self.channels = t.lanes
        self.lanes = i.repeats * t.lanes
        self.terms = range(i.depth * self.step)

    def integer_sum(self) -> Expr:
        """Return C + A x B of integers, modulo 2**32: four elements of K after the other."""
        total = self.t.raw(self.i.src0, D, self.lanes)
        for group in range(len(self.terms) // _TOGETHER):
            total = node("dot", D, self._activations(group), self._weights(group), total)
        return total

    def _weights(self, group: int) -> Expr:
        """Return four elements of B's columns as the bytes of dwords, repeated for each row."""
        bits = self.weights.bits
        register, bit = divmod(group * _TOGETHER * bits, 32)
        value = self._column(self.weights.type, register)
        return _spread(value >> bit if bit else value, self.weights)

    def _activations(self, group: int) -> Expr:
        """Return four elements of A's rows as the bytes of dwords, repeated for each channel."""
        groups = len(self.terms) // _TOGETHER
        picks = (lane // self.channels * groups + group for lane in range(self.lanes))
        return take(self._quartets, tuple(picks))

    @cached_property
    def _quartets(self) -> Expr:
        """All of A, one row after another, four elements a dword."""
        bits, kind = self.activations.bits, self.activations.type
        count = self.i.repeats * len(self.terms) // _TOGETHER
        if bits == 8:
            return self._run(kind, count)
        octets = self._run(UB, -(-count * _TOGETHER * bits // 8)).to(kind)
        starts = [group * _TOGETHER * bits for group in range(count)]
        value = take(octets, tuple(start // 8 for start in starts))
        if bits == 4:
            high = take(octets, tuple(start // 8 + 1 for start in starts))
            value = value | high << 8
        elif bits == 1:
            value = value >> vector_constant(tuple(start % 8 for start in starts), kind)
        return _spread(value, self.activations)

    def float_sum(self) -> Expr:
        """Return C + A x B of floats in the destination's type."""
        kind = self.i.src0.variable.type
        if self.i.src0.is_null:
            total = constant(0, F, self.lanes)
        else:
            total = self.t.raw(self.i.src0, kind, self.lanes).to(F)
        for a, b in self._factors():
            total = node("ffma", F, a, b, total, attribute=RNE)
        target = self.i.dst.variable.type
        return total if target == F else node("convert", target, total, attribute=RNE)

    def _factors(self) -> Iterator[tuple[Expr, Expr]]:
        for k in self.terms:
            yield self._activation(k), self._weight(k)

    def _weight(self, k: int) -> Expr:
        """Return element k of B's columns, repeated for each row."""
        bits, kind = self.weights.bits, _stored(self.weights)
        register, bit = divmod(k * bits, 32)
        value = self._column(UD, register)
        if bits < 32:
            value = (value >> bit if bit else value).to(unsigned(bits))
        return _element(value.bits_as(kind), self.weights)

    def _column(self, kind: DataType, register: int) -> Expr:
        """Return the dword of each channel in a register of B, repeated for each row."""
        root, base = self.i.src1.variable.root()
        start = base + self.i.src1.offset + register * self.t.platform.grf_bytes
        place = Place(root, start, kind, self.lanes, self.channels, 0, 4)
        return Expr(UOPS["read"], kind, self.lanes, (), place)

    def _activation(self, k: int) -> Expr:
        """Return element k of A's rows, repeated for each channel."""
        terms = len(self.terms)
        picks = (lane // self.channels * terms + k for lane in range(self.lanes))
        return take(self._floats, tuple(picks))

    @cached_property
    def _floats(self) -> Expr:
        """All of A, one row after another."""
        count = self.i.repeats * len(self.terms)
        return _element(self._run(_stored(self.activations), count), self.activations)

    def _run(self, kind: DataType, count: int) -> Expr:
        """Return the first `count` elements of A, one after another, as `kind`."""
        if not self.shared:
            return self._registers("read", kind, count)
        grf = self.t.platform.grf_bytes
        registers = -(-count * kind.bytes // grf)
        own = min(count, (registers + 1) // 2 * grf // kind.bytes)
        first = self._registers("fused", kind, own, 0)
        if own == count:
            return first
        return concat((first, self._registers("fused", kind, count - own, 1)))

    def _registers(self, uop: str, kind: DataType, count: int, thread: int | None = None) -> Expr:
        root, start = self._source2()
        place = Place(root, start, kind, count, count, 0, kind.bytes)
        return Expr(UOPS[uop], kind, count, (), place if thread is None else (thread, place))

    def _source2(self) -> tuple[General, int]:
        source = self.i.src2
        root, base = source.variable.root()
        grf = self.t.platform.grf_bytes
        return root, base + source.row * grf + source.col * source.variable.type.bytes


def _stored(precision: Precision) -> DataType:
    """Return the type as which floats are read."""
    return precision.type if precision.bits > 8 else UB


def _element(value: Expr, precision: Precision) -> Expr:
    """Return the floats of a precision, as F, that are stored in a value."""
    if precision == PRECISIONS["bf8"]:
        return (value.to(UW) << 8).bits_as(HF).to(F)
    if precision == PRECISIONS["tf32"]:
        return (value.bits_as(UD) & 0xFFFF_E000).bits_as(F)
    return value.to(F)


def _spread(value: Expr, precision: Precision) -> Expr:
    """Return the four elements in the low bits of dwords as the bytes of dwords."""
    bits = precision.bits
    if bits == 8:
        return value
    value = value.bits_as(UD) & ((1 << _TOGETHER * bits) - 1)
    for parts, width in ((2, 2 * bits), (4, bits)):
        value = (value | value << (32 // parts - width)) & _every(parts, (1 << width) - 1)
    if precision.type == UD:
        return value
    # A sign in bit n - 1 of a byte is copied to bits n to 7: 2**8 - 2**n.
    sign = value & _every(_TOGETHER, 1 << bits - 1)
    return (value | (sign << (8 - bits)) - sign << 1).bits_as(D)


def _every(parts: int, bits: int) -> int:
    """Return a dword with the same bits at the bottom of each of its equal parts."""
    return sum(bits << 32 // parts * part for part in range(parts))
