"""Sources, places in them, and the diagnostics that point at those places.

Knows nothing of vISA: a diagnostic is a code, a sentence and a place. Both renderers (text with
a caret, JSON) live here so that every part of visim reports alike.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from visim.records import record


class Severity(StrEnum):
    """How much a diagnostic matters; only errors stop a program from being used."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


_LONGEST_EXCERPT = 400
"""How many characters of a line are shown; all but hostile lines are shorter."""

_VISIBLE = (
    {code: 0x2400 + code for code in range(0x20)}
    | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
    | {0x7F: 0x2421, ord("\t"): ord(" ")}
)
"""Pictures of control characters, which a file from anywhere must not send to a terminal."""
_VISIBLE_LINES = {code: shown for code, shown in _VISIBLE.items() if code != ord("\n")}


def visible(text: str) -> str:
    """Return text for a terminal, where names out of files may have control characters."""
    return text.translate(_VISIBLE_LINES)


@dataclass(frozen=True, slots=True, repr=False)
class Source:
    """A text with the name under which its user knows it."""

    name: str
    text: str

    def __repr__(self) -> str:
        return f"Source({self.name!r}, {len(self.text)} characters)"

    def line(self, number: int) -> str:
        """Return line `number` (1-based) without its line end; empty beyond the last line."""
        lines = _lines(self.text)
        return lines[number - 1].rstrip("\r") if 0 < number <= len(lines) else ""


@lru_cache(maxsize=1)
def _lines(text: str) -> list[str]:
    """Return the lines of the text that is being reported on; each finding needs one."""
    return text.split("\n")


@record
class Span:
    """A stretch of one line of a `Source`; `line` and `column` are 1-based."""

    source: Source
    line: int
    column: int
    length: int = 1


@record
class ByteSpan:
    """A stretch of bytes of a binary file; `offset` counts from the file's start."""

    file: str
    offset: int
    length: int = 1


Origin = Span | ByteSpan | None


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding.

    `code` is a permanent kebab-case name, `message` says what is wrong, `label` what stands at
    the place, `help` what to do, `rule` which passage of the vISA specification is broken.
    """

    code: str
    severity: Severity
    message: str
    origin: Origin = None
    label: str | None = None
    help: str | None = None
    rule: str | None = None

    @property
    def file(self) -> str | None:
        """The file's name, or None when the finding has no place."""
        match self.origin:
            case Span(source=source):
                return source.name
            case ByteSpan(file=file):
                return file
            case _:
                return None

    @property
    def line(self) -> int | None:
        """The 1-based line, or None when the place is not in a text."""
        return self.origin.line if isinstance(self.origin, Span) else None

    @property
    def column(self) -> int | None:
        """The 1-based column, or None when the place is not in a text."""
        return self.origin.column if isinstance(self.origin, Span) else None

    @property
    def offset(self) -> int | None:
        """The byte offset, or None when the place is not in a binary file."""
        return self.origin.offset if isinstance(self.origin, ByteSpan) else None

    def render(self) -> str:
        """Return the finding as text: headline, place, the line with a caret, rule and help."""
        lines = [f"{self.severity}[{self.code}]: {self.message}"]
        match self.origin:
            case Span():
                lines += _excerpt(self.origin, self.label)
            case ByteSpan(file=file, offset=offset):
                lines.append(f"  --> {file}: byte {offset} (0x{offset:x})")
            case _:
                pass
        if self.rule:
            lines.append(f"   = rule: {self.rule}")
        if self.help:
            lines.append(f"   = help: {self.help}")
        return visible("\n".join(lines))

    def to_dict(self) -> dict[str, str | int | None]:
        """Return the finding in the form that `--json` prints."""
        return {
            "code": self.code,
            "severity": str(self.severity),
            "message": self.message,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "offset": self.offset,
            "help": self.help,
            "rule": self.rule,
        }


def _excerpt(span: Span, label: str | None) -> list[str]:
    number = str(span.line)
    gutter = " " * len(number)
    text = span.source.line(span.line).translate(_VISIBLE)
    column, length = span.column - 1, max(1, span.length)
    if len(text) > _LONGEST_EXCERPT:
        first = max(0, min(column, len(text)) - _LONGEST_EXCERPT // 2)
        text = text[first : first + _LONGEST_EXCERPT]
        column, length = column - first, min(length, _LONGEST_EXCERPT)
    caret = " " * column + "^" * length
    return [
        f"{gutter}--> {span.source.name}:{span.line}:{span.column}",
        f"{gutter} |",
        f"{number} | {text}",
        f"{gutter} | {caret}{' ' + label if label else ''}",
    ]


@dataclass(slots=True, repr=False)
class Diagnostics:
    """A growing list of findings about one input."""

    findings: list[Diagnostic] = field(default_factory=list[Diagnostic])

    def error(
        self,
        code: str,
        message: str,
        origin: Origin = None,
        *,
        label: str | None = None,
        help: str | None = None,  # noqa: A002 - the field's public name
        rule: str | None = None,
    ) -> None:
        """Add an error."""
        self.add(Diagnostic(code, Severity.ERROR, message, origin, label, help, rule))

    def add(self, finding: Diagnostic) -> None:
        """Add one finding."""
        self.findings.append(finding)

    def extend(self, findings: Iterable[Diagnostic]) -> None:
        """Add several findings in order."""
        self.findings.extend(findings)

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The findings that are errors."""
        return tuple(f for f in self.findings if f.severity is Severity.ERROR)

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __repr__(self) -> str:
        counts = [
            f"{count} {severity}s"[: -1 if count == 1 else None]
            for severity in Severity
            if (count := sum(finding.severity is severity for finding in self.findings))
        ]
        return f"<Diagnostics: {', '.join(counts) or 'none'}>"

    def _repr_html_(self) -> str:
        """Return the findings as notebooks show them."""
        return f"<pre>{html.escape(self.render() or 'nothing found')}</pre>"

    def without_notes(self) -> Diagnostics:
        """Return the errors and warnings."""
        return Diagnostics([f for f in self.findings if f.severity is not Severity.NOTE])

    def render(self) -> str:
        """Return all findings as text, an empty line between them."""
        return "\n\n".join(finding.render() for finding in self.findings)
