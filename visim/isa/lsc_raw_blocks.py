"""Raw messages that move LSC 2D blocks (specification LSC_UNTYPED; RAW_SENDS).

The descriptor has the size of elements and their order, but the block's shape stands in the
payload, so that only the run knows it. Which cell stands where, which `lsc_block2d.arrangement`
says of a known shape, is computed here for one register after another.
"""

from dataclasses import dataclass
from functools import reduce

from visim.isa.data_port import RawMessage
from visim.isa.lsc import element_of
from visim.isa.lsc_block2d import elements_at, enabled_of, vnni_group
from visim.isa.surfaces import loaded
from visim.sem.effects import Load, Space, Store
from visim.sem.expr import (
    Expr,
    bits_constant,
    broadcast,
    constant,
    lane_numbers,
    node,
    unary,
)
from visim.sem.tracer import Tracer, Unexecutable
from visim.types import UD, UQ, D, DataType, Q

LOAD_BLOCK, STORE_BLOCK = 0x03, 0x07
"""Operations, as LSC numbers them."""

_GLOBAL = {1, 15}
_SIZES = ("d8", "d16", "d32", "d64")
_SHAPE, _BYTE, _LENGTH = 7 * UD.bytes, 0xFF, 0xF
_MOST_RESPONSE, _LONGEST = 31, 32
_WORD_BITS = 32


@dataclass(frozen=True, slots=True)
class _Block:
    """What is known of a block before and in the run.

    Attributes:
        kind: The type of its elements.
        group: How many of them, of successive rows, stand together in a dword.
        transposed: Whether columns, and not rows, stand one after another.
        width, height, blocks: Its shape: elements, rows and how many stand side by side.
        numbers: Where it is, as `sem.effects.Rectangle.numbers`.
        enabled: Whether the message takes place (None: it does).
    """

    kind: DataType
    group: int
    transposed: bool
    width: Expr
    height: Expr
    blocks: Expr
    numbers: tuple[Expr, ...]
    enabled: Expr | None

    @property
    def inner(self) -> Expr:
        """How many elements stand one after another."""
        return self.height if self.transposed else self.width

    @property
    def outer(self) -> Expr:
        """How many times so many do."""
        return self.width if self.transposed else self.height

    @property
    def row_bits(self) -> Expr:
        """The logarithm of the elements that a row takes: the next power of two."""
        return constant(_WORD_BITS, UD, 1) - unary("clz", self.inner - 1)

    def registers(self, grf: int) -> Expr:
        """Return how many registers one block takes: whole ones."""
        rows = self.outer + (self.group - 1) & (1 << _WORD_BITS) - self.group
        size = (rows << self.row_bits) * self.kind.bytes
        return size + (grf - 1) >> grf.bit_length() - 1


@dataclass(frozen=True, slots=True)
class _Part:
    """What stands in one register: where its elements are in memory, and which of them are."""

    addresses: Expr
    mask: Expr
    reached: Expr
    """Whether the message has the register, one lane."""


def move_block(t: Tracer, message: RawMessage) -> None:
    """Record what a message that loads or stores 2D blocks does.

    Raises:
        Unexecutable: its descriptor asks for what such messages do not have.
    """
    block = _block(t, message)
    if message.operation == LOAD_BLOCK:
        _load(t, message, block)
    else:
        _store(t, message, block)


def _block(t: Tracer, message: RawMessage) -> _Block:
    size, vnni = message.field(11, 9), bool(message.field(7, 7))
    if message.function not in _GLOBAL or message.field(30, 29):
        raise Unexecutable("a raw message for 2D blocks that are not in flat memory (ugm)")
    if size >= len(_SIZES) or (vnni and _SIZES[size] == "d64"):
        order = ", VNNI transformed" if vnni else ""
        raise Unexecutable(f"a raw message for 2D blocks of data size {size}{order}")
    kind = element_of(_SIZES[size]).memory
    operand, _ = message.parts[0]

    def number(place: int, kind: DataType = UD) -> Expr:
        return t.raw(operand, kind, 1, place * UD.bytes)

    shape = t.raw(operand, UD, 1, _SHAPE)
    return _Block(
        kind=kind,
        group=vnni_group(kind.bytes) if vnni else 1,
        transposed=bool(message.field(15, 15)),
        width=(shape & _BYTE) + 1,
        height=(shape >> 8 & _BYTE) + 1,
        blocks=(shape >> 16 & _LENGTH) + 1,
        numbers=(number(0, UQ), number(2), number(3), number(4) + 1, number(5, D), number(6, D)),
        enabled=enabled_of(t),
    )


def _part(t: Tracer, block: _Block, register: int) -> _Part:
    """Return what stands in a register of the data."""
    grf = t.platform.grf_bytes
    lanes = grf // block.kind.bytes
    each = block.registers(grf)
    turn = node("div", UD, constant(register, UD, 1), each)
    reached = turn.lt(block.blocks)
    first = (constant(register, UD, 1) - turn * each) * lanes

    def spread(value: Expr) -> Expr:
        return broadcast(value, lanes)

    place = spread(first) + lane_numbers(lanes)
    group_bits = block.group.bit_length() - 1
    row_bits = block.row_bits
    above = place >> spread(row_bits + group_bits)
    across = place & spread((bits_constant(1, UD, 1) << row_bits + group_bits) - 1)
    inner = across >> group_bits
    outer = (above << group_bits) + (across & block.group - 1)
    rows, columns = (inner, outer) if block.transposed else (outer, inner)
    known = [inner.lt(spread(block.inner)), outer.lt(spread(block.outer)), spread(reached)]
    columns = columns + spread(turn * block.width)
    addresses, inside = elements_at(block.numbers, rows.to(Q), columns.to(Q), block.kind.bytes)
    known += inside
    if block.enabled is not None:
        known.append(spread(block.enabled))
        reached = reached & block.enabled
    return _Part(addresses, reduce(lambda a, b: a & b, known), reached)


def _load(t: Tracer, message: RawMessage, block: _Block) -> None:
    """Record a load; one without a response is a prefetch, which changes and checks nothing.

    The response's length says how many registers there are, but not 32: those are counted as 31.
    Registers that the blocks do not reach stay as they are.
    """
    grf = t.platform.grf_bytes
    count = 0 if message.dst.is_null else message.field(24, 20)
    if count == _MOST_RESPONSE:
        room = message.dst.variable.bytes - message.dst.offset
        count = _LONGEST if room >= _LONGEST * grf else count
    parts = [_part(t, block, register) for register in range(count)]
    loads = [Load(Space.FLAT, None, p.addresses, block.kind, 1, p.mask) for p in parts]
    for load in loads:
        t.emit(load)
    for register, (part, load) in enumerate(zip(parts, loads, strict=True)):
        value = loaded(load, block.kind, load.addresses.lanes)
        t.write_raw(message.dst, value, broadcast(part.reached, value.lanes), register * grf)


def _store(t: Tracer, message: RawMessage, block: _Block) -> None:
    """Record a store of the registers behind the first one."""
    count = sum(registers for _, registers in message.parts) - 1
    for register in range(count):
        part = _part(t, block, register)
        value = message.payload(t, 1 + register, block.kind, part.addresses.lanes)
        t.emit(Store(Space.FLAT, None, part.addresses, (value,), part.mask))
