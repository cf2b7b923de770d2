"""Kinds of names: labels, functions, strings."""

import re
from dataclasses import dataclass

from visim.isa.codecs import DecodeTables, EncodeTables, number_width, put
from visim.isa.registry import Names
from visim.layout import Reader, Writer
from visim.lex import (
    STRING_LITERAL,
    Cursor,
    quoted,
    unquoted,
)

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_BARE_NAME = re.compile(r"[A-Za-z_$@?][\w$@?.-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class NameKind:
    """A bare name: a label or function; '.' and '$' are part of what compilers write."""

    expected: str = "a name"
    is_label: bool = False

    def labels_of(self, value: str) -> tuple[str, ...]:
        """Return the labels that the operand names."""
        return (value,) if self.is_label else ()

    def parse(self, cursor: Cursor, names: Names) -> str:
        """Take the name, without quotes."""
        cursor.skip_space()
        literal = cursor.match(STRING_LITERAL)
        if literal:
            return unquoted(literal.group())
        return cursor.need(_BARE_NAME, self.expected).group()

    def show(self, value: str) -> str:
        """Return the name, quoted where it is no identifier."""
        return value if _IDENTIFIER.fullmatch(value) else quoted(value)

    def decode(self, reader: Reader, tables: DecodeTables) -> str:
        """Take the number of a label or function."""
        number = reader.unsigned(2)
        return tables.label(number) if self.is_label else tables.function(number)

    def encode(self, value: str, writer: Writer, tables: EncodeTables) -> None:
        """Append the number of the label or function."""
        number = tables.label(value) if self.is_label else tables.function(value)
        put(writer, number, 2, "a name's number")


@dataclass(frozen=True, slots=True)
class StringKind:
    """A string literal."""

    expected: str = "a string"

    def parse(self, cursor: Cursor, names: Names) -> str:
        """Take the literal, without its quotes."""
        return unquoted(cursor.need(STRING_LITERAL, self.expected).group())

    def show(self, value: str) -> str:
        """Return it in quotes."""
        return quoted(value)

    def decode(self, reader: Reader, tables: DecodeTables) -> str:
        """Take the string's number."""
        return tables.string(reader.unsigned(number_width(tables)))

    def encode(self, value: str, writer: Writer, tables: EncodeTables) -> None:
        """Append the string's number."""
        put(writer, tables.string(value), number_width(tables), "a string's number")


LABEL = NameKind("a label", is_label=True)
FUNCTION = NameKind("a function's name")
STRING = StringKind()
