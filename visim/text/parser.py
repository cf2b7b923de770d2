"""Reads vISA text into a module (specification 4 and 8; what GenX_IR accepts).

Goes statement by statement: one that is wrong is reported and skipped, so that one run finds all
errors of a text. What an instruction looks like is the business of its form.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from typing import Any

from visim.diag import Diagnostics, Source, Span
from visim.errors import InputError
from visim.isa import ISA
from visim.isa.execution_kinds import PREDICATION
from visim.isa.forms import LabelMark, SubroutineMark
from visim.isa.registry import Op, named_labels
from visim.lex import NAME, STRING_LITERAL, Cursor, TextFailure, unquoted
from visim.module import Linkage, Module, Unit, UnitKind
from visim.target import Platform
from visim.text.declarations import declaration, input_kind, input_line, kernel_attribute
from visim.text.linkage import EXTENSIONS, FILE_DIRECTIVES, FileScope
from visim.text.openunit import LabelUse, OpenUnit
from visim.text.shapes import shape_of
from visim.text.statements import LONG, Statement, oversized_number, statements
from visim.text.symbols import MAX_NESTING

MAX_TEXT = 1 << 26
MAX_ERRORS = 500
NEWEST_VERSION = (4, 2)

_LABEL = re.compile(r"([A-Za-z_$@?][\w$@?.-]*|\"(?:[^\"\\\n]|\\.)*\")[ \t]*:", re.ASCII)
_MNEMONIC = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_SECOND_WORD = re.compile(r"\.\w+", re.ASCII)
#: Typed messages have the names of untyped ones; this part of a name tells them apart.
_TYPED = ".tgm"
#: Newer compilers write a dot into this name.
_OTHER_SPELLINGS = re.compile(r"add3\.o(?!\w)", re.ASCII)
_DIRECTIVE = re.compile(r"\.[A-Za-z_]\w*", re.ASCII)
_VERSION = re.compile(r"(\d{1,3})\.(\d{1,3})(?![\w.])", re.ASCII)
_BARE_NAME = re.compile(r"[^\s\"{},]+")
_SPACES = " \t"
#: Attributes that may be stated again: they name files, of which the last is written.
_LAST_HOLDS = frozenset({"OutputAsmPath", "AsmName"})
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
    ".file",
    ".loc",
    ".implicit_LOCAL_SIZE",
    ".implicit_GROUP_COUNT",
    ".implicit_LOCAL_ID",
    *EXTENSIONS,
)


def read_text(source: Source, platform: Platform | None = None, *, strict: bool = False) -> Module:
    """Return the module that a vISA text describes.

    `platform` is needed only where the text asks for the size of a register.

    Raises:
        InputError: the text is wrong; `.diagnostics` has every error.
    """
    module, findings = parse_text(source, platform, strict=strict)
    if findings.errors:
        raise InputError(findings)
    return module


def parse_text(
    source: Source,
    platform: Platform | None = None,
    *,
    strict: bool = False,
    compiled: bool = False,
) -> tuple[Module, Diagnostics]:
    """Return what could be read of a vISA text, and all that is wrong with it; see `read_text`.

    With `strict`, the directives for linkage that only visim has are wrong too. With `compiled`,
    where a compiler has left out the scopes of inline assembly, declarations that are the same
    declare one variable: scopes that follow one another may share it.
    """
    findings = Diagnostics()
    if len(source.text) > MAX_TEXT:
        findings.error(
            "limit", f"the text has {len(source.text)} characters, the limit is {MAX_TEXT}"
        )
        return Module((0, 0), (), source), findings
    grf_bytes = platform.grf_bytes if platform else None
    parser = _Parser(source, findings, grf_bytes, strict=strict, compiled=compiled)
    return parser.run(), findings


class _Parser:
    """Reads one text; `run` does it."""

    def __init__(
        self,
        source: Source,
        findings: Diagnostics,
        grf_bytes: int | None,
        *,
        strict: bool,
        compiled: bool,
    ) -> None:
        self.source = source
        self.findings = findings
        self.version: tuple[int, int] | None = None
        self.unit: OpenUnit | None = None
        self.units: list[Unit] = []
        self.unit_names: set[str] = set()
        self.statement = Statement(1, "")
        self.started = False
        self.strict = strict
        self.compiled = compiled
        self.file_scope = FileScope(grf_bytes)
        self.directives: dict[str, Callable[[Cursor, int], None]] = {
            ".version": self._version,
            ".kernel": self._unit_start(UnitKind.KERNEL),
            ".global_function": self._unit_start(UnitKind.FUNCTION),
            ".function": self._subroutine,
            ".funcdecl": self._function_declaration,
            ".decl": self._declaration,
            ".kernel_attr": self._attribute,
            ".file": self._file_or_line,
            ".loc": self._file_or_line,
            ".static_function": self._unit_start(UnitKind.FUNCTION, Linkage.STATIC),
            **dict.fromkeys(FILE_DIRECTIVES, self._file_directive),
        }

    def run(self) -> Module:
        """Read the whole text."""
        try:
            for statement in statements(self.source):
                if not self.started and not self._start(statement):
                    break
                if not self._take(statement) and len(self.findings) >= MAX_ERRORS:
                    message = f"more than {MAX_ERRORS} errors; the rest of the text was not read"
                    self.findings.error("too-many-errors", message)
                    break
        except TextFailure as failure:
            self.findings.add(failure.diagnostic)
        self._close_unit()
        if not self.started:
            self._report_empty()
        return self.file_scope.module(self.version or (0, 0), self.units, self.source)

    def _report_empty(self) -> None:
        span = Span(self.source, 1, 1)
        self.findings.error(
            "no-version", "the text is empty", span, help="begin with '.version 4.1'"
        )

    def _take(self, statement: Statement) -> bool:
        """Read one statement; report what is wrong with it, and return whether nothing is."""
        self.statement = statement
        text = statement.text
        start = len(text) - len(text.lstrip(_SPACES)) if text[0] in _SPACES else 0
        cursor = Cursor(self.source, statement.line, text, start)
        try:
            oversized = oversized_number(statement) if len(text) >= LONG else None
            if oversized is not None:
                raise cursor.failure_at(oversized, "limit", "the number has thousands of digits")
            self._dispatch(cursor, start)
        except TextFailure as failure:
            self.findings.add(statement.located(failure.diagnostic))
            return False
        return True

    def _start(self, statement: Statement) -> bool:
        """Check that the text begins with its version; return whether to read on.

        A text that begins with another directive lacks its version; one that begins with anything
        else is hardly vISA, and each of its lines would be an error.
        """
        self.started = True
        text = statement.text
        cursor = Cursor(self.source, statement.line, text, len(text) - len(text.lstrip(_SPACES)))
        if text.startswith(".version", cursor.position):
            return True
        is_directive = _DIRECTIVE.match(text, cursor.position) is not None
        advice = "begin the text with '.version 4.1'"
        if not is_directive:
            advice += "; nothing after this line was read"
        failure = cursor.failure("'.version'", help=advice)
        self.findings.add(statement.located(failure.diagnostic))
        return is_directive

    def _dispatch(self, cursor: Cursor, start: int) -> None:
        text = cursor.text
        first, last = text[start], text[-1]
        if first == "{":
            self._open_scope(cursor, start)
        elif last == "}" and _closes_scope(text, start):
            self._close_scope(cursor, start)
        elif first == ".":
            self._directive(cursor, start)
        elif last != ":" or not self._label(cursor, start):
            self._instruction(cursor, start)

    def _open(self, cursor: Cursor, what: str) -> OpenUnit:
        """Return the current unit, or fail because `what` belongs into one."""
        if self.unit is None:
            start = len(cursor.text) - len(cursor.text.lstrip(_SPACES))
            message = f"{what} before any '.kernel' or '.global_function'"
            length = len(cursor.text) - start
            raise cursor.failure_at(start, "outside-unit", message, length=length)
        return self.unit

    def _span(self, start: int, end: int) -> Span:
        statement = self.statement
        if not statement.joins:
            return Span(self.source, statement.line, start + 1, end - start or 1)
        return statement.span(self.source, start, end)

    # Directives

    def _directive(self, cursor: Cursor, start: int) -> None:
        name = cursor.need(_DIRECTIVE, "a directive").group()
        handler = self.directives.get(name)
        if handler is not None:
            if self.strict and name in EXTENSIONS:
                message = f"{name} is an extension of visim, which strict reading refuses"
                failure = cursor.failure_at(start, "extension", message, length=len(name))
                self.findings.add(self.statement.located(failure.diagnostic))
            handler(cursor, start)
            if cursor.position < len(cursor.text) and not cursor.at_end:
                raise cursor.failure("the end of the line")
            return
        kind = input_kind(name)
        if kind is None:
            raise cursor.unknown_name(start, "directive", name, _DIRECTIVES)
        self._input(cursor, start, kind)

    def _input(self, cursor: Cursor, start: int, kind: str) -> None:
        unit = self._open(cursor, "input")
        found = input_line(cursor, unit.symbols, kind, self._span(start, len(cursor.text)))
        key = (type(found.variable), found.variable.index)
        if key in unit.inputs:
            message = f"{found.variable.name} is already an input"
            earlier = unit.inputs[key].origin
            line = earlier.line if isinstance(earlier, Span) else None
            first = f"the first one is in line {line}" if line else None
            raise cursor.failure_at(start, "duplicate-input", message, help=first)
        unit.inputs[key] = found

    def _version(self, cursor: Cursor, _start: int) -> None:
        cursor.skip_space()
        start = cursor.position
        match = cursor.need(_VERSION, "a version such as '4.1'")
        version = (int(match.group(1)), int(match.group(2)))
        if self.version is not None and version != self.version:
            stated = f"{self.version[0]}.{self.version[1]}"
            message = f"version {match.group()} differs from {stated} above"
            raise cursor.failure_at(start, "version-conflict", message)
        self.version = self.file_scope.version = version
        if not (3, 0) <= version <= NEWEST_VERSION:
            raise cursor.failure_at(
                start,
                "unknown-version",
                f"vISA version {match.group()} is not known",
                help=f"versions 3.0 to {NEWEST_VERSION[0]}.{NEWEST_VERSION[1]} are read",
            )

    def _file_directive(self, cursor: Cursor, start: int) -> None:
        if self.unit is not None:
            message = "what belongs to the file stands before its first kernel or function"
            raise cursor.failure_at(start, "inside-unit", message, length=len(cursor.text))
        self.file_scope.take(cursor, self._span(start, len(cursor.text)))

    def _unit_start(
        self, kind: UnitKind, linkage: Linkage = Linkage.GLOBAL
    ) -> Callable[[Cursor, int], None]:
        def start_unit(cursor: Cursor, directive: int) -> None:
            self._close_unit()
            origin = self._span(directive, len(cursor.text))
            cursor.skip_space()
            start = cursor.position
            self.unit = OpenUnit("", kind, origin, self.file_scope.symbols(), linkage)
            self.unit.name = _name(cursor, f"the {kind}'s name")
            if self.unit.name in self.unit_names:
                message = f"{self.unit.name} is defined twice"
                raise cursor.failure_at(start, "duplicate-unit", message)
            self.unit_names.add(self.unit.name)

        return start_unit

    def _function_declaration(self, cursor: Cursor, _start: int) -> None:
        unit = self._open(cursor, "function declaration")
        unit.function_declarations.append(_name(cursor, "the function's name"))

    def _declaration(self, cursor: Cursor, _start: int) -> None:
        unit = self._open(cursor, "declaration")
        if self.compiled and unit.is_repeated(cursor.text):
            cursor.position = len(cursor.text)
        else:
            declaration(cursor, unit.symbols)

    def _attribute(self, cursor: Cursor, _start: int) -> None:
        unit = self._open(cursor, "attribute")
        cursor.skip_space()
        start = cursor.position
        found = kernel_attribute(cursor, unit.symbols)
        if found.name in _LAST_HOLDS:
            unit.attributes.pop(found.name, None)
        elif found.name in unit.attributes:
            message = f"attribute {found.name} is given twice"
            raise cursor.failure_at(start, "duplicate-attribute", message)
        unit.attributes[found.name] = found
        if not cursor.at_end:
            # A dump of a body without marks has its first instruction on this line.
            self._instruction(cursor, cursor.position)

    def _file_or_line(self, cursor: Cursor, start: int) -> None:
        """Take `.file` or `.loc`, which are the directives FILE and LOC."""
        mnemonic = cursor.text[start + 1 : cursor.position].upper()
        self._parse(ISA.by_mnemonic(mnemonic) or ISA.label, cursor, start, {})

    def _subroutine(self, cursor: Cursor, directive: int) -> None:
        unit = self._open(cursor, "subroutine")
        origin = self._span(directive, len(cursor.text))
        cursor.skip_space()
        start = cursor.position
        name = _name(cursor, "the subroutine's name")
        unit.define_label(cursor, start, name, self._span(start, cursor.position))
        unit.body.append(SubroutineMark(ISA.subroutine, name, origin=origin))

    # Scopes and labels

    def _open_scope(self, cursor: Cursor, start: int) -> None:
        """Take a '{' and what follows it in the line."""
        unit = self._open(cursor, "scope")
        cursor.position = start + 1
        unit.symbols.open_scope(cursor)
        unit.scopes.append(self._span(start, start + 1))
        if not cursor.at_end:
            self._dispatch(cursor, cursor.position)

    def _close_scope(self, cursor: Cursor, start: int) -> None:
        """Take what stands before the last '}' of the line, and that."""
        unit = self._open(cursor, "scope")
        last = len(cursor.text) - 1
        if cursor.text.count("}") > MAX_NESTING:
            message = f"more than {MAX_NESTING} closing braces in a line"
            raise cursor.failure_at(start, "limit", message, length=1)
        before = cursor.text[:last].rstrip(_SPACES)
        try:
            if len(before) > start:
                self._dispatch(Cursor(cursor.source, cursor.line, before, start), start)
        finally:
            if unit.scopes:
                unit.symbols.close_scope()
                unit.scopes.pop()
            else:
                message = "no scope is open that '}' could close"
                raise cursor.failure_at(last, "scope", message, length=1)

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
        span = self._span(start, match.end())
        unit.define_label(cursor, start, name, span)
        unit.body.append(LabelMark(ISA.label, name, origin=span))
        return True

    # Instructions

    def _instruction(self, cursor: Cursor, start: int) -> None:
        unit = self.unit or self._open(cursor, "instruction")
        predication = None
        if cursor.text[start] == "(":
            predication = PREDICATION.parse(cursor, unit.symbols)
            if predication is None:
                raise cursor.bracketed_failure(PREDICATION.expected, help=PREDICATION.rule)
            cursor.skip_space()
        op = _op(cursor)
        if shape_of(op.form).is_predicated:
            self._parse(op, cursor, start, {"pred": predication})
            return
        if predication is not None:
            length = cursor.position - start
            message = f"{op.mnemonic} takes no predicate"
            raise cursor.failure_at(start, "predicate", message, length=length)
        self._parse(op, cursor, start, {})

    def _parse(self, op: Op, cursor: Cursor, start: int, given: dict[str, Any]) -> None:
        """Take the operands of `op` and append the instruction to the unit."""
        unit = self.unit or self._open(cursor, "instruction")
        shape = shape_of(op.form)
        origin = self._span(start, len(cursor.text))
        made = shape.schema.parse(op, cursor, unit.symbols, given, origin)
        unit.body.append(made)
        if shape.names_labels:
            for name in named_labels(made):
                self._use_label(unit, name, start)

    def _use_label(self, unit: OpenUnit, name: str, start: int) -> None:
        at = max(start, self.statement.text.rfind(name))
        unit.uses.append(LabelUse(name, self._span(at, at + len(name))))

    # The end of a unit

    def _close_unit(self) -> None:
        unit = self.unit
        if unit is None:
            return
        self.unit = None
        for span in unit.scopes:
            self.findings.error("scope", "the scope is not closed", span, label="opened here")
        for finding in islice(unit.undefined_labels(), MAX_ERRORS):
            self.findings.add(finding)
        self.units.append(unit.close())


def _op(cursor: Cursor) -> Op:
    """Take a mnemonic up to its first dot and return its instruction, or fail."""
    start = cursor.position
    match = _MNEMONIC.match(cursor.text, start)
    if match is None:
        raise cursor.failure("an instruction")
    mnemonic = match.group()
    cursor.position = match.end()
    spelled = _OTHER_SPELLINGS.match(cursor.text, start)
    if spelled is not None:
        mnemonic, cursor.position = spelled.group().replace(".", ""), spelled.end()
    if cursor.text.startswith(_TYPED, cursor.position):
        typed = ISA.by_mnemonic(f"{mnemonic}{_TYPED}")
        if typed is not None:
            cursor.position += len(_TYPED)
            return typed
    op = ISA.by_mnemonic(mnemonic) or _dotted_op(cursor, mnemonic)
    if op is None or op is ISA.label or op is ISA.subroutine:
        letter = mnemonic[0].lower()
        known = sorted(ISA.mnemonics(), key=lambda name: name[0] != letter)
        raise cursor.unknown_name(start, "instruction", mnemonic, known)
    return op


def _dotted_op(cursor: Cursor, mnemonic: str) -> Op | None:
    """Take the second word of a mnemonic such as `va.minmax`, if there is such an instruction."""
    word = _SECOND_WORD.match(cursor.text, cursor.position)
    op = ISA.by_mnemonic(f"{mnemonic}{word.group()}") if word else None
    if word and op:
        cursor.position = word.end()
    return op


def _closes_scope(text: str, start: int) -> bool:
    """Return whether the '}' that ends a statement closes no list of attributes."""
    bare = STRING_LITERAL.sub("", text[start:])
    return bare.count("}") > bare.count("{")


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
