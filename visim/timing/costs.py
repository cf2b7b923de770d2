"""What one native instruction costs on a machine: the table's linear formulas, in whole cycles."""

from __future__ import annotations

from dataclasses import dataclass

from visim.timing.machine import Machine
from visim.timing.native import ACCUMULATOR_0, FLAG_0, Native


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
    cost = machine.cost(instruction.kind)
    sd, sx, ss, sc = instruction.sd, instruction.sx, instruction.ss, instruction.sc
    read = cost.ls_1 + cost.ls_ss * ss
    written = cost.ld_1 + cost.ld_ss * ss + cost.ld_sd * sd

    def latency(resource: int) -> int:
        if resource >= FLAG_0:
            return cost.lf
        return cost.la if resource >= ACCUMULATOR_0 else written

    after = [(resource, read) for resource in instruction.payload]
    after += [(resource, latency(resource)) for resource in instruction.writes]
    front = max(1, cost.df_1 + cost.df_sd * sd + cost.df_sc * sc)
    return Timing(cost.units, front, cost.db_1 + cost.db_sx * sx, tuple(after))


__all__ = ["Timing", "timing_of"]
