"""The memory spaces addressed by offsets, and the tables of surfaces, images and samplers.

Loads, stores and atomics are those of `machine.memory.Space`; this module owns what is different
about each space. Follows the specification's chapter 3, Surface-Based Access and Shared Local
Memory, and the Out-of-bound Access lines of the instruction pages. What images and samplers do is
in `machine.images`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.errors import ArgumentError, shown
from visim.machine import requests
from visim.machine.allocations import (
    OUT_OF_RANGE,
    AccessKind,
    Allocation,
    Bytes,
    HasBytes,
    MemoryViolation,
    SpaceName,
    Vector,
    byte_view,
)
from visim.machine.atomics import AtomicOp
from visim.machine.blocks import BlockSurface
from visim.machine.bounds import Bounds
from visim.machine.dropped import Dropped
from visim.machine.images import ImageMemory, ImageSurface
from visim.machine.memory import Addresses, Mask, Space
from visim.machine.requests import BlockOperation, SamplerOperation
from visim.machine.sampling import SAMPLER_TABLE_SIZE, SamplerState
from visim.sem.effects import FIRST_COUNTER
from visim.sem.requests import Operation, TexelAtomic, TexelStore

BINDING_TABLE_SIZE = 256
LAST_FREE_SURFACE = 239
"""Indices above it mean something else to hardware."""
SURFACE_STATE_BYTES, SAMPLER_STATE_BYTES = 64, 16
"""The state of index i is so many bytes times i from the start of the heap of its kind."""


_OFFSETS = 1 << 32
"""Of surfaces there are so many: they are numbers of 32 bits."""


class Surface(Space):
    """A linear surface: bytes at offsets from 0 on.

    Where it is bounded as devices do it, bytes out of range read as 0 and writes to them are
    dropped; an element that straddles the end keeps its bytes that are in range. An atomic that is
    not entirely in range returns 0 and does nothing; it counts as a dropped write. Otherwise all
    these are violations.

    Attributes:
        allocation: The bytes.
        width: Bytes of a row when the array had two dimensions, else None.
        height: Number of rows, or None.
    """

    name = "surface"

    def __init__(
        self,
        memory: NDArray[Any] | HasBytes,
        name: str,
        dropped: Dropped | None = None,
        address: int | None = None,
        bounds: Bounds = Bounds.HARDWARE,
    ) -> None:
        host = byte_view(memory, name)
        self.allocation = Allocation(name, host, host.flags.writeable, 0, address)
        super().__init__([self.allocation])
        self._bounds = bounds
        self.dropped = Dropped() if dropped is None else dropped
        self.width: int | None = None
        self.height: int | None = None
        if isinstance(memory, np.ndarray) and memory.ndim == 2:
            self.height = int(memory.shape[0])
            self.width = int(memory.shape[1]) * memory.dtype.itemsize
        self._unit = memory.dtype.itemsize if isinstance(memory, np.ndarray) else 1

    @property
    def blocks(self) -> BlockSurface | None:
        """The rows of a two-dimensional array, else None."""
        if self.height is None or self.width is None:
            return None
        rows = self.allocation.host.reshape(self.height, self.width)
        return BlockSurface(rows, self._unit, self.allocation.name, self.dropped)

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.allocation.size

    @property
    def host_address(self) -> int:
        """Where the surface's first byte is in the host's memory."""
        return self.allocation.address

    def load_block(self, address: int, nbytes: int) -> Bytes:
        """Do as `Space.load_block` does; blocks may end a little behind what faults otherwise.

        They do so for the same reason as in flat memory.
        """
        if self._bounds is Bounds.FAULT:
            return self._load_padded(address, nbytes)
        return super().load_block(address, nbytes)

    def _distance(self, nearest: Allocation, address: int) -> int:
        """Take offsets that are negative as numbers of 32 bits for what they are.

        That is what an index before the start of a buffer becomes, unless the buffer is so large.
        """
        before = address - _OFFSETS
        is_negative = nearest.end <= _OFFSETS // 2 <= address < _OFFSETS
        return nearest.distance(before if is_negative else address)

    def _refuse(self, kind: AccessKind, address: int, size: int, channel: int, reason: str) -> None:
        if reason != OUT_OF_RANGE or self._bounds is Bounds.FAULT:
            super()._refuse(kind, address, size, channel, reason)
        elif kind == "load":
            self.dropped.reads += 1
        else:
            self.dropped.writes += 1


class Surfaces:
    """The binding table: up to 256 surfaces by index; offsets are bytes from a surface's start.

    The methods are those of `Space` with the index in front; they raise `MemoryViolation` when an
    active channel uses an index that nothing is bound to.

    Args:
        bounds: What becomes of accesses out of the range of a linear surface.
    """

    def __init__(self, bounds: Bounds = Bounds.HARDWARE) -> None:
        self.bounds = bounds
        self._bound: dict[int, Surface | Allocation] = {}
        self._counters: dict[int, Surface] = {}
        self._images: dict[int, ImageSurface] = {}
        self._blocks: dict[int, BlockSurface] = {}
        self._samplers: dict[int, SamplerState] = {}
        self._refused_samplers: dict[int, str] = {}
        self._dropped = Dropped()

    @property
    def dropped_reads(self) -> int:
        """Loads that were out of range, at least in part, and got zeros."""
        return self._dropped.reads

    def note_dropped_reads(self, count: int) -> None:
        """Count loads that somebody else has found out of range and filled with zeros."""
        self._dropped.reads += count

    def note_dropped_writes(self, count: int) -> None:
        """Count stores that somebody else has found out of range."""
        self._dropped.writes += count

    @property
    def dropped_writes(self) -> int:
        """Stores and atomics that were out of range, at least in part, and were dropped there."""
        return self._dropped.writes

    @property
    def dropped(self) -> int:
        """Accesses of both kinds."""
        return self._dropped.reads + self._dropped.writes

    def bind(self, index: int, memory: NDArray[Any] | HasBytes, name: str) -> Surface:
        """Bind an array or buffer, in place, to an index; it replaces what was bound there.

        Args:
            index: The binding table index.
            memory: The array or buffer.
            name: What messages call it.

        Raises:
            ArgumentError: The index is not in 0..255, or the array is not C-contiguous.
        """
        surface = Surface(memory, name, self._dropped, bounds=self.bounds)
        self._put(index, surface, name)
        if surface.blocks is not None:
            self._blocks[index] = surface.blocks
        return surface

    def bind_allocation(self, index: int, allocation: Allocation) -> None:
        """Do as `bind` does for the bytes of an allocation, but make the surface when it is needed.

        Native code needs none.
        """
        self._put(index, allocation, allocation.name)

    def _put(self, index: int, bound: Surface | Allocation, name: str) -> None:
        if not 0 <= index < BINDING_TABLE_SIZE:
            raise ArgumentError(f"{name}: binding table index {shown(index)} is not in 0..255")
        self._bound[index] = bound
        self._counters.pop(index, None)
        self._images.pop(index, None)
        self._blocks.pop(index, None)

    def _at(self, index: int) -> Surface | None:
        """Return the surface that is bound to an index."""
        found = self._bound.get(index)
        if isinstance(found, Allocation):
            surface = Surface(
                found.host, found.name, self._dropped, found.address, bounds=self.bounds
            )
            found = self._bound[index] = surface
        return found

    def bind_image(self, index: int, image: ImageMemory, name: str) -> ImageSurface:
        """Bind an image, in place; messages that know no images see its bytes.

        Raises:
            ArgumentError: The index is not in 0..255.
        """
        self.bind(index, image.array, name)
        surface = image.surface(name, self._dropped)
        self._images[index] = surface
        self._blocks[index] = surface.blocks
        return surface

    def bind_sampler(self, index: int, sampler: SamplerState, name: str) -> None:
        """Bind a sampler to an index; ArgumentError unless it is in 0..31."""
        if not 0 <= index < SAMPLER_TABLE_SIZE:
            raise ArgumentError(f"{name}: sampler index {shown(index)} is not in 0..31")
        self._samplers[index] = sampler

    def refuse_sampler(self, index: int, why: str) -> None:
        """Let messages that use a sampler fault with these words; others may be sent."""
        self._refused_samplers[index] = why

    @property
    def images(self) -> Mapping[int, ImageSurface]:
        """The images that are bound, by index."""
        return self._images

    @property
    def samplers(self) -> Mapping[int, SamplerState]:
        """The samplers that are bound, by index."""
        return self._samplers

    def has_sampler(self, index: int) -> bool:
        """Return whether a sampler is bound to an index."""
        return index in self._samplers

    def counter(self, index: int) -> int:
        """Return the append counter of the surface at an index; it starts at 0."""
        surface = self._counter(index)
        return 0 if surface is None else int(surface.load_block(0, 4).view(np.uint32)[0])

    @property
    def counters(self) -> dict[int, int]:
        """The append counters that were used, by binding table index."""
        if not self._counters:
            return {}
        return {index: self.counter(index) for index in sorted(self._counters)}

    def reset_counters(self) -> None:
        """Set all append counters to 0, as before their first use."""
        self._counters.clear()

    def _counter(self, index: int) -> Surface | None:
        """Return the append counter of a bound surface: 32 bits, made when it is first used.

        Messages find it `FIRST_COUNTER` behind its surface's index.
        """
        if index not in self._bound:
            return None
        name = f"the append counter of binding table index {index}"
        memory = np.zeros(1, np.uint32)
        return self._counters.setdefault(index, Surface(memory, name, self._dropped))

    @property
    def bound(self) -> tuple[int, ...]:
        """The indices to which surfaces are bound."""
        return tuple(self._bound)

    @property
    def allocations(self) -> list[Allocation]:
        """The bytes of what is bound, in the order of `bound`."""
        found = self._bound.values()
        return [one if isinstance(one, Allocation) else one.allocation for one in found]

    def __contains__(self, index: object) -> bool:
        return index in self._bound

    def __getitem__(self, index: int) -> Surface:
        """Return the surface bound to `index`; KeyError without one."""
        found = self._at(index)
        if found is None:
            raise KeyError(index)
        return found

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

    def request(
        self,
        operation: Operation,
        index: int,
        sampler: int | None,
        values: Sequence[Vector],
        mask: Mask | None,
    ) -> Vector:
        """Answer a message to the image, or to the rows, of a binding table index.

        Args:
            operation: What the message asks for.
            index: Where the image is bound.
            sampler: The sampler's index, for operations that need one.
            values: Those of the operation's parameters, in their order.
            mask: Active channels, or None for all.

        Returns:
            Shape (channels, columns of the operation), or (channels,) for one column; nothing
            when there are no columns. Zeros in inactive channels.
        """
        given = dict(zip(operation.parameters, values, strict=True))
        if isinstance(operation, BlockOperation):
            kind: AccessKind = "load" if operation.columns else "store"
            return _or_nothing(requests.ask_rows(self._rows(index, kind), operation, given))
        lanes = values[0].size
        image = self._image(index, _ACCESSES.get(type(operation), "load"), lanes, mask)
        if image is None:
            return np.zeros((lanes, 4) if operation.columns > 1 else lanes, np.uint32)
        if isinstance(operation, SamplerOperation):
            state = self._sampler(sampler, mask)
            return requests.ask_sampler(image, state, operation, given, mask)
        return _or_nothing(requests.ask_image(image, operation, given, mask))

    def _sampler(self, index: int | None, mask: Mask | None) -> SamplerState:
        state = None if index is None else self._samplers.get(index)
        if state is None:
            unbound = f"unbound sampler index {index}"
            why = unbound if index is None else self._refused_samplers.get(index, unbound)
            raise _refusal(why, "load", _first(mask))
        return state

    def _image(
        self, index: int, kind: AccessKind, lanes: int, mask: Mask | None
    ) -> ImageSurface | None:
        """Return the image at an index, or None if there is none and no channel asks for it."""
        image = self._images.get(index)
        if image is not None or not (lanes if mask is None else mask.any()):
            return image
        raise _refusal(self._missing(index, "an image"), kind, _first(mask))

    def _rows(self, index: int, kind: AccessKind) -> BlockSurface:
        rows = self._blocks.get(index)
        if rows is None:
            what = "an image or an array of two dimensions"
            raise _refusal(self._missing(index, what), kind, 0)
        return rows

    def _missing(self, index: int, expected: str) -> str:
        if index not in self._bound:
            return f"unbound binding table index {index}"
        return f"binding table index {index} holds a linear surface, not {expected}"

    def _surface(
        self, index: int, kind: AccessKind, offsets: Addresses, mask: Mask | None, size: int
    ) -> Surface:
        surface = self._at(index) or self._counter(index - FIRST_COUNTER)
        if surface is not None:
            return surface
        lanes = np.arange(offsets.size) if mask is None else mask.nonzero()[0]
        if lanes.size:
            first = int(lanes[0])
            number = index - FIRST_COUNTER if index >= FIRST_COUNTER else index
            raise _unbound(number, kind, int(offsets[first]), size, first)
        return _EMPTY

    def _block_surface(self, index: int, kind: AccessKind, offset: int, size: int) -> Surface:
        surface = self._at(index)
        if surface is None:
            raise _unbound(index, kind, offset, size, 0)
        return surface


class _Owned(Space):
    """A space that is one stretch of visim's own memory; accesses beyond it are violations."""

    def __init__(self, nbytes: int, base: int = 0, host: Bytes | None = None) -> None:
        found = np.zeros(nbytes, np.uint8) if host is None else host
        super().__init__([Allocation(self.name, found, True, base)])

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

    Args:
        nbytes: Size in bytes.
        host: Where it is, if the engine wants it at a place of its own; so many zeros.
    """

    name = "SLM"

    def __init__(self, nbytes: int, host: Bytes | None = None) -> None:
        super().__init__(nbytes, host=host)


class Scratch(_Owned):
    """The private memory of one hardware thread.

    Args:
        nbytes: Size in bytes.
        base: Address of the first byte: 0 where accesses are relative to the thread's own part,
            the offset from r0.5 where the program adds it (docs/kernel-abi.md, Private memory).
    """

    name = "scratch"


class Window(Space):
    """Several allocations as one address space of their own."""

    def __init__(self, name: SpaceName, parts: list[Allocation]) -> None:
        self.name = name
        super().__init__(parts)


def _unbound(index: int, kind: AccessKind, offset: int, size: int, channel: int) -> MemoryViolation:
    return MemoryViolation(
        space="surface",
        kind=kind,
        address=offset,
        size=size,
        channel=channel,
        reason=f"unbound binding table index {index}",
    )


def _refusal(reason: str, kind: AccessKind, channel: int) -> MemoryViolation:
    return MemoryViolation(
        space="surface", kind=kind, address=0, size=0, channel=channel, reason=reason
    )


def _first(mask: Mask | None) -> int:
    """Return the first active channel."""
    return 0 if mask is None else int(mask.argmax())


def _or_nothing(answer: Vector | None) -> Vector:
    return _NOTHING if answer is None else answer


_NOTHING = np.zeros(0, np.uint32)
_ACCESSES: dict[type, AccessKind] = {TexelStore: "store", TexelAtomic: "atomic"}
_EMPTY = Surface(np.zeros(0, np.uint8), "unbound")
