"""Running compiled kernels: the tables that native code reads, groups and their threads' turns."""

from __future__ import annotations

import ctypes
import random
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from visim.engine.base import Dispatch, Exit, Machine, RunOptions, SharedStarts, ThreadStart
from visim.engine.interp import TURN
from visim.engine.jit.answers import Answers
from visim.engine.jit.blocks import ANY_MODE, CR0
from visim.engine.jit.endings import CANCELLED, Endings
from visim.engine.jit.layout import (
    CACHE_ENTRY,
    EXCHANGE_BYTES,
    SURFACE_ENTRY,
    TABLE_ENTRY,
    Context,
    Shared,
    Status,
    Thread,
    Work,
)
from visim.engine.jit.module import ModuleText, Traits
from visim.engine.jit.native import NativeCode
from visim.engine.jit.records import Stacks, ThreadRecord, aligned, words
from visim.errors import Fault, InternalError
from visim.linker.program import LinkedKernel
from visim.machine.surfaces import BINDING_TABLE_SIZE, SharedLocalMemory

_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
CHUNKS = 16
"""How often each worker comes back for more groups, about."""


@dataclass
class Compiled:
    """A version of a kernel as machine code."""

    module: ModuleText
    code: NativeCode

    def __post_init__(self) -> None:
        self.functions = {name: _ENTRY(a) for name, a in self.code.addresses.items()}


class NativeWork:
    """Ranges of groups that native code runs by itself, with a record for each thread."""

    def __init__(self, runner: Runner, shared: SharedStarts) -> None:
        self.runner = runner
        self.shared = shared
        self.records = [runner.record(slot) for slot in range(len(shared.starts))]
        self.templates: list[NDArray[np.uint8]] = []
        for slot, (record, start) in enumerate(zip(self.records, shared.starts, strict=True)):
            self._prepare(record, start, slot)
        self.pointers = np.array([record.address for record in self.records], np.uint64)
        self.chosen = runner.chosen(self.records)
        self.fields = words(int(Work.SIZE))
        self.addresses = int(self.chosen[1].ctypes.data), int(self.fields.ctypes.data)
        private = shared.private
        values = {
            Work.THREADS: len(self.records),
            Work.RECORDS: self.pointers.ctypes.data,
            Work.WIDTH: shared.groups[0],
            Work.HEIGHT: shared.groups[1],
            Work.FIRST_X: shared.first[0],
            Work.FIRST_Y: shared.first[1],
            Work.FIRST_Z: shared.first[2],
            Work.IMAGE_BYTES: runner.kernel.register_bytes if self.templates else 0,
            Work.PRIVATE_BYTES: 0 if private is None else private[0].nbytes,
            Work.SLM_BYTES: runner.dispatch.slm_bytes,
            Work.SCRATCH_BYTES: runner.machine.scratch_bytes,
        }
        for name, value in values.items():
            self.fields[int(name)] = value

    def _prepare(self, record: ThreadRecord, start: ThreadStart, slot: int) -> None:
        runner, fields = self.runner, record.fields
        runner.fill(record, start, slot)
        record.number = slot
        record.image.fill(0)
        for offset, data in start.registers:
            record.image[offset : offset + len(data)] = np.frombuffer(data, np.uint8)
        if runner.first.writes_image:
            self.templates.append(record.image.copy())
            fields[Thread.TEMPLATE] = self.templates[-1].ctypes.data
        if self.shared.private is not None:
            fields[Thread.PRIVATE] = self.shared.private[slot].ctypes.data

    def run(self, task: Task) -> int | None:
        """Run groups of a task until none is left; return the place of one that faulted."""
        runner, fields = self.runner, self.fields
        fields[Work.GROUPS], fields[Work.NUMBERS] = task.numbers.size, task.numbers.ctypes.data
        fields[Work.SHARED], fields[Work.CHUNK] = task.shared.ctypes.data, task.chunk
        fields[Work.EXECUTED] = fields[Work.STARTED] = fields[Work.DONE_GROUPS] = 0
        ended = self.chosen[0].functions["run_groups"](*self.addresses, 0)
        if runner.answers.failure is not None:
            raise runner.answers.failure
        runner.exit.groups += int(fields[Work.DONE_GROUPS])
        runner.exit.threads += int(fields[Work.STARTED])
        runner.exit.executed += int(fields[Work.EXECUTED])
        if not ended:
            return None
        if ended == 1:
            fault = runner.fault_of(self.records[int(fields[Work.FAULT_THREAD])])
        else:
            live = [r for r in self.records if int(r.fields[Thread.STATUS]) != Status.DONE]
            fault = runner.endings.deadlock(self.records, live)
        place = int(fields[Work.FAULT_GROUP])
        runner.end(fault, int(task.numbers[place]))
        return place


@dataclass(frozen=True, slots=True)
class Task:
    """Groups that workers share: each takes the next `chunk` of them until none is left."""

    numbers: NDArray[np.uint64]
    chunk: int
    shared: NDArray[np.uint64]

    @classmethod
    def of(cls, groups: Sequence[int], workers: int) -> Task:
        """Return a task, in chunks that keep workers equally busy."""
        if isinstance(groups, range):
            numbers = np.arange(groups.start, groups.stop, groups.step).astype(np.uint64)
        else:
            numbers = np.array(groups, np.uint64)
        chunk = max(1, numbers.size // (workers * CHUNKS)) if workers > 1 else numbers.size
        return cls(numbers, chunk, words(int(Shared.SIZE)))

    def stop(self) -> None:
        """Let no worker take more groups."""
        self.shared[Shared.STOP] = 1


class Runner:
    """One run of a range of groups on compiled code."""

    def __init__(
        self,
        kernel: LinkedKernel,
        provide: Callable[[bool, int], Compiled],
        first: Traits,
        dispatch: Dispatch,
        shared: SharedStarts | None,
        machine: Machine,
        options: RunOptions,
        stacks: Stacks,
    ) -> None:
        self.kernel = kernel
        self.provide = provide
        self.first = first
        self.compiled: dict[tuple[bool, int], tuple[Compiled, NDArray[np.uint64]]] = {}
        self.cr0 = kernel.predefined[CR0]
        self.abandoned = False
        self.dispatch: Dispatch = _weak(dispatch)
        self.shared = shared
        self.machine = machine
        self.options = options
        self.stacks = stacks
        self.exit = Exit()
        self.full_mask = (1 << kernel.simd_size) - 1
        self.slm = SharedLocalMemory(dispatch.slm_bytes)
        self.records: list[ThreadRecord] = []
        self.endings = Endings(kernel)
        self.exchange = aligned(EXCHANGE_BYTES)
        self.answers = Answers(kernel, machine, self.slm, self.exchange, lambda: self.is_stopped)
        self.nothing = np.zeros(512, np.uint8)
        self._tables()
        self._work: NativeWork | None = None
        self._caches: list[NDArray[np.uint64]] = []
        self._counters: list[tuple[Compiled, NDArray[np.uint64]]] = []

    def begin(self, options: RunOptions) -> None:
        """Forget the run before."""
        self.options = options
        self.exit = Exit()
        self.answers.refusal = self.answers.failure = None
        self.abandoned = False

    # Tables that native code reads

    def _tables(self) -> None:
        flat = self.machine.memory.allocations
        table = np.zeros((max(1, len(flat)), TABLE_ENTRY // 8), np.uint64)
        for row, one in zip(table, flat, strict=False):
            row[:] = (one.base, one.size, one.writable)
        self.table, self.table_entries = table, len(flat)
        surfaces = np.zeros((BINDING_TABLE_SIZE + 1, SURFACE_ENTRY // 8), np.uint64)
        for index in self.machine.surfaces.bound:
            (one,) = self.machine.surfaces[index].allocations
            writable = one.size if one.writable else 0
            surfaces[index, :3] = (one.host.ctypes.data, one.size, writable)
        self.surfaces = surfaces

    def _context(self, compiled: Compiled, counters: NDArray[np.uint64]) -> NDArray[np.uint64]:
        context = words(int(Context.SIZE))
        count = len(compiled.module.sites.known)
        self._caches.append(words(max(1, count) * CACHE_ENTRY // 8))
        arguments, slm = self.machine.implicit_arguments, self.slm.bytes
        values = {
            Context.CALLBACK: self.answers.address,
            Context.EXCHANGE: self.exchange.ctypes.data,
            Context.SLM: slm.ctypes.data,
            Context.SLM_BYTES: slm.size,
            Context.SCRATCH_BYTES: self.machine.scratch_bytes,
            Context.ARGUMENTS: 0 if arguments is None else arguments.ctypes.data,
            Context.ARGUMENT_BYTES: 0 if arguments is None else arguments.size,
            Context.SURFACES: self.surfaces.ctypes.data,
            Context.TABLE: self.table.ctypes.data,
            Context.TABLE_ENTRIES: self.table_entries,
            Context.CACHE: self._caches[-1].ctypes.data,
            Context.COUNTS: counters.ctypes.data,
            Context.BUDGET: self.options.budget or 0,
            Context.NOTHING: self.nothing.ctypes.data,
        }
        for name, value in values.items():
            context[int(name)] = value
        return context

    # Groups

    def share(self, task: Task) -> int | None:
        """Run groups of a task in native code; return the place of one that faulted.

        Native code makes each thread's registers from what all groups have in common.
        """
        if self._work is None:
            if self.shared is None:
                raise InternalError("a dispatch whose groups have nothing in common")
            self._work = NativeWork(self, self.shared)
        place = self._work.run(task)
        self._count_forms()
        return place

    def singly(self, groups: Sequence[int]) -> None:
        """Run groups one after another, each thread started from Python."""
        self._single_groups(groups)
        self._count_forms()

    def _single_groups(self, groups: Sequence[int]) -> None:
        for group in groups:
            if self.dispatch.slm_bytes:
                self.slm.reset()
            fault = CANCELLED if self.is_stopped else self._group(group)
            if self.answers.failure is not None:
                raise self.answers.failure
            if fault is not None:
                self.end(fault, group)
                break
            self.exit.groups += 1

    @property
    def is_stopped(self) -> bool:
        """Whether the run has to stop."""
        stop = self.options.stop
        return self.abandoned or (stop is not None and stop.is_set())

    def end(self, fault: Fault, group: int) -> None:
        """Note the fault, or the cancellation, that ends the run in a group."""
        place = self.dispatch.group_id(group)
        found = replace(fault, kernel=self.kernel.name, group=place)
        if found.category == CANCELLED.category:
            self.exit.stopped = found
        else:
            self.exit.fault = found

    def _group(self, group: int) -> Fault | None:
        order = list(range(self.dispatch.threads(group)))
        shuffled = random.Random(f"{self.options.seed}:{group}") if self.options.seed else None
        if shuffled:
            shuffled.shuffle(order)
        self.answers.meet(len(order))
        for context in (found[1] for found in self.compiled.values()):
            for name in (Context.ARRIVED, Context.PHASE, Context.SPARE):
                context[int(name)] = 0
        if self.first.has_host_turns:
            threads = [self._start(group, number, slot) for slot, number in enumerate(order)]
            return self._host_turns(threads, shuffled)
        if self.first.uses_stacks and len(order) > 1:
            threads = [self._start(group, number, slot) for slot, number in enumerate(order)]
            return self._take_turns(threads, shuffled)
        for number in order:
            thread = self._start(group, number, 0)
            fault = self._run_alone(thread)
            if fault is not None:
                return fault
        return None

    def _start(self, group: int, number: int, slot: int) -> ThreadRecord:
        start = self.dispatch.start(group, number)
        record = self.record(slot)
        record.number = number
        record.image.fill(0)
        for offset, data in start.registers:
            record.image[offset : offset + len(data)] = np.frombuffer(data, np.uint8)
        record.scratch.fill(0)
        self.fill(record, start, slot)
        self.exit.threads += 1
        return record

    def record(self, slot: int) -> ThreadRecord:
        """Return the record of a slot, made when it is first asked for."""
        while len(self.records) <= slot:
            fields = words(int(Thread.SIZE))
            image = aligned(self.kernel.register_bytes)
            scratch = np.zeros(self.machine.scratch_bytes, np.uint8)
            record = ThreadRecord(len(self.records), fields, image, scratch)
            self.records.append(record)
            self.answers.by_address[record.address] = record
        return self.records[slot]

    def fill(self, record: ThreadRecord, start: ThreadStart, slot: int) -> None:
        """Write how a thread starts into its record."""
        fields = record.fields
        fields.fill(0)
        fields[Thread.IMAGE] = record.image.ctypes.data
        fields[Thread.MASK] = start.mask
        fields[Thread.SCRATCH] = record.scratch.ctypes.data
        fields[Thread.STATUS] = Status.READY if start.mask else Status.DONE
        fields[Thread.SCRATCH_BASE] = record.scratch_base = start.scratch_base
        fields[Thread.TURN_ENDS] = TURN
        record.waits = None
        if self.first.frame_bytes:
            fields[Thread.FRAMES] = self.stacks.frames(slot, self.first.frame_bytes)
        if self.first.uses_stacks:
            fields[Thread.STACK] = fields[Thread.TOP] = self.stacks.top(slot)

    def chosen(self, threads: Sequence[ThreadRecord]) -> tuple[Compiled, NDArray[np.uint64]]:
        """Return the version of the code that threads run, and its context."""
        full = all(int(t.fields[Thread.MASK]) == self.full_mask for t in threads)
        controls = {int(t.image[self.cr0 : self.cr0 + 4].view(np.uint32)[0]) for t in threads}
        control = controls.pop() if len(controls) == 1 else ANY_MODE
        found = self.compiled.get((full, control))
        if found is None:
            compiled = self.provide(full, control)
            if compiled.module.sites.exchange_bytes > self.exchange.size:
                self._widen_exchange(compiled.module.sites.exchange_bytes)
            counters = words(max(1, len(compiled.module.forms)))
            self._counters.append((compiled, counters))
            found = self.compiled[full, control] = (compiled, self._context(compiled, counters))
        self.answers.sites = found[0].module.sites.known
        return found

    def _widen_exchange(self, size: int) -> None:
        self.exchange = aligned(size)
        self.answers.use(self.exchange)
        for _, context in self.compiled.values():
            context[int(Context.EXCHANGE)] = self.exchange.ctypes.data

    def fault_of(self, thread: ThreadRecord) -> Fault:
        """Return the fault with which a thread has stopped."""
        return self.endings.fault_of(thread, self.answers.refusal, self.options.budget)

    def _call(
        self,
        name: str,
        threads: Sequence[ThreadRecord],
        chosen: tuple[Compiled, NDArray[np.uint64]],
    ) -> int:
        compiled, context = chosen
        context[int(Context.THREADS)] = self.answers.group_threads
        pointers = np.array([thread.address for thread in threads], np.uint64)
        return compiled.functions[name](
            int(context.ctypes.data), int(pointers.ctypes.data), len(threads)
        )

    def _run_alone(self, thread: ThreadRecord) -> Fault | None:
        if not int(thread.fields[Thread.MASK]):
            return None
        at = self._call(
            "turns" if self.first.uses_stacks else "run_threads", [thread], self.chosen([thread])
        )
        self.exit.executed += int(thread.fields[Thread.EXECUTED])
        return None if at >= 1 else self.fault_of(thread)

    def _take_turns(
        self, threads: list[ThreadRecord], shuffled: random.Random | None
    ) -> Fault | None:
        """Run all threads from barrier to barrier until they end, or nobody can go on."""
        everyone, fault, chosen = threads, None, self.chosen(threads)
        while True:
            at = self._call("turn" if shuffled else "turns", threads, chosen)
            if at < len(threads):
                fault = self.fault_of(threads[at])
                break
            nobody_ran = at > len(threads)
            threads = [t for t in threads if int(t.fields[Thread.STATUS]) != Status.DONE]
            if nobody_ran or not threads:
                fault = self.endings.deadlock(everyone, threads) if threads else None
                break
            if shuffled:
                shuffled.shuffle(threads)
        self.exit.executed += sum(int(t.fields[Thread.EXECUTED]) for t in everyone)
        return fault

    def _host_turns(
        self, threads: list[ThreadRecord], shuffled: random.Random | None
    ) -> Fault | None:
        """Run all threads in turns; this decides who may go on, as the interpreter does."""
        everyone, fault, chosen = threads, None, self.chosen(threads)
        threads = [t for t in threads if int(t.fields[Thread.STATUS]) != Status.DONE]
        while threads and fault is None:
            ready = [t for t in threads if self.answers.is_ready(t)]
            if not ready:
                fault = self.endings.stalemate(self.answers.meetings.barriers, everyone, threads)
                break
            for thread in ready:
                thread.waits = None
            at = self._call("turn", ready, chosen)
            if at < len(ready):
                fault = self.fault_of(ready[at])
            threads = [t for t in threads if int(t.fields[Thread.STATUS]) != Status.DONE]
            if shuffled:
                shuffled.shuffle(threads)
        self.exit.executed += sum(int(t.fields[Thread.EXECUTED]) for t in everyone)
        return fault

    def _count_forms(self) -> None:
        if not self.options.count_forms:
            return
        for compiled, counters in self._counters:
            for forms, count in zip(compiled.module.forms, counters, strict=False):
                for form in forms if count else ():
                    self.exit.forms[form] = self.exit.forms.get(form, 0) + int(count)
            counters.fill(0)


def _weak(dispatch: Dispatch) -> Dispatch:
    """Return a reference that does not keep a dispatch alive, where its class allows that."""
    try:
        return weakref.proxy(dispatch)
    except TypeError:
        return dispatch


def shared_starts(dispatch: Dispatch) -> SharedStarts | None:
    """Return what a dispatch's groups have in common, if it knows."""
    describe = getattr(dispatch, "shared_starts", None)
    return None if describe is None else describe()


__all__ = ["Compiled", "Runner", "Stacks"]
