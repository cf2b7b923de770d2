"""Where extents of memory stand while a launch runs, so that instrumented code can look them up.

The process has one table at one address, which is in the code; launches that need it take turns.
"""

from __future__ import annotations

import threading
from functools import cache
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from visim.machine.allocations import aligned_zeros
from visim.sanitize.detecting import Surroundings

ENTRY_SHIFT = 5
_ENTRY = 1 << ENTRY_SHIFT
MOST_NAMES, _SURFACES = 255, 256
_SLM = MOST_NAMES
EVERYWHERE = 1 << 63
"""The size of what has no bounds."""


class ExtentTable:
    """Extents, four 64-bit numbers each: where memory starts, its bytes, those that can be written.

    The last one is 0. First come named ones, then local memory as a whole, then surfaces by binding
    table index.
    """

    def __init__(self) -> None:
        self.bytes: NDArray[np.uint8] = aligned_zeros(_ENTRY * (_SLM + 1 + _SURFACES))
        self.address = int(self.bytes.ctypes.data)
        self.lock = threading.RLock()
        self._holder: ref[Surroundings] | None = None
        self._entries = self.bytes.view(np.uint64).reshape(-1, _ENTRY // 8)

    def named(self, number: int) -> int:
        """Return the address of a named extent."""
        return self.address + _ENTRY * number

    @property
    def local(self) -> int:
        """The address of the extent of local memory."""
        return self.named(_SLM)

    @property
    def surfaces(self) -> int:
        """The address of the extent of the surface with index 0; others follow it."""
        return self.surface(0)

    def surface(self, index: int) -> int:
        """Return the address of the extent of a surface."""
        return self.named(_SLM + 1 + index)

    def is_held_by(self, surroundings: Surroundings) -> bool:
        """Return whether the table has the extents of a launch; if not, it is to get them now."""
        held = self._holder is not None and self._holder() is surroundings
        self._holder = ref(surroundings)
        return held

    def clear(self) -> None:
        """Let everything named be empty, and surfaces be without bounds."""
        self._entries[:] = 0
        self._entries[_SLM:] = (0, EVERYWHERE, EVERYWHERE, 0)

    def put(self, address: int, start: int, size: int, *, writable: bool = True) -> None:
        """Set the extent at an address of the table."""
        found = start, size, size if writable else 0, 0
        self._entries[(address - self.address) // _ENTRY] = found


@cache
def extent_table() -> ExtentTable:
    """Return the table of this process."""
    return ExtentTable()


__all__ = ["ENTRY_SHIFT", "EVERYWHERE", "MOST_NAMES", "ExtentTable", "extent_table"]
