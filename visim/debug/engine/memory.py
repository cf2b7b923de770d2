"""The memory that a debugged thread sees: it notes accesses, and keeps pages before stores.

Each class stands in front of a memory of `visim.machine` and has the methods that the steps of the
interpreter call. Flat memory and surfaces are told by host addresses, so that a byte has one name
however a kernel reaches it; local and scratch memory by their own offsets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.debug.engine.undo import Undo
from visim.machine.allocations import Bytes, Vector
from visim.machine.atomics import AtomicOp
from visim.machine.memory import Addresses, Mask, Space
from visim.machine.surfaces import Surfaces
from visim.sem.effects import FIRST_COUNTER
from visim.sem.requests import BlockStore, Operation, TexelAtomic, TexelStore

HOST, SLM, SCRATCH, ARGUMENT = "memory", "SLM", "scratch", "implicit arguments"
"""The spaces of accesses: flat memory and surfaces are one."""


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """One message of an instruction: `size` bytes at the address of each lane in `lanes`.

    `kind` is "load", "store" or "atomic". `owner` is the thread whose scratch memory it is, else 0.
    A message to a picture is one access to all of its bytes, by lane 0.
    """

    kind: str
    space: str
    addresses: NDArray[np.uint64]
    lanes: NDArray[np.intp]
    size: int
    owner: int = 0
    is_picture: bool = False

    def touches(self, start: int, size: int) -> bool:
        """Whether any lane accesses a byte of a stretch."""
        return bool(self.lanes_touching(start, size).size)

    def lanes_touching(self, start: int, size: int) -> NDArray[np.intp]:
        """Return the lanes that access a byte of a stretch."""
        first = np.uint64(max(0, start - self.size + 1))
        inside = (self.addresses >= first) & (self.addresses < np.uint64(start + size))
        return self.lanes[inside]

    def lane_at(self, address: int) -> int | None:
        """Return the last lane that accesses the byte at an address."""
        one = np.uint64(address)
        inside = (self.addresses <= one) & (one - self.addresses < np.uint64(self.size))
        found = np.flatnonzero(inside)
        return int(self.lanes[found[-1]]) if found.size else None


class Log:
    """What the instruction that runs does to memory.

    `accesses` are its messages in order; nobody empties it but who reads it. Nothing is noted
    unless `is_on`.
    """

    def __init__(self, undo: Undo) -> None:
        self.undo = undo
        self.is_on = False
        self.accesses: list[Access] = []

    def note(
        self,
        kind: str,
        space: str,
        addresses: NDArray[np.uint64],
        lanes: NDArray[np.intp],
        size: int,
        owner: int = 0,
    ) -> None:
        """Note a message."""
        if lanes.size:
            # Addresses may be a view of registers, which change.
            self.accesses.append(Access(kind, space, addresses.copy(), lanes, size, owner))


_ALL = np.zeros(1, np.intp)


def _active(addresses: Addresses, mask: Mask | None) -> tuple[NDArray[np.intp], NDArray[np.uint64]]:
    wide = addresses.astype(np.uint64, copy=False)
    if mask is None:
        return np.arange(addresses.size), wide
    lanes = np.flatnonzero(mask[: addresses.size])
    return lanes, wide[lanes]


class WatchedSpace:
    """Flat, local, scratch or argument memory in front of which accesses are noted.

    Args:
        space: the memory.
        name: how accesses name it.
        log: where they are noted.
        owner: the thread whose scratch memory it is.
    """

    def __init__(self, space: Space, name: str, log: Log, owner: int = 0) -> None:
        self.space = space
        self._name = name
        self._log = log
        self._owner = owner
        self._keeps = name == HOST

    def load(
        self, addresses: Addresses, mask: Mask | None, dtype: np.dtype[Any], components: int = 1
    ) -> Vector:
        """Do as `Space.load` does."""
        if self._log.is_on:
            self._note("load", addresses, mask, dtype.itemsize * components)
        return self.space.load(addresses, mask, dtype, components)

    def store(
        self, addresses: Addresses, mask: Mask | None, values: Vector, components: int = 1
    ) -> None:
        """Do as `Space.store` does."""
        size = values.dtype.itemsize * components
        self._before("store", addresses, mask, size)
        self.space.store(addresses, mask, values, components)

    def atomic(
        self,
        op: AtomicOp,
        addresses: Addresses,
        mask: Mask | None,
        dtype: np.dtype[Any],
        operand0: Vector | None = None,
        operand1: Vector | None = None,
    ) -> Vector:
        """Do as `Space.atomic` does."""
        self._before("atomic", addresses, mask, dtype.itemsize)
        return self.space.atomic(op, addresses, mask, dtype, operand0, operand1)

    def load_block(self, address: int, nbytes: int) -> Bytes:
        """Do as `Space.load_block` does."""
        if self._log.is_on:
            place = np.array([address], np.uint64)
            self._log.note("load", self._name, place, _ALL, nbytes, self._owner)
        return self.space.load_block(address, nbytes)

    def store_block(self, address: int, data: Bytes) -> None:
        """Do as `Space.store_block` does."""
        self._before("store", np.array([address], np.uint64), None, data.size)
        self.space.store_block(address, data)

    def _note(self, kind: str, addresses: Addresses, mask: Mask | None, size: int) -> None:
        lanes, active = _active(addresses, mask)
        self._log.note(kind, self._name, active, lanes, size, self._owner)

    def _before(self, kind: str, addresses: Addresses, mask: Mask | None, size: int) -> None:
        if not self._keeps and not self._log.is_on:
            return
        lanes, active = _active(addresses, mask)
        if self._keeps and lanes.size:
            self._log.undo.touch_all(active, size)
        if self._log.is_on:
            self._log.note(kind, self._name, active, lanes, size, self._owner)


class WatchedSurfaces:
    """The binding table in front of which accesses are noted.

    Args:
        surfaces: the table.
        log: where accesses are noted, by host addresses.
    """

    def __init__(self, surfaces: Surfaces, log: Log) -> None:
        self.surfaces = surfaces
        self._log = log

    def load(
        self,
        index: int,
        offsets: Addresses,
        mask: Mask | None,
        dtype: np.dtype[Any],
        components: int = 1,
    ) -> Vector:
        """Do as `Surfaces.load` does."""
        if self._log.is_on:
            self._before("load", index, offsets, mask, dtype.itemsize * components)
        return self.surfaces.load(index, offsets, mask, dtype, components)

    def store(
        self,
        index: int,
        offsets: Addresses,
        mask: Mask | None,
        values: Vector,
        components: int = 1,
    ) -> None:
        """Do as `Surfaces.store` does."""
        self._before("store", index, offsets, mask, values.dtype.itemsize * components)
        self.surfaces.store(index, offsets, mask, values, components)

    def atomic(
        self,
        index: int,
        op: AtomicOp,
        offsets: Addresses,
        mask: Mask | None,
        dtype: np.dtype[Any],
        operand0: Vector | None = None,
        operand1: Vector | None = None,
    ) -> Vector:
        """Do as `Surfaces.atomic` does."""
        self._before("atomic", index, offsets, mask, dtype.itemsize)
        return self.surfaces.atomic(index, op, offsets, mask, dtype, operand0, operand1)

    def load_block(self, index: int, offset: int, nbytes: int) -> Bytes:
        """Do as `Surfaces.load_block` does."""
        if self._log.is_on:
            self._before("load", index, np.array([offset], np.uint64), None, nbytes)
        return self.surfaces.load_block(index, offset, nbytes)

    def store_block(self, index: int, offset: int, data: Bytes) -> None:
        """Do as `Surfaces.store_block` does."""
        self._before("store", index, np.array([offset], np.uint64), None, data.size)
        self.surfaces.store_block(index, offset, data)

    def request(
        self,
        operation: Operation,
        index: int,
        sampler: int | None,
        values: Sequence[Vector],
        mask: Mask | None,
    ) -> Vector:
        """Do as `Surfaces.request` does."""
        stores = isinstance(operation, TexelStore | TexelAtomic | BlockStore)
        if (stores or self._log.is_on) and index in self.surfaces:
            surface = self.surfaces[index]
            if stores:
                self._log.undo.touch(surface.host_address, surface.size)
            if self._log.is_on:
                self._note_picture(surface.host_address, surface.size, operation)
        return self.surfaces.request(operation, index, sampler, values, mask)

    def _note_picture(self, start: int, size: int, operation: Operation) -> None:
        kind = "store" if isinstance(operation, TexelStore | BlockStore) else "load"
        if isinstance(operation, TexelAtomic):
            kind = "atomic"
        place = np.array([start], np.uint64)
        access = Access(kind, HOST, place, _ALL, size, is_picture=True)
        self._log.accesses.append(access)

    def _before(
        self, kind: str, index: int, offsets: Addresses, mask: Mask | None, size: int
    ) -> None:
        """Note an access to a surface's own bytes; those beyond them are no memory."""
        if index >= FIRST_COUNTER or index not in self.surfaces:
            return
        surface = self.surfaces[index]
        lanes, active = _active(offsets, mask)
        inside = active < np.uint64(surface.size)
        lanes, active = lanes[inside], active[inside] + np.uint64(surface.host_address)
        if kind != "load" and lanes.size:
            self._log.undo.touch_all(active, size)
        if self._log.is_on:
            self._log.note(kind, HOST, active, lanes, size)


__all__ = [
    "ARGUMENT",
    "HOST",
    "SCRATCH",
    "SLM",
    "Access",
    "Log",
    "WatchedSpace",
    "WatchedSurfaces",
]
