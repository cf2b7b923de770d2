"""Shadows of memory: a byte for each byte, whose bits are set where the byte's are undefined.

They are a stretch of address space that the process reserves once, without memory behind it but
where shadows are written. The shadow of a byte of flat memory is at the low bits of its address.
Between launches all of it is zero: all that callers hand in counts as written.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from visim.errors import UnsupportedError
from visim.machine.allocations import NO_RESERVE

FLAT_BITS = 40
"""So many low bits of an address say where its shadow is."""
SLM_BITS, SCRATCH_BITS = 32, 24
"""The same of local memory, whose addresses have no more, and of a thread's scratch memory."""
_THREADS = 1 << 10
_TABLE = 1 << 12
_HINT = 0x1000_0000_0000
_READ_WRITE, _PRIVATE_ANONYMOUS = 3, 0x22
_FAILED = ctypes.c_void_p(-1).value

Bytes = NDArray[np.uint8]


class ShadowSpace:
    """The address space of shadows, by parts: flat memory, SLM, scratch of threads, and a table.

    The table says for each binding table index where its surface's shadow begins. Launches that
    need shadows take turns: `lock`.
    """

    def __init__(self) -> None:
        self.size = (1 << FLAT_BITS) + (1 << SLM_BITS) + (_THREADS << SCRATCH_BITS) + _TABLE
        self.base = reserved(self.size, "uninit")
        kind = ctypes.c_uint8 * self.size
        self.bytes: Bytes = np.ctypeslib.as_array(kind.from_address(self.base))
        self.lock = threading.RLock()

    @property
    def slm(self) -> int:
        """Where the shadow of shared local memory begins."""
        return self.base + (1 << FLAT_BITS)

    @property
    def scratch(self) -> int:
        """Where the shadows of threads' scratch memory begin, each `1 << SCRATCH_BITS` bytes."""
        return self.slm + (1 << SLM_BITS)

    @property
    def table(self) -> int:
        """Where the table of surfaces begins, 8 bytes an index."""
        return self.scratch + (_THREADS << SCRATCH_BITS)

    def flat(self, address: int) -> int:
        """Return where the shadow of a byte of flat memory is."""
        return self.base + (address & (1 << FLAT_BITS) - 1)

    def at(self, address: int, size: int) -> Bytes:
        """Return shadow bytes, by the address of the first one."""
        start = address - self.base
        return self.bytes[start : start + size]

    def set_table(self, surfaces: Iterable[tuple[int, int]]) -> None:
        """Say where surfaces have their shadows, by index and host address."""
        table = self.at(self.table, _TABLE).view(np.uint64)
        table[:] = self.base
        for index, address in surfaces:
            if index < table.size:
                table[index] = self.flat(address)


@cache
def shadow_space() -> ShadowSpace:
    """Return the shadows of this process.

    Raises:
        UnsupportedError: the system does not let it have so much address space.
    """
    return ShadowSpace()


def reserved(size: int, who: str) -> int:
    """Return where a stretch of address space begins that the process has reserved.

    Args:
        size: its bytes.
        who: the sanitizer that needs it.

    Raises:
        UnsupportedError: the system does not give so much.
    """
    library = ctypes.CDLL(None, use_errno=True)
    reserve = library.mmap
    reserve.restype = ctypes.c_void_p
    reserve.argtypes = [
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_long,
    ]
    found = reserve(_HINT, size, _READ_WRITE, _PRIVATE_ANONYMOUS | NO_RESERVE, -1, 0)
    if found is None or found == _FAILED:
        raise UnsupportedError(
            f"sanitize: {who!r} needs {size >> 30} GiB of address space, and the system gives "
            "none (ulimit -v, or vm.overcommit_memory=2)"
        )
    return int(found)


__all__ = ["FLAT_BITS", "SCRATCH_BITS", "SLM_BITS", "ShadowSpace", "reserved", "shadow_space"]
