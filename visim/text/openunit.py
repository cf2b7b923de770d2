"""A kernel or function while its text is read: declarations, labels and scopes so far."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from visim.diag import Diagnostic, Origin, Severity, Span
from visim.isa.registry import Instruction
from visim.lex import Cursor, nearest
from visim.module import Input, Linkage, Unit, UnitKind
from visim.operands import (
    AddressVariable,
    Attribute,
    General,
    PredicateVariable,
    SamplerVariable,
    SurfaceVariable,
    Variable,
)
from visim.text.symbols import Symbols, is_compilers_name

_VariableT = TypeVar("_VariableT", bound=Variable)


@dataclass(frozen=True, slots=True)
class LabelUse:
    """An instruction that names a label, and where in the statement the name stands."""

    name: str
    origin: Span


@dataclass(slots=True)
class OpenUnit:
    """A unit while its text is read."""

    name: str
    kind: UnitKind
    origin: Origin
    symbols: Symbols
    linkage: Linkage = Linkage.GLOBAL
    function_declarations: list[str] = field(default_factory=list[str])
    inputs: dict[tuple[type[Variable], int], Input] = field(default_factory=dict[Any, Any])
    attributes: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    body: list[Instruction] = field(default_factory=list[Instruction])
    labels: dict[str, Span] = field(default_factory=dict[str, Span])
    uses: list[LabelUse] = field(default_factory=list[LabelUse])
    scopes: list[Span] = field(default_factory=list[Span])
    declarations: set[str] = field(default_factory=set[str])

    def is_repeated(self, declaration: str) -> bool:
        """Whether a declaration says what one before it says; compilers' own names never do."""
        words = declaration.split()
        if len(words) > 1 and is_compilers_name(words[1]):
            return False
        said = " ".join(words)
        if said in self.declarations:
            return True
        self.declarations.add(said)
        return False

    def declared(self, kind: type[_VariableT]) -> tuple[_VariableT, ...]:
        """Return the variables of one class in the order of their numbers."""
        return tuple(v for v in self.symbols.declared[kind] if isinstance(v, kind))

    def close(self) -> Unit:
        """Return the unit."""
        return Unit(
            self.name,
            self.kind,
            tuple(self.function_declarations),
            self.declared(General),
            self.declared(AddressVariable),
            self.declared(PredicateVariable),
            self.declared(SamplerVariable),
            self.declared(SurfaceVariable),
            tuple(self.inputs.values()),
            tuple(self.attributes.values()),
            tuple(self.body),
            self.origin,
            linkage=self.linkage,
        )

    def define_label(self, cursor: Cursor, start: int, name: str, span: Span) -> None:
        """Note that the statement at `start` defines a label; fail if another one did."""
        earlier = self.labels.get(name)
        if earlier is not None:
            raise cursor.failure_at(
                start,
                "duplicate-label",
                f"label {name} is defined twice",
                help=f"the first one is in line {earlier.line}",
            )
        self.labels[name] = span

    def undefined_labels(self) -> Iterator[Diagnostic]:
        """Yield what is wrong with each use of a label that the unit does not define."""
        for use in self.uses:
            if use.name in self.labels:
                continue
            guess = nearest(use.name, self.labels)
            yield Diagnostic(
                "undefined-label",
                Severity.ERROR,
                f"label {use.name} is not defined in {self.name}",
                use.origin,
                help=f"did you mean {guess!r}?" if guess else None,
            )
