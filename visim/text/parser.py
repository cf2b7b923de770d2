"""Reads vISA text into a module (specification 4 and 8; what GenX_IR accepts).

Goes statement by statement: one that is wrong is reported and skipped, so that one run finds all
errors of a text. What an instruction looks like is the business of its form.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from visim.diag import Diagnostic, Diagnostics, Origin, Severity, Source, Span
from visim.errors import InputError
from visim.isa import ISA
from visim.isa.forms import LabelMark, SubroutineMark
from visim.isa.kinds import PREDICATION
from visim.isa.registry import Instruction, Op, named_labels
from visim.lex import NAME, STRING_LITERAL, Cursor, TextFailure, nearest, unquoted
from visim.module import Input, Module, Unit, UnitKind
from visim.operands import (
    AddressVariable,
    Attribute,
    General,
    PredicateVariable,
    SamplerVariable,
    SurfaceVariable,
    Variable,
)
from visim.text.declarations import declaration, input_kind, input_line, kernel_attribute
from visim.text.shapes import shape_of
from visim.text.statements import Statement, oversized_number, statements
from visim.text.symbols import Symbols

MAX_TEXT = 1 << 26
MAX_ERRORS = 500
NEWEST_VERSION = (4, 2)

_LABEL = re.compile(r"([A-Za-z_$@?][\w$@?.-]*|\"(?:[^\"\\\n]|\\.)*\")[ \t]*:", re.ASCII)
_MNEMONIC = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_SECOND_WORD = re.compile(r"\.\w+", re.ASCII)
#: Typed messages have the names of untyped ones; this part of a name tells them apart.
_TYPED = ".tgm"
_DIRECTIVE = re.compile(r"\.[A-Za-z_]\w*", re.ASCII)
_VERSION = re.compile(r"(\d{1,3})\.(\d{1,3})(?![\w.])", re.ASCII)
_BARE_NAME = re.compile(r"[^\s\"{},]+")
_SPACES = " \t"
_DIRECTIVES = (
    ".version",
    ".kernel",
    ".global_function",
    ".function",
    ".funcdecl",
    ".decl",
    ".input",
    ".parameter",
    ".kernel_attr",
    ".implicit_LOCAL_SIZE",
    ".implicit_GROUP_COUNT",
    ".implicit_LOCAL_ID",
)
_VariableT = TypeVar("_VariableT", bound=Variable)


def read_text(source: Source) -> Module:
    """Return the module that a vISA text describes.

    Raises:
        InputError: the text is wrong; `.diagnostics` has every error.
    """
    module, findings = parse_text(source)
    if findings.errors:
        raise InputError(findings)
    return module


def parse_text(source: Source) -> tuple[Module, Diagnostics]:
    """Return what could be read of a vISA text, and all that is wrong with it."""
    findings = Diagnostics()
    if len(source.text) > MAX_TEXT:
        findings.error(
            "limit", f"the text has {len(source.text)} characters, the limit is {MAX_TEXT}"
        )
        return Module((0, 0), (), source), findings
    return _Parser(source, findings).run(), findings


@dataclass(frozen=True, slots=True)
class _LabelUse:
    """An instruction that names a label, and where in the statement the name stands."""

    name: str
    origin: Span


@dataclass(slots=True)
class _OpenUnit:
    """A unit while its text is read."""

    name: str
    kind: UnitKind
    origin: Origin
    symbols: Symbols = field(default_factory=Symbols)
    function_declarations: list[str] = field(default_factory=list[str])
    inputs: list[Input] = field(default_factory=list[Input])
    attributes: list[Attribute] = field(default_factory=list[Attribute])
    body: list[Instruction] = field(default_factory=list[Instruction])
    labels: dict[str, Span] = field(default_factory=dict[str, Span])
    uses: list[_LabelUse] = field(default_factory=list[_LabelUse])
    scopes: list[Span] = field(default_factory=list[Span])

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
            tuple(self.inputs),
            tuple(self.attributes),
            tuple(self.body),
            self.origin,
        )


class _Parser:
    """Reads one text; `run` does it."""

    def __init__(self, source: Source, findings: Diagnostics) -> None:
        self.source = source
        self.findings = findings
        self.version: tuple[int, int] | None = None
        self.unit: _OpenUnit | None = None
        self.units: list[Unit] = []
        self.unit_names: set[str] = set()
        self.statement = Statement(1, "")
        self.started = False
        self.directives: dict[str, Callable[[Cursor, Span], None]] = {
            ".version": self._version,
            ".kernel": self._unit_start(UnitKind.KERNEL),
            ".global_function": self._unit_start(UnitKind.FUNCTION),
            ".function": self._subroutine,
            ".funcdecl": self._function_declaration,
            ".decl": self._declaration,
            ".kernel_attr": self._attribute,
        }

    def run(self) -> Module:
        """Read the whole text."""
        try:
            for statement in statements(self.source):
                self._take(statement)
                if len(self.findings) >= MAX_ERRORS:
                    message = f"more than {MAX_ERRORS} errors; the rest of the text was not read"
                    self.findings.error("too-many-errors", message)
                    break
        except TextFailure as failure:
            self.findings.add(failure.diagnostic)
        self._close_unit()
        if not self.started:
            self._report_empty()
        return Module(self.version or (0, 0), tuple(self.units), self.source)

    def _report_empty(self) -> None:
        span = Span(self.source, 1, 1)
        self.findings.error(
            "no-version", "the text is empty", span, help="begin with '.version 4.1'"
        )

    def _take(self, statement: Statement) -> None:
        """Read one statement; report what is wrong with it."""
        self.statement = statement
        text = statement.text
        start = len(text) - len(text.lstrip(_SPACES))
        cursor = Cursor(self.source, statement.line, text, start)
        try:
            if not self.started:
                self._start(cursor)
            oversized = oversized_number(statement)
            if oversized is not None:
                raise cursor.failure_at(oversized, "limit", "the number has thousands of digits")
            self._dispatch(cursor, start)
        except TextFailure as failure:
            self.findings.add(statement.located(failure.diagnostic))

    def _start(self, cursor: Cursor) -> None:
        """Check that the text begins with its version."""
        self.started = True
        if not cursor.text.startswith(".version", cursor.position):
            failure = cursor.failure("'.version'", help="begin the text with '.version 4.1'")
            self.findings.add(self.statement.located(failure.diagnostic))

    def _dispatch(self, cursor: Cursor, start: int) -> None:
        first = cursor.text[start]
        if first == ".":
            self._directive(cursor, start)
        elif first in "{}":
            self._scope(cursor, first)
        elif cursor.text.endswith(":") and self._label(cursor, start):
            pass
        else:
            self._instruction(cursor, start)

    def _open(self, cursor: Cursor, what: str) -> _OpenUnit:
        """Return the current unit, or fail because `what` belongs into one."""
        if self.unit is None:
            start = len(cursor.text) - len(cursor.text.lstrip(_SPACES))
            message = f"{what} before any '.kernel' or '.global_function'"
            length = len(cursor.text) - start
            raise cursor.failure_at(start, "outside-unit", message, length=length)
        return self.unit

    def _span(self, start: int, end: int) -> Span:
        return self.statement.span(self.source, start, end)

    # Directives

    def _directive(self, cursor: Cursor, start: int) -> None:
        name = cursor.need(_DIRECTIVE, "a directive").group()
        origin = self._span(start, len(cursor.text))
        kind = input_kind(name)
        if kind is not None:
            unit = self._open(cursor, "input")
            found = input_line(cursor, unit.symbols, kind, origin)
            if any(found.variable is other.variable for other in unit.inputs):
                message = f"{found.variable.name} is already an input"
                raise cursor.failure_at(start, "duplicate-input", message)
            unit.inputs.append(found)
            return
        handler = self.directives.get(name)
        if handler is None:
            raise cursor.unknown_name(start, "directive", name, _DIRECTIVES)
        handler(cursor, origin)
        if not cursor.at_end:
            raise cursor.failure("the end of the line")

    def _version(self, cursor: Cursor, _origin: Span) -> None:
        cursor.skip_space()
        start = cursor.position
        match = cursor.need(_VERSION, "a version such as '4.1'")
        version = (int(match.group(1)), int(match.group(2)))
        if self.version is not None and version != self.version:
            stated = f"{self.version[0]}.{self.version[1]}"
            message = f"version {match.group()} differs from {stated} above"
            raise cursor.failure_at(start, "version-conflict", message)
        self.version = version
        if not (3, 0) <= version <= NEWEST_VERSION:
            raise cursor.failure_at(
                start,
                "unknown-version",
                f"vISA version {match.group()} is not known",
                help=f"versions 3.0 to {NEWEST_VERSION[0]}.{NEWEST_VERSION[1]} are read",
            )

    def _unit_start(self, kind: UnitKind) -> Callable[[Cursor, Span], None]:
        def start_unit(cursor: Cursor, origin: Span) -> None:
            self._close_unit()
            cursor.skip_space()
            start = cursor.position
            self.unit = _OpenUnit("", kind, origin)
            self.unit.name = _name(cursor, f"the {kind}'s name")
            if self.unit.name in self.unit_names:
                message = f"{self.unit.name} is defined twice"
                raise cursor.failure_at(start, "duplicate-unit", message)
            self.unit_names.add(self.unit.name)

        return start_unit

    def _function_declaration(self, cursor: Cursor, _origin: Span) -> None:
        unit = self._open(cursor, "function declaration")
        unit.function_declarations.append(_name(cursor, "the function's name"))

    def _declaration(self, cursor: Cursor, _origin: Span) -> None:
        declaration(cursor, self._open(cursor, "declaration").symbols)

    def _attribute(self, cursor: Cursor, _origin: Span) -> None:
        unit = self._open(cursor, "attribute")
        cursor.skip_space()
        start = cursor.position
        found = kernel_attribute(cursor)
        if any(found.name == other.name for other in unit.attributes):
            message = f"attribute {found.name} is given twice"
            raise cursor.failure_at(start, "duplicate-attribute", message)
        unit.attributes.append(found)
        if not cursor.at_end:
            # A dump of a body without marks has its first instruction on this line.
            self._instruction(cursor, cursor.position)

    def _subroutine(self, cursor: Cursor, origin: Span) -> None:
        unit = self._open(cursor, "subroutine")
        cursor.skip_space()
        start = cursor.position
        name = _name(cursor, "the subroutine's name")
        self._define_label(unit, cursor, start, name)
        unit.body.append(SubroutineMark(ISA.subroutine, name, origin=origin))

    # Scopes and labels

    def _scope(self, cursor: Cursor, brace: str) -> None:
        unit = self._open(cursor, "scope")
        cursor.expect(brace)
        if brace == "{":
            unit.symbols.open_scope(cursor)
            unit.scopes.append(self._span(cursor.position - 1, cursor.position))
        elif unit.scopes:
            unit.symbols.close_scope()
            unit.scopes.pop()
        else:
            start = cursor.position - 1
            raise cursor.failure_at(start, "scope", "no scope is open that '}' could close")
        if not cursor.at_end:
            raise cursor.failure("the end of the line")

    def _label(self, cursor: Cursor, start: int) -> bool:
        """Take a label if the statement is one."""
        match = cursor.match(_LABEL)
        if match is None or not cursor.at_end:
            cursor.position = start
            return False
        if start:
            raise cursor.failure_at(
                start,
                "indented-label",
                "a label must begin in the first column",
                length=match.end() - start,
                help="remove the blanks before it",
            )
        unit = self._open(cursor, "label")
        text = match.group(1)
        name = unquoted(text) if text.startswith('"') else text
        last = unit.body[-1] if unit.body else None
        if isinstance(last, SubroutineMark) and last.name == name:
            return True
        self._define_label(unit, cursor, start, name)
        span = self._span(start, match.end())
        unit.body.append(LabelMark(ISA.label, name, origin=span))
        return True

    def _define_label(self, unit: _OpenUnit, cursor: Cursor, start: int, name: str) -> None:
        earlier = unit.labels.get(name)
        if earlier is not None:
            raise cursor.failure_at(
                start,
                "duplicate-label",
                f"label {name} is defined twice",
                help=f"the first one is in line {earlier.line}",
            )
        unit.labels[name] = self._span(start, cursor.position)

    # Instructions

    def _instruction(self, cursor: Cursor, start: int) -> None:
        unit = self._open(cursor, "instruction")
        names = unit.symbols
        given: dict[str, Any] = {"pred": None}
        if cursor.text[start] == "(":
            given["pred"] = PREDICATION.parse(cursor, names)
            if given["pred"] is None:
                raise cursor.failure(PREDICATION.expected)
            cursor.skip_space()
        op = _op(cursor)
        shape = shape_of(op.form)
        if not shape.is_predicated:
            if given["pred"] is not None:
                length = cursor.position - start
                message = f"{op.mnemonic} takes no predicate"
                raise cursor.failure_at(start, "predicate", message, length=length)
            del given["pred"]
        origin = self._span(start, len(cursor.text))
        made = shape.schema.parse(op, cursor, names, given, origin)
        unit.body.append(made)
        for name in named_labels(made):
            self._use_label(unit, name, start)

    def _use_label(self, unit: _OpenUnit, name: str, start: int) -> None:
        at = max(start, self.statement.text.rfind(name))
        unit.uses.append(_LabelUse(name, self._span(at, at + len(name))))

    # The end of a unit

    def _close_unit(self) -> None:
        unit = self.unit
        if unit is None:
            return
        self.unit = None
        for span in unit.scopes:
            self.findings.error("scope", "the scope is not closed", span, label="opened here")
        for use in unit.uses:
            if use.name not in unit.labels:
                self.findings.add(_undefined_label(use, unit))
        self.units.append(unit.close())


def _op(cursor: Cursor) -> Op:
    """Take a mnemonic up to its first dot and return its instruction, or fail."""
    start = cursor.position
    mnemonic = cursor.need(_MNEMONIC, "an instruction").group()
    op = ISA.by_mnemonic(f"{mnemonic}{_TYPED}") if cursor.take(_TYPED) else None
    if op is not None:
        return op
    cursor.position = start + len(mnemonic)
    op = ISA.by_mnemonic(mnemonic) or _dotted_op(cursor, mnemonic)
    if op is None or op is ISA.label or op is ISA.subroutine:
        raise cursor.unknown_name(start, "instruction", mnemonic, ISA.mnemonics())
    return op


def _dotted_op(cursor: Cursor, mnemonic: str) -> Op | None:
    """Take the second word of a mnemonic such as `va.minmax`, if there is such an instruction."""
    word = _SECOND_WORD.match(cursor.text, cursor.position)
    op = ISA.by_mnemonic(f"{mnemonic}{word.group()}") if word else None
    if word and op:
        cursor.position = word.end()
    return op


def _name(cursor: Cursor, expected: str) -> str:
    """Take a name: an identifier or a string literal."""
    cursor.skip_space()
    start = cursor.position
    literal = cursor.match(STRING_LITERAL)
    if literal is None:
        match = cursor.match(NAME)
        follows = cursor.text[cursor.position : cursor.position + 1]
        if match is None or follows not in {"", *_SPACES}:
            cursor.position = start
            match = cursor.need(_BARE_NAME, expected)
        return match.group()
    name = unquoted(literal.group())
    if not name:
        raise cursor.failure_at(start, "syntax", f"{expected} is empty")
    return name


def _undefined_label(use: _LabelUse, unit: _OpenUnit) -> Diagnostic:
    guess = nearest(use.name, unit.labels)
    return Diagnostic(
        "undefined-label",
        Severity.ERROR,
        f"label {use.name} is not defined in {unit.name}",
        use.origin,
        help=f"did you mean {guess!r}?" if guess else None,
    )
