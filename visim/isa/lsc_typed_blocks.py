"""Rectangles of typed surfaces by LSC (LSC_TYPED, Typed 2D Block)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from visim.isa.codecs import Codec, CodingError, DecodeTables, EncodeTables
from visim.isa.kinds import SOURCE
from visim.isa.later import refuse_later_coordinate
from visim.isa.lsc import Cache, Data
from visim.isa.lsc_places import (
    STATES_SINCE,
    SURFACE_ONLY,
    show_state,
    show_surface,
    signed_offset,
    surface_operand,
)
from visim.isa.lsc_typed import UNIT, declared_as, image_of
from visim.isa.media_blocks import block_place, block_sizes, load_block, read_rows, write_rows
from visim.isa.registry import Category, Instruction, Names, form
from visim.isa.table import Table
from visim.isa.word_kinds import NumberKind
from visim.layout import Reader, Writer
from visim.lex import Cursor
from visim.operands import Immediate, LscCorner, LscRectangle, VectorSource
from visim.sem.effects import Request
from visim.sem.expr import Expr
from visim.sem.requests import BlockLoad, BlockStore
from visim.sem.tracer import Tracer
from visim.target import Platform
from visim.types import UD

TABLE = Table(Category.SAMPLER)

_NO_STEP = (0, 0)
_EXTENT = re.compile(r"\s*:\s*(\d+)x(\d+)(?!\w)", re.ASCII)


@dataclass(frozen=True, slots=True)
class RectangleKind:
    """The extent of a block: `:64x2` is 64 bytes wide and 2 rows high."""

    expected: str = "the extent of a block such as ':64x2'"

    def parse(self, cursor: Cursor, names: Names) -> LscRectangle:
        """Take width and height."""
        width, height = cursor.need(_EXTENT, self.expected).groups()
        return LscRectangle(int(width), int(height))

    def show(self, value: LscRectangle) -> str:
        """Return width and height."""
        return f":{value.width}x{value.height}"

    @property
    def parts(self) -> Mapping[str, Codec]:
        """The codec of each part."""
        return dict.fromkeys(("width", "height"), NumberKind(width=2))

    def join(self, parts: dict[str, Any]) -> LscRectangle:
        """Return the extent with these parts."""
        return LscRectangle(**parts)


@dataclass(frozen=True, slots=True)
class CornerKind:
    """A place in a surface: `bti(0x0)[V40, V41]`."""

    expected: str = "a place such as 'bti(0x0)[V40, V41]'"

    def parse(self, cursor: Cursor, names: Names) -> LscCorner:
        """Take the surface, x and y."""
        found = SURFACE_ONLY.parse(cursor, names)
        cursor.expect("[")
        x, dx = _coordinate(cursor, names)
        cursor.expect(",")
        y, dy = _coordinate(cursor, names)
        cursor.expect("]")
        return LscCorner(found.model, found.surface, x, y, (dx, dy), found.index)

    def show(self, value: LscCorner) -> str:
        """Return it with all parts."""
        return self._shown(value, ", ")

    def show_newer(self, value: LscCorner) -> str:
        """Return it as IGC prints it since version 4.2."""
        return self._shown(value, ",")

    @staticmethod
    def _shown(value: LscCorner, separator: str) -> str:
        shown = [
            show_surface(operand) + (f"{added:+}" if added else "")
            for operand, added in zip((value.x, value.y), value.added, strict=True)
        ]
        state = show_state(value.model, value.surface, value.index)
        return f"{state}[{separator.join(shown)}]"

    @property
    def parts(self) -> Mapping[str, Codec]:
        """The codec of each part."""
        return {**SURFACE_ONLY.parts, "x": SOURCE, "y": SOURCE, "added": _NothingAdded()}

    def join(self, parts: dict[str, Any]) -> LscCorner:
        """Return the place with these parts."""
        found = SURFACE_ONLY.join({name: parts[name] for name in SURFACE_ONLY.parts})
        return LscCorner(found.model, found.surface, parts["x"], parts["y"], index=found.index)


@dataclass(frozen=True, slots=True)
class _NothingAdded:
    """What is added to x and y, for which objects have no place."""

    def decode(self, reader: Reader, tables: DecodeTables) -> tuple[int, int]:
        """Return that nothing is."""
        del reader, tables
        return _NO_STEP

    def encode(self, value: tuple[int, int], writer: Writer, tables: EncodeTables) -> None:
        """Append nothing, or fail."""
        del writer, tables
        if value != _NO_STEP:
            raise CodingError("an object has no place for constants added to a block's x and y")


def _coordinate(cursor: Cursor, names: Names) -> tuple[VectorSource, int]:
    """Take a coordinate, and since version 4.2 the constant that is added to it."""
    found = surface_operand(cursor, names)
    if names.version < STATES_SINCE:
        refuse_later_coordinate(cursor)
        return found, 0
    start = cursor.position
    added = signed_offset(cursor, names)
    if added and isinstance(found, Immediate):
        message = "nothing is added to a constant"
        raise cursor.failure_at(start, "syntax", message, help="write their sum")
    return found, added


Corner = Annotated[LscCorner, CornerKind()]
Rectangle = Annotated[LscRectangle, RectangleKind()]
_HEAD = (
    "{sub} {cache} {corner.model} {extent.width} {extent.height} {corner.surface} {corner.index}"
)


@form(
    "{op}{cache}  {dst}{extent}  {corner}",
    layout=f"{_HEAD} {{dst}} {{corner.x}} {{corner.y}} {{corner.added}} null",
)
class LscLoadRectangle(Instruction):
    """A load of a rectangle of bytes."""

    cache: Cache
    corner: Corner
    extent: Rectangle
    dst: Data


@form(
    "{op}{cache}  {corner}  {data}{extent}",
    layout=f"{_HEAD} null {{corner.x}} {{corner.y}} {{corner.added}} {{data}}",
)
class LscStoreRectangle(Instruction):
    """A store of a rectangle of bytes."""

    cache: Cache
    corner: Corner
    extent: Rectangle
    data: Data


def _size(i: LscLoadRectangle | LscStoreRectangle, platform: Platform | None) -> str | None:
    del platform
    return block_sizes(i.extent.width, i.extent.height)


def _at(t: Tracer, corner: LscCorner) -> tuple[Expr, Expr]:
    x, y = t.scalar(corner.x, UD), t.scalar(corner.y, UD)
    dx, dy = (step % 2**UD.bits for step in corner.added)
    return x + dx if dx else x, y + dy if dy else y


def _load(t: Tracer, i: LscLoadRectangle) -> None:
    """Read a rectangle of bytes, each row to a multiple of the register pitch."""
    if i.dst.is_null:
        return
    width, height = i.extent.width, i.extent.height
    surface = image_of(t, i.corner)
    block = load_block(t, surface, BlockLoad(width, height), _at(t, i.corner))
    write_rows(t, block_place(i.dst, width, height), block)


def _store(t: Tracer, i: LscStoreRectangle) -> None:
    """Write a rectangle of bytes, each row from a multiple of the register pitch."""
    width, height = i.extent.width, i.extent.height
    values = (*_at(t, i.corner), read_rows(block_place(i.data, width, height)))
    t.emit(Request(BlockStore(width), image_of(t, i.corner), None, values, None))


TABLE.effect(
    0x8A, LscLoadRectangle, sub=0x03, page="LSC_TYPED", restrict=_size,
    example=f"lsc_load_block2d{UNIT}  V40:64x2  bti(0x0)[V41, V42]",
)(declared_as(_load, "load_block2d"))  # fmt: skip
TABLE.effect(
    0x8A, LscStoreRectangle, sub=0x07, page="LSC_TYPED", restrict=_size,
    example=f"lsc_store_block2d{UNIT}  bti(0x0)[V41, V42]  V40:64x2",
)(declared_as(_store, "store_block2d"))  # fmt: skip
