"""The shadow of races that native code keeps: two words for each four bytes, who wrote and read.

A word has, from the top: the group (24 bits), how many barriers of the group came before (16 bits),
the work-item (14 bits, from bit 2 on), and two marks. Zero is nobody. The process reserves a
stretch of address space once; what a launch has touched is given back behind it.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from visim.sanitize.uninit.memory import FLAT_BITS, SLM_BITS, reserved

CELL_SHIFT = 2
"""A shadow is so many binary places larger than what it is of."""
READ_BYTES = 8
"""Where the word of readers stands in a cell, behind that of writers."""
GROUP_SHIFT, PHASE_SHIFT, ITEM_SHIFT = 40, 24, 2
MOST_PHASES = (1 << 16) - 1
MANY_ITEMS = 0x3FFF << ITEM_SHIFT
MANY_GROUPS = 0x7FFFFF << GROUP_SHIFT
FIRST_GROUP = 1 << 23
"""Groups have this bit, so that no word of theirs is zero."""
MOST_GROUPS = FIRST_GROUP
"""So many groups of a launch have numbers of their own."""
_THREADS, _THREAD_BYTES = 1 << 10, 16
_TABLE = 1 << 12
_STRIDES = 16
_DONT_NEED = 4


class CellSpace:
    """The address space of the words: flat memory, SLM, heads of threads, a table, and strides.

    A thread has for each memory what words of its accesses begin with: group and barriers. The
    table says for each binding table index where its surface is in flat memory. The strides say
    by how much the numbers of groups grow along y and z.
    """

    def __init__(self) -> None:
        flat, slm = 1 << FLAT_BITS + CELL_SHIFT, 1 << SLM_BITS + CELL_SHIFT
        self.size = flat + slm + _THREADS * _THREAD_BYTES + _TABLE + _STRIDES
        self.base = reserved(self.size, "races")
        kind = ctypes.c_uint8 * self.size
        self.bytes: NDArray[np.uint8] = np.ctypeslib.as_array(kind.from_address(self.base))
        self.slm = self.base + flat
        self.heads = self.slm + slm
        self.table = self.heads + _THREADS * _THREAD_BYTES
        self.strides = self.table + _TABLE
        self.lock = threading.RLock()

    def set_groups(self, counts: tuple[int, int, int]) -> None:
        """Say how many groups a launch has in each dimension: `MOST_GROUPS` in all at most."""
        start = self.strides - self.base
        width, height, _ = counts
        self.bytes[start : start + _STRIDES].view(np.uint64)[:] = width, width * height

    def set_table(self, surfaces: Iterable[tuple[int, int]]) -> None:
        """Say where surfaces are in flat memory, by index."""
        start = self.table - self.base
        table = self.bytes[start : start + _TABLE].view(np.uint64)
        table[:] = 0
        for index, address in surfaces:
            if index < table.size:
                table[index] = address

    def forget(self) -> None:
        """Let everything be nobody's again."""
        library = ctypes.CDLL(None)
        library.madvise(ctypes.c_void_p(self.base), ctypes.c_size_t(self.size), _DONT_NEED)


@cache
def cell_space() -> CellSpace:
    """Return the words of this process.

    Raises:
        UnsupportedError: the system does not let it have so much address space.
    """
    return CellSpace()


__all__ = [
    "CELL_SHIFT",
    "FIRST_GROUP",
    "GROUP_SHIFT",
    "ITEM_SHIFT",
    "MANY_GROUPS",
    "MANY_ITEMS",
    "MOST_GROUPS",
    "MOST_PHASES",
    "PHASE_SHIFT",
    "READ_BYTES",
    "CellSpace",
    "cell_space",
]
