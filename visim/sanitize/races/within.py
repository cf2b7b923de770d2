"""Races among the work-items of one group, found by sorting what they did.

Rows of the same cell between the same barriers stand together after sorting; most cells have one
work-item, or are only read, and are done with a comparison. What is left is looked at in pairs, a
few examples of each combination of instructions.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from visim.sanitize.races.clocks import NOTHING, Clock, thread_number
from visim.sanitize.races.columns import ATOMIC, CHANNELS, READ, WHOLE, WRITE, Entries, Table

_EXAMPLES = 16
"""So many cells of each combination of instructions are looked at."""
_ORDERED_EXAMPLES = 4096
"""As many where something besides barriers may order them."""
_ROWS_OF_CLASS = 4
_ROWS_OF_THREAD = 16
"""So many accesses of a thread to one cell are compared with all those of another."""
_MOST_PHASES = 1024
"""An access that no fence ends is compared with those behind so many barriers."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two rows of one cell that nothing orders; `count` is in how many cells it is so.

    `same_value` says that all who write there write the same.
    """

    first: int
    second: int
    count: int
    same_value: bool
    cell: int


def pairs_within(table: Table, entries: Entries, *, ordered: bool) -> Iterator[tuple[Table, Pair]]:
    """Yield pairs of rows of groups' work-items that race, with the table that has them.

    Args:
        table: rows of one kind of memory, of a batch of groups.
        entries: the executions that rows belong to.
        ordered: whether the entries' clocks say more than barriers do.
    """
    columns = _Columns(table, entries)
    chosen = columns.suspicious()
    if not chosen.size:
        return
    expanded, phases = columns.by_phase(chosen)
    rows = table.at(expanded)
    yield from _Segments(rows, entries, phases, ordered=ordered).pairs()


class _Columns:
    """What is looked up of a table's entries."""

    def __init__(self, table: Table, entries: Entries) -> None:
        self.table = table
        groups = np.array(entries.groups, np.int64)
        self.groups = (groups - groups.min())[table.entries]
        self.threads = np.array(entries.threads, np.int64)[table.entries]
        self.items = self.threads * CHANNELS + table.channels
        self.after = np.array(entries.after, np.int64)
        self.until = np.array(entries.until, np.int64)

    def suspicious(self) -> NDArray[np.intp]:
        """Return the rows of cells that several work-items access and one changes, sorted."""
        order = np.lexsort((self.table.cells, self.groups))
        cells, groups = self.table.cells[order], self.groups[order]
        starts = _starts((np.diff(cells) != 0) | (np.diff(groups) != 0), cells.size)
        return order[_chosen(starts, self.items[order], self.table.kinds[order])]

    def by_phase(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Return rows, each as often as there are barriers between which it may take place."""
        entry = self.table.entries[rows]
        after = self.after[entry]
        last = np.zeros(int(self.groups.max()) + 1, np.int64)
        np.maximum.at(last, self.groups[rows], after)
        until = np.minimum(self.until[entry], last[self.groups[rows]])
        counts = np.clip(until - after + 1, 1, _MOST_PHASES)
        repeated = np.repeat(rows, counts)
        step = np.arange(repeated.size) - np.repeat(np.cumsum(counts) - counts, counts)
        return repeated, np.repeat(after, counts) + step


class _Segments:
    """Rows of the same cell of the same group between the same barriers."""

    def __init__(
        self, rows: Table, entries: Entries, phases: NDArray[np.int64], *, ordered: bool
    ) -> None:
        columns = _Columns(rows, entries)
        order = np.lexsort((phases, rows.cells, columns.groups))
        changes = np.zeros(max(0, order.size - 1), np.bool_)
        for key in (phases, rows.cells, columns.groups):
            changes |= np.diff(key[order]) != 0
        starts = _starts(changes, order.size)
        kept = _chosen(starts, columns.items[order], rows.kinds[order])
        self._order = order[kept]
        self._rows, self._entries, self._ordered = rows, entries, ordered
        self._items = columns.items
        self._threads = columns.threads
        kept_changes = np.zeros(max(0, self._order.size - 1), np.bool_)
        for key in (phases, rows.cells, columns.groups):
            kept_changes |= np.diff(key[self._order]) != 0
        self._starts = _starts(kept_changes, self._order.size)
        self._sites = np.array(entries.sites, np.int64)

    def pairs(self) -> Iterator[tuple[Table, Pair]]:
        """Yield examples of each combination of instructions."""
        if not self._order.size:
            return
        ends = np.append(self._starts[1:], self._order.size)
        most = _ORDERED_EXAMPLES if self._ordered else _EXAMPLES
        for numbers in self._combinations():
            shown = numbers[:most]
            share = -(-numbers.size // max(1, shown.size))
            for number in shown.tolist():
                rows = self._order[self._starts[number] : ends[number]]
                for pair in self._pairs_of(rows, share):
                    yield self._rows, pair

    def _combinations(self) -> Iterator[NDArray[np.intp]]:
        """Yield the segments, those with the same instructions together."""
        rows = self._order
        sites = self._sites[self._rows.entries[rows]]
        kinds, starts = self._rows.kinds[rows], self._starts
        names = (sites * 4 + kinds).astype(np.uint64) % np.uint64(61)
        bits = np.left_shift(np.uint64(1), names)
        who = np.bitwise_or.reduceat(bits, starts)
        apart = np.maximum.reduceat(self._threads[rows], starts) != np.minimum.reduceat(
            self._threads[rows], starts
        )
        values, writes = self._rows.values[rows], kinds == WRITE
        most = np.maximum.reduceat(np.where(writes, values, np.uint64(0)), starts)
        least = np.minimum.reduceat(np.where(writes, values, np.uint64(2**64 - 1)), starts)
        same = most == least
        key = np.stack([who, apart.astype(np.uint64), same.astype(np.uint64)], axis=1)
        _, inverse = np.unique(key, axis=0, return_inverse=True)
        inverse = inverse.reshape(-1)
        for number in range(int(inverse.max()) + 1):
            yield np.flatnonzero(inverse == number)

    def _pairs_of(self, rows: NDArray[np.intp], count: int) -> Iterator[Pair]:
        """Yield one pair of rows for each two instructions of a segment that race."""
        kinds, values = self._rows.kinds, self._rows.values
        written = values[rows[kinds[rows] == WRITE]]
        same = written.size > 0 and bool((written == written[0]).all())
        classes: dict[tuple[int, int], list[int]] = {}
        sites = self._sites[self._rows.entries[rows]].tolist()
        for row, site, kind in zip(rows.tolist(), sites, kinds[rows].tolist(), strict=True):
            classes.setdefault((site, kind), []).append(row)
        for one, other in combinations_with_replacement(sorted(classes), 2):
            first, second = one[1], other[1]
            if first == second and first in {READ, ATOMIC}:
                continue
            found = self._unordered(classes[one], classes[other])
            if found is not None:
                cell = int(self._rows.cells[found[0]])
                writes_both = first == second == WRITE
                yield Pair(*found, count, same and writes_both, cell)

    def _unordered(self, ones: list[int], others: list[int]) -> tuple[int, int] | None:
        """Return two rows that race, of several threads if there are such."""
        if self._ordered:
            found = self._by_clocks(ones, others) or self._by_clocks(others, ones)
            if found is not None:
                return found
        own = None
        for first in self._examples(ones):
            for second in self._examples(others):
                if self._items[first] == self._items[second]:
                    continue
                if self._threads[first] != self._threads[second]:
                    if not self._ordered:
                        return min(first, second), max(first, second)
                elif own is None and self._are_channels(first, second):
                    own = min(first, second), max(first, second)
        return own

    def _by_clocks(self, ones: list[int], others: list[int]) -> tuple[int, int] | None:
        """Return two rows of several threads that no clock orders.

        Of the accesses of a thread those come before a row whose numbers its clock knows. If the
        row comes before the next one, it comes before all that follow.
        """
        known = self._by_thread(ones)
        numbers = {thread: self._numbers(rows) for thread, rows in known.items()}
        for own, rows in self._by_thread(others).items():
            for second in rows[:: -(-len(rows) // _ROWS_OF_THREAD)]:
                clock = self._clock(second)
                for thread in known.keys() - {own}:
                    place = bisect_left(numbers[thread], clock.get(self._global(thread, second), 0))
                    if place == len(known[thread]):
                        continue
                    first = known[thread][place]
                    if not self._is_before(second, first):
                        return min(first, second), max(first, second)
        return None

    def _by_thread(self, rows: list[int]) -> dict[int, list[int]]:
        """Return the rows of a few threads, by their numbers, each in order."""
        found: dict[int, list[int]] = {}
        for row in rows:
            thread = int(self._threads[row])
            if thread in found or len(found) <= _ROWS_OF_CLASS:
                found.setdefault(thread, []).append(row)
        for of_thread in found.values():
            of_thread.sort(key=self._number)
        return found

    def _examples(self, rows: list[int]) -> list[int]:
        """Return a few rows: of different threads, and of different work-items of one."""
        by_thread: dict[int, list[int]] = {}
        for row in rows:
            known = by_thread.setdefault(int(self._threads[row]), [])
            if len(known) < 2 and all(self._items[row] != self._items[one] for one in known):
                known.append(row)
            if len(by_thread) > _ROWS_OF_CLASS:
                break
        return [row for known in by_thread.values() for row in known]

    def _are_channels(self, first: int, second: int) -> bool:
        channels = self._rows.channels
        return channels[first] != WHOLE and channels[second] != WHOLE

    def _is_before(self, first: int, second: int) -> bool:
        """Whether the clock of a row says that another one comes before it."""
        thread = self._global(int(self._threads[first]), first)
        return self._clock(second).get(thread, 0) > self._number(first)

    def _clock(self, row: int) -> Clock:
        return self._entries.clocks[int(self._rows.entries[row])] or NOTHING

    def _number(self, row: int) -> int:
        """Return which of its thread's accesses a row is of."""
        return self._entries.numbers[int(self._rows.entries[row])]

    def _numbers(self, rows: list[int]) -> list[int]:
        return [self._number(row) for row in rows]

    def _global(self, thread: int, row: int) -> int:
        """Return the number in the launch of a thread in a row's group."""
        return thread_number(self._entries.groups[int(self._rows.entries[row])], thread)


def _starts(changes: NDArray[np.bool_], size: int) -> NDArray[np.intp]:
    """Return where segments begin, given where something changes between rows."""
    if not size:
        return np.zeros(0, np.intp)
    return np.concatenate(([0], np.flatnonzero(changes) + 1)).astype(np.intp)


def _chosen(
    starts: NDArray[np.intp], items: NDArray[np.int64], kinds: NDArray[np.int64]
) -> NDArray[np.intp]:
    """Return the rows of segments with several work-items, not all reading, not all atomic."""
    if not starts.size:
        return np.zeros(0, np.intp)
    several = np.maximum.reduceat(items, starts) != np.minimum.reduceat(items, starts)
    most, least = np.maximum.reduceat(kinds, starts), np.minimum.reduceat(kinds, starts)
    wanted = several & (most != READ) & ((most != ATOMIC) | (least != ATOMIC))
    lengths = np.diff(np.append(starts, items.size))
    return np.flatnonzero(np.repeat(wanted, lengths))


__all__ = ["Pair", "pairs_within"]
