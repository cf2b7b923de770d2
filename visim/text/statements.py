"""Statements of a vISA text: lines without comments, continuation lines joined.

Knows line ends, comments and strings, and not what a statement says (specification 8, Lexemes).
Comments become blanks, so that every character that is left keeps its column.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace

from visim.diag import Diagnostic, Severity, Source, Span
from visim.lex import TextFailure

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|//.*|/\*')
_DIGITS = re.compile(r"\d+")
#: Statements shorter than this hold no number that is too long to convert.
LONG = 4000


@dataclass(slots=True)
class Statement:
    """One statement; `line` is where it begins.

    `joins` is empty for a statement of one line, else it has the position in `text` where each
    of its lines begins.
    """

    line: int
    text: str
    joins: tuple[int, ...] = ()

    def place(self, position: int) -> tuple[int, int]:
        """Return the line and column (1-based) of the character at `position`."""
        if not self.joins:
            return self.line, position + 1
        index = bisect_right(self.joins, position) - 1
        return self.line + index, position - self.joins[index] + 1

    def span(self, source: Source, start: int, end: int) -> Span:
        """Return the place of `text[start:end]`, or of what is in its first line."""
        line, column = self.place(start)
        if self.joins:
            following = bisect_right(self.joins, start)
            end = min([end, *self.joins[following : following + 1]])
        return Span(source, line, column, max(1, end - start))

    def located(self, finding: Diagnostic) -> Diagnostic:
        """Return `finding`, made with positions of `text`, with the place in the source."""
        if not self.joins or not isinstance(finding.origin, Span):
            return finding
        span = finding.origin
        line, column = self.place(span.column - 1)
        return replace(finding, origin=Span(span.source, line, column, span.length))


def statements(source: Source) -> Iterator[Statement]:
    """Yield the statements of `source` that are not blank.

    Raises:
        TextFailure: a comment is not closed; nothing can be read after it.
    """
    lines = source.text.split("\n")
    count = len(lines)
    index = 0
    while index < count:
        text = lines[index].rstrip(" \t\r")
        comment = text.find("/")
        if comment >= 0 and _ends_at(text, comment):
            text = text[:comment].rstrip(" \t")
        elif comment >= 0 or text.endswith("\\"):
            statement, index = _joined(source, lines, index)
            if statement.text and not statement.text.isspace():
                yield statement
            continue
        index += 1
        if text:
            yield Statement(index, text)


def _ends_at(text: str, slash: int) -> bool:
    """Return whether a line's first slash plainly begins the comment that ends it."""
    return text.startswith("//", slash) and '"' not in text[:slash]


def _joined(source: Source, lines: list[str], first: int) -> tuple[Statement, int]:
    """Return the statement that begins in line `first`, and the line that follows it."""
    parts: list[str] = []
    joins: list[int] = []
    length = 0
    index = first
    comment: tuple[int, int] | None = None
    while index < len(lines):
        text, comment = _without_comments(lines[index].rstrip(" \t\r"), index, comment)
        joins.append(length)
        index += 1
        continues = comment is not None or text.endswith("\\")
        if text.endswith("\\"):
            text = text[:-1] + " "
        parts.append(text)
        length += len(text)
        if not continues:
            break
    if comment is not None:
        raise _unclosed(source, comment)
    return Statement(first + 1, "".join(parts), tuple(joins) if len(joins) > 1 else ()), index


def _without_comments(
    text: str, index: int, comment: tuple[int, int] | None
) -> tuple[str, tuple[int, int] | None]:
    """Blank the comments of one line.

    `comment` is the line and column (from 0) of a comment that is still open when the line
    begins; the second result is that of one still open at its end.
    """
    pieces: list[str] = []
    position = 0
    while position < len(text) or comment is not None:
        if comment is not None:
            end = text.find("*/", position)
            if end < 0:
                return "".join(pieces) + " " * (len(text) - position), comment
            pieces.append(" " * (end + 2 - position))
            position, comment = end + 2, None
            continue
        found = _next_token(text, position)
        if found is None:
            break
        pieces.append(text[position : found.start()])
        position = found.end()
        if found.group().startswith("//"):
            return "".join(pieces).rstrip(" \t"), None
        comment = (index, found.start())
        pieces.append("  ")
    pieces.append(text[position:])
    return "".join(pieces), comment


def _next_token(text: str, position: int) -> re.Match[str] | None:
    """Return the first comment's begin from `position` on that is not in a string."""
    for found in _TOKEN.finditer(text, position):
        if found.group()[0] == "/":
            return found
    return None


def _unclosed(source: Source, comment: tuple[int, int]) -> TextFailure:
    line, column = comment
    span = Span(source, line + 1, column + 1, 2)
    return TextFailure(
        Diagnostic(
            "unclosed-comment",
            Severity.ERROR,
            "the comment is not closed",
            span,
            "begins here",
            "end it with '*/'",
        )
    )


def oversized_number(statement: Statement) -> int | None:
    """Return where a number of thousands of digits begins, which no operand can hold."""
    runs = _DIGITS.finditer(statement.text)
    return next((run.start() for run in runs if run.end() - run.start() >= LONG), None)
