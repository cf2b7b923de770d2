"""What comes before what: clocks of threads, kept where more than the group's barrier orders them.

A clock says of other threads how many of their accesses to a memory come before. They change where
threads meet at barriers, and where one thread acquires at an atomic what another has released
there: accesses in front of a fence in front of an atomic come before those behind a fence behind an
atomic on the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

Clock = dict[int, int]
"""Of other threads the number of the first access that does not come before; never changed."""

Phase = tuple[int, int, int]
"""A phase of a barrier: of which group, the barrier's number, how many phases came before."""

NOTHING: Clock = {}
LOCAL, GLOBAL = 0, 1
MEMORIES = (LOCAL, GLOBAL)
_THREAD_BITS = 16


def thread_number(group: int, thread: int) -> int:
    """Return the number of a thread in its launch."""
    return group << _THREAD_BITS | thread


def group_of(thread: int) -> int:
    """Return the group of a thread, which has a number in its launch."""
    return thread >> _THREAD_BITS


def joined(one: Clock, other: Clock) -> Clock:
    """Return what comes before either."""
    if one is other or not other:
        return one
    if not one:
        return other
    found = dict(one) if len(one) >= len(other) else dict(other)
    for thread, number in (other if len(one) >= len(other) else one).items():
        if found.get(thread, 0) < number:
            found[thread] = number
    return found


@dataclass
class ThreadClock:
    """The clocks of one thread, by memory, and what it has met and not yet acquired.

    `fenced` is the number of the first access behind the last fence of a memory. `waits` are phases
    of barriers that the thread waits for: what these know is complete when it goes on.
    """

    number: int
    known: list[Clock] = field(default_factory=lambda: [NOTHING, NOTHING])
    pending: list[Clock] = field(default_factory=lambda: [NOTHING, NOTHING])
    fenced: list[int] = field(default_factory=lambda: [0, 0])
    waits: list[Phase] = field(default_factory=list[Phase])

    def fence(self, memory: int, number: int) -> None:
        """Note a fence: what came before can be released, what was met is acquired."""
        self.fenced[memory] = number
        self.known[memory] = joined(self.known[memory], self.pending[memory])
        self.pending[memory] = NOTHING

    def released(self, memory: int) -> Clock:
        """Return what others know of a memory who acquire from the thread."""
        known, own = self.known[memory], self.fenced[memory]
        if not own or known.get(self.number, 0) >= own:
            return known
        return known | {self.number: own}


class Clocks:
    """The clocks of the threads of a launch.

    The barrier of a whole group has number 0.
    """

    def __init__(self) -> None:
        self._threads: dict[int, ThreadClock] = {}
        self._phases: dict[Phase, list[Clock]] = {}
        self._places: dict[int, list[Clock]] = {}

    def begin_group(self) -> None:
        """Forget the barriers of the group before."""
        self._phases.clear()

    def of(self, thread: int) -> ThreadClock:
        """Return the clocks of a thread, by its number in the launch."""
        found = self._threads.get(thread)
        if found is None:
            found = self._threads[thread] = ThreadClock(thread)
        return found

    def signal(self, thread: int, barrier: Phase) -> None:
        """Let a phase of a barrier know what a thread tells others."""
        clock = self.resume(thread)
        phase = self._phases.setdefault(barrier, [NOTHING, NOTHING])
        for memory in MEMORIES:
            phase[memory] = joined(phase[memory], clock.released(memory))

    def wait(self, thread: int, barrier: Phase) -> None:
        """Let a thread wait for a phase of a barrier."""
        self.of(thread).waits.append(barrier)

    def fence(self, thread: int, memory: int, number: int, *, of_group: bool) -> None:
        """Note a fence of a thread, of whatever scope, and its first access behind that."""
        del of_group
        self.resume(thread).fence(memory, number)

    def resume(self, thread: int) -> ThreadClock:
        """Let a thread that goes on know what the phases know that it has waited for."""
        clock = self.of(thread)
        for barrier in clock.waits:
            phase = self._phases.get(barrier)
            if phase is not None:
                for memory in MEMORIES:
                    clock.known[memory] = joined(clock.known[memory], phase[memory])
        clock.waits.clear()
        return clock

    def atomic(self, thread: int, addresses: Iterable[int]) -> None:
        """Let a thread meet others at the bytes of an atomic."""
        clock = self.resume(thread)
        told = [clock.released(memory) for memory in MEMORIES]
        for address in addresses:
            place = self._places.get(address)
            if place is None:
                if any(told):
                    self._places[address] = list(told)
                continue
            for memory in MEMORIES:
                clock.pending[memory] = joined(clock.pending[memory], place[memory])
                place[memory] = joined(place[memory], told[memory])


__all__ = [
    "GLOBAL",
    "LOCAL",
    "MEMORIES",
    "NOTHING",
    "Clock",
    "Clocks",
    "group_of",
    "joined",
    "thread_number",
]
