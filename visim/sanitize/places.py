"""From instructions of a linked kernel to the lines that users know: source, else vISA text."""

from __future__ import annotations

from pathlib import Path

from visim.engine.faults import place_of
from visim.linker.program import LinkedKernel
from visim.module import SourceLine
from visim.sanitize.findings import Place

MOST_SOURCE_BYTES = 1 << 22
"""Longer files are not read to show a line of them."""


class Places:
    """The places of a kernel's instructions.

    Args:
        kernel: the kernel.
        sources: texts of source files, by the names that the kernel's FILE directives give.
    """

    def __init__(self, kernel: LinkedKernel, sources: dict[str, str] | None = None) -> None:
        self._kernel = kernel
        self._texts = {name: text.splitlines() for name, text in (sources or {}).items()}
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
        if unit not in self._lines:
            self._lines[unit] = self._kernel.units[unit].unit.source_lines()
        return any(self._lines[unit])

    def _place(self, unit: int, pc: int) -> Place:
        linked = self._kernel.units[unit]
        if unit not in self._lines:
            self._lines[unit] = linked.unit.source_lines()
        body = linked.body
        instruction = body[min(pc, len(body) - 1)]
        source = self._lines[unit][min(pc, len(body) - 1)]
        if source is not None:
            text = self._line(source.file, source.line)
            return Place(source.file, source.line, text, instruction.show())
        file, line, _ = place_of(instruction)
        return Place(file, line, instruction.show(), instruction.show())

    def _line(self, file: str, line: int) -> str | None:
        if file not in self._texts:
            self._texts[file] = _read(file)
        lines = self._texts[file]
        return lines[line - 1] if 0 < line <= len(lines) else None


def _read(file: str) -> list[str]:
    try:
        path = Path(file)
        if not path.is_file() or path.stat().st_size > MOST_SOURCE_BYTES:
            return []
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except (OSError, ValueError):
        return []


__all__ = ["Places"]
