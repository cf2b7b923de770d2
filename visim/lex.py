"""A cursor over one statement of vISA text, and the failure it reports.

Knows characters and places, no instruction: kinds and parsers ask it for what they expect next.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from itertools import islice

from visim.diag import Diagnostic, Severity, Source, Span

_SPACE = re.compile(r"[ \t]*")
_IN_BRACKETS = re.compile(r"\([^()]{1,40}\)")
_REST_WORD = re.compile(r"[^\s,()\[\]<>;]+|.")
NAME = re.compile(r"%?[A-Za-z_]\w*", re.ASCII)
UNSIGNED = re.compile(r"0[xX][0-9a-fA-F]+|\d+", re.ASCII)
INTEGER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|\d+)", re.ASCII)
STRING_LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|(.))", re.DOTALL)
_ESCAPED = {
    "e": "\x1b",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}
_ESCAPES = {
    **{ord(value): f"\\{letter}" for letter, value in _ESCAPED.items()},
    ord("\\"): "\\\\",
    ord('"'): '\\"',
    0: "\\000",
}


class TextFailure(Exception):
    """A statement is not what it should be; becomes a diagnostic of the whole text."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic
        super().__init__(diagnostic.message)


_LONGEST_GUESSED = 100
_MOST_COMPARED = 200
_LONGEST_SHOWN = 200


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that `name` is probably a misspelling of, or None.

    Comparing is slow: of very many names only the first are looked at, and long ones never.
    """
    if len(name) > _LONGEST_GUESSED:
        return None
    comparable = (other for other in known if len(other) <= _LONGEST_GUESSED)
    candidates = list(islice(comparable, _MOST_COMPARED))
    same = next((other for other in candidates if other.lower() == name.lower()), None)
    if same is not None:
        return same
    matches = difflib.get_close_matches(name, candidates, n=1, cutoff=0.6)
    return matches[0] if matches else None


def shortened(text: str) -> str:
    """Return `text` as a message quotes it: its beginning, when it is very long."""
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "..."


def unquoted(literal: str) -> str:
    """Return what a string literal, quotes included, stands for; escapes are those of C."""
    inner = literal[1:-1]
    return _ESCAPE.sub(_unescaped, inner) if "\\" in inner else inner


def _unescaped(match: re.Match[str]) -> str:
    hexadecimal, octal, letter = match.groups()
    if hexadecimal:
        return chr(int(hexadecimal, 16))
    if octal:
        return chr(int(octal, 8) & 0xFF)
    return _ESCAPED.get(letter, letter)


def quoted(text: str) -> str:
    """Return the string literal that stands for `text`; the inverse of `unquoted`."""
    return f'"{text.translate(_ESCAPES)}"'


def parse_integer(text: str) -> int:
    """Return the value of an integer literal; a leading zero does not mean octal."""
    negative = text.startswith("-")
    digits = text.lstrip("-")
    value = int(digits, 16) if digits[:2] in {"0x", "0X"} else int(digits, 10)
    return -value if negative else value


class Cursor:
    """A position in one statement.

    `text` is the statement (continuation lines joined, comments blanked so that columns hold),
    `line` its 1-based line in `source`.
    """

    __slots__ = ("line", "position", "source", "text")

    def __init__(self, source: Source, line: int, text: str, position: int = 0) -> None:
        self.source = source
        self.line = line
        self.text = text
        self.position = position

    def skip_space(self) -> None:
        """Move over blanks."""
        first = self.text[self.position : self.position + 1]
        if first == " " or first == "\t":  # noqa: PLR1714 - this is the fastest test
            match = _SPACE.match(self.text, self.position)
            if match:
                self.position = match.end()

    @property
    def at_end(self) -> bool:
        """Whether nothing but blanks is left."""
        if self.position < len(self.text):
            self.skip_space()
        return self.position >= len(self.text)

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Take what `pattern` matches right here, or return None and stay."""
        match = pattern.match(self.text, self.position)
        if match:
            self.position = match.end()
        return match

    def take(self, literal: str) -> bool:
        """Take `literal` if it stands right here."""
        if self.text.startswith(literal, self.position):
            self.position += len(literal)
            return True
        return False

    def take_suffix(self, literal: str) -> bool:
        """Take `literal` if it stands here or behind blanks."""
        text, position = self.text, self.position
        if text.startswith(literal, position):
            self.position = position + len(literal)
            return True
        if text[position : position + 1].isspace():
            rest = text[position:].lstrip(" \t")
            if rest.startswith(literal):
                self.position = len(text) - len(rest) + len(literal)
                return True
        return False

    def expect(self, literal: str, expected: str = "") -> None:
        """Skip blanks and take `literal`, or fail saying what was `expected`."""
        if self.text.startswith(literal, self.position):
            self.position += len(literal)
            return
        self.skip_space()
        if not self.take(literal):
            raise self.failure(expected or f"{literal!r}")

    def need(self, pattern: re.Pattern[str], expected: str) -> re.Match[str]:
        """Skip blanks and take what `pattern` matches, or fail saying what was `expected`."""
        self.skip_space()
        match = self.match(pattern)
        if match is None:
            raise self.failure(expected)
        return match

    def integer(self, expected: str = "an integer", *, low: int = 0, high: int = 1 << 32) -> int:
        """Take an integer literal in [low, high), or fail."""
        self.skip_space()
        start = self.position
        value = parse_integer(self.need(INTEGER, expected).group())
        if not low <= value < high:
            raise self.failure_at(
                start, "out-of-range", f"{value} is outside {low} to {high - 1}", label=expected
            )
        return value

    def span(self, position: int, length: int = 1) -> Span:
        """Return the place of `length` characters from `position`."""
        return Span(self.source, self.line, position + 1, length)

    def failure(self, expected: str, *, help: str | None = None) -> TextFailure:  # noqa: A002
        """Return the failure "expected X, found Y" at this position."""
        self.skip_space()
        return self._failure(expected, _REST_WORD.match(self.text, self.position), help)

    def bracketed_failure(self, expected: str, *, help: str) -> TextFailure:  # noqa: A002
        """Do the same; what was found is all that stands in round brackets here."""
        self.skip_space()
        found = _IN_BRACKETS.match(self.text, self.position)
        return self._failure(expected, found or _REST_WORD.match(self.text, self.position), help)

    def _failure(
        self, expected: str, found: re.Match[str] | None, help_text: str | None
    ) -> TextFailure:
        shown = f"{shortened(found.group())!r}" if found else "the end of the line"
        length = len(found.group()) if found else 1
        return self.failure_at(
            self.position,
            "syntax",
            f"expected {expected}, found {shown}",
            length=length,
            label="here",
            help=help_text,
        )

    def failure_at(
        self,
        position: int,
        code: str,
        message: str,
        *,
        length: int | None = None,
        label: str | None = None,
        help: str | None = None,  # noqa: A002
    ) -> TextFailure:
        """Return a failure about the text from `position` to here (or of `length`)."""
        size = length if length is not None else max(1, self.position - position)
        span = self.span(position, size)
        return TextFailure(Diagnostic(code, Severity.ERROR, message, span, label, help))

    def unknown_word(
        self, position: int, what: str, word: str, known: Iterable[str], code: str = "unknown-word"
    ) -> TextFailure:
        """Return the failure "unknown `what`" for a word of a short list, which is its help."""
        words = list(known)
        guess = nearest(word, words)
        advice = f"did you mean {guess!r}?" if guess else f"there are: {', '.join(words)}"
        message = f"unknown {what} {shortened(word)!r}"
        return self.failure_at(position, code, message, length=len(word), help=advice)

    def unknown_name(
        self, position: int, what: str, name: str, known: Iterable[str]
    ) -> TextFailure:
        """Return the failure "unknown `what`" with the nearest known name as help."""
        guess = nearest(name, known)
        help_text = f"did you mean {guess!r}?" if guess else None
        return self.failure_at(
            position,
            f"unknown-{what}",
            f"unknown {what} {shortened(name)!r}",
            length=len(name),
            help=help_text,
        )
