"""Kinds of operands that messages take: raw operands, surfaces, samplers.

Texts of devices with 64-bit pointers to states (version 4.2) have general variables in the place of
surface and sampler variables: `V40`, or `(V40, 1)` for the state behind the one that V40 names.
"""

import re
from dataclasses import dataclass

from visim.expressions import Level, integer
from visim.isa.codecs import CodingError, DecodeTables, EncodeTables, put
from visim.isa.naming import of_class, variable
from visim.isa.operand_bytes import (
    decode_raw,
    encode_raw,
)
from visim.isa.registry import Names, field_type_error
from visim.layout import Reader, Writer
from visim.lex import (
    Cursor,
)
from visim.operands import (
    General,
    RawOperand,
    SamplerVariable,
    StatePointer,
    SurfaceVariable,
)

State = SurfaceVariable | SamplerVariable | StatePointer

_POINTERS_SINCE = (4, 2)
_SCALAR = re.compile(r"\(0,0\)<0;1,0>\[")
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


@dataclass(frozen=True, slots=True)
class PointerKind:
    """A state variable by name, or since version 4.2 a pointer to a state.

    `plain` is the kind of the variable. Compilers print the pointer of a load with a region,
    `V40(0,0)<0;1,0>[1]` (`has_region`), which is read everywhere.
    """

    plain: SurfaceKind | SamplerKind
    has_region: bool = False

    @property
    def expected(self) -> str:
        """What stands here."""
        return self.plain.expected

    def parse(self, cursor: Cursor, names: Names) -> State:
        """Take the name or pointer."""
        if names.version < _POINTERS_SINCE:
            return self.plain.parse(cursor, names)
        cursor.skip_space()
        if cursor.take("("):
            found = of_class(cursor, names, General, "a general variable with a pointer to a state")
            cursor.expect(",", "',' and the number of a state behind the one pointed to")
            index = self._index(cursor, names)
            cursor.expect(")")
            return StatePointer(found, index)
        start = cursor.position
        found = variable(cursor, names, self.expected)
        if not isinstance(found, General):
            cursor.position = start
            return self.plain.parse(cursor, names)
        if found.is_predefined:
            message = field_type_error(found, self.expected)
            raise cursor.failure_at(start, "operand-class", message)
        if not cursor.match(_SCALAR):
            return StatePointer(found)
        index = self._index(cursor, names)
        cursor.expect("]")
        return StatePointer(found, index)

    @staticmethod
    def _index(cursor: Cursor, names: Names) -> int:
        return integer(cursor, names, "the number of a state", high=1 << 8, level=Level.UNARY)

    def show(self, value: State) -> str:
        """Return it as IGC prints it."""
        if not isinstance(value, StatePointer):
            return value.name
        if self.has_region:
            return f"{value.variable.name}(0,0)<0;1,0>[{value.index}] "
        return f"({value.variable.name}, {value.index}) " if value.index else value.variable.name

    def decode(self, reader: Reader, tables: DecodeTables) -> State:
        """Take the variable's number."""
        return self.plain.decode(reader, tables)

    def encode(self, value: State, writer: Writer, tables: EncodeTables) -> None:
        """Append the variable's number; objects have no place for pointers (IGC, the reader)."""
        if isinstance(value, StatePointer):
            raise CodingError(f"an object has no place for the state that {self.show(value)} names")
        put(writer, tables.number(value), 1, "a state variable's number")


RAW = RawKind()
RAW_LSC = RawKind(lsc=True, expected="a general variable such as 'V40'")
RAWS = RawListKind()
SURFACE = SurfaceKind()
SAMPLER = SamplerKind()
POINTED_SURFACE = PointerKind(SURFACE)
LOADED_SURFACE = PointerKind(SURFACE, has_region=True)
POINTED_SAMPLER = PointerKind(SAMPLER)
