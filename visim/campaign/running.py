"""A campaign: every cell of a matrix is run once, here or on a cluster, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from time import monotonic
from typing import Any

from visim.campaign.cells import Cell, digest_of
from visim.campaign.matrix import Matrix
from visim.campaign.outcomes import Outcome, Result
from visim.campaign.pools import Pool, PoolGoneError
from visim.campaign.settings import Settings
from visim.campaign.store import Store
from visim.campaign.verdicts import Place, Verdict, compare_peers, failures

_AHEAD = 4
"""So many cells for each worker are under way, so that none waits for the next one."""
MOST_TOLD = 20
"""So many failures are in a summary; all are in the results."""
_RETRIED = frozenset({Outcome.CRASHED, Outcome.HUNG, Outcome.MEMORY, Outcome.LOST, Outcome.BUG})


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a campaign is: cells that are done of how many, and how many of them were known."""

    done: int
    of: int
    known: int
    outcomes: Mapping[Outcome, int]
    seconds: float
    last: tuple[Cell, Result] | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """What came of a campaign.

    Attributes:
        settings: those of its file.
        places: where its cells are in the matrix, by their keys.
        number: which campaign of its folder it was.
        cells: how many cells the matrix has.
        ran: how many of them ran now; the others were known, or are the same as one that ran.
        outcomes: how many cells ended how.
        failures: the first cells that did not end as accepted, and how they ended.
        verdicts: cells that ought to agree and do not, or that need more than others.
        notes: what parts of the matrix have to say, such as the best arm of a sweep.
        unreadable: lines of the results' file that are none.
        seconds: what it took.
    """

    settings: Settings
    places: Mapping[bytes, Place] = field(repr=False)
    number: int
    cells: int
    ran: int
    outcomes: Mapping[Outcome, int]
    failures: tuple[tuple[str, Result], ...]
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...]
    unreadable: int
    seconds: float

    @property
    def is_fine(self) -> bool:
        """Whether all cells ended as accepted, and nothing disagrees."""
        return not self.verdicts and all(one in self.settings.accept for one in self.outcomes)

    def to_dict(self) -> dict[str, Any]:
        """Return the summary in the form that `--json` prints."""
        return {
            "name": self.settings.name,
            "campaign": self.number,
            "cells": self.cells,
            "ran": self.ran,
            "outcomes": {str(outcome): count for outcome, count in self.outcomes.items()},
            "failures": [{"cell": cell, **result.to_dict()} for cell, result in self.failures],
            "verdicts": [one.to_dict() for one in self.verdicts],
            "notes": list(self.notes),
            "unreadable_lines": self.unreadable,
            "seconds": round(self.seconds, 3),
            "fine": self.is_fine,
        }


def run_campaign(
    matrix: Matrix,
    store: Store,
    pool: Pool,
    *,
    again: Callable[[Outcome], bool] = lambda _: False,
    told: Callable[[Progress], None] = lambda _: None,
) -> Summary:
    """Run all cells whose results are not known, and return what came of all.

    Args:
        matrix: the cells.
        store: where results are, and go to.
        pool: who runs them.
        again: whether cells that have ended so run again.
        told: is called after each cell.
    """
    return _Campaign(matrix, store, pool, again, told).summary()


def has_failed_by_chance(outcome: Outcome) -> bool:
    """Whether a cell might end otherwise when it runs again."""
    return outcome in _RETRIED


class _Campaign:
    def __init__(
        self,
        matrix: Matrix,
        store: Store,
        pool: Pool,
        again: Callable[[Outcome], bool],
        told: Callable[[Progress], None],
    ) -> None:
        self._matrix = matrix
        self._store = store
        self._pool = pool
        self._again = again
        self._told = told
        self._began = monotonic()
        self._ended = SimpleQueue[tuple[Cell, Result | PoolGoneError]]()
        self._seen: dict[bytes, Place] = {}
        self._outcomes: Counter[Outcome] = Counter()
        self._waiting: Counter[bytes] = Counter()
        self._done = self._known = self._ran = self._under_way = 0
        self._twins: dict[bytes, list[Cell]] = {}
        """Cells that are the same as one under way, where the matrix wants to know what they do."""

    def summary(self) -> Summary:
        self._store.begin(self._digest())
        self._run()
        verdicts = compare_peers(self._store, self._seen)
        failed = failures(self._store, self._seen, self._matrix.settings.accept, MOST_TOLD)
        self._store.end()
        return Summary(
            self._matrix.settings,
            self._seen,
            self._store.state.number,
            self._done,
            self._ran,
            self._outcomes,
            tuple(failed),
            tuple(verdicts),
            tuple(self._matrix.notes()),
            self._store.unreadable,
            monotonic() - self._began,
        )

    def _digest(self) -> str:
        """Return what tells this campaign from others: its name, its size and its first cell."""
        first = next(self._matrix.cells(), None)
        return digest_of(self._matrix.settings.name, self._matrix.count, first and first.key)

    def _run(self) -> None:
        for cell in self._unknown():
            if cell is None:
                self._wait(0)
                continue
            limits = self._matrix.settings.limits
            if cell.patience > limits.seconds:
                limits = replace(limits, seconds=cell.patience)
            self._pool.submit(cell, limits, self._take)
            self._under_way += 1
            self._wait(_AHEAD * max(1, self._pool.size) - 1)
        self._wait(0)

    def _wait(self, most: int) -> None:
        """Wait until no more than so many cells are under way."""
        while self._under_way > most:
            self._keep(*self._ended.get())
            self._under_way -= 1

    def _take(self, cell: Cell, result: Result | PoolGoneError) -> None:
        """Hear from any thread that a cell has ended."""
        self._ended.put((cell, result))

    def _unknown(self) -> Iterator[Cell | None]:
        """Yield the cells that have to run, each content once; None waits for all before it."""
        for number, cell in enumerate(self._matrix.cells()):
            if cell is None:
                yield None
                continue
            key = bytes.fromhex(cell.key)
            known = self._store.known.get(key)
            if key in self._seen:
                self._count_twin(cell, key, known)
                continue
            self._seen[key] = _place(number, cell)
            if known is not None and self._is_final(known):
                self._known += 1
                self._hear_again(cell)
                self._count(known, 1)
            else:
                self._waiting[key] = 1
                yield cell

    def _is_final(self, known: Outcome) -> bool:
        """Whether a cell that ended so does not run again."""
        return known is not Outcome.LOST and not self._again(known)

    def _hear_again(self, cell: Cell) -> None:
        """Tell the matrix what is known of a cell, if it wants to know."""
        if self._matrix.listens:
            for line in self._store.last([bytes.fromhex(cell.key)]):
                self._matrix.hear(cell, Result.of(line))

    def _count_twin(self, cell: Cell, key: bytes, known: Outcome | None) -> None:
        """Count a cell that is the same as an earlier one, now or when that one has ended."""
        self._known += 1
        if key in self._waiting:
            self._waiting[key] += 1
            if self._matrix.listens:
                self._twins.setdefault(key, []).append(cell)
        elif known is not None:
            self._hear_again(cell)
            self._count(known, 1)

    def _keep(self, cell: Cell, result: Result | PoolGoneError) -> None:
        if isinstance(result, PoolGoneError):
            raise result
        key = bytes.fromhex(cell.key)
        self._store.add(cell, result)
        for one in (cell, *self._twins.pop(key, ())):
            self._matrix.hear(one, result)
        self._ran += 1
        self._count(result.outcome, self._waiting.pop(key), (cell, result))

    def _count(self, outcome: Outcome, cells: int, last: tuple[Cell, Result] | None = None) -> None:
        self._outcomes[outcome] += cells
        self._done += cells
        seconds = monotonic() - self._began
        total = self._matrix.count
        self._told(Progress(self._done, total, self._known, self._outcomes, seconds, last))


def _place(number: int, cell: Cell) -> Place:
    agree = cell.peers(cell.agree) if cell.agree else None
    return Place(number, agree, cell.peers(cell.slower) if cell.slower else None)
