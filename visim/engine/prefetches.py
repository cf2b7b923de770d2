"""Prefetches: loads without a destination, which change nothing and yet move data.

Engines skip them. Whoever wants to know of them runs the kernel with an instrument, which tells
the addresses of each as a `Watch` effect; its name has the memory and the bytes of each lane.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from visim.engine.accesses import WATCH, AccessSite
from visim.isa import Instruction, trace
from visim.isa.lsc import LscLoad, LscLoadStrided
from visim.isa.lsc_block2d import LscLoadBlock
from visim.linker.program import LinkedKernel, LinkedUnit
from visim.operands import RawOperand
from visim.predefined import GENERALS
from visim.sem.effects import Effect, Load, LoadBlock, Space, Watch
from visim.sem.expr import bits_constant, broadcast, select
from visim.target import Platform
from visim.types import UQ

PREFIX = "prefetch "
OFF = (1 << 64) - 1
"""The address of a lane that is off: all lanes are told, so that each execution has an entry."""
SURFACE_SHIFT = 40
"""Of an address in a surface its index stands from this bit on."""


def is_prefetch(instruction: Instruction) -> bool:
    """Return whether an instruction loads into nothing."""
    loads = isinstance(instruction, LscLoad | LscLoadStrided | LscLoadBlock)
    return loads and instruction.dst.is_null


def loaded_by(instruction: Instruction, platform: Platform) -> Load | LoadBlock:
    """Return the load that a prefetch would be if it had a destination.

    Raises:
        visim.isa.Unexecutable: visim does not execute such loads.
    """
    somewhere = RawOperand(GENERALS[1])
    effects = trace(replace(instruction, dst=somewhere), platform)
    (found,) = [effect for effect in effects if isinstance(effect, Load | LoadBlock)]
    return found


class PrefetchInstrument:
    """Tells the addresses of prefetches."""

    name = "prefetches"

    def effects(
        self, kernel: LinkedKernel, unit: LinkedUnit, pc: int, effects: tuple[Effect, ...]
    ) -> tuple[Effect, ...]:
        """Return the effects of an instruction, and what a prefetch asks for."""
        instruction = unit.body[pc]
        if not is_prefetch(instruction):
            return effects
        load = loaded_by(instruction, kernel.platform)
        place = load.addresses if isinstance(load, Load) else load.address
        count = load.components if isinstance(load, Load) else load.count
        values = place.to(UQ)
        if load.surface is not None:
            index = broadcast(load.surface, values.lanes).to(UQ)
            values = values + (index << SURFACE_SHIFT)
        if load.mask is not None:
            values = select(load.mask, values, bits_constant(OFF, UQ, values.lanes))
        name = f"{PREFIX}{load.type.bytes * count} {load.space.value}"
        return (*effects, Watch(name, values, None))


def has_prefetches(kernel: LinkedKernel) -> bool:
    """Return whether a kernel prefetches anything."""
    return any(is_prefetch(item) for unit in kernel.units for item in unit.body)


@dataclass(frozen=True, slots=True)
class Told:
    """What a site tells of a prefetch: its memory, and the bytes of each lane."""

    space: Space
    size: int


@cache
def told_by(site: AccessSite) -> Told | None:
    """Return what a site tells of a prefetch, None for all other sites."""
    if site.kind != WATCH or not site.operation.startswith(PREFIX):
        return None
    size, _, space = site.operation.removeprefix(PREFIX).partition(" ")
    return Told(Space(space), int(size))


__all__ = [
    "OFF",
    "PREFIX",
    "SURFACE_SHIFT",
    "PrefetchInstrument",
    "has_prefetches",
    "is_prefetch",
    "loaded_by",
    "told_by",
]
