"""What one native instruction costs on a machine: the table's linear formulas, in whole cycles."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from visim.timing.machine import Machine
from visim.timing.native import ACCUMULATOR_0, ADDRESS, FLAG_0, RESOURCES, Native

_THREE = 3
"""Sources from which on reading one register twice may cost."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Cycles of one instruction: of the front end and of a unit, and when results are there.

    `after` pairs each resource that becomes unavailable with the cycles until it is available
    again, counted from when the unit starts; payloads first, results after them.
    """

    units: tuple[int, ...]
    front: int
    busy: int
    after: tuple[tuple[int, int], ...]


def timing_of(instruction: Native, machine: Machine) -> Timing:
    """Return the cycles of an instruction.

    Raises:
        UnsupportedError: the generation has no such instruction or message.
    """
    cost = machine.cost(machine.class_of(instruction.kind, instruction.opcode, instruction.size))
    sd, sx, ss, sc = instruction.sd, instruction.sx, instruction.ss, instruction.sc
    again = _read_again(instruction) * machine.again
    front = max(1, cost.df_1 + cost.df_sd * sd + cost.df_sx * sx + cost.df_sc * sc) + again
    passed = front if machine.counted_from == "issue" else 0

    def latency(resource: int) -> int:
        if passed:
            resource = _slowest(instruction.writes, resource)
        if FLAG_0 <= resource < RESOURCES and cost.lf:
            return cost.lf
        in_accumulator = ACCUMULATOR_0 <= resource < FLAG_0
        base = cost.la if in_accumulator else cost.ld_1 + cost.ld_ss * ss
        return base + cost.ld_sd * sd

    read = cost.ls_1 + cost.ls_ss * ss
    after = [(resource, max(0, read - passed)) for resource in instruction.payload]
    after += [(item, max(0, latency(item) - passed)) for item in instruction.writes]
    return Timing(cost.units, front, cost.db_1 + cost.db_sx * sx + again, tuple(after))


def _read_again(instruction: Native) -> int:
    """Return how many registers two of three sources have in common."""
    sources = [source for source in instruction.sources if source]
    if len(sources) < _THREE or instruction.is_send:
        return 0
    twice = {a for a, b in itertools.combinations(sources, 2) if a == b}
    return max(map(len, twice), default=0)


def _slowest(writes: tuple[int, ...], resource: int) -> int:
    """Return the resource whose latency is that of all results, where latencies count from issue.

    Whoever writes a flag or an address register takes its time for everything, and an accumulator
    beside another result has the time of the latter.
    """
    if any(item == ADDRESS or FLAG_0 <= item < RESOURCES for item in writes):
        return FLAG_0
    return next((item for item in writes if not ACCUMULATOR_0 <= item < FLAG_0), resource)


__all__ = ["Timing", "timing_of"]
