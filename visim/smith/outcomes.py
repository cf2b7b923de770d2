"""What a command did with a candidate, and whether that is still the same bug.

A bug is a finding or fault: its code, and the text of the line at which it is. Numbers of lines say
nothing, as candidates have fewer lines. Of a command that speaks neither JSON nor like visim, the
exit code and what it complained of first have to do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

_HEADLINE = re.compile(r"^(?:error|fault)\[([^\]\s]+)\]: .*(?:\n *--> ([^\n]*))?", re.MULTILINE)
_LINE = re.compile(r":(\d+)(?::\d+)?$")
_COMPLAINT = re.compile(r"error|assert|fault|abort|exception|failed|signal", re.IGNORECASE)
_VARIABLE = re.compile(r"0x[0-9a-fA-F]+|\d+|/\S+")
_LONGEST_COMPLAINT = 200


class Bug(NamedTuple):
    """A finding: its code, and what stands where it is (empty where it has no place)."""

    code: str
    place: str

    def __str__(self) -> str:
        return f"{self.code} at {self.place!r}" if self.place else self.code


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended: its exit code, None where it took too long, and what it found."""

    code: int | None
    bugs: tuple[Bug, ...] = ()

    @property
    def has_failed(self) -> bool:
        """Whether the command did not end well."""
        return self.code != 0

    def is_same_bug(self, wanted: Outcome) -> bool:
        """Whether this is the first bug of another outcome, and of no kind that it has not."""
        if self.code != wanted.code:
            return False
        if not wanted.bugs:
            return not self.bugs
        known = {bug.code for bug in wanted.bugs}
        return wanted.bugs[0] in self.bugs and all(bug.code in known for bug in self.bugs)

    def __str__(self) -> str:
        if self.bugs:
            return str(self.bugs[0])
        return "no end in time" if self.code is None else f"exit code {self.code}"


def outcome(code: int | None, stdout: str, stderr: str, lines: Sequence[str]) -> Outcome:
    """Return what a command did.

    Args:
        code: its exit code; None where it took too long.
        stdout: what it printed.
        stderr: what it complained of.
        lines: the candidate.
    """
    if code in {0, None}:
        return Outcome(code)
    bugs = tuple(_of_json(stdout, lines)) or tuple(_of_text(stderr + "\n" + stdout, lines))
    return Outcome(code, bugs or tuple(_complaint(stderr)))


def _of_json(stdout: str, lines: Sequence[str]) -> Iterator[Bug]:
    if not stdout.lstrip().startswith("{"):
        return
    try:
        form: dict[str, Any] = json.loads(stdout)
    except ValueError:
        return
    for file in form.get("files", ()):
        yield from _findings(file.get("diagnostics", ()), lines)
    if fault := form.get("fault"):
        yield Bug(f"{fault['category']}/{fault['code']}", _text_of(fault, lines))
        return
    for finding in form.get("findings", ()):
        yield _sanitized(finding, lines)
    error: Mapping[str, Any] = form.get("error") or {}
    found = tuple(_findings(error.get("diagnostics", ()), lines))
    yield from found
    if error and not found:
        yield Bug(str(error["kind"]), _general(str(error["message"])))


def _findings(diagnostics: Sequence[Mapping[str, Any]], lines: Sequence[str]) -> Iterator[Bug]:
    for finding in diagnostics:
        if finding["severity"] == "error":
            yield Bug(finding["code"], _line(finding.get("line"), lines))


def _sanitized(finding: Mapping[str, Any], lines: Sequence[str]) -> Bug:
    places = [place[1] for place in finding.get("locations", ())]
    return Bug(str(finding["kind"]), " | ".join(_line(place, lines) for place in places))


def _text_of(fault: Mapping[str, Any], lines: Sequence[str]) -> str:
    return str(fault.get("instruction") or _line(fault.get("line"), lines))


def _of_text(text: str, lines: Sequence[str]) -> Iterator[Bug]:
    for code, place in cast("list[tuple[str, str]]", _HEADLINE.findall(text)):
        number = _LINE.search(place)
        yield Bug(code, _line(int(number[1]) if number else None, lines))


def _line(number: int | None, lines: Sequence[str]) -> str:
    return lines[number - 1].strip() if number is not None and 0 < number <= len(lines) else ""


def _complaint(text: str) -> Iterator[Bug]:
    """Yield the first line that complains; numbers and paths differ between candidates."""
    for line in text.splitlines():
        if _COMPLAINT.search(line):
            yield Bug("output", _general(line))
            return


def _general(text: str) -> str:
    return _VARIABLE.sub("#", text.strip())[:_LONGEST_COMPLAINT]
