"""What a declared instruction is: `Instruction`, `Form`s of it, `Op` rows, and their checks.

An instruction object is an instance of its form's class. A form lists its fields in the order of
the binary object, each with the kind that reads and writes it, and a template that gives the
order in text. Everything else in visim reads these records; nothing here knows a single
instruction. Annotations are data in this package, so it must not postpone their evaluation.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import (
    Annotated,
    Any,
    Protocol,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from visim.diag import Origin
from visim.lex import Cursor
from visim.operands import (
    AddressVariable,
    General,
    GeneralDestination,
    IndirectDestination,
    PredicateVariable,
    SamplerVariable,
    SurfaceVariable,
    Variable,
)
from visim.sem.exactness import EXACT, Exactness


class DeclarationError(Exception):
    """A table of visim contradicts itself; never reaches a user."""


class Names(Protocol):
    """The variables that a unit has declared so far."""

    def lookup(self, name: str) -> Variable | None:
        """Return the variable called `name`, predefined ones included, or None."""
        ...

    def known(self) -> list[str]:
        """Return all names, for suggestions."""
        ...


class Kind(Protocol):
    """How one operand is read from text and written to it."""

    expected: str

    def parse(self, cursor: Cursor, names: Names) -> Any:
        """Take the operand at the cursor, or fail with what was expected."""
        ...

    def show(self, value: Any) -> str:
        """Return the operand as IGC prints it."""
        ...


class Category(StrEnum):
    """The specification's groups of instructions."""

    ARITHMETIC = "arithmetic"
    LOGIC = "logic"
    MOVE = "move"
    COMPARE = "compare"
    FLOW = "control flow"
    MEMORY = "memory"
    SYNCHRONIZATION = "synchronization"
    SAMPLER = "sampler"
    MATRIX = "matrix"
    MISCELLANEOUS = "miscellaneous"


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """One declared instruction.

    `code` and `sub` are its numbers in an object, `meaning` what it does (None together with a
    `reason` when visim cannot execute it), `examples` lines as a compiler prints them, `rule`
    where the specification describes it.
    """

    mnemonic: str
    code: int
    form: type["Instruction"]
    category: Category
    doc: str
    examples: tuple[str, ...]
    sub: int | None = None
    meaning: Any = None
    exactness: Exactness = EXACT
    reason: str | None = None
    page: str = ""

    def __repr__(self) -> str:
        return f"<{self.mnemonic}>"


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction of a unit's body; the form's fields follow in its subclasses."""

    op: Op
    origin: Origin = field(default=None, compare=False, kw_only=True)

    def show(self) -> str:
        """Return the instruction as IGC prints it, without indentation and comment."""
        return schema_of(type(self)).show(self)


@dataclass(frozen=True, slots=True)
class Field:
    """A form's field: its name and the kind that reads and writes it."""

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Schema:
    """A form's fields in binary order, and its template cut into literals and field names.

    `read_pieces` are the pieces that reading a text takes account of: without mnemonic and blanks.
    """

    fields: tuple[Field, ...]
    pieces: tuple[str | Field, ...]
    read_pieces: tuple[str | Field, ...]
    saturates: bool

    def show(self, instruction: Instruction) -> str:
        """Return the text of `instruction`, which has this schema."""
        parts: list[str] = []
        for piece in self.pieces:
            if isinstance(piece, Field):
                parts.append(piece.kind.show(getattr(instruction, piece.name)))
            elif piece == "{op}":
                parts.append(instruction.op.mnemonic)
            elif piece == "{sat}":
                destination: Any = getattr(instruction, "dst", None)
                parts.append(".sat" if getattr(destination, "saturate", False) else "")
            else:
                parts.append(piece)
        return "".join(parts)

    def parse(
        self, op: Op, cursor: Cursor, names: Names, given: dict[str, Any], origin: Origin
    ) -> Instruction:
        """Take what follows the mnemonic of `op`; `given` holds fields that stood before it."""
        values = dict(given)
        saturate = False
        for piece in self.read_pieces:
            if isinstance(piece, Field):
                if piece.name not in given:
                    values[piece.name] = piece.kind.parse(cursor, names)
            elif piece == "{sat}":
                saturate = cursor.take(".sat")
            else:
                cursor.expect(piece)
        if not cursor.at_end:
            raise cursor.failure("the end of the instruction")
        if saturate:
            values["dst"] = _saturated(values["dst"], cursor)
        return op.form(op, **values, origin=origin)


def _saturated(destination: Any, cursor: Cursor) -> Any:
    match destination:
        case GeneralDestination():
            return GeneralDestination(
                destination.variable, destination.row, destination.col, destination.stride, True
            )
        case IndirectDestination():
            return IndirectDestination(
                destination.address,
                destination.element,
                destination.offset,
                destination.type,
                destination.stride,
                True,
            )
        case _:
            raise cursor.failure_at(
                0, "saturation", "only a general or indirect destination can saturate"
            )


_PIECE = re.compile(r"\{(\w+)\}|[^{]+")
_T = TypeVar("_T")


@dataclass_transform(frozen_default=True)
def form(template: str) -> Callable[[type[_T]], type[_T]]:
    """Declare a form: a frozen dataclass whose annotated fields stand in binary order.

    `template` gives the text: `{op}` the mnemonic, `{sat}` the saturation suffix, `{field}` a
    field, blanks as printed.
    """

    def declare(cls: type[_T]) -> type[_T]:
        made = dataclass(frozen=True, slots=True)(cls)
        _TEMPLATES[made] = template
        schema_of(made)
        return made

    return declare


_TEMPLATES: dict[type[Any], str] = {}


@cache
def schema_of(cls: type[Any]) -> Schema:
    """Return the schema of a form's class."""
    template = _TEMPLATES[cls]
    fields: list[Field] = []
    for name, hint in get_type_hints(cls, include_extras=True).items():
        if name in {"op", "origin"}:
            continue
        if get_origin(hint) is not Annotated:
            raise DeclarationError(f"{cls.__name__}.{name} names no kind")
        fields.append(Field(name, get_args(hint)[1]))
    by_name = {entry.name: entry for entry in fields}
    pieces: list[str | Field] = []
    for match in _PIECE.finditer(template):
        word = match.group(1)
        if word in {"op", "sat"}:
            pieces.append(match.group())
        elif word is not None:
            if word not in by_name:
                raise DeclarationError(f"template of {cls.__name__} names {word!r}, not a field")
            pieces.append(by_name[word])
        else:
            pieces.append(match.group())
    missing = set(by_name) - {p.name for p in pieces if isinstance(p, Field)}
    if missing:
        raise DeclarationError(f"template of {cls.__name__} omits {sorted(missing)}")
    read = (p if isinstance(p, Field) else p.strip() for p in pieces if p != "{op}")
    return Schema(tuple(fields), tuple(pieces), tuple(p for p in read if p), "{sat}" in pieces)


def field_type_error(value: Variable, expected: str) -> str:
    """Return how to name the class of a variable that is not what was expected."""
    found = {
        General: "general variable",
        AddressVariable: "address variable",
        PredicateVariable: "predicate variable",
        SamplerVariable: "sampler variable",
        SurfaceVariable: "surface variable",
    }[type(value)]
    return f"{value.name} is a {found}, expected {expected}"
