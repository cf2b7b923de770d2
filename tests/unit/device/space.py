"""Memory of a VM for tests: an address space at addresses that this process has free."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from visim.device.address_space import AddressSpace
from visim.device.hostmemory import ProgramMemory

PAGE = 4096
FILE_BYTES = 1 << 24


BASE = 0x0123_4000_0000
"""An address where no process of a test has anything.

Allocators and the shadows of sanitizers begin above 2 TiB.
"""


@contextmanager
def address_space() -> Iterator[tuple[AddressSpace, int]]:
    """Lend an address space, and the file of its objects; it may borrow from this very process."""
    file = os.memfd_create("test objects")
    os.ftruncate(file, FILE_BYTES)
    space = AddressSpace(file, ProgramMemory(os.getpid()))
    try:
        yield space, file
    finally:
        for one in space.mappings:
            space.unmap(one.start, one.end - one.start)
        os.close(file)
