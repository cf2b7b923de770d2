"""`fuzz`: random programs on both engines, and the smallest text that still shows a difference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from visim.campaign import content
from visim.campaign.cells import Cell, digest_of
from visim.campaign.folders import devices_of
from visim.campaign.outcomes import Outcome, Result
from visim.campaign.parts import check_keys
from visim.errors import ArgumentError, shown

_MOST = 10**8
_REDUCTION_S = 1800.0
_REDUCED = frozenset(
    {Outcome.DIFFERS, Outcome.CRASHED, Outcome.HUNG, Outcome.BUG, Outcome.FAULT, Outcome.BROKEN}
)


class Fuzz:
    """Random vISA programs on the interpreter and the JIT, for devices and seeds.

    Programs on which they differ, or on which one crashes, are reduced when all have run.
    """

    def __init__(self, table: Mapping[str, Any], folder: Path, number: int) -> None:
        del folder
        check_keys(table, ("name", "device", "count", "from", "statements", "reduce"))
        self.name = str(table.get("name") or ("fuzz" if number == 1 else f"fuzz{number}"))
        self._devices = devices_of(table)
        self._first = _natural(table, "from", 0, 0)
        self._seeds = _natural(table, "count", 100, 1)
        self._statements = _natural(table, "statements", 24, 1)
        self._reduce = bool(table.get("reduce", True))
        self.count = len(self._devices) * self._seeds
        self._failed: dict[str, Cell] = {}
        self._reduced: list[str] = []

    def cells(self) -> Iterator[Cell | None]:
        """Make a cell for each device and seed, and then one for each failure."""
        for device in self._devices:
            for seed in range(self._first, self._first + self._seeds):
                yield self._cell("smith", device, seed)
        if self._reduce:
            yield None
            for cell in list(self._failed.values()):
                self.count += 1
                yield self._cell("reduce", cell.work["device"], cell.work["seed"])

    def _cell(self, kind: str, device: str, seed: int) -> Cell:
        version = content.version()
        work: dict[str, Any] = {"device": device, "seed": seed, "statements": self._statements}
        name: dict[str, Any] = {"part": self.name, "device": device, "seed": seed}
        if kind == "reduce":
            name["reduced"] = True
        key = digest_of(kind, version, work)
        patience = _REDUCTION_S if kind == "reduce" else 0.0
        return Cell(kind, name, {**work, "version": version}, key, patience=patience)

    def hear(self, cell: Cell, result: Result) -> None:
        """Hear which programs have to be reduced, and what is left of them."""
        if cell.name.get("part") != self.name:
            return
        if cell.kind == "smith" and result.outcome in _REDUCED:
            self._failed[cell.key] = cell
        if cell.kind == "reduce" and "text" in result.facts:
            lines = result.facts["text"].count("\n")
            self._reduced.append(f"{cell}: {lines} lines are left: {result.message}")

    def notes(self) -> list[str]:
        """Return what is left of programs that failed."""
        return self._reduced


def _natural(table: Mapping[str, Any], key: str, default: int, least: int) -> int:
    value = table.get(key, default)
    if type(value) is not int or not least <= value <= _MOST:
        raise ArgumentError(f"{key}: expected an integer from {least}, found {shown(value)}")
    return value
