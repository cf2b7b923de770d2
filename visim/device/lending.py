"""Memory of the program while kernels have it: a copy, which is kept up to date on both sides.

A kernel gets what the program has written before its launch; the program gets what the kernel has
changed, and nothing else of the copy. So kernels of several queues and the program may write to
different places of the same memory at a time.

Drivers lend large heaps of which they use a few pages. Pages that neither side has ever used are
zeros on both, and are left alone.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from visim.device.hostmemory import PAGE, Bytes, ProgramMemory, runs, touched_pages

_SMALL_PAGES = 8
"""To ask which pages of so few are used costs more than to copy them."""
_KEPT_BYTES = 16 << 20
"""What was agreed of a larger stretch is not kept between kernels."""


class Loan:
    """A stretch of the program's memory that kernels use by its copy; callers hold one lock.

    Args:
        program: the program's memory.
        place: where in it the stretch is.
        copy: the memory that kernels use in its place; zeros where it was never used.
    """

    def __init__(self, program: ProgramMemory, place: int, copy: Bytes) -> None:
        self._program = program
        self._place = place
        self._copy = copy
        self._agreed: Bytes | None = None
        """What copy and program were when they last agreed. Zeros where neither was used."""
        self._takers = 0

    def take(self) -> None:
        """Bring the copy up to date for one more kernel.

        Raises:
            OSError: the program has nothing there any more.
        """
        if self._agreed is None:
            self._agreed = _zeros(self._copy.size)
        for part in self._used(by_program=True):
            copy, agreed = self._copy[part], self._agreed[part]
            if not self._takers:
                self._program.read(self._place + part.start, copy)
                np.copyto(agreed, copy)
                continue
            now = np.empty_like(agreed)
            self._program.read(self._place + part.start, now)
            np.copyto(copy, now, where=now != agreed)
            np.copyto(agreed, now)
        self._takers += 1

    def give_back(self) -> None:
        """Hand the program what a kernel, which is done, has changed."""
        if not self._takers or self._agreed is None:
            return
        self._push(self._agreed)
        self._takers -= 1
        if not self._takers and self._copy.size > _KEPT_BYTES:
            self._agreed = None

    def end(self) -> None:
        """Hand over what was changed so far: the mapping is going away under its kernels."""
        if self._takers and self._agreed is not None:
            with suppress(OSError):  # Where the memory is gone, too, nobody can miss it.
                self._push(self._agreed)
        self._agreed, self._takers = None, 0

    def _used(self, *, by_program: bool) -> Iterator[slice]:
        """Yield the stretches of pages that a kernel, or the program, has ever used."""
        size, here = self._copy.size, int(self._copy.ctypes.data)
        if size <= _SMALL_PAGES * PAGE or (here | self._place) % PAGE:
            yield slice(0, size)
            return
        used = touched_pages(os.getpid(), here, size)
        if by_program:
            used |= self._program.touched_pages(self._place, size)
        for first, end in runs(used):
            yield slice(first, min(end, size))

    def _push(self, agreed: Bytes) -> None:
        """Write to the program what is not as agreed; then it is."""
        for part in self._used(by_program=False):
            self._push_part(part.start, self._copy[part], agreed[part])

    def _push_part(self, start: int, copy: Bytes, agreed: Bytes) -> None:
        changed = np.flatnonzero(copy != agreed)
        if not changed.size:
            return
        breaks = np.flatnonzero(np.diff(changed) > 1)
        firsts = changed[np.concatenate(([0], breaks + 1))].tolist()
        lasts = changed[np.concatenate((breaks, [changed.size - 1]))].tolist()
        for first, last in zip(firsts, lasts, strict=True):
            self._program.write(self._place + start + first, copy[first : last + 1])
        agreed[changed] = copy[changed]


def _zeros(size: int) -> Bytes:
    """Return zeros that take no memory until they are written."""
    return np.frombuffer(mmap.mmap(-1, size), np.uint8)
