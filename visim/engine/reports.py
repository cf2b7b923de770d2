"""What the interpreter tells observers: it collects, and reports in the order of execution.

The steps of instructions note their accesses here when somebody wants them; those of a turn of a
thread are reported when it is over. Knows nothing of how instructions are executed.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.engine.accesses import WATCH, Accesses, SiteTable, Words
from visim.engine.observers import (
    BlockCounts,
    BlockNumbers,
    GroupStart,
    Observer,
    Observers,
    ThreadPath,
)
from visim.errors import Fault
from visim.linker.program import LinkedKernel
from visim.sem.effects import Synchronization

_ENTRIES = 1024
"""How many accesses a thread notes before they are reported."""


class Reports:
    """The observers of one run, and what they have not been told yet.

    `path` has the blocks of the thread that runs, None where nobody wants them. `memory` is that
    of `GroupStart`.
    """

    def __init__(
        self,
        kernel: LinkedKernel,
        observers: Iterable[Observer],
        numbers: BlockNumbers,
        sites: SiteTable,
        memory: Sequence[tuple[int, int]],
    ) -> None:
        self.observers = Observers(observers)
        self.wants_blocks = bool(self.observers.thread_end or self.observers.block_counts)
        self.wants_accesses = bool(self.observers.accesses)
        self._kernel = kernel
        self._places = numbers.places
        self._sites = sites
        self._memory = memory
        self._counts: Counter[int] = Counter()
        self._group = (0, 0, 0)
        self._thread = 0
        self._entries: list[Words] = []

    def begin_group(self, group: tuple[int, int, int], threads: int, slm_bytes: int) -> None:
        """Report that a group begins."""
        self._group = group
        for observe in self.observers.group_begin:
            observe(GroupStart(self._kernel, group, threads, slm_bytes, self._memory))

    def end_thread(self, thread: int, path: array[int]) -> None:
        """Report that a thread has ended."""
        for observe in self.observers.thread_end:
            blocks = np.array(path, np.uint32)
            observe(ThreadPath(self._group, thread, blocks, self._places))

    def block(self, number: int, path: array[int]) -> None:
        """Note that a thread has executed a block."""
        if self.observers.thread_end:
            path.append(number)
        self._counts[number] += 1

    def begin_turn(self, thread: int) -> None:
        """Begin the turn of a thread, whose accesses are noted."""
        self._thread = thread

    def note(
        self, number: int, index: int, addresses: NDArray[Any] | None, mask: NDArray[Any] | None
    ) -> None:
        """Note an access, or that the thread meets others; `number` is that of the site."""
        site = self._sites.sites[number]
        if self.observers.watches_only and site.kind != WATCH:
            return
        if site.kind == WATCH and mask is not None and not mask[: site.lanes].any():
            return
        entry = np.empty(site.words, np.uint64)
        entry[0] = number | index << 32
        if addresses is not None:
            on = np.zeros(64 * site.masks, np.bool_)
            on[: site.lanes] = True if mask is None else mask[: site.lanes]
            entry[1 : 1 + site.masks] = np.packbits(on, bitorder="little").view(np.uint64)
            entry[1 + site.masks :] = addresses[: site.lanes]
        self._entries.append(entry)
        if len(self._entries) == _ENTRIES:
            self.end_turn()

    def meet(self, unit: int, pc: int, effect: Synchronization, operands: Sequence[int]) -> None:
        """Note that a thread synchronizes with others."""
        number = self._sites.number(unit, pc, effect) if self.wants_accesses else None
        if number is not None:
            self.note(number, operands[0] if operands else 0, None, None)

    def end_turn(self) -> None:
        """Report what was noted."""
        if not self._entries:
            return
        words = np.concatenate(self._entries)
        self._entries.clear()
        for observe in self.observers.accesses:
            observe(Accesses(self._group, self._thread, self._sites.sites, words))

    def end(self, fault: Fault | None) -> None:
        """Report how often blocks were executed, and the fault that ended the run."""
        for observe in self.observers.block_counts:
            counts = [self._counts[number] for number in range(len(self._places))]
            observe(BlockCounts(self._kernel, self._places, np.array(counts, np.uint64)))
        if fault is not None:
            for observe in self.observers.fault:
                observe(fault)


__all__ = ["Reports"]
