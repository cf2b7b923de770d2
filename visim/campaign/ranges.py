"""`split`: one launch in ranges of its groups, each a cell, and a cell that puts them together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from visim.campaign.cells import Cell, digest_of
from visim.campaign.outcomes import Outcome, Result
from visim.campaign.tables import Launches
from visim.errors import ArgumentError, shown

_MOST_PARTS = 4096
_FOLDER = ".visim-split"


class Split:
    """Launches whose groups run in ranges, where it can be shown that none needs another.

    What each range writes is a file in a folder beside the campaign's, which all machines see.
    """

    def __init__(self, table: Mapping[str, Any], folder: Path, number: int) -> None:
        parts = table.get("parts", 4)
        if type(parts) is not int or not 1 < parts <= _MOST_PARTS:
            raise ArgumentError(f"parts: expected 2 to {_MOST_PARTS}, found {shown(parts)}")
        rest = {key: value for key, value in table.items() if key != "parts"}
        if "timing" in rest or "sanitize" in rest:
            raise ArgumentError("split: ranges of groups are neither timed nor sanitized")
        self._launches = Launches(rest, folder, number)
        self._parts = parts
        self._folder = folder / _FOLDER
        self._refused: set[str] = set()
        self.name = self._launches.name
        self.count = self._launches.count * (parts + 1)

    def cells(self) -> Iterator[Cell | None]:
        """Make the ranges of all launches, and when these have run the cells that merge them."""
        for cell in self._launches.cells():
            if cell.kind != "launch":
                yield cell
                continue
            for index in range(self._parts):
                yield self._cell("range", cell, index)
        yield None
        for cell in self._launches.cells():
            if cell.kind == "launch" and cell.key not in self._refused:
                yield self._cell("merge", cell, self._parts)

    def _cell(self, kind: str, cell: Cell, index: int) -> Cell:
        name = {**cell.name, "range": index if kind == "range" else "all"}
        split = {"of": cell.key, "index": index, "parts": self._parts, "folder": str(self._folder)}
        key = digest_of(kind, cell.key, self._parts, index)
        return Cell(kind, name, {**cell.work, "split": split}, key)

    def hear(self, cell: Cell, result: Result) -> None:
        """Hear which launches have a range that did not run."""
        if cell.kind == "range" and result.outcome is not Outcome.PASSED:
            self._refused.add(cell.work["split"]["of"])

    def notes(self) -> list[str]:
        """Say nothing: cells that merge have the results."""
        return []
