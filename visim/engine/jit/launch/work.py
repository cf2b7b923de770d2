"""Ranges of groups that native code runs by itself, and how workers share them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from visim.engine.base import Exit, Machine, SharedStarts, ThreadStart
from visim.engine.jit.common.entries import scheduler
from visim.engine.jit.common.scheduler import CARRIERS, DIRECT, STACKS
from visim.engine.jit.launch.records import ThreadRecord, octets_of, unstarted, words
from visim.engine.jit.launch.run import Runner
from visim.engine.jit.layout import STUCK, Context, Part, Shared, Status, Thread, Work
from visim.engine.jit.writing.versions import Way
from visim.errors import InternalError
from visim.machine.allocations import aligned_zeros

_EXTENT = Struct("5Q")
"""The fields of a range of groups from `Work.WIDTH` to `Work.FIRST_Z`."""

_NOTHING_DONE = octets_of(np.zeros(3, np.uint64))
"""What native code adds up, from `Work.DONE_GROUPS` to `Work.EXECUTED`, before it begins."""

_WAYS = {Way.ALONE: DIRECT, Way.IN_STEP: CARRIERS, Way.STACKED: STACKS}

CHUNKS = 32
"""How often each worker comes back for more groups, about."""
_LEAST_PART = 8
"""How much smaller the last chunks are, so that workers end at nearly the same time."""


@dataclass(frozen=True, slots=True)
class Task:
    """Groups that workers share: each takes the next ones until none is left.

    Each has a part of its own, and goes on to the others' when nothing of that is left. It takes
    `chunk` at a time, at the end one of so many `shares` of those that are left of a part, and at
    least so many. `fresh` is what they share before anybody has taken any.
    """

    groups: Sequence[int]
    numbers: NDArray[np.uint64]
    chunk: int
    least: int
    shares: int
    parts: int
    shared: memoryview
    fresh: memoryview
    shared_at: int

    @classmethod
    def of(cls, groups: Sequence[int], workers: int) -> Task:
        """Return a task, in chunks that keep workers equally busy."""
        if isinstance(groups, range):
            numbers = np.arange(groups.start, groups.stop, groups.step).astype(np.uint64)
        else:
            numbers = np.array(groups, np.uint64)
        chunk = least = numbers.size
        if workers > 1:
            chunk = max(1, numbers.size // (workers * CHUNKS))
            least = max(1, chunk // _LEAST_PART)
        shared = words(Shared.PARTS + Part.SIZE * workers)
        shared[Shared.END] = numbers.size
        ends = [numbers.size * part // workers for part in range(workers + 1)]
        shared[Shared.PARTS + Part.NEXT :: Part.SIZE] = ends[:-1]
        shared[Shared.PARTS + Part.END :: Part.SIZE] = ends[1:]
        sizes = chunk, least, 2 * workers, workers
        views = octets_of(shared), octets_of(shared.copy())
        return cls(groups, numbers, *sizes, *views, int(shared.ctypes.data))

    @property
    def is_consecutive(self) -> bool:
        """Whether each group has the number after that of the one before."""
        return isinstance(self.groups, range) and self.groups.step == 1

    def begin(self) -> None:
        """Let workers take groups from the first ones on."""
        self.shared[:] = self.fresh


def private_memory(
    machine: Machine, shared: SharedStarts | None, workers: int
) -> list[NDArray[np.uint8] | None]:
    """Return the private memory that each worker's threads have; the launch has made the first."""
    if shared is None or shared.private is None:
        return [None] * workers
    while len(machine.private) < workers - 1:
        pool = aligned_zeros(shared.private.nbytes).reshape(shared.private.shape)
        machine.memory.add(pool, "private memory")
        machine.private.append(pool)
    return [shared.private, *machine.private[: workers - 1]]


class NativeWork:
    """Ranges of groups that native code runs by itself, with a record for each thread.

    Args:
        runner: the worker.
        own: which part of the groups it begins with.
        first: the first worker's, if this is another one's.
    """

    def __init__(self, runner: Runner, own: int = 0, first: NativeWork | None = None) -> None:
        self.runner = runner
        shared = self._shared()
        runner.reserve(len(shared.starts))
        self.records = runner.records
        self.templates: list[NDArray[np.uint8]] = []
        self.starts: list[memoryview] = []
        self._groups = self._first = (0, 0, 0)
        for slot, (record, start) in enumerate(zip(self.records, shared.starts, strict=True)):
            self._prepare(record, start, slot)
        self.pointers = np.array([record.address for record in self.records], np.uint64)
        self.places = np.array(sorted(shared.places, key=lambda place: place.axis), np.uint64)
        chosen = runner.chosen(self.records)
        self.fields = words(int(Work.SIZE))
        self.totals = octets_of(self.fields)[int(Work.DONE_GROUPS) : int(Work.EXECUTED) + 1]
        self.task: Task | None = None
        function = scheduler().address(f"run_groups_{_WAYS[runner.way]}")
        self.call = function, int(chosen[1].ctypes.data), int(self.fields.ctypes.data)
        self.fields[Work.OWN] = own
        self.firsts = self._firsts(chosen[0].facts.firsts)
        self.frames = words(len(self.records) * chosen[0].facts.frame_bytes // 8)
        self._may_be_cut = False
        self._fill(shared)
        self._alike = self.starts
        self.aim()
        if chosen[0].facts.alike_once:
            self._alike = self.starts[:1]
            if first is not None and runner.private is None and not self.templates:
                self._alike = []
                self.fields[Work.ALIKE] = first.fields[Work.ALIKE]
        self._follow(chosen[1])

    def _fill(self, shared: SharedStarts) -> None:
        """Write what all dispatches of a form have in common into the fields."""
        runner, private = self.runner, self.runner.private
        along_row = sum(place.axis == 0 for place in shared.places)
        private_bytes = 0 if private is None else private[0].nbytes
        image_bytes = runner.kernel.register_bytes if self.templates else 0
        scratch_bytes = runner.machine.scratch_bytes
        values = {
            Work.THREADS: len(self.records),
            Work.RECORDS: self.pointers.ctypes.data,
            Work.PLACES: self.places.ctypes.data,
            Work.ALL_PLACES: len(shared.places),
            Work.ROW_PLACES: len(shared.places) if self.templates else along_row,
            Work.MEMORY: bool(image_bytes or private_bytes or scratch_bytes),
            Work.IMAGE_BYTES: image_bytes,
            Work.PRIVATE_BYTES: private_bytes,
            Work.SCRATCH_BYTES: scratch_bytes,
            Work.SLM_BYTES: runner.dispatch.slm_bytes,
            Work.FIRSTS: self.firsts.ctypes.data,
            Work.ALIKE: self.records[0].image.ctypes.data,
            Work.FRAMES: self.frames.ctypes.data,
        }
        for name, value in values.items():
            self.fields[int(name)] = value

    def _firsts(self, places: Sequence[tuple[int, int]]) -> NDArray[np.uint64]:
        """Return what each thread's registers hold at some places, one thread behind the other.

        Behind the last one are the least of all and the greatest of all.
        """
        rows = [
            [int.from_bytes(octets[place : place + size], "little") for place, size in places]
            for octets in self.starts
        ]
        columns = list(zip(*rows, strict=True))
        found = words((len(rows) + 2) * len(places))
        ends = [min(one) for one in columns], [max(one) for one in columns]
        found[:] = [one for row in (*rows, *ends) for one in row]
        return found

    def _follow(self, context: NDArray[np.uint64]) -> None:
        """Say which thread has its turn after which; observers are told of each turn instead."""
        if self.runner.watcher.is_ordered:
            return
        context[Context.FIRST] = self.records[0].address
        for number, record in enumerate(self.records):
            record.fields[Thread.INDEX] = number
        for record, after in pairwise(self.records):
            record.fields[Thread.NEXT] = after.address

    def _prepare(self, record: ThreadRecord, start: ThreadStart, slot: int) -> None:
        runner, fields = self.runner, record.fields
        runner.fill(record, start, slot)
        if runner.first.writes_image:
            self.templates.append(record.image.copy())
            fields[Thread.TEMPLATE] = self.templates[-1].ctypes.data
            self.starts.append(octets_of(self.templates[-1]))
        else:
            self.starts.append(record.octets)

    def _shared(self) -> SharedStarts:
        """Return what all groups have in common."""
        if self.runner.shared is None:
            raise InternalError("a dispatch whose groups have nothing in common")
        return self.runner.shared

    def aim(self) -> None:
        """Take over the dispatch that the worker is aimed at, which has the same form."""
        target = self.runner.target
        shared = target.shared
        if shared is None:
            raise InternalError("a dispatch whose groups have nothing in common")
        if shared.groups != self._groups or shared.first != self._first:
            extent = *shared.groups[:2], *shared.first
            _EXTENT.pack_into(octets_of(self.fields), 8 * Work.WIDTH, *extent)
            self._groups, self._first = shared.groups, shared.first
        for octets in self._alike:
            for place, data in target.common:
                octets[place] = data
        private = target.private
        if private is None:
            return
        address = private.ctypes.data
        for slot, octets in enumerate(self.starts):
            self.records[slot].fields[Thread.PRIVATE] = address + slot * private.strides[0]
            for place in shared.private_places or ():
                octets[place : place + 8] = address.to_bytes(8, "little")

    def begin(self, task: Task) -> None:
        """Take a task. Threads of the one before have a place to go on if something ended it."""
        fields, watcher = self.fields, self.runner.watcher
        self.totals[:] = _NOTHING_DONE
        if self._may_be_cut:
            self.frames.fill(0)
        self._may_be_cut = True
        if watcher.is_ordered:
            watcher.begin_range(self.records, direct=not self.runner.has_stacks)
        elif watcher.takes_groups:
            watcher.begin_free_range(self.records)
        if task is not self.task:
            fields[Work.NUMBERS], fields[Work.PARTS] = task.numbers.ctypes.data, task.parts
            fields[Work.SHARED], fields[Work.CHUNK] = task.shared_at, task.chunk
            fields[Work.LEAST], fields[Work.SHARES] = task.least, task.shares
            fields[Work.TOGETHER] = task.is_consecutive and not watcher.is_ordered
            self.task = task

    def end(self, task: Task, answer: int, total: Exit) -> int | None:
        """Add what native code has done to a total; return the place of a group that faulted."""
        runner, fields = self.runner, self.fields
        if runner.answers.failure is not None:
            raise runner.answers.failure
        groups, threads, executed = self.totals.tolist()
        total.groups += groups
        total.threads += threads
        total.executed += executed
        if runner.counts:
            runner.take_counts()
        faulted = int(fields[Work.FAULT_THREAD]) if answer == 1 else None
        faulted = None if faulted == STUCK else faulted
        if runner.watcher.is_ordered:
            runner.watcher.end_range(faulted)
        elif runner.watcher.takes_groups:
            runner.watcher.end_free_range()
        if not answer:
            self._may_be_cut = False
            return None
        if faulted is not None:
            fault = runner.fault_of(self.records[faulted])
            if runner.has_stacks:
                total.threads -= unstarted(self.records)
        else:
            live = [r for r in self.records if int(r.fields[Thread.STATUS]) != Status.DONE]
            fault = runner.deadlock(self.records, live)
        place = int(fields[Work.FAULT_GROUP])
        runner.end(fault, int(task.numbers[place]))
        return place
