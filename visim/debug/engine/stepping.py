"""The interpreter an instruction at a time: one group, stopped between any two instructions.

A `Stepper` does what `visim.engine.running.Run` does, in the same order, but hands control back
whenever it is asked to. What it is in the middle of is plain data, which `save` copies and
`restore` brings back: so a group can be left at any moment and gone on with later. Knows neither
breakpoints nor lines.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.debug.engine.memory import (
    ARGUMENT,
    HOST,
    SCRATCH,
    SLM,
    Log,
    WatchedSpace,
    WatchedSurfaces,
)
from visim.engine.barriers import Barriers, Ticket
from visim.engine.base import TURN, RunOptions
from visim.engine.blocks import MARKS, Block, Unready
from visim.engine.faults import over_budget
from visim.engine.frames import Frame, Thread
from visim.engine.kernel_image import KernelImage
from visim.engine.lanes import RegisterRange
from visim.engine.modes import CR0_USED, FloatMode, float_mode
from visim.engine.plan import Step
from visim.engine.running import Run, Stopped
from visim.errors import Fault
from visim.machine.allocations import MemoryViolation
from visim.machine.memory import Space
from visim.runtime.payload.threads import Part
from visim.sem.effects import Synchronization

_PRIVATE = "private memory"


@dataclass(frozen=True, slots=True, eq=False)
class Stretch:
    """A block as a debugger sees it: each instruction's program counter, and its step if any."""

    unit: int
    block: Block
    pcs: tuple[int, ...]
    steps: tuple[Step | None, ...]


@dataclass(slots=True)
class Group:
    """What runs a group: who has started, who waits for a turn, and where the clock stands.

    `tick` counts the instructions of all threads. `queue` are the threads that are ready in this
    round, `threads` all that have started and not ended, by number. `place` is that of the next
    instruction in its stretch.
    """

    index: int
    order: list[int]
    next_start: int = 0
    alive: list[int] = field(default_factory=list[int])
    queue: list[int] = field(default_factory=list[int])
    threads: dict[int, Thread] = field(default_factory=dict[int, Thread])
    current: int | None = None
    place: int = 0
    tick: int = 0
    over: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Saved:
    """A group as it was; arrays are never written again."""

    group: Group
    scratch: Mapping[int, tuple[bytes, ...]]
    whole: NDArray[np.uint8]
    slm: bytes
    barriers: Barriers
    offers: dict[Ticket, dict[int, tuple[int, NDArray[np.uint8]]]]
    shuffled: Any
    fault: Fault | None


class Stepper(Run):
    """Runs groups of one part of a launch, an instruction at a time.

    Args:
        prepared: the kernel with its image; whoever steps has it alone.
        part: the groups and their memory.
        options: budget and seed.
        log: where accesses are noted.
    """

    def __init__(self, prepared: KernelImage, part: Part, options: RunOptions, log: Log) -> None:
        super().__init__(prepared, part.dispatch, part.machine, options)
        self.log = log
        self._prepared = prepared
        self._stretches: dict[int, Stretch] = {}
        self.group = Group(0, [], over=True)
        self.fault: Fault | None = None
        self.stretch: Stretch | None = None
        self._mode: FloatMode = float_mode(0)
        self._shuffled: random.Random | None = None
        self._memory = WatchedSpace(part.machine.memory, HOST, log)
        self._table = WatchedSurfaces(part.machine.surfaces, log)
        self._local: Any = self.context.slm
        self._watched_slm = WatchedSpace(self._local, SLM, log)
        self._arguments: Any = self.context.arguments
        self.enter()

    def enter(self) -> None:
        """Let the kernel's image be used by this part of the launch."""
        context = self.context
        context.flat, context.surfaces, context.slm = self._memory, self._table, self._watched_slm
        context.clock, context.note = self._clock, self._reports.note
        if self._arguments is not None:
            context.arguments = WatchedSpace(self._arguments, ARGUMENT, self.log)

    @property
    def slm(self) -> NDArray[np.uint8]:
        """The group's local memory, in place."""
        return self._local.bytes

    @property
    def thread(self) -> Thread | None:
        """The thread whose instruction comes next."""
        return None if self.group.current is None else self.group.threads.get(self.group.current)

    @property
    def pc(self) -> int | None:
        """The program counter of the next instruction, None when the group has ended."""
        if self.stretch is None or self.group.over:
            return None
        return self.stretch.pcs[self.group.place]

    def image(self, number: int) -> NDArray[np.uint8]:
        """Return the registers of a thread that has started."""
        thread = self.group.threads[number]
        if number == self.group.current or thread.image is None:
            return self.context.image
        return thread.image[: self.context.image.size]

    # Groups and turns

    def begin(self, index: int) -> None:
        """Begin group number `index` of the part and go to its first instruction."""
        order = list(range(self.dispatch.threads(index)))
        seed = self.options.seed
        self._shuffled = random.Random(f"{seed}:{index}") if seed else None
        if self._shuffled:
            self._shuffled.shuffle(order)
        if self.dispatch.slm_bytes:
            self._local.reset()
        self._barriers = Barriers(len(order), has_named=self.kernel.platform.has_named_barriers)
        self._offers.clear()
        self._touch_private()
        self.group = Group(index, order)
        self.fault = None
        self._guarded(self._next_thread)

    def _guarded(self, action: Callable[[], None]) -> bool:
        """Do something; return whether it went well, else the fault is kept."""
        try:
            action()
        except Stopped as stopped:
            place = replace(
                stopped.fault,
                kernel=self.kernel.name,
                group=self.dispatch.group_id(self.group.index),
            )
            self.fault = place
            return False
        return True

    def _next_thread(self) -> None:
        """Let the next thread have its turn; the group is over when there is none."""
        group = self.group
        group.current, self.stretch = None, None
        while group.next_start < len(group.order):
            number = group.order[group.next_start]
            group.next_start += 1
            thread = self._start(group.index, number)
            if not thread.done:
                group.threads[number] = thread
                group.alive.append(number)
                self._begin_turn(thread)
                return
        while not group.queue:
            if not group.alive:
                group.over = True
                return
            if self._shuffled:
                self._shuffled.shuffle(group.alive)
            group.queue = [n for n in group.alive if self._is_ready(group.threads[n])]
            if not group.queue:
                raise Stopped(self._deadlock([group.threads[n] for n in group.alive], group.order))
        self._begin_turn(group.threads[group.queue.pop(0)])

    def _touch_private(self) -> None:
        """Keep private memory, which is cleared when threads start."""
        for one in self.machine.memory.allocations:
            if one.name == _PRIVATE:
                self.log.undo.touch(one.address, one.size)

    def _scratch(self, base: int) -> Space:
        """Note accesses to scratch memory, too; the thread's number is that which starts."""
        space: Any = super()._scratch(base)
        owner = self.group.order[self.group.next_start - 1]
        return WatchedSpace(space, SCRATCH, self.log, owner)  # pyright: ignore[reportReturnType]

    def _begin_turn(self, thread: Thread) -> None:
        if thread.image is not None:
            self.context.whole[:] = thread.image
        self.context.scratch = thread.scratch
        self._thread = thread
        thread.waits = None
        thread.turn_ends = thread.executed + TURN
        self.group.current = thread.number
        self._mode = float_mode(int(self._cr0[0]) & CR0_USED)
        self._activate(thread.active)
        if thread.exchange is not None:
            self._exchange(thread, thread.exchange)
        self._enter_block(thread)

    def _end_turn(self, thread: Thread) -> None:
        """Let others run; a thread that has ended is forgotten."""
        if thread.done:
            self.group.alive.remove(thread.number)
            del self.group.threads[thread.number]
        else:
            thread.image = self.context.whole.copy()
        self._next_thread()

    # Instructions

    def _enter_block(self, thread: Thread) -> None:
        """Stand before the first instruction of the block at the thread's program counter."""
        while True:
            full = self._full == thread.active
            block = thread.table.block(thread.pc, self._mode, full=full)
            self._block = block
            self.stretch = self._stretch(thread, block)
            self.group.place = 0
            if self.stretch.pcs:
                return
            if not self._leave_block(thread, block):
                return

    def _stretch(self, thread: Thread, block: Block) -> Stretch:
        found = self._stretches.get(id(block))
        if found is None:
            body, steps = thread.table.unit.body, dict(block.steps)
            pcs = [
                pc
                for pc in range(block.start, block.next)
                if pc < len(body) and not isinstance(body[pc], MARKS)
            ]
            pcs = sorted({*pcs, *steps})
            found = Stretch(
                thread.table.unit.number, block, tuple(pcs), tuple(steps.get(pc) for pc in pcs)
            )
            self._stretches[id(block)] = found
        return found

    def advance(self) -> bool:
        """Execute one instruction; return False where a fault stops it, which `fault` tells."""
        return self.fault is None and self._guarded(lambda: self._steps_on(1))

    def advance_block(self) -> bool:
        """Execute the rest of the block; return False where a fault stops it."""
        if self.fault is not None or self.stretch is None:
            return False
        return self._guarded(lambda: self._steps_on(len(self.stretch.pcs if self.stretch else ())))

    def _steps_on(self, count: int) -> None:
        """Execute so many instructions of the block, or the rest of it."""
        group, stretch, thread = self.group, self.stretch, self.thread
        if stretch is None or thread is None:
            return
        first = place = group.place
        end = min(first + count, len(stretch.pcs))
        try:
            for place in range(first, end):
                step = stretch.steps[place]
                if step is not None:
                    step()
        except (MemoryViolation, RegisterRange, Unready) as refusal:
            group.tick += place - first
            group.place = place
            raise self._stopped(thread, stretch.pcs[place], refusal) from None
        group.tick += end - first
        if end < len(stretch.pcs):
            group.place = end
            return
        group.place = end - 1
        self._finish()

    def _finish(self) -> None:
        """Do what the end of a block says, and stand before the next instruction."""
        thread, stretch = self.thread, self.stretch
        if thread is None or stretch is None:
            return
        if self._leave_block(thread, stretch.block):
            self._enter_block(thread)

    def _leave_block(self, thread: Thread, block: Block) -> bool:
        """Transfer control; return whether the thread goes on in its turn.

        The order of things is that of `Run._execute`.
        """
        thread.executed += len(block.forms)
        budget, ending = self.options.budget, block.ending
        if budget is not None and thread.executed > budget:
            raise Stopped(self._fault(over_budget(budget), block.start))
        if ending.changes_mode:
            self._mode = float_mode(int(self._cr0[0]) & CR0_USED)
        if ending.transfer is None and not thread.waiting:
            thread.pc = block.next
            return True
        if isinstance(ending.transfer, Synchronization):
            self._go_on(thread, (block.next, thread.active))
            if self._gives_way(thread, block):
                self._end_turn(thread)
                return False
            return True
        self._transfer(thread, block)
        if thread.done or (thread.pc <= block.start and self._has_to_pause(thread)):
            self._end_turn(thread)
            return False
        return True

    # Saving

    def save(self) -> Saved:
        """Return everything that the group is, but for memory that threads of all groups share."""
        group = self.group
        threads = {number: _copied(thread) for number, thread in group.threads.items()}
        own = replace(
            group,
            order=list(group.order),
            alive=list(group.alive),
            queue=list(group.queue),
            threads=threads,
        )
        scratch = {n: _bytes_of(t.scratch) for n, t in group.threads.items()}
        offers = {ticket: dict(found) for ticket, found in self._offers.items()}
        state = None if self._shuffled is None else self._shuffled.getstate()
        slm = self.slm.tobytes()
        whole = self.context.whole.copy()
        return Saved(own, scratch, whole, slm, deepcopy(self._barriers), offers, state, self.fault)

    def restore(self, saved: Saved) -> None:
        """Go back to a state that `save` has returned."""
        self.enter()
        group = saved.group
        threads = {number: _copied(thread) for number, thread in group.threads.items()}
        self.group = replace(
            group,
            order=list(group.order),
            alive=list(group.alive),
            queue=list(group.queue),
            threads=threads,
        )
        for number, kept in saved.scratch.items():
            _set_bytes(threads[number].scratch, kept)
        self._barriers = deepcopy(saved.barriers)
        self._offers = {ticket: dict(found) for ticket, found in saved.offers.items()}
        if saved.shuffled is not None:
            self._shuffled = random.Random()
            self._shuffled.setstate(saved.shuffled)
        self.slm[:] = np.frombuffer(saved.slm, np.uint8)
        self.context.whole[:] = saved.whole
        self.fault = saved.fault
        self._stand_again()

    def _stand_again(self) -> None:
        """Find the block of the current thread again."""
        thread = self.thread
        self._thread, self.stretch, self._block = thread, None, None
        if thread is None:
            return
        self.context.scratch = thread.scratch
        self._activate(thread.active)
        self._mode = float_mode(int(self._cr0[0]) & CR0_USED)
        block = thread.table.block(thread.pc, self._mode, full=self._full == thread.active)
        self._block, self.stretch = block, self._stretch(thread, block)


def _copied(thread: Thread) -> Thread:
    frames = [_copied_frame(frame) for frame in thread.frames]
    return replace(thread, waiting=dict(thread.waiting), frames=frames)


def _copied_frame(frame: Frame) -> Frame:
    return replace(frame, waiting=dict(frame.waiting))


def _bytes_of(scratch: Any) -> tuple[bytes, ...]:
    return tuple(one.host.tobytes() for one in scratch.space.allocations if one.writable)


def _set_bytes(scratch: Any, kept: tuple[bytes, ...]) -> None:
    parts = [one for one in scratch.space.allocations if one.writable]
    for one, data in zip(parts, kept, strict=True):
        one.host[:] = np.frombuffer(data, np.uint8)


__all__ = ["Group", "Saved", "Stepper", "Stretch"]
