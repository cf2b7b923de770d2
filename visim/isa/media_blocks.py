"""Rectangles of bytes of two-dimensional surfaces (MEDIA_LD, MEDIA_ST)."""

from typing import Annotated

from visim.isa.forms import Raw, Src
from visim.isa.raw_kinds import SURFACE
from visim.isa.registry import Category, Instruction, form
from visim.isa.sampler import image_index
from visim.isa.surfaces import loaded
from visim.isa.table import Table
from visim.isa.word_kinds import BYTE, ChoiceKind
from visim.operands import RawOperand, SurfaceVariable
from visim.sem.effects import Place, Request, WriteRegister
from visim.sem.expr import UOPS, Expr, take
from visim.sem.requests import BlockLoad, BlockStore, Rows
from visim.sem.tracer import Tracer, Unexecutable
from visim.target import Platform
from visim.types import UB, UD

TABLE = Table(Category.SAMPLER)

_LEAST_PITCH = 4
_MOST_BYTES = 256
_LAST_PLANE = 3
_MODES = (
    ("nomod", 0),
    ("modified", 1),
    ("top", 2),
    ("bottom", 3),
    ("top_mod", 4),
    ("bottom_mod", 5),
)

Count = Annotated[int, BYTE]


@form(
    "{op}.{mode} ({width},{height}) {surface} {plane} {x} {y} {data}",
    layout="{mode} {surface} {plane} {width} {height} {x} {y} {data}",
)
class MediaBlock(Instruction):
    """A two-dimensional block of a surface."""

    mode: Annotated[str, ChoiceKind(_MODES, "a modifier")]
    width: Count
    height: Count
    surface: Annotated[SurfaceVariable, SURFACE]
    plane: Count
    x: Src
    y: Src
    data: Raw


def row_pitch(width: int) -> int:
    """Return the distance in bytes between rows of a block in registers."""
    return max(_LEAST_PITCH, 1 << (width - 1).bit_length())


def block_place(data: RawOperand, width: int, height: int) -> Place:
    """Return the bytes of a block in registers: each row at a multiple of the pitch."""
    root, base = data.variable.root()
    return Place(root, base + data.offset, UB, width * height, width, row_pitch(width), 1)


def load_block(t: Tracer, surface: Expr, operation: BlockLoad, at: tuple[Expr, Expr]) -> Expr:
    """Record the read of a block and return its bytes, one row after another."""
    effect = Request(operation, surface, None, at, None)
    t.emit(effect)
    return loaded(effect, UB, operation.width * operation.height)


def write_rows(t: Tracer, place: Place, block: Expr) -> None:
    """Write a block's bytes to registers, row by row."""
    for first in range(0, place.lanes, place.width):
        start = place.offset + first // place.width * place.row_stride
        line = Place(place.variable, start, UB, place.width, place.width, 0, 1)
        value = take(block, tuple(range(first, first + place.width)))
        t.emit(WriteRegister(line, value, None))


def read_rows(place: Place) -> Expr:
    """Return a block's bytes in registers, one row after another."""
    return Expr(UOPS["read"], UB, place.lanes, (), place)


def block_sizes(width: int, height: int) -> str | None:
    """Return what is wrong with the size of a block; its registers hold 256 bytes."""
    if not 0 < width <= 64:
        return f"blocks are 1 to 64 bytes wide, not {width}"
    most = _MOST_BYTES // row_pitch(width)
    if 0 < height <= most:
        return None
    return f"blocks of {width} bytes have 1 to {most} rows, not {height}"


def _plane_and_size(i: MediaBlock, platform: Platform | None) -> str | None:
    del platform
    if i.plane > _LAST_PLANE:
        return f"the plane is 0 to {_LAST_PLANE}, found {i.plane}"
    return block_sizes(i.width, i.height)


def _surface(t: Tracer, i: MediaBlock) -> Expr:
    """Return the index of the surface that is the plane: planes follow one another."""
    index = image_index(t, i.surface)
    return index + i.plane if i.plane else index


def _rows(i: MediaBlock) -> Rows:
    if i.mode not in set(Rows):
        raise Unexecutable(f"the modifier {i.mode!r}, which the specification does not define")
    return Rows(i.mode)


def _at(t: Tracer, i: MediaBlock) -> tuple[Expr, Expr]:
    return t.scalar(i.x, UD), t.scalar(i.y, UD)


@TABLE.effect(
    0x37,
    MediaBlock,
    restrict=_plane_and_size,
    example="media_ld.nomod (32,2) T6 0 V40(0,0)<0;1,0> V41(0,0)<0;1,0> V42.0",
)
def media_ld(t: Tracer, i: MediaBlock) -> None:
    """Read a two-dimensional block of bytes, of all rows or of one field's."""
    operation = BlockLoad(i.width, i.height, _rows(i))
    block = load_block(t, _surface(t, i), operation, _at(t, i))
    write_rows(t, block_place(i.data, i.width, i.height), block)


@TABLE.effect(
    0x38,
    MediaBlock,
    restrict=_plane_and_size,
    example="media_st.nomod (32,2) T6 0 V40(0,0)<0;1,0> V41(0,0)<0;1,0> V42.0",
)
def media_st(t: Tracer, i: MediaBlock) -> None:
    """Write a two-dimensional block of bytes, to all rows or to one field's."""
    block = read_rows(block_place(i.data, i.width, i.height))
    values = (*_at(t, i), block)
    t.emit(Request(BlockStore(i.width, _rows(i)), _surface(t, i), None, values, None))
