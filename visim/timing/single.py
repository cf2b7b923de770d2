"""One thread alone: the front end, the units and the scoreboard, in the order of the program.

Nothing of the core is here, no second thread, no instruction cache. The rules of dependency are
those of the source of a machine's preset. "unit" (Mesa): an instruction waits for the resources it
reads and those it writes, keeps the front end busy, waits for its unit, and makes its results
available later. "issue" (Intel's finalizer): there is one pipeline, results are available some
cycles after issue, and what is still read or written can be overwritten two cycles after issue.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from visim.timing.costs import Timing, timing_of
from visim.timing.machine import UNITS, Machine
from visim.timing.native import Native

OVERWRITE = 2
"""Cycles from issue until a later instruction may overwrite, as Intel's finalizer counts."""


def _times() -> dict[int, int]:
    return defaultdict(int)


@dataclass(slots=True)
class SingleThread:
    """The state of the only thread: `time` is when its front end can take the next instruction.

    `hidden` divides latencies counted from issue: the part of them that other threads fill.
    """

    machine: Machine
    time: int = 0
    hidden: Fraction = Fraction(1)
    _units: list[int] = field(default_factory=lambda: [0] * len(UNITS))
    _ready: dict[int, int] = field(default_factory=_times)
    _free: dict[int, int] = field(default_factory=_times)

    def issue(self, instruction: Native) -> int:
        """Execute an instruction; return when the front end began with it.

        Raises:
            UnsupportedError: the generation has no such instruction or message.
        """
        cost = timing_of(instruction, self.machine)
        if self.machine.counted_from == "issue":
            return self._in_one_pipeline(instruction, cost)
        waited = (*instruction.reads, *instruction.writes)
        begin = max([self.time, *(self._ready[resource] for resource in waited)])
        self.time = self._start(cost, begin)
        for resource, cycles in cost.after:
            self._ready[resource] = self.time + cycles
        return begin

    def forget(self, besides: Iterable[int] = ()) -> None:
        """Let nothing wait any more for what has been issued, as behind a barrier of a schedule.

        Args:
            besides: the resources that are waited for all the same, those that it writes itself.
        """
        kept = {resource: self._ready[resource] for resource in besides}
        self._ready.clear()
        self._free.clear()
        self._ready.update(kept)

    def _in_one_pipeline(self, instruction: Native, cost: Timing) -> int:
        read = [self._ready[resource] for resource in instruction.reads]
        written = [self._free[resource] for resource in instruction.writes]
        begin = max([self.time, *read, *written])
        busy = 0 if instruction.is_send else cost.busy
        self.time = begin + max(cost.front, busy)
        for resource in instruction.reads:
            self._free[resource] = max(self._free[resource], begin + self._seen(OVERWRITE))
        latencies = dict(cost.after)
        for resource in instruction.writes:
            self._free[resource] = begin + self._seen(OVERWRITE)
            self._ready[resource] = begin + self._seen(cost.front + latencies[resource])
        return begin

    def _seen(self, cycles: int) -> int:
        return int(cycles / self.hidden)

    def _start(self, cost: Timing, begin: int) -> int:
        """Return when the unit starts, which is when the front end is free again."""
        start = begin + cost.front
        unit = cost.units[0]
        if unit:
            start = max(start, self._units[unit])
            self._units[unit] = start + cost.busy
        return start


def thread_cycles(instructions: Iterable[Native], machine: Machine) -> int:
    """Return the cycles that one thread alone needs to issue instructions.

    Raises:
        UnsupportedError: the generation has no such instruction or message.
    """
    thread = SingleThread(machine)
    for instruction in instructions:
        thread.issue(instruction)
    return thread.time


__all__ = ["OVERWRITE", "SingleThread", "thread_cycles"]
