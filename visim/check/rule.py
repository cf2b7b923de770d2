"""What a rule of the verifier is: an id, the passage it comes from, examples, and a check.

Rules are declared by decorating their check; its docstring explains the rule to users. The
catalogue, its documentation and `visim check --explain` all follow from the declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from inspect import cleandoc
from typing import Any

from visim.diag import Diagnostic, Origin, Severity
from visim.isa import Instruction
from visim.isa.registry import schema_of
from visim.module import Module, Unit
from visim.operands import ExecSize
from visim.target import Platform

DECLARATIONS = """\
.decl D v_type=G type=d num_elts=64 align=GRF
.decl UD v_type=G type=ud num_elts=64 align=GRF
.decl W v_type=G type=w num_elts=64 align=GRF
.decl UQ v_type=G type=uq num_elts=64 align=GRF
.decl F v_type=G type=f num_elts=64 align=GRF
.decl T6 v_type=T num_elts=1
.decl A v_type=A num_elts=8
.decl P v_type=P num_elts=16
.decl P8 v_type=P num_elts=8
"""
"""What the examples of rules about instructions may use."""


class Scope(Enum):
    """What a rule looks at."""

    FILE = auto()
    READING = auto()
    MODULE = auto()
    UNIT = auto()
    INSTRUCTION = auto()
    ABI = auto()
    FAULT = auto()


@dataclass(frozen=True, slots=True)
class Wrong:
    """What a check found: a sentence, and where the rule alone does not say it, more."""

    message: str
    help: str | None = None
    origin: Origin = None
    passage: str | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; `failing` and `passing` are example texts, complete for `Scope.MODULE`.

    The examples of other scopes are lines that `example_text` puts into a kernel. `platform` is
    the device that the examples are for. Rules of `Scope.FILE`, `READING`, `ABI` and `FAULT` have
    no check: readers, the linker, the audit of zebins and engines find what breaks them.
    """

    code: str
    severity: Severity
    passage: str
    explanation: str
    failing: str
    passing: str
    scope: Scope
    check: Callable[..., Iterator[Wrong]] | None = None
    platform: str | None = None

    def apply(self, subject: Any, origin: Origin) -> Iterator[Diagnostic]:
        """Return the findings about a subject of the rule's scope, which was read at `origin`."""
        if self.check is None:
            return
        for wrong in self.check(subject):
            yield Diagnostic(
                self.code,
                self.severity,
                wrong.message,
                wrong.origin or origin,
                None,
                wrong.help,
                wrong.passage or self.passage,
            )

    def finds(self, subject: Any) -> bool:
        """Return whether there is anything to find about a subject of the rule's scope."""
        return self.check is not None and any(True for _ in self.check(subject))

    def example_text(self, lines: str) -> str:
        """Return the complete text of one of the rule's examples."""
        if lines.startswith(".version"):
            return lines
        end = "" if self.scope is Scope.UNIT else "ret (M1, 1)\n"
        head = '.version 4.1\n.kernel "example"\n'
        return f"{head}{DECLARATIONS}{lines.rstrip()}\n{end}"


@dataclass(frozen=True, slots=True)
class Site:
    """An instruction, its operands by field name, its unit, and the device (None: any)."""

    instruction: Instruction
    operands: tuple[tuple[str, Any], ...]
    unit: Unit
    platform: Platform | None

    @property
    def exec_size(self) -> ExecSize | None:
        """The execution size, for forms that have one."""
        found = getattr(self.instruction, "exec", None)
        return found if isinstance(found, ExecSize) else None


@dataclass(frozen=True, slots=True)
class UnitSite:
    """A kernel or function, and the device (None: any)."""

    unit: Unit
    platform: Platform | None


@dataclass(frozen=True, slots=True)
class ModuleSite:
    """A module, and the device (None: any)."""

    module: Module
    platform: Platform | None


def site(instruction: Instruction, unit: Unit, platform: Platform | None) -> Site:
    """Return the site of an instruction."""
    fields = schema_of(type(instruction)).fields
    operands = tuple((entry.name, getattr(instruction, entry.name)) for entry in fields)
    return Site(instruction, operands, unit, platform)


Declare = Callable[[Callable[[Any], Iterator[Wrong]]], Rule]


class Rules:
    """The rules of one topic, in the order of their declarations."""

    def __init__(self) -> None:
        self.declared: list[Rule] = []

    def instruction(self, code: str, passage: str, **more: Any) -> Declare:
        """Declare a rule about an instruction; see `Rule` for what more there is."""
        return self._declare(Scope.INSTRUCTION, code, passage, more)

    def unit(self, code: str, passage: str, **more: Any) -> Declare:
        """Declare a rule about a kernel or function."""
        return self._declare(Scope.UNIT, code, passage, more)

    def module(self, code: str, passage: str, **more: Any) -> Declare:
        """Declare a rule about a module."""
        return self._declare(Scope.MODULE, code, passage, more)

    def _declare(self, scope: Scope, code: str, passage: str, more: dict[str, Any]) -> Declare:
        more.setdefault("severity", Severity.ERROR)

        def declare(check: Callable[[Any], Iterator[Wrong]]) -> Rule:
            explanation = cleandoc(check.__doc__ or "")
            rule = Rule(
                code=code,
                passage=passage,
                explanation=explanation,
                scope=scope,
                check=check,
                **more,
            )
            self.declared.append(rule)
            return rule

        return declare


def by_scope(rules: Iterable[Rule], scope: Scope) -> tuple[Rule, ...]:
    """Return the rules that look at one kind of subject."""
    return tuple(rule for rule in rules if rule.scope is scope)
