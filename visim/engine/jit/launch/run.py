"""Running compiled kernels: the tables that native code reads, groups and their threads' turns."""

from __future__ import annotations

import random
import time
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from visim.engine.barriers import Barriers
from visim.engine.base import (
    Dispatch,
    Exit,
    Lookout,
    Machine,
    RunOptions,
    SharedStarts,
    ThreadStart,
)
from visim.engine.faults import CANCELLED
from visim.engine.jit.analysis.blocks import ANY_MODE, CR0
from visim.engine.jit.common.entries import scheduler
from visim.engine.jit.launch.answers import Aim, Answers, Halt, Target, alive
from visim.engine.jit.launch.barriers import KeptBarriers
from visim.engine.jit.launch.endings import Endings
from visim.engine.jit.launch.images import Images
from visim.engine.jit.launch.kept import Compiled
from visim.engine.jit.launch.records import (
    Stacks,
    ThreadRecord,
    new_records,
    octets_of,
    unstarted,
    words,
)
from visim.engine.jit.launch.tables import Tables
from visim.engine.jit.launch.tallies import Tallies
from visim.engine.jit.launch.watching import Watcher
from visim.engine.jit.layout import (
    CACHE_ENTRY,
    EXCHANGE_BYTES,
    LOOP_NOTES,
    SLM_MARGIN,
    Context,
    Status,
    Thread,
)
from visim.engine.jit.writing.versions import Traits, Way
from visim.engine.observers import NOBODY, BlockPlace, Observers
from visim.errors import Fault
from visim.linker.program import LinkedKernel
from visim.machine.allocations import aligned_zeros
from visim.machine.surfaces import SharedLocalMemory

_MEMORY = Struct("5Q")
"""The fields of a context from `Context.ARGUMENTS` to `Context.TABLE_ENTRIES`."""


_NO_OPTIONS = RunOptions()
_MOST_BUDGET = (1 << 63) - 1
"""No thread gets as far as budgets that native code cannot hold."""


class Runner:
    """One worker of a launch: runs ranges of its groups on compiled code.

    It is made for launches of one form (see `teams`), and aimed at one of them at a time: at the
    target that `aim` has for its `number`.
    """

    def __init__(
        self,
        kernel: LinkedKernel,
        provide: Callable[[bool, int], Compiled],
        first: Traits,
        aim: Aim,
        number: int,
        options: RunOptions,
        halt: Halt,
        stacks: Stacks,
    ) -> None:
        self.kernel = kernel
        self.provide = provide
        self.first = first
        self.compiled: dict[tuple[bool, int], tuple[Compiled, NDArray[np.uint64]]] = {}
        self.cr0 = kernel.predefined[CR0]
        self.halt = halt
        self.options = options
        self.stacks = stacks
        self.exit = Exit()
        self.compile_s = 0.0
        self.full_mask = (1 << kernel.simd_size) - 1
        self._aim, self._number = aim, number
        target = self.target
        self.slm = _local_memory(target.dispatch.slm_bytes)
        self.records: list[ThreadRecord] = []
        self.endings = Endings(kernel)
        named = kernel.platform.has_named_barriers
        self.barriers = KeptBarriers(first.barriers, has_named=named)
        self.exchange = aligned_zeros(EXCHANGE_BYTES)
        self.watcher = Watcher(kernel, target.dispatch)
        self.answers = Answers(kernel, self.slm, self.exchange, self, self.watcher)
        self.tables = Tables()
        self.images = Images()
        self._caches: list[NDArray[np.uint64]] = []
        self._tallies: list[Tallies] = []
        self._counters: list[tuple[Compiled, NDArray[np.uint64]]] = []
        self._memory: tuple[int, ...] = ()
        self.block_counts: Counter[BlockPlace] = Counter()
        self._fresh_for: RunOptions | None = None
        self.counts = False
        """Whether somebody wants to know how often blocks are executed."""
        threads = None if target.shared is None else len(target.shared.starts)
        self.way = first.way(threads, looks_inside=looks_inside(options))
        self.has_stacks = self.way is Way.STACKED
        self.show()

    def show(self) -> None:
        """Show native code the memory of the launch that it is aimed at, and no other."""
        target = self.target
        if self.tables.show(target.shown):
            for cache in self._caches:
                cache.fill(0)
            for tallies in self._tallies:
                tallies.forget(target.machine.surfaces)
        machine, images, tables = target.machine, self.images, self.tables
        images.fill(machine.surfaces)
        arguments = machine.implicit_arguments
        place, size = (0, 0) if arguments is None else (int(arguments.ctypes.data), arguments.size)
        at = tables.surfaces_at, tables.flat_at, tables.flat_entries, images.address
        if (place, size, *at) != self._memory:
            self._memory = place, size, *at
            for _, context in self.compiled.values():
                self._point(context)

    @property
    def target(self) -> Target:
        """What the worker is aimed at."""
        return alive(self._aim.targets[self._number])

    @property
    def dispatch(self) -> Dispatch:
        """The launch's groups."""
        return self.target.dispatch

    @property
    def shared(self) -> SharedStarts | None:
        """What the threads of all groups of the launch have in common, if anything."""
        return self.target.shared

    @property
    def machine(self) -> Machine:
        """The launch's memory."""
        return self.target.machine

    @property
    def private(self) -> NDArray[np.uint8] | None:
        """Private memory of the worker's threads."""
        return self.target.private

    def rest(self) -> None:
        """End a run: say what native code has counted, let go of those that have observed it."""
        dropped = self.tables.take_dropped()
        if dropped:
            self.machine.surfaces.note_dropped_reads(dropped)
        if self.images.address:
            self.images.note_missed(self.machine.surfaces)
        self.options = _NO_OPTIONS
        if self.watcher.observers is not NOBODY:
            self.watcher.watch(())

    def begin_again(self, options: RunOptions) -> None:
        """Begin another run, of which nothing is noted here unless it ends before its time."""
        if options is self._fresh_for and self.answers.failure is None:
            self.options = options
            return
        self.begin(options)
        # Options with observers would keep these alive.
        notes = self.counts or options.observers or options.stop is not None
        self._fresh_for = None if notes else options

    def begin(self, options: RunOptions) -> None:
        """Forget the run before."""
        self.options = options
        self.exit = Exit(0, 0, 0, {})
        self.compile_s = 0.0
        answers, watcher = self.answers, self.watcher
        if options.observers or watcher.observers is not NOBODY:
            watcher.dispatch = self.dispatch
            watcher.watch(options.observers, self.machine.memory.stretches)
        answers.refusal = answers.failure = None
        self.counts = options.count_forms
        if watcher.observers is not NOBODY and watcher.observers.block_counts:
            self.counts = True
        if self.counts:
            self.block_counts.clear()
            for _, counters in self._counters:
                counters.fill(0)

    def _context(self, compiled: Compiled, counters: NDArray[np.uint64]) -> NDArray[np.uint64]:
        context = words(int(Context.SIZE))
        count = len(compiled.facts.places)
        self._caches.append(words(LOOP_NOTES + max(1, count) * CACHE_ENTRY // 8))
        values = {
            Context.CALLBACK: self.answers.address,
            Context.EXCHANGE: self.exchange.ctypes.data,
            Context.SLM: self.slm.bytes.ctypes.data,
            Context.SCRATCH_BYTES: self.machine.scratch_bytes,
            Context.CACHE: self._caches[-1][LOOP_NOTES:].ctypes.data,
            Context.COUNTS: counters.ctypes.data,
            Context.KERNEL: compiled.kernel,
            Context.BARRIERS: self.barriers.address,
            Context.BARRIER_COUNT: self.barriers.count,
            Context.BUDGET: min(self.options.budget or 0, _MOST_BUDGET),
            Context.WATCHED: self.shared is not None and self.watcher.is_ordered,
        }
        for name, value in values.items():
            context[int(name)] = value
        self._point(context)
        facts = compiled.facts
        if facts.adding:
            allowed = self.shared is not None
            tallies = Tallies(context, count, facts.adding, facts.surfaces, allowed=allowed)
            tallies.forget(self.machine.surfaces)
            self._tallies.append(tallies)
        return context

    def _point(self, context: NDArray[np.uint64]) -> None:
        """Tell native code where the memory of the launch is."""
        *found, images = self._memory
        _MEMORY.pack_into(octets_of(context), 8 * Context.ARGUMENTS, *found)
        context[int(Context.IMAGES)] = images

    # Groups

    def singly(self, groups: Sequence[int]) -> None:
        """Run groups one after another, each thread started from Python."""
        self._single_groups(groups)
        if self.counts:
            self.take_counts()

    def _single_groups(self, groups: Sequence[int]) -> None:
        for group in groups:
            if self.dispatch.slm_bytes:
                self.slm.reset()
            fault = CANCELLED.unplaced() if self.is_stopped else self._group(group)
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
        return self.halt.wanted or (stop is not None and stop.is_set())

    @property
    def lookout(self) -> Lookout | None:
        """Who may ask where threads are."""
        stop = self.options.stop
        return stop if isinstance(stop, Lookout) else None

    def end(self, fault: Fault, group: int) -> None:
        """Note the fault, or the cancellation, that ends the run in a group."""
        self._fresh_for = None
        place = self.dispatch.group_id(group)
        found = replace(fault, kernel=self.kernel.name, group=place)
        if found.category == CANCELLED.category:
            self.exit.stopped = found
        else:
            self.exit.fault = found

    def _group(self, group: int) -> Fault | None:
        """Run the threads of a group in the order that the seed chooses; return a fault, if any."""
        order = list(range(self.dispatch.threads(group)))
        shuffled = random.Random(f"{self.options.seed}:{group}") if self.options.seed else None
        if shuffled:
            shuffled.shuffle(order)
        self.answers.meet(len(order))
        self.watcher.begin_group(group, len(order))
        for context in (found[1] for found in self.compiled.values()):
            for name in (Context.ARRIVED, Context.PHASE, Context.SPARE, Context.FIRST):
                context[int(name)] = 0
        self.barriers.clear()
        if self.first.has_host_turns:
            threads = [self._start(group, number, slot) for slot, number in enumerate(order)]
            return self._host_turns(threads, shuffled)
        if self.has_stacks and (len(order) > 1 or self.barriers.count):
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
        self.reserve(slot + 1)
        record = self.records[slot]
        record.number = number
        record.clear()
        self.fill(record, start, slot)
        self.watcher.begin_thread(record)
        self.exit.threads += 1
        return record

    def reserve(self, count: int) -> None:
        """Have records of so many threads."""
        known, sizes = len(self.records), (self.kernel.register_bytes, self.machine.scratch_bytes)
        more = new_records(known, max(0, count - known), *sizes, self.barriers.count)
        for one in more:
            self.records.append(one)
            self.answers.by_address[one.address] = one

    def fill(self, record: ThreadRecord, start: ThreadStart, slot: int) -> None:
        """Write how a thread starts into the record of a slot."""
        record.fill(start)
        fields = record.fields
        if self.first.frame_bytes:
            fields[Thread.FRAMES] = self.stacks.frames(slot, self.first.frame_bytes)
        if self.way is not Way.ALONE:
            fields[Thread.TOP] = self.stacks.top(slot)

    def chosen(self, threads: Sequence[ThreadRecord]) -> tuple[Compiled, NDArray[np.uint64]]:
        """Return the version of the code that threads run, and its context."""
        full = all(int(t.fields[Thread.MASK]) == self.full_mask for t in threads)
        place = slice(self.cr0, self.cr0 + 4)
        controls = {int.from_bytes(t.octets[place], "little") for t in threads}
        control = controls.pop() if len(controls) == 1 else ANY_MODE
        found = self.compiled.get((full, control))
        if found is None:
            began = time.perf_counter()
            compiled = self.provide(full, control)
            self.compile_s += time.perf_counter() - began
            if compiled.facts.exchange_bytes > self.exchange.size:
                self._widen_exchange(compiled.facts.exchange_bytes)
            counters = words(max(1, len(compiled.facts.forms)))
            self._counters.append((compiled, counters))
            found = self.compiled[full, control] = (compiled, self._context(compiled, counters))
        self.answers.code = found[0]
        facts = found[0].facts
        self.watcher.places, self.watcher.sites = facts.blocks, facts.watched
        return found

    def _widen_exchange(self, size: int) -> None:
        self.exchange = aligned_zeros(size)
        self.answers.use(self.exchange)
        for _, context in self.compiled.values():
            context[int(Context.EXCHANGE)] = self.exchange.ctypes.data

    def fault_of(self, thread: ThreadRecord) -> Fault:
        """Return the fault with which a thread has stopped."""
        return self.endings.fault_of(thread, self.answers.refusal, self.options.budget)

    def deadlock(self, everyone: Sequence[ThreadRecord], waiting: Sequence[ThreadRecord]) -> Fault:
        """Return the fault of a group whose threads have ended, or wait and cannot go on."""
        if not self.barriers.count:
            return self.endings.deadlock(everyone, waiting)
        return self.endings.stalemate(self.barriers.restored(everyone), everyone, waiting)

    def kept_barriers(self) -> Barriers | None:
        """Return the barriers of the group at hand, if native code keeps them."""
        if not self.barriers.count:
            return None
        shared = self.shared
        threads = self.answers.group_threads if shared is None else len(shared.starts)
        return self.barriers.restored(self.records[:threads])

    def _call(
        self,
        name: str,
        threads: Sequence[ThreadRecord],
        chosen: tuple[Compiled, NDArray[np.uint64]],
    ) -> int:
        _, context = chosen
        context[int(Context.THREADS)] = self.answers.group_threads
        pointers = np.array([thread.address for thread in threads], np.uint64)
        return scheduler().functions[name](
            int(context.ctypes.data), int(pointers.ctypes.data), len(threads)
        )

    def _run_alone(self, thread: ThreadRecord) -> Fault | None:
        self.watcher.begin_turn([thread])
        fault = None
        if int(thread.fields[Thread.MASK]):
            name = "turns" if self.has_stacks else "run_threads"
            at = self._call(name, [thread], self.chosen([thread]))
            self.exit.executed += int(thread.fields[Thread.EXECUTED])
            fault = self.fault_of(thread) if at < 1 else None
        thread.fields[Thread.STATUS] = Status.DONE
        self.watcher.end_turn(thread if fault else None)
        return fault

    def _take_turns(
        self, threads: list[ThreadRecord], shuffled: random.Random | None
    ) -> Fault | None:
        """Run all threads from barrier to barrier until they end, or nobody can go on."""
        everyone, fault, chosen = threads, None, self.chosen(threads)
        by_turns = shuffled is not None or self.watcher.is_ordered
        while True:
            self.watcher.begin_turn(threads)
            at = self._call("turn" if by_turns else "turns", threads, chosen)
            self.watcher.end_turn(threads[at] if at < len(threads) else None)
            if at < len(threads):
                fault = self.fault_of(threads[at])
                self.exit.threads -= unstarted(threads)
                break
            nobody_ran = at > len(threads)
            threads = [t for t in threads if int(t.fields[Thread.STATUS]) != Status.DONE]
            if nobody_ran or not threads:
                fault = self.deadlock(everyone, threads) if threads else None
                break
            if self.is_stopped:
                fault = self.endings.cancelled(threads[0])
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
        self.watcher.begin_turn(everyone)
        threads = [t for t in threads if int(t.fields[Thread.STATUS]) != Status.DONE]
        while threads and fault is None:
            ready = [t for t in threads if self.answers.is_ready(t)]
            if not ready:
                fault = self.endings.stalemate(self.answers.meetings.barriers, everyone, threads)
                break
            for thread in ready:
                thread.waits = None
            at = self._call("turn", ready, chosen)
            self.watcher.end_turn(ready[at] if at < len(ready) else None)
            if at < len(ready):
                fault = self.fault_of(ready[at])
                self.exit.threads -= unstarted(ready)
            threads = [t for t in threads if int(t.fields[Thread.STATUS]) != Status.DONE]
            if threads and fault is None and self.is_stopped:
                fault = self.endings.cancelled(threads[0])
            if shuffled:
                shuffled.shuffle(threads)
            self.watcher.begin_turn(threads)
        self.watcher.end_turn()
        self.exit.executed += sum(int(t.fields[Thread.EXECUTED]) for t in everyone)
        return fault

    def take_counts(self) -> None:
        """Note how often blocks were executed."""
        for compiled, counters in self._counters:
            facts = compiled.facts
            for number in np.flatnonzero(counters).tolist():
                count = int(counters[number])
                self.block_counts[facts.blocks[number]] += count
                for form in facts.forms[number] if self.options.count_forms else ():
                    self.exit.forms[form] = self.exit.forms.get(form, 0) + count
            counters.fill(0)


def _local_memory(size: int) -> SharedLocalMemory:
    """Return shared local memory whose rows are in few cache lines, with its margins."""
    room = aligned_zeros(size + 2 * SLM_MARGIN)
    return SharedLocalMemory(size, room[SLM_MARGIN : SLM_MARGIN + size])


def looks_inside(options: RunOptions) -> bool:
    """Return whether somebody wants to know more of threads than their memory and their count."""
    observers = Observers(options.observers)
    follows = bool(options.observers) and (observers.is_ordered or not observers.watches_only)
    return options.budget is not None or options.count_forms or follows


def weakly(dispatch: Dispatch) -> Dispatch:
    """Return a reference that does not keep a dispatch alive, where its class allows that."""
    try:
        return weakref.proxy(dispatch)
    except TypeError:
        return dispatch


def shared_starts(dispatch: Dispatch) -> SharedStarts | None:
    """Return what a dispatch's groups have in common, if it knows."""
    describe = getattr(dispatch, "shared_starts", None)
    return None if describe is None else describe()


__all__ = ["Runner"]
