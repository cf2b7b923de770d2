"""Which group was the last to write some bytes of memory, found at the JIT's speed."""

from __future__ import annotations

import numpy as np

from visim.debug.engine.debuggee import Debuggee
from visim.engine.accesses import Accesses, AccessSite, Words, lanes_on
from visim.engine.observers import Observer
from visim.machine.surfaces import Surfaces

_WRITES = {"store", "atomic"}


class LastWriter(Observer):
    """Notes the groups that write a byte of a stretch of memory.

    Args:
        start: the first byte's host address.
        size: how many bytes.
        surfaces: the binding table.
    """

    def __init__(self, start: int, size: int, surfaces: Surfaces) -> None:
        self._start = start
        self._end = start + size
        self._bases = {
            index: surfaces[index].host_address for index in surfaces.bound if index in surfaces
        }
        self._sizes = {index: surfaces[index].size for index in self._bases}
        self.group: tuple[int, int, int] | None = None
        self.thread = 0

    def accesses(self, accesses: Accesses) -> None:
        """Look whether a thread has written there."""
        words, sites, place = accesses.words, accesses.sites, 0
        while place < words.size:
            head = int(words[place])
            site = sites[head & 0xFFFFFFFF]
            if site.kind in _WRITES or site.kind == "request":
                entry = words[place + 1 : place + site.words]
                if self._touches(site, head >> 32, entry):
                    self.group, self.thread = accesses.group, accesses.thread
            place += site.words

    def _touches(self, site: AccessSite, index: int, entry: Words) -> bool:
        if site.kind == "request":
            base, size = self._bases.get(index), self._sizes.get(index, 0)
            is_store = "Store" in site.operation or "Atomic" in site.operation
            return is_store and base is not None and base < self._end and self._start < base + size
        if site.space not in {"flat", "surface"}:
            return False
        base = self._bases.get(index, None) if site.space == "surface" else 0
        if base is None:
            return False
        addresses = lanes_on(site, entry)[1] + np.uint64(base)
        first = np.uint64(max(0, self._start - site.size + 1))
        return bool(((addresses >= first) & (addresses < np.uint64(self._end))).any())


def last_writer(debuggee: Debuggee, start: int, size: int, groups: int) -> int | None:
    """Run the first groups of a launch again; return which of them was the last to write there.

    Args:
        debuggee: the launch; its memory is as before it.
        start: the first byte's host address.
        size: how many bytes.
        groups: how many groups, in the order of the launch.

    Returns:
        The group's place in the order, or None where no group has.
    """
    watcher = LastWriter(start, size, debuggee.fast.plan.surfaces)
    debuggee.run_fast(0, groups, observers=(watcher,))
    return None if watcher.group is None else debuggee.index_of(watcher.group)


__all__ = ["LastWriter", "last_writer"]
