"""The virtual memory of a VM: mappings, at the very addresses that the GPU has for them.

A VM has a process of its own, whose address space is the VM's: kernels then run on the GPU's
addresses as they are, on either engine. Objects are pages of the file that all processes share.
Memory of the program itself is not: `lending` copies it before and after a kernel; the copy engine
reaches it in place.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from struct import Struct
from threading import RLock

import numpy as np

from visim.device.hostmemory import Bytes, ProgramMemory, bytes_at, map_at, unmap
from visim.device.lending import Loan
from visim.machine.allocations import Allocation
from visim.machine.memory import Memory

_UINT32, _UINT64 = Struct("<I"), Struct("<Q")


class PageFault(Exception):
    """An access to an address to which nothing is mapped.

    Attributes:
        address: the address.
        size: how many bytes were wanted.
    """

    def __init__(self, address: int, size: int, nearest: str) -> None:
        self.address = address
        self.size = size
        super().__init__(f"nothing is mapped at 0x{address:x} ({size} bytes); {nearest}")


@dataclass(slots=True)
class Mapping:
    """Memory at the addresses [start, end) of a VM.

    `host` are its bytes in this process. `program` is where they are in the program's memory, for
    memory that is its own; None for an object's. `asked` is how many bytes of it the program has
    asked for, None where that is not known.
    """

    start: int
    end: int
    host: Bytes
    words: memoryview
    program: int | None
    is_writable: bool
    asked: int | None = None
    loan: Loan | None = None

    @property
    def asked_end(self) -> int:
        """Where the memory ends that the program has asked for."""
        return self.end if self.asked is None else self.start + self.asked

    @property
    def name(self) -> str:
        """What messages call it."""
        kind = "object" if self.program is None else "memory of the program"
        return f"{kind} at 0x{self.start:x} ({self.end - self.start} bytes)"


class AddressSpace:
    """All mappings of a VM.

    Args:
        file: the file of all objects.
        program: the memory of the program.
    """

    def __init__(self, file: int, program: ProgramMemory) -> None:
        self._file = file
        self._program = program
        self._starts: list[int] = []  # Never changed but replaced: queues read it without the lock.
        self._mappings: dict[int, Mapping] = {}
        self._memory: Memory | None = None
        self._lock = RLock()

    def map_object(
        self,
        address: int,
        size: int,
        offset: int,
        *,
        is_writable: bool = True,
        asked: int | None = None,
    ) -> None:
        """Map `size` bytes of the file from `offset` on; what was there before is gone.

        Raises:
            OSError: this process cannot have anything at the address.
        """
        self._map(address, size, self._file, offset, None, is_writable=is_writable, asked=asked)

    def map_program(self, address: int, size: int, place: int, *, is_writable: bool = True) -> None:
        """Map the program's memory at `place`; OSError as for objects."""
        self._map(address, size, None, 0, place, is_writable=is_writable)

    def _map(
        self,
        address: int,
        size: int,
        file: int | None,
        offset: int,
        program: int | None,
        *,
        is_writable: bool,
        asked: int | None = None,
    ) -> None:
        with self._lock:
            self.unmap(address, size)
            map_at(address, size, file, offset)
            host = bytes_at(address, size)
            words = host.data.cast("I")
            found = Mapping(address, address + size, host, words, program, is_writable, asked)
            self._mappings[address] = found
            self._starts = sorted([*self._starts, address])
            self._memory = None

    def unmap(self, address: int, size: int) -> None:
        """Take away all mappings that overlap a range."""
        with self._lock:
            for start in self._starts[: bisect_left(self._starts, address + size)]:
                found = self._mappings[start]
                if found.end > address:
                    self._starts = [one for one in self._starts if one != start]
                    del self._mappings[start]
                    self._memory = None
                    if found.loan is not None:
                        found.loan.end()
                    unmap(start, found.end - start)

    @property
    def mappings(self) -> list[Mapping]:
        """All mappings in the order of their addresses."""
        with self._lock:
            return [self._mappings[start] for start in self._starts]

    def find(self, address: int, size: int = 1) -> Mapping:
        """Return the mapping that holds a range.

        Raises:
            PageFault: none does.
        """
        starts = self._starts
        place = bisect_right(starts, address) - 1
        if place >= 0:
            found = self._mappings.get(starts[place])
            if found is not None and address + size <= found.end:
                return found
        raise PageFault(address, size, self._nearest(address))

    def _nearest(self, address: int) -> str:
        near = min(
            self.mappings,
            key=lambda one: max(one.start - address, address - one.end, 0),
            default=None,
        )
        return "nothing is mapped at all" if near is None else f"the nearest is {near.name}"

    def read(self, address: int, size: int) -> bytes:
        """Return bytes; they may lie in several mappings. PageFault where nothing is."""
        if not size:
            return b""
        return b"".join(bytes(piece) for piece in self._pieces(address, size))

    def _pieces(self, address: int, size: int) -> Iterator[Bytes]:
        """Yield the bytes of a range, as they are mapped, those of the program as copies."""
        while size:
            one = self.find(address)
            count = min(size, one.end - address)
            first = address - one.start
            if one.program is None:
                yield one.host[first : first + count]
            else:
                copy = np.empty(count, np.uint8)
                self._program.read(one.program + first, copy)
                yield copy
            address, size = address + count, size - count

    def write(self, address: int, data: bytes | Bytes) -> None:
        """Write bytes; PageFault where nothing is mapped."""
        rest = data if isinstance(data, np.ndarray) else np.frombuffer(data, np.uint8)
        while rest.size:
            one = self.find(address)
            count = min(rest.size, one.end - address)
            first = address - one.start
            if one.program is None:
                one.host[first : first + count] = rest[:count]
            else:
                self._program.write(one.program + first, np.ascontiguousarray(rest[:count]))
            address, rest = address + count, rest[count:]

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy bytes from one range to another that does not overlap it."""
        for piece in self._pieces(source, size):
            self.write(target, piece)
            target += piece.size

    def load(self, address: int) -> int:
        """Return the 32 bits at an address."""
        return _UINT32.unpack(self.read(address, 4))[0]

    def load_long(self, address: int) -> int:
        """Return the 64 bits at an address."""
        return _UINT64.unpack(self.read(address, 8))[0]

    def store(self, address: int, value: int) -> None:
        """Write 32 bits in one access."""
        one = self.find(address, 4)
        if one.program is None and not address & 3:
            one.words[(address - one.start) >> 2] = value & 0xFFFF_FFFF
        else:
            self.write(address, _UINT32.pack(value & 0xFFFF_FFFF))

    def store_long(self, address: int, value: int) -> None:
        """Write 64 bits in one access."""
        self.write(address, _UINT64.pack(value & 0xFFFF_FFFF_FFFF_FFFF))

    @contextmanager
    def for_kernels(self) -> Generator[Memory]:
        """Lend the memory in the form that engines know, up to date with that of the program.

        Several kernels may borrow it at a time, and mappings may come and go meanwhile.
        """
        with self._lock:
            loans = [self._lend(one) for one in self.mappings if one.program is not None]
            memory = self._for_engines()
        try:
            yield memory
        finally:
            with self._lock:
                for loan in loans:
                    loan.give_back()

    def _lend(self, one: Mapping) -> Loan:
        """Lend the program's memory behind a mapping to one more kernel; the lock is held."""
        assert one.program is not None
        if one.loan is None:
            one.loan = Loan(self._program, one.program, one.host)
        one.loan.take()
        return one.loan

    def _for_engines(self) -> Memory:
        if self._memory is None:
            self._memory = _memory_of(self.mappings)
        return self._memory


def _memory_of(mappings: list[Mapping]) -> Memory:
    return Memory(
        [Allocation(one.name, one.host, one.is_writable, None, one.start) for one in mappings]
    )
