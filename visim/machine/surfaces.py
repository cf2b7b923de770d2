"""The memory spaces addressed by offsets: binding table surfaces, SLM and scratch.

Loads, stores and atomics are those of `machine.memory.Space`; this module owns what is different
about each space. Follows the specification's chapter 3, Surface-Based Access and Shared Local
Memory, and the Out-of-bound Access lines of the instruction pages. Images and sampling are not
here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.errors import ArgumentError
from visim.machine.atomics import AtomicOp
from visim.machine.memory import (
    OUT_OF_RANGE,
    AccessKind,
    Addresses,
    Allocation,
    Bytes,
    HasBytes,
    Mask,
    MemoryViolation,
    Space,
    Vector,
    byte_view,
)

BINDING_TABLE_SIZE = 256


@dataclass(slots=True)
class Dropped:
    """Counts accesses out of the range of surfaces, one per channel (or block) and access."""

    reads: int = 0
    writes: int = 0


class Surface(Space):
    """A linear surface: bytes at offsets from 0 on.

    Bytes out of range read as 0 and writes to them are dropped; an element that straddles the end
    keeps its bytes that are in range. An atomic that is not entirely in range returns 0 and does
    nothing; it counts as a dropped write.

    Attributes:
        width: Bytes of a row when the array had two dimensions, else None.
        height: Number of rows, or None.
        pitch: Bytes from one row to the next, or None.
    """

    name = "surface"

    def __init__(
        self, memory: NDArray[Any] | HasBytes, name: str, dropped: Dropped | None = None
    ) -> None:
        host = byte_view(memory, name)
        super().__init__([Allocation(name, host, bool(host.flags.writeable), 0)])
        self.dropped = Dropped() if dropped is None else dropped
        self.width: int | None = None
        self.height: int | None = None
        if isinstance(memory, np.ndarray) and memory.ndim == 2:
            self.height = int(memory.shape[0])
            self.width = int(memory.shape[1]) * memory.dtype.itemsize
        self.pitch = self.width

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self._allocations[0].size

    def _refuse(self, kind: AccessKind, address: int, size: int, channel: int, reason: str) -> None:
        if reason != OUT_OF_RANGE:
            super()._refuse(kind, address, size, channel, reason)
        elif kind == "load":
            self.dropped.reads += 1
        else:
            self.dropped.writes += 1


class Surfaces:
    """The binding table: up to 256 surfaces by index; offsets are bytes from a surface's start.

    The methods are those of `Space` with the index in front; they raise `MemoryViolation` when an
    active channel uses an index that nothing is bound to.
    """

    def __init__(self) -> None:
        self._bound: dict[int, Surface] = {}
        self._dropped = Dropped()

    @property
    def dropped_reads(self) -> int:
        """Loads that were out of range, at least in part, and got zeros."""
        return self._dropped.reads

    @property
    def dropped_writes(self) -> int:
        """Stores and atomics that were out of range, at least in part, and were dropped there."""
        return self._dropped.writes

    def bind(self, index: int, memory: NDArray[Any] | HasBytes, name: str) -> Surface:
        """Bind an array or buffer, in place, to an index; it replaces what was bound there.

        Raises:
            ArgumentError: The index is not in 0..255, or the array is not C-contiguous.
        """
        if not 0 <= index < BINDING_TABLE_SIZE:
            raise ArgumentError(f"{name}: binding table index {index} is not in 0..255")
        surface = Surface(memory, name, self._dropped)
        self._bound[index] = surface
        return surface

    def __contains__(self, index: object) -> bool:
        return index in self._bound

    def __getitem__(self, index: int) -> Surface:
        """Return the surface bound to `index`; KeyError without one."""
        return self._bound[index]

    def load(
        self,
        index: int,
        offsets: Addresses,
        mask: Mask | None,
        dtype: np.dtype[Any],
        components: int = 1,
    ) -> Vector:
        """Load from a surface, see `Space.load`."""
        size = dtype.itemsize * components
        surface = self._surface(index, "load", offsets, mask, size)
        return surface.load(offsets, mask, dtype, components)

    def store(
        self,
        index: int,
        offsets: Addresses,
        mask: Mask | None,
        values: Vector,
        components: int = 1,
    ) -> None:
        """Store to a surface, see `Space.store`."""
        size = values.dtype.itemsize * components
        self._surface(index, "store", offsets, mask, size).store(offsets, mask, values, components)

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
        """Do an atomic operation on a surface, see `Space.atomic`."""
        surface = self._surface(index, "atomic", offsets, mask, dtype.itemsize)
        return surface.atomic(op, offsets, mask, dtype, operand0, operand1)

    def load_block(self, index: int, offset: int, nbytes: int) -> Bytes:
        """Load a block from a surface, see `Space.load_block`."""
        return self._block_surface(index, "load", offset, nbytes).load_block(offset, nbytes)

    def store_block(self, index: int, offset: int, data: Bytes) -> None:
        """Store a block to a surface, see `Space.store_block`."""
        self._block_surface(index, "store", offset, data.size).store_block(offset, data)

    def _surface(
        self, index: int, kind: AccessKind, offsets: Addresses, mask: Mask | None, size: int
    ) -> Surface:
        surface = self._bound.get(index)
        if surface is not None:
            return surface
        lanes = np.arange(offsets.size) if mask is None else mask.nonzero()[0]
        if lanes.size:
            first = int(lanes[0])
            raise _unbound(index, kind, int(offsets[first]), size, first)
        return _EMPTY

    def _block_surface(self, index: int, kind: AccessKind, offset: int, size: int) -> Surface:
        surface = self._bound.get(index)
        if surface is None:
            raise _unbound(index, kind, offset, size, 0)
        return surface


class _Owned(Space):
    """A space that is one stretch of visim's own memory; accesses beyond it are violations."""

    def __init__(self, nbytes: int, base: int = 0) -> None:
        super().__init__([Allocation(self.name, np.zeros(nbytes, np.uint8), True, base)])

    @property
    def bytes(self) -> Bytes:
        """The memory itself, not a copy."""
        return self._allocations[0].host

    def reset(self) -> None:
        """Set all bytes to 0."""
        self.bytes.fill(0)


class SharedLocalMemory(_Owned):
    """The memory that the threads of a group share; `reset` it for each thread group.

    Its contents are undefined at first; here they are zeros, so that runs are repeatable.
    """

    name = "SLM"

    def __init__(self, nbytes: int) -> None:
        super().__init__(nbytes)


class Scratch(_Owned):
    """The private memory of one hardware thread.

    Args:
        nbytes: Size in bytes.
        base: Address of the first byte: 0 where accesses are relative to the thread's own part,
            the offset from r0.5 where the program adds it (runtime facts, per-thread memory).
    """

    name = "scratch"


def _unbound(index: int, kind: AccessKind, offset: int, size: int, channel: int) -> MemoryViolation:
    return MemoryViolation(
        space="surface",
        kind=kind,
        address=offset,
        size=size,
        channel=channel,
        reason=f"unbound binding table index {index}",
    )


_EMPTY = Surface(np.zeros(0, np.uint8), "unbound")
