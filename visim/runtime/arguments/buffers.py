"""Memory that callers make for kernels: `Buffer`, and `Local` for shared local memory arguments.

Knows nothing of launches.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from visim.errors import ArgumentError, shown
from visim.machine.allocations import aligned_zeros

ALIGNMENT = 128
"""Of buffers, in bytes: rows of work-items then do not stand across cache lines as NumPy's do."""


class Buffer:
    """`nbytes` of zeroed memory that kernels and the caller share, at a multiple of 128 bytes.

    `buffer[a:b]` is a sub-buffer of the bytes a to b that shares them; `buffer.array(dtype)` shows
    the bytes as an array.

    Raises:
        ArgumentError: The size is not an integer of 0 or more, or there is too little memory.
    """

    __slots__ = ("_bytes", "_whole")

    def __init__(self, nbytes: int) -> None:
        size = _size(nbytes, "Buffer")
        if size < 0:
            raise ArgumentError(f"Buffer: the size is {shown(size)} bytes; it has to be 0 or more")
        try:
            self._bytes: NDArray[np.uint8] = aligned_zeros(size, ALIGNMENT)
        except (MemoryError, ValueError):
            raise ArgumentError(f"Buffer: not enough memory for {shown(size)} bytes") from None
        self._whole: Buffer | None = None

    def __len__(self) -> int:
        """Return the size in bytes."""
        return self._bytes.size

    def __getitem__(self, part: slice) -> Buffer:
        """Return the sub-buffer of the bytes `part`, which shares memory with this one.

        Raises:
            ArgumentError: Not a slice, a step other than 1, or bytes that are not in the buffer.
        """
        if not isinstance(part, slice):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"Buffer: {shown(part)} is not a range of bytes; write buffer[a:b]")
        if part.step not in {None, 1}:
            raise ArgumentError(f"Buffer: a sub-buffer has step 1, not {shown(part.step)}")
        start = self._position(part.start, 0)
        stop = self._position(part.stop, len(self))
        if not 0 <= start <= stop <= len(self):
            raise ArgumentError(
                f"Buffer: bytes {shown(start)} to {shown(stop)} are not within "
                f"the buffer's {len(self)}"
            )
        sub = object.__new__(Buffer)
        sub._bytes, sub._whole = self._bytes[start:stop], self.whole or self
        return sub

    def __repr__(self) -> str:
        return f"Buffer({len(self)})"

    @property
    def whole(self) -> Buffer | None:
        """The buffer that this sub-buffer is part of, None: it is none."""
        return self._whole

    @property
    def address(self) -> int:
        """The address of the first byte, as kernels see it."""
        return int(self._bytes.ctypes.data)

    def array(self, dtype: DTypeLike) -> NDArray[Any]:
        """Return the whole buffer as a one-dimensional array of `dtype`; memory is shared.

        Raises:
            ArgumentError: The size is not a multiple of the type's, the type holds objects, or
                there is no such type.
        """
        try:
            kind = np.dtype(dtype)
        except (TypeError, ValueError, SyntaxError):
            raise ArgumentError(f"Buffer: {dtype!r} is not a NumPy dtype") from None
        if kind.hasobject or not kind.itemsize:
            raise ArgumentError(f"Buffer: type {kind} has no bytes of its own")
        if len(self) % kind.itemsize:
            raise ArgumentError(
                f"Buffer: {len(self)} bytes are not a whole number of {kind} "
                f"({kind.itemsize} bytes each)"
            )
        return self._bytes.view(kind)

    def _position(self, bound: Any, default: int) -> int:
        """Return a bound of a slice as a byte position; negative ones count from the end."""
        if bound is None:
            return default
        position = _size(bound, "Buffer")
        return position + len(self) if position < 0 else position


@dataclass(frozen=True, slots=True)
class Local:
    """An argument that is `nbytes` of shared local memory of each work-group.

    Raises:
        ArgumentError: The size is not a positive integer.
    """

    nbytes: int

    def __post_init__(self) -> None:
        if _size(self.nbytes, "Local") <= 0:
            raise ArgumentError(
                f"Local: the size is {shown(self.nbytes)} bytes; it has to be positive"
            )


def _size(value: Any, what: str) -> int:
    try:
        size = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        size = None
    if size is None:
        raise ArgumentError(f"{what}: {shown(value)} is not a number of bytes; expected an integer")
    return size


def whole_of(value: object) -> tuple[int, int] | None:
    """Return where the buffer is that an argument is a part of, and its bytes."""
    whole = value.whole if isinstance(value, Buffer) else None
    return None if whole is None else (whole.address, len(whole))
