"""Raw messages that move LSC 2D blocks (specification LSC_UNTYPED; RAW_SENDS).

The descriptor has the size of elements and their order, but the block's shape stands in the
payload, so that only the run knows it. Which cell stands where, which `lsc_block2d.arrangement`
says of a known shape, is computed here for one register after another. To those who have found
out what the shape is, such a message is one block that is made of these registers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from visim.isa.data_port import RawMessage
from visim.isa.lsc import element_of
from visim.isa.lsc_block_places import elements_at, elements_of, enabled_of, sum_of, vnni_group
from visim.isa.surfaces import loaded
from visim.sem.effects import Cell, Load, Place, Rectangle, Space, Store
from visim.sem.expr import (
    Expr,
    bits_constant,
    broadcast,
    constant,
    lane_numbers,
    node,
    take,
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
        place: Where its shape stands, if only the run knows it.
    """

    kind: DataType
    group: int
    transposed: bool
    width: Expr
    height: Expr
    blocks: Expr
    numbers: tuple[Expr, ...]
    enabled: Expr | None
    place: Place | None

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


def move_block(t: Tracer, message: RawMessage, added: tuple[int, int] = (0, 0)) -> None:
    """Record what a message that loads or stores 2D blocks does.

    `added` is added to x and y of its payload.

    Raises:
        Unexecutable: its descriptor asks for what such messages do not have.
    """
    block, loads = _block(t, message, added), message.operation == LOAD_BLOCK
    if t.block_shape is not None:
        cells = _cells(block, t.block_shape, t.platform.grf_bytes)
        (_load_known if loads else _store_known)(t, message, block, cells)
    else:
        (_load if loads else _store)(t, message, block)


def _block(t: Tracer, message: RawMessage, added: tuple[int, int]) -> _Block:
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

    shape, place = t.raw(operand, UD, 1, _SHAPE), None
    if t.block_shape is not None:
        shape = constant(t.block_shape, UD, 1)
    elif not operand.is_null:
        place = shape.attribute
    return _Block(
        kind=kind,
        group=vnni_group(kind.bytes) if vnni else 1,
        transposed=bool(message.field(15, 15)),
        width=(shape & _BYTE) + 1,
        height=(shape >> 8 & _BYTE) + 1,
        blocks=(shape >> 16 & _LENGTH) + 1,
        numbers=(
            number(0, UQ),
            number(2),
            number(3),
            number(4) + 1,
            sum_of(number(5, D), added[0]),
            sum_of(number(6, D), added[1]),
        ),
        enabled=enabled_of(t),
        place=place,
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

    Registers that the blocks do not reach stay as they are.
    """
    grf = t.platform.grf_bytes
    parts = [_part(t, block, register) for register in range(_response(t, message))]
    loads = [_load_of(block, part) for part in parts]
    for load in loads:
        t.emit(load)
    for register, (part, load) in enumerate(zip(parts, loads, strict=True)):
        value = loaded(load, block.kind, load.addresses.lanes)
        t.write_raw(message.dst, value, broadcast(part.reached, value.lanes), register * grf)


def _store(t: Tracer, message: RawMessage, block: _Block) -> None:
    """Record a store of the registers behind the first one."""
    for register in range(_stored(message)):
        part = _part(t, block, register)
        value = message.payload(t, 1 + register, block.kind, part.addresses.lanes)
        t.emit(_store_of(block, part, value))


def _response(t: Tracer, message: RawMessage) -> int:
    """Return how many registers a load may write.

    The response's length says it, but not 32: those are counted as 31.
    """
    count = 0 if message.dst.is_null else message.field(24, 20)
    if count == _MOST_RESPONSE:
        room = message.dst.variable.bytes - message.dst.offset
        count = _LONGEST if room >= _LONGEST * t.platform.grf_bytes else count
    return count


def _stored(message: RawMessage) -> int:
    """Return how many registers a store has: those behind the first one."""
    return sum(registers for _, registers in message.parts) - 1


def _load_of(block: _Block, part: _Part) -> Load:
    return Load(Space.FLAT, None, part.addresses, block.kind, 1, part.mask, shape=block.place)


def _store_of(block: _Block, part: _Part, value: Expr) -> Store:
    return Store(Space.FLAT, None, part.addresses, (value,), part.mask, shape=block.place)


# Blocks of a known shape


def _cells(block: _Block, shape: int, grf: int) -> list[tuple[Cell | None, ...]]:
    """Return which cells stand in each register that a block of a known shape has.

    That is what `_part` says of one register in the run.
    """
    width, height = (shape & _BYTE) + 1, (shape >> 8 & _BYTE) + 1
    size, group = block.kind.bytes, block.group
    inner, outer = (height, width) if block.transposed else (width, height)
    row, lanes = group << (inner - 1).bit_length(), grf // size
    each = -(-(-(-outer // group) * row * size) // grf)

    def cell(turn: int, place: int) -> Cell | None:
        above, across = divmod(place, row)
        along, beside = across // group, above * group + across % group
        if along >= inner or beside >= outer:
            return None
        y, x = (along, beside) if block.transposed else (beside, along)
        return y, turn * width + x

    return [
        tuple(cell(turn, register * lanes + lane) for lane in range(lanes))
        for turn in range((shape >> 16 & _LENGTH) + 1)
        for register in range(each)
    ]


def _load_known(
    t: Tracer, message: RawMessage, block: _Block, registers: list[tuple[Cell | None, ...]]
) -> None:
    """Record the load of a block of a known shape."""
    registers = registers[: _response(t, message)]
    if not registers:
        return
    cells = tuple(cell for register in registers for cell in register)
    parts = [_load_of(block, _part(t, block, number)) for number in range(len(registers))]
    rectangle = _rectangle(block, cells, parts)
    addresses, mask = elements_of(rectangle)
    effect = Load(Space.FLAT, None, addresses, block.kind, 1, mask, rectangle)
    t.emit(effect)
    enabled = None if block.enabled is None else broadcast(block.enabled, len(cells))
    t.write_raw(message.dst, loaded(effect, block.kind, len(cells)), enabled)


def _store_known(
    t: Tracer, message: RawMessage, block: _Block, registers: list[tuple[Cell | None, ...]]
) -> None:
    """Record the store of a block of a known shape.

    Raises:
        Unexecutable: the message has not all of the block, or not in one place.
    """
    if len(registers) > _stored(message) or (len(message.parts) > 1 and message.parts[0][1] > 1):
        raise Unexecutable("a raw message that does not store a whole block from one place")
    cells = tuple(cell for register in registers for cell in register)
    places = tuple(place for place, cell in enumerate(cells) if cell is not None)
    value = take(message.payload(t, 1, block.kind, len(cells)), places)
    parts: list[Store] = []
    before = 0
    for number, register in enumerate(registers):
        known = [cell is not None for cell in register]
        picks = tuple(before + sum(known[:lane]) if one else 0 for lane, one in enumerate(known))
        parts.append(_store_of(block, _part(t, block, number), take(value, picks)))
        before += sum(known)
    rectangle = _rectangle(block, tuple(cell for cell in cells if cell is not None), parts)
    addresses, mask = elements_of(rectangle)
    t.emit(Store(Space.FLAT, None, addresses, (value,), mask, rectangle))


def _rectangle(
    block: _Block, cells: tuple[Cell | None, ...], parts: Sequence[Load | Store]
) -> Rectangle:
    base, width, height, pitch, x, y = block.numbers
    where = base, width, height, pitch, x, y
    return Rectangle(*where, block.enabled, cells, block.kind.bytes, tuple(parts))
