"""Where instructions come from: lines of source, lines of vISA text, labels.

Knows a linked kernel and its texts, nothing of what runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath

from visim.engine.blocks import MARKS
from visim.engine.faults import place_of
from visim.linker.program import LinkedKernel
from visim.module import SourceLine
from visim.operands import ExecSize
from visim.runtime.sourcetexts import SourceTexts
from visim.sem.effects import Effect, Synchronization, Yield

Place = tuple[int, int]
"""A unit and a program counter in it."""


@dataclass(frozen=True, slots=True)
class VisaLine:
    """A line of the vISA text, or the program counter in a unit where there is no text."""

    file: str | None
    line: int | None


class Lines:
    """The lines of a kernel and the functions that it is linked with.

    Args:
        kernel: the kernel.
        texts: the sources that it was compiled from.
    """

    def __init__(self, kernel: LinkedKernel, texts: SourceTexts) -> None:
        self.kernel = kernel
        self._texts = texts
        self._sources = [unit.unit.source_lines() for unit in kernel.units]

    @cached_property
    def has_sources(self) -> bool:
        """Whether instructions have lines of a source that was compiled."""
        return any(any(lines) for lines in self._sources)

    @cached_property
    def files(self) -> tuple[str, ...]:
        """The source files that lines are of."""
        names = (line.file for lines in self._sources for line in lines if line is not None)
        return tuple(dict.fromkeys(names))

    def source(self, place: Place) -> SourceLine | None:
        """Return the source line of an instruction, None where it has none."""
        unit, pc = place
        lines = self._sources[unit]
        return lines[pc] if pc < len(lines) else None

    def visa(self, place: Place) -> VisaLine:
        """Return the vISA line of an instruction."""
        unit, pc = place
        body = self.kernel.units[unit].body
        file, line, _ = place_of(body[min(pc, len(body) - 1)])
        return VisaLine(file, line)

    def text(self, line: SourceLine) -> str:
        """Return the text of a source line as it is written; empty where it is not known."""
        return self._texts.line(line)

    def instruction(self, place: Place) -> str:
        """Return the instruction at a place, in one line."""
        unit, pc = place
        body = self.kernel.units[unit].body
        return body[pc].show() if pc < len(body) else "(behind the last instruction)"

    def is_instruction(self, place: Place) -> bool:
        """Whether something is executed at a place."""
        unit, pc = place
        body = self.kernel.units[unit].body
        return pc < len(body) and not isinstance(body[pc], MARKS)

    def channel(self, place: Place, lane: int) -> int:
        """Return the thread's channel that a lane of an instruction is: (M5, 16) begins at 16."""
        body = self.kernel.units[place[0]].body
        size = getattr(body[place[1]], "exec", None) if place[1] < len(body) else None
        return lane + (size.offset if isinstance(size, ExecSize) else 0)

    def unit_name(self, unit: int) -> str:
        """Return the name of a kernel or function."""
        return self.kernel.units[unit].unit.name

    def where(self, place: Place) -> str:
        """Return how people name a place: file and line, else unit and program counter."""
        source = self.source(place)
        if source is not None:
            return f"{PurePath(source.file).name}:{source.line}"
        visa = self.visa(place)
        if visa.line is not None:
            return f"{PurePath(visa.file or '?').name}:{visa.line}"
        return f"{self.unit_name(place[0])}+{place[1]}"

    # Places of lines

    def instructions(self) -> Iterator[Place]:
        """Yield the places of all instructions."""
        for unit in self.kernel.units:
            for pc in range(len(unit.body)):
                if self.is_instruction((unit.number, pc)):
                    yield unit.number, pc

    def is_file(self, name: str, file: str) -> bool:
        """Whether a user who types `name` means a file."""
        return name == file or PurePath(name).name == PurePath(file).name

    def at_source(self, line: int, file: str | None = None) -> frozenset[Place]:
        """Return where the code of a source line begins, in every stretch that it has."""
        found: set[Place] = set()
        before: SourceLine | None = None
        for place in self.instructions():
            source = self.source(place)
            is_begun = source is not None and source.line == line and source != before
            if source is not None and is_begun and self._matches(file, source.file):
                found.add(place)
            before = source
        return frozenset(found)

    def _matches(self, name: str | None, file: str) -> bool:
        return name is None or self.is_file(name, file)

    def next_line(self, line: int, file: str | None = None) -> int | None:
        """Return the first line from a line on that has code, None if there is none."""
        lines = [
            source.line
            for place in self.instructions()
            if (source := self.source(place)) is not None
            and source.line >= line
            and self._matches(file, source.file)
        ]
        return min(lines, default=None)

    def at_visa(self, line: int) -> frozenset[Place]:
        """Return the first instruction at or behind a line of the vISA text."""
        found = [
            (visa.line, place)
            for place in self.instructions()
            if (visa := self.visa(place)).line is not None and visa.line >= line
        ]
        return frozenset() if not found else frozenset({min(found)[1]})

    @cached_property
    def labels(self) -> dict[str, Place]:
        """The places of all labels; a function's name is that of its start."""
        found: dict[str, Place] = {}
        for unit in self.kernel.units:
            for name, pc in unit.labels.items():
                found.setdefault(name, self._first((unit.number, pc)))
        for unit in self.kernel.units:
            found[unit.unit.name] = self._first((unit.number, 0))
        return found

    def _first(self, place: Place) -> Place:
        unit, pc = place
        body = self.kernel.units[unit].body
        while pc < len(body) - 1 and isinstance(body[pc], MARKS):
            pc += 1
        return unit, pc

    def effects(self, place: Place) -> tuple[Effect, ...]:
        """Return what an instruction does; nothing where visim does not execute it."""
        return self.kernel.known_effects(self.kernel.units[place[0]], place[1])

    @cached_property
    def barriers(self) -> frozenset[Place]:
        """The places of all instructions at which threads meet."""
        return frozenset(
            place
            for place in self.instructions()
            if any(
                isinstance(effect, Synchronization) and not isinstance(effect, Yield)
                for effect in self.effects(place)
            )
        )


__all__ = ["Lines", "Place", "VisaLine"]
