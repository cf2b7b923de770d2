"""The time of a launch: where it stands, on to anywhere, and back to anywhere.

A moment is a group, in the order of the launch, and how many instructions the group's threads
have executed. The schedule is always the same, so a moment is one state. Going back puts memory
back to a checkpoint and executes the rest again; to a group before those that were stepped through
the JIT runs the launch again from a copy of memory.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from visim.debug.engine.debuggee import Debuggee, set_counters
from visim.debug.engine.memory import Log
from visim.debug.engine.stepping import Saved, Stepper, Stretch
from visim.debug.engine.undo import Pages, Snapshot, Undo, merged, put_back, put_pages_back
from visim.debug.engine.writers import last_writer
from visim.errors import Fault
from visim.runtime.printf.records import BadRecord, PrintfBuffer

_BETWEEN_S = 0.25
"""So often a checkpoint is made while instructions are executed."""
_PIECE = 4096
"""Instructions between two looks at the clock."""
_MOST = 128
"""Checkpoints that are kept; then every second one is dropped."""
_COPIES_BYTES = 1 << 29
_COPIES = 8
"""Copies of all memory that are kept for going back to groups that the JIT ran."""


class Moment(NamedTuple):
    """A group, counted in the order of the launch, and the instructions executed in it."""

    group: int
    tick: int


@dataclass(slots=True)
class _Checkpoint:
    """A state of the launch, and the pages that were written after it as they were then."""

    moment: Moment
    saved: Saved
    counters: dict[int, int]
    dropped: tuple[int, int]
    pages: Pages


Wanted = Callable[[Stretch], frozenset[int]]
"""Which program counters of a stretch are to be looked at."""
Look = Callable[[], bool]
"""Whether to stop before the instruction that is next."""


class Timeline:
    """One launch that can be stepped in both directions.

    Args:
        debuggee: the launch; its memory is as before it.
        receiver: gets what the kernel prints, once.
    """

    def __init__(self, debuggee: Debuggee, receiver: Callable[[str], None]) -> None:
        self.debuggee = debuggee
        self.undo = Undo(debuggee.memory)
        self.log = Log(self.undo)
        self._receiver = receiver
        self._printed_to = 0
        options = debuggee.run_options
        debuggee.plan.surfaces.reset_counters()
        self._steppers = [
            Stepper(debuggee.image, part, options, self.log) for part in debuggee.parts
        ]
        self._printf: PrintfBuffer | None = None
        if debuggee.plan.printf is not None:
            memory = debuggee.parts[0].machine.memory
            self._printf = PrintfBuffer(debuggee.plan.printf, memory)
            self._printf.reset()
        if debuggee.plan.assertions is not None:
            debuggee.plan.assertions.reset()
        self._copies: dict[int, tuple[Snapshot, dict[int, int]]] = {}
        self._keep_copy(0)
        self.group = 0
        self.is_finished = False
        self._checkpoints: list[_Checkpoint] = []
        self._last = 0.0
        self.executed = 0
        self._start_segment(0)

    # Where it stands

    @property
    def stepper(self) -> Stepper:
        """What steps through the group."""
        place = min(self.group, len(self.debuggee.order) - 1)
        return self._steppers[self.debuggee.order[place].part]

    @property
    def moment(self) -> Moment:
        """Where the launch stands."""
        if self.is_finished:
            return Moment(len(self.debuggee.order), 0)
        return Moment(self.group, self.stepper.group.tick)

    @property
    def fault(self) -> Fault | None:
        """The fault at which the launch stands, if it does."""
        return None if self.is_finished else self.stepper.fault

    @property
    def segment_start(self) -> int:
        """The first group that can be gone back to without running the launch again."""
        return self._checkpoints[0].moment.group if self._checkpoints else self.group

    @property
    def checkpoints(self) -> int:
        """How many checkpoints there are."""
        return len(self._checkpoints)

    def initial(self, address: int, size: int) -> bytes | None:
        """Return what host memory held before the launch."""
        for start, data in self._copies[0][0]:
            if start <= address and address + size <= start + len(data):
                return data[address - start : address - start + size]
        return None

    def host_bytes(self, address: int, size: int) -> bytes:
        """Return what host memory holds now."""
        return ctypes.string_at(address, size)

    # Forward

    def step(self) -> bool:
        """Execute one instruction; return False where nothing more can be executed."""
        if self.is_finished or self.fault is not None:
            return False
        with np.errstate(all="ignore"):
            went = self.stepper.advance()
        self.executed += 1
        self._end_group()
        return went

    def run(
        self,
        wanted: Wanted | None,
        look: Look,
        limit: Moment | None = None,
        *,
        singly: bool = False,
        pause: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Execute until `look` says to stop, the limit is reached or nothing is left.

        `look` is asked before each instruction that `wanted` names, and with `singly` before all,
        `pause` from time to time.

        Returns:
            Whether `look` stopped it.
        """
        while not self.is_finished and self.fault is None:
            if (limit is not None and self.moment >= limit) or pause():
                return False
            with np.errstate(all="ignore"):
                stopped = self._piece(wanted, look, limit, singly=singly)
            if stopped:
                return True
            self._end_group()
            self._maybe_checkpoint()
        return False

    def _piece(
        self, wanted: Wanted | None, look: Look, limit: Moment | None, *, singly: bool
    ) -> bool:
        """Execute some instructions of the group; return whether `look` stopped it."""
        stepper = self.stepper
        group = stepper.group
        end = group.tick + _PIECE
        if limit is not None and limit.group == self.group:
            end = min(end, limit.tick)
        began = group.tick
        try:
            while not group.over and group.tick < end and stepper.stretch is not None:
                stretch = stepper.stretch
                pcs = wanted(stretch) if wanted is not None else None
                if not singly and not pcs:
                    left = len(stretch.pcs) - group.place
                    fits = group.tick + left <= end
                    went = stepper.advance_block() if fits else stepper.advance()
                else:
                    if (singly or stretch.pcs[group.place] in (pcs or ())) and look():
                        return True
                    went = stepper.advance()
                if not went:
                    return False
        finally:
            self.executed += group.tick - began
        return False

    def _end_group(self) -> None:
        """Go on to the next group where this one has ended."""
        while not self.is_finished and self.stepper.group.over and self.stepper.fault is None:
            self._print()
            self.group += 1
            if self.group >= len(self.debuggee.order):
                self.group = len(self.debuggee.order) - 1
                self.is_finished = True
                return
            self._begin_group()

    def _begin_group(self) -> None:
        place = self.debuggee.order[self.group]
        stepper = self._steppers[place.part]
        stepper.enter()
        with np.errstate(all="ignore"):
            stepper.begin(place.number)

    def _print(self) -> None:
        """Hand on what the group has printed, if nobody has seen it yet."""
        buffer = self._printf
        if buffer is None or not buffer.used:
            return
        data = buffer.data
        self.undo.touch(int(data.ctypes.data), int(data.size))
        try:
            text = buffer.read().text.decode("utf-8", "replace")
        except BadRecord as record:
            text = f"[{record}]\n"
        buffer.reset()
        if self.group >= self._printed_to:
            self._printed_to = self.group + 1
            self._receiver(text)

    # Checkpoints

    def _start_segment(self, group: int) -> None:
        """Stand at the start of a group; nothing before it can be gone back to."""
        self.group = group
        self.is_finished = group >= len(self.debuggee.order)
        self._checkpoints = []
        self.undo.begin()
        if self.is_finished:
            self.group = len(self.debuggee.order) - 1
            return
        self._begin_group()
        self._checkpoint()
        self._end_group()

    def _checkpoint(self) -> None:
        pages = self.undo.begin()
        if self._checkpoints:
            self._checkpoints[-1].pages = pages
        surfaces = self.debuggee.plan.surfaces
        counts = surfaces.dropped_reads, surfaces.dropped_writes
        found = _Checkpoint(self.moment, self.stepper.save(), surfaces.counters, counts, {})
        self._checkpoints.append(found)
        self._last = time.monotonic()
        if len(self._checkpoints) > _MOST:
            self._thin()

    def _thin(self) -> None:
        """Drop every second checkpoint but the first and the last."""
        kept: list[_Checkpoint] = []
        for number, one in enumerate(self._checkpoints):
            if number % 2 == 0 or number == len(self._checkpoints) - 1:
                kept.append(one)
            else:
                kept[-1].pages = merged(kept[-1].pages, one.pages)
        self._checkpoints = kept

    def _maybe_checkpoint(self) -> None:
        if self.is_finished or self.fault is not None:
            return
        if time.monotonic() - self._last >= _BETWEEN_S:
            self._checkpoint()

    def _restore(self, number: int) -> None:
        """Go back to a checkpoint; those after it are dropped."""
        put_pages_back(self.undo.begin())
        for one in reversed(self._checkpoints[number:]):
            put_pages_back(one.pages)
        found = self._checkpoints[number]
        del self._checkpoints[number + 1 :]
        found.pages = {}
        self.group, self.is_finished = found.moment.group, False
        set_counters(self.debuggee.plan.surfaces, found.counters)
        self.stepper.restore(found.saved)
        self._last = time.monotonic()

    # To any moment

    def go_to(self, moment: Moment) -> None:
        """Go to a moment of the launch, before or behind; one behind its end is the end."""
        if moment < self.moment or (self.fault is not None and moment != self.moment):
            self._back_before(moment)
        if moment.group - self.group > 1 and not self.is_finished:
            self.jump(min(moment.group, len(self.debuggee.order)))
        self.run(None, lambda: False, moment)

    def checkpoint_before(self, moment: Moment) -> Moment | None:
        """Return when the last checkpoint before a moment was made; None: there is none."""
        for one in reversed(self._checkpoints):
            if one.moment < moment:
                return one.moment
        return None

    def _back_before(self, moment: Moment) -> None:
        """Go to the last checkpoint that is not behind a moment."""
        for number in range(len(self._checkpoints) - 1, -1, -1):
            if self._checkpoints[number].moment <= moment:
                self._restore(number)
                return
        self.jump(moment.group)

    def jump(self, group: int) -> Fault | None:
        """Go to the start of a group, at the JIT's speed.

        Returns:
            The fault that stops the launch before; then it stands at the start of its group.
        """
        if self.group < group and not self.is_finished and self.fault is None:
            self.run(None, lambda: False, Moment(self.group + 1, 0))
            if self.is_finished or self.fault is not None:
                return self.fault
            first = self.group
            self._keep_copy(first)
        else:
            first = self._last_copy(group)
            self._put_copy_back(first)
        fault = self._run_fast(first, group)
        if fault is not None:
            found = None if fault.group is None else self.debuggee.index_of(fault.group)
            group = first if found is None else found
            first = self._last_copy(group)
            self._put_copy_back(first)
            self._run_fast(first, group)
        self._keep_copy(group)
        self._start_segment(group)
        return fault

    def last_writer(self, start: int, size: int, groups: int) -> int | None:
        """Return which of the first groups was the last to write some bytes, None if none was.

        The launch stands behind these groups then.
        """
        self._put_copy_back(0)
        found = last_writer(self.debuggee, start, size, groups)
        self._keep_copy(groups)
        self._start_segment(groups)
        return found

    def first_finding(self) -> Fault | None:
        """Return what the sanitizers that were asked for find first, or the fault; else None.

        The launch stands at its start then.
        """
        self._put_copy_back(0)
        found = self.debuggee.first_finding()
        self._put_copy_back(0)
        self._start_segment(0)
        return found

    def _last_copy(self, group: int) -> int:
        return max(one for one in self._copies if one <= group)

    def _run_fast(self, first: int, end: int) -> Fault | None:
        if first >= end:
            return None

        def receive(text: str) -> None:
            if end > self._printed_to:
                self._receiver(text)

        found = self.debuggee.run_fast(first, end, receiver=receive)
        if found.fault is None:
            self._printed_to = max(self._printed_to, end)
        return found.fault

    def _keep_copy(self, group: int) -> None:
        """Keep all memory as it is at the start of a group, where it is not too much."""
        if group in self._copies:
            return
        size = self.debuggee.memory.size
        if group and (len(self._copies) + 1) * size > _COPIES_BYTES:
            return
        if group and len(self._copies) >= _COPIES:
            nearest = sorted(one for one in self._copies if one)
            del self._copies[nearest[len(nearest) // 2]]
        self._copies[group] = self.debuggee.memory.copy(), self.debuggee.plan.surfaces.counters

    def _put_copy_back(self, group: int) -> None:
        snapshot, counters = self._copies[group]
        put_back(snapshot)
        set_counters(self.debuggee.plan.surfaces, counters)
        if self._printf is not None:
            self._printf.reset()


__all__ = ["Look", "Moment", "Timeline", "Wanted"]
