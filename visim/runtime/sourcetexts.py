"""The lines of the programs that compilers translated, by the places that FILE and LOC give.

`Unit.source_lines()` says for each instruction which line of which file it comes from; this module
has the text of that line: as it was handed to the compiler, or from the file, unless that has
changed since.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from visim.diag import Source
from visim.module import SourceLine

_MOST_BYTES = 1 << 24
"""Longer files are no sources that people read."""


@dataclass(frozen=True, slots=True)
class SourceTexts:
    """The sources of one program.

    `given` are texts by the names that FILE has, `program` is the file that the program was read
    from, if it was: a source that is newer is another than it was compiled from. The files in the
    folder `kept` are as the compiler got them.
    """

    given: Mapping[str, Source] = field(default_factory=dict[str, Source], repr=False)
    program: Path | None = None
    kept: Path | None = None

    def text(self, place: SourceLine) -> str | None:
        """Return the text of a line without blanks around it, None where it is not known."""
        return self.line(place).strip() or None

    def line(self, place: SourceLine) -> str:
        """Return the text of a line as it is written; empty where it is not known."""
        source = self.given.get(place.file) or self._read(Path(place.file))
        return source.line(place.line) if source is not None else ""

    def whole(self, file: str) -> str | None:
        """Return the text of a source file, None where it is not known."""
        source = self.given.get(file) or self._read(Path(file))
        return None if source is None else source.text

    def _read(self, file: Path) -> Source | None:
        if not file.is_absolute():
            return None
        is_kept = self.kept is not None and file.parent == self.kept
        try:
            about = file.stat()
            if about.st_size > _MOST_BYTES or not (is_kept or self._is_older(about.st_mtime)):
                return None
            return Source(str(file), file.read_text("utf-8", "replace"))
        except (OSError, ValueError):
            return None

    def _is_older(self, changed: float) -> bool:
        return self.program is not None and changed <= self.program.stat().st_mtime
