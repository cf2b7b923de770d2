"""Memory of the program while kernels have it: a copy, which is kept up to date on both sides.

A kernel gets what the program has written before its launch; the program gets what the kernel has
changed, and nothing else of the copy. So kernels of several queues and the program may write to
different places of the same memory at a time.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from visim.device.hostmemory import Bytes, ProgramMemory


class Loan:
    """A stretch of the program's memory that kernels use by its copy; callers hold one lock.

    Args:
        program: the program's memory.
        place: where in it the stretch is.
        copy: the memory that kernels use in its place.
    """

    def __init__(self, program: ProgramMemory, place: int, copy: Bytes) -> None:
        self._program = program
        self._place = place
        self._copy = copy
        self._agreed: Bytes | None = None
        """What copy and program were when they last agreed; None while no kernel has it."""
        self._takers = 0

    def take(self) -> None:
        """Bring the copy up to date for one more kernel.

        Raises:
            OSError: the program has nothing there any more.
        """
        if self._agreed is None:
            self._program.read(self._place, self._copy)
            self._agreed = self._copy.copy()
        else:
            now = np.empty_like(self._agreed)
            self._program.read(self._place, now)
            np.copyto(self._copy, now, where=now != self._agreed)
            np.copyto(self._agreed, now)
        self._takers += 1

    def give_back(self) -> None:
        """Hand the program what a kernel, which is done, has changed."""
        if self._agreed is None:
            return
        self._push(self._agreed)
        self._takers -= 1
        if not self._takers:
            self._agreed = None

    def end(self) -> None:
        """Hand over what was changed so far: the mapping is going away under its kernels."""
        if self._agreed is not None:
            with suppress(OSError):  # Where the memory is gone, too, nobody can miss it.
                self._push(self._agreed)
            self._agreed = None

    def _push(self, agreed: Bytes) -> None:
        """Write to the program what is not as agreed; then it is."""
        changed = np.flatnonzero(self._copy != agreed)
        if not changed.size:
            return
        breaks = np.flatnonzero(np.diff(changed) > 1)
        firsts = changed[np.concatenate(([0], breaks + 1))].tolist()
        lasts = changed[np.concatenate((breaks, [changed.size - 1]))].tolist()
        for first, last in zip(firsts, lasts, strict=True):
            self._program.write(self._place + first, self._copy[first : last + 1])
        agreed[changed] = self._copy[changed]
