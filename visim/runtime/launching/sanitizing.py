"""What a launch tells the sanitizers about itself: its memory, its surfaces, its sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from visim.linker import LinkedKernel
from visim.records import record
from visim.runtime.arguments.uninitialised import Uninitialised
from visim.runtime.payload.threads import LaunchPlan
from visim.sanitize.detecting import Area, Sanitizer, Sizes, Surroundings, Undefined
from visim.sanitize.watching import Wanted, sanitizer

_SHADOWS = "shadow memory"
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
    """The sanitizers that a launch asks for, the kernel that they watch, and its arguments.

    `uninitialised` are those of the arguments whose bytes count as never written.
    """

    kernel: LinkedKernel
    wanted: Wanted
    uninitialised: tuple[Uninitialised, ...]

    def prepare(self, plan: LaunchPlan) -> None:
        """Let a kernel reach the shadows of its memory."""
        space, memory = self.wanted.space, plan.parts[0].machine.memory
        if space is not None and not any(one.name == _SHADOWS for one in memory.allocations):
            memory.add(space.bytes, _SHADOWS)

    def begin(self, plan: LaunchPlan) -> Sanitizer:
        """Return what watches one run of a plan."""
        machine = plan.parts[0].machine
        areas = tuple(
            Area(one.address, one.size, one.name, _KINDS.get(one.name, "buffer"))
            for one in machine.memory.allocations
            if one.name != _SHADOWS
        )
        surfaces = {index: plan.surfaces[index].host_address for index in _linear(plan)}
        sizes, scratch = _sizes(plan.geometry), machine.scratch_bytes
        around = Surroundings(self.kernel, areas, surfaces, sizes, scratch)
        undefined = [Undefined(one.address, one.bits) for one in self.uninitialised]
        return sanitizer(around, self.wanted, undefined)


def uninitialised(values: Iterable[object]) -> tuple[Uninitialised, ...]:
    """Return those of some arguments whose bytes count as never written, each once."""
    found = {id(one): one for one in values if isinstance(one, Uninitialised)}
    return tuple(found.values())


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


__all__ = ["Sanitizing", "uninitialised"]
