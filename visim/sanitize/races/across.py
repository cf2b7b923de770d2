"""Races between groups: what is kept of each cell of global memory while groups come and go.

No barrier orders groups, so it does not matter when they run. Of each cell and each kind of access
two groups are kept that have done so: a third one that conflicts with any conflicts with one of
them. What two groups do to the same cell is in order only if clocks say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from visim.sanitize.detecting import Area
from visim.sanitize.races.clocks import NOTHING, Clock, thread_number
from visim.sanitize.races.columns import ATOMIC, READ, WRITE, Entries, Table

_CONFLICTS = {READ: (ATOMIC, WRITE), ATOMIC: (READ, WRITE), WRITE: (READ, ATOMIC, WRITE)}
_CHANNEL_BITS, _SITE_BITS, _THREAD_BITS = 6, 16, 10
_NOBODY = -1
_MOST_SHOWN = 64
"""So many cells of each pair of instructions are compared one by one where clocks matter."""

Who = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Access:
    """An access as it is kept: by whom, at which site."""

    group: int
    thread: int
    site: int
    channel: int
    number: int
    kind: int
    value: int


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two accesses of two groups to one cell that nothing orders; it is so in `count` cells.

    `is_scoped` says that only fences order them whose scope is one group.
    """

    first: Access
    second: Access
    address: int
    count: int
    is_scoped: bool = False


class Block:
    """The cells of a stretch of flat memory.

    `who` packs group, thread, site and channel of two groups for each kind; `numbers` says which
    of its accesses it was, `values` what was written.
    """

    def __init__(self, start: int, size: int) -> None:
        self.start, self.size = start, size
        self.cell = 4 if start % 4 == 0 else 1
        self._make(-(-size // self.cell))

    def _make(self, cells: int) -> None:
        self.who = np.full((3, 2, cells), _NOBODY, np.int64)
        self.numbers = np.zeros((3, 2, cells), np.int32)
        self.values = np.zeros((2, cells), np.uint64)

    def split(self) -> None:
        """Go on with a cell for each byte."""
        if self.cell == 1:
            return
        cell, self.cell = self.cell, 1
        shifts = np.tile(np.arange(cell, dtype=np.uint64) * np.uint64(8), self.who.shape[2])
        self.who = np.repeat(self.who, cell, axis=2)[:, :, : self.size]
        self.numbers = np.repeat(self.numbers, cell, axis=2)[:, :, : self.size]
        values = np.repeat(self.values, cell, axis=1) >> shifts & np.uint64(0xFF)
        self.values = values[:, : self.size]


class Across:
    """What groups have done to global memory in a launch."""

    def __init__(self, areas: Sequence[Area]) -> None:
        self._blocks: list[Block | None] = []
        self._spans = _merged(areas)
        self._blocks = [None] * len(self._spans)
        self._starts = np.array([start for start, _ in self._spans], np.uint64)
        self._ends = np.array([end for _, end in self._spans], np.uint64)

    def conflicts(self, table: Table, entries: Entries, *, ordered: bool) -> Iterator[Conflict]:
        """Note what groups have done, one after another; yield what conflicts with others."""
        if not self._spans:
            return
        groups = np.array(entries.groups, np.int64)[table.entries]
        addresses = table.cells * np.uint64(table.cell)
        place = np.searchsorted(self._starts, addresses, side="right").astype(np.int64) - 1
        inside = place >= 0
        inside[inside] &= addresses[inside] < self._ends[place[inside]]
        order = np.lexsort((place, groups))[: groups.size]
        order = order[inside[order]]
        if not order.size:
            return
        changes = (np.diff(groups[order]) != 0) | (np.diff(place[order]) != 0)
        starts = np.concatenate(([0], np.flatnonzero(changes) + 1, [order.size]))
        who = _packed(table, entries)
        numbers = np.array(entries.numbers, np.int64)[table.entries]
        for first, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
            rows = order[first:end]
            own = table.at(rows), who[rows], numbers[rows]
            yield from self._group(own, entries, int(place[rows[0]]), ordered=ordered)

    def _group(
        self, own: tuple[Table, Who, Who], entries: Entries, place: int, *, ordered: bool
    ) -> Iterator[Conflict]:
        """Note what a group has done to a block: rows, by whom, and their numbers."""
        table, who, numbers = own
        block = self._block(place)
        if table.cell < block.cell:
            block.split()
        offsets = (table.cells * np.uint64(table.cell) - np.uint64(block.start)).astype(np.int64)
        cells, row, values = offsets // block.cell, np.arange(table.size), table.values
        if table.cell > block.cell:
            row = np.repeat(row, table.cell)
            step = np.tile(np.arange(table.cell), table.size)
            cells = offsets[row] + step
            values = values[row] >> (8 * step).astype(np.uint64) & np.uint64(0xFF)
        for kind in (READ, ATOMIC, WRITE):
            mine = np.flatnonzero(table.kinds[row] == kind)
            if not mine.size:
                continue
            cell, first = np.unique(cells[mine], return_index=True)
            chosen = mine[first]
            done = _Own(cell, row[chosen], who[row[chosen]], values[chosen], kind)
            yield from self._compared(block, done, table, entries, ordered=ordered)
            self._note(block, done, numbers[row[chosen]])

    def _block(self, place: int) -> Block:
        found = self._blocks[place]
        if found is None:
            start, end = self._spans[place]
            found = self._blocks[place] = Block(start, end - start)
        return found

    def _compared(
        self, block: Block, own: _Own, table: Table, entries: Entries, *, ordered: bool
    ) -> Iterator[Conflict]:
        group = _group_of(own.who)
        for kind in _CONFLICTS[own.kind]:
            for slot in (0, 1):
                other = block.who[kind, slot, own.cells]
                wrong = np.flatnonzero((other != _NOBODY) & (_group_of(other) != group))
                if wrong.size:
                    yield from self._shown(
                        block, own, (kind, slot), wrong, table, entries, ordered=ordered
                    )

    def _shown(
        self,
        block: Block,
        own: _Own,
        other: tuple[int, int],
        wrong: NDArray[np.intp],
        table: Table,
        entries: Entries,
        *,
        ordered: bool,
    ) -> Iterator[Conflict]:
        """Yield one conflict for each pair of sites."""
        kind, slot = other
        theirs = block.who[kind, slot, own.cells[wrong]]
        pairs = (_site_of(theirs) << _SITE_BITS) | _site_of(own.who[wrong])
        _, first, counts = np.unique(pairs, return_index=True, return_counts=True)
        inverse = pairs
        for place, count in zip(first.tolist(), counts.tolist(), strict=True):
            same = np.flatnonzero(inverse == pairs[place])[: _MOST_SHOWN if ordered else 1]
            scoped: Conflict | None = None
            for number in same.tolist():
                at = int(wrong[number])
                found = self._conflict(block, own, other, at, table, entries, count)
                entry = int(table.entries[own.rows[at]])
                if not (ordered and _is_ordered(found, entries.clocks, entry)):
                    yield found
                    break
                if entries.scoped and not _is_ordered(found, entries.scoped, entry):
                    scoped = scoped or replace(found, is_scoped=True)
            else:
                if scoped is not None:
                    yield scoped

    def _conflict(
        self,
        block: Block,
        own: _Own,
        other: tuple[int, int],
        at: int,
        table: Table,
        entries: Entries,
        count: int,
    ) -> Conflict:
        kind, slot = other
        cell = int(own.cells[at])
        value = int(block.values[slot, cell]) if kind == WRITE else 0
        number = int(block.numbers[kind, slot, cell])
        first = _unpacked(int(block.who[kind, slot, cell]), number, kind, value)
        entry = int(table.entries[own.rows[at]])
        second = _unpacked(int(own.who[at]), entries.numbers[entry], own.kind, int(own.values[at]))
        return Conflict(first, second, block.start + cell * block.cell, count)

    @staticmethod
    def _note(block: Block, own: _Own, numbers: Who) -> None:
        """Keep what a group has done: in the first place, or in that for the second group."""
        group, kind = _group_of(own.who), own.kind
        first = block.who[kind, 0, own.cells]
        is_free = first == _NOBODY
        is_other = ~is_free & (_group_of(first) != group)
        for slot, chosen in ((0, is_free), (1, is_other)):
            cells = own.cells[chosen]
            block.who[kind, slot, cells] = own.who[chosen]
            block.numbers[kind, slot, cells] = numbers[chosen]
            if kind == WRITE:
                block.values[slot, cells] = own.values[chosen]


@dataclass(frozen=True, slots=True)
class _Own:
    """What a group did to some cells, one row for each; `rows` are those of its table."""

    cells: NDArray[np.int64]
    rows: NDArray[np.intp]
    who: Who
    values: NDArray[np.uint64]
    kind: int


def _merged(areas: Sequence[Area]) -> list[tuple[int, int]]:
    """Return the stretches that the areas of callers cover, in order, none touching another."""
    found: list[tuple[int, int]] = []
    known = [area for area in areas if area.kind == "buffer" and area.size]
    for area in sorted(known, key=lambda one: one.start):
        end = area.start + area.size
        if found and area.start < found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((area.start, end))
    return found


def _packed(table: Table, entries: Entries) -> Who:
    groups = np.array(entries.groups, np.int64)[table.entries]
    threads = np.array(entries.threads, np.int64)[table.entries]
    sites = np.array(entries.sites, np.int64)[table.entries]
    who = groups << _THREAD_BITS | threads
    return (who << _SITE_BITS | sites) << _CHANNEL_BITS | table.channels


def _unpacked(who: int, number: int, kind: int, value: int) -> Access:
    channel = who & (1 << _CHANNEL_BITS) - 1
    site = who >> _CHANNEL_BITS & (1 << _SITE_BITS) - 1
    thread = who >> _CHANNEL_BITS + _SITE_BITS & (1 << _THREAD_BITS) - 1
    group = who >> _CHANNEL_BITS + _SITE_BITS + _THREAD_BITS
    return Access(group, thread, site, channel, number, kind, value)


def _group_of(who: Who) -> Who:
    return who >> _CHANNEL_BITS + _SITE_BITS + _THREAD_BITS


def _site_of(who: Who) -> Who:
    return who >> _CHANNEL_BITS & (1 << _SITE_BITS) - 1


def _is_ordered(conflict: Conflict, clocks: Sequence[Clock], entry: int) -> bool:
    """Whether the second access comes behind the first one, as its clock says."""
    clock = clocks[entry] or NOTHING
    first = conflict.first
    return clock.get(thread_number(first.group, first.thread), 0) > first.number


__all__ = ["Access", "Across", "Conflict"]
