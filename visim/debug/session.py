"""A debugging session: one launch, where it stands, who is looked at.

All fronts use this; it neither reads commands nor prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

import numpy as np

from visim import predefined
from visim.debug.control import Control, Stop
from visim.debug.engine.debuggee import Debuggee
from visim.debug.engine.timeline import Moment, Timeline
from visim.debug.looking.expressions import Expression
from visim.debug.looking.items import Triple
from visim.debug.looking.lines import Lines, Place
from visim.debug.looking.stopped import Focus, Looker
from visim.debug.looking.variables import Variable
from visim.debug.places import Places, find_places
from visim.errors import ArgumentError, Fault
from visim.linker.program import LinkedUnit
from visim.module import SourceLine
from visim.runtime.arguments.images import Image
from visim.runtime.building.sourcefiles import named_file
from visim.runtime.kernel import Kernel
from visim.runtime.launching.sources import with_source_line


@dataclass(frozen=True, slots=True)
class FrameView:
    """A function that a thread is in: its name, where, and which channels are on in it.

    `focus` looks at it. `call` is the file and line, in the next function, at which the compiler
    has inlined it; None for a function that is called.
    """

    name: str
    place: Place
    where: str
    active: int
    focus: Focus
    call: tuple[str, int] | None = None
    source: SourceLine | None = None


@dataclass(frozen=True, slots=True)
class ThreadView:
    """A hardware thread of the group: where it is, and what it waits for."""

    number: int
    state: str
    place: Place | None
    where: str
    active: int


class Session:
    """A launch that is debugged.

    Args:
        kernel: the kernel.
        values: its arguments in order; arrays are changed as by a launch.
        options: those of `Kernel.launch`; the engine is of no concern.
        receiver: gets what the kernel prints.
        notes: the compiler's notes on variables, where the program has none: files.

    Raises:
        VisimError: what `Kernel.bind` finds wrong.
    """

    def __init__(
        self,
        kernel: Kernel,
        values: Sequence[object],
        options: Mapping[str, Any],
        receiver: Callable[[str], None] = lambda _: None,
        notes: Sequence[bytes] = (),
    ) -> None:
        self.debuggee = Debuggee(kernel, values, options)
        self.timeline = Timeline(self.debuggee, receiver)
        self.looker = Looker(self.debuggee, self.timeline, notes)
        self.lines = Lines(self.debuggee.linked, self.looker.facts.texts)
        self.places = Places(self.lines, self.looker)
        self.control = Control(self.timeline, self.lines, self.looker, self.places)
        self.focus: Focus | None = self.control.focus
        self.followed: Focus | None = None
        self.stop = Stop("start", "the launch has not begun", (), self.focus)
        self.displayed: list[str] = []
        self._shown: dict[str, Any] = {}
        self._pictures = frozenset(
            one.name
            for one, value in zip(kernel.args, self.debuggee.values, strict=True)
            if isinstance(value, Image)
        )

    # Memory of the host

    def host_bytes(self, address: int, size: int) -> bytes:
        """Return what memory holds now."""
        return self.timeline.host_bytes(address, size)

    def element(self, address: int) -> tuple[str, np.dtype[Any]] | None:
        """Return the name of an argument's element and its type, None if no argument is there."""
        for name in self.looker.arguments.all:
            array = self.looker.arguments.array(name)
            if array is None or not array.flags.c_contiguous:
                continue
            offset = address - int(array.ctypes.data)
            if 0 <= offset < array.nbytes and name in self._pictures:
                return f"{name}, an image", array.dtype
            if 0 <= offset < array.nbytes:
                return f"{name}[{offset // array.itemsize}]", array.dtype
        return None

    def register_name(self, place: int) -> str | None:
        """Return the variable whose bytes stand at a place of the register image."""
        kernel = self.debuggee.linked
        for unit in kernel.units:
            for one in (*predefined.GENERALS, *unit.unit.generals):
                if one.alias is None and not one.is_file_scope:
                    start = kernel.offset(unit, one)
                    size = predefined.elements(one, kernel.platform.grf_bytes) * one.type.bytes
                    size = size if one.is_predefined else one.bytes
                    if start <= place < start + size:
                        return one.name
        return None

    # Moving

    def _stopped(self, stop: Stop) -> Stop:
        self.stop = stop
        self.focus = stop.focus if self.control.focus is not None else None
        if self.focus is not None and not self._can_look(self.focus):
            self.focus = self.control.focus
        return stop

    def _can_look(self, focus: Focus) -> bool:
        is_here = focus.group == self.timeline.group
        return is_here and focus.thread in self.timeline.stepper.group.threads

    def cont(self) -> Stop:
        """Go on to the next stop, at the JIT's speed where nothing can stop before it."""
        ended = self.control.ended()
        if ended is not None:
            return self._stopped(ended)
        target = self._next_group()
        if target is not None and target - self.timeline.group > 1:
            stop = self._through_group()
            if stop is not None:
                return self._stopped(stop)
            if not self.timeline.is_finished and target > self.timeline.group:
                self.timeline.jump(target)
            ended = self.control.ended()
            if ended is not None:
                return self._stopped(ended)
            stop = self._met_here()
            if stop is not None:
                return self._stopped(stop)
        return self._stopped(self.control.cont())

    def _through_group(self) -> Stop | None:
        """Go on to the next group; return what stops that."""
        here = self.timeline.group
        stop = self.control.cont(Moment(here + 1, 0))
        return None if stop.reason == "step" else stop

    def _met_here(self) -> Stop | None:
        """Return the stop where a breakpoint is met before the first instruction of a group."""
        return self.control.met_here()

    def _next_group(self) -> int | None:
        """Return the first group behind this one in which something may be met; None: unknown."""
        groups = self.places.groups(self._group_of)
        if groups is None:
            return None
        later = [one for one in groups if one > self.timeline.group]
        return min(later, default=len(self.debuggee.order))

    def _group_of(self, name: str, value: int) -> int | None:
        """Return the group of which alone a condition such as `item == 5` can hold."""
        items = self.looker.items
        if name == "group" and all(g == 1 for g in self._group_counts()[1:]):
            return self.debuggee.index_of((value, 0, 0))
        if name == "item" and items is not None:
            found = items.numbered(value)
            return None if found is None else self.debuggee.index_of(found.group)
        return None

    def _group_counts(self) -> tuple[int, ...]:
        geometry = self.debuggee.plan.geometry
        counts = geometry.get("group_count") or geometry.get("thread_groups") or (1,)
        return tuple(int(one) for one in counts)

    def step(self, count: int = 1, *, over: bool = False) -> Stop:
        """Go on by source lines; `over` does not go into functions."""
        return self._repeat(
            count,
            lambda: self.control.step_line(self._looked, over=over, follows=self._follows),
        )

    @property
    def _looked(self) -> Focus | None:
        """The thread and channel that steps are about."""
        return self.followed or self.focus

    @property
    def _follows(self) -> bool:
        return self.followed is not None

    def step_instruction(self, count: int = 1, *, over: bool = False) -> Stop:
        """Go on by instructions of the thread."""
        return self._repeat(
            count,
            lambda: self.control.step_instruction(self._looked, over=over, follows=self._follows),
        )

    def _repeat(self, count: int, once: Callable[[], Stop]) -> Stop:
        stop = self.stop
        for _ in range(count):
            stop = self._stopped(once())
            if stop.reason != "step":
                break
        return stop

    def finish(self) -> Stop:
        """Go on until the function returns, or the thread ends."""
        return self._stopped(self.control.finish(self.focus))

    def until(self, text: str) -> Stop:
        """Go on until the thread is at a place."""
        places, _ = find_places(text, self.lines)
        stop = self.control.until(places, self._looked, follows=self._follows)
        return self._stopped(stop)

    def back(self, count: int = 1) -> Stop:
        """Go back by source lines of the thread; where it has none, by instructions."""

        def once() -> Stop:
            focus = self.followed or self.focus or self._last_focus()
            if focus is None:
                return Stop("start", "nothing has been executed", (), self.control.focus)
            return self.control.back_line(focus)

        stop = self.stop
        for _ in range(count):
            stop = self._stopped(once())
            if stop.reason != "back":
                break
        return stop

    def _last_focus(self) -> Focus | None:
        """Stand before the last instruction of the launch; return who executes it."""
        self.control.back_instruction()
        return self.control.focus

    def back_instruction(self, count: int = 1) -> Stop:
        """Go back by instructions, of whatever threads of the group."""
        return self._stopped(self.control.back_instruction(count))

    def back_cont(self) -> Stop:
        """Go back to the last time that something was met."""
        return self._stopped(self.control.back_cont())

    def back_out(self) -> Stop:
        """Go back to where the function was called."""
        return self._stopped(self.control.back_out())

    def go_to(self, moment: Moment) -> Stop:
        """Go to a moment."""
        self.timeline.go_to(moment)
        return self._stopped(self.control.ended() or Stop("moment", "", (), self.control.focus))

    def go_to_item(self, item: Triple) -> Stop:
        """Go to where a work-item's thread begins, and look at it."""
        channel = self.looker.find_item(item)
        index = self.debuggee.index_of(channel.group)
        if index is None:
            raise ArgumentError(f"there is no group {channel.group}")
        return self.go_to_thread(index, channel.thread, channel.lane)

    def go_to_thread(self, group: int, thread: int, lane: int = 0) -> Stop:
        """Go to where a thread of a group begins, and look at a channel of it."""
        if not 0 <= group < len(self.debuggee.order):
            raise ArgumentError(f"there are groups 0 to {len(self.debuggee.order) - 1}")
        if self.timeline.moment != Moment(group, 0):
            self.timeline.go_to(Moment(group, 0))
        timeline = self.timeline

        def look() -> bool:
            return timeline.stepper.group.current == thread

        timeline.run(None, look, Moment(group + 1, 0), singly=True)
        focus = self.control.focus
        if focus is None or focus.group != group or focus.thread != thread:
            raise ArgumentError(f"group {group} has no thread {thread} that executes anything")
        return self._stopped(Stop("moment", "", (), replace(focus, lane=lane)))

    def run_to_fault(self) -> Stop:
        """Run at the JIT's speed, and stand where the launch faults, or at its end.

        Where sanitizers were asked for, stand where they find something first.
        """
        if self.debuggee.sanitize:
            found = self.timeline.first_finding()
            if found is not None:
                return self._stand_at(found)
        self.timeline.jump(len(self.debuggee.order))
        enabled = [one for one in self.places.breakpoints.values() if one.enabled]
        for one in enabled:
            self.places.set_enabled(one.number, enabled=False)
        try:
            stop = self.control.cont()
        finally:
            for one in enabled:
                self.places.set_enabled(one.number, enabled=True)
        return self._stopped(stop)

    def _stand_at(self, finding: Fault) -> Stop:
        """Go to where the thread of a finding first comes to its instruction."""
        index = None if finding.group is None else self.debuggee.index_of(finding.group)
        if index is None or finding.thread is None:
            return self._stopped(Stop("fault", finding.message, (), self.control.focus))
        wanted = frozenset(
            place
            for place in self.lines.instructions()
            if self.lines.instruction(place) == finding.instruction
        )
        lane = finding.channel or 0
        self.go_to_thread(index, finding.thread, lane)
        timeline = self.timeline

        def look() -> bool:
            thread = timeline.stepper.thread
            if thread is None or thread.number != finding.thread:
                return False
            return self.control.place in wanted and bool(thread.active >> lane & 1)

        timeline.run(None, look, Moment(index + 1, 0), singly=True)
        focus = Focus(index, finding.thread, lane)
        return self._stopped(Stop("finding", finding.render(), (), focus))

    # Looking

    def look_at(self, focus: Focus) -> None:
        """Look at another thread, channel or function; nothing is executed.

        Raises:
            ArgumentError: there is no such thread now.
        """
        self.looker.place(focus)
        self.focus = focus

    def needed(self) -> Focus:
        """Return who is looked at.

        Raises:
            ArgumentError: the launch has ended.
        """
        if self.focus is None:
            raise ArgumentError(
                "the launch has ended: go back to look at threads (back, reverse-continue)"
            )
        return self.focus

    def evaluate(self, text: str) -> Any:
        """Return the value of an expression."""
        return self.looker.evaluate(Expression(text), self.focus)

    @property
    def fault(self) -> Fault | None:
        """The fault at which the launch stands, with its source line."""
        fault = self.timeline.fault
        if fault is None:
            return None
        units = [one.unit for one in self.debuggee.linked.units]
        return with_source_line(fault, units, self.looker.facts.texts)

    def backtrace(self, focus: Focus | None = None) -> list[FrameView]:
        """Return the functions that a thread is in, the innermost first; inlined ones, too."""
        focus = focus or self.needed()
        depth = len(self.looker.thread(focus).frames)
        found: list[FrameView] = []
        for number in range(depth + 1):
            found += self._frames(replace(focus, frame=number, inlined=0))
        return found

    def _frames(self, focus: Focus) -> Iterator[FrameView]:
        """Yield a function and those that are inlined in it at its place."""
        place, active = self.looker.place(focus), self.looker.active(focus)
        name, source = self.lines.unit_name(place[0]), self.lines.source(place)
        where = self.lines.where(place)
        levels = self.looker.sourced.levels(focus)
        if not levels:
            yield FrameView(name, place, where, active, focus, None, source)
        for number, level in enumerate(levels):
            one = replace(focus, inlined=number)
            yield FrameView(level.name, place, where, active, one, level.call, source)
            if level.call is not None:
                file, line = named_file(level.call[0]), level.call[1]
                where, source = f"{PurePath(file).name}:{line}", SourceLine(file, line)

    def frame_number(self) -> int:
        """Return the place in the backtrace of the function that is looked at."""
        focus = self.needed()
        wanted = focus.frame, focus.inlined
        frames = [(one.focus.frame, one.focus.inlined) for one in self.backtrace()]
        return frames.index(wanted) if wanted in frames else 0

    def look_at_frame(self, number: int) -> None:
        """Look at a function by its place in the backtrace.

        Raises:
            ArgumentError: there is no such.
        """
        frames = self.backtrace()
        if not 0 <= number < len(frames):
            raise ArgumentError(f"there are frames 0 to {len(frames) - 1}")
        self.look_at(frames[number].focus)

    def threads(self) -> list[ThreadView]:
        """Return the threads of the group."""
        if self.timeline.is_finished:
            return []
        group = self.timeline.stepper.group
        found: list[ThreadView] = []
        for number in sorted(group.order):
            thread = group.threads.get(number)
            if thread is None:
                started = number in group.order[: group.next_start]
                state = "ended" if started else "not begun"
                found.append(ThreadView(number, state, None, "", 0))
                continue
            place = self.looker.place(Focus(self.timeline.group, number))
            state = "runs" if number == group.current else "waits for its turn"
            if thread.waits is not None:
                state = f"waits at {thread.waits.barrier}"
            where = self.lines.where(place)
            found.append(ThreadView(number, state, place, where, thread.active))
        return found

    def waiting(self) -> list[tuple[Place, int]]:
        """Return where the channels of the thread are that are not on: places and bits."""
        focus = self.needed()
        thread = self.looker.thread(focus)
        unit = thread.table.unit.number
        return [((unit, pc), bits) for pc, bits in sorted(thread.waiting.items())]

    def variables(self) -> list[tuple[Variable, LinkedUnit]]:
        """Return the variables of the function that is looked at."""
        return self.looker.variables(self.needed())

    def changes(self) -> list[tuple[str, Any, Any]]:
        """Return which variables hold something else than at the last time that this was asked."""
        focus, scope = self.needed(), self.looker.names(self.needed()).scope
        found: list[tuple[str, Any, Any]] = []
        now: dict[str, Any] = {}
        if scope is None:
            return found
        for variable, unit in self.looker.variables(focus):
            key = f"{focus.group}:{focus.thread}:{unit.number}:{variable.name}"
            now[key] = scope.value(variable, unit)
            before = self._shown.get(key)
            if before is not None and before.tobytes() != now[key].tobytes():
                found.append((variable.name, before, now[key]))
        self._shown = now
        return found

    def describe(self) -> dict[str, Any]:
        """Return where the launch stands, as JSON has it."""
        moment, focus, place = self.timeline.moment, self.focus, self.control.place
        found: dict[str, Any] = {
            "reason": self.stop.reason,
            "message": self.stop.message,
            "breakpoints": list(self.stop.numbers),
            "moment": list(moment),
        }
        if focus is not None:
            place = self.looker.place(focus)
            item = self.looker.item(focus)
            source, visa = self.lines.source(place), self.lines.visa(place)
            found |= {
                "group": list(self.looker.group_id(focus)),
                "thread": focus.thread,
                "channel": focus.lane,
                "work_item": None if item is None else list(item),
                "active": [int(one) for one in np.flatnonzero(self.looker.lanes_on(focus))],
                "function": self.lines.unit_name(place[0]),
                "pc": place[1],
                "file": None if source is None else source.file,
                "line": None if source is None else source.line,
                "visa_line": visa.line,
                "instruction": self.lines.instruction(place).strip(),
            }
        fault = self.fault
        if fault is not None:
            found["fault"] = fault.to_dict() if hasattr(fault, "to_dict") else str(fault)
        return found


__all__ = ["FrameView", "Session", "ThreadView"]
