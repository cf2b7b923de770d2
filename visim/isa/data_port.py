"""What the descriptors of raw messages to the data port ask for, as operations on memory.

The messages of skl to dg2 that compilers make of GATHER4_SCALED, SCATTER4_SCALED, GATHER_SCALED,
SCATTER_SCALED, DWORD_ATOMIC, OWORD_LD, OWORD_ST and the SVM messages; their descriptors are the
same on all of these devices. Fields of a descriptor are those that Intel's finalizer writes for
the vISA instructions; a descriptor that asks for something else is refused.
"""

from collections.abc import Callable
from dataclasses import dataclass

from visim.isa.surfaces import SLM_ADDRESS_BITS, load_slots, loaded, store_slots
from visim.operands import Immediate, RawOperand, VectorSource
from visim.sem.atomics import AtomicOperation
from visim.sem.effects import Atomic, Fence, Load, LoadBlock, Space, Store, StoreBlock
from visim.sem.expr import Expr, constant, unsigned
from visim.sem.tracer import Tracer, Unexecutable
from visim.types import UD, UQ, DataType

DATA_CACHE_0, DATA_CACHE_1 = 10, 12
FUNCTIONS = {
    0: "null",
    2: "sampler",
    3: "message gateway",
    4: "data port of the sampler's cache",
    5: "render cache",
    6: "unified return buffer",
    7: "thread spawner",
    8: "video motion estimation",
    9: "constant cache",
    DATA_CACHE_0: "data cache 0",
    11: "pixel interpolator",
    DATA_CACHE_1: "data cache 1",
    13: "typed or refinement unit",
}
"""Shared functions by number."""

_SLM_INDEX, _LAST_INDEX = 254, 239
_FLAT_INDICES = (253, 255)
_ATOMICS = {
    1: AtomicOperation.AND,
    2: AtomicOperation.OR,
    3: AtomicOperation.XOR,
    4: AtomicOperation.XCHG,
    5: AtomicOperation.INC,
    6: AtomicOperation.DEC,
    7: AtomicOperation.ADD,
    8: AtomicOperation.SUB,
    10: AtomicOperation.SMAX,
    11: AtomicOperation.SMIN,
    12: AtomicOperation.UMAX,
    13: AtomicOperation.UMIN,
    14: AtomicOperation.CMPXCHG,
    15: AtomicOperation.PREDEC,
}
_OWORDS = {0: 1, 2: 2, 3: 4, 4: 8}


@dataclass(frozen=True, slots=True)
class RawMessage:
    """A raw message.

    Attributes:
        function: The shared function's number.
        descriptor: The message descriptor, None if only the run knows it.
        extended: The extended message descriptor.
        parts: Payloads, each with its registers.
        dst: Where the response goes.
    """

    function: int
    descriptor: int | None
    extended: VectorSource
    parts: tuple[tuple[RawOperand, int], ...]
    dst: RawOperand

    def field(self, high: int, low: int) -> int:
        """Return bits of the descriptor."""
        return (self.descriptor or 0) >> low & (1 << high - low + 1) - 1

    @property
    def known_extended(self) -> int | None:
        """The extended message descriptor, None if only the run knows it."""
        return self.extended.bits if isinstance(self.extended, Immediate) else None

    @property
    def kind(self) -> int:
        """The message's type, as the data port numbers them."""
        return self.field(18, 14)

    @property
    def operation(self) -> int:
        """What an LSC message does, as LSC numbers it."""
        return self.field(5, 0)

    @property
    def has_header(self) -> bool:
        """Whether the first register is a header."""
        return bool(self.field(19, 19))

    def payload(self, t: Tracer, register: int, kind: DataType, lanes: int) -> Expr:
        """Return elements of the payload from the register with that number on."""
        for operand, registers in self.parts:
            if register < registers:
                return t.raw(operand, kind, lanes, register * t.platform.grf_bytes)
            register -= registers
        raise Unexecutable("a raw message whose payload is shorter than what it asks for")


def perform(t: Tracer, message: RawMessage) -> bool:
    """Record what a message does; return False if it is none that is known here."""
    known = _MESSAGES.get((message.function, message.kind))
    if known is None or message.descriptor is None or t.platform.grf_bytes != 32:
        return False
    known(t, message)
    return True


@dataclass(frozen=True, slots=True)
class _Target:
    """Which memory a message reaches, and how wide its addresses are."""

    space: Space
    index: Expr | None
    kind: DataType

    def addresses(self, t: Tracer, m: RawMessage, lanes: int) -> Expr:
        """Return the addresses that the payload begins with."""
        found = m.payload(t, 0, self.kind, lanes)
        return found & SLM_ADDRESS_BITS if self.space is Space.SLM else found


def _surface(m: RawMessage) -> _Target:
    index = m.field(7, 0)
    if index == _SLM_INDEX:
        return _Target(Space.SLM, None, UD)
    if index > _LAST_INDEX:
        raise Unexecutable(f"a raw message to binding table index {index}, which is not a surface")
    return _Target(Space.SURFACE, constant(index, UD, 1), UD)


def _flat(m: RawMessage) -> _Target:
    if m.field(7, 0) not in _FLAT_INDICES:
        raise Unexecutable("a raw message of 64-bit addresses to a surface")
    return _Target(Space.FLAT, None, UQ)


def _registers(t: Tracer, kind: DataType) -> int:
    return -(-t.lanes * kind.bytes // t.platform.grf_bytes)


def _check_lanes(t: Tracer, expected: int, m: RawMessage) -> None:
    if t.lanes != expected or m.has_header:
        raise Unexecutable(
            f"a raw message of {expected} channels in an instruction of {t.lanes}, or with a header"
        )


def _respond(t: Tracer, m: RawMessage, value: Expr, register: int, mask: Expr | None) -> None:
    t.write_raw(m.dst, value, mask, register * t.platform.grf_bytes)


# Dwords by channel


def _channels(t: Tracer, m: RawMessage) -> list[int]:
    _check_lanes(t, {1: 16, 2: 8}.get(m.field(13, 12), 0), m)
    return [slot for slot in range(4) if not m.field(11, 8) >> slot & 1]


def _read_channels(t: Tracer, m: RawMessage, target: _Target) -> None:
    slots = _channels(t, m)
    addresses = target.addresses(t, m, t.lanes)
    found = load_slots(t, target.space, target.index, addresses, slots, UD)
    for position, value in enumerate(found):
        _respond(t, m, value, position * _registers(t, UD), t.mask())


def _write_channels(t: Tracer, m: RawMessage, target: _Target) -> None:
    slots = _channels(t, m)
    addresses = target.addresses(t, m, t.lanes)
    first = _registers(t, target.kind)
    values = [
        m.payload(t, first + position * _registers(t, UD), UD, t.lanes)
        for position in range(len(slots))
    ]
    store_slots(t, target.space, target.index, addresses, slots, values)


# Bytes, dwords and qwords


def _narrow(code: int) -> DataType:
    if code == 3:
        raise Unexecutable("a raw message of elements of 8 bytes in a dword")
    return unsigned(8 << code)


def _read_bytes(t: Tracer, m: RawMessage) -> None:
    _check_lanes(t, 16 if m.field(8, 8) else 8, m)
    target, kind = _surface(m), _narrow(m.field(11, 10))
    addresses = target.addresses(t, m, t.lanes)
    load = Load(target.space, target.index, addresses, kind, 1, t.mask())
    t.emit(load)
    _respond(t, m, loaded(load, kind, t.lanes).to(UD), 0, load.mask)


def _write_bytes(t: Tracer, m: RawMessage) -> None:
    _check_lanes(t, 16 if m.field(8, 8) else 8, m)
    target, kind = _surface(m), _narrow(m.field(11, 10))
    value = m.payload(t, _registers(t, UD), UD, t.lanes).to(kind)
    addresses = target.addresses(t, m, t.lanes)
    t.emit(Store(target.space, target.index, addresses, (value,), t.mask()))


def _flat_elements(t: Tracer, m: RawMessage) -> tuple[DataType, DataType, int]:
    """Return the types in memory and registers, and how many elements a channel has."""
    _check_lanes(t, 8, m)
    size, count = m.field(9, 8), m.field(11, 10)
    if size == 0:
        return _narrow(count), UD, 1
    if size == 3:
        raise Unexecutable("a raw message of elements of an unknown size")
    kind = UD if size == 1 else UQ
    return kind, kind, 1 << count


def _gather_flat(t: Tracer, m: RawMessage) -> None:
    kind, slot, count = _flat_elements(t, m)
    addresses = _flat(m).addresses(t, m, t.lanes)
    load = Load(Space.FLAT, None, addresses, kind, count, t.mask())
    t.emit(load)
    for element in range(count):
        value = loaded(load, kind, t.lanes, element).to(slot)
        _respond(t, m, value, element * _registers(t, slot), load.mask)


def _scatter_flat(t: Tracer, m: RawMessage) -> None:
    kind, slot, count = _flat_elements(t, m)
    first = _registers(t, UQ)
    values = tuple(
        m.payload(t, first + element * _registers(t, slot), slot, t.lanes).to(kind)
        for element in range(count)
    )
    t.emit(Store(Space.FLAT, None, _flat(m).addresses(t, m, t.lanes), values, t.mask()))


# Atomics


def _atomic(t: Tracer, m: RawMessage, target: _Target, kind: DataType) -> None:
    operation = _ATOMICS.get(m.field(11, 8))
    if operation is None:
        raise Unexecutable(f"a raw message with the atomic operation {m.field(11, 8)}")
    first, step = _registers(t, target.kind), _registers(t, kind)
    operands = tuple(
        m.payload(t, first + number * step, kind, t.lanes)
        for number in range(operation.operand_count)
    )
    addresses = target.addresses(t, m, t.lanes)
    effect = Atomic(operation, target.space, target.index, addresses, kind, operands, t.mask())
    t.emit(effect)
    if m.field(13, 13):
        _respond(t, m, loaded(effect, kind, t.lanes), 0, effect.mask)


def _surface_atomic(t: Tracer, m: RawMessage) -> None:
    _check_lanes(t, 8 if m.field(12, 12) else 16, m)
    _atomic(t, m, _surface(m), UD)


def _flat_atomic(t: Tracer, m: RawMessage) -> None:
    _check_lanes(t, 8, m)
    _atomic(t, m, _flat(m), UQ if m.field(12, 12) else UD)


# Blocks, whose header has the address


def _block(t: Tracer, m: RawMessage, unit: int) -> tuple[_Target, Expr, int]:
    """Return the memory, the first byte's address, and how many dwords a block has."""
    owords = _OWORDS.get(m.field(10, 8))
    if not m.has_header or owords is None or t.mask() is not None:
        raise Unexecutable("a raw block message without a header, of an unknown size or masked")
    if m.function == DATA_CACHE_1:
        return _flat(m), m.payload(t, 0, UQ, 1), 4 * owords
    operand, _ = m.parts[0]
    offset = t.raw(operand, UD, 1, 2 * UD.bytes)
    return _surface(m), offset if unit == 1 else offset.to(UQ) * unit, 4 * owords


def _read_block(t: Tracer, m: RawMessage, unit: int = 1) -> None:
    target, address, count = _block(t, m, unit)
    load = LoadBlock(target.space, target.index, address, UD, count, None)
    t.emit(load)
    _respond(t, m, loaded(load, UD, count), 0, None)


def _write_block(t: Tracer, m: RawMessage, unit: int = 1) -> None:
    target, address, count = _block(t, m, unit)
    value = m.payload(t, 1, UD, count)
    t.emit(StoreBlock(target.space, target.index, address, value, None))


def _fence(t: Tracer, m: RawMessage) -> None:
    del m
    t.emit(Fence())


_OWORD = 16
_MESSAGES: dict[tuple[int, int], Callable[[Tracer, RawMessage], None]] = {
    (DATA_CACHE_0, 0x00): lambda t, m: _read_block(t, m, _OWORD),
    (DATA_CACHE_0, 0x01): _read_block,
    (DATA_CACHE_0, 0x04): _read_bytes,
    (DATA_CACHE_0, 0x07): _fence,
    (DATA_CACHE_0, 0x08): lambda t, m: _write_block(t, m, _OWORD),
    (DATA_CACHE_0, 0x0C): _write_bytes,
    (DATA_CACHE_1, 0x01): lambda t, m: _read_channels(t, m, _surface(m)),
    (DATA_CACHE_1, 0x02): _surface_atomic,
    (DATA_CACHE_1, 0x09): lambda t, m: _write_channels(t, m, _surface(m)),
    (DATA_CACHE_1, 0x10): _gather_flat,
    (DATA_CACHE_1, 0x11): lambda t, m: _read_channels(t, m, _flat(m)),
    (DATA_CACHE_1, 0x12): _flat_atomic,
    (DATA_CACHE_1, 0x14): _read_block,
    (DATA_CACHE_1, 0x15): _write_block,
    (DATA_CACHE_1, 0x19): lambda t, m: _write_channels(t, m, _flat(m)),
    (DATA_CACHE_1, 0x1A): _scatter_flat,
}
"""Messages by shared function and type."""
