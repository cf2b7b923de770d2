"""How the drop-a-file tests are written: sections, announced findings, run lines.

`tests.file_suite` describes the grammar and does what the files say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from visim.diag import Diagnostics, Source
from visim.linker.program import LinkedKernel
from visim.module import Module
from visim.text import parse_text

SEPARATOR = "// -----"

_EXPECTED = re.compile(r"// (error|warning|note)\[([\w-]+)\](?:@(\d+))?")
_RUN_LINE = re.compile(r"\s*// run: +(.*)")
_CONTINUED = re.compile(r"\s*//    +(\S.*)")
_SETTING = re.compile(r"(mask|simd|platform|cr0)=(\w+) +")
_ASSIGNED = re.compile(r"(%?\w+)=(?:\[([^\]]*)\]|(0x[0-9a-fA-F]+))\s*")
_FAULT = re.compile(r"fault\[([\w-]+)\]\s*")
_REPEATED = re.compile(r"(.+?)\*(\d+)$")


class WrongTestFile(Exception):
    """A test file is not written as it should be."""


class Mismatch(Exception):
    """What a test file says does not hold; the message is the report."""


@dataclass(frozen=True)
class Expectation:
    """A finding that a line announces; `column` None where it does not matter."""

    line: int
    severity: str
    code: str
    column: int | None


@dataclass(frozen=True)
class Assignment:
    """A variable's elements as written, or a predicate's mask."""

    name: str
    values: tuple[str, ...] = ()
    mask: int | None = None


@dataclass(frozen=True)
class RunLine:
    """A `// run:` line."""

    line: int
    settings: dict[str, str]
    given: tuple[Assignment, ...]
    wanted: tuple[Assignment, ...]
    fault: str | None
    citation: str


@dataclass
class Section:
    """A module of a test file; lines before it are blank in `source`, so that numbers hold."""

    source: Source
    expectations: tuple[Expectation, ...]
    runs: tuple[RunLine, ...]
    prepared: dict[tuple[str, ...], tuple[LinkedKernel, Any]] = field(default_factory=dict)

    def read(self) -> tuple[Module, Diagnostics]:
        return parse_text(self.source)

    def module(self) -> Module:
        """Return the module of a section that has no errors."""
        module, findings = self.read()
        if findings.errors:
            raise Mismatch(findings.render())
        return module


def sections(path: Path) -> Iterator[Section]:
    """Yield the sections of a test file."""
    lines = path.read_text(encoding="utf-8").split("\n")
    start = 0
    for end in [*(n for n, line in enumerate(lines) if line.rstrip() == SEPARATOR), len(lines)]:
        text = "\n" * start + "\n".join(lines[start:end]) + "\n"
        numbered = list(enumerate(lines[start:end], start + 1))
        yield Section(Source(str(path), text), _expectations(numbered), _run_lines(numbered))
        start = end + 1


def _expectations(lines: list[tuple[int, str]]) -> tuple[Expectation, ...]:
    return tuple(
        Expectation(number, found[1], found[2], int(found[3]) if found[3] else None)
        for number, line in lines
        for found in _EXPECTED.finditer(line)
    )


def _run_lines(lines: list[tuple[int, str]]) -> tuple[RunLine, ...]:
    found: list[RunLine] = []
    joined: tuple[int, str] | None = None
    for number, line in [*lines, (0, "")]:
        more = _CONTINUED.match(line)
        if joined and more:
            joined = joined[0], f"{joined[1]} {more[1].rstrip()}"
            continue
        if joined:
            found.append(_run_line(*joined))
        first = _RUN_LINE.match(line)
        joined = (number, first[1].rstrip()) if first else None
    return tuple(found)


def _run_line(number: int, text: str) -> RunLine:
    settings: dict[str, str] = {}
    while setting := _SETTING.match(text):
        settings[setting[1]] = setting[2]
        text = text[setting.end() :]
    left, arrow, right = text.partition("->")
    given, rest = _assignments(left)
    if not arrow or rest:
        raise WrongTestFile(f"line {number}: expected 'a=[..], .. -> b=[..]', found {text!r}")
    fault = _FAULT.match(right.strip())
    wanted, citation = ((), right.strip()[fault.end() :]) if fault else _assignments(right)
    if not (wanted or fault):
        raise WrongTestFile(f"line {number}: nothing is expected")
    if not citation.strip():
        raise WrongTestFile(f"line {number}: does not say where its values come from")
    return RunLine(number, settings, given, wanted, fault[1] if fault else None, citation)


def _assignments(text: str) -> tuple[tuple[Assignment, ...], str]:
    """Return the assignments at the start of `text`, and what follows them."""
    found: list[Assignment] = []
    text = text.strip()
    while match := _ASSIGNED.match(text):
        name, values, mask = match.groups()
        text = text[match.end() :]
        if mask is None:
            found.append(Assignment(name, tuple(_repeated(values))))
        else:
            found.append(Assignment(name, mask=int(mask, 16)))
        if not text.startswith(","):
            break
        text = text[1:].lstrip()
    return tuple(found), text


def _repeated(values: str) -> Iterator[str]:
    for word in values.split(","):
        many = _REPEATED.match(word.strip())
        yield from [many[1].strip()] * int(many[2]) if many else [word.strip()]
