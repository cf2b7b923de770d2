"""The tables in which native code looks up memory: allocations, and the binding table."""

from __future__ import annotations

from struct import Struct

import numpy as np

from visim.engine.base import Machine
from visim.engine.jit.launch.records import octets_of
from visim.engine.jit.layout import SURFACE_ENTRY, TABLE_ENTRY
from visim.machine.surfaces import BINDING_TABLE_SIZE

_ALLOCATION, _SURFACE = Struct("3Q"), Struct("4Q")
_LEAST_ENTRIES = 16
_UNREAD = 3
"""Which word of a surface's entry counts blocks read beyond its end."""


class Tables:
    """The tables of one worker, filled for one launch after another."""

    def __init__(self) -> None:
        words = SURFACE_ENTRY // 8
        self._surfaces = np.zeros((BINDING_TABLE_SIZE + 1) * words, np.uint64)
        self.surfaces_at = int(self._surfaces.ctypes.data)
        self._words = octets_of(self._surfaces)
        self._bound: tuple[int, ...] = ()
        self._unread: tuple[int, ...] = ()
        self._make_room(_LEAST_ENTRIES)

    def _make_room(self, entries: int) -> None:
        self._flat = np.zeros(entries * (TABLE_ENTRY // 8), np.uint64)
        self._entries = octets_of(self._flat)
        self.flat_at, self.flat_entries = int(self._flat.ctypes.data), 0

    def fill(self, machine: Machine) -> None:
        """Show native code the memory of a launch, and no other."""
        flat = machine.memory.allocations
        if len(flat) * TABLE_ENTRY > self._flat.nbytes:
            self._make_room(2 * len(flat))
        entries, place = self._entries, 0
        for one in flat:
            _ALLOCATION.pack_into(entries, place, one.base, one.size, one.writable)
            place += TABLE_ENTRY
        self.flat_entries = len(flat)
        surfaces, bound = self._words, machine.surfaces.bound
        if bound != self._bound:
            for index in self._bound:
                _SURFACE.pack_into(surfaces, SURFACE_ENTRY * index, 0, 0, 0, 0)
            self._bound = bound
            self._unread = tuple([SURFACE_ENTRY // 8 * index + _UNREAD for index in bound])
        for index, one in zip(bound, machine.surfaces.allocations, strict=True):
            writable = one.size if one.writable else 0
            _SURFACE.pack_into(surfaces, SURFACE_ENTRY * index, one.address, one.size, writable, 0)

    def take_dropped(self) -> int:
        """Return how many blocks native code has read beyond surfaces since it was asked last."""
        total, counts = 0, self._words
        for place in self._unread:
            if counts[place]:
                total += counts[place]
                counts[place] = 0
        return total
