"""Where inexact values go: a shadow of registers and memory that says which bytes they reached.

Owns the shadow of memory and the list of places that tainted values reached: branches, addresses,
and what a kernel leaves in memory. The steps that move taint are written by `taint_steps`; knows
no instruction.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.machine.surfaces import Surfaces
from visim.sem.effects import FIRST_COUNTER, Space

PAGE = 4096
Taints = NDArray[np.bool_]
Integers = NDArray[Any]


class Sink(StrEnum):
    """What an inexact value decides once it gets there."""

    BRANCH = "branch"
    ADDRESS = "address"
    OUTPUT = "output"


@dataclass(frozen=True, slots=True)
class Reached:
    """An instruction at which inexact values took part in a sink, with its place in the source."""

    sink: Sink
    instruction: str
    file: str | None
    line: int | None


class ShadowMemory:
    """Which bytes of an address space hold inexact values."""

    def __init__(self) -> None:
        self._pages: dict[int, Taints] = {}

    def load(self, starts: list[int], size: int) -> Taints:
        """Return for each start whether any of the `size` bytes from there on is tainted."""
        if not self._pages:
            return np.zeros(len(starts), np.bool_)
        return np.array([self._any(start, size) for start in starts], np.bool_)

    def store(self, start: int, size: int, *, tainted: bool) -> None:
        """Mark `size` bytes as tainted or not."""
        while size > 0:
            number, offset = divmod(start, PAGE)
            part = min(size, PAGE - offset)
            page = self._pages.get(number)
            if page is None and tainted:
                page = self._pages[number] = np.zeros(PAGE, np.bool_)
            if page is not None:
                page[offset : offset + part] = tainted
            start, size = start + part, size - part

    def _any(self, start: int, size: int) -> bool:
        while size > 0:
            number, offset = divmod(start, PAGE)
            part = min(size, PAGE - offset)
            page = self._pages.get(number)
            if page is not None and page[offset : offset + part].any():
                return True
            start, size = start + part, size - part
        return False


@dataclass
class Tracker:
    """The shadows of the memories that a run's threads reach, and what taint has reached.

    Surfaces and flat memory are one: the bytes of the caller's arrays by their host addresses.
    """

    surfaces: Surfaces = field(default_factory=Surfaces)
    reached: Counter[Reached] = field(default_factory=Counter[Reached])
    _memory: ShadowMemory = field(default_factory=ShadowMemory)
    _slm: ShadowMemory = field(default_factory=ShadowMemory)
    _scratch: dict[int, ShadowMemory] = field(default_factory=dict[int, ShadowMemory])
    _thread: int = 0

    def start_run(self, surfaces: Surfaces, memory: ShadowMemory) -> None:
        """Forget what earlier runs reached; `memory` is the shadow of flat memory."""
        self.surfaces, self._memory = surfaces, memory
        self.reached = Counter()

    def end_run(self) -> Counter[Reached]:
        """Return what the run has reached, and let go of its memory."""
        reached = self.reached
        self.start_run(Surfaces(), ShadowMemory())
        return reached

    def start_group(self) -> None:
        """Begin with clean SLM and scratch memory."""
        self._slm = ShadowMemory()
        self._scratch = {}

    def enter(self, thread: int) -> None:
        """Let the scratch memory be that of a thread."""
        self._thread = thread

    def note(self, reached: Reached, taints: Taints, mask: Taints | None) -> None:
        """Count an instruction if any enabled channel has a tainted value there."""
        if (taints if mask is None else taints & mask[: taints.size]).any():
            self.reached[reached] += 1

    def load(
        self,
        space: Space,
        surface: int,
        addresses: Integers,
        mask: Taints | None,
        size: int,
        components: int = 1,
    ) -> Taints:
        """Return the taint of loaded elements: a value a channel, or a row of components."""
        shadow, base = self._place(space, surface)
        if shadow is None:
            found = np.zeros(addresses.size * components, np.bool_)
        else:
            starts = [
                base + int(address) + size * component
                for address in addresses
                for component in range(components)
            ]
            found = shadow.load(starts, size)
        found = found.reshape(addresses.size, components)
        if mask is not None:
            found &= mask[:, None]
        return found[:, 0] if components == 1 else found

    def store(
        self,
        space: Space,
        surface: int,
        addresses: Integers,
        mask: Taints | None,
        size: int,
        taints: tuple[Taints | None, ...],
    ) -> None:
        """Mark stored elements; `taints` has an entry for each component."""
        shadow, base = self._place(space, surface)
        if shadow is None:
            return
        for lane, address in enumerate(addresses):
            if mask is not None and not mask[lane]:
                continue
            for component, column in enumerate(taints):
                tainted = column is not None and bool(column[lane])
                shadow.store(base + int(address) + size * component, size, tainted=tainted)

    def load_image(self, surface: int, lanes: int) -> Taints:
        """Return whether any byte of an image is tainted, for each of `lanes` values."""
        size = self._size(surface)
        shadow, base = self._place(Space.SURFACE, surface)
        found = shadow is not None and bool(shadow.load([base], size)[0])
        return np.full(lanes, found)

    def store_image(self, surface: int, taints: Taints) -> None:
        """Mark a whole image if a value stored into it is tainted."""
        shadow, base = self._place(Space.SURFACE, surface)
        if shadow is not None and taints.any():
            shadow.store(base, self._size(surface), tainted=True)

    def _size(self, surface: int) -> int:
        return self.surfaces[surface].size if surface in self.surfaces else 0

    def _place(self, space: Space, surface: int) -> tuple[ShadowMemory | None, int]:
        """Return the shadow of a space and what to add to its addresses."""
        match space:
            case Space.FLAT:
                return self._memory, 0
            case Space.SURFACE:
                if surface >= FIRST_COUNTER or surface not in self.surfaces:
                    return None, 0
                return self._memory, self.surfaces[surface].host_address
            case Space.SLM:
                return self._slm, 0
            case Space.SCRATCH:
                return self._scratch.setdefault(self._thread, ShadowMemory()), 0
            case Space.ARGUMENT | Space.SHADOW:
                return None, 0


__all__ = ["Reached", "ShadowMemory", "Sink", "Tracker"]
