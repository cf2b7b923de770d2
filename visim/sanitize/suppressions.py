"""Findings that a file says are known: what each of its lines stands for.

A line is a kind, or a pattern of kinds, and any of `kernel=`, `buffer=`, `file=` and `line=`, with
patterns as file names have them (`*`, `?`, `[...]`). All of it has to fit; of a race either side's
file and line, on the same side. What follows `#` is a comment:

    race-same-value  kernel=flags  buffer=found   # all of them write 1
    uninit-*  file=*/vendor/*.cl
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from visim.errors import ArgumentError, shown
from visim.lex import nearest
from visim.sanitize.findings import Finding
from visim.sanitize.kinds import KINDS

MOST_BYTES = 1 << 20
_KEYS = ("kernel", "buffer", "file", "line")


@dataclass(frozen=True, slots=True)
class Suppression:
    """One line of a file: patterns that a finding has to fit, None: anything does."""

    kind: str
    kernel: str | None = None
    buffer: str | None = None
    file: str | None = None
    line: str | None = None

    def fits(self, kernel: str, finding: Finding) -> bool:
        """Whether a finding of a kernel is meant."""
        return (
            fnmatchcase(finding.kind, self.kind)
            and _fits(kernel, self.kernel)
            and _fits(finding.buffer, self.buffer)
            and any(
                _fits(file, self.file) and _fits(None if line is None else str(line), self.line)
                for file, line in finding.locations
            )
        )


def _fits(value: str | None, pattern: str | None) -> bool:
    return pattern is None or (value is not None and fnmatchcase(value, pattern))


def read_suppressions(path: object) -> tuple[Suppression, ...]:
    """Return what a file says.

    Raises:
        ArgumentError: it cannot be read, or a line of it means nothing.
    """
    if not isinstance(path, str | Path):
        raise ArgumentError(f"suppress: expected the path of a file, found {shown(path)}")
    try:
        size = Path(path).stat().st_size
        if size > MOST_BYTES:
            raise ArgumentError(f"suppress: {path} has {size} bytes, more than {MOST_BYTES}")
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ArgumentError(f"suppress: {path} cannot be read: {error}") from None
    return parse_suppressions(text, str(path))


def parse_suppressions(text: str, name: str) -> tuple[Suppression, ...]:
    """Return what the lines of a text say; `name` is what errors call it.

    Raises:
        ArgumentError: a line means nothing.
    """
    found: list[Suppression] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if words:
            found.append(_read(words, f"{name}:{number}"))
    return tuple(found)


def _read(words: Sequence[str], place: str) -> Suppression:
    kind, *others = words
    if not any(fnmatchcase(known, kind) for known in KINDS):
        near = nearest(kind, KINDS)
        hint = f"did you mean {near!r}?" if near else f"there are: {', '.join(KINDS)}"
        raise ArgumentError(f"{place}: no kind of finding is called {shown(kind)}; {hint}")
    given: dict[str, str] = {}
    for word in others:
        key, sign, pattern = word.partition("=")
        if not sign or key not in _KEYS or not pattern:
            raise ArgumentError(
                f"{place}: {shown(word)} means nothing; expected KEY=PATTERN with the keys "
                f"{', '.join(_KEYS)}"
            )
        if key in given:
            raise ArgumentError(f"{place}: {key}= is there twice")
        given[key] = pattern
    return Suppression(kind, **given)


def kept(
    kernel: str, findings: Iterable[Finding], known: Sequence[Suppression]
) -> tuple[Finding, ...]:
    """Return the findings of a kernel that nothing suppresses."""
    return tuple(one for one in findings if not any(each.fits(kernel, one) for each in known))


__all__ = ["Suppression", "kept", "parse_suppressions", "read_suppressions"]
