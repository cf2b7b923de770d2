"""Which bytes of the host's memory a launch has changed, and what they held before.

Memory is told by its host addresses, so that an array that is bound twice is kept once. Between two
checkpoints each page is kept when it is first written; going back puts the pages back.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

_PAGE_BITS = 12
_PAGE = 1 << _PAGE_BITS

Pages = dict[int, list[tuple[int, bytes]]]
"""By page number, what its writable stretches held: address and bytes."""


class HostMemory:
    """The writable stretches of host memory that a launch reaches, merged and in order.

    Args:
        stretches: address and size of each, which may overlap.
    """

    def __init__(self, stretches: Iterable[tuple[int, int]]) -> None:
        merged: list[tuple[int, int]] = []
        for start, size in sorted(stretches):
            if size and merged and start <= merged[-1][1]:
                merged[-1] = merged[-1][0], max(merged[-1][1], start + size)
            elif size:
                merged.append((start, start + size))
        self.stretches = tuple(merged)
        self._starts = [start for start, _ in merged]

    @property
    def size(self) -> int:
        """All bytes together."""
        return sum(end - start for start, end in self.stretches)

    def page(self, number: int) -> list[tuple[int, bytes]]:
        """Return what the writable stretches in a page hold now."""
        low, high = number << _PAGE_BITS, (number + 1) << _PAGE_BITS
        found: list[tuple[int, bytes]] = []
        first = max(0, bisect_right(self._starts, low) - 1)
        for start, end in self.stretches[first:]:
            if start >= high:
                break
            begin, stop = max(start, low), min(end, high)
            if begin < stop:
                found.append((begin, ctypes.string_at(begin, stop - begin)))
        return found

    def copy(self) -> Snapshot:
        """Return all bytes as they are now."""
        return tuple((start, ctypes.string_at(start, end - start)) for start, end in self.stretches)


Snapshot = tuple[tuple[int, bytes], ...]
"""Addresses and what was there."""


def put_back(kept: Iterable[tuple[int, bytes]]) -> None:
    """Write bytes to where they were."""
    for address, data in kept:
        ctypes.memmove(address, data, len(data))


class Undo:
    """What memory held at the last checkpoint, as far as it was written since.

    Args:
        memory: what can be written.
    """

    def __init__(self, memory: HostMemory) -> None:
        self.memory = memory
        self.pages: Pages = {}

    def begin(self) -> Pages:
        """Return the pages that were kept and begin anew, as at a checkpoint."""
        pages, self.pages = self.pages, {}
        return pages

    def touch(self, start: int, size: int) -> None:
        """Keep the pages of a stretch that is about to be written."""
        for number in range(start >> _PAGE_BITS, (start + max(size, 1) - 1 >> _PAGE_BITS) + 1):
            if number not in self.pages:
                self.pages[number] = self.memory.page(number)

    def touch_all(self, addresses: NDArray[np.uint64], size: int) -> None:
        """Keep the pages of as many stretches as there are addresses, all of one size."""
        for number in set((addresses >> np.uint64(_PAGE_BITS)).tolist()):
            if number not in self.pages:
                self.pages[number] = self.memory.page(number)
        last = addresses + np.uint64(size - 1)
        for number in set((last >> np.uint64(_PAGE_BITS)).tolist()):
            if number not in self.pages:
                self.pages[number] = self.memory.page(number)


def put_pages_back(pages: Pages) -> None:
    """Write pages back."""
    for kept in pages.values():
        put_back(kept)


def merged(earlier: Pages, later: Pages) -> Pages:
    """Return the pages of two intervals as those of one: what was there first counts."""
    return {**later, **earlier}


__all__ = ["HostMemory", "Pages", "Snapshot", "Undo", "merged", "put_back", "put_pages_back"]
