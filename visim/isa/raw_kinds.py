"""Kinds of operands that messages take: raw operands, surfaces, samplers."""

import re
from dataclasses import dataclass

from visim.expressions import Level, integer
from visim.isa.codecs import CodingError, DecodeTables, EncodeTables, put
from visim.isa.naming import of_class
from visim.isa.operand_bytes import (
    decode_raw,
    encode_raw,
)
from visim.isa.registry import Names
from visim.layout import Reader, Writer
from visim.lex import (
    Cursor,
)
from visim.operands import (
    General,
    RawOperand,
    SamplerVariable,
    SurfaceVariable,
)

_PLAIN_RAW = re.compile(r"\s*(%?[A-Za-z_]\w*)(?:\.(\d{1,4}))?(?![\w.(]|\s*\.)", re.ASCII)


@dataclass(frozen=True, slots=True)
class RawKind:
    """A raw operand `V40.64`; `lsc` operands print no offset when it is zero."""

    lsc: bool = False
    expected: str = "a general variable such as 'V40.0'"

    def parse(self, cursor: Cursor, names: Names) -> RawOperand:
        """Take the operand."""
        plain = _PLAIN_RAW.match(cursor.text, cursor.position)
        known = names.lookup(plain.group(1)) if plain else None
        if plain and isinstance(known, General):
            cursor.position = plain.end()
            return RawOperand(known, int(plain.group(2) or 0))
        found = of_class(cursor, names, General, self.expected)
        cursor.skip_space()
        if not cursor.take("."):
            return RawOperand(found, 0)
        cursor.skip_space()
        level = Level.UNARY
        return RawOperand(found, integer(cursor, names, "a byte offset", high=1 << 16, level=level))

    def show(self, value: RawOperand) -> str:
        """Return it as IGC prints it."""
        if self.lsc and value.offset == 0:
            return value.variable.name
        return f"{value.variable.name}.{value.offset}"

    def decode(self, reader: Reader, tables: DecodeTables) -> RawOperand:
        """Take the operand's bytes."""
        return decode_raw(reader, tables)

    def encode(self, value: RawOperand, writer: Writer, tables: EncodeTables) -> None:
        """Append the operand's bytes."""
        encode_raw(value, writer, tables)


@dataclass(frozen=True, slots=True)
class RawListKind:
    """One or more raw operands up to the end of the instruction."""

    expected: str = "a list of raw operands"

    def parse(self, cursor: Cursor, names: Names) -> tuple[RawOperand, ...]:
        """Take all that stand here."""
        found = [RawKind().parse(cursor, names)]
        while not cursor.at_end:
            found.append(RawKind().parse(cursor, names))
        return tuple(found)

    def show(self, value: tuple[RawOperand, ...]) -> str:
        """Return them separated by blanks."""
        return " ".join(RawKind().show(operand) for operand in value)

    def decode(self, reader: Reader, tables: DecodeTables) -> tuple[RawOperand, ...]:
        """Take a count and as many operands."""
        count = reader.unsigned(1)
        if not count:
            raise CodingError("the list of raw operands is empty")
        return tuple(decode_raw(reader, tables) for _ in range(count))

    def encode(self, value: tuple[RawOperand, ...], writer: Writer, tables: EncodeTables) -> None:
        """Append the count and the operands."""
        put(writer, len(value), 1, "the number of raw operands")
        for operand in value:
            encode_raw(operand, writer, tables)


@dataclass(frozen=True, slots=True)
class SurfaceKind:
    """A surface variable by name."""

    expected: str = "a surface variable such as 'T6'"

    def parse(self, cursor: Cursor, names: Names) -> SurfaceVariable:
        """Take the name."""
        return of_class(cursor, names, SurfaceVariable, self.expected)

    def show(self, value: SurfaceVariable) -> str:
        """Return the name."""
        return value.name

    def decode(self, reader: Reader, tables: DecodeTables) -> SurfaceVariable:
        """Take the variable's number."""
        return tables.surface(reader.unsigned(1))

    def encode(self, value: SurfaceVariable, writer: Writer, tables: EncodeTables) -> None:
        """Append the variable's number."""
        put(writer, tables.number(value), 1, "a surface variable's number")


@dataclass(frozen=True, slots=True)
class SamplerKind:
    """A sampler variable by name."""

    expected: str = "a sampler variable such as 'S0'"

    def parse(self, cursor: Cursor, names: Names) -> SamplerVariable:
        """Take the name."""
        return of_class(cursor, names, SamplerVariable, self.expected)

    def show(self, value: SamplerVariable) -> str:
        """Return the name."""
        return value.name

    def decode(self, reader: Reader, tables: DecodeTables) -> SamplerVariable:
        """Take the variable's number."""
        return tables.sampler(reader.unsigned(1))

    def encode(self, value: SamplerVariable, writer: Writer, tables: EncodeTables) -> None:
        """Append the variable's number."""
        put(writer, tables.number(value), 1, "a sampler variable's number")


RAW = RawKind()
RAW_LSC = RawKind(lsc=True, expected="a general variable such as 'V40'")
RAWS = RawListKind()
SURFACE = SurfaceKind()
SAMPLER = SamplerKind()
