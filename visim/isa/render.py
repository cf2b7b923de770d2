"""Messages to render targets and the unified return buffer, which visim does not execute.

Only the fixed functions of a draw call give them a meaning (pages RT_WRITE, RT_READ, URB_WRITE).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from visim.isa.codecs import CodedKind, CodingError, DecodeTables, EncodeTables
from visim.isa.forms import Exec, Pred, Raw
from visim.isa.kinds import SOURCE
from visim.isa.raw_kinds import RAW, SURFACE
from visim.isa.registry import Category, Instruction, Names, form
from visim.isa.table import Table
from visim.isa.word_kinds import NumberKind
from visim.layout import Reader, Writer
from visim.lex import NAME, Cursor
from visim.operands import RawOperand, SurfaceVariable, VectorSource
from visim.target import Platform

TABLE = Table(Category.RENDER)

_WORD = re.compile(r"<([A-Za-z]+)>")
WRITE_MODES = (
    ("RTI", 1 << 2),
    ("A", 1 << 3),
    ("O", 1 << 4),
    ("Z", 1 << 5),
    ("ST", 1 << 6),
    ("LRTW", 1 << 7),
    ("CPS", 1 << 8),
    ("PS", 1 << 9),
    ("CM", 1 << 10),
    ("SI", 1 << 11),
    ("NULLRT", 1 << 12),
)
READ_MODES = (("PS", 1 << 0), ("SI", 1 << 1))
_MOST_OUTPUTS = 8
_MOST_OFFSET = 2047

RenderOperand = RawOperand | VectorSource


@dataclass(frozen=True, slots=True)
class ModesKind(CodedKind):
    """Words such as `.<RTI><A>` after the mnemonic, in any order; each is a bit of two bytes."""

    codes: tuple[tuple[str, int], ...]
    expected: str = "modes such as '.<RTI><A>'"
    width: int = 2

    def parse(self, cursor: Cursor, names: Names) -> int:
        """Take the words and return their bits, 0 where there are none."""
        bits = 0
        if not cursor.take("."):
            return bits
        known = dict(self.codes)
        while True:
            start = cursor.position
            word = cursor.match(_WORD)
            if word is None:
                break
            if word.group(1) not in known:
                raise cursor.unknown_word(start + 1, "mode", word.group(1), known)
            bits |= known[word.group(1)]
        if not bits:
            raise cursor.failure(self.expected)
        return bits

    def show(self, value: int) -> str:
        """Return the words in the order of their bits."""
        words = "".join(f"<{word}>" for word, bit in self.codes if value & bit)
        return f".{words}" if words else ""

    def to_code(self, value: int) -> int:
        """Return the bits."""
        return value

    def from_code(self, code: int) -> int:
        """Return the bits."""
        unknown = code & ~sum(bit for _word, bit in self.codes)
        if unknown:
            raise CodingError(f"0x{unknown:x} stands for no mode")
        return code


def written_operands(mode: int) -> tuple[str, ...]:
    """Return the names of the operands that a write has in this mode."""
    bits = dict(WRITE_MODES)
    before = (("sample index", "SI"), ("coarse size", "CPS"), ("target index", "RTI"))
    planes = (("source 0 alpha", "A"), ("mask", "O"))
    behind = (("depth", "Z"), ("stencil", "ST"))

    def present(entries: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
        return tuple(name for name, word in entries if mode & bits[word])

    colors = ("red", "green", "blue", "alpha")
    return ("header", *present(before), *present(planes), *colors, *present(behind))


def read_operands(mode: int) -> tuple[str, ...]:
    """Return the names of the operands that a read has in this mode."""
    return ("sample index", "result") if mode & dict(READ_MODES)["SI"] else ("result",)


_VECTORS = frozenset({"sample index", "coarse size", "target index"})


@dataclass(frozen=True, slots=True)
class RenderOperandsKind:
    """The operands behind the surface, up to the end; `wanted` names those of a mode."""

    wanted: Callable[[int], tuple[str, ...]]
    expected: str = "the operands of a render target message"

    def parse(self, cursor: Cursor, names: Names) -> tuple[RenderOperand, ...]:
        """Take all that stand here: raw operands, and vector operands as they are written."""
        found: list[RenderOperand] = []
        while not found or not cursor.at_end:
            found.append(_operand(cursor, names))
        return tuple(found)

    def show(self, value: tuple[RenderOperand, ...]) -> str:
        """Return them separated by blanks."""
        return " ".join(
            RAW.show(operand) if isinstance(operand, RawOperand) else SOURCE.show(operand)
            for operand in value
        )

    def decode_after(
        self, values: Mapping[str, Any], reader: Reader, tables: DecodeTables
    ) -> tuple[RenderOperand, ...]:
        """Take the operands that the mode asks for."""
        return tuple(
            (SOURCE if name in _VECTORS else RAW).decode(reader, tables)
            for name in self.wanted(values["mode"])
        )

    def encode_within(self, instruction: Any, writer: Writer, tables: EncodeTables) -> None:
        """Append the operands, or fail because they are not those of the mode."""
        wrong = self.wrong(instruction)
        if wrong:
            raise CodingError(wrong)
        for operand in instruction.operands:
            if isinstance(operand, RawOperand):
                RAW.encode(operand, writer, tables)
            else:
                SOURCE.encode(operand, writer, tables)

    def wrong(self, instruction: Any) -> str | None:
        """Return what is wrong with the number or kinds of the operands, or None."""
        names, operands = self.wanted(instruction.mode), instruction.operands
        if len(names) != len(operands):
            return f"expected {len(names)} operands ({', '.join(names)}), found {len(operands)}"
        for name, operand in zip(names, operands, strict=True):
            if isinstance(operand, RawOperand) == (name in _VECTORS):
                kind = "a vector operand" if name in _VECTORS else "a raw operand"
                return f"the {name} is {kind}"
        return None


def _operand(cursor: Cursor, names: Names) -> RenderOperand:
    cursor.skip_space()
    start = cursor.position
    name = cursor.match(NAME)
    follows = cursor.text[cursor.position : cursor.position + 1]
    cursor.position = start
    if name is None or follows in {"(", "["}:
        return SOURCE.parse(cursor, names)
    return RAW.parse(cursor, names)


WRITTEN = RenderOperandsKind(written_operands)
READ = RenderOperandsKind(read_operands)
Surface = Annotated[SurfaceVariable, SURFACE]


@form(
    "{pred}{op}{mode} {exec} {surface} {operands}",
    layout="{exec} {pred} {mode} {surface} {operands}",
)
class RenderWrite(Instruction):
    """Pixels to a render target."""

    exec: Exec
    pred: Pred
    mode: Annotated[int, ModesKind(WRITE_MODES)]
    surface: Surface
    operands: Annotated[tuple[RenderOperand, ...], WRITTEN]


@form(
    "{pred}{op}{mode} {exec} {surface} {operands}",
    layout="{exec} {pred} {mode} {surface} {operands}",
)
class RenderRead(Instruction):
    """Pixels of a render target."""

    exec: Exec
    pred: Pred
    mode: Annotated[int, ModesKind(READ_MODES)]
    surface: Surface
    operands: Annotated[tuple[RenderOperand, ...], READ]


@form(
    "{pred}{op} {exec} {outputs} {offset} {channels} {handles} {slot_offsets} {data}",
    layout="{exec} {pred} {outputs} {channels} {offset} {handles} {slot_offsets} {data}",
)
class VertexWrite(Instruction):
    """Vertices to the unified return buffer."""

    exec: Exec
    pred: Pred
    outputs: Annotated[int, NumberKind("a number of outputs", 1)]
    channels: Raw
    offset: Annotated[int, NumberKind("an offset", 2)]
    handles: Raw
    slot_offsets: Raw
    data: Raw


def _written(i: RenderWrite, platform: Platform | None) -> str | None:
    """RT_WRITE: the operands are those of the mode."""
    return WRITTEN.wrong(i)


def _read(i: RenderRead, platform: Platform | None) -> str | None:
    """RT_READ: the operands are those of the mode."""
    return READ.wrong(i)


def _vertices(i: VertexWrite, platform: Platform | None) -> str | None:
    """URB_WRITE: 1 to 8 outputs, offsets up to 2047."""
    if not 1 <= i.outputs <= _MOST_OUTPUTS:
        return f"1 to {_MOST_OUTPUTS} outputs, found {i.outputs}"
    if i.offset > _MOST_OFFSET:
        return f"the offset is 0 to {_MOST_OFFSET}, found {i.offset}"
    return None


_PIXELS = "render targets belong to draw calls, which visim has not"

TABLE.unexecuted(
    0x71, "rt_write_3d", RenderWrite, page="RT_WRITE", restrict=_written,
    doc="Write the pixels of the channels to a render target.",
    example="rt_write_3d.<A><Z> (M1, 16) T6 %null.0 V40.0 V41.0 V42.0 V43.0 V44.0 V45.0",
    reason=_PIXELS,
)  # fmt: skip
TABLE.unexecuted(
    0x90, "rt_read", RenderRead, restrict=_read,
    doc="Read the pixels of the channels from a render target.",
    example="rt_read.<PS><SI> (M1, 16) T6 0x0:ud V40.0", reason=_PIXELS,
)  # fmt: skip
TABLE.unexecuted(
    0x72, "urb_write_3d", VertexWrite, page="URB_WRITE", restrict=_vertices,
    doc="Write outputs of vertices to the unified return buffer.",
    example="urb_write_3d (M1, 8) 1 0 V40.0 V41.0 %null.0 V42.0",
    reason="the unified return buffer belongs to draw calls, which visim has not",
)  # fmt: skip
