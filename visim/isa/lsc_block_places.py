"""Where elements of LSC 2D blocks are, in registers and in memory (specification LSC_UNTYPED)."""

from functools import reduce
from itertools import product

from visim.isa.lsc_kinds import DATA_SIZES
from visim.operands import LscBlock
from visim.sem.effects import Cell, Rectangle
from visim.sem.expr import Expr, broadcast, take, unary, vector_constant
from visim.sem.tracer import Tracer
from visim.types import UD, UQ, Q


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


def enabled_of(t: Tracer) -> Expr | None:
    """Return whether the one message takes place: any channel is on (None: always)."""
    mask = t.mask()
    return None if mask is None else take(unary("any", mask), (0,))


def sum_of(place: Expr, added: int) -> Expr:
    """Return a row or column and a constant that the instruction adds to it."""
    return place + added if added else place


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
