"""Memory that kernels reach: allocations, checked loads, stores and atomics, the flat space.

Knows nothing of instructions, threads or engines: it acts on vectors of byte addresses, one per
channel, and raises `MemoryViolation` for an access that no allocation holds. Follows the
specification's chapter 3, Memory Access. Little-endian hosts only, as the machine is.

Every space works alike. All active channels of one instruction mostly fall into one allocation;
then one gather or scatter through a view with an element at *every byte* of that allocation does
the work, whatever the alignment. Otherwise channels are done one at a time. An instruction is
checked in full before it changes memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.forks import RenewedProperty
from visim.machine.allocations import (
    LARGEST_ELEMENT,
    MISALIGNED,
    NULL_PAGE,
    NULL_POINTER,
    OUT_OF_RANGE,
    PADDING,
    READ_ONLY,
    AccessKind,
    Allocation,
    Bytes,
    HasBytes,
    Intervals,
    MemoryViolation,
    SpaceName,
    Vector,
    byte_view,
)
from visim.machine.atomics import AtomicOp, arithmetic_type, check_operands, perform

Addresses = NDArray[np.unsignedinteger[Any]]
Mask = NDArray[np.bool_]
_UINT64 = np.dtype(np.uint64)


class Space:
    """An address space: the one implementation of every load, store and atomic.

    Subclasses say what an access outside of all allocations means; here it is a violation.
    In every method `addresses` has one byte address per channel, of an unsigned type, and `mask`
    tells the active channels (None: all). Inactive channels are neither checked nor touched.
    """

    name: SpaceName

    def __init__(self, allocations: Iterable[Allocation] = ()) -> None:
        self._allocations = list(allocations)

    @property
    def allocations(self) -> tuple[Allocation, ...]:
        """All allocations in the order in which they were added."""
        return tuple(self._allocations)

    @property
    def stretches(self) -> tuple[tuple[int, int], ...]:
        """Where each allocation begins, and its bytes, in the order in which they were added."""
        return tuple((one.base, one.size) for one in self._allocations)

    @property
    def allocation_count(self) -> int:
        """How many allocations there are."""
        return len(self._allocations)

    def _add(self, allocation: Allocation) -> None:
        self._allocations.append(allocation)
        self.__dict__.pop("_readable", None)
        self.__dict__.pop("_writable", None)

    # Native code has tables of its own: in its launches mostly nobody asks for these.

    @RenewedProperty
    def _readable(self) -> Intervals:
        return Intervals(self._allocations)

    @RenewedProperty
    def _writable(self) -> Intervals:
        return Intervals([one for one in self._allocations if one.writable])

    def load(
        self,
        addresses: Addresses,
        mask: Mask | None,
        dtype: np.dtype[Any],
        components: int = 1,
    ) -> Vector:
        """Return `components` consecutive elements from each address; inactive channels get 0.

        Returns:
            A new array of shape (n,), or (n, components) for more than one component.

        Raises:
            MemoryViolation: An active channel's access is refused; channels are tried in order.
        """
        lanes, active = _active(addresses, mask)
        element = _element(dtype, components)
        if not active.size:
            found = np.zeros(addresses.size, element)
        else:
            found = self._gather(active, element, lanes)
        if active.size and lanes is not None:
            gathered, found = found, np.zeros(addresses.size, element)
            found[lanes] = gathered
        return found if components == 1 else found.view(dtype).reshape(-1, components)

    def store(
        self, addresses: Addresses, mask: Mask | None, values: Vector, components: int = 1
    ) -> None:
        """Write `components` consecutive elements to each address.

        Where channels write the same byte the highest channel's value stays; the specification
        leaves that open (chapter 3, Memory Model).

        Args:
            addresses: Shape (n,).
            mask: Shape (n,) or None.
            values: Shape (n,) or (n, components); its type is the type in memory.
            components: Elements per channel.

        Raises:
            MemoryViolation: An active channel's access is refused; then nothing was written.
        """
        lanes, active = _active(addresses, mask)
        if not active.size:
            return
        dense = values if lanes is None else values[lanes]
        element = _element(values.dtype, components)
        if dense.ndim != 1 or components != 1:
            dense = np.ascontiguousarray(dense).reshape(-1).view(element)
        owner = self._writable.find(active.item(0))
        offsets = None if owner is None else owner.offsets(active, element.itemsize)
        if owner is not None and offsets is not None:
            owner.elements(element)[offsets] = dense
            return
        data = np.ascontiguousarray(dense).view(np.uint8).reshape(active.size, element.itemsize)
        self._store_singly(active.tolist(), data, lanes)

    def atomic(
        self,
        op: AtomicOp,
        addresses: Addresses,
        mask: Mask | None,
        dtype: np.dtype[Any],
        operand0: Vector | None = None,
        operand1: Vector | None = None,
    ) -> Vector:
        """Do an atomic operation at each address, in channel order where addresses are the same.

        Args:
            op: The operation; `AtomicOp` says how operands are ordered and bits are read.
            addresses: Shape (n,); each a multiple of the type's size.
            mask: Shape (n,) or None.
            dtype: Type of the result; its size, 2, 4 or 8 bytes, is the size in memory.
            operand0: Shape (n,), operand or comparand, of any type of that size.
            operand1: Shape (n,), new value of a compare and exchange.

        Returns:
            The old values (`PREDEC`: the new ones), 0 for inactive channels. Shape (n,).

        Raises:
            MemoryViolation: An active channel's access is refused; then nothing was written.
            InternalError: The size or an operand does not fit the operation.
        """
        check_operands(op, dtype.itemsize, (operand0, operand1))
        arithmetic = arithmetic_type(op, dtype.itemsize)
        lanes, active = _active(addresses, mask)
        returned = np.zeros(addresses.size, arithmetic)
        if active.size:
            chosen = slice(None) if lanes is None else lanes
            a = operand0[chosen] if operand0 is not None and op.operand_count > 0 else None
            b = operand1[chosen] if operand1 is not None and op.operand_count > 1 else None
            returned[chosen] = self._atomic(op, active, arithmetic, (a, b), lanes)
        return returned.view(dtype)

    def load_block(self, address: int, nbytes: int) -> Bytes:
        """Return a copy of `nbytes` bytes from `address` on.

        Raises:
            MemoryViolation: The block is refused; its channel is 0.
        """
        owner = self._readable.find(address)
        if owner is not None and address + nbytes <= owner.end:
            start = address - owner.base
            return owner.host[start : start + nbytes].copy()
        if not nbytes:
            return np.zeros(0, np.uint8)
        return self._load_singly([address], nbytes, None).reshape(-1)

    def store_block(self, address: int, data: Bytes) -> None:
        """Write the bytes `data` from `address` on.

        Raises:
            MemoryViolation: The block is refused; its channel is 0 and nothing was written.
        """
        owner = self._writable.find(address)
        if owner is not None and address + data.size <= owner.end:
            start = address - owner.base
            owner.host[start : start + data.size] = data
        elif data.size:
            self._store_singly([address], data.reshape(1, -1), None)

    def _load_padded(self, address: int, nbytes: int) -> Bytes:
        """Return a block that may end a little behind an allocation; there it is 0."""
        owner = self._readable.find(address)
        behind = 0 if owner is None else address + nbytes - owner.end
        if owner is None or not 0 < behind < PADDING or nbytes <= LARGEST_ELEMENT:
            return Space.load_block(self, address, nbytes)
        data = np.zeros(nbytes, np.uint8)
        data[:-behind] = owner.host[address - owner.base :]
        return data

    def _gather(
        self,
        active: NDArray[np.uint64],
        element: np.dtype[Any],
        lanes: NDArray[np.intp] | None,
    ) -> Vector:
        owner = self._readable.find(active.item(0))
        offsets = None if owner is None else owner.offsets(active, element.itemsize)
        if owner is not None and offsets is not None:
            return owner.elements(element)[offsets]
        data = self._load_singly(active.tolist(), element.itemsize, lanes)
        return data.reshape(-1).view(element)

    def _load_singly(
        self, addresses: Sequence[int], size: int, lanes: NDArray[np.intp] | None
    ) -> NDArray[np.uint8]:
        """Return (n, size) bytes; those that no allocation holds are 0, if that is tolerated."""
        self._check(addresses, size, lanes, "load", self._readable)
        data = np.zeros((len(addresses), size), np.uint8)
        for row, address in zip(data, addresses, strict=True):
            owner = self._readable.find(address)
            if owner is not None:
                start = address - owner.base
                held = owner.host[start : start + size]
                row[: held.size] = held
        return data

    def _store_singly(
        self, addresses: Sequence[int], data: NDArray[np.uint8], lanes: NDArray[np.intp] | None
    ) -> None:
        """Write (n, size) bytes in channel order, but those that no allocation holds."""
        size = data.shape[1]
        self._check(addresses, size, lanes, "store", self._writable)
        for row, address in zip(data, addresses, strict=True):
            owner = self._writable.find(address)
            if owner is not None:
                start = address - owner.base
                held = owner.host[start : start + size]
                held[:] = row[: held.size]

    def _atomic(
        self,
        op: AtomicOp,
        active: NDArray[np.uint64],
        arithmetic: np.dtype[Any],
        operands: Sequence[Vector | None],
        lanes: NDArray[np.intp] | None,
    ) -> Vector:
        """Do an operation for each address in order; return what was there."""
        size = arithmetic.itemsize
        intervals = self._readable if op is AtomicOp.LOAD else self._writable
        owner = intervals.find(active.item(0))
        offsets = None if owner is None else owner.offsets(active, size)
        addresses = active.tolist()
        if owner is not None and offsets is not None and not any(a % size for a in addresses):
            return perform(op, owner.elements(arithmetic), offsets, *operands)
        self._check(addresses, size, lanes, "atomic", intervals, alignment=size)
        returned = np.zeros(active.size, arithmetic)
        for lane, address in enumerate(addresses):
            owner = intervals.find(address)
            if owner is None or address + size > owner.end:
                continue
            one = slice(lane, lane + 1)
            place = np.array([address - owner.base], np.intp)
            single = [None if operand is None else operand[one] for operand in operands]
            returned[one] = perform(op, owner.elements(arithmetic), place, *single)
        return returned

    def _check(
        self,
        addresses: Sequence[int],
        size: int,
        lanes: NDArray[np.intp] | None,
        kind: AccessKind,
        intervals: Intervals,
        *,
        alignment: int = 1,
    ) -> None:
        """Hand every access that is not in order to `_refuse`, in channel order."""
        for lane, address in enumerate(addresses):
            reason = self._objection(address, size, intervals, alignment)
            if reason is not None:
                channel = lane if lanes is None else int(lanes[lane])
                self._refuse(kind, address, size, channel, reason)

    def _objection(
        self, address: int, size: int, intervals: Intervals, alignment: int
    ) -> str | None:
        """Return what is wrong with an access, or None."""
        if not intervals.holds(address, size):
            return READ_ONLY if self._readable.holds(address, size) else OUT_OF_RANGE
        return MISALIGNED if address % alignment else None

    def _refuse(self, kind: AccessKind, address: int, size: int, channel: int, reason: str) -> None:
        """Raise the violation; a space that tolerates some accesses overrides this."""
        nearest = min(self._allocations, key=lambda one: abs(one.distance(address)), default=None)
        if reason == NULL_POINTER:
            nearest = None
        raise MemoryViolation(
            space=self.name,
            kind=kind,
            address=address,
            size=size,
            channel=channel,
            reason=reason,
            nearest=None if nearest is None else nearest.name,
            distance=None if nearest is None else self._distance(nearest, address),
        )

    def _distance(self, nearest: Allocation, address: int) -> int:
        """Return how far an address is from an allocation, as `MemoryViolation.distance` says."""
        return nearest.distance(address)


class Memory(Space):
    """Flat memory of one launch: addresses are those of the host (shared virtual memory)."""

    name = "flat"

    def add(self, memory: NDArray[Any] | HasBytes, name: str) -> int:
        """Let kernels use an array or buffer in place and return its address.

        The array is kept alive. It may be empty, read-only, overlap others or be added again; a
        store needs one writable allocation that covers all its bytes.

        Raises:
            ArgumentError: The array is not C-contiguous or holds Python objects.
        """
        return self.allocate(memory, name).base

    def allocate(self, memory: NDArray[Any] | HasBytes, name: str) -> Allocation:
        """Do as `add` does, but return the allocation."""
        host = byte_view(memory, name)
        allocation = Allocation(name, host, host.flags.writeable)
        self._add(allocation)
        return allocation

    def load_block(self, address: int, nbytes: int) -> Bytes:
        """Do as `Space.load_block` does, but zeros follow the end of an allocation for a while.

        Compilers load three elements that all channels share as four, five as eight, and do not
        look at the others: drivers allocate whole pages. Where such a block begins has to exist.
        """
        return self._load_padded(address, nbytes)

    def _objection(
        self, address: int, size: int, intervals: Intervals, alignment: int
    ) -> str | None:
        if address < NULL_PAGE:
            return NULL_POINTER
        return super()._objection(address, size, intervals, alignment)


def _active(
    addresses: Addresses, mask: Mask | None
) -> tuple[NDArray[np.intp] | None, NDArray[np.uint64]]:
    """Return the active channels (None: all) and their addresses as 64-bit numbers."""
    wide = addresses if addresses.dtype is _UINT64 else addresses.astype(np.uint64)
    if mask is None:
        return None, wide
    lanes = mask.nonzero()[0]
    if lanes.size == mask.size:
        return None, wide
    return lanes, wide[lanes]


@cache
def _element(dtype: np.dtype[Any], components: int) -> np.dtype[Any]:
    """Return the type of what one channel moves: the element, or its components as one value."""
    return dtype if components == 1 else np.dtype(f"V{dtype.itemsize * components}")
