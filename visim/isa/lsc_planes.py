"""Kinds of operands that only LSC 2D blocks have (specification LSC_UNTYPED).

Compilers that are newer than the specification write two more forms of a block's place: with
constants that are added to x and y, and `flat[V40 + (0,8)]`, where the message's payload stands
ready in a register. Objects of the versions that visim knows have no place for either.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from visim.expressions import Level, expression
from visim.isa.codecs import Codec, CodingError, DecodeTables, EncodeTables
from visim.isa.kinds import SOURCE
from visim.isa.lsc_kinds import DATA_CODES, ORDER_CODES, data_size, newer_data_size
from visim.isa.lsc_places import show_surface, signed_offset, surface_operand
from visim.isa.registry import Names
from visim.isa.word_kinds import NumberKind, SizeKind
from visim.layout import Reader, Writer
from visim.lex import Cursor
from visim.operands import GeneralSource, Immediate, LscBlock, LscPlane, LscPlanePayload

_BLOCK = re.compile(r"\.(?:(\d+)x)?(\d+)x(\d+)([nt]?)([nt]?)(?!\w)", re.ASCII)
_PAYLOAD = re.compile(r"\s*\+\s*(?=\()")
_NOTHING_ADDED = (0, 0)


@dataclass(frozen=True, slots=True)
class BlockKind:
    """Data size and extent of a 2D block: `:d8.2x16x32nn` is 2 blocks, 16 wide and 32 high.

    The letters say whether it is transposed and whether it is VNNI transformed.
    """

    expected: str = "a 2D block such as ':d8.2x16x32nn'"

    def parse(self, cursor: Cursor, names: Names) -> LscBlock:
        """Take the block; one block need not be said."""
        data = data_size(cursor, self.expected)
        start = cursor.position
        blocks, width, height, transposed, vnni = cursor.need(_BLOCK, self.expected).groups()
        found = LscBlock(
            data, int(blocks or 1), int(width), int(height), transposed == "t", vnni == "t"
        )
        if not (0 < found.blocks < 1 << 8 and 0 < found.width < 1 << 16 > found.height > 0):
            message = f"there is no block of {found.blocks}x{found.width}x{found.height} elements"
            raise cursor.failure_at(start, "out-of-range", message)
        return found

    def show(self, value: LscBlock) -> str:
        """Return it as IGC prints it."""
        return self._shown(value, value.data)

    def show_newer(self, value: LscBlock) -> str:
        """Return it as IGC prints it since version 4.2."""
        return self._shown(value, newer_data_size(value.data))

    @staticmethod
    def _shown(value: LscBlock, data: str) -> str:
        blocks = f"{value.blocks}x" if value.blocks > 1 else ""
        order = f"{'t' if value.transposed else 'n'}{'t' if value.vnni else 'n'}"
        return f":{data}.{blocks}{value.width}x{value.height}{order}"

    @property
    def parts(self) -> Mapping[str, Codec]:
        """The codec of each part."""
        return _BLOCK_PARTS

    def join(self, parts: dict[str, Any]) -> LscBlock:
        """Return the block with these parts."""
        return LscBlock(**parts)


@dataclass(frozen=True, slots=True)
class PlaneKind:
    """The six operands of a 2D block's address: `flat[V40, V41, V41(0,1), 0x3F, V42, 0x0]`.

    Constants may be added to the last two, `V42+8`. Or a register has it all: `flat[V40 + (0,8)]`.
    """

    expected: str = "an address such as 'flat[base, width, height, pitch, x, y]'"

    def parse(self, cursor: Cursor, names: Names) -> LscPlane | LscPlanePayload:
        """Take the address."""
        cursor.skip_space()
        cursor.take("flat")
        cursor.expect("[")
        start = cursor.position
        base = surface_operand(cursor, names)
        if cursor.match(_PAYLOAD):
            if not isinstance(base, GeneralSource):
                message = "expected a variable that has the payload of a 2D block's message"
                raise cursor.failure_at(start, "syntax", message)
            found = LscPlanePayload(base, _pair(cursor, names))
            cursor.expect("]")
            return found
        operands = [base]
        for _ in ("width", "height", "pitch"):
            cursor.expect(",")
            operands.append(surface_operand(cursor, names))
        added: list[int] = []
        for _ in ("x", "y"):
            cursor.expect(",")
            start = cursor.position
            operands.append(surface_operand(cursor, names))
            added.append(signed_offset(cursor, names))
            if added[-1] and isinstance(operands[-1], Immediate):
                message = "nothing is added to a constant"
                raise cursor.failure_at(start, "syntax", message, help="write their sum")
        cursor.expect("]")
        return LscPlane(*operands, added=(added[0], added[1]))

    def show(self, value: LscPlane | LscPlanePayload) -> str:
        """Return it as IGC prints it."""
        return self._shown(value, ", ")

    def show_newer(self, value: LscPlane | LscPlanePayload) -> str:
        """Return it as IGC prints it since version 4.2."""
        return self._shown(value, ",")

    @staticmethod
    def _shown(value: LscPlane | LscPlanePayload, separator: str) -> str:
        x, y = value.added
        if isinstance(value, LscPlanePayload):
            return f"flat[{show_surface(value.payload)} + ({x},{y})]"
        shown = [show_surface(operand) for operand in value.operands]
        shown[-2:] = (
            f"{place}{added:+}" if added else place
            for place, added in zip(shown[-2:], (x, y), strict=True)
        )
        return f"flat[{separator.join(shown)}]"

    def decode(self, reader: Reader, tables: DecodeTables) -> LscPlane:
        """Take the six operands."""
        base, width, height, pitch, x, y = (SOURCE.decode(reader, tables) for _ in range(6))
        return LscPlane(base, width, height, pitch, x, y)

    def encode(
        self, value: LscPlane | LscPlanePayload, writer: Writer, tables: EncodeTables
    ) -> None:
        """Append the six operands; there is no place for anything else."""
        major, minor = tables.version
        lacks = f"version {major}.{minor} has no place for"
        if isinstance(value, LscPlanePayload):
            raise CodingError(f"{lacks} a 2D block whose payload stands in a register")
        if value.added != _NOTHING_ADDED:
            raise CodingError(f"{lacks} constants that are added to a 2D block's x and y")
        for operand in value.operands:
            SOURCE.encode(operand, writer, tables)


def _pair(cursor: Cursor, names: Names) -> tuple[int, int]:
    """Take `(x,y)`, two signed constants."""
    cursor.expect("(")
    x = expression(cursor, names, "columns", level=Level.UNARY)
    cursor.expect(",")
    y = expression(cursor, names, "rows", level=Level.UNARY)
    cursor.expect(")")
    return x, y


_BLOCK_PARTS: Mapping[str, Codec] = {
    "data": DATA_CODES,
    "transposed": ORDER_CODES,
    "blocks": NumberKind(width=1),
    "width": NumberKind(width=2),
    "height": NumberKind(width=2),
    "vnni": SizeKind(((False, 0), (True, 1))),
}
BLOCK = BlockKind()
PLANE = PlaneKind()
