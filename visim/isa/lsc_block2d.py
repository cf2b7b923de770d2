"""LSC 2D blocks: rectangles of a surface in flat memory (specification LSC_UNTYPED).

A block message is expressed by the address of each element and a mask of those inside of the
surface, so that engines see a plain load or store.
"""

from functools import reduce
from itertools import product
from typing import Annotated

from visim.isa.forms import Exec, Pred
from visim.isa.lsc import Cache, Data, Sfid, element_of
from visim.isa.lsc_kinds import BLOCK, DATA_SIZES, PLANE
from visim.isa.registry import Category, Instruction, form
from visim.isa.surfaces import loaded
from visim.isa.table import Table
from visim.operands import LscBlock, LscPlane
from visim.sem.effects import Cell, Load, Rectangle, Space, Store
from visim.sem.expr import Expr, broadcast, select, take, unary, vector_constant
from visim.sem.tracer import Tracer, Unexecutable
from visim.types import UD, UQ, D, Q

TABLE = Table(Category.MEMORY)

Block = Annotated[LscBlock, BLOCK]
Plane = Annotated[LscPlane, PLANE]
_PITCH_UNIT = 16

_BLOCK = (
    "{sub} {exec} {pred} {sfid} {cache} {block.data} {block.transposed} {block.blocks} "
    "{block.width} {block.height} {block.vnni}"
)
_PLANE = "{address.base} {address.width} {address.height} {address.pitch} {address.x} {address.y}"


@form(
    "{pred}{op}.{sfid}{cache} {exec}  {dst}{block}  {address}",
    layout=f"{_BLOCK} {{dst}} {_PLANE} null",
)
class LscLoadBlock(Instruction):
    """A load of 2D blocks that stand side by side."""

    exec: Exec
    pred: Pred
    sfid: Sfid
    cache: Cache
    address: Plane
    block: Block
    dst: Data


@form(
    "{pred}{op}.{sfid}{cache} {exec}  {address}  {data}{block}",
    layout=f"{_BLOCK} null {_PLANE} {{data}}",
)
class LscStoreBlock(Instruction):
    """A store of a 2D block."""

    exec: Exec
    pred: Pred
    sfid: Sfid
    cache: Cache
    address: Plane
    block: Block
    data: Data


def vnni_group(size: int) -> int:
    """Return how many elements of `size` bytes stand together in a VNNI transformed block."""
    return max(1, 4 // size)


def arrangement(block: LscBlock, grf_bytes: int) -> tuple[Cell | None, ...]:
    """Return which cell stands in each of the registers' elements; None where there is padding.

    Rows (columns, when transposed) take a power of two of elements, blocks whole registers. A
    VNNI transformed block has the elements of one dword from successive rows (columns).
    """
    size = DATA_SIZES[block.data][0]
    group = vnni_group(size) if block.vnni else 1
    outer, inner = block.height, block.width
    if block.transposed:
        outer, inner = inner, outer
    row = 1 << (inner - 1).bit_length()
    registers = -(-row * outer * size // grf_bytes)
    pitch = registers * grf_bytes // size
    cells: list[Cell | None] = [None] * (block.blocks * pitch)
    for b, y, x in product(range(block.blocks), range(block.height), range(block.width)):
        along, across = (x, y) if block.transposed else (y, x)
        place = (along - along % group) * row + across * group + along % group
        cells[b * pitch + place] = (y, b * block.width + x)
    return tuple(cells)


def _cells(t: Tracer, block: LscBlock) -> tuple[Cell | None, ...]:
    memory, register = DATA_SIZES[block.data]
    if memory != register:
        raise Unexecutable(f"2D blocks of {block.data}")
    if block.vnni:
        along = block.width if block.transposed else block.height
        if memory == 8 or along % (4 // memory):
            raise Unexecutable(f"a VNNI transformed block of {along} {block.data} to a column")
    return arrangement(block, t.platform.grf_bytes)


def enabled_of(t: Tracer) -> Expr | None:
    """Return whether the one message takes place: any channel is on (None: always)."""
    mask = t.mask()
    return None if mask is None else take(unary("any", mask), (0,))


def _pitch(t: Tracer, plane: LscPlane) -> Expr:
    """Return the bytes from one row to the next.

    The page has the pitch itself, compilers write the pitch minus 1 as hardware takes it.
    Pitches are multiples of 16 bytes, so that the two can be told apart.
    """
    given = t.scalar(plane.pitch, UD)
    is_less = (given & (_PITCH_UNIT - 1)).eq(_PITCH_UNIT - 1)
    return select(is_less, given + 1, given)


def _rectangle(t: Tracer, plane: LscPlane, cells: tuple[Cell | None, ...], size: int) -> Rectangle:
    return Rectangle(
        base=t.scalar(plane.base, UQ),
        width=t.scalar(plane.width, UD),
        height=t.scalar(plane.height, UD),
        pitch=_pitch(t, plane),
        x=t.scalar(plane.x, D),
        y=t.scalar(plane.y, D),
        enabled=enabled_of(t),
        cells=cells,
        size=size,
    )


def elements_at(
    numbers: tuple[Expr, ...], rows: Expr, columns: Expr, size: int
) -> tuple[Expr, list[Expr]]:
    """Return the addresses of cells and what must be true of those inside of the surface.

    `numbers` are those of a `Rectangle`; `rows` and `columns` (Q) count from where the block
    begins.
    """
    base, width, height, pitch, x, y = numbers
    lanes = rows.lanes

    def spread(value: Expr) -> Expr:
        return broadcast(value.to(Q), lanes)

    row = spread(y) + rows
    start = (spread(x) + columns) * size
    inside = [
        row.ge(0),
        row.le(spread(height)),
        start.ge(0),
        (start + (size - 1)).le(spread(width)),
    ]
    place = row * spread(pitch) + start
    return broadcast(base, lanes) + place.to(UQ), inside


def elements_of(rectangle: Rectangle) -> tuple[Expr, Expr]:
    """Return the addresses of cells, and which of them are inside of the surface and enabled."""
    cells = rectangle.cells
    rows, columns = (
        vector_constant(tuple(cell[part] if cell else 0 for cell in cells), Q) for part in (0, 1)
    )
    addresses, inside = elements_at(rectangle.numbers, rows, columns, rectangle.size)
    if None in cells:
        inside.append(vector_constant(tuple(int(cell is not None) for cell in cells), UD).ne(0))
    if rectangle.enabled is not None:
        inside.append(broadcast(rectangle.enabled, len(cells)))
    return addresses, reduce(lambda a, b: a & b, inside)


@TABLE.effect(
    0x89, LscLoadBlock, sub=0x03, page="LSC_UNTYPED",
    example="lsc_load_block2d.ugm (M1_NM, 1)  V40:d8.2x16x32nn  "
    "flat[V41, V42, V42(0,1), V42(0,2), V42(0,3), 0x4]",
)  # fmt: skip
def lsc_load_block2d(t: Tracer, i: LscLoadBlock) -> None:
    """Load 2D blocks; what is outside of the surface, and padding, is 0."""
    if i.dst.is_null:
        return
    cells = _cells(t, i.block)
    kind = element_of(i.block.data).memory
    rectangle = _rectangle(t, i.address, cells, kind.bytes)
    addresses, mask = elements_of(rectangle)
    effect = Load(Space.FLAT, None, addresses, kind, 1, mask, rectangle)
    t.emit(effect)
    enabled = rectangle.enabled
    whole = None if enabled is None else broadcast(enabled, len(cells))
    t.write_raw(i.dst, loaded(effect, kind, len(cells)), whole)


@TABLE.effect(
    0x89, LscStoreBlock, sub=0x07, page="LSC_UNTYPED",
    example="lsc_store_block2d.ugm (M1_NM, 1)  "
    "flat[V40, V41, V41(0,1), V41(0,2), V41(0,3), V41(0,4)]  V42:d16.16x8nn",
)  # fmt: skip
def lsc_store_block2d(t: Tracer, i: LscStoreBlock) -> None:
    """Store a 2D block, arranged as its load would; what is outside of the surface is dropped."""
    if i.block.blocks != 1:
        raise Unexecutable(f"a store of {i.block.blocks} 2D blocks; it can have one")
    cells = _cells(t, i.block)
    places = tuple(place for place, cell in enumerate(cells) if cell is not None)
    kind = element_of(i.block.data).memory
    stored = tuple(cells[place] for place in places)
    rectangle = _rectangle(t, i.address, stored, kind.bytes)
    addresses, mask = elements_of(rectangle)
    value = take(t.raw(i.data, kind, len(cells)), places)
    t.emit(Store(Space.FLAT, None, addresses, (value,), mask, rectangle))
