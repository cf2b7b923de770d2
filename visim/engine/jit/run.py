"""Running compiled kernels: thread records, memory tables, the callback, faults.

Everything that is not the common case ends here: accesses that native code does not do itself go
to the reference memory, whose refusals become the same faults as the interpreter's.
"""

from __future__ import annotations

import ctypes
import mmap
import random
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.engine.barriers import BarrierMisuse, Ticket
from visim.engine.base import Dispatch, Exit, Machine, RunOptions, SharedStarts, ThreadStart
from visim.engine.faults import fault_at, memory_fault, place_name
from visim.engine.interp import CALL_DEPTH, TURN
from visim.engine.jit.blocks import ANY_MODE, CR0
from visim.engine.jit.callouts import WAIT, CallOut
from visim.engine.jit.hosting import FusedApart, Host, Meetings
from visim.engine.jit.layout import (
    CACHE_ENTRY,
    EXCHANGE_BYTES,
    EXCHANGE_DATA,
    POLL,
    SURFACE_ENTRY,
    TABLE_ENTRY,
    Context,
    FaultKind,
    Shared,
    Status,
    Thread,
    Work,
)
from visim.engine.jit.messages import SiteInfo
from visim.engine.jit.module import ModuleText, Traits
from visim.engine.jit.native import NativeCode
from visim.engine.plan import Context as HostContext
from visim.errors import Fault, InternalError
from visim.linker.program import LinkedKernel
from visim.machine.memory import Allocation, MemoryViolation, Space
from visim.machine.surfaces import BINDING_TABLE_SIZE, SharedLocalMemory, Window
from visim.sem.effects import Atomic, Load, LoadBlock, Message, Store, StoreBlock, Yield
from visim.sem.effects import Space as SpaceKind

_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p
)
_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
CHUNKS = 16
"""How often each worker comes back for more groups, about."""

CANCELLED = Fault("cancelled", "cancelled", "the launch was cancelled")
STACK_BYTES = 1 << 20
DEEP_STACK_BYTES = 1 << 30


@dataclass
class Compiled:
    """A version of a kernel as machine code."""

    module: ModuleText
    code: NativeCode

    def __post_init__(self) -> None:
        self.functions = {name: _ENTRY(a) for name, a in self.code.addresses.items()}


@dataclass
class ThreadRecord:
    """What a hardware thread has while it runs: fields that native code knows, and its memory."""

    number: int
    fields: NDArray[np.uint64]
    image: NDArray[np.uint8]
    scratch: NDArray[np.uint8]
    scratch_base: int = 0
    waits: Ticket | None = None

    @property
    def address(self) -> int:
        """Where native code finds the fields."""
        return int(self.fields.ctypes.data)


@dataclass
class Stacks:
    """Stacks that threads run on, kept from launch to launch.

    Beside them are stacks of the calls that subroutines which call themselves have open.
    """

    size: int
    mapped: list[mmap.mmap] = field(default_factory=list[mmap.mmap])
    tops: list[int] = field(default_factory=list[int])
    calls: list[int] = field(default_factory=list[int])

    def top(self, number: int) -> int:
        """Return the end of stack `number`."""
        while len(self.tops) <= number:
            self.tops.append((self._map(self.size) + self.size) & ~63)
        return self.tops[number]

    def frames(self, number: int, size: int) -> int:
        """Return the start of the stack of open calls `number`, which is always asked for alike."""
        while len(self.calls) <= number:
            self.calls.append(self._map(size))
        return self.calls[number]

    def _map(self, size: int) -> int:
        """Return where pages begin that take no memory until they are used."""
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
        self.mapped.append(mmap.mmap(-1, size, flags=flags))
        return ctypes.addressof(ctypes.c_char.from_buffer(self.mapped[-1]))


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
        self.fields = _words(int(Work.SIZE))
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
        if runner.failure is not None:
            raise runner.failure
        runner.exit.groups += int(fields[Work.DONE_GROUPS])
        runner.exit.threads += int(fields[Work.STARTED])
        runner.exit.executed += int(fields[Work.EXECUTED])
        if not ended:
            return None
        if ended == 1:
            fault = runner.fault_of(self.records[int(fields[Work.FAULT_THREAD])])
        else:
            live = [r for r in self.records if int(r.fields[Thread.STATUS]) != Status.DONE]
            fault = runner.deadlock(self.records, live)
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
        return cls(numbers, chunk, _words(int(Shared.SIZE)))

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
        self.group_threads = 1
        self.full_mask = (1 << kernel.simd_size) - 1
        self.refusal: Fault | None = None
        self.failure: BaseException | None = None
        self.slm = SharedLocalMemory(dispatch.slm_bytes)
        self.records: list[ThreadRecord] = []
        self.by_address: dict[int, ThreadRecord] = {}
        self.meetings = Meetings(1)
        self.nothing = np.zeros(512, np.uint8)
        self.callback = _CALLBACK(self._callout)
        self.sites: list[SiteInfo | CallOut] = []
        self._tables()
        self._make_exchange(EXCHANGE_BYTES)
        self._work: NativeWork | None = None
        self._caches: list[NDArray[np.uint64]] = []
        self._counters: list[tuple[Compiled, NDArray[np.uint64]]] = []

    def begin(self, options: RunOptions) -> None:
        """Forget the run before."""
        self.options = options
        self.exit = Exit()
        self.refusal = self.failure = None
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
        arguments = self.machine.implicit_arguments
        self.arguments: Space | None = None
        if arguments is not None:
            allocation = Allocation("implicit arguments", arguments, False, 0)
            self.arguments = Window("flat", [allocation])

    def _make_exchange(self, size: int) -> None:
        """Make the area through which native code and the host exchange values."""
        self.exchange = _aligned(size)
        self.host = Host(self.kernel, self.exchange, self._host_context())
        for _, context in self.compiled.values():
            context[int(Context.EXCHANGE)] = self.exchange.ctypes.data

    def _host_context(self) -> HostContext:
        """Return what the interpreter's code reaches; registers are not among it."""
        machine, nothing = self.machine, np.zeros(0, np.uint8)
        context = HostContext(nothing, np.zeros(0, np.bool_))
        context.flat, context.surfaces = machine.memory, machine.surfaces
        context.slm, context.arguments = self.slm, self.arguments
        return context

    def _context(self, compiled: Compiled, counters: NDArray[np.uint64]) -> NDArray[np.uint64]:
        context = _words(int(Context.SIZE))
        count = len(compiled.module.sites.known)
        self._caches.append(_words(max(1, count) * CACHE_ENTRY // 8))
        arguments, slm = self.machine.implicit_arguments, self.slm.bytes
        callback = ctypes.cast(self.callback, ctypes.c_void_p).value or 0
        values = {
            Context.CALLBACK: callback,
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
            if self.failure is not None:
                raise self.failure
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
        self.group_threads = len(order)
        for context in (found[1] for found in self.compiled.values()):
            for name in (Context.ARRIVED, Context.PHASE, Context.SPARE):
                context[int(name)] = 0
        if self.first.has_host_turns:
            self.meetings = Meetings(len(order))
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
            fields = _words(int(Thread.SIZE))
            image = _aligned(self.kernel.register_bytes)
            scratch = np.zeros(self.machine.scratch_bytes, np.uint8)
            record = ThreadRecord(len(self.records), fields, image, scratch)
            self.records.append(record)
            self.by_address[record.address] = record
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
                self._make_exchange(compiled.module.sites.exchange_bytes)
            counters = _words(max(1, len(compiled.module.forms)))
            self._counters.append((compiled, counters))
            found = self.compiled[full, control] = (compiled, self._context(compiled, counters))
        self.sites = found[0].module.sites.known
        return found

    def _call(
        self,
        name: str,
        threads: Sequence[ThreadRecord],
        chosen: tuple[Compiled, NDArray[np.uint64]],
    ) -> int:
        compiled, context = chosen
        context[int(Context.THREADS)] = self.group_threads
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
                fault = self.deadlock(everyone, threads) if threads else None
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
            ready = [t for t in threads if self._is_ready(t)]
            if not ready:
                fault = self._stalemate(everyone, threads)
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

    def _is_ready(self, thread: ThreadRecord) -> bool:
        return thread.waits is None or self.meetings.barriers.is_over(thread.waits)

    def _count_forms(self) -> None:
        if not self.options.count_forms:
            return
        for compiled, counters in self._counters:
            for forms, count in zip(compiled.module.forms, counters, strict=False):
                for form in forms if count else ():
                    self.exit.forms[form] = self.exit.forms.get(form, 0) + int(count)
            counters.fill(0)

    # The callback

    def _callout(self, site: int, mask: int, surface: int, thread: int) -> int:
        """Do what native code asks for; return 1 when it is refused, `WAIT` to let others run."""
        record = self.by_address[thread]
        try:
            if site == POLL % 2**64:
                return self._poll(record)
            found = self.sites[site]
            if isinstance(found, CallOut):
                return self._host_call(found, surface, record)
            self._perform(found, mask, surface, record)
        except MemoryViolation as violation:
            found = self.sites[site]
            instruction = self.kernel.units[found.unit].body[found.pc]
            self.refusal = memory_fault(instruction, record.number, violation)
            return 1
        except BaseException as error:
            self.failure = error
            self.refusal = self._cancelled(record)
            return 1
        return 0

    def _cancelled(self, record: ThreadRecord) -> Fault:
        pc = int(record.fields[Thread.PC])
        return self._fault(record, pc, CANCELLED.category, CANCELLED.code, CANCELLED.message)

    def _poll(self, record: ThreadRecord) -> int:
        """Look whether the run has to stop; the host's signals are noticed here, too."""
        if not self.is_stopped:
            return 0
        self.refusal = self._cancelled(record)
        return 1

    def _host_call(self, site: CallOut, control: int, record: ThreadRecord) -> int:
        effect = site.effect
        if effect is None or isinstance(effect, Message):
            if getattr(effect, "space", None) is SpaceKind.SCRATCH:
                self.host.context.scratch = self._scratch(record)
            self.host.run(site, control)
            return 0
        try:
            views = self.host.views(site)
            record.waits = self.meetings.perform(record.number, effect, site, views)
        except (BarrierMisuse, FusedApart) as misuse:
            code = "fused-apart" if isinstance(misuse, FusedApart) else "barrier-misuse"
            instruction = self.kernel.units[site.unit].body[site.pc]
            self.refusal = fault_at(instruction, record.number, "undefined", code, str(misuse))
            return 1
        if isinstance(effect, Yield):
            return WAIT
        alone = self.group_threads == 1 and self._is_ready(record)
        return 0 if record.waits is None or alone else WAIT

    def _perform(self, site: SiteInfo, mask: int, surface: int, thread: ThreadRecord) -> None:
        effect, data = site.effect, self.exchange[EXCHANGE_DATA:]
        space = self._space(effect.space, thread)
        index = (surface,) if effect.space is SpaceKind.SURFACE else ()
        if isinstance(effect, LoadBlock | StoreBlock):
            address = int(self.exchange[:8].view(np.uint64)[0])
            if isinstance(effect, LoadBlock):
                size = effect.count * effect.type.bytes
                data[:size] = space.load_block(*index, address, size)
            else:
                size = effect.value.lanes * effect.value.type.bytes
                space.store_block(*index, address, data[:size].copy())
            return
        lanes = effect.addresses.lanes
        addresses = self.exchange[: 8 * lanes].view(np.uint64).astype(effect.addresses.type.numpy)
        on = np.array([mask >> lane & 1 for lane in range(lanes)], np.bool_)
        match effect:
            case Load():
                dtype = np.dtype(effect.type.numpy)
                found = space.load(*index, addresses, on, dtype, effect.components)
                _put(data, found.reshape(lanes, effect.components).T)
            case Store():
                columns = [
                    _vector(data, position, value.type.numpy, lanes)
                    for position, value in enumerate(effect.values)
                ]
                values = columns[0] if len(columns) == 1 else np.stack(columns, axis=1)
                space.store(*index, addresses, on, values, len(columns))
            case Atomic():
                dtype = np.dtype(effect.type.numpy)
                operands = [
                    _vector(data, position, operand.type.numpy, lanes)
                    for position, operand in enumerate(effect.operands)
                ]
                found = self._atomic(space, index, effect, addresses, on, dtype, operands)
                _put(data, found)

    @staticmethod
    def _atomic(
        space: Any,
        index: tuple[int, ...],
        effect: Atomic,
        addresses: NDArray[Any],
        on: NDArray[np.bool_],
        dtype: np.dtype[Any],
        operands: list[NDArray[Any]],
    ) -> NDArray[Any]:
        if index:
            return space.atomic(*index, effect.operation, addresses, on, dtype, *operands)
        return space.atomic(effect.operation, addresses, on, dtype, *operands)

    def _space(self, kind: SpaceKind, thread: ThreadRecord) -> Any:
        match kind:
            case SpaceKind.FLAT:
                return self.machine.memory
            case SpaceKind.SURFACE:
                return self.machine.surfaces
            case SpaceKind.SLM:
                return self.slm
            case SpaceKind.SCRATCH:
                return self._scratch(thread)
            case SpaceKind.ARGUMENT:
                if self.arguments is None:
                    raise InternalError("implicit arguments are read, but the launch has none")
                return self.arguments

    def _scratch(self, thread: ThreadRecord) -> Space:
        machine = self.machine
        parts = [Allocation("scratch", thread.scratch, True, thread.scratch_base)]
        if machine.implicit_arguments is not None:
            data = machine.implicit_arguments
            parts.append(Allocation("implicit arguments", data, False, machine.implicit_base))
        return Window("scratch", parts)

    # Faults

    def fault_of(self, thread: ThreadRecord) -> Fault:
        """Return the fault with which a thread has stopped."""
        fields = thread.fields
        kind, pc = FaultKind(int(fields[Thread.FAULT])), int(fields[Thread.PC])
        address, channel = int(fields[Thread.ADDRESS]), int(fields[Thread.CHANNEL])
        match kind:
            case FaultKind.MEMORY | FaultKind.HOST:
                if self.refusal is None:
                    raise InternalError("native code reports a refusal that the host does not know")
                return self.refusal
            case FaultKind.REGISTER:
                message = (
                    f"an indirect operand reaches register byte {address}, outside its variable"
                )
                found = self._fault(thread, pc, "undefined", "register-access", message)
                return replace(found, channel=channel, address=address)
            case FaultKind.REFUSED:
                return self._refusal(thread, pc)
            case FaultKind.BUDGET:
                message = f"the thread executed more than {self.options.budget} instructions"
                return self._fault(thread, pc, "out-of-contract", "instruction-budget", message)
            case FaultKind.PASSED_WAITING:
                effects = self._transfer_label(thread, pc)
                message = f"the jump to {effects} passes a label where channels wait"
                return self._fault(thread, pc, "undefined", "jump-over-waiting", message)
            case FaultKind.SWITCH_INDEX:
                count = len(getattr(self._instruction(thread, pc), "labels", ()))
                message = f"the index is {address}, there are {count} labels"
                return self._fault(thread, pc, "undefined", "switch-index", message)
            case FaultKind.BAD_HANDLE:
                message = f"0x{address:x} is not the handle of a function"
                return self._fault(thread, pc, "undefined", "bad-function-handle", message)
            case FaultKind.CALL_DEPTH:
                message = f"more than {CALL_DEPTH} calls are open"
                return self._fault(thread, pc, "out-of-contract", "call-depth", message)

    def _transfer_label(self, thread: ThreadRecord, pc: int) -> str:
        return str(getattr(self._instruction(thread, pc), "label", ""))

    def _refusal(self, thread: ThreadRecord, pc: int) -> Fault:
        from visim.engine.jit.blocks import UnitCode

        unit = self.kernel.units[int(thread.fields[Thread.UNIT])]
        block = UnitCode(self.kernel, unit).block(pc)
        refusal = next(step.refusal for step in block.steps if step.refusal is not None)
        category = "undefined" if refusal.undefined else "unsupported"
        return self._fault(thread, pc, category, "not-executable", refusal.reason)

    def _instruction(self, thread: ThreadRecord, pc: int) -> Any:
        body = self.kernel.units[int(thread.fields[Thread.UNIT])].body
        return body[min(pc, len(body) - 1)]

    def _fault(
        self, thread: ThreadRecord, pc: int, category: str, code: str, message: str
    ) -> Fault:
        return fault_at(self._instruction(thread, pc), thread.number, category, code, message)

    def deadlock(self, everyone: list[ThreadRecord], waiting: list[ThreadRecord]) -> Fault:
        """Return the fault of a group none of whose threads, all at barriers, can go on."""
        self.meetings = Meetings(len(everyone))
        for thread in waiting:
            self.meetings.barriers.signal(thread.number)
        for thread in waiting:
            thread.waits = self.meetings.barriers.wait(thread.number)
        return self._stalemate(everyone, waiting)

    def _stalemate(self, everyone: list[ThreadRecord], waiting: list[ThreadRecord]) -> Fault:
        places: dict[int, tuple[str, Ticket]] = {}
        for thread in waiting:
            if thread.waits is not None:
                unit = self.kernel.units[int(thread.fields[Thread.UNIT])]
                pc = int(thread.fields[Thread.PC]) - 1
                places[thread.number] = place_name(unit.unit.name, unit.body[pc]), thread.waits
        numbers = [thread.number for thread in everyone]
        message = self.meetings.barriers.stalemate(places, numbers)
        pc = int(waiting[0].fields[Thread.PC]) - 1
        return self._fault(waiting[0], pc, "undefined", "barrier-deadlock", message)


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


def _words(count: int) -> NDArray[np.uint64]:
    """Return zeros in cache lines of their own, so that workers do not slow each other down."""
    return _aligned(8 * count + 128)[: 8 * count].view(np.uint64)


def _aligned(size: int) -> NDArray[np.uint8]:
    raw = np.zeros(size + 64, np.uint8)
    start = -int(raw.ctypes.data) % 64
    return raw[start : start + size]


def _vector(data: NDArray[np.uint8], position: int, dtype: str, lanes: int) -> NDArray[Any]:
    size = np.dtype(dtype).itemsize * lanes
    return data[position * size : (position + 1) * size].copy().view(dtype)


def _put(data: NDArray[np.uint8], values: NDArray[Any]) -> None:
    octets = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    data[: octets.size] = octets


__all__ = ["Compiled", "Runner", "Stacks"]
