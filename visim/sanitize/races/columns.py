"""Tables of what the threads of groups did: a row for each channel of each access.

Each execution of an instruction is an entry. Between which barriers it stands is told by two
numbers: `after`, how many barriers the thread has waited for, and `until`, the first barrier which
tells others of it: the first that comes behind a fence for the access's memory. Two accesses of
threads of a group are ordered by barriers if the one's `until` is below the other's `after`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from visim.engine.accesses import AccessSite, Words
from visim.sanitize.races.clocks import Clock

READ, ATOMIC, WRITE = 0, 1, 2
NEVER = 1 << 40
"""The `until` of an access that no barrier tells others of."""
CHANNELS = 64
"""Numbers of work-items in a thread: its channels, and the thread as a whole."""
WHOLE = CHANNELS - 1
"""Stands for the channel where a thread acts as a whole: all its work-items do the same."""

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Lanes:
    """How the lanes of a site are channels: the first one's, or None for the whole thread.

    Each lane accesses `elements` of `size` bytes, but for the `gaps` among them. A `block` has one
    lane, and the values of its elements are those of the lanes of one note.
    """

    first: int | None
    kind: int
    elements: int
    size: int
    block: bool = False
    gaps: frozenset[int] = frozenset()


@dataclass
class Entries:
    """The executions of memory instructions of a batch of groups, in order.

    `groups` are numbers in the batch. `clocks` say what comes before an entry, where that is kept,
    `scoped` what of it comes before when fences whose scope is a group order nothing for others.
    """

    sites: list[int] = field(default_factory=list[int])
    groups: list[int] = field(default_factory=list[int])
    threads: list[int] = field(default_factory=list[int])
    numbers: list[int] = field(default_factory=list[int])
    after: list[int] = field(default_factory=list[int])
    until: list[int] = field(default_factory=list[int])
    clocks: list[Clock] = field(default_factory=list[Clock])
    scoped: list[Clock] = field(default_factory=list[Clock])

    def __len__(self) -> int:
        return len(self.sites)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of accesses to one kind of memory.

    A row is the part of an access that is in one cell of `cell` bytes. `values` are what writes
    store there. `entries` are numbers of entries.
    """

    cell: int
    cells: NDArray[np.uint64]
    entries: Integers
    channels: Integers
    kinds: Integers
    values: NDArray[np.uint64]

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.cells.size

    def at(self, chosen: NDArray[np.intp]) -> Table:
        """Return some of the rows."""
        return Table(
            self.cell,
            self.cells[chosen],
            self.entries[chosen],
            self.channels[chosen],
            self.kinds[chosen],
            self.values[chosen],
        )


@dataclass
class Part:
    """The executions of one site within a piece of a thread's log."""

    site: AccessSite
    lanes: Lanes
    words: Words
    places: list[int]
    values: list[list[int]]
    entries: list[int]
    bases: list[int]


@dataclass
class Rows:
    """Rows as they are collected, in pieces; all arrays have a row for each lane that was on."""

    addresses: list[NDArray[np.uint64]] = field(default_factory=list[NDArray[np.uint64]])
    sizes: list[Integers] = field(default_factory=list[Integers])
    entries: list[Integers] = field(default_factory=list[Integers])
    channels: list[Integers] = field(default_factory=list[Integers])
    kinds: list[Integers] = field(default_factory=list[Integers])
    values: list[NDArray[np.uint64]] = field(default_factory=list[NDArray[np.uint64]])
    count: int = 0

    def add(self, part: Part) -> None:
        """Add the rows of a part: a row for each element of each lane."""
        site, lanes = part.site, part.lanes
        places = np.array(part.places, np.int64)
        masks = site.masks
        bits = part.words[places[:, None] + np.arange(1, 1 + masks)]
        on = np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little")[:, : site.lanes] != 0
        first = 1 + masks
        addresses = part.words[places[:, None] + np.arange(first, first + site.lanes)]
        addresses = addresses + np.array(part.bases, np.uint64)[:, None]
        entry, lane = np.nonzero(on)
        if not entry.size:
            return
        starts = addresses[entry, lane]
        numbers = np.array(part.entries, np.int64)[entry]
        channels = (
            np.full(entry.size, WHOLE, np.int64)
            if lanes.first is None
            else lane.astype(np.int64) + lanes.first
        )
        for element in range(lanes.elements):
            if element in lanes.gaps:
                continue
            self.addresses.append(starts + np.uint64(element * lanes.size))
            self.sizes.append(np.full(entry.size, lanes.size, np.int64))
            self.entries.append(numbers)
            self.channels.append(channels)
            self.kinds.append(np.full(entry.size, lanes.kind, np.int64))
            self.values.append(_values(part, element, entry, lane))
        self.count += entry.size * (lanes.elements - len(lanes.gaps))

    def table(self) -> Table | None:
        """Return all rows in cells as large as their alignment allows; None without rows."""
        if not self.addresses:
            return None
        addresses, sizes = np.concatenate(self.addresses), np.concatenate(self.sizes)
        entries, channels = np.concatenate(self.entries), np.concatenate(self.channels)
        kinds, values = np.concatenate(self.kinds), np.concatenate(self.values)
        low = int(np.bitwise_or.reduce(addresses | sizes.astype(np.uint64)))
        cell = 4 if low % 4 == 0 else 1
        counts = sizes // cell
        if int(counts.max()) == 1:
            return Table(cell, addresses // np.uint64(cell), entries, channels, kinds, values)
        row = np.repeat(np.arange(addresses.size), counts)
        step = np.arange(row.size) - np.repeat(np.cumsum(counts) - counts, counts)
        cells = addresses[row] // np.uint64(cell) + step.astype(np.uint64)
        shifts = (8 * cell * np.minimum(step, 7 // cell)).astype(np.uint64)
        parts = values[row] >> shifts & np.uint64((1 << 8 * cell) - 1)
        return Table(cell, cells, entries[row], channels[row], kinds[row], parts)


def _values(
    part: Part, element: int, entry: NDArray[np.intp], lane: NDArray[np.intp]
) -> NDArray[np.uint64]:
    """Return what the lanes store as an element; zeros where nobody told."""
    if not part.values:
        return np.zeros(entry.size, np.uint64)
    block = part.lanes.block
    places = np.array(part.values[0 if block else element], np.int64)[entry]
    found: NDArray[np.uint64] = part.words[np.maximum(places, 0) + (element if block else lane)]
    return found


def lanes_of(
    site: AccessSite, execution: tuple[int, int] | None, kind: int, element: int, *, block: bool
) -> Lanes:
    """Return how the lanes of a memory site are channels of a thread.

    Args:
        site: the site.
        execution: size and first channel of the instruction; None: it has none.
        kind: READ, ATOMIC or WRITE.
        element: the bytes of an element.
        block: whether it is a block of successive elements, whose values have a lane each.
    """
    size, first = execution or (0, 0)
    is_own = size == site.lanes and size > 1 and not block
    return Lanes(first if is_own else None, kind, site.size // element, element, block)
