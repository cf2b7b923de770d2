"""Running groups in the interpreter: turns of their threads, control flow, and how they end.

Divergence follows one rule (specification 3, Branch Instructions): each channel has a program
counter, the machine executes the lowest one, and the channels that have it are active. A forward
or backward goto, the reconvergence at labels and a scalar goto that passes waiting channels all
follow from it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from visim.engine.barriers import BarrierMisuse, Barriers, Ticket
from visim.engine.base import CALL_DEPTH, TURN, Dispatch, Exit, Lookout, Machine, RunOptions
from visim.engine.blocks import Block, BlockTable, Ending, Unready
from visim.engine.faults import (
    CANCELLED,
    TOO_DEEP,
    Stop,
    bad_handle,
    fault_at,
    jump_over_waiting,
    memory_fault,
    not_executable,
    over_budget,
    place_name,
    register_reach,
    switch_index,
)
from visim.engine.frames import Exchange, Frame, Thread
from visim.engine.kernel_image import CHANNELS, KernelImage
from visim.engine.lanes import RegisterRange
from visim.engine.modes import CR0_USED, float_mode
from visim.engine.reports import Reports
from visim.engine.taint import ShadowMemory
from visim.errors import Fault
from visim.linker.program import FUNCTION_HANDLE, LinkedUnit
from visim.machine.allocations import Allocation, MemoryViolation
from visim.machine.memory import Space
from visim.machine.surfaces import SharedLocalMemory, Window
from visim.sem.effects import (
    Call,
    CallFunction,
    FunctionReturn,
    FusedExchange,
    Goto,
    Jump,
    Return,
    Switch,
    Synchronization,
    Yield,
)

_CR0 = 14
_INTERRUPTED = Stop("cancelled", "interrupted", "interrupted")


class Stopped(Exception):
    """Running a thread cannot go on; carries the fault without its place in the launch."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        super().__init__(fault.message)


class Run:
    """One run of a range of groups."""

    def __init__(
        self, prepared: KernelImage, dispatch: Dispatch, machine: Machine, options: RunOptions
    ) -> None:
        self.kernel = kernel = prepared.kernel
        self.context = context = prepared.context
        self.dispatch = dispatch
        self.machine = machine
        self.options = options
        self.exit = Exit()
        memory = machine.memory.stretches if options.observers else ()
        self._reports = Reports(kernel, options.observers, prepared.numbers, prepared.sites, memory)
        self.tables = prepared.tables_for(self._reports)
        self._full = (1 << kernel.simd_size) - 1
        start = kernel.predefined[_CR0]
        self._cr0 = context.image[start : start + 4].view(np.uint32)
        self._tracker = prepared.tracker
        if self._tracker is not None:
            self._tracker.start_run(machine.surfaces, options.shadow or ShadowMemory())
        context.flat = machine.memory
        context.surfaces = machine.surfaces
        context.slm = SharedLocalMemory(dispatch.slm_bytes)
        context.clock = self._clock
        context.note = self._reports.note
        if machine.implicit_arguments is not None:
            context.arguments = Window(
                "flat", [Allocation("implicit arguments", machine.implicit_arguments, False, 0)]
            )
        self._barriers = Barriers(0)
        self._offers: dict[Ticket, dict[int, tuple[int, NDArray[np.uint8]]]] = {}
        self._thread: Thread | None = None
        self._block: Block | None = None

    # Groups and threads

    def groups(self, groups: Sequence[int]) -> None:
        """Run groups until one faults or the run has to stop."""
        self._groups(groups)
        self._reports.end(self.exit.fault or self.exit.stopped)

    def _groups(self, groups: Sequence[int]) -> None:
        for group in groups:
            if self.dispatch.slm_bytes:
                self.context.slm.reset()
            if self._tracker is not None:
                self._tracker.start_group()
            try:
                self._group(group)
            except Stopped as stopped:
                self._end(stopped.fault, group)
                return
            except KeyboardInterrupt as interrupt:
                place = self._place(self._fault(_INTERRUPTED), group)
                interrupt.add_note(f"interrupted at {place.place}")
                raise
            self.exit.groups += 1

    def _end(self, fault: Fault, group: int) -> None:
        fault = self._place(fault, group)
        if fault.category == "cancelled":
            self.exit.stopped = fault
        else:
            self.exit.fault = fault

    def _place(self, fault: Fault, group: int) -> Fault:
        return replace(fault, kernel=self.kernel.name, group=self.dispatch.group_id(group))

    def _group(self, group: int) -> None:
        """Run the threads of a group in turns, each until it waits, gives way or ends."""
        order = list(range(self.dispatch.threads(group)))
        shuffled = random.Random(f"{self.options.seed}:{group}") if self.options.seed else None
        if shuffled:
            shuffled.shuffle(order)
        named = self.kernel.platform.has_named_barriers
        self._barriers = Barriers(len(order), has_named=named)
        self._offers.clear()
        identity = self.dispatch.group_id(group)
        self._reports.begin_group(identity, len(order), self.dispatch.slm_bytes)
        threads: list[Thread] = []
        for number in order:
            thread = self._start(group, number)
            self._resume(thread)
            if thread.done:
                self._reports.end_thread(number, thread.path)
            else:
                threads.append(thread)
        while threads:
            if shuffled:
                shuffled.shuffle(threads)
            ready = [thread for thread in threads if self._is_ready(thread)]
            if not ready:
                raise Stopped(self._deadlock(threads, order))
            for thread in ready:
                self._resume(thread)
                if thread.done:
                    self._reports.end_thread(thread.number, thread.path)
            threads = [thread for thread in threads if not thread.done]

    def _is_ready(self, thread: Thread) -> bool:
        return thread.waits is None or self._barriers.is_over(thread.waits)

    def _is_alone(self, thread: Thread) -> bool:
        """Whether a thread need not give way, because its group has no other."""
        return self._barriers.threads == 1 and self._is_ready(thread)

    def _start(self, group: int, number: int) -> Thread:
        start = self.dispatch.start(group, number)
        image = self.context.image
        self.context.whole.fill(0)
        for offset, data in start.registers:
            image[offset : offset + len(data)] = np.frombuffer(data, np.uint8)
        self.exit.threads += 1
        scratch = self._scratch(start.scratch_base)
        done = not start.mask
        return Thread(number, self.tables[0], start.mask, scratch, done=done)

    def _scratch(self, base: int) -> Space:
        machine = self.machine
        parts = [
            Allocation("scratch", np.zeros(machine.scratch_bytes, np.uint8), True, base),
        ]
        if machine.implicit_arguments is not None:
            data = machine.implicit_arguments
            parts.append(Allocation("implicit arguments", data, False, machine.implicit_base))
        return Window("scratch", parts)

    def _resume(self, thread: Thread) -> None:
        """Run a thread until it waits, gives way to others or ends."""
        if thread.done:
            return
        if thread.image is not None:
            self.context.whole[:] = thread.image
        self.context.scratch = thread.scratch
        if self._tracker is not None:
            self._tracker.enter(thread.number)
        self._thread = thread
        before = thread.executed
        thread.waits = None
        thread.turn_ends = before + TURN
        self._reports.begin_turn(thread.number)
        try:
            self._execute(thread)
        finally:
            self._reports.end_turn()
            self.exit.executed += thread.executed - before
        thread.image = None if thread.done else self.context.whole.copy()

    # Control flow

    def _execute(self, thread: Thread) -> None:
        """Run a thread until it ends, waits for others, or lets them run."""
        mode = float_mode(int(self._cr0[0]) & CR0_USED)
        self._activate(thread.active)
        if thread.exchange is not None:
            self._exchange(thread, thread.exchange)
        budget, reports = self.options.budget, self._reports
        while True:
            block = thread.table.block(thread.pc, mode, full=self._full == thread.active)
            self._block = block
            self._steps(thread, block)
            thread.executed += len(block.forms)
            if reports.wants_blocks:
                reports.block(block.number, thread.path)
            if self.options.count_forms:
                self._count(block)
            if budget is not None and thread.executed > budget:
                raise Stopped(self._fault(over_budget(budget), block.start))
            ending = block.ending
            if ending.changes_mode:
                mode = float_mode(int(self._cr0[0]) & CR0_USED)
            if ending.transfer is None and not thread.waiting:
                thread.pc = block.next
                continue
            if isinstance(ending.transfer, Synchronization):
                self._go_on(thread, (block.next, thread.active))
                if self._gives_way(thread, block):
                    return
                continue
            self._transfer(thread, block)
            if thread.done:
                return
            if thread.pc <= block.start and self._has_to_pause(thread):
                return

    def _has_to_pause(self, thread: Thread) -> bool:
        """Whether a thread that goes backwards lets others run; stops it if the run has to."""
        stop = self.options.stop
        if stop is not None and stop.is_set():
            raise Stopped(self._fault(CANCELLED))
        if isinstance(stop, Lookout) and stop.is_looking():
            stop.found(self._fault(CANCELLED))
        return thread.executed >= thread.turn_ends

    def _gives_way(self, thread: Thread, block: Block) -> bool:
        """Do what a synchronization says; return whether other threads run first."""
        effect = block.ending.transfer
        if effect is None or not isinstance(effect, Synchronization):
            return False
        try:
            operands = block.ending.operands()
            self._reports.meet(thread.table.unit.number, block.next - 1, effect, operands)
            thread.waits = self._barriers.perform(thread.number, effect, operands)
        except BarrierMisuse as misuse:
            stop = Stop.undefined("barrier-misuse", str(misuse))
            raise Stopped(self._fault(stop)) from None
        if isinstance(effect, FusedExchange) and thread.waits is not None:
            self._offer(thread, block, thread.waits)
        if isinstance(effect, Yield):
            return True
        return thread.waits is not None and not self._is_alone(thread)

    def _offer(self, thread: Thread, block: Block, ticket: Ticket) -> None:
        """Leave a thread's registers for the other one of its fused pair."""
        step = block.ending.after
        if step is not None:
            place = block.next - 1
            offers = self._offers.setdefault(ticket, {})
            offers[thread.number % 2] = place, self.context.whole.copy()
            thread.exchange = Exchange(place, ticket, step)

    def _exchange(self, thread: Thread, exchange: Exchange) -> None:
        """Do what waited for the other thread of the pair."""
        thread.exchange = None
        offers = self._offers[exchange.ticket]
        other, _ = offers[1 - thread.number % 2]
        if other != exchange.pc:
            message = "the other thread of the fused pair is at another instruction"
            stop = Stop.undefined("fused-apart", message)
            raise Stopped(self._fault(stop, exchange.pc))
        self.context.fused = (offers[0][1], offers[1][1])
        exchange.step()

    def _steps(self, thread: Thread, block: Block) -> None:
        pc = block.start
        try:
            for pc, step in block.steps:  # noqa: B007 - the handlers need the last one
                step()
        except (MemoryViolation, RegisterRange, Unready) as refusal:
            raise self._stopped(thread, pc, refusal) from None

    def _stopped(
        self, thread: Thread, pc: int, refusal: MemoryViolation | RegisterRange | Unready
    ) -> Stopped:
        """Return why a thread cannot go on whose step at `pc` was refused."""
        match refusal:
            case MemoryViolation():
                unit = thread.table.unit
                found = self.machine.attributed(self.kernel, unit, pc, refusal)
                return Stopped(memory_fault(unit.body[pc], thread.number, found))
            case RegisterRange():
                found = self._fault(register_reach(refusal.address), pc)
                return Stopped(replace(found, channel=refusal.channel, address=refusal.address))
            case Unready():
                stop = not_executable(refusal.reason, undefined=refusal.undefined)
                return Stopped(self._fault(stop, refusal.pc))

    def _activate(self, active: int) -> None:
        bits = np.frombuffer(active.to_bytes(CHANNELS // 8, "little"), np.uint8)
        self.context.execution[:] = np.unpackbits(bits, bitorder="little")

    def _transfer(self, thread: Thread, block: Block) -> None:
        """Do what the block's ending says, then go on at the lowest program counter."""
        ending, active = block.ending, thread.active
        chosen = active if ending.select is None else active & ending.select()
        match ending.transfer:
            case None:
                self._go_on(thread, (block.next, active))
            case Goto(label):
                target = thread.table.unit.labels[label]
                self._go_on(thread, (target, chosen), (block.next, active & ~chosen))
            case Jump(label):
                self._jump(thread, block, label)
            case Switch(labels):
                self._jump(thread, block, self._switched(ending, labels))
            case Call(label):
                target = thread.table.unit.labels[label]
                self._call(thread, block, thread.table, target, chosen)
            case CallFunction():
                if chosen:
                    table = self._callee(ending, ending.transfer)
                    self._call(thread, block, table, 0, chosen)
                else:
                    self._go_on(thread, (block.next, active))
            case Return() | FunctionReturn():
                self._return(thread, block, chosen)
            case _:
                pass

    def _go_on(self, thread: Thread, *parts: tuple[int, int]) -> None:
        """Send channels to program counters and continue at the lowest one that any has.

        Each part is a program counter and its channels; two parts may name the same counter.
        """
        waiting = thread.waiting
        for pc, channels in parts:
            if channels:
                waiting[pc] = waiting.get(pc, 0) | channels
        thread.pc = min(waiting)
        active = waiting.pop(thread.pc)
        if active != thread.active:
            thread.active = active
            self._activate(active)

    def _jump(self, thread: Thread, block: Block, label: str) -> None:
        select = block.ending.select
        if select is not None and not select() & 1:
            self._go_on(thread, (block.next, thread.active))
            return
        target = thread.table.unit.labels[label]
        passed = [pc for pc in thread.waiting if block.next <= pc < target]
        if passed:
            raise Stopped(self._fault(jump_over_waiting(label)))
        self._go_on(thread, (target, thread.active))

    def _switched(self, ending: Ending, labels: tuple[str, ...]) -> str:
        (index,) = ending.operands()
        if index >= len(labels):
            raise Stopped(self._fault(switch_index(index, len(labels))))
        return labels[index]

    def _callee(self, ending: Ending, transfer: CallFunction) -> BlockTable:
        if transfer.name is not None:
            return self.tables[self.kernel.function(transfer.name).number]
        (handle,) = ending.operands()
        number, rest = divmod(handle - FUNCTION_HANDLE, 16)
        if rest or not 0 <= number < len(self.tables) - 1:
            raise Stopped(self._fault(bad_handle(handle)))
        return self.tables[number + 1]

    def _call(
        self, thread: Thread, block: Block, table: BlockTable, target: int, chosen: int
    ) -> None:
        """Go on at `target` with the channels of `chosen`; a function begins with zeros."""
        if not chosen:
            self._go_on(thread, (block.next, thread.active))
            return
        if len(thread.frames) >= CALL_DEPTH:
            raise Stopped(self._fault(TOO_DEEP))
        frame = Frame(thread.table, block.next, thread.active, thread.waiting, chosen)
        if table is not thread.table or isinstance(block.ending.transfer, CallFunction):
            frame.callee = table.unit
            own = self._variables(table.unit)
            frame.saved = tuple(part.tobytes() for part in own)
            for part in own:
                part.fill(0)
        thread.frames.append(frame)
        thread.table, thread.waiting = table, {}
        self._go_on(thread, (target, chosen))

    def _variables(self, unit: LinkedUnit) -> list[NDArray[np.uint8]]:
        """Return the bytes of a unit's variables, in parts: a row, and one of their shadow."""
        rows = self.context.whole.reshape(-1, self.context.image.size)
        return [rows[:, first:end] for first, end in unit.spans]

    def _return(self, thread: Thread, block: Block, chosen: int) -> None:
        """Let channels return; control goes back with the last of those that were called."""
        remaining = thread.active & ~chosen
        if not thread.frames:
            if remaining or thread.waiting:
                self._go_on(thread, (block.next, remaining))
            else:
                thread.done = True
            return
        frame = thread.frames[-1]
        frame.called &= ~chosen
        if frame.called:
            self._go_on(thread, (block.next, remaining))
            return
        thread.frames.pop()
        if frame.callee is not None:
            own = self._variables(frame.callee)
            for part, saved in zip(own, frame.saved, strict=True):
                part[...] = np.frombuffer(saved, np.uint8).reshape(part.shape)
        thread.table, thread.waiting = frame.table, frame.waiting
        self._go_on(thread, (frame.pc, frame.active))

    # Reporting

    def _clock(self, element: int) -> int:
        if element or self._thread is None:
            return 0
        return self._thread.executed & 0xFFFFFFFF

    def _count(self, block: Block) -> None:
        for form in block.forms:
            self.exit.forms[form] = self.exit.forms.get(form, 0) + 1

    def _fault(self, stop: Stop, pc: int | None = None) -> Fault:
        thread, block = self._thread, self._block
        if thread is None or block is None:
            return stop.unplaced()
        place = block.next - 1 if pc is None else pc
        body = thread.table.unit.body
        return fault_at(body[min(place, len(body) - 1)], thread.number, stop)

    def _deadlock(self, threads: list[Thread], order: list[int]) -> Fault:
        waiting: dict[int, tuple[str, Ticket]] = {}
        for thread in threads:
            if thread.waits is not None:
                unit = thread.table.unit
                where = place_name(unit.unit.name, unit.body[thread.pc - 1])
                waiting[thread.number] = where, thread.waits
        stop = Stop.undefined("barrier-deadlock", self._barriers.stalemate(waiting, order))
        self._thread = threads[0]
        return self._fault(stop, self._thread.pc - 1)
