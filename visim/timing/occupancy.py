"""How many threads a subslice has room for: by registers, shared local memory, barriers, groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from visim.errors import UnsupportedError
from visim.linker.program import LinkedKernel
from visim.timing.machine import Machine

if TYPE_CHECKING:
    from visim.timing.arrays import Work

USUAL_REGISTERS = 128


@dataclass(frozen=True, slots=True)
class Demand:
    """What a group takes of a subslice: `slots` are those of a core with such registers."""

    slots: int
    slm_bytes: int
    barriers: int


@dataclass(frozen=True, slots=True)
class Occupancy:
    """The threads that a core can have at once, and what limits them.

    `limits` are the groups of a subslice by what they need; `limit` is the least of them.
    """

    threads: float
    slots: int
    limits: dict[str, int]

    @property
    def limit(self) -> str:
        """What there is least of: threads, slm, barriers or groups."""
        return min(self.limits, key=lambda name: self.limits[name])

    @property
    def share(self) -> float:
        """The part of a core's slots that can have a thread."""
        return self.threads / self.slots


def registers_of(kernel: LinkedKernel) -> int:
    """Return how many registers a kernel says that a thread has."""
    stated = kernel.units[0].unit.attribute("NumGRF")
    return stated if isinstance(stated, int) and stated > 0 else USUAL_REGISTERS


def demand(machine: Machine, work: Work, has_barriers: bool) -> Demand:
    """Return what a group takes of a subslice.

    Raises:
        UnsupportedError: no thread can have so many registers.
    """
    return Demand(
        _slots(machine, work.registers),
        _granule(machine, work.slm_bytes),
        int(has_barriers and max(work.groups, default=0) > 1),
    )


def _slots(machine: Machine, registers: int) -> int:
    """Return the slots of a core if each thread has so many registers.

    A slot count that somebody set is that of the usual number of registers.
    """
    usual = machine.number("slots")
    modes = _modes(machine)
    fitting = [count for count in modes if count >= registers]
    if not fitting:
        raise UnsupportedError(
            f"timing: a thread has {registers} registers, on {machine.name} there are "
            f"{max(modes)} at most"
        )
    least = min(fitting)
    return max(1, usual * (modes[least] or usual) // (modes[USUAL_REGISTERS] or usual))


def _modes(machine: Machine) -> dict[int, int]:
    """Return the threads of a core by registers, 0 for as many as there are slots."""
    pairs = (word.partition(":") for word in machine.text("thread_modes").split())
    return {int(registers): int(threads or 0) for registers, _, threads in pairs}


def _granule(machine: Machine, size: int) -> int:
    """Return the shared local memory that a group gets which asks for `size` bytes."""
    granules = [1024 * int(word) for word in machine.text("slm_granules").split()]
    return min((granule for granule in granules if granule >= size), default=size)


def occupancy(machine: Machine, work: Work, has_barriers: bool) -> Occupancy:
    """Return how many threads a core can have of a launch."""
    group = demand(machine, work, has_barriers)
    size = max(work.groups)
    cores = min(machine.number("cores_per_subslice"), machine.number("eus"))
    limits = {"threads": cores * group.slots // size, "groups": machine.number("groups")}
    if group.slm_bytes:
        limits["slm"] = machine.number("slm") // group.slm_bytes
    if group.barriers:
        limits["barriers"] = machine.number("barriers") // group.barriers
    whole = max(group.slots, machine.number("slots"))
    return Occupancy(min(limits.values()) * size / cores, whole, limits)


__all__ = ["Demand", "Occupancy", "demand", "occupancy", "registers_of"]
