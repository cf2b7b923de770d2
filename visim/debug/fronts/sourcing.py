"""Sources and instructions as clients of the Debug Adapter Protocol see them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePath
from typing import Any

from visim.debug.looking.lines import Lines, Place
from visim.diag import Span
from visim.errors import ArgumentError
from visim.module import SourceLine

Given = dict[str, Any]


class Sourcing:
    """The sources of a kernel; those that are no files have numbers.

    Args:
        lines: the kernel's lines.
    """

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._texts: list[str] = []

    def of(
        self, place: Place, source: SourceLine | None = None
    ) -> tuple[dict[str, Any] | None, int]:
        """Return the source of a place, and the line in it; `source` where that is another."""
        lines = self._lines
        source = source or lines.source(place)
        if source is not None:
            return self._file(source.file, lambda: self._text_of(source.file)), source.line
        visa = lines.visa(place)
        body = lines.kernel.units[place[0]].body
        origin = body[min(place[1], len(body) - 1)].origin
        if visa.line is None or not isinstance(origin, Span):
            return None, 0
        return self._file(origin.source.name, lambda: origin.source.text), visa.line

    def _file(self, name: str, text: Callable[[], str]) -> dict[str, Any]:
        path = Path(name)
        if path.is_file():
            return {"name": path.name, "path": str(path.absolute())}
        found = text()
        if found not in self._texts:
            self._texts.append(found)
        number = self._texts.index(found) + 1
        return {"name": PurePath(name).name, "path": name, "sourceReference": number}

    def _text_of(self, file: str) -> str:
        lines, number, found = self._lines, 1, list[str]()
        last = max(
            (s.line for p in lines.instructions() if (s := lines.source(p)) and s.file == file),
            default=0,
        )
        while number <= last + 200:
            found.append(lines.text(SourceLine(file, number)))
            number += 1
        return "\n".join(found).rstrip() + "\n"

    def source(self, given: Given) -> dict[str, Any]:
        """Return the text of a source that is no file."""
        nested: Given = given.get("source") or {}
        number = int(given.get("sourceReference") or nested["sourceReference"])
        if not 0 < number <= len(self._texts):
            raise ArgumentError(f"there is no source {number}")
        return {"content": self._texts[number - 1]}

    def disassemble(self, given: Given) -> dict[str, Any]:
        """Return instructions around one; where there are none, empty ones."""
        lines = self._lines
        unit, pc = place_at(str(given["memoryReference"]), int(given.get("offset") or 0))
        if not 0 <= unit < len(lines.kernel.units):
            raise ArgumentError(f"{given['memoryReference']} is no address of an instruction")
        body = lines.kernel.units[unit].body
        places = [n for n in range(len(body)) if lines.is_instruction((unit, n))]
        here = next((n for n, one in enumerate(places) if one >= pc), len(places))
        first = here + int(given.get("instructionOffset") or 0)
        found: list[Given] = []
        for number in range(first, first + int(given["instructionCount"])):
            inside = 0 <= number < len(places)
            beyond = number if number < 0 else len(body) + number - len(places)
            found.append(
                self._instruction((unit, places[number])) if inside else _nothing((unit, beyond))
            )
        return {"instructions": found}

    def _instruction(self, place: Place) -> dict[str, Any]:
        source, line = self.of(place)
        found: dict[str, Any] = {
            "address": reference(place),
            "instruction": self._lines.instruction(place).strip(),
        }
        return found if source is None else {**found, "location": source, "line": line}


_UNIT = 1 << 24
"""Addresses of a function begin at its number times this, from 1 on: none is negative."""


def reference(place: Place) -> str:
    """Return the address that stands for an instruction."""
    return hex((place[0] + 1) * _UNIT + place[1])


def place_at(text: str, offset: int) -> Place:
    """Return the instruction that an address stands for; ArgumentError if it is none."""
    try:
        number = int(text, 0) + offset
    except ValueError:
        raise ArgumentError(f"{text!r} is no address of an instruction") from None
    return number // _UNIT - 1, number % _UNIT


def _nothing(place: Place) -> dict[str, Any]:
    return {"address": reference(place), "instruction": "", "presentationHint": "invalid"}


__all__ = ["Sourcing", "place_at", "reference"]
