"""What hardware threads have while they run natively: fields, registers, scratch memory, stacks."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from visim.engine.barriers import Ticket
from visim.engine.base import ThreadStart
from visim.engine.jit.layout import ANYTIME, NEVER, Status, Thread
from visim.errors import UnsupportedError
from visim.machine.allocations import NO_RESERVE, aligned_zeros

STACK_BYTES = 1 << 20
LONG_STACK_BYTES = 1 << 26
DEEP_STACK_BYTES = 1 << 30
_LINE = 64
_COLOURS, _COLOUR = 32, 17 * _LINE
"""So many stacks begin in different lines of the processor's cache, so far from each other."""


@dataclass
class ThreadRecord:
    """What a hardware thread has while it runs: fields that native code knows, and its memory.

    `address` is where native code finds the fields; `octets` are the bytes of the register image;
    `marks` are what it has done at each barrier.
    """

    number: int
    address: int
    fields: NDArray[np.uint64]
    image: NDArray[np.uint8]
    scratch: NDArray[np.uint8]
    marks: NDArray[np.uint64]
    octets: memoryview = field(init=False)
    scratch_base: int = 0
    waits: Ticket | None = None

    def __post_init__(self) -> None:
        self.octets = octets_of(self.image)

    @property
    def group(self) -> tuple[int, int, int]:
        """The coordinates of its group, as it has left them for what it asks."""
        x, y, z = (int(one) for one in self.fields[Thread.GROUP : Thread.GROUP + 3])
        return x, y, z

    def clear(self) -> None:
        """Make everything zero, as in a new record."""
        self.fields[Thread.SCRATCH_BASE :] = 0
        self.image.fill(0)
        self.scratch.fill(0)
        self.marks.fill(0)
        self.fields[Thread.MARKS] = self.marks.ctypes.data

    def fill(self, start: ThreadStart) -> None:
        """Write how the thread starts into its fields and registers, which are zero."""
        fields = self.fields
        fields[Thread.MASK] = start.mask
        fields[Thread.STATUS] = Status.READY if start.mask else Status.DONE
        fields[Thread.PHASE] = ANYTIME if start.mask else NEVER
        fields[Thread.SCRATCH_BASE] = self.scratch_base = start.scratch_base
        self.waits = None
        for offset, data in start.registers:
            self.octets[offset : offset + len(data)] = data


def unstarted(threads: Sequence[ThreadRecord]) -> int:
    """Return how many threads have had no turn: a fault of another one came first."""
    return sum(int(thread.fields[Thread.STATUS]) == Status.READY for thread in threads)


def new_records(
    first: int, count: int, image: int, scratch: int, barriers: int
) -> list[ThreadRecord]:
    """Return the records of threads, all zero.

    Args:
        first: the number of the first thread.
        count: how many threads.
        image: bytes of a register image.
        scratch: bytes of a thread's scratch memory.
        barriers: how many barriers there are at which threads signal and wait apart.
    """
    sizes = [8 * int(Thread.SIZE), *map(_whole_lines, (8 * barriers, image, scratch))]
    step = sum(sizes)
    block = aligned_zeros(step * count + _LINE)
    place = int(block.ctypes.data)
    found: list[ThreadRecord] = []
    for number in range(count):
        ends = [number * step + end for end in accumulate(sizes)]
        fields = block[number * step : ends[0]].view(np.uint64)
        marks = block[ends[0] : ends[0] + 8 * barriers].view(np.uint64)
        registers, own = block[ends[1] : ends[1] + image], block[ends[2] : ends[2] + scratch]
        fields[Thread.MARKS] = place + ends[0]
        fields[Thread.IMAGE] = place + ends[1]
        fields[Thread.SCRATCH] = place + ends[2]
        address = place + number * step
        found.append(ThreadRecord(first + number, address, fields, registers, own, marks))
    return found


def _whole_lines(size: int) -> int:
    """Return a size in whole cache lines."""
    return -(-size // _LINE) * _LINE


@dataclass
class Stacks:
    """Stacks that threads run on, kept from launch to launch.

    Beside them are stacks of the calls that subroutines which call themselves have open.
    """

    size: int
    mapped: list[mmap.mmap] = field(default_factory=list[mmap.mmap])
    tops: list[int] = field(default_factory=list[int])
    calls: list[int] = field(default_factory=list[int])

    def top(self, number: int) -> int:
        """Return the end of stack `number`."""
        while len(self.tops) <= number:
            shift = len(self.tops) % _COLOURS * _COLOUR
            self.tops.append(((self._map(self.size) + self.size) & ~63) - shift)
        return self.tops[number]

    def frames(self, number: int, size: int) -> int:
        """Return the start of the stack of open calls `number`, which is always asked for alike."""
        while len(self.calls) <= number:
            self.calls.append(self._map(size))
        return self.calls[number]

    def _map(self, size: int) -> int:
        """Return where pages begin that take no memory until they are used."""
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE
        try:
            found = mmap.mmap(-1, size, flags=flags)
        except (OSError, MemoryError) as error:
            raise UnsupportedError(
                f"jit: the system refuses {size} bytes of address space for a hardware thread's "
                f"stack, beside {len(self.mapped)} that it has given ({error}); raise the limit "
                "(ulimit -v), or take engine='interpreter'"
            ) from None
        self.mapped.append(found)
        return ctypes.addressof(ctypes.c_char.from_buffer(self.mapped[-1]))


def words(count: int) -> NDArray[np.uint64]:
    """Return zeros in cache lines of their own, so that workers do not slow each other down."""
    return aligned_zeros(8 * count + 128)[: 8 * count].view(np.uint64)


def octets_of(array: NDArray[Any]) -> memoryview:
    """Return the memory of an array in the form that Python writes quickest."""
    return memoryview(cast("Any", array))
