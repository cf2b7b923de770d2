"""What a launch tells the sanitizers about itself: its memory, its surfaces, its sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from visim.linker import LinkedKernel
from visim.records import record
from visim.runtime.payload.threads import LaunchPlan
from visim.sanitize.detecting import Area, Sanitizer, Sizes, Surroundings
from visim.sanitize.watching import sanitizer

_KINDS = {
    "private memory": "private",
    "printf buffer": "hidden",
    "assert buffer": "hidden",
    "local ids": "hidden",
    "implicit arguments": "hidden",
}
"""Memory that visim adds to that of callers, by its name in faults."""


@record
class Sanitizing:
    """The sanitizers that a launch asks for, and the kernel that they watch."""

    kernel: LinkedKernel
    names: tuple[str, ...]

    def begin(self, plan: LaunchPlan) -> Sanitizer:
        """Return what watches one run of a plan."""
        machine = plan.parts[0].machine
        areas = tuple(
            Area(one.address, one.size, one.name, _KINDS.get(one.name, "buffer"))
            for one in machine.memory.allocations
        )
        surfaces = {index: plan.surfaces[index].host_address for index in _linear(plan)}
        return sanitizer(
            Surroundings(self.kernel, areas, surfaces, _sizes(plan.geometry)), self.names
        )


def _linear(plan: LaunchPlan) -> Sequence[int]:
    return [index for index in plan.surfaces.bound if index in plan.surfaces]


def _sizes(geometry: Mapping[str, Any]) -> Sizes | None:
    if "global_size" not in geometry:
        return None
    whole, local, first = (
        _three(geometry[name]) for name in ("global_size", "local_size", "global_offset")
    )
    return Sizes(whole, local, first)


def _three(sizes: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = (int(size) for size in sizes)
    return (x, y, z)


__all__ = ["Sanitizing"]
