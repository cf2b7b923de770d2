"""Reads one kernel or function of an object file: its symbol tables and its instructions.

Knows the records inside an object; where objects lie in a file is the business of `isafile`.
Facts: docs/formats.md, The object.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from visim.attributes import (
    ALIGNMENTS,
    KERNEL_ATTRIBUTES,
    TARGETS,
    VARIABLE_ATTRIBUTES,
    AttributeValue,
)
from visim.binary.symbols import (
    FILE_ALIAS,
    FIRST_PREDICATE,
    FIRST_SURFACE,
    MAX_ADDRESSES,
    MAX_GENERALS,
    MAX_PREDICATES,
    MAX_SAMPLERS,
    MAX_SURFACES,
    STATIC_CODE,
    WIDE_INPUT_COUNT,
    Names,
    UnitTables,
)
from visim.diag import ByteSpan
from visim.errors import InputError
from visim.isa import ISA
from visim.isa.codecs import CodingError, Version, number_width
from visim.isa.forms import LabelMark, SubroutineMark
from visim.isa.registry import Instruction
from visim.layout import Reader
from visim.module import (
    EXPLICIT,
    IMPLICIT_KINDS,
    Input,
    Linkage,
    ObjectOrder,
    Unit,
    UnitKind,
)
from visim.operands import (
    FIRST_DECLARED_GENERAL,
    MAX_ALIASES,
    AddressVariable,
    Alias,
    Attribute,
    General,
    PredicateVariable,
    SamplerVariable,
    StateVariable,
    SurfaceVariable,
)
from visim.target import Platform
from visim.types import BY_CODE

_TRUNCATED_ZEROS = 24
_TRUNCATED_SHARE = 8
_SHORT_ZEROS = 8
_RETURNS = frozenset({0x34, 0x68})
_OWN_NAME = re.compile(r'[^\s,{}"/\\]+')
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ObjectContext:
    """What an object's file says about it: version gates, platform and declared functions.

    `inputs_at` is where the file's header says that the kernel's inputs begin, `linkage` the
    number of a function's linkage. `called` and `variables` have the functions and variables of
    file scope by the numbers that the unit calls them by; `taken` has the names of the latter.
    """

    version: Version
    platform: Platform | None
    functions: tuple[str, ...]
    inputs_at: int | None = None
    linkage: int = 0
    called: Mapping[int, str] = field(default_factory=dict[int, str])
    variables: Mapping[int, General] = field(default_factory=dict[int, General])
    taken: frozenset[str] = frozenset()


def read_unit(reader: Reader, name: str, kind: UnitKind, context: ObjectContext) -> Unit:
    """Return the unit whose object begins at the reader's position and fills it to its end.

    Raises:
        InputError: the object is not what it should be.
    """
    start = reader.position
    try:
        return _UnitReader(reader, name, kind, context).read()
    except CodingError as error:
        at = max(start, reader.position - 1)
        raise InputError(f"{name}: {error}", ByteSpan(reader.file, at)) from None


class _UnitReader:
    """Reads one object; `read` does it."""

    def __init__(self, reader: Reader, name: str, kind: UnitKind, context: ObjectContext) -> None:
        self.reader = reader
        self.name = name
        self.kind = kind
        self.context = context
        self.start = reader.position
        self.tables = UnitTables(context.version, context.platform, context.called)
        self.width = number_width(self.tables)
        self.names = Names(context.taken)
        self.inputs: set[tuple[int, int]] = set()

    def read(self) -> Unit:
        """Read the object."""
        reader, tables = self.reader, self.tables
        count = reader.unsigned(self.width)
        tables.strings = [self._text(self._until_zero()) for _ in range(count)]
        tables.string(reader.unsigned(self.width))
        self._variables()
        inputs: list[Input] = []
        if self.kind is UnitKind.KERNEL:
            if reader.position != self.context.inputs_at:
                stated = self.context.inputs_at
                raise CodingError(f"the inputs are at {reader.position}, the file says {stated}")
            count = reader.unsigned(4 if self.context.version >= WIDE_INPUT_COUNT else 1)
            inputs = [self._input() for _ in range(count)]
        size, entry = reader.unsigned(4), reader.unsigned(4)
        sizes = (0, 0)
        if self.kind is UnitKind.FUNCTION:
            sizes = (reader.unsigned(1), reader.unsigned(1))
        attributes = self._attributes(2, KERNEL_ATTRIBUTES)
        self._check_stream(size, entry)
        return Unit(
            self.name,
            self.kind,
            self.context.functions if self.kind is UnitKind.KERNEL else (),
            tuple(tables.generals),
            tuple(tables.addresses),
            tuple(tables.predicates),
            tuple(tables.samplers),
            tuple(tables.surfaces),
            tuple(inputs),
            attributes,
            self._body(),
            ByteSpan(reader.file, self.start, reader.end - self.start),
            ObjectOrder(tuple(tables.strings), tuple(tables.labels), self.context.linkage, sizes),
            Linkage.STATIC if self.context.linkage == STATIC_CODE else Linkage.GLOBAL,
        )

    # Strings and attributes

    def _until_zero(self) -> bytes:
        reader = self.reader
        end = reader.data.find(b"\0", reader.position, reader.end)
        if end < 0:
            raise CodingError("a string has no end")
        text = reader.take(end - reader.position)
        reader.take(1)
        return text

    @staticmethod
    def _text(raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise CodingError(f"the string {raw[:40]!r} is not UTF-8") from None

    def _attributes(
        self, count_width: int, known: dict[str, AttributeValue]
    ) -> tuple[Attribute, ...]:
        found: dict[str, Attribute] = {}
        for _ in range(self.reader.unsigned(count_width)):
            attribute = self._attribute(known)
            if attribute.name in found:
                raise CodingError(f"attribute {attribute.name} is given twice")
            found[attribute.name] = attribute
        return tuple(found.values())

    def _attribute(self, known: dict[str, AttributeValue]) -> Attribute:
        """Read an attribute; an unknown one of a kernel is taken for what its bytes look like."""
        name = self.tables.string(self.reader.unsigned(self.width))
        raw = self.reader.take(self.reader.unsigned(1))
        kind = known.get(name)
        if kind is None and known is not KERNEL_ATTRIBUTES:
            raise CodingError(f"attribute {name!r} is not known")
        kind = kind or _guessed_kind(raw)
        if kind is AttributeValue.TEXT and name != "Target":
            return Attribute(name, self._text(raw))
        if not raw and kind is AttributeValue.FLAG:
            return Attribute(name)
        if not 0 < len(raw) <= 8:
            raise CodingError(f"attribute {name} has a value of {len(raw)} bytes")
        value = int.from_bytes(raw, "little")
        if kind is AttributeValue.FLAG:
            return Attribute(name, None if value == 1 else value, len(raw))
        if name != "Target":
            return Attribute(name, value, len(raw))
        if value >= len(TARGETS):
            raise CodingError(f"attribute Target is {value}, known are 0 and 1")
        return Attribute(name, TARGETS[value], len(raw))

    # Symbol tables

    def _variables(self) -> None:
        reader, tables = self.reader, self.tables
        limit = MAX_GENERALS - FIRST_DECLARED_GENERAL
        self._table(self.width, limit, "general variables", tables.generals, self._general)
        self._table(2, MAX_ADDRESSES, "address variables", tables.addresses, self._address)
        self._table(2, MAX_PREDICATES, "predicate variables", tables.predicates, self._predicate)
        labels: list[tuple[str, int]] = []
        self._table(2, 1 << 16, "labels", labels, self._label)
        tables.declare_labels(labels)
        self._table(1, MAX_SAMPLERS, "sampler variables", tables.samplers, self._sampler)
        self._table(1, MAX_SURFACES, "surface variables", tables.surfaces, self._surface)
        if reader.unsigned(1):
            raise CodingError("the unit has video motion estimation variables, visim has none")

    def _table(
        self, width: int, limit: int, what: str, table: list[_T], entry: Callable[[int], _T]
    ) -> None:
        count = self.reader.unsigned(width)
        if count > limit:
            raise CodingError(f"the unit has {count} {what}, at most {limit} are possible")
        while len(table) < count:
            table.append(entry(len(table)))

    def _general(self, place: int) -> General:
        """Read the general variable at a place of its table."""
        reader = self.reader
        number = FIRST_DECLARED_GENERAL + place
        stored = self.tables.string(reader.unsigned(self.width))
        bits = reader.unsigned(1)
        count = self._count(stored)
        base, offset, scope = reader.unsigned(self.width), reader.unsigned(2), reader.unsigned(1)
        alias = self._alias(stored, number, base, offset, scope)
        attributes = self._attributes(1, VARIABLE_ATTRIBUTES)
        if bits >> 4 >= len(ALIGNMENTS):
            raise CodingError(f"{stored} has alignment {bits >> 4}")
        name = self.names.general(stored, number)
        return General(
            name,
            BY_CODE[bits & 15],
            count,
            ALIGNMENTS[bits >> 4],
            alias,
            attributes,
            number,
            stored_name=stored if stored != name else None,
        )

    def _count(self, name: str) -> int:
        count = self.reader.unsigned(2)
        if count == 0:
            raise CodingError(f"{name} has no elements")
        return count

    def _alias(self, name: str, number: int, base: int, offset: int, scope: int) -> Alias | None:
        if scope == FILE_ALIAS:
            return self._file_alias(name, base, offset)
        if scope:
            raise CodingError(f"the scope of the alias {name} is {scope}, known are 0 and 1")
        if base == 0:
            if offset:
                raise CodingError(f"{name} is not an alias but has the offset {offset}")
            return None
        if base >= number:
            raise CodingError(f"{name} is an alias of variable {base}, which comes later")
        alias = Alias(self.tables.general(base), offset)
        if alias.depth > MAX_ALIASES:
            raise CodingError(f"{name} is an alias of more than {MAX_ALIASES} aliases")
        return alias

    def _file_alias(self, name: str, base: int, offset: int) -> Alias:
        variable = self.context.variables.get(base)
        if variable is None:
            message = f"{name} is an alias of file-scope variable {base}, which does not exist"
            raise CodingError(message)
        return Alias(variable, offset)

    def _plain(self) -> tuple[str, int, tuple[Attribute, ...]]:
        stored = self.tables.string(self.reader.unsigned(self.width))
        return stored, self._count(stored), self._attributes(1, VARIABLE_ATTRIBUTES)

    def _address(self, place: int) -> AddressVariable:
        stored, count, attributes = self._plain()
        return AddressVariable(f"A{place}", count, attributes, place, stored_name=stored)

    def _predicate(self, place: int) -> PredicateVariable:
        stored, count, attributes = self._plain()
        number = FIRST_PREDICATE + place
        return PredicateVariable(f"P{number}", count, attributes, number, stored_name=stored)

    def _label(self, _place: int) -> tuple[str, int]:
        name = self.tables.string(self.reader.unsigned(self.width))
        kind = self.reader.unsigned(1)
        self._attributes(1, {})
        return name, kind

    def _sampler(self, place: int) -> SamplerVariable:
        stored, count, attributes = self._plain()
        name = f"S{place}"
        return SamplerVariable(name, count, attributes, place, _own_name(stored, name))

    def _surface(self, place: int) -> SurfaceVariable:
        stored, count, attributes = self._plain()
        number = FIRST_SURFACE + place
        name = f"T{number}"
        return SurfaceVariable(name, count, attributes, number, _own_name(stored, name))

    def _input(self) -> Input:
        """Read an input."""
        reader, tables = self.reader, self.tables
        start = reader.position
        bits, number = reader.unsigned(1), reader.unsigned(self.width)
        offset, size = reader.unsigned(2), reader.unsigned(2)
        variable: General | StateVariable
        match bits & 7:
            case 0 if number >= FIRST_DECLARED_GENERAL:
                variable = tables.general(number)
            case 1 if number < len(tables.samplers):
                variable = tables.sampler(number)
            case 2 if number >= FIRST_SURFACE:
                variable = tables.surface(number)
            case _:
                raise CodingError(f"an input has class {bits & 7} and variable {number}")
        if (bits & 7, number) in self.inputs:
            raise CodingError(f"{variable.name} is an input twice")
        self.inputs.add((bits & 7, number))
        implicit = bits >> 3
        kind = IMPLICIT_KINDS.get(implicit, f"UNDEFINED_{implicit}") if implicit else EXPLICIT
        origin = ByteSpan(reader.file, start, reader.position - start)
        return Input(variable, offset, size, kind, origin)

    # Instructions

    def _check_stream(self, size: int, entry: int) -> None:
        at = self.reader.position - self.start
        if entry != at:
            raise CodingError(f"the first instruction is at {at}, the object says {entry}")
        if size != self.reader.end - self.reader.position:
            left = self.reader.end - self.reader.position
            raise CodingError(f"{left} bytes of instructions are left, the object says {size}")

    def _body(self) -> tuple[Instruction, ...]:
        start = self.reader.position
        try:
            body = tuple(self._instructions())
        except InputError:
            if self._is_truncated(start):
                raise _truncated(self.name, self.reader, start) from None
            raise
        self._check_labels(body)
        return body

    def _instructions(self) -> Iterator[Instruction]:
        reader, tables = self.reader, self.tables
        while reader.position < reader.end:
            yield ISA.decode(reader, tables)

    def _is_truncated(self, start: int) -> bool:
        """Whether zeros end the instructions as no complete instructions end.

        A return that lacks its operands is its opcode only, so few zeros tell there.
        """
        stream = self.reader.data[start : self.reader.end]
        written = stream.rstrip(b"\0")
        zeros = len(stream) - len(written)
        if zeros >= _SHORT_ZEROS and written and written[-1] in _RETURNS:
            return True
        return zeros >= max(_TRUNCATED_ZEROS, len(stream) // _TRUNCATED_SHARE)

    def _check_labels(self, body: tuple[Instruction, ...]) -> None:
        defined: set[str] = set()
        for item in body:
            if not isinstance(item, LabelMark | SubroutineMark):
                continue
            if item.name in defined:
                raise InputError(f"label {item.name} is defined twice", item.origin)
            defined.add(item.name)
        missing = self.tables.mentioned - defined
        if missing:
            raise CodingError(f"label {min(missing)} is not defined in the unit")


def _own_name(stored: str, name: str) -> str | None:
    """Return what a sampler or surface is called, unless it is its number or no text can say it."""
    return stored if stored != name and _OWN_NAME.fullmatch(stored) else None


def _guessed_kind(raw: bytes) -> AttributeValue:
    """Return what an attribute's value is that finalizers ignore: they tell by its name only."""
    if not raw:
        return AttributeValue.FLAG
    return AttributeValue.INTEGER if len(raw) in {1, 2, 4} else AttributeValue.TEXT


def _truncated(name: str, reader: Reader, start: int) -> InputError:
    return InputError(
        f"the instructions of {name} are incomplete: operands are missing, and the rest is zero. "
        "The released GenX_IR and ocloc 1.0.12504 write such objects; assemble the unit's text "
        "instead",
        ByteSpan(reader.file, start, reader.end - start),
    )
