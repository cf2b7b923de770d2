"""Kinds of operands that only control flow has: tables of labels, and lifetime marks."""

import re
from dataclasses import dataclass

from visim.isa.codecs import CodingError, DecodeTables, EncodeTables, number_width, put
from visim.isa.kinds import SOURCE
from visim.isa.name_kinds import LABEL, NameKind
from visim.isa.naming import variable
from visim.isa.registry import Names
from visim.layout import Reader, Writer
from visim.lex import Cursor
from visim.operands import (
    AddressVariable,
    General,
    JumpTable,
    Lifetime,
    PredicateVariable,
    SamplerVariable,
    SurfaceVariable,
)

MOST_LABELS = 32
_PROMISES = re.compile(r"(?:\.uniform)?(?:\.noreturn)?")
_PROMISES_SINCE = (4, 2)
_PROMISE_BITS = (("uniform", 0x1), ("noreturn", 0x2))
_MOST_STORED = 255
_END = 0x01
_CLASS_SHIFT = 4
_GENERAL, _ADDRESS, _PREDICATE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class PromisesKind:
    """What newer compilers promise of an indirect call: `.uniform`, `.noreturn`, or both.

    No page has them, nor have objects before version 4.2.
    """

    expected: str = "'.uniform' or '.noreturn'"

    def parse(self, cursor: Cursor, names: Names) -> tuple[str, ...]:
        """Take the words."""
        return tuple(cursor.need(_PROMISES, self.expected).group().split(".")[1:])

    def show(self, value: tuple[str, ...]) -> str:
        """Return them, a dot before each."""
        return "".join(f".{word}" for word in value)

    def decode(self, reader: Reader, tables: DecodeTables) -> tuple[str, ...]:
        """Take the byte of the promises, if the object's version has it."""
        if tables.version < _PROMISES_SINCE:
            return ()
        bits = reader.unsigned(1)
        if bits >> len(_PROMISE_BITS):
            raise CodingError(f"0x{bits:x} stands for no promises of an indirect call")
        return tuple(word for word, bit in _PROMISE_BITS if bits & bit)

    def encode(self, value: tuple[str, ...], writer: Writer, tables: EncodeTables) -> None:
        """Append their byte; before version 4.2 only a call without a promise can be stored."""
        if tables.version >= _PROMISES_SINCE:
            writer.unsigned(sum(bit for word, bit in _PROMISE_BITS if word in value), 1)
        elif value:
            major, minor = tables.version
            raise CodingError(f"version {major}.{minor} has no place for {self.show(value)}")


@dataclass(frozen=True, slots=True)
class JumpTableKind:
    """An index and the labels that it chooses from: `V40(0,0)<0;1,0> (_0_001, _0_002)`."""

    expected: str = "an index and labels such as '(_0_001, _0_002)'"

    @staticmethod
    def labels_of(value: JumpTable) -> tuple[str, ...]:
        """Return the labels that the operand names."""
        return value.labels

    def parse(self, cursor: Cursor, names: Names) -> JumpTable:
        """Take the operand."""
        index = SOURCE.parse(cursor, names)
        cursor.expect("(")
        labels = [LABEL.parse(cursor, names)]
        cursor.skip_space()
        while not cursor.take(")"):
            # Commas between labels, behind them, or none: the assembler takes all.
            if not cursor.take(","):
                labels.append(LABEL.parse(cursor, names))
            if len(labels) > _MOST_STORED:
                message = f"more than {_MOST_STORED} labels"
                raise cursor.failure_at(cursor.position, "limit", message, length=1)
            cursor.skip_space()
        return JumpTable(index, tuple(labels))

    def show(self, value: JumpTable) -> str:
        """Return it as IGC prints it."""
        labels = ", ".join(LABEL.show(label) for label in value.labels)
        return f"{SOURCE.show(value.index)} ({labels})"

    def decode(self, reader: Reader, tables: DecodeTables) -> JumpTable:
        """Take the number of labels, the index and the labels."""
        count = reader.unsigned(1)
        index = SOURCE.decode(reader, tables)
        return JumpTable(index, tuple(LABEL.decode(reader, tables) for _ in range(count)))

    def encode(self, value: JumpTable, writer: Writer, tables: EncodeTables) -> None:
        """Append the number of labels, the index and the labels."""
        put(writer, len(value.labels), 1, "the number of labels")
        SOURCE.encode(value.index, writer, tables)
        for label in value.labels:
            LABEL.encode(label, writer, tables)


@dataclass(frozen=True, slots=True)
class LifetimeKind:
    """Where a variable's lifetime starts or ends: `start V40`."""

    expected: str = "'start' or 'end' and a variable"

    def parse(self, cursor: Cursor, names: Names) -> Lifetime:
        """Take the word and the variable."""
        word = cursor.need(re.compile(r"(start|end)\b"), "'start' or 'end'").group(1)
        cursor.skip_space()
        start = cursor.position
        found = variable(cursor, names, "a variable")
        if isinstance(found, SurfaceVariable | SamplerVariable):
            message = f"{found.name} is not a general, address or predicate variable"
            raise cursor.failure_at(start, "operand-class", message)
        return Lifetime(found, word == "end")

    def show(self, value: Lifetime) -> str:
        """Return it as IGC prints it."""
        return f"{'end' if value.ends else 'start'} {value.variable.name}"

    def decode(self, reader: Reader, tables: DecodeTables) -> Lifetime:
        """Take the properties and the variable's number."""
        properties, number = reader.unsigned(1), reader.unsigned(number_width(tables))
        ends, kind = bool(properties & _END), properties >> _CLASS_SHIFT
        if kind == _GENERAL:
            return Lifetime(tables.general(number), ends)
        if kind == _ADDRESS:
            return Lifetime(tables.address(number), ends)
        if kind == _PREDICATE:
            return Lifetime(tables.predicate(number), ends)
        raise CodingError(f"a lifetime is of a variable of class {kind}, only 0 to 2 are known")

    def encode(self, value: Lifetime, writer: Writer, tables: EncodeTables) -> None:
        """Append the properties and the variable's number."""
        match value.variable:
            case General():
                kind = _GENERAL
            case AddressVariable():
                kind = _ADDRESS
            case PredicateVariable():
                kind = _PREDICATE
        writer.unsigned(kind << _CLASS_SHIFT | (_END if value.ends else 0), 1)
        put(writer, tables.number(value.variable), number_width(tables), "a variable's number")


@dataclass(frozen=True, slots=True)
class ExternalLabelKind(NameKind):
    """A kernel of another file, which an object gives the number of a label."""

    expected: str = "a kernel's name"

    def decode(self, reader: Reader, tables: DecodeTables) -> str:
        """Take the label's number."""
        return tables.label(reader.unsigned(2))

    def encode(self, value: str, writer: Writer, tables: EncodeTables) -> None:
        """Append the label's number."""
        put(writer, tables.label(value), 2, "a label's number")


JUMP_TABLE = JumpTableKind()
EXTERNAL_LABEL = ExternalLabelKind()
LIFETIME = LifetimeKind()
PROMISES = PromisesKind()
