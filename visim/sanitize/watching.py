"""Which detectors and instruments the names that a caller gives stand for."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace

from visim.engine.prefetches import PrefetchInstrument
from visim.linker.program import LinkedKernel
from visim.sanitize.barriers import NAME as BARRIER
from visim.sanitize.barriers import BarrierDetector, BarrierInstrument
from visim.sanitize.bounds.detector import BoundsDetector
from visim.sanitize.bounds.images import ImageBoundsInstrument
from visim.sanitize.bounds.instrument import BoundsInstrument, Reach
from visim.sanitize.bounds.suspecting import BoundsSuspects
from visim.sanitize.bounds.table import ExtentTable, extent_table
from visim.sanitize.collecting import Collector
from visim.sanitize.detecting import (
    Detector,
    FreeSanitizer,
    Instrument,
    Sanitizer,
    Surroundings,
    Undefined,
    WatchingSanitizer,
)
from visim.sanitize.images.table import ImageTable, image_table
from visim.sanitize.instrumented import InstrumentedKernel, instrumented
from visim.sanitize.quick.groups import GroupInstrument
from visim.sanitize.quick.meetings import MeetingInstrument
from visim.sanitize.quick.suspects import SuspicionDetector
from visim.sanitize.races.cells import CellSpace, cell_space
from visim.sanitize.races.detector import RaceDetector
from visim.sanitize.races.instrument import RaceInstrument
from visim.sanitize.races.suspicions import SuspicionInstrument
from visim.sanitize.undefined.detector import UndefinedDetector
from visim.sanitize.undefined.instrument import UndefinedInstrument
from visim.sanitize.undefined.prints import Prints
from visim.sanitize.uninit.detector import UninitDetector
from visim.sanitize.uninit.instrument import PREFIX as UNINIT
from visim.sanitize.uninit.instrument import Tracking, UninitInstrument
from visim.sanitize.uninit.layout import ShadowedKernel
from visim.sanitize.uninit.marks import Marks
from visim.sanitize.uninit.memory import ShadowSpace, shadow_space
from visim.sanitize.uninit.suspecting import UninitSuspects
from visim.sem.effects import Space

_FREE = (
    *(BoundsDetector, UndefinedDetector),
    *(BoundsSuspects, SuspicionDetector, UninitSuspects),
)
"""Detectors that need not know where groups begin."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is wanted of a launch's sanitizers, as far as the kernel's code depends on it.

    Attributes:
        names: the detectors.
        flat: whether flat memory has bytes that nothing has written.
        strict: whether registers count that the program reads before it writes them: what a
            compiler has made reads such on purpose.
        prefetches: whether an observer wants to see them, which is no sanitizer's business.
        is_quick: whether races, barriers, and uses of what nothing has written are only suspected,
            by native code.
        is_native: whether native code runs the kernel.
        is_apart: whether it is known that no two arguments share memory.
    """

    names: tuple[str, ...] = ()
    flat: bool = False
    strict: bool = False
    prefetches: bool = False
    is_quick: bool = False
    is_native: bool = False
    is_apart: bool = False

    def __bool__(self) -> bool:
        return bool(self.names)

    def on(self, engine: str) -> Wanted:
        """Return the same on an engine."""
        return replace(self, is_native=bool(self) and engine == "jit")

    @property
    def space(self) -> ShadowSpace | None:
        """The shadows of memory that the launch needs, if it does.

        Raises:
            UnsupportedError: the system does not let the process have them.
        """
        return shadow_space() if "uninit" in self.names else None

    @property
    def table(self) -> ExtentTable | None:
        """Where the extents of memory are that the launch needs, if it does.

        Quick looks at races leave out what does not race while accesses stay in their memory.
        """
        needs = "bounds" in self.names or (self.is_quick and "races" in self.names)
        return extent_table() if needs else None

    @property
    def cells(self) -> CellSpace | None:
        """The words of quick looks that the launch needs, if it does."""
        return cell_space() if self.is_quick else None

    @property
    def images(self) -> ImageTable | None:
        """Where the shapes of images are that the launch needs, if it does."""
        return image_table() if {"bounds", "races"} & {*self.names} else None

    def turn(self) -> AbstractContextManager[object]:
        """Return what holds while a launch runs: shadows and extents are of one at a time."""
        stack = ExitStack()
        for one in (self.space, self.table, self.images, self.cells):
            if one is not None:
                stack.enter_context(one.lock)
        return stack


def watched_kernel(kernel: LinkedKernel, wanted: Wanted, reach: Reach) -> LinkedKernel:
    """Return a kernel with the instruments that are wanted, and with what these need.

    Raises:
        UnsupportedError: the system does not let the process have shadows of memory.
    """
    instruments: list[Instrument] = []
    space, table, images = wanted.space, wanted.table, wanted.images
    if table is not None:
        # Detectors of more than bounds have to see which lanes are out of range.
        alone = not {"races", "uninit", "barriers"} & {*wanted.names}
        native = wanted.is_native and (wanted.is_quick or alone)
        instruments.append(BoundsInstrument(kernel, reach, table, native=native))
    if "undefined" in wanted.names:
        prints = Prints(kernel, reach.flat, reach.printf, reach.printf_bytes)
        instruments.append(UndefinedInstrument(prints, has_groups=reach.has_groups))
    if space is not None:
        shadowed = ShadowedKernel(kernel)
        kernel = shadowed.kernel
        memories = {Space.SLM, Space.SCRATCH}
        if wanted.flat:
            memories |= {Space.FLAT, Space.SURFACE}
        kept = frozenset(memories), wanted.strict, shadowed.distance
        tracking = Tracking(*kept, has_groups=reach.has_groups, origins=not wanted.is_quick)
        instruments.append(UninitInstrument(kernel, tracking, space))
    cells = wanted.cells
    if images is not None and "bounds" in wanted.names:
        instruments.append(ImageBoundsInstrument(kernel, reach, images))
    if images is not None and "races" in wanted.names:
        if cells is None:
            instruments.append(RaceInstrument(kernel, images))
        else:
            apart = wanted.is_apart
            instruments.append(SuspicionInstrument(kernel, reach, cells, images, is_apart=apart))
    if "barriers" in wanted.names and cells is None:
        instruments.append(BarrierInstrument())
    if cells is not None:
        instruments.append(MeetingInstrument(cells))
        instruments.append(GroupInstrument(kernel, cells, space))
    if wanted.prefetches:
        instruments.append(PrefetchInstrument())
    return instrumented(kernel, instruments)


def sanitizer(
    surroundings: Surroundings,
    watched: LinkedKernel,
    wanted: Wanted,
    undefined: Sequence[Undefined],
    reach: Reach,
    collector: Collector,
    *,
    is_hasty: bool = False,
) -> Sanitizer | FreeSanitizer:
    """Return what watches one launch.

    Args:
        surroundings: the launch.
        watched: the kernel with its instruments.
        wanted: which detectors.
        undefined: what of flat memory counts as never written.
        reach: what the kernel reaches by pointers that it starts with.
        collector: gets what is found.
        is_hasty: whether findings are wanted as soon as there are any.
    """
    detectors: list[Detector] = []
    cells, images = wanted.cells, wanted.images
    if images is not None:
        images.fill(surroundings.pictures)
    if cells is not None:
        detectors.append(SuspicionDetector(surroundings, cells))
    elif "races" in wanted.names:
        detectors.append(RaceDetector(surroundings, collector))
    if "undefined" in wanted.names:
        detectors.append(UndefinedDetector(surroundings, collector))
    space, table = wanted.space, wanted.table
    if table is not None:
        if cells is None:
            detectors.append(BoundsDetector(surroundings, collector, reach, table))
        else:
            detectors.append(BoundsSuspects(surroundings, reach, table))
    tells = watched.tells if isinstance(watched, InstrumentedKernel) else frozenset[str]()
    if space is not None and cells is not None:
        marks = Marks(surroundings, space, undefined)
        detectors.append(UninitSuspects(surroundings, marks, cells))
    elif space is not None and (wanted.flat or any(one.startswith(UNINIT) for one in tells)):
        detectors.append(UninitDetector(surroundings, collector, space, undefined))
    if BARRIER in tells:
        detectors.append(BarrierDetector(surroundings, collector))
    is_free = all(isinstance(one, _FREE) for one in detectors)
    if is_free and reach.has_groups:
        return FreeSanitizer(surroundings, collector, detectors, is_hasty=is_hasty)
    is_precise = "races" in wanted.names and not wanted.is_quick
    made = Sanitizer if is_precise else WatchingSanitizer
    return made(surroundings, collector, detectors)


def needs_groups(watched: LinkedKernel, wanted: Wanted) -> bool:
    """Whether the detectors of a launch have to be told of each group, unless a look is quick."""
    if "races" in wanted.names:
        return True
    if not isinstance(watched, InstrumentedKernel):
        return False
    told = any(one == BARRIER or one.startswith(UNINIT) for one in watched.tells)
    return told or ("uninit" in wanted.names and wanted.flat)


__all__ = ["Wanted", "needs_groups", "sanitizer", "watched_kernel"]
