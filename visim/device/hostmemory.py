"""Memory of processes by address: mapping it at a wanted place, and another program's memory.

Owns the calls of the C library that Python has no words for.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from visim.machine.allocations import NO_RESERVE

Bytes = NDArray[np.uint8]

_READ, _WRITE = 1, 2
_SHARED, _PRIVATE, _FIXED, _ANONYMOUS = 1, 2, 0x10, 0x20
_FIXED_NOREPLACE = 0x100000
_FAILED = (1 << 64) - 1
PAGE = os.sysconf("SC_PAGE_SIZE")
_PAGEMAP_ENTRY, _FIRST_STATE_BIT = 8, 62
"""Of an entry of pagemap the last two bits say that the page is swapped out, or in memory."""

_libc = ctypes.CDLL(None, use_errno=True)


class _Stretch(ctypes.Structure):
    """`struct iovec`."""

    _fields_ = (("base", ctypes.c_uint64), ("size", ctypes.c_uint64))


def _function(name: str, result: Any, *arguments: Any) -> Callable[..., int]:
    found = getattr(_libc, name)
    found.restype, found.argtypes = result, arguments
    return cast("Callable[..., int]", found)


_mmap = _function(
    "mmap",
    ctypes.c_uint64,
    *(ctypes.c_uint64, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64),
)
_munmap = _function("munmap", ctypes.c_int, ctypes.c_uint64, ctypes.c_size_t)
_pointers = (ctypes.POINTER(_Stretch), ctypes.c_ulong) * 2
_readv = _function("process_vm_readv", ctypes.c_ssize_t, ctypes.c_int, *_pointers, ctypes.c_ulong)
_writev = _function("process_vm_writev", ctypes.c_ssize_t, ctypes.c_int, *_pointers, ctypes.c_ulong)


def map_at(address: int, size: int, file: int | None, offset: int) -> None:
    """Map a file's bytes, or zeros of our own without a file, at an address.

    Raises:
        OSError: the address is taken, or cannot be had.
    """
    kind = _PRIVATE | _ANONYMOUS | NO_RESERVE if file is None else _SHARED
    found = _mmap(
        address, size, _READ | _WRITE, kind | _FIXED_NOREPLACE, -1 if file is None else file, offset
    )
    if found == _FAILED:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    if found != address:  # Kernels before 4.17 take the address for a hint.
        _munmap(found, size)
        raise OSError(17, "the address is taken")


def unmap(address: int, size: int) -> None:
    """Undo `map_at`."""
    _munmap(address, size)


def bytes_at(address: int, size: int) -> Bytes:
    """Return the memory of this process at an address, in place."""
    raw = (ctypes.c_uint8 * size).from_address(address)
    return np.ctypeslib.as_array(raw)


def touched_pages(process: int, start: int, size: int) -> NDArray[np.bool_]:
    """Return for each page of a stretch of a process' memory whether it was ever used.

    All were where the system does not tell.
    """
    first, last = start // PAGE, -(-(start + size) // PAGE)
    entries = np.empty(last - first, np.uint64)
    try:
        pages = os.open(f"/proc/{process}/pagemap", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return np.ones(entries.size, np.bool_)
    try:
        got = os.preadv(pages, [entries.data.cast("B")], first * _PAGEMAP_ENTRY)
    except OSError:
        got = 0
    finally:
        os.close(pages)
    if got != entries.nbytes:
        return np.ones(entries.size, np.bool_)
    return entries >> np.uint64(_FIRST_STATE_BIT) != 0


def runs(pages: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return where stretches of pages that are true begin and end, in bytes."""
    edges = np.flatnonzero(np.diff(pages, prepend=False, append=False)) * PAGE
    return [(first, end) for first, end in edges.reshape(-1, 2).tolist()]


class ProgramMemory:
    """The memory of another process.

    Args:
        process: its number.
    """

    def __init__(self, process: int) -> None:
        self.process = process

    def read(self, address: int, into: Bytes) -> None:
        """Fill an array with what stands at an address; OSError if nothing does."""
        self._move(_readv, address, into)

    def touched_pages(self, start: int, size: int) -> NDArray[np.bool_]:
        """Return for each page of a stretch whether it is in memory or swapped out.

        Reserved memory that nobody has written reads as zeros, however much there is of it; and
        reading it makes a page of it. All are touched where the system does not tell.
        """
        return touched_pages(self.process, start, size)

    def write(self, address: int, data: Bytes) -> None:
        """Write an array's bytes to an address; OSError if nothing is there."""
        self._move(_writev, address, data)

    def _move(self, call: Callable[..., int], address: int, here: Bytes) -> None:
        done, at = 0, int(here.ctypes.data)
        while done < here.size:
            own = _Stretch(at + done, here.size - done)
            other = _Stretch(address + done, here.size - done)
            moved = call(self.process, ctypes.byref(own), 1, ctypes.byref(other), 1, 0)
            if moved <= 0:
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number))
            done += moved


def begin_of(process: int) -> float:
    """Return when a process was started, in seconds since 1970; now if the system does not tell."""
    try:
        ticks = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return time.time()
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    return time.time() - age


def tells_of_an_end(error: BaseException | None) -> bool:
    """Return whether an error, or what it came of, is that the process of memory has ended."""
    while error is not None and not isinstance(error, ProcessLookupError):
        error = error.__cause__
    return error is not None


def keep_layout() -> None:
    """Limit the stack again, which was unlimited when this process was laid out."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    if soft == resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, hard))
