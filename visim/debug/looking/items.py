"""Which work-item a channel is, and which channel a work-item is.

Knows the sizes of a launch. Bare kernels have no work-items: there hardware threads are all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.runtime.payload.geometry import local_ids

Triple = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel of a hardware thread of a group."""

    group: Triple
    thread: int
    lane: int


class WorkItems:
    """The work-items of a launch.

    Args:
        geometry: the sizes of the launch, as its plan has them.
        simd_size: how many work-items a hardware thread has.
        order: the dimensions in which they are counted.
    """

    def __init__(self, geometry: Mapping[str, Any], simd_size: int, order: Triple) -> None:
        self.whole = _three(geometry["global_size"])
        self.local = _three(geometry["local_size"])
        self.first = _three(geometry["global_offset"], 0)
        self._simd = simd_size
        self._order = order

    def inside(self, group: Triple) -> Triple:
        """Return the size of a group; the last ones may be smaller."""
        x, y, z = (
            max(1, min(local, whole - number * local))
            for local, whole, number in zip(self.local, self.whole, group, strict=True)
        )
        return x, y, z

    def ids(self, group: Triple, thread: int) -> NDArray[np.int64]:
        """Return the local ids of a thread's channels as an array [dimension, channel]."""
        found = _ids(self.inside(group), self._simd, self._order)
        return found[thread].astype(np.int64)

    def global_ids(self, group: Triple, thread: int) -> NDArray[np.int64]:
        """Return the global ids of a thread's channels as an array [dimension, channel]."""
        start = [
            first + number * local
            for first, number, local in zip(self.first, group, self.local, strict=True)
        ]
        return self.ids(group, thread) + np.array(start, np.int64)[:, None]

    def find(self, item: Triple) -> Channel | None:
        """Return which channel a work-item is, by its global id; None: there is none such."""
        relative = [one - first for one, first in zip(item, self.first, strict=True)]
        if any(not 0 <= one < size for one, size in zip(relative, self.whole, strict=True)):
            return None
        x, y, z = (one // local for one, local in zip(relative, self.local, strict=True))
        group = x, y, z
        own = [one % local for one, local in zip(relative, self.local, strict=True)]
        found = _ids(self.inside(group), self._simd, self._order)
        items = math.prod(self.inside(group))
        is_it = np.all(found == np.array(own)[None, :, None], axis=1).reshape(-1)[:items]
        places = np.flatnonzero(is_it)
        if not places.size:
            return None
        thread, lane = divmod(int(places[0]), self._simd)
        return Channel(group, thread, lane)

    def numbered(self, number: int) -> Channel | None:
        """Return which channel the work-item with a flat global id is; None: there is none."""
        width, height, _ = self.whole
        relative = number - self.first[0]
        x, y, z = relative % width, relative // width % height, relative // (width * height)
        return self.find((x + self.first[0], y + self.first[1], z + self.first[2]))

    def show(self, item: Triple) -> str:
        """Return a global id without the dimensions that the launch does not have."""
        dimensions = max((n + 1 for n in range(3) if self.whole[n] > 1), default=1)
        return str(item[0]) if dimensions == 1 else str(item[:dimensions])


@lru_cache(maxsize=8)
def _ids(size: Triple, simd_size: int, order: Triple) -> NDArray[np.uint16]:
    return local_ids(size, simd_size, order)


def _three(sizes: Any, default: int = 1) -> Triple:
    found = [int(size) for size in sizes]
    x, y, z = (*found, default, default)[:3]
    return x, y, z


__all__ = ["Channel", "WorkItems"]
