"""Stretches of memory: what they are, which one holds an address, and why an access is refused."""

from __future__ import annotations

import ctypes
import heapq
import sys
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any, Literal, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from visim.errors import ArgumentError

Bytes = NDArray[np.uint8]
Vector = NDArray[Any]
SpaceName = Literal["flat", "surface", "SLM", "scratch"]
AccessKind = Literal["load", "store", "atomic"]

OUT_OF_RANGE = "out of range"
READ_ONLY = "read-only"
MISALIGNED = "misaligned"
NULL_POINTER = "null pointer"

NULL_PAGE = 4096
"""Flat addresses below this are taken for null pointers with a small offset."""

LARGEST_ELEMENT = 8
NO_RESERVE = 0x4000 if sys.platform == "linux" else 0
"""A flag of mappings: their bytes do not count as used before they are (Python 3.11's `mmap` has no
name for it). Linux refuses to fork a process that has more countable bytes than the machine."""

PADDING = 64
"""A block load from flat memory that is larger than an element, in bytes, may end less than so
many bytes behind an allocation's end."""


_BYTE = np.dtype(np.uint8)


class HasBytes(Protocol):
    """Memory that can show itself as an array, such as `visim.Buffer`."""

    def array(self, dtype: Any) -> NDArray[Any]:
        """Return the whole memory as a one-dimensional view of `dtype`."""
        ...


class MemoryViolation(Exception):
    """An access that memory refused; the engine makes a fault of it.

    Attributes:
        space: "flat", "surface", "SLM" or "scratch".
        kind: "load", "store" or "atomic".
        address: Byte address (flat) or offset (other spaces) of the first offending channel.
        size: Bytes that this channel wanted, all components together.
        channel: Its index in the vector of addresses; 0 for a block.
        reason: "out of range", "read-only", "misaligned", "null pointer" or "unbound binding
            table index N".
        nearest: Name of the allocation that is nearest to `address`, None without any.
        distance: Bytes from it: how far the first byte out of range lies behind its end (0 is
            directly behind), negative how far `address` lies before its start; 0 inside.
    """

    def __init__(
        self,
        *,
        space: SpaceName,
        kind: AccessKind,
        address: int,
        size: int,
        channel: int,
        reason: str,
        nearest: str | None = None,
        distance: int | None = None,
    ) -> None:
        self.space: SpaceName = space
        self.kind: AccessKind = kind
        self.address = address
        self.size = size
        self.channel = channel
        self.reason = reason
        self.nearest = nearest
        self.distance = distance
        super().__init__(
            f"{space} {kind} of {size} bytes at 0x{address:x} by channel {channel}: {reason}"
            + self._where()
        )

    def beside(self, allocation: Allocation) -> MemoryViolation:
        """Return the same violation, told from where another allocation is."""
        return MemoryViolation(
            space=self.space,
            kind=self.kind,
            address=self.address,
            size=self.size,
            channel=self.channel,
            reason=self.reason,
            nearest=allocation.name,
            distance=allocation.distance(self.address),
        )

    def _where(self) -> str:
        if self.nearest is None or self.distance is None:
            return ""
        if self.reason != OUT_OF_RANGE:
            return f" (in {self.nearest!r})"
        side = "before the start" if self.distance < 0 else "past the end"
        return f" ({abs(self.distance)} bytes {side} of {self.nearest!r})"


def image_violation(
    kind: AccessKind, address: int, size: int, channel: int, reason: str, name: str
) -> MemoryViolation:
    """Return why an image or a surface's rows refuse an access to their bytes."""
    return MemoryViolation(
        space="surface",
        kind=kind,
        address=address,
        size=size,
        channel=channel,
        reason=reason,
        nearest=name,
        distance=0,
    )


def aligned_zeros(nbytes: int, alignment: int = 64) -> Bytes:
    """Return `nbytes` of zeroed memory at an address that is a multiple of `alignment` bytes."""
    room = np.zeros(nbytes + alignment, np.uint8)
    first = -int(room.ctypes.data) % alignment
    return room[first : first + nbytes]


def byte_view(memory: NDArray[Any] | HasBytes, name: str) -> Bytes:
    """Return the bytes of an array or buffer as a one-dimensional view, never a copy.

    Raises:
        ArgumentError: The array is not C-contiguous, or holds Python objects; names `name`.
    """
    array = memory if isinstance(memory, np.ndarray) else memory.array(np.uint8)
    if not array.flags.c_contiguous:
        raise ArgumentError(
            f"{name}: the array is not C-contiguous; pass a numpy.ascontiguousarray() of it"
        )
    if array.dtype.hasobject:
        raise ArgumentError(f"{name}: an array of Python objects has no bytes a kernel could use")
    # A view of our own: what callers do to an array's shape, type or flags later stays theirs.
    if type(array) is np.ndarray and array.ndim == 1:
        return array.view(_BYTE)
    return np.asarray(array).reshape(-1).view(_BYTE)


def _address_of(host: Bytes, *, writable: bool) -> int:
    """Return where bytes are; `host.ctypes` takes thrice as long, but always works."""
    if host.size and writable:
        return ctypes.addressof(ctypes.c_char.from_buffer(cast("Any", host)))
    return int(host.ctypes.data)


class Allocation:
    """A stretch of memory at consecutive addresses: [base, end).

    Args:
        name: What messages call it.
        host: Its bytes, one-dimensional and contiguous; kept, not copied.
        writable: Whether stores are allowed.
        base: Address of the first byte; None for the host's own address (flat memory).
        address: The host's own address of the first byte, where it is known already.
    """

    __slots__ = (
        *("_base", "_elements", "address", "base"),
        *("end", "host", "name", "size", "writable"),
    )

    def __init__(
        self,
        name: str,
        host: Bytes,
        writable: bool,
        base: int | None = None,
        address: int | None = None,
    ) -> None:
        self.name = name
        self.host = host
        self.writable = writable
        self.size = host.size
        self.address = _address_of(host, writable=writable) if address is None else address
        self.base = self.address if base is None else base
        self.end = self.base + self.size
        self._base: Vector | None = None
        self._elements: dict[np.dtype[Any], Vector] = {}

    def elements(self, element: np.dtype[Any]) -> Vector:
        """Return the view whose item i is the `element` that begins at byte i."""
        view = self._elements.get(element)
        if view is None:
            count = max(0, self.size - element.itemsize + 1)
            view = np.ndarray((count,), element, self.host, 0, (1,))
            self._elements[element] = view
        return view

    def offsets(self, addresses: NDArray[np.uint64], size: int) -> NDArray[np.intp] | None:
        """Return the byte offset of each address, or None unless `size` bytes fit at all of them.

        Subtraction of unsigned numbers wraps, so an address below the base is a huge offset.
        """
        if self._base is None:
            self._base = np.array(self.base, np.uint64)
        offsets = addresses - self._base
        if max(offsets.tolist()) > self.size - size:
            return None
        return offsets.view(np.intp)

    def distance(self, address: int) -> int:
        """Return how far `address` is from here, as `MemoryViolation.distance` says."""
        return min(0, address - self.base) or max(0, address - self.end)


class Intervals:
    """Finds, for an address, the allocation that holds it and reaches furthest.

    Allocations may overlap. An access lies within some allocation if and only if it lies within
    the furthest-reaching one of those that hold its first byte, so one owner per stretch of
    addresses is enough. Among equals the one that begins first wins.
    """

    __slots__ = ("_owners", "_points")

    def __init__(self, allocations: Iterable[Allocation]) -> None:
        # One without bytes holds no address.
        known = [allocation for allocation in allocations if allocation.size]
        self._owners: list[Allocation | None] = [None]
        self._points = self._build(known)

    def find(self, address: int) -> Allocation | None:
        """Return the furthest-reaching allocation that holds the byte at `address`."""
        return self._owners[bisect_right(self._points, address)]

    def holds(self, address: int, size: int) -> bool:
        """Return whether one allocation holds all `size` bytes from `address` on."""
        owner = self.find(address)
        return owner is not None and address + size <= owner.end

    def _build(self, allocations: Sequence[Allocation]) -> list[int]:
        """Return the addresses where the owner changes; `_owners[i]` owns those before point i."""
        waiting = sorted(allocations, key=lambda one: one.base, reverse=True)
        points = sorted({p for one in allocations for p in (one.base, one.end)})
        begun: list[tuple[int, int, int, Allocation]] = []
        for point in points:
            while waiting and waiting[-1].base <= point:
                one = waiting.pop()
                heapq.heappush(begun, (-one.end, one.base, len(waiting), one))
            while begun and begun[0][3].end <= point:
                heapq.heappop(begun)
            self._owners.append(begun[0][3] if begun else None)
        return points
