"""From what engines note of threads to entries and rows: the first step of finding races."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from visim.engine.accesses import (
    OF_GROUP,
    WATCH,
    Accesses,
    AccessSite,
    Words,
    access_site,
    lanes_on,
)
from visim.errors import InternalError
from visim.sanitize.detecting import Surroundings
from visim.sanitize.images.texels import TEXELS, piece_of, requests, verb_of
from visim.sanitize.races.clocks import GLOBAL, LOCAL, MEMORIES, NOTHING, Clocks, thread_number
from visim.sanitize.races.columns import (
    ATOMIC,
    NEVER,
    READ,
    WRITE,
    Entries,
    Lanes,
    Part,
    Rows,
    Table,
    lanes_of,
)
from visim.sanitize.races.gaps import Gaps
from visim.sanitize.races.instrument import VALUE
from visim.sanitize.races.scopes import ScopedClocks
from visim.sem.atomics import AtomicOperation
from visim.sem.effects import (
    FIRST_COUNTER,
    Atomic,
    Effect,
    Load,
    LoadBlock,
    Space,
    Store,
    StoreBlock,
)
from visim.sem.requests import BlockLoad, BlockStore

_KINDS = {"load": READ, "store": WRITE, "atomic": ATOMIC}
_MEMORY = {Space.SLM.value: LOCAL, Space.FLAT.value: GLOBAL, Space.SURFACE.value: GLOBAL}
_FENCED = {Space.SLM.value: (LOCAL,), Space.FLAT.value: (GLOBAL,), "": MEMORIES}
_COMPARING = frozenset({AtomicOperation.CMPXCHG.value, AtomicOperation.FCAS.value})
_MEETS = frozenset({"barrier", "signal", "wait", "fence", WATCH})


@dataclass(slots=True)
class _Thread:
    """A thread of the group that runs: how often it has signalled and waited, and what it did.

    `open` are its entries of each memory that stand behind the memory's last fence.
    """

    signals: int = 0
    waits: int = 0
    count: int = 0
    phases: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    open: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))


@dataclass
class _Found:
    """The executions of one site in a batch."""

    memory: int
    lanes: Lanes
    places: list[int] = field(default_factory=list[int])
    entries: list[int] = field(default_factory=list[int])
    bases: list[int] = field(default_factory=list[int])
    values: list[list[int]] = field(default_factory=list[list[int]])


class Recorder:
    """Takes what threads do, group by group, and gives it out as tables.

    Attributes:
        sites: the sites that were met, by their numbers in entries.
        entries: the executions of the batch.

    Args:
        surroundings: the launch.
        clocks: what is kept where more than the group's barrier orders threads; None: nothing.
        scoped: what is kept beside them where fences have scopes.
    """

    def __init__(
        self, surroundings: Surroundings, clocks: Clocks | None, scoped: ScopedClocks | None = None
    ) -> None:
        self._surroundings = surroundings
        self._clocks, self._scoped = clocks, scoped
        self._kept = tuple(one for one in (clocks, scoped) if one is not None)
        self._gaps = Gaps(surroundings.kernel)
        self.sites: list[AccessSite] = []
        self._numbers: dict[AccessSite, int] = {}
        self._known: list[tuple[Sequence[AccessSite], list[int]]] = []
        self._group = -1
        self._threads: dict[int, _Thread] = {}
        self.forget()

    def forget(self) -> None:
        """Begin a new batch."""
        self.entries = Entries()
        self._pieces: list[Words] = []
        self._size = 0
        self._found: dict[int, _Found] = {}

    @property
    def size(self) -> int:
        """How many words the batch has."""
        return self._size

    def begin_group(self) -> None:
        """Begin a group."""
        self._group += 1
        self._threads = {}
        for clocks in self._kept:
            clocks.begin_group()

    def take(self, accesses: Accesses) -> None:
        """Take what a thread did."""
        thread = self._threads.setdefault(accesses.thread, _Thread())
        numbers = self._site_numbers(accesses.sites)
        lengths = [site.words for site in accesses.sites]
        words, offset = accesses.words.data, self._size
        self._pieces.append(accesses.words)
        self._size += len(words)
        place, end = 0, len(words)
        last: _Found | None = None
        while place < end:
            head = words[place]
            local = head & 0xFFFFFFFF
            site, number = accesses.sites[local], numbers[local]
            if site.kind not in _MEETS or site.operation.startswith(TEXELS):
                last = self._access(thread, accesses.thread, number, head >> 32, offset + place)
                if last is not None and last.lanes.kind == ATOMIC:
                    self._atomic(accesses, place, site, last)
            elif site.kind != WATCH:
                self._meet(thread, accesses.thread, site, head >> 32)
            elif last is not None and site.operation.startswith(VALUE):
                element = int(site.operation[len(VALUE) :])
                last.values[element][-1] = offset + place + 1 + site.masks
            place += lengths[local]

    def tables(self) -> tuple[Table | None, Table | None]:
        """Return what the batch did to local and to global memory."""
        rows = (Rows(), Rows())
        if self._pieces:
            words = np.concatenate(self._pieces)
            for number in sorted(self._found):
                one = self._found[number]
                part = Part(
                    self.sites[number],
                    one.lanes,
                    words,
                    one.places,
                    one.values,
                    one.entries,
                    one.bases,
                )
                rows[one.memory].add(part)
        local, shared = (self._checked(part.table()) for part in rows)
        return local, shared

    def _checked(self, table: Table | None) -> Table | None:
        comparing = [site.operation in _COMPARING for site in self.sites]
        return None if table is None else without_guesses(table, self.entries, comparing)

    def _site_numbers(self, sites: Sequence[AccessSite]) -> list[int]:
        """Return the numbers of an engine's sites here; engines may have several tables."""
        for known, numbers in self._known:
            if known is sites:
                self._extend(numbers, sites)
                return numbers
        numbers: list[int] = []
        self._extend(numbers, sites)
        self._known.append((sites, numbers))
        return numbers

    def _extend(self, numbers: list[int], sites: Sequence[AccessSite]) -> None:
        for site in sites[len(numbers) :]:
            found = self._numbers.get(site)
            if found is None:
                found = self._numbers[site] = len(self.sites)
                self.sites.append(site)
            numbers.append(found)

    # Meetings

    def _meet(self, thread: _Thread, own: int, site: AccessSite, index: int) -> None:
        """Note a fence, or a half of a barrier or both; `index` is a named barrier's number."""
        if site.kind == "fence":
            of_group = site.operation == OF_GROUP
            self._fence(thread, own, _FENCED.get(site.space, MEMORIES), of_group=of_group)
            return
        if site.kind in {"barrier", "signal"}:
            self._signal(thread, own, index)
        if site.kind in {"barrier", "wait"}:
            self._wait(thread, own, index)

    def _fence(self, thread: _Thread, own: int, memories: Sequence[int], *, of_group: bool) -> None:
        until = self.entries.until
        for memory in memories:
            for entry in thread.open[memory]:
                until[entry] = thread.signals
            thread.open[memory].clear()
            for clocks in self._kept:
                number = thread_number(self._group, own)
                clocks.fence(number, memory, thread.count, of_group=of_group)

    def _signal(self, thread: _Thread, own: int, index: int) -> None:
        phase = thread.phases.setdefault(index, [0, 0])
        for clocks in self._kept:
            clocks.signal(thread_number(self._group, own), (self._group, index, phase[0]))
        phase[0] += 1
        if not index:
            thread.signals += 1

    def _wait(self, thread: _Thread, own: int, index: int) -> None:
        phase = thread.phases.setdefault(index, [0, 0])
        for clocks in self._kept:
            clocks.wait(thread_number(self._group, own), (self._group, index, phase[1]))
        phase[1] += 1
        if not index:
            thread.waits += 1

    # Accesses

    def _access(
        self, thread: _Thread, own: int, number: int, index: int, place: int
    ) -> _Found | None:
        """Note an access; return where, or None where it can race with nothing."""
        found = self._found.get(number)
        if found is None:
            found = self._new(number)
            if found is None:
                return None
            self._found[number] = found
        site, base = self.sites[number], 0
        if site.space == Space.SURFACE.value:
            known = self._surroundings.surfaces.get(index)
            if known is None or index >= FIRST_COUNTER:
                return None
            base = known
        entries = self.entries
        entry = len(entries.sites)
        entries.sites.append(number)
        entries.groups.append(self._group)
        entries.threads.append(own)
        entries.numbers.append(thread.count)
        entries.after.append(thread.waits)
        entries.until.append(NEVER)
        if self._clocks is not None:
            clock = self._clocks.resume(thread_number(self._group, own))
            entries.clocks.append(clock.known[found.memory])
        else:
            entries.clocks.append(NOTHING)
        if self._scoped is not None:
            entries.scoped.append(self._scoped.known(thread_number(self._group, own)))
        thread.open[found.memory].append(entry)
        thread.count += 1
        found.places.append(place)
        found.entries.append(entry)
        found.bases.append(base)
        for values in found.values:
            values.append(-1)
        return found

    def _new(self, number: int) -> _Found | None:
        site = self.sites[number]
        if site.operation.startswith(TEXELS):
            return self._texels(site)
        memory, kind = _MEMORY.get(site.space), _KINDS.get(site.kind)
        if memory is None or kind is None:
            return None
        kernel = self._surroundings.kernel
        unit = kernel.units[site.unit]
        effect = next(
            (
                one
                for one in kernel.effects(unit, site.pc)
                if access_site(site.unit, site.pc, one) == site
            ),
            None,
        )
        if effect is None:
            return None
        execution = getattr(unit.body[site.pc], "exec", None)
        size = None if execution is None else (execution.size, execution.offset)
        block = isinstance(effect, LoadBlock | StoreBlock)
        lanes = lanes_of(site, size, kind, _element(effect), block=block)
        if kind == READ:
            lanes = replace(lanes, gaps=self._gaps.of(unit, site.pc, effect))
        values: list[list[int]] = []
        if kind == WRITE:
            values = [[] for _ in range(1 if block else lanes.elements)]
        return _Found(memory, lanes, values=values)

    def _texels(self, site: AccessSite) -> _Found:
        """Return where to note the texels of a message to an image, or the pieces of a block."""
        kernel = self._surroundings.kernel
        unit = kernel.units[site.unit]
        number = int(site.operation.removeprefix(TEXELS))
        request = requests(kernel.effects(unit, site.pc))[number]
        kind, size = _KINDS[verb_of(request)], self._surroundings.texel_bytes
        if isinstance(request.operation, BlockLoad | BlockStore):
            lanes = Lanes(None, kind, 1, piece_of(request.operation.width))
        else:
            execution = getattr(unit.body[site.pc], "exec", None)
            lanes = Lanes(getattr(execution, "offset", None), kind, 1, size)
        return _Found(GLOBAL, lanes, values=[[]] if kind == WRITE else [])

    def _atomic(self, accesses: Accesses, place: int, site: AccessSite, found: _Found) -> None:
        """Let clocks meet at the bytes of an atomic."""
        if not self._kept:
            return
        entry = accesses.words[place + 1 : place + site.words]
        addresses = np.unique(lanes_on(site, entry)[1])
        number, base = thread_number(self._group, accesses.thread), found.bases[-1]
        own = 0 if found.memory == GLOBAL else (self._group + 1) << 48
        for clocks in self._kept:
            clocks.atomic(number, [int(one) + base + own for one in addresses])


def without_guesses(table: Table, entries: Entries, comparing: Sequence[bool]) -> Table:
    """Leave out reads that only guess what a compare and exchange will find.

    Such a read comes before a compare and exchange on the same cell by the same thread: what others
    do in between makes the exchange fail, and nothing worse.

    Args:
        table: rows of global or local memory, all of each group.
        entries: the executions that they belong to.
        comparing: by the number of a site, whether it compares and exchanges.
    """
    sites = np.array(entries.sites, np.int64)[table.entries]
    exchanges = np.array(comparing, np.bool_)[sites]
    if not exchanges.any():
        return table
    threads = np.array(entries.groups, np.int64) << 16 | np.array(entries.threads, np.int64)
    order = np.lexsort((table.entries, table.cells, threads[table.entries]))
    cells, owners = table.cells[order], threads[table.entries][order]
    changes = (np.diff(cells) != 0) | (np.diff(owners) != 0)
    starts = np.concatenate(([0], np.flatnonzero(changes) + 1))
    last = np.maximum.reduceat(np.where(exchanges[order], table.entries[order], -1), starts)
    lengths = np.diff(np.append(starts, order.size))
    guesses = (table.kinds[order] == READ) & (table.entries[order] < np.repeat(last, lengths))
    return table.at(np.sort(order[~guesses]))


def _element(effect: Effect) -> int:
    """Return the bytes of an element of a message."""
    match effect:
        case Store(values=values):
            return values[0].type.bytes
        case StoreBlock(value=value):
            return value.type.bytes
        case Load() | LoadBlock() | Atomic():
            return effect.type.bytes
        case _:
            raise InternalError(f"{effect} is no access")


__all__ = ["Recorder"]
