"""Writes one kernel or function as an object, the inverse of `unitreader`.

The order of strings and labels follows the object from which the unit was read; for other units
it is that of GenX_IR: predefined names, declarations, attributes, then what the body mentions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from visim.attributes import (
    ALIGNMENTS,
    TARGETS,
)
from visim.binary.symbols import (
    FILE_ALIAS,
    FIRST_NUMBERS,
    MAX_ADDRESSES,
    MAX_GENERALS,
    MAX_PREDICATES,
    MAX_SAMPLERS,
    MAX_SURFACES,
    WIDE_INPUT_COUNT,
    Numbering,
)
from visim.errors import InputError
from visim.isa import ISA
from visim.isa.codecs import CodingError, Version, number_width, put
from visim.isa.version_kinds import at_version
from visim.layout import Writer
from visim.module import (
    EXPLICIT,
    IMPLICIT_KINDS,
    PARAMETER,
    Input,
    Unit,
    UnitKind,
)
from visim.operands import (
    FIRST_DECLARED_GENERAL,
    AddressVariable,
    Attribute,
    General,
    PredicateVariable,
    SamplerVariable,
    StateVariable,
    SurfaceVariable,
    Variable,
)
from visim.target import COMMON_OBJECT, Platform

_INPUT_GENERAL, _INPUT_SAMPLER, _INPUT_SURFACE = 0, 1, 2
_IMPLICIT_NUMBERS = {name: number for number, name in IMPLICIT_KINDS.items()}
_DEFAULT_INTEGER_WIDTH = 4


@dataclass(frozen=True, slots=True)
class EncodedUnit:
    """A unit's object, and where its inputs begin in it.

    `functions` and `variables` are the functions and file-scope variables that the unit mentions,
    by the numbers that it calls them by.
    """

    data: bytes
    input_offset: int
    functions: dict[int, str]
    variables: dict[int, str]


def write_unit(unit: Unit, platform: Platform, version: Version) -> EncodedUnit:
    """Return the object of `unit` in a file of `version`.

    Raises:
        InputError: something in the unit has no place in an object of this version.
    """
    try:
        return _UnitWriter(unit, platform, version).write()
    except CodingError as error:
        older = "" if version == COMMON_OBJECT else f" (version {version[0]}.{version[1]})"
        raise InputError(f"{unit.name}: {error}{older}", unit.origin) from None


class _UnitWriter:
    """Writes one object; `write` does it."""

    def __init__(self, unit: Unit, platform: Platform, version: Version) -> None:
        self.unit = unit
        self.version = version
        self.numbering = Numbering(unit, platform, version)
        self.width = number_width(self.numbering)

    def write(self) -> EncodedUnit:
        """Write the object: what mentions strings first, and the pool of strings before it."""
        name_number = self.numbering.string(self.unit.name)
        symbols = self._symbols()
        inputs = self._inputs()
        attributes = Writer()
        self._attributes(attributes, self.unit.attributes, 2)
        body = self._body()
        labels = self._labels()
        pool = self._pool()
        put(pool, name_number, self.width, "the number of the unit's name")
        general, rest = symbols
        head = bytes(pool.data + general.data + labels.data + rest.data)
        is_function = self.unit.kind is UnitKind.FUNCTION
        entry = len(head) + len(inputs.data) + 8 + (2 if is_function else 0) + len(attributes.data)
        sizes = Writer()
        sizes.unsigned(len(body.data), 4)
        sizes.unsigned(entry, 4)
        if is_function:
            for size in self.unit.order.sizes if self.unit.order else (0, 0):
                sizes.unsigned(size, 1)
        tail = bytes(inputs.data + sizes.data + attributes.data + body.data)
        numbers = self.numbering
        variables = {number: name for name, number in numbers.file_variables.items()}
        return EncodedUnit(head + tail, len(head), numbers.functions, variables)

    def _pool(self) -> Writer:
        writer = Writer()
        strings = self.numbering.strings
        put(writer, len(strings), self.width, "the number of strings")
        for text in strings:
            writer.data += _utf8(text) + b"\0"
        return writer

    def _symbols(self) -> tuple[Writer, Writer]:
        """Return the tables before that of the labels, and those after it."""
        first, rest = Writer(), Writer()
        self._count(first, self.unit.generals, MAX_GENERALS - FIRST_DECLARED_GENERAL, self.width)
        for general in self.unit.generals:
            self._general(first, general)
        for table, limit in (
            (self.unit.addresses, MAX_ADDRESSES),
            (self.unit.predicates, MAX_PREDICATES),
        ):
            self._count(first, table, limit, 2)
            for variable in table:
                self._plain(first, variable, variable.stored_name)
        for states, limit in (
            (self.unit.samplers, MAX_SAMPLERS),
            (self.unit.surfaces, MAX_SURFACES),
        ):
            self._count(rest, states, limit, 1)
            for state in states:
                self._plain(rest, state, state.v_name)
        rest.unsigned(0, 1)
        return first, rest

    def _count(self, writer: Writer, table: Sequence[Variable], limit: int, width: int) -> None:
        if len(table) > limit:
            raise CodingError(f"{len(table)} variables of a class, objects have at most {limit}")
        for place, variable in enumerate(table):
            if variable.index != FIRST_NUMBERS[type(variable)] + place:
                raise CodingError(f"{variable.name} has number {variable.index}, not its place's")
        put(writer, len(table), width, "the number of variables of a class")

    def _general(self, writer: Writer, variable: General) -> None:
        self._string(writer, variable.stored_name or variable.name)
        if variable.align not in ALIGNMENTS:
            raise CodingError(f"{variable.name} has the unknown alignment {variable.align!r}")
        writer.unsigned(variable.type.code | ALIGNMENTS.index(variable.align) << 4, 1)
        put(writer, variable.count, 2, f"the number of elements of {variable.name}")
        self._alias(writer, variable)
        self._attributes(writer, variable.attributes, 1)

    def _alias(self, writer: Writer, variable: General) -> None:
        alias = variable.alias
        base, scope = 0, 0
        if alias is not None and alias.base.is_file_scope:
            base, scope = self.numbering.file_variable(alias.base.name), FILE_ALIAS
        elif alias is not None:
            base = self.numbering.number(alias.base)
        put(writer, base, self.width, "a variable's number")
        put(writer, alias.offset if alias else 0, 2, f"the alias offset of {variable.name}")
        writer.unsigned(scope, 1)

    def _string(self, writer: Writer, text: str) -> None:
        put(writer, self.numbering.string(text), self.width, "a string's number")

    def _plain(
        self,
        writer: Writer,
        variable: AddressVariable | PredicateVariable | StateVariable,
        stored_name: str | None,
    ) -> None:
        self._string(writer, stored_name or variable.name)
        put(writer, variable.count, 2, f"the number of elements of {variable.name}")
        self._attributes(writer, variable.attributes, 1)

    def _labels(self) -> Writer:
        writer = Writer()
        put(writer, len(self.numbering.labels), 2, "the number of labels")
        for number, label in enumerate(self.numbering.labels):
            name = self.numbering.label_string(number)
            put(writer, name, self.width, "a string's number")
            writer.unsigned(label.kind, 1)
            writer.unsigned(0, 1)
        return writer

    def _attributes(self, writer: Writer, attributes: Sequence[Attribute], width: int) -> None:
        put(writer, len(attributes), width, "the number of attributes")
        for attribute in attributes:
            value = _attribute_bytes(attribute)
            self._string(writer, attribute.name)
            put(writer, len(value), 1, f"the length of attribute {attribute.name}")
            writer.data += value

    def _inputs(self) -> Writer:
        writer = Writer()
        if self.unit.kind is UnitKind.FUNCTION:
            return writer
        inputs = [entry for entry in self.unit.inputs if entry.kind != PARAMETER]
        count_width = 4 if self.version >= WIDE_INPUT_COUNT else 1
        put(writer, len(inputs), count_width, "the number of inputs")
        for entry in inputs:
            writer.unsigned(_input_class(entry) | _implicit_number(entry.kind) << 3, 1)
            number = self.numbering.number(entry.variable)
            put(writer, number, self.width, "a variable's number")
            put(writer, entry.offset, 2, f"the offset of input {entry.variable.name}")
            put(writer, entry.size, 2, f"the size of input {entry.variable.name}")
        return writer

    def _body(self) -> Writer:
        writer = Writer()
        for item in self.unit.body:
            ISA.encode(at_version(item, self.version), writer, self.numbering)
        return writer


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise CodingError(f"{text!r} cannot be encoded as UTF-8") from None


def _input_class(entry: Input) -> int:
    match entry.variable:
        case General():
            return _INPUT_GENERAL
        case SamplerVariable():
            return _INPUT_SAMPLER
        case SurfaceVariable():
            return _INPUT_SURFACE


def _implicit_number(kind: str) -> int:
    if kind == EXPLICIT:
        return 0
    digits = kind.removeprefix("UNDEFINED_")
    number = int(digits) if digits.isdecimal() else _IMPLICIT_NUMBERS.get(kind, 0)
    if not 0 < number < 1 << 5:
        raise CodingError(f"{kind} is not a kind of input")
    return number


def _attribute_bytes(attribute: Attribute) -> bytes:
    value, width = attribute.value, attribute.width
    if attribute.name == "Target":
        if value not in TARGETS:
            raise CodingError(f"attribute Target is {value!r}, known are {', '.join(TARGETS)}")
        return TARGETS.index(value).to_bytes(width or 1, "little")
    if isinstance(value, str):
        return _utf8(value)
    if value is None:
        return (1).to_bytes(width, "little") if width else b""
    size = width or _DEFAULT_INTEGER_WIDTH
    if not 0 <= value < 1 << 8 * size:
        raise CodingError(f"attribute {attribute.name} is {value}, which {size} bytes cannot hold")
    return value.to_bytes(size, "little")
