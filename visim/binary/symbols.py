"""The numbers of an object's strings, variables and labels, in both directions.

`UnitTables` gives what a number stands for while a unit is read; `Numbering` gives the number
while it is written. Facts: docs/formats.md, The object.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from visim import predefined
from visim.isa.codecs import CodingError, Version
from visim.isa.forms import ExternalCall, LabelMark, SubroutineMark
from visim.isa.registry import named_labels
from visim.module import ObjectOrder, StoredLabel, Unit
from visim.operands import (
    FIRST_DECLARED_GENERAL,
    AddressVariable,
    General,
    PredicateVariable,
    SamplerVariable,
    SurfaceVariable,
    Variable,
)
from visim.target import Platform

BLOCK, SUBROUTINE, EXTERNAL = 0, 1, 2
EXTERNAL_CODE, STATIC_CODE, GLOBAL_CODE = 0, 1, 2
"""Numbers of linkage; compilers write that of external things for global functions too."""

FIRST_PREDICATE = 1
FIRST_SURFACE = len(predefined.SURFACES)
MAX_GENERALS = 1 << 20
"""More than the 65536 of the specification, as Intel's compiler writes more; older objects have
two bytes for the number of one."""
MAX_CHARACTERS = 1 << 26
MAX_ADDRESSES = 4096
MAX_PREDICATES = 4095
MAX_SAMPLERS = predefined.BINDLESS_SAMPLER.index
MAX_SURFACES = 256 - FIRST_SURFACE

WIDE_INPUT_COUNT = (3, 5)
"""The version since which the number of inputs takes four bytes, before one."""

FILE_ALIAS = 1
"""The scope of an alias of a variable of file scope; 0 is that of one of the unit's."""

_T = TypeVar("_T")
#: Longer names are replaced by numbers where copies of them would have to be made.
_VARIABLE_NAME = re.compile(r"[A-Za-z_]\w{0,1023}", re.ASCII)
_NUMBERED_NAME = re.compile(r"[APST]\d+", re.ASCII)
_LABEL_NAME = re.compile(r"[A-Za-z_$@?][\w$@?.-]*", re.ASCII)
_NUMBERED_LABEL = re.compile(r"(.+)_(0|[1-9]\d{0,4})", re.DOTALL)
_KIND_WORDS = {
    General: "general",
    AddressVariable: "address",
    PredicateVariable: "predicate",
    SamplerVariable: "sampler",
    SurfaceVariable: "surface",
}


class Names:
    """Gives each general variable a name of its own that a text can hold."""

    def __init__(self, taken: frozenset[str] = frozenset()) -> None:
        self._taken = taken
        self._used: set[str] = {"P0", *predefined.BY_NAME}

    def general(self, stored: str, number: int) -> str:
        """Return the name of a variable that an object calls `stored`."""
        name = stored
        if not _VARIABLE_NAME.fullmatch(name) or _NUMBERED_NAME.fullmatch(name):
            name = f"V{number}"
        while name in self._used or name in self._taken:
            name = f"{name}_{number}"
        self._used.add(name)
        return name


class UnitTables:
    """What the numbers in a unit's objects stand for; `grf_bytes` needs a known platform.

    `functions` has the names of functions by the numbers that relocations give them; all others
    are numbers of strings.
    """

    def __init__(
        self, version: Version, platform: Platform | None, functions: Mapping[int, str]
    ) -> None:
        self.strings: Sequence[str] = ()
        self.version = version
        self.platform = platform
        self.functions = functions
        self.generals: list[General] = []
        self.addresses: list[AddressVariable] = []
        self.predicates: list[PredicateVariable] = []
        self.samplers: list[SamplerVariable] = []
        self.surfaces: list[SurfaceVariable] = []
        self.labels: list[StoredLabel] = []
        self.mentioned: set[str] = set()
        self._characters_left = MAX_CHARACTERS

    @property
    def grf_bytes(self) -> int:
        """Size of a register in bytes."""
        if self.platform is None:
            raise CodingError("its place in a variable depends on the platform, which is unknown")
        return self.platform.grf_bytes

    def general(self, number: int) -> General:
        """Return a general variable, which may be a predefined one."""
        known = predefined.generals(self.version)
        if number < len(known):
            return known[number]
        return _entry(self.generals, number, FIRST_DECLARED_GENERAL, "general variable")

    def address(self, number: int) -> AddressVariable:
        """Return an address variable."""
        return _entry(self.addresses, number, 0, "address variable")

    def predicate(self, number: int) -> PredicateVariable:
        """Return a predicate variable."""
        return _entry(self.predicates, number, FIRST_PREDICATE, "predicate variable")

    def sampler(self, number: int) -> SamplerVariable:
        """Return a sampler variable, which may be the predefined one."""
        if number == predefined.BINDLESS_SAMPLER.index:
            return predefined.BINDLESS_SAMPLER
        return _entry(self.samplers, number, 0, "sampler variable")

    def surface(self, number: int) -> SurfaceVariable:
        """Return a surface variable, which may be a predefined one."""
        if number < FIRST_SURFACE:
            return predefined.SURFACES[number]
        return _entry(self.surfaces, number, FIRST_SURFACE, "surface variable")

    def label(self, number: int) -> str:
        """Return a label's name."""
        label = _entry(self.labels, number, 0, "label")
        self._spend(label.name)
        if label.kind != EXTERNAL:
            self.mentioned.add(label.name)
        return label.name

    def is_external(self, label: str) -> bool:
        """Whether a label of this name is a kernel of another file."""
        return label in self._external

    @cached_property
    def _external(self) -> frozenset[str]:
        return frozenset(entry.name for entry in self.labels if entry.kind == EXTERNAL)

    def string(self, number: int) -> str:
        """Return a string of the pool."""
        text = _entry(self.strings, number, 0, "string")
        self._spend(text)
        return text

    def _spend(self, name: str) -> None:
        """Count a name that is mentioned; a few bytes of an object can mention megabytes."""
        self._characters_left -= len(name)
        if self._characters_left < 0:
            raise CodingError(f"its names have more than {MAX_CHARACTERS} characters in all")

    def function(self, number: int) -> str:
        """Return a function's name."""
        return self.functions.get(number) or self.string(number)

    def declare_labels(self, entries: Iterable[tuple[str, int]]) -> None:
        """Declare the labels by name and kind; subroutines are printed with their numbers."""
        used: set[str] = set()
        for number, (stored, kind) in enumerate(entries):
            self._spend(stored)
            name = f"{stored}_{number}" if kind == SUBROUTINE else stored
            if not _LABEL_NAME.fullmatch(name):
                name = f"label_{number}"
            while name in used:
                name = f"{name}_{number}"
            used.add(name)
            self.labels.append(StoredLabel(name, stored, kind))


def _entry(table: Sequence[_T], number: int, first: int, what: str) -> _T:
    if not first <= number < first + len(table):
        raise CodingError(f"{what} {number} does not exist, the unit has {len(table)}")
    return table[number - first]


class Numbering:
    """The numbers of one unit's strings, variables and labels, for writing it.

    `functions` collects the functions that the unit mentions by their numbers, `file_variables`
    the variables of file scope, which have numbers from 1 on in each unit.
    """

    def __init__(self, unit: Unit, platform: Platform, version: Version) -> None:
        order = unit.order
        self.version = version
        self.functions: dict[int, str] = {}
        self.file_variables: dict[str, int] = {}
        self.grf_bytes = platform.grf_bytes
        self._strings = list(order.strings if order else (unit.name, *_predefined_names(version)))
        self._numbers: dict[str, deque[int]] = {}
        for number, text in enumerate(self._strings):
            self._numbers.setdefault(text, deque()).append(number)
        self._variables: dict[type[Variable], Sequence[Variable]] = {
            General: unit.generals,
            AddressVariable: unit.addresses,
            PredicateVariable: unit.predicates,
            SamplerVariable: unit.samplers,
            SurfaceVariable: unit.surfaces,
        }
        self.labels = _number_labels(unit, order)
        self._label_numbers = {label.name: n for n, label in enumerate(self.labels)}
        self._label_strings: dict[int, int] = {}

    @property
    def strings(self) -> tuple[str, ...]:
        """The pool as it is now."""
        return tuple(self._strings)

    def string(self, text: str) -> int:
        """Return a string's number; a new string is added.

        Compilers put a function's name into the pool once for each call; each mention takes the
        next one then.
        """
        numbers = self._numbers.get(text)
        if numbers is None:
            if "\0" in text:
                raise CodingError(f"{text!r} has a zero byte, which ends a string")
            numbers = self._numbers[text] = deque([len(self._strings)])
            self._strings.append(text)
        return numbers.popleft() if len(numbers) > 1 else numbers[0]

    def function(self, name: str) -> int:
        """Return the number by which the unit calls a function: that of a string."""
        number = self.string(name)
        self.functions[number] = name
        return number

    def file_variable(self, name: str) -> int:
        """Return the number by which the unit mentions a variable of file scope."""
        return self.file_variables.setdefault(name, len(self.file_variables) + 1)

    def label(self, name: str) -> int:
        """Return a label's number."""
        number = self._label_numbers.get(name)
        if number is None:
            raise CodingError(f"label {name} is not defined")
        self.label_string(number)
        return number

    def label_string(self, number: int) -> int:
        """Return the number of a label's name."""
        if number not in self._label_strings:
            self._label_strings[number] = self.string(self.labels[number].stored_name)
        return self._label_strings[number]

    def number(self, variable: Variable) -> int:
        """Return a variable's number in its class."""
        if _is_predefined(variable):
            self._check_version(variable)
            return variable.index
        kind = type(variable)
        table, first = self._variables[kind], FIRST_NUMBERS[kind]
        place = variable.index - first
        if not 0 <= place < len(table) or table[place].name != variable.name:
            words = f"{_KIND_WORDS[kind]} variable {variable.name}"
            raise CodingError(f"{words} is not variable {variable.index} of the unit")
        return variable.index

    def _check_version(self, variable: Variable) -> None:
        is_missing = variable.index >= len(predefined.generals(self.version))
        if isinstance(variable, General) and is_missing:
            major, minor = self.version
            raise CodingError(f"version {major}.{minor} has no variable {variable.name}")


FIRST_NUMBERS: dict[type[Variable], int] = {
    General: FIRST_DECLARED_GENERAL,
    AddressVariable: 0,
    PredicateVariable: FIRST_PREDICATE,
    SamplerVariable: 0,
    SurfaceVariable: FIRST_SURFACE,
}


def _predefined_names(version: Version) -> Iterable[str]:
    general = predefined.generals(version)
    for variable in (*general, *predefined.SURFACES, predefined.BINDLESS_SAMPLER):
        yield variable.name


def _is_predefined(variable: Variable) -> bool:
    match variable:
        case General():
            return variable.index < len(predefined.GENERALS)
        case SurfaceVariable():
            return variable.index < FIRST_SURFACE
        case SamplerVariable():
            return variable.index == predefined.BINDLESS_SAMPLER.index
        case _:
            return False


def _number_labels(unit: Unit, order: ObjectOrder | None) -> list[StoredLabel]:
    """Return the unit's labels in the order of their numbers.

    Those of the object from which the unit was read come first. A subroutine that is called
    `<name>_<number>` gets that number if it can, since readers append it; all others get the
    lowest number that is left, in the order of their first mention.
    """
    kinds = _label_kinds(unit)
    known = order.labels if order else ()
    labels: dict[int, StoredLabel] = dict(enumerate(known))
    known_names = {label.name for label in known}
    rest = {name: kind for name, kind in kinds.items() if name not in known_names}
    count = len(labels) + len(rest)
    for name, kind in list(rest.items()):
        match = _NUMBERED_LABEL.fullmatch(name) if kind == SUBROUTINE else None
        if match and int(match.group(2)) < count and int(match.group(2)) not in labels:
            labels[int(match.group(2))] = StoredLabel(name, match.group(1), kind)
            del rest[name]
    free = (n for n in range(count) if n not in labels)
    given = [
        (n, StoredLabel(name, name, kind))
        for (name, kind), n in zip(rest.items(), free, strict=True)
    ]
    labels.update(given)
    return [labels[n] for n in sorted(labels)]


def _label_kinds(unit: Unit) -> dict[str, int]:
    """Return the kinds of the unit's labels in the order of their first mention."""
    defined: dict[str, int] = {}
    for item in unit.body:
        if isinstance(item, LabelMark):
            defined[item.name] = BLOCK
        elif isinstance(item, SubroutineMark):
            defined[item.name] = SUBROUTINE
    found: dict[str, int] = {}
    for item in unit.body:
        if isinstance(item, ExternalCall):
            found.setdefault(item.kernel, EXTERNAL)
        for name in named_labels(item):
            if name in defined:
                found[name] = defined[name]
    return found
