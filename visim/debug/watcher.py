"""Whether the instruction that was executed last has met a watchpoint, and where one can be met."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from visim.debug.engine.memory import HOST, Access
from visim.debug.engine.stepping import Stretch
from visim.debug.engine.timeline import Moment, Timeline
from visim.debug.looking.lines import Lines, Place
from visim.debug.looking.stopped import Focus, Looker
from visim.debug.places import Places, ignored
from visim.debug.watching import Follower, Memory, Variable, Watchpoint, touching
from visim.errors import ArgumentError

_NONE = np.zeros(0, np.intp)


class Executed(NamedTuple):
    """An instruction that was executed: when, by whom, and which."""

    moment: Moment
    focus: Focus
    place: Place


class Hit(NamedTuple):
    """What has been met at a moment."""

    moment: Moment
    message: str
    numbers: tuple[int, ...]
    focus: Focus
    reason: str


class Watcher:
    """Looks behind each instruction what it has done to what is watched.

    Args:
        timeline: the launch.
        lines: the kernel's lines.
        looker: what conditions are evaluated with.
        places: the watchpoints.
    """

    def __init__(self, timeline: Timeline, lines: Lines, looker: Looker, places: Places) -> None:
        self._timeline = timeline
        self._lines = lines
        self._looker = looker
        self._places = places
        self._followers: dict[int, Follower] = {}
        self._pictures: dict[int, bytes] = {}
        self._every: dict[int, tuple[Stretch, frozenset[int]]] = {}

    @property
    def is_on(self) -> bool:
        """Whether anything is watched that can be met in the group that stands."""
        return not self._timeline.is_finished and self._places.watches(self._timeline.group)

    def wanted(self, stretch: Stretch) -> frozenset[int]:
        """Return the instructions of a stretch before which to look."""
        if not self.is_on:
            return self._places.wanted(stretch)
        found = self._every.get(id(stretch))
        if found is None:
            found = self._every[id(stretch)] = stretch, frozenset(stretch.pcs)
        return found[1]

    def begin(self) -> bool:
        """Take what is watched as it is now.

        Returns:
            Whether all of it is known, so that what happened before does not matter.
        """
        watching, log = self._places.watching, self._timeline.log
        log.is_on = any(isinstance(one.what, Memory) for one in watching)
        log.accesses.clear()
        self._followers = {
            one.number: Follower(one.what, self._looker)
            for one in watching
            if isinstance(one.what, Variable)
        }
        known = [one.begin() for one in self._followers.values()]
        self._pictures = {one.number: self._bytes(one) for one in watching}
        return all(known)

    def end(self) -> None:
        """Look no more."""
        self._timeline.log.is_on = False

    def hit(self, before: Executed | None, *, count: bool = True) -> Hit | None:
        """Return which watchpoint the last instruction has met.

        Args:
            before: that instruction.
            count: whether hits are counted and ignored as users have asked.
        """
        log = self._timeline.log
        accesses = log.accesses[:]
        log.accesses.clear()
        if before is None:
            return None
        found: Hit | None = None
        for one in self._places.watching:
            hit = self._met(one, accesses, before)
            if hit is not None and not (count and ignored(one)):
                found = found or hit
        return found

    def _met(self, one: Watchpoint, accesses: list[Access], before: Executed) -> Hit | None:
        moment, focus, place = before
        change = None
        if isinstance(one.what, Memory):
            channels = self._touched(one, one.what, accesses, place)
        elif one.what.thread != focus.thread or one.what.group != focus.group:
            return None
        else:
            change = self._followers[one.number].change()
            channels = _NONE if change is None else change.channels
        if not channels.size:
            return None
        lane, doubt = self._verdict(one, channels, focus)
        if lane is None:
            return None
        where, what = self._lines.where(place), self._lines.instruction(place).strip()
        text = "" if change is None else change.text(lane)
        message = (
            f"watchpoint {one.number}: {one.name}{text} by thread {focus.thread} at {where}: {what}"
            f"{f'; {doubt}' if doubt else ''}"
        )
        who = Focus(focus.group, focus.thread, lane)
        return Hit(moment, message, (one.number,), who, "watchpoint")

    def _verdict(
        self, one: Watchpoint, channels: NDArray[np.intp], focus: Focus
    ) -> tuple[int | None, str]:
        """Return for which of some channels a watchpoint's condition holds first."""
        lanes = np.zeros(self._looker.kernel.simd_size, np.bool_)
        lanes[channels[channels < lanes.size]] = True
        if not lanes.any() or one.condition is None:
            return int(channels[0]) if channels[0] < lanes.size else focus.lane, ""
        try:
            self._looker.thread(focus)
        except ArgumentError:
            return int(channels[0]), f"the thread has ended, and {one.condition} means nothing"
        found = self._places.verdict(one.condition, focus, lanes)
        return found.lane, found.doubt

    def _touched(
        self, one: Watchpoint, what: Memory, accesses: list[Access], place: Place
    ) -> NDArray[np.intp]:
        """Return the channels that have accessed what is watched."""
        lanes: list[int] = []
        for access in accesses:
            found = touching(what, one.kinds, access)
            if access.is_picture and access.kind != "load" and found.size:
                before, now = self._pictures[one.number], self._bytes(one)
                self._pictures[one.number] = now
                found = found if before != now else found[:0]
            lanes += [self._lines.channel(place, int(lane)) for lane in found]
        return np.array(sorted(set(lanes)), np.intp)

    def _bytes(self, one: Watchpoint) -> bytes:
        """Return what watched memory of the host holds.

        A message to a picture counts as one to all of it, so that its bytes are compared.
        """
        what = one.what
        if not isinstance(what, Memory) or what.space != HOST:
            return b""
        return self._timeline.host_bytes(what.start, what.size)

    # Where something can be met

    def goes_with(self, group: int) -> str:
        """Return which watched variables end with a group, in words; empty: none."""
        names = [
            f"{one.name} of watchpoint {one.number} (thread {one.what.thread})"
            for one in self._places.watching
            if isinstance(one.what, Variable) and one.what.group == group
        ]
        return ", ".join(names)

    def last_group(self, end: Moment) -> Moment:
        """Return where to search backwards from: behind the last group that can have met something.

        Only where nothing but watchpoints is to be met, and the launch has to be run again anyway.
        At the JIT's speed.
        """
        timeline, places = self._timeline, self._places
        watching = places.watching
        has_breakpoints = any(one.enabled for one in places.breakpoints.values())
        if has_breakpoints or any(
            isinstance(one.what, Memory) and (one.what.space != HOST or "load" in one.kinds)
            for one in watching
        ):
            return end
        before = end.group if end.tick == 0 else end.group + 1
        found = [one.what.group for one in watching if isinstance(one.what, Variable)]
        memory = [one.what for one in watching if isinstance(one.what, Memory)]
        if memory and timeline.checkpoint_before(end) is not None:
            return end
        for what in memory:
            group = timeline.last_writer(what.start, what.size, before)
            found += [] if group is None else [group]
        groups = [group for group in found if group < before]
        return min(end, Moment(max(groups) + 1, 0)) if groups else Moment(0, 0)


__all__ = ["Executed", "Hit", "Watcher"]
