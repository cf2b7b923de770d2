"""The seam between engines and detectors.

A launch has one `Sanitizer`, an observer, so that both engines feed it the same events in the same
order. It hands them to the detectors that were asked for, and collects what these report. What
engines do not tell by themselves, such as values, `Watch` effects tell that an `Instrument` adds to
the kernel; they arrive among the accesses, as sites of kind "watch".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from visim.engine.accesses import Accesses
from visim.engine.observers import GroupStart, Observer
from visim.errors import Fault
from visim.linker.program import LinkedKernel, LinkedUnit
from visim.machine.extents import Extent
from visim.sanitize.collecting import Collector, Side
from visim.sanitize.findings import Actor, Coordinates, Finding
from visim.sanitize.images.shapes import Picture
from visim.sanitize.places import Places
from visim.sem.effects import Effect

_MOST_KEPT = 100_000
"""So many notes of threads are kept before they are looked at."""


@dataclass(frozen=True, slots=True)
class Area:
    """Flat memory that a launch gives a kernel: where it begins, its size, and its name.

    `writable` says whether kernels may write it. `kind` is "buffer" for what a caller passed or
    bound, "private" for memory of work-items, and "hidden" for what visim itself added.
    """

    start: int
    size: int
    name: str
    kind: str = "buffer"
    writable: bool = True

    @property
    def end(self) -> int:
        """The address behind the last byte."""
        return self.start + self.size


@dataclass(frozen=True, slots=True)
class Undefined:
    """Flat memory that counts as never written: from `address` on, where bits are set in `bits`."""

    address: int
    bits: NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many work-items a launch has in each dimension, and a group; and the first one's id."""

    whole: Coordinates
    local: Coordinates
    first: Coordinates = (0, 0, 0)

    @property
    def groups(self) -> Coordinates:
        """How many groups the launch has in each dimension."""
        x, y, z = (-(-size // local) for size, local in zip(self.whole, self.local, strict=True))
        return (x, y, z)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Surroundings:
    """What detectors have to know of a launch.

    Attributes:
        kernel: the kernel, as it was linked without instruments.
        areas: its flat memory, and that of surfaces which no pointer reaches.
        surfaces: the host address of each surface, by binding table index.
        bound: the memory of each linear surface, by binding table index.
        pictures: the images, and arrays of two dimensions, by binding table index.
        extents: what the arguments are of flat and of local memory.
        scratch_bytes: the scratch memory of each thread.
        scratch_step: how much further in it the memory of each thread begins than that of the one
            before, and that of the first one than 0.
        local_bytes: the local memory of each group.
        sizes: the work-items of the launch and of a group, None for bare kernels.
    """

    kernel: LinkedKernel
    areas: tuple[Area, ...] = ()
    surfaces: dict[int, int] = field(default_factory=dict[int, int])
    bound: dict[int, Area] = field(default_factory=dict[int, Area])
    pictures: dict[int, Picture] = field(default_factory=dict[int, Picture])
    extents: tuple[Extent, ...] = ()
    sizes: Sizes | None = None
    scratch_bytes: int = 0
    local_bytes: int = 0
    scratch_step: int = 0

    def area(self, address: int) -> Area | None:
        """Return the area that holds an address."""
        for area in self.areas:
            if area.start <= address < area.start + max(area.size, 1):
                return area
        return None

    def asked(self, area: Area) -> int:
        """Return how many bytes of an area its caller asked for; drivers give it whole pages."""
        for extent in self.extents:
            start, size = extent.whole or (extent.start, extent.size)
            if not extent.is_local and start == area.start:
                return size
        return area.size

    def picture(self, address: int) -> Picture | None:
        """Return the image that a byte is of."""
        return next((one for one in self.pictures.values() if one.has(address)), None)

    @property
    def texel_bytes(self) -> int:
        """So many bytes of the texels of images are looked at: those of the smallest, 4 at most."""
        return min((4, *(one.unit for one in self.pictures.values())))

    def local_element(self, address: int) -> str:
        """Return what a byte of local memory is called: an argument's element, if it is of one."""
        for extent in self.extents:
            if extent.is_local and extent.element and extent.start <= address < extent.end:
                offset = address - extent.start
                inside = f", byte {offset % extent.element}" if offset % extent.element else ""
                count = extent.size // extent.element
                return f"{extent.name}[{offset // extent.element}] of {count}{inside}"
        return f"byte {address} of local memory"

    def mask(self, group: Coordinates, thread: int) -> int:
        """Return the channels that a thread starts with, as bits."""
        width, inside = self.kernel.simd_size, self._group_size(group)
        items = width
        if inside is not None:
            items = max(0, min(width, inside[0] * inside[1] * inside[2] - thread * width))
        return (1 << items) - 1

    def actor(self, group: Coordinates, thread: int, channel: int | None) -> Actor:
        """Return who a channel of a thread is."""
        item = None if channel is None else self._work_item(group, thread, channel)
        return Actor(group, thread, channel, item)

    def _group_size(self, group: Coordinates) -> Coordinates | None:
        """Return the work-items of a group in each dimension; the last may be smaller."""
        if self.sizes is None:
            return None
        x, y, z = (
            max(1, min(local, size - number * local))
            for local, size, number in zip(self.sizes.local, self.sizes.whole, group, strict=True)
        )
        return (x, y, z)

    def _work_item(self, group: Coordinates, thread: int, channel: int) -> Coordinates | None:
        inside = self._group_size(group)
        if inside is None or self.sizes is None:
            return None
        number = thread * self.kernel.simd_size + channel
        width, height, _ = inside
        own = (number % width, number // width % height, number // (width * height))
        x, y, z = (
            first + place * local + item
            for first, place, local, item in zip(
                self.sizes.first, group, self.sizes.local, own, strict=True
            )
        )
        return (x, y, z)


class Detector(Protocol):
    """Finds one kind of fault in what a launch does.

    Between `begin_group` and `end_group` the threads of a group take turns; `accesses` come in the
    order of execution. `end` comes once, also behind a fault.
    """

    def begin_group(self, group: GroupStart) -> None:
        """A thread group begins."""
        ...

    def accesses(self, accesses: Accesses) -> None:
        """A thread has accessed memory, met others, or come by a `Watch`."""
        ...

    def end_group(self, fault: Fault | None) -> None:
        """The group has ended, or stopped with a fault."""
        ...

    def end(self) -> None:
        """The launch has ended."""
        ...


class Instrument(Protocol):
    """Adds effects to a kernel's instructions; the meaning of the kernel stays what it is."""

    name: str

    def effects(
        self, kernel: LinkedKernel, unit: LinkedUnit, pc: int, effects: tuple[Effect, ...]
    ) -> tuple[Effect, ...]:
        """Return the effects of an instruction and what is added to them, in order."""
        ...


class Sanitizer(Observer):
    """What watches one launch, and has to see all that threads do, group by group.

    Args:
        surroundings: the launch.
        collector: gets what is found; detectors have it, too.
        detectors: those that were asked for.
    """

    def __init__(
        self, surroundings: Surroundings, collector: Collector, detectors: Sequence[Detector]
    ) -> None:
        self.surroundings = surroundings
        self.collector = collector
        self._detectors = tuple(detectors)
        self._open = False

    def group_begin(self, group: GroupStart) -> None:
        """End the group before and begin this one."""
        self._end_group(None)
        self._open = True
        for detector in self._detectors:
            detector.begin_group(group)

    def accesses(self, accesses: Accesses) -> None:
        """Let all detectors see what a thread did."""
        for detector in self._detectors:
            detector.accesses(accesses)

    @property
    def detectors(self) -> tuple[Detector, ...]:
        """Those that were asked for."""
        return self._detectors

    def finish(self, fault: Fault | None) -> tuple[Finding, ...]:
        """End the launch; return what was found."""
        self._end_group(fault)
        for detector in self._detectors:
            detector.end()
        return self.collector.findings()

    def _end_group(self, fault: Fault | None) -> None:
        if not self._open:
            return
        self._open = False
        for detector in self._detectors:
            detector.end_group(fault)


class WatchingSanitizer(Sanitizer):
    """What watches one launch by nothing but what instruments tell, group by group."""

    watches_only = True


class FreeSanitizer(Observer):
    """What watches one launch by nothing but what instruments tell, of groups in any order.

    It keeps what it is told, and looks at it in the groups' order, so that both engines give the
    same example of a finding; at once if `is_hasty`, or if it is told too much.

    Args:
        surroundings: the launch.
        collector: gets what is found; detectors have it, too.
        detectors: those that were asked for, which need not know where groups begin and end.
        is_hasty: whether findings are wanted as soon as there are any.
    """

    watches_only = True

    def __init__(
        self,
        surroundings: Surroundings,
        collector: Collector,
        detectors: Sequence[Detector],
        *,
        is_hasty: bool,
    ) -> None:
        self.surroundings = surroundings
        self.collector = collector
        self._detectors = tuple(detectors)
        self._kept: list[Accesses] = []
        self._is_hasty = is_hasty
        self._lock = Lock()

    def accesses(self, accesses: Accesses) -> None:
        """Keep what a thread has told."""
        with self._lock:
            self._kept.append(accesses)
            if self._is_hasty or len(self._kept) > _MOST_KEPT:
                self._look()

    @property
    def detectors(self) -> tuple[Detector, ...]:
        """Those that were asked for."""
        return self._detectors

    def finish(self, fault: Fault | None) -> tuple[Finding, ...]:
        """End the launch; return what was found."""
        del fault
        self._look()
        for detector in self._detectors:
            detector.end()
        return self.collector.findings()

    def _look(self) -> None:
        """Let detectors see what was kept, in the order of groups and threads."""
        kept = sorted(self._kept, key=lambda one: (*reversed(one.group), one.thread))
        self._kept.clear()
        for accesses in kept:
            for detector in self._detectors:
                detector.accesses(accesses)


__all__ = [
    "Area",
    "Collector",
    "Detector",
    "FreeSanitizer",
    "Instrument",
    "Places",
    "Sanitizer",
    "Side",
    "Sizes",
    "Surroundings",
    "Undefined",
    "WatchingSanitizer",
]
