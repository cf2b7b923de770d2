"""What a launch tells the sanitizers about itself: its memory, its surfaces, its sizes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from visim.binary.debugarrays import debug_variables
from visim.engine.base import StopFlag
from visim.errors import Fault
from visim.linker import LinkedKernel
from visim.machine.extents import Extent
from visim.machine.surfaces import Surface
from visim.runtime.arguments.parameters import parameters
from visim.runtime.arguments.uninitialised import Uninitialised
from visim.runtime.payload.bare import BareLayout
from visim.runtime.payload.layout import POINTED_TO, PayloadLayout
from visim.runtime.payload.threads import LaunchPlan
from visim.runtime.printf.records import PRINTF_BYTES
from visim.runtime.sourcetexts import SourceTexts
from visim.sanitize.bounds.arrays import OwnArrays, own_arrays
from visim.sanitize.bounds.instrument import OWN_LOCAL, Reach
from visim.sanitize.collecting import Collector
from visim.sanitize.detecting import (
    Area,
    FreeSanitizer,
    Sanitizer,
    Sizes,
    Surroundings,
    Undefined,
)
from visim.sanitize.findings import Finding
from visim.sanitize.images.shapes import Picture
from visim.sanitize.places import Places
from visim.sanitize.watching import Wanted, sanitizer

_SHADOWS, _EXTENTS, _CELLS = "shadow memory", "extents of memory", "words of races"
_IMAGES = "shapes of images"
OWN_MEMORY = frozenset({_SHADOWS, _EXTENTS, _CELLS, _IMAGES})
_PRINTF = POINTED_TO["printf_buffer"]
_KINDS = {
    "private memory": "private",
    _PRINTF: "hidden",
    "assert buffer": "hidden",
    "local ids": "hidden",
    "implicit arguments": "hidden",
}
"""Memory that visim adds to that of callers, by its name in faults."""


@dataclass(eq=False)
class Sanitizing:
    """The sanitizers that a launch asks for, the kernel that they watch, and its arguments.

    `watched` is the kernel with the instruments of the sanitizers.
    `uninitialised` are those of the arguments whose bytes count as never written.
    """

    kernel: LinkedKernel
    watched: LinkedKernel
    wanted: Wanted
    reach: Reach
    uninitialised: tuple[Uninitialised, ...]
    texts: SourceTexts
    _last: _Found | None = field(default=None, init=False)

    def prepare(self, plan: LaunchPlan) -> None:
        """Let a kernel reach the shadows of its memory."""
        memory = plan.parts[0].machine.memory
        known = {one.name for one in memory.allocations}
        space, table = self.wanted.space, self.wanted.table
        if space is not None and _SHADOWS not in known:
            memory.add(space.bytes, _SHADOWS)
        if table is not None and _EXTENTS not in known:
            memory.add(table.bytes, _EXTENTS)
        cells, images = self.wanted.cells, self.wanted.images
        if images is not None and _IMAGES not in known:
            memory.add(images.bytes, _IMAGES)
        if cells is not None and _CELLS not in known:
            memory.add(cells.bytes, _CELLS)

    @staticmethod
    def groups(plan: LaunchPlan) -> int:
        """Return how many groups a launch with metadata has, 0 for others."""
        sizes = _sizes(plan.geometry)
        return 0 if sizes is None else math.prod(sizes.groups)

    def is_apart(self, plan: LaunchPlan) -> bool:
        """Return whether no two arguments or surfaces of a plan share memory.

        Where an argument is a surface, too, both have the same name.
        """
        around = self.around(plan)
        known = [(one.name, one.start, one.size) for one in around.extents if not one.is_local]
        known += [(area.name, area.start, area.size) for area in around.bound.values()]
        areas = sorted({(start, size, name) for name, start, size in known if size})
        return all(one[0] + one[1] <= other[0] for one, other in pairwise(areas))

    def begin(
        self, plan: LaunchPlan, errors: Iterable[str], *, is_hasty: bool
    ) -> Sanitizer | FreeSanitizer:
        """Return what watches one run of a plan; `errors` are kinds that count as errors."""
        undefined = [Undefined(one.address, one.bits) for one in self.uninitialised]
        collector = Collector(Places(self.kernel, self.texts.text), frozenset(errors))
        around = self.around(plan)
        given = around, self.watched, self.wanted, undefined, self.reach, collector
        return sanitizer(*given, is_hasty=is_hasty)

    def around(self, plan: LaunchPlan) -> Surroundings:
        """Return what detectors have to know of a plan; launches of one plan have the same."""
        count = plan.parts[0].machine.memory.allocation_count
        last = self._last
        if last is None or last.plan is not plan or last.allocations != count:
            last = self._last = _Found(plan, count, self._surroundings(plan))
        return last.surroundings

    def _surroundings(self, plan: LaunchPlan) -> Surroundings:
        machine = plan.parts[0].machine
        areas = tuple(
            Area(one.address, one.size, one.name, _KINDS.get(one.name, "buffer"), one.writable)
            for one in machine.memory.allocations
            if one.name not in OWN_MEMORY
        )
        bound = {index: _area(plan.surfaces[index]) for index in _linear(plan)}
        areas += _unknown(areas, bound.values())
        surfaces = {index: area.start for index, area in bound.items()}
        pictures = dict(_pictures(plan))
        sizes, scratch = _sizes(plan.geometry), machine.scratch_bytes
        extents = list(plan.extents)
        extents += [
            Extent(one.name, one.offset, one.size, is_local=True, whole=None, element=one.element)
            for one in self.reach.own.arrays
        ]
        if self.reach.own_local:
            extents.append(Extent(OWN_LOCAL, 0, self.reach.own_local, is_local=True))
        dispatch = plan.parts[0].dispatch
        step = dispatch.start(0, 0).scratch_base if scratch else 0
        return Surroundings(
            self.kernel,
            areas,
            surfaces,
            bound,
            pictures,
            tuple(extents),
            sizes,
            scratch,
            dispatch.slm_bytes,
            step,
        )


@dataclass(frozen=True, slots=True)
class _Found:
    """What was found of a plan whose memory had so many allocations."""

    plan: LaunchPlan
    allocations: int
    surroundings: Surroundings


@dataclass(frozen=True, slots=True)
class FirstFinding:
    """Stops a run when its sanitizers have found an error or a warning, or when `other` does."""

    watcher: Sanitizer | FreeSanitizer
    other: StopFlag | None

    def is_set(self) -> bool:
        """Return whether the run has to stop."""
        return not self.watcher.collector.is_empty or (
            self.other is not None and self.other.is_set()
        )


def first_finding(findings: Iterable[Finding], kernel: str) -> Fault | None:
    """Return the first error or warning as a fault."""
    for one in findings:
        if one.counts:
            place = one.places[0] if one.places else None
            actor = one.actors[0] if one.actors else None
            return Fault(
                "sanitizer",
                one.kind,
                one.message,
                kernel=kernel,
                group=None if actor is None else actor.group,
                thread=None if actor is None else actor.thread,
                channel=None if actor is None else actor.channel,
                instruction=None if place is None else place.instruction,
                file=None if place is None else place.file,
                line=None if place is None else place.line,
                buffer=one.buffer,
            )
    return None


def reach_of(
    layout: PayloadLayout | BareLayout, linked: LinkedKernel, raw: bytes | None, texts: SourceTexts
) -> Reach:
    """Return what kernels with a layout reach by pointers that they start with.

    Args:
        layout: the layout.
        linked: the kernel.
        raw: the file that it comes from, which may have debug data.
        texts: its source.
    """
    if isinstance(layout, BareLayout):
        return Reach(layout.pointers)
    names = {one.name for one in parameters(layout.kernel) if one.kind == "buffer"}
    hidden = {one.name for one in layout.pointers if one.name not in names}
    own = layout.kernel.execution_env.slm_size
    local = layout.local_pointers
    silent = tuple(
        one.name
        for one in parameters(layout.kernel)
        if one.kind == "local" and one.name not in {place.name for place in local}
    )
    return Reach(
        layout.pointers,
        local,
        own,
        silent,
        frozenset(hidden),
        has_groups=True,
        own=_own_arrays(linked, raw, names, texts),
        printf=_PRINTF,
        printf_bytes=PRINTF_BYTES,
    )


def _own_arrays(
    linked: LinkedKernel, raw: bytes | None, buffers: AbstractSet[str], texts: SourceTexts
) -> OwnArrays:
    """Return the arrays in local memory that debug data knows of."""
    if raw is None:
        return OwnArrays()
    known = debug_variables(raw, linked.name)
    return own_arrays(linked, known.arrays, known.pointers - buffers, texts.line, texts.whole)


def _area(surface: Surface) -> Area:
    return Area(surface.host_address, surface.size, surface.allocation.name)


def _pictures(plan: LaunchPlan) -> Iterator[tuple[int, Picture]]:
    """Yield the images of a plan, and its arrays of two dimensions, by binding table index."""
    images = plan.surfaces.images
    for index in _linear(plan):
        surface, image = plan.surfaces[index], images.get(index)
        start, name = surface.host_address, surface.allocation.name
        if image is not None:
            unit, counts = image.format.texel_bytes, image.levels[0].size
            row = counts[0] * unit
            yield index, Picture(name, start, unit, counts, row, math.prod(counts[1:]))
        elif surface.height is not None and surface.width is not None:
            counts = (surface.width, surface.height)
            yield index, Picture(name, start, 1, counts, *counts)


def _unknown(areas: Iterable[Area], bound: Iterable[Area]) -> tuple[Area, ...]:
    """Return the memory of surfaces that is in no area: kernels may have no pointer to it."""
    known = list(areas)
    count = len(known)
    for one in bound:
        if not any(a.start <= one.start and one.end <= a.end for a in known):
            known.append(one)
    return tuple(known[count:])


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


__all__ = ["OWN_MEMORY", "FirstFinding", "Sanitizing", "first_finding", "reach_of", "uninitialised"]
