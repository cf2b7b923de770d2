"""What a declared instruction is: `Instruction`, `Form`s of it, `Op` rows, and their checks.

An instruction object is an instance of its form's class. A form lists its fields, each with the
kind that reads and writes it, a template that gives their order in text, and a layout that gives
it in a binary object: without one, fields stand as listed. Everything else in visim reads these
records; nothing here knows a single instruction. Annotations are data in this package, so it must
not postpone their evaluation.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, field, fields
from enum import StrEnum
from functools import cache
from itertools import zip_longest
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

from visim.diag import ByteSpan, Origin
from visim.errors import InputError
from visim.expressions import Constants
from visim.isa.codecs import CodingError, DecodeTables, EncodeTables, Older, Version
from visim.isa.devices import devices_of, first_version
from visim.isa.layouts import DeclarationError, Layout, compile_layout
from visim.isa.operand_types import ANY, Operands
from visim.layout import Reader, Writer
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
from visim.records import record
from visim.sem.exactness import EXACT, Exactness
from visim.target import COMMON_OBJECT, Platform
from visim.types import BY_NAME


class Names(Constants, Protocol):
    """The variables that a unit has declared so far."""

    @property
    def version(self) -> Version:
        """The version of the text, which says what operands its instructions have."""
        ...

    @property
    def lookup(self) -> Callable[[str], Variable | None]:
        """Returns the variable of a name, predefined ones included, or None."""
        ...

    def known(self) -> list[str]:
        """Return all names, for suggestions."""
        ...


class Kind(Protocol):
    """How one operand is read from text and written to it.

    A kind whose spelling changed with version 4.2 also has a method `show_newer`.
    Its binary side is a `Codec` or a `Compound` of them (`visim.isa.layouts`).
    """

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
    MEDIA = "media"
    RENDER = "render targets and vertices"
    MISCELLANEOUS = "miscellaneous"


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """One declared instruction.

    `code` and `sub` are its numbers in an object, `meaning` what it does (None together with a
    `reason` when visim cannot execute it), `examples` lines as a compiler prints them, `page`
    where the specification describes it. `operands` says which types go together, `restrict`
    returns what else is wrong with an instruction on a device (None: any device), `exactness` what
    results are worth; where results of floats are worth something else, `float_exactness`.
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
    operands: Operands = ANY
    restrict: "Restriction | None" = None
    float_exactness: Exactness | None = None

    def worth(self, destination: str) -> Exactness:
        """Return what results in a destination of the type called `destination` are worth."""
        kind = BY_NAME.get(destination)
        if self.float_exactness is not None and kind is not None and kind.is_float:
            return self.float_exactness
        return self.exactness

    @property
    def devices(self) -> tuple[str, ...]:
        """The names of the devices that have it."""
        return devices_of(self.page, self.sub)

    @property
    def version(self) -> tuple[int, int]:
        """The first version whose objects have it."""
        return first_version(self.code)

    def __repr__(self) -> str:
        return f"<{self.mnemonic}>"


@record
class Instruction:
    """An instruction of a unit's body; the form's fields follow in its subclasses."""

    op: Op
    origin: Origin = field(default=None, compare=False, kw_only=True)

    def show(self, version: Version = COMMON_OBJECT) -> str:
        """Return the instruction as IGC prints it, without indentation and comment.

        Spellings are those of texts of `version`.
        """
        return schema_of(type(self)).show(self, version)


Restriction = Callable[[Any, Platform | None], str | None]


@dataclass(frozen=True, slots=True)
class Field:
    """A form's field: its name and the kind that reads and writes it."""

    name: str
    kind: Kind


NEWER_SPELLING: Version = (4, 2)
Step = tuple[str, Callable[[Cursor, Names], Any] | None, "str | Field"]


@dataclass(frozen=True, slots=True)
class Schema:
    """A form's fields, its template cut into literals and field names, and its bytes.

    `fields` has those that text shows. `steps` are what reading takes after the mnemonic: a
    field and how it is parsed, or a literal, or a field again, which must be the same. `older` are
    the layouts of objects before a version, the oldest first.
    """

    fields: tuple[Field, ...]
    pieces: tuple[str | Field, ...]
    steps: tuple["Step", ...]
    layout: Layout
    older: tuple[tuple[Version, Layout], ...] = ()

    def layout_at(self, version: Version) -> Layout:
        """Return the layout in objects of `version`."""
        for before, layout in self.older:
            if version < before:
                return layout
        return self.layout

    def show(self, instruction: Instruction, version: Version) -> str:
        """Return the text of `instruction`, which has this schema, as `version` spells it."""
        parts: list[str] = []
        is_newer = version >= NEWER_SPELLING
        for piece in self.pieces:
            if isinstance(piece, Field):
                kind: Any = piece.kind
                show = kind.show_newer if is_newer and hasattr(kind, "show_newer") else kind.show
                parts.append(show(getattr(instruction, piece.name)))
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
        """Take what follows the mnemonic of `op`.

        `given` holds the predicate that stood before it; the other fields are added to it.
        """
        values = given
        saturate = False
        for name, parse, piece in self.steps:
            if parse is not None:
                values[name] = parse(cursor, names)
            elif isinstance(piece, Field):
                _repeat(values[name], piece, cursor, names)
            elif piece == "{sat}":
                saturate = cursor.take_suffix(".sat")
            else:
                cursor.expect(piece, name)
        if cursor.position < len(cursor.text) and not cursor.at_end:
            raise cursor.failure("the end of the instruction")
        if saturate:
            values["dst"] = _saturated(values["dst"], cursor)
        return op.form(op, **values, origin=origin)

    def decode(self, op: Op, reader: Reader, tables: DecodeTables) -> Instruction:
        """Take what follows the opcode of `op`.

        Raises:
            InputError: the bytes are not what the form says.
        """
        start = reader.position - 1
        try:
            values = self.layout_at(tables.version).decode(reader, tables)
        except CodingError as error:
            origin = ByteSpan(reader.file, start, reader.position - start)
            raise InputError(f"{op.mnemonic}: {error}", origin) from None
        return op.form(op, **values, origin=ByteSpan(reader.file, start, reader.position - start))

    def encode(self, instruction: Instruction, writer: Writer, tables: EncodeTables) -> None:
        """Append the bytes of `instruction`, which has this schema.

        Raises:
            InputError: an operand has no place in an object.
        """
        writer.unsigned(instruction.op.code, 1)
        try:
            self.layout_at(tables.version).encode(instruction, writer, tables)
        except CodingError as error:
            raise InputError(f"{instruction.op.mnemonic}: {error}", instruction.origin) from None


def _repeat(known: Any, piece: Field, cursor: Cursor, names: Names) -> None:
    """Take a field that a template has twice; both must be the same."""
    start = cursor.position
    found = piece.kind.parse(cursor, names)
    if known != found:
        message = f"expected {piece.kind.show(known)} as before, found {piece.kind.show(found)}"
        raise cursor.failure_at(start, "syntax", message)


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


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def form(
    template: str, *, layout: str | None = None, older: tuple[Older, ...] = ()
) -> Callable[[type[_T]], type[_T]]:
    """Declare a form: a frozen dataclass whose annotations name the kinds of its fields.

    `template` gives the text: `{op}` the mnemonic, `{sat}` the saturation suffix, `{field}` a
    field, blanks as printed. Fields with a default may be missing from it: only objects have them.
    `layout` gives the bytes after the opcode (see `visim.isa.layouts`); without it the fields
    stand there in their order. `older` gives those of objects before a version, the oldest first.
    """

    def declare(cls: type[_T]) -> type[_T]:
        made = record(cls)
        _TEMPLATES[made] = template, layout
        _OLDER[made] = older
        schema_of(made)
        return made

    return declare


_TEMPLATES: dict[type[Any], tuple[str, str | None]] = {}
_OLDER: dict[type[Any], tuple[Older, ...]] = {}


def template_of(cls: type[Any]) -> tuple[str, str]:
    """Return the template of a form's text and the layout of its bytes after the opcode."""
    template, layout = _TEMPLATES[cls]
    if layout is None:
        layout = " ".join(f"{{{name}}}" for name in kinds_of(cls))
    return template, layout


@cache
def schema_of(cls: type[Any]) -> Schema:
    """Return the schema of a form's class."""
    template, layout = template_of(cls)
    kinds = kinds_of(cls)
    by_name = {name: Field(name, kind) for name, kind in kinds.items()}
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
    shown = {p.name for p in pieces if isinstance(p, Field)}
    missing = set(by_name) - shown - _optional_fields(cls)
    if missing:
        raise DeclarationError(f"template of {cls.__name__} omits {sorted(missing)}")
    return Schema(
        tuple(entry for entry in by_name.values() if entry.name in shown),
        tuple(pieces),
        tuple(_steps(pieces)),
        compile_layout(cls.__name__, layout, kinds),
        tuple(
            (entry.before, compile_layout(cls.__name__, entry.layout, {**kinds, **entry.codecs}))
            for entry in _OLDER[cls]
        ),
    )


def _steps(pieces: list[str | Field]) -> Iterator[Step]:
    """Yield what reading takes; the predicate stands before the mnemonic and is no part of it.

    Of a literal it says in the place of the name what is expected here.
    """
    seen = {"pred"}
    for piece, following in zip_longest(pieces, pieces[1:]):
        if isinstance(piece, Field):
            if piece.name not in seen:
                yield piece.name, piece.kind.parse, piece
            elif piece.name != "pred":
                yield piece.name, None, piece
            seen.add(piece.name)
        elif piece != "{op}" and piece.strip():
            yield _expected(piece.strip(), following), None, piece.strip()


def _expected(literal: str, following: str | Field | None) -> str:
    """Say what is missing where a literal is; a dot tells nobody what belongs behind it."""
    if not isinstance(following, Field) or not literal.startswith("."):
        return f"{literal!r}"
    kind: Any = following.kind
    return f"{literal!r} and {getattr(kind, 'example', kind.expected)}"


def named_labels(instruction: Instruction) -> tuple[str, ...]:
    """Return the labels that an instruction or mark names, in their order."""
    found: list[str] = []
    for name, labels_of in _label_fields(type(instruction)):
        found += labels_of(getattr(instruction, name))
    return tuple(found)


def label_fields(cls: type[Any]) -> frozenset[str]:
    """Return the names of a form's fields that are labels and nothing else."""
    hints = get_type_hints(cls)
    return frozenset(name for name, _ in _label_fields(cls) if hints[name] is str)


@cache
def _label_fields(cls: type[Any]) -> tuple[tuple[str, Callable[[Any], tuple[str, ...]]], ...]:
    kinds: list[tuple[str, Any]] = [(entry.name, entry.kind) for entry in schema_of(cls).fields]
    return tuple((name, kind.labels_of) for name, kind in kinds if hasattr(kind, "labels_of"))


def kinds_of(cls: type[Any]) -> dict[str, Any]:
    """Return the kinds of a form's fields by name."""
    kinds: dict[str, Any] = {}
    for name, hint in get_type_hints(cls, include_extras=True).items():
        if name in {"op", "origin"}:
            continue
        if get_origin(hint) is not Annotated:
            raise DeclarationError(f"{cls.__name__}.{name} names no kind")
        kinds[name] = get_args(hint)[1]
    return kinds


def _optional_fields(cls: type[Any]) -> set[str]:
    return {entry.name for entry in fields(cls) if entry.default is not MISSING}


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
