"""Getting from one stop to another: steps, breakpoints, watchpoints, forwards and backwards.

Knows the timeline and places; nothing of how users type or see it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from visim.debug.engine.timeline import Moment, Timeline
from visim.debug.looking.lines import Lines, Place
from visim.debug.looking.stopped import Focus, Looker
from visim.debug.places import Breakpoint, Places
from visim.debug.watcher import Executed, Hit, Watcher
from visim.errors import Fault
from visim.module import SourceLine

_GROUPS_AT_ONCE = 64
"""So many groups before those that were stepped through are at most searched at once."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Why the launch stands.

    `reason` is one of start, breakpoint, watchpoint, scope (what is watched is no more), step,
    fault, finding (of a sanitizer), finished, back, moment and pause.
    `numbers` are those of the breakpoints, `focus` who stands there (None: the launch has ended).
    """

    reason: str
    message: str = ""
    numbers: tuple[int, ...] = ()
    focus: Focus | None = None


@dataclass(frozen=True, slots=True)
class _Line:
    """What tells steps of a thread apart: the function's depth and the source line."""

    depth: int
    line: SourceLine | None
    place: Place


class Control:
    """Moves a launch from stop to stop.

    Args:
        timeline: the launch.
        lines: the kernel's lines.
        looker: what conditions are evaluated with.
        places: where to stop.
    """

    def __init__(self, timeline: Timeline, lines: Lines, looker: Looker, places: Places) -> None:
        self._timeline = timeline
        self._lines = lines
        self._looker = looker
        self.places = places
        self._watcher = Watcher(timeline, lines, looker, places)
        self._before: Executed | None = None
        self._hit: Hit | None = None
        self.pause: Callable[[], bool] = lambda: False
        """Says whether somebody wants the launch to stop where it is."""

    # Where it stands

    @property
    def focus(self) -> Focus | None:
        """The thread whose instruction comes next, at its first channel that is on."""
        timeline = self._timeline
        thread = None if timeline.is_finished else timeline.stepper.thread
        if thread is None:
            return None
        lane = (thread.active & -thread.active).bit_length() - 1
        return Focus(timeline.group, thread.number, max(0, lane))

    @property
    def place(self) -> Place | None:
        """The instruction that comes next."""
        stepper = self._timeline.stepper
        if self._timeline.is_finished or stepper.stretch is None or stepper.pc is None:
            return None
        return stepper.stretch.unit, stepper.pc

    def ended(self) -> Stop | None:
        """Return why nothing more can be executed, None where it can."""
        if self._timeline.is_finished:
            return Stop("finished", "the launch has ended")
        fault = self._timeline.fault
        if fault is not None:
            return Stop("fault", fault.message, (), self._faulting(fault))
        return None

    def _faulting(self, fault: Fault) -> Focus | None:
        """Return the channel that faults, of the thread that is about to execute something."""
        focus = self.focus
        if focus is None or fault.thread != focus.thread or fault.channel is None:
            return focus
        is_on = self._looker.active(focus) >> fault.channel & 1
        return replace(focus, lane=fault.channel) if is_on else focus

    # Forwards

    def cont(self, limit: Moment | None = None) -> Stop:
        """Go on to the next breakpoint, watchpoint or fault, or to the end."""
        ended = self.ended()
        if ended is not None:
            return ended
        group = self._timeline.group
        lost = self._watcher.goes_with(group)
        if not lost:
            return self._forward(lambda: None, limit, everywhere=False)
        stop = self._forward(lambda: None, Moment(group + 1, 0), everywhere=False)
        if stop.reason != "step":
            return stop
        return Stop("scope", f"group {group} has ended, and with it {lost}", (), self.focus)

    def met_here(self) -> Stop | None:
        """Return the stop where a breakpoint is met before the next instruction."""
        self._note_before()
        hit = self._met()
        return None if hit is None else self._stop_of(hit)

    def _forward(
        self, arrived: Callable[[], Stop | None], limit: Moment | None, *, everywhere: bool
    ) -> Stop:
        """Execute the next instruction, and go on until something is met or `arrived` says so."""
        self._hit = None
        self._watcher.begin()
        self._note_before()
        self._timeline.step()
        found: list[Stop] = []

        def look() -> bool:
            hit = self._met()
            if hit is not None:
                self._hit = hit
                return True
            stop = arrived()
            if stop is not None:
                found.append(stop)
                return True
            self._note_before()
            return False

        try:
            wanted = self._watcher.wanted
            self._timeline.run(wanted, look, limit, singly=everywhere, pause=self.pause)
            if self._hit is None and not found:
                self._hit = self._watcher.hit(self._before)
        finally:
            self._watcher.end()
        if self._hit is not None:
            return self._stop_of(self._hit)
        if found:
            return found[0]
        ended = self.ended()
        if ended is None and self.pause():
            return Stop("pause", "stopped as asked", (), self.focus)
        return ended or Stop("step", "", (), self.focus)

    def _stop_of(self, hit: Hit) -> Stop:
        for number in hit.numbers:
            one = self.places.breakpoints.get(number)
            if one is not None and one.temporary:
                self.places.delete(number)
        return Stop(hit.reason, hit.message, hit.numbers, hit.focus)

    def _note_before(self) -> None:
        focus, place = self.focus, self.place
        if focus is not None and place is not None:
            self._before = Executed(self._timeline.moment, focus, place)

    def _met(self, *, count: bool = True) -> Hit | None:
        """Return what is met before the next instruction, or by the last one."""
        hit = self._watcher.hit(self._before, count=count)
        if hit is not None:
            return hit
        focus, place = self.focus, self.place
        if focus is None or place is None:
            return None
        found = self.places.met(place, focus, count=count)
        if not found:
            return None
        numbers = tuple(one.number for one, _ in found)
        names = ", ".join(f"breakpoint {one.number}" for one, _ in found)
        doubts = "; ".join(verdict.doubt for _, verdict in found if verdict.doubt)
        at = Focus(focus.group, focus.thread, found[0][1].lane or 0)
        message = f"{names}; {doubts}" if doubts else names
        return Hit(self._timeline.moment, message, numbers, at, "breakpoint")

    # Steps

    def _line(self) -> _Line | None:
        thread, place = self._timeline.stepper.thread, self.place
        if thread is None or place is None:
            return None
        return _Line(len(thread.frames), self._lines.source(place), place)

    # Each is about a thread: that of `looked`, or if that is None the one that comes next. With
    # `follows` it stops only where the channel of `looked` is on.

    def step_instruction(
        self, looked: Focus | None = None, *, over: bool = False, follows: bool = False
    ) -> Stop:
        """Execute the thread's next instruction; `over` executes what it calls, too."""
        ended, focus = self.ended(), looked or self.focus
        start = None if focus is None else self._line_of(focus)
        if ended is not None or start is None or focus is None:
            return ended or Stop("finished")
        begun = [self._is_next(focus)]

        def arrived() -> Stop | None:
            now = self._same_thread(focus, follows=follows)
            if now is None or (over and now.depth > start.depth):
                return None
            if not begun[0]:
                begun[0] = True
                return None
            return Stop("step", "", (), self._kept(focus))

        return self._stepped(arrived, focus)

    def step_line(
        self, looked: Focus | None = None, *, over: bool = False, follows: bool = False
    ) -> Stop:
        """Go on to the thread's next source line; where it has none, to its next instruction."""
        ended, focus = self.ended(), looked or self.focus
        start = None if focus is None else self._line_of(focus)
        if ended is not None or start is None or focus is None:
            return ended or Stop("finished")
        if start.line is None and not self._lines.has_sources:
            return self.step_instruction(looked, over=over, follows=follows)

        def arrived() -> Stop | None:
            now = self._same_thread(focus, follows=follows)
            if now is None or now.line is None or (over and now.depth > start.depth):
                return None
            if now.line == start.line and now.depth == start.depth:
                return None
            return Stop("step", "", (), self._kept(focus))

        return self._stepped(arrived, focus)

    def finish(self, looked: Focus | None = None) -> Stop:
        """Go on until the function that is looked at returns, or the thread ends."""
        ended, focus = self.ended(), looked or self.focus
        start = None if focus is None else self._line_of(focus)
        if ended is not None or start is None or focus is None:
            return ended or Stop("finished")
        depth = start.depth - focus.frame

        def arrived() -> Stop | None:
            now = self._same_thread(focus, follows=False)
            if now is None or now.depth >= depth:
                return None
            return Stop("step", "", (), self._kept(focus))

        return self._stepped(arrived, focus)

    def until(
        self, places: frozenset[Place], looked: Focus | None = None, *, follows: bool = False
    ) -> Stop:
        """Go on until the thread is at one of some places, or ends."""
        ended, focus = self.ended(), looked or self.focus
        if ended is not None or focus is None:
            return ended or Stop("finished")

        def arrived() -> Stop | None:
            now = self._same_thread(focus, follows=follows)
            at = now is not None and now.place in places
            return Stop("step", "", (), self._kept(focus)) if at else None

        return self._stepped(arrived, focus)

    def _stepped(self, arrived: Callable[[], Stop | None], focus: Focus) -> Stop:
        """Go on until a step has arrived; one whose thread ends, ends there."""

        def or_over() -> Stop | None:
            if self._timeline.group != focus.group:
                return Stop("step", f"the group of thread {focus.thread} has ended", (), self.focus)
            group = self._timeline.stepper.group
            started = focus.thread in group.order[: group.next_start]
            if started and focus.thread not in group.threads:
                return Stop("step", f"thread {focus.thread} has ended", (), self.focus)
            return arrived()

        return self._forward(or_over, None, everywhere=True)

    def _line_of(self, focus: Focus) -> _Line | None:
        """Return where a thread is, None if it has ended or not begun."""
        if self._is_next(focus):
            return self._line()
        thread = self._timeline.stepper.group.threads.get(focus.thread)
        if thread is None or self._timeline.group != focus.group:
            return None
        place = self._looker.place(Focus(focus.group, focus.thread))
        return _Line(len(thread.frames), self._lines.source(place), place)

    def _is_next(self, focus: Focus) -> bool:
        """Whether a thread's instruction comes next."""
        thread = self._timeline.stepper.thread
        return thread is not None and thread.number == focus.thread

    def _same_thread(self, focus: Focus, *, follows: bool) -> _Line | None:
        """Return where the thread is, if it comes next; with `follows` its channel has to be on."""
        thread = self._timeline.stepper.thread
        if thread is None or thread.number != focus.thread:
            return None
        if follows and not thread.active >> focus.lane & 1:
            return None
        return self._line()

    def _kept(self, focus: Focus) -> Focus:
        """Return the focus with its channel if that is on, else the first that is."""
        thread = self._timeline.stepper.thread
        now = self.focus
        if thread is not None and now is not None and not thread.active >> focus.lane & 1:
            return now
        return Focus(focus.group, focus.thread, focus.lane)

    # Backwards

    def back_instruction(self, count: int = 1) -> Stop:
        """Go back by as many instructions of the group as are given."""
        moment = self._timeline.moment
        for _ in range(count if moment.tick == 0 or moment.tick < count else 0):
            if moment.tick >= count:
                break
            count -= moment.tick
            previous = self._end_before(moment.group)
            if previous is None:
                self._timeline.go_to(Moment(0, 0))
                return Stop("start", "this is where the launch begins", (), self.focus)
            moment = previous
        self._timeline.go_to(Moment(moment.group, moment.tick - count))
        return Stop("back", "", (), self.focus)

    def _end_before(self, group: int) -> Moment | None:
        """Go to the end of the group before one; return the moment after its last instruction."""
        if group == 0:
            return None
        timeline, end = self._timeline, Moment(group, 0)
        near = timeline.checkpoint_before(end)
        if near is None or near.group < group - 1:
            timeline.go_to(Moment(group - 1, 0))
            timeline.run(None, lambda: False, end)  # leaves checkpoints
            near = timeline.checkpoint_before(end)
        timeline.go_to(max(near or end, Moment(group - 1, 0)))
        last = [timeline.moment.tick]

        def look() -> bool:
            last[0] = timeline.moment.tick
            return False

        timeline.run(None, look, end, singly=True)
        return Moment(group - 1, last[0] + 1)

    def back_line(self, focus: Focus) -> Stop:
        """Go back to where the thread's line begins, or the line before it."""
        begun: list[Moment | _Line | None] = [None, None]

        def look() -> Hit | None:
            stepper = self._timeline.stepper
            thread = stepper.thread
            if (
                thread is None
                or thread.number != focus.thread
                or self._timeline.group != focus.group
            ):
                return None
            now = self._line()
            before, begun[1] = begun[1], now
            if now is None:
                return None
            if now.line is None and self._lines.has_sources:
                begun[1] = before
                return None
            is_new = (
                not isinstance(before, _Line)
                or now.line is None
                or (now.line, now.depth) != (before.line, before.depth)
            )
            if not is_new:
                return None
            moment = self._timeline.moment
            return Hit(moment, "", (), Focus(focus.group, focus.thread, focus.lane), "back")

        found = self._backwards(look, singly=True, stop_at=focus.group)
        if found is None:
            self._timeline.go_to(Moment(focus.group, 0))
            return Stop("start", f"thread {focus.thread} begins here", (), self.focus)
        return Stop("back", "", (), self._kept(focus))

    def back_cont(self) -> Stop:
        """Go back to the last time that a breakpoint or watchpoint was met, or to the start."""
        self._before = None
        found = self._backwards(lambda: self._met(count=False), singly=False, watch=True)
        if found is None:
            self._timeline.go_to(Moment(0, 0))
            return Stop("start", "this is where the launch begins", (), self.focus)
        return Stop(found.reason, found.message, found.numbers, found.focus)

    def back_out(self) -> Stop:
        """Go back to where the function that the thread is in was called."""
        start, focus = self._line(), self.focus
        if start is None or focus is None or not start.depth:
            return Stop("back", "the thread is in the kernel itself, which nobody calls", (), focus)

        def look() -> Hit | None:
            now = self._same_thread(focus, follows=False)
            if now is None or now.depth >= start.depth or self._timeline.group != focus.group:
                return None
            return Hit(self._timeline.moment, "", (), focus, "back")

        self._backwards(look, singly=True, stop_at=focus.group)
        return Stop("back", "", (), self.focus)

    def _backwards(
        self,
        look: Callable[[], Hit | None],
        *,
        singly: bool,
        watch: bool = False,
        stop_at: int = 0,
    ) -> Hit | None:
        """Go back to the last moment before now at which `look` finds something.

        Args:
            look: what is asked before instructions.
            singly: before all of them, not only where breakpoints are.
            watch: whether accesses are noted for it.
            stop_at: the group before which nothing is searched.
        """
        timeline, end = self._timeline, self._timeline.moment
        groups = 1
        while True:
            if watch and self.places.watching:
                end = self._watcher.last_group(end)
            start = self._window(end, groups, stop_at)
            if start is None:
                return None
            if start.tick == 0 and start.group < end.group:
                groups = min(2 * groups, _GROUPS_AT_ONCE)
            hits: list[Hit] = []
            self._before = None
            if watch and not self._watcher.begin() and start.tick:
                start = Moment(start.group, 0)
                timeline.go_to(start)
                self._watcher.begin()

            def note(hits: list[Hit] = hits, end: Moment = end) -> bool:
                hit = look()
                if hit is not None and hit.moment < end:
                    hits.append(hit)
                self._note_before()
                return False

            timeline.run(self._watcher.wanted if watch else None, note, end, singly=singly)
            hit = self._watcher.hit(self._before, count=False) if watch else None
            if hit is not None and hit.moment < end:
                hits.append(hit)
            self._watcher.end()
            if hits:
                last = max(hits, key=lambda one: one.moment)
                timeline.go_to(last.moment)
                return last
            end = start

    def _window(self, end: Moment, groups: int, stop_at: int) -> Moment | None:
        """Go to a moment before `end` from which it is not far; None: there is none."""
        timeline = self._timeline
        if end <= Moment(stop_at, 0):
            return None
        found = timeline.checkpoint_before(end)
        if found is None:
            found = Moment(max(stop_at, end.group - groups if not end.tick else end.group), 0)
            if found >= end:
                found = Moment(max(stop_at, end.group - 1), 0)
        if found.group < stop_at:
            found = Moment(stop_at, 0)
        timeline.go_to(found)
        return found


__all__ = ["Breakpoint", "Control", "Hit", "Stop"]
