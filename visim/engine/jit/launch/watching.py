"""The host's side of what native code notes for observers: empties buffers, reports events.

`tracing` writes the native side. The threads of a turn have run one after another, so that what
they noted is reported in that order: when the turn is over, or before, when a buffer is full.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.engine.accesses import Accesses, AccessSite, Words
from visim.engine.base import Dispatch
from visim.engine.jit.launch.records import ThreadRecord
from visim.engine.jit.layout import Status, Thread
from visim.engine.jit.writing.versions import ACCESSES, PATHS
from visim.engine.observers import (
    NOBODY,
    BlockPlace,
    GroupStart,
    Observer,
    Observers,
    ThreadPath,
)
from visim.linker.program import LinkedKernel

TRACE_ENTRIES = 4096
LOG_WORDS = 4096
"""How much a thread notes before the host empties its buffers."""

_LOW = 0xFFFFFFFF
Triple = tuple[int, int, int]


class _Buffer:
    """Memory that native code appends to, from one field of a thread on up to the next field's."""

    def __init__(self, field: Thread, size: int, kind: type[np.uint32 | np.uint64]) -> None:
        self._field = field
        self._array: NDArray[Any] = np.zeros(size, kind)
        self._start = int(self._array.ctypes.data)

    def offer(self, fields: Words) -> None:
        """Give the whole buffer to a thread."""
        fields[self._field] = self._start
        fields[self._field + 1] = self._start + self._array.nbytes

    def take(self, fields: Words) -> NDArray[Any]:
        """Return what the thread has appended, and empty the buffer."""
        used = (int(fields[self._field]) - self._start) // self._array.itemsize
        if not used:
            return self._array[:0]
        fields[self._field] = self._start
        return self._array[:used].copy()


@dataclass
class _Notes:
    """The buffers of a thread, and the parts of its path that have been taken out of them."""

    trace: _Buffer
    log: _Buffer
    path: list[NDArray[np.uint32]] = field(default_factory=list[NDArray[np.uint32]])
    is_reported: bool = False


class Watcher:
    """Reports the events of one runner's threads, which run the groups of `dispatch`.

    `places` and `sites` are what the numbers in notes stand for, in the code that threads run.
    `is_ordered` says whether somebody wants events in the order of execution, `takes_groups` that
    nobody does, and what threads note, if they note anything, says their groups.
    """

    def __init__(self, kernel: LinkedKernel, dispatch: Dispatch) -> None:
        self.observers, self.is_ordered, self.takes_groups = NOBODY, False, False
        self.dispatch = dispatch
        self.places: Sequence[BlockPlace] = ()
        self.sites: Sequence[AccessSite] = ()
        self._kernel = kernel
        self._group: Triple = (0, 0, 0)
        self._memory: Sequence[tuple[int, int]] = ()
        self._notes: dict[int, _Notes] = {}
        self._turn: list[ThreadRecord] = []
        self._records: list[ThreadRecord] = []
        self._direct = False

    def watch(self, observers: Sequence[Observer], memory: Sequence[tuple[int, int]] = ()) -> None:
        """Report to observers, and to nobody else; `memory` is that of `GroupStart`."""
        self._memory = memory
        if not observers and self.observers is NOBODY:
            return
        self.observers = Observers(observers) if observers else NOBODY
        self.is_ordered = self.observers.is_ordered
        self.takes_groups = self.observers.watches_only and not self.is_ordered

    def begin_group(self, number: int, threads: int) -> None:
        """Begin a thread group."""
        self._group = group = self.dispatch.group_id(number)
        for observe in self.observers.group_begin:
            slm_bytes = self.dispatch.slm_bytes
            observe(GroupStart(self._kernel, group, threads, slm_bytes, self._memory))

    def begin_thread(self, record: ThreadRecord) -> None:
        """Give a thread that starts empty buffers."""
        if not self.observers.wants & {PATHS, ACCESSES}:
            return
        notes = self._notes.get(record.address)
        if notes is None:
            notes = self._notes[record.address] = _Notes(
                _Buffer(Thread.TRACE, TRACE_ENTRIES, np.uint32),
                _Buffer(Thread.LOG, LOG_WORDS, np.uint64),
            )
        notes.path, notes.is_reported = [], False
        notes.trace.offer(record.fields)
        notes.log.offer(record.fields)

    def begin_turn(self, threads: Sequence[ThreadRecord]) -> None:
        """Note which threads run next, in their order."""
        self._turn = list(threads) if self._notes else []

    def drain(self, record: ThreadRecord) -> None:
        """Empty the buffers of a thread that runs, after those of the threads before it."""
        if record.address not in self._notes:
            return
        while not self.takes_groups and self._turn and self._turn[0] is not record:
            self._report(self._turn.pop(0))
        self._take(record)

    def end_turn(self, faulted: ThreadRecord | None = None) -> None:
        """Report what the threads of a turn did, up to one that stopped with a fault."""
        for record in self._turn:
            if record is faulted:
                self._take(record)
                break
            self._report(record)
        self._turn = []

    def tell(
        self,
        record: ThreadRecord,
        watch: AccessSite,
        lanes: int,
        values: Words,
        group: Triple | None,
    ) -> None:
        """Report what a thread that runs has to tell at a watch, behind what it has noted.

        Args:
            record: the thread.
            watch: the site.
            lanes: those of which it tells, as bits.
            values: a number for each lane.
            group: the thread's group; None: that which has begun last.
        """
        self.drain(record)
        masks = [lanes >> first & (1 << 64) - 1 for first in range(0, watch.lanes, 64)]
        words = np.array([0, *masks, *values.tolist()], np.uint64)
        for observe in self.observers.accesses:
            observe(Accesses(group or self._group, record.number, (watch,), words))

    # Groups that native code runs by itself

    def begin_free_range(self, records: Sequence[ThreadRecord]) -> None:
        """Give threads buffers that they use in all groups, if they note anything."""
        self._records = list(records) if self.sites else []
        for record in self._records:
            if not record.fields[Thread.LOG_END]:  # what is empty again stays where it is
                self.begin_thread(record)

    def end_free_range(self) -> None:
        """Report what is left in the buffers."""
        for record in self._records:
            self._take(record)

    def begin_range(self, records: Sequence[ThreadRecord], *, direct: bool) -> None:
        """Note whose threads run in all groups; `direct` ones run to their end in one turn."""
        self._records, self._direct, self._turn = list(records), direct, []

    def next_group(self, number: int) -> None:
        """Report what is left of the group before, and begin a group."""
        self.end_range()
        self.begin_group(number, len(self._records))
        for record in self._records:
            self.begin_thread(record)
        self.begin_turn(self._records)

    def next_turn(self) -> None:
        """Report a turn of all threads, and begin the next one."""
        self.end_turn()
        self.begin_turn(self._records)

    def end_range(self, fault: int | None = None) -> None:
        """Report the last group, which may have ended with the fault of a thread."""
        self.end_turn(None if fault is None else self._records[fault])

    # Threads

    def _report(self, record: ThreadRecord) -> None:
        self._take(record)
        notes = self._notes[record.address]
        is_done = self._direct or int(record.fields[Thread.STATUS]) == Status.DONE
        if not is_done or notes.is_reported:
            return
        notes.is_reported = True
        if self.observers.thread_end:
            parts = notes.path
            blocks = parts[0] if len(parts) == 1 else np.concatenate(parts)
            path = ThreadPath(self._group, record.number, blocks, self.places)
            for observe in self.observers.thread_end:
                observe(path)

    def _take(self, record: ThreadRecord) -> None:
        """Take what a thread has noted out of its buffers."""
        notes, fields = self._notes[record.address], record.fields
        if self.observers.thread_end:
            notes.path.append(notes.trace.take(fields))
        if not self.observers.accesses:
            return
        log = notes.log.take(fields)
        if self.takes_groups:
            self._tell(record.number, log)
            return
        for observe in self.observers.accesses if log.size else ():
            observe(Accesses(self._group, record.number, self.sites, log))

    def _tell(self, thread: int, log: Words) -> None:
        """Report notes that have the coordinates of their groups in front."""
        place = 0
        while place < log.size:
            x_y, z, head = (int(word) for word in log[place : place + 3])
            end = place + 2 + self.sites[head & _LOW].words
            group = x_y & _LOW, x_y >> 32, z
            for observe in self.observers.accesses:
                observe(Accesses(group, thread, self.sites, log[place + 2 : end]))
            place = end


__all__ = ["Watcher"]
