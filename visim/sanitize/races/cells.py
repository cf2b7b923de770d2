"""The memory of the words that say who accessed what: `visim.engine.claims` has their form.

The process reserves a stretch of address space once. What launches have touched of it is given back
when it is much.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from visim.engine.claims import CELL_BYTES, GROUP_SHIFT, WORD_BYTES
from visim.sanitize.uninit.memory import FLAT_BITS, SLM_BITS, reserved

_LARGER = WORD_BYTES // CELL_BYTES
"""A shadow of writers, or of readers, is so many times as large as what it is of."""
_THREADS, THREAD_BYTES = 1 << 10, 32
_GROUP_BYTES = 64
_TABLE = 1 << 12
_STRIDES = 16
_LAUNCH = 16
_DONT_NEED = 4
_MOST_KEPT = 1 << 26
"""Words stay for the next launch while launches have reached so many bytes of memory."""


class CellSpace:
    """The address space of the words: flat memory, SLM, heads of threads, a table, and strides.

    `flat` and `slm` are where words begin of writers, and of readers. A thread has for each memory
    the head of its accesses, then the channels that it starts with, and how many barriers it has
    come to. The table says for each binding table index where its surface is in
    flat memory, the strides by how much the numbers of groups grow along y and z. `launch` is where
    the least word of the launch is, and that of many groups.
    `group` has the word of the group that runs, `meetings` its last two barriers, `marks` what
    `set_marks` says.
    """

    def __init__(self) -> None:
        flat, slm = _LARGER << FLAT_BITS, _LARGER << SLM_BITS
        threads = _THREADS * THREAD_BYTES
        self.size = 2 * (flat + slm) + threads + _TABLE + _STRIDES + _LAUNCH + _GROUP_BYTES
        self.base = reserved(self.size, "races")
        kind = ctypes.c_uint8 * self.size
        self.bytes: NDArray[np.uint8] = np.ctypeslib.as_array(kind.from_address(self.base))
        self.flat = self.base, self.base + flat
        first = self.base + 2 * flat
        self.slm = first, first + slm
        self.heads = first + 2 * slm
        self.table = self.heads + threads
        self.strides = self.table + _TABLE
        self.launch = self.strides + _STRIDES
        self.group = self.launch + _LAUNCH
        self.meetings, self.marks = self.group + 8, self.group + 24
        self._next_group = 1
        self._reached: dict[int, int] = {}
        self._surfaces: tuple[tuple[int, int], ...] = ()
        self.lock = threading.RLock()

    def begin_launch(self, counts: tuple[int, int, int], areas: Iterable[tuple[int, int]]) -> None:
        """Begin a launch, to which all words so far are nobody's.

        Args:
            counts: its groups in each dimension, `MOST_GROUPS` in all at most.
            areas: where flat memory is that it has, and the bytes of each.
        """
        width, height, depth = counts
        groups = width * height * depth
        if self._next_group + groups >= 1 << 64 - GROUP_SHIFT or self._is_much:
            self._forget()
        first = self._next_group
        self._next_group += groups + 1
        self._reached.update(areas)
        start = self.strides - self.base
        self.bytes[start : start + _STRIDES + _LAUNCH].view(np.uint64)[:] = (
            width,
            width * height,
            first << GROUP_SHIFT,
            first + groups << GROUP_SHIFT,
        )

    def end_launch(self) -> None:
        """Give memory back, if it is much."""
        if self._is_much:
            self._forget()

    @property
    def _is_much(self) -> bool:
        return sum(self._reached.values()) > _MOST_KEPT

    def set_marks(self, local: int, private: tuple[int, int], scratch: tuple[int, int]) -> None:
        """Say which shadows each group finds as of what nothing has written.

        Args:
            local: bytes of local memory.
            private: where the shadow of private memory is, and its bytes.
            scratch: bytes of the scratch memory of each thread, and how much further in it that
                of each thread begins than that of the one before.
        """
        start = self.marks - self.base
        self.bytes[start : start + 40].view(np.uint64)[:] = (local, *private, *scratch)

    def set_table(self, surfaces: Iterable[tuple[int, int]]) -> None:
        """Say where surfaces are in flat memory, by index."""
        found = tuple(surfaces)
        if found == self._surfaces:
            return
        self._surfaces = found
        start = self.table - self.base
        table = self.bytes[start : start + _TABLE].view(np.uint64)
        table[:] = 0
        for index, address in found:
            if index < table.size:
                table[index] = address

    def _forget(self) -> None:
        """Let everything be nobody's again."""
        library = ctypes.CDLL(None)
        library.madvise(ctypes.c_void_p(self.base), ctypes.c_size_t(self.size), _DONT_NEED)
        self._next_group, self._surfaces = 1, ()
        self._reached.clear()


@cache
def cell_space() -> CellSpace:
    """Return the words of this process.

    Raises:
        UnsupportedError: the system does not let it have so much address space.
    """
    return CellSpace()


__all__ = ["THREAD_BYTES", "CellSpace", "cell_space"]
