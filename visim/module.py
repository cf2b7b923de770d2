"""The program as visim holds it between reading and linking: a module of kernels and functions.

Plain frozen data that text, objects and checks share; equality ignores where it was read.
Follows specification 4 (Kernel, Function). Knows no syntax and no bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from visim.diag import Origin, Source
from visim.isa.forms import FileMark, LineMark
from visim.isa.registry import Instruction
from visim.operands import (
    AddressVariable,
    Attribute,
    General,
    PredicateVariable,
    SamplerVariable,
    SurfaceVariable,
)

EXPLICIT = "explicit"
PARAMETER = "parameter"
#: Names of implicit inputs, by their provenance number (specification 4, Input Variables).
IMPLICIT_KINDS = {1: "LOCAL_SIZE", 2: "GROUP_COUNT", 3: "LOCAL_ID"}


class Linkage(StrEnum):
    """Who sees a function or file-scope variable (specification 4, File Scope Variables).

    What is external is defined in another file; static things are seen in their file only.
    """

    EXTERNAL = "extern"
    STATIC = "static"
    GLOBAL = "global"


class UnitKind(StrEnum):
    """What a unit is called by: a launch, or other units."""

    KERNEL = "kernel"
    FUNCTION = "function"


@dataclass(frozen=True, slots=True)
class Input:
    """An argument's place: `size` bytes at byte `offset` of the register file.

    `kind` is EXPLICIT for the user's arguments, PARAMETER for a function's, else the name of an
    implicit input: one of `IMPLICIT_KINDS`, or UNDEFINED_<n> for the other numbers.
    """

    variable: General | SamplerVariable | SurfaceVariable
    offset: int
    size: int
    kind: str = EXPLICIT
    origin: Origin = field(default=None, compare=False)

    @property
    def is_implicit(self) -> bool:
        """Whether the runtime provides the value, and not the user."""
        return self.kind not in {EXPLICIT, PARAMETER}


MANGLED = "@"
"""What CM compilers put before the names of variables of file scope."""


@dataclass(frozen=True, slots=True)
class FileVariable:
    """A variable of file scope; units see it through aliases of `variable`."""

    variable: General
    linkage: Linkage
    origin: Origin = field(default=None, compare=False)

    @property
    def symbol(self) -> str:
        """The name by which files find it, which an object may have and a text cannot hold."""
        return (self.variable.stored_name or self.variable.name).removeprefix(MANGLED)


@dataclass(frozen=True, slots=True)
class StoredLabel:
    """A label of an object file: its name in the unit, its name there, and its kind there."""

    name: str
    stored_name: str
    kind: int


@dataclass(frozen=True, slots=True)
class ObjectOrder:
    """In which order an object file numbers the strings and labels of a unit.

    Only a wish for writing it again: what the unit lacks or has beyond it does no harm. `linkage`
    is a function's number in the file; `sizes` are what it says of the registers that a function
    takes and returns, which compilers leave 0.
    """

    strings: tuple[str, ...]
    labels: tuple[StoredLabel, ...]
    linkage: int = 0
    sizes: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the source that a compiler made an instruction of; `file` as FILE names it."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Unit:
    """A kernel or a function: its declarations in the order of their indices, and its body.

    `function_declarations` are the names that `.funcdecl` announces. A body holds instructions
    and marks (labels, subroutines, files, lines) in program order. `linkage` is that of a
    function, static or global. `order` is that of the object file from which the unit was read.
    """

    name: str
    kind: UnitKind
    function_declarations: tuple[str, ...] = ()
    generals: tuple[General, ...] = ()
    addresses: tuple[AddressVariable, ...] = ()
    predicates: tuple[PredicateVariable, ...] = ()
    samplers: tuple[SamplerVariable, ...] = ()
    surfaces: tuple[SurfaceVariable, ...] = ()
    inputs: tuple[Input, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    body: tuple[Instruction, ...] = ()
    origin: Origin = field(default=None, compare=False)
    order: ObjectOrder | None = field(default=None, compare=False, repr=False)
    linkage: Linkage = Linkage.GLOBAL

    def attribute(self, name: str) -> int | str | Literal[True] | None:
        """Return the value of attribute `name`, True for a bare flag, None when it is absent."""
        for attribute in self.attributes:
            if attribute.name == name:
                return True if attribute.value is None else attribute.value
        return None

    def source_lines(self) -> tuple[SourceLine | None, ...]:
        """Return for each item of the body the source line that FILE and LOC give it, if any."""
        found: list[SourceLine | None] = []
        file, current = "", None
        for item in self.body:
            match item:
                case FileMark():
                    file, current = item.name, None
                case LineMark():  # 0 is what compilers write for code that no line has
                    current = SourceLine(file, item.number) if item.number else None
                case _:
                    pass
            found.append(current)
        return tuple(found)

    @property
    def simd_size(self) -> int | None:
        """The dispatch width that the attribute SimdSize states, or None."""
        value = self.attribute("SimdSize")
        return value if isinstance(value, int) and value is not True else None


@dataclass(frozen=True, slots=True)
class Module:
    """Everything that one text or object file holds, in its order.

    `variables` are those of file scope, `externals` the names of functions that its units call
    and another file defines.
    """

    version: tuple[int, int]
    units: tuple[Unit, ...]
    source: Source | None = field(default=None, compare=False)
    variables: tuple[FileVariable, ...] = ()
    externals: tuple[str, ...] = ()

    @property
    def kernels(self) -> tuple[Unit, ...]:
        """The units that can be launched."""
        return tuple(unit for unit in self.units if unit.kind is UnitKind.KERNEL)

    @property
    def functions(self) -> tuple[Unit, ...]:
        """The units that other units call."""
        return tuple(unit for unit in self.units if unit.kind is UnitKind.FUNCTION)

    @property
    def has_linkage(self) -> bool:
        """Whether something in it is external, static or of file scope."""
        is_static = any(unit.linkage is Linkage.STATIC for unit in self.units)
        return bool(self.variables or self.externals or is_static)
