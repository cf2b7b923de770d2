"""The tables in which native code looks up memory: allocations, and the binding table."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

import numpy as np

from visim.engine.base import Machine
from visim.engine.jit.launch.records import octets_of
from visim.engine.jit.layout import FAULTS, SURFACE_ENTRY, TABLE_ENTRY
from visim.machine.bounds import Bounds
from visim.machine.surfaces import BINDING_TABLE_SIZE

_ALLOCATION, _SURFACE = Struct("3Q"), Struct("4Q")
_LEAST_ENTRIES = 16
_UNREAD = 3
"""Which word of a surface's entry counts blocks read beyond its end."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What the tables hold for a launch: `bound` are the indices of its surfaces."""

    flat: bytes
    bound: tuple[int, ...]
    surfaces: bytes

    @classmethod
    def of(cls, machine: Machine) -> Contents:
        """Return what native code is shown of a launch's memory."""
        surfaces = machine.surfaces
        flat = [
            _ALLOCATION.pack(one.base, one.size, one.writable) for one in machine.memory.allocations
        ]
        count = FAULTS if surfaces.bounds is Bounds.FAULT else 0
        entries = [
            _SURFACE.pack(one.address, one.size, one.size if one.writable else 0, count)
            for one in surfaces.allocations
        ]
        return cls(b"".join(flat), surfaces.bound, b"".join(entries))


class Tables:
    """The tables of one worker, filled for one launch after another."""

    def __init__(self) -> None:
        words = SURFACE_ENTRY // 8
        self._surfaces = np.zeros((BINDING_TABLE_SIZE + 1) * words, np.uint64)
        self.surfaces_at = int(self._surfaces.ctypes.data)
        self._words = octets_of(self._surfaces)
        self._octets = self._words.cast("B")
        self._shown = Contents(b"", (), b"")
        self._unread: tuple[int, ...] = ()
        self._make_room(_LEAST_ENTRIES)

    def _make_room(self, entries: int) -> None:
        self._flat = np.zeros(entries * (TABLE_ENTRY // 8), np.uint64)
        self._entries = octets_of(self._flat).cast("B")
        self.flat_at, self.flat_entries = int(self._flat.ctypes.data), 0

    def show(self, found: Contents) -> bool:
        """Show native code the memory of a launch, and no other; return whether it is another."""
        before = self._shown
        if found is before or found == before:
            return False
        flat, surfaces = found.flat, self._octets
        if len(flat) > self._flat.nbytes:
            self._make_room(2 * len(flat) // TABLE_ENTRY)
        self._entries[: len(flat)] = flat
        self.flat_entries = len(flat) // TABLE_ENTRY
        if found.bound != before.bound:
            for index in before.bound:
                surfaces[SURFACE_ENTRY * index : SURFACE_ENTRY * (index + 1)] = bytes(SURFACE_ENTRY)
            self._unread = tuple([SURFACE_ENTRY // 8 * index + _UNREAD for index in found.bound])
        for place, index in enumerate(found.bound):
            one = found.surfaces[SURFACE_ENTRY * place : SURFACE_ENTRY * (place + 1)]
            surfaces[SURFACE_ENTRY * index : SURFACE_ENTRY * (index + 1)] = one
        self._shown = found
        return True

    def take_dropped(self) -> int:
        """Return how many blocks native code has read beyond surfaces since it was asked last."""
        total, counts = 0, self._words
        for place in self._unread:
            if counts[place] and not counts[place] & FAULTS:
                total += counts[place]
                counts[place] = 0
        return total
