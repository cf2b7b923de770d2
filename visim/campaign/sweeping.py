"""`sweep`: which of several arms, such as tile sizes, takes the fewest cycles.

A grid times every arm at every point (seeds, sizes). A bandit, sequential halving, times all arms
at one point, keeps the better half, and times that at twice as many points, until one is left.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, cast

from visim.campaign.cells import Cell, named
from visim.campaign.launches import OWN_GENERATION
from visim.campaign.outcomes import Outcome, Result
from visim.campaign.tables import Launches
from visim.errors import ArgumentError, shown

METHODS = ("grid", "bandit")
_FAILED = math.inf


class Sweep:
    """The arms of a launch along axes, timed.

    `over` names the axes that are no arms but points at which all arms are timed; `each` those of
    which every value has a best arm of its own (the device, if it varies).
    """

    def __init__(self, table: Mapping[str, Any], folder: Path, number: int) -> None:
        rest = {key: value for key, value in table.items() if key not in {"method", "over", "each"}}
        self._launches = Launches({"timing": OWN_GENERATION, **rest}, folder, number)
        self.name = self._launches.name
        self._method = table.get("method", "bandit")
        if self._method not in METHODS:
            raise ArgumentError(f"method: expected grid or bandit, found {shown(self._method)}")
        axes = self._launches.axis_names
        self._each = _axes(table, "each", axes, [axis for axis in axes if axis == "device"])
        self._over = _axes(table, "over", axes, [axis for axis in axes if axis == "seed"])
        if not set(axes) - {*self._each, *self._over}:
            raise ArgumentError("vary: there is no axis of arms beside those of `over` and `each`")
        self._cycles: dict[str, float] = {}
        self._best: list[str] = []
        self.count = sum(
            sum(arms * points for arms, points in self._rounds(*self._shape(cells)))
            for cells in self._groups()
        )

    def cells(self) -> Iterator[Cell | None]:
        """Make the cells of each round; the next round has to wait for what came of them."""
        self._best = []
        for cells in self._groups():
            arms = self._by_arm(cells)
            done = 0
            left = list(arms)
            ran = 0
            for keep, points in self._rounds(*self._shape(cells)):
                left = sorted(left, key=lambda arm: self._score(arms[arm][:done]))[:keep]
                left = [arm for arm in arms if arm in left]
                for arm in left:
                    yield from arms[arm][done : done + points]
                ran += keep * points
                done += points
                yield None
            best = min(left, key=lambda arm: self._score(arms[arm][:done]))
            self._best.append(self._said(arms[best][:done], ran, len(cells)))

    def hear(self, cell: Cell, result: Result) -> None:
        """Hear how many cycles a cell takes."""
        if cell.name.get("launch") == self.name:
            cycles = result.facts.get("cycles", {})
            is_fine = result.outcome is Outcome.PASSED and cycles
            self._cycles[cell.key] = min(cycles.values()) if is_fine else _FAILED

    def notes(self) -> list[str]:
        """Return the best arms."""
        return self._best

    def _groups(self) -> list[list[Cell]]:
        """Return the cells by the values of `each`."""

        def place(cell: Cell) -> str:
            return named({axis: cell.name[axis] for axis in self._each if axis in cell.name})

        ordered = sorted(self._launches.cells(), key=place)
        return [list(cells) for _, cells in groupby(ordered, place)]

    def _by_arm(self, cells: Sequence[Cell]) -> dict[str, list[Cell]]:
        arms: dict[str, list[Cell]] = {}
        for cell in cells:
            arms.setdefault(cell.peers(self._over), []).append(cell)
        return arms

    def _shape(self, cells: Sequence[Cell]) -> tuple[int, int]:
        arms = self._by_arm(cells)
        return len(arms), len(cells) // len(arms)

    def _rounds(self, arms: int, points: int) -> list[tuple[int, int]]:
        """Return for each round how many arms are in it, and at how many new points."""
        if self._method == "grid":
            return [(arms, points)]
        found: list[tuple[int, int]] = []
        done: int = 0
        now: int = 1
        while done < points:
            found.append((arms, now))
            done += now
            now = min(done, points - done)
            if arms == 1:
                break
            arms = (arms + 1) // 2
        return found

    def _score(self, cells: Sequence[Cell]) -> float:
        """Return the mean of the logarithms of cycles; infinite if a cell has failed."""
        known = [self._cycles.get(cell.key, _FAILED) for cell in cells]
        return sum(math.log(max(one, 1)) for one in known) / max(1, len(known))

    def _said(self, cells: Sequence[Cell], ran: int, of: int) -> str:
        name = {key: value for key, value in cells[0].name.items() if key not in self._over}
        score = self._score(cells)
        if math.isinf(score):
            return f"no arm passes everywhere: {named(name)} is the last of {ran} of {of} cells"
        where = f"at {len(cells)} points" if len(cells) > 1 else "at one point"
        return f"best: {named(name)}: {math.exp(score):.0f} cycles {where}; {ran} of {of} cells"


def _axes(
    table: Mapping[str, Any], key: str, known: Sequence[str], default: Sequence[str]
) -> tuple[str, ...]:
    given: object = table.get(key, default)
    names = cast("list[object]", given) if isinstance(given, (list, tuple)) else [given]
    for name in names:
        if name not in known:
            raise ArgumentError(f"{key}: {shown(name)} is no axis: {', '.join(known) or 'none'}")
    return tuple(str(name) for name in names)
