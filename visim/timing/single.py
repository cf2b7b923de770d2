"""One thread alone: the front end, the units and the scoreboard, in the order of the program.

Nothing of the core is here, no second thread, no instruction cache. The algorithm is the one that
Mesa estimates shaders with: an instruction waits for the resources it reads and those it writes,
keeps the front end busy, waits for its unit, and makes its results available later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from visim.timing.costs import Timing, timing_of
from visim.timing.machine import UNITS, Machine
from visim.timing.native import RESOURCES, Native


@dataclass(slots=True)
class SingleThread:
    """The state of the only thread: `time` is when its front end can take the next instruction."""

    machine: Machine
    time: int = 0
    _units: list[int] = field(default_factory=lambda: [0] * len(UNITS))
    _ready: list[int] = field(default_factory=lambda: [0] * RESOURCES)

    def issue(self, instruction: Native) -> int:
        """Execute an instruction; return when the front end began with it.

        Raises:
            UnsupportedError: the generation has no such instruction or message.
        """
        cost = timing_of(instruction, self.machine)
        waited = (*instruction.reads, *instruction.writes)
        begin = max([self.time, *(self._ready[resource] for resource in waited)])
        self.time = self._start(cost, begin)
        for resource, cycles in cost.after:
            self._ready[resource] = self.time + cycles
        return begin

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


__all__ = ["SingleThread", "thread_cycles"]
