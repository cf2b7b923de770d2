"""Memory whose bytes count as never written, for sanitizers: `Uninitialised`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.errors import ArgumentError, shown
from visim.runtime.arguments.buffers import Buffer


class Uninitialised:
    """An array or `Buffer` as an argument, whose bytes count as never written.

    Launches with `sanitize="uninit"` note which bytes kernels write, and the object keeps that
    between them. After a launch without, all bytes count as written, since nobody has looked.

    Raises:
        ArgumentError: it is neither a C-contiguous array nor a `Buffer`.
    """

    __slots__ = ("bits", "memory")

    def __init__(self, memory: NDArray[Any] | Buffer) -> None:
        if isinstance(memory, Buffer):
            size = len(memory)
        elif isinstance(memory, np.ndarray) and memory.ndim and memory.flags.c_contiguous:  # pyright: ignore[reportUnnecessaryIsInstance]
            size = memory.nbytes
        else:
            raise ArgumentError(
                f"Uninitialised: expected a C-contiguous array or a Buffer, found {shown(memory)}"
            )
        self.memory = memory
        self.bits: NDArray[np.uint8] = np.full(size, 0xFF, np.uint8)

    def __repr__(self) -> str:
        return f"Uninitialised({self.memory!r})"

    @property
    def address(self) -> int:
        """The address of the first byte, as kernels see it."""
        if isinstance(self.memory, Buffer):
            return self.memory.address
        return int(self.memory.ctypes.data)

    @property
    def array(self) -> NDArray[Any]:
        """The array; of a `Buffer` its bytes."""
        return self.memory.array(np.uint8) if isinstance(self.memory, Buffer) else self.memory

    @property
    def written(self) -> NDArray[np.bool_]:
        """Which bytes count as written."""
        return self.bits == 0

    def forget(self) -> None:
        """Count all bytes as written."""
        self.bits.fill(0)


def plain(value: object) -> object:
    """Return an argument as kernels get it: of one that counts as never written its memory."""
    return value.memory if isinstance(value, Uninitialised) else value


__all__ = ["Uninitialised", "plain"]
