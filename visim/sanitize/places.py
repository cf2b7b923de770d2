"""From instructions of a linked kernel to the lines that users know: source, else vISA text."""

from __future__ import annotations

from collections.abc import Callable

from visim.engine.faults import place_of
from visim.linker.program import LinkedKernel
from visim.module import SourceLine
from visim.sanitize.findings import Place

TextOf = Callable[[SourceLine], str | None]
"""Gives the text of a line, where it is known."""


class Places:
    """The places of a kernel's instructions.

    Args:
        kernel: the kernel.
        text_of: gives the text of lines of the source.
    """

    def __init__(self, kernel: LinkedKernel, text_of: TextOf | None = None) -> None:
        self._kernel = kernel
        self._text_of = text_of
        self._known: dict[tuple[int, int], Place] = {}
        self._lines: dict[int, tuple[SourceLine | None, ...]] = {}

    def place(self, unit: int, pc: int) -> Place:
        """Return the place of an instruction of a unit."""
        found = self._known.get((unit, pc))
        if found is None:
            found = self._known[unit, pc] = self._place(unit, pc)
        return found

    def has_source(self, unit: int) -> bool:
        """Whether a unit's instructions have lines of the source that was compiled."""
        return any(self._lines_of(unit))

    def is_compilers(self, unit: int, pc: int) -> bool:
        """Whether an instruction has no line of the source, though others of its unit have."""
        return self._lines_of(unit)[pc] is None and self.has_source(unit)

    def _lines_of(self, unit: int) -> tuple[SourceLine | None, ...]:
        if unit not in self._lines:
            self._lines[unit] = self._kernel.units[unit].unit.source_lines()
        return self._lines[unit]

    def _place(self, unit: int, pc: int) -> Place:
        body = self._kernel.units[unit].body
        instruction = body[min(pc, len(body) - 1)]
        source = self._lines_of(unit)[min(pc, len(body) - 1)]
        if source is not None:
            text = None if self._text_of is None else self._text_of(source)
            return Place(source.file, source.line, text, instruction.show())
        file, line, _ = place_of(instruction)
        return Place(file, line, instruction.show() + self._behind(unit, pc), instruction.show())

    def _behind(self, unit: int, pc: int) -> str:
        """Say which line an instruction is behind that has none, as compilers move stores about."""
        lines = (line for line in reversed(self._lines_of(unit)[:pc]) if line is not None)
        before = next(lines, None)
        return "" if before is None else f" (has no line; behind {before.file}:{before.line})"


__all__ = ["Places", "TextOf"]
