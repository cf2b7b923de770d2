"""Where messages may go: each space's first address, its limit, where the host has it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from visim.engine.jit.ir.text import Text
from visim.engine.jit.layout import LOOP_NOTES, SLM_MARGIN, SURFACE_ENTRY, Context, Thread
from visim.machine.surfaces import BINDING_TABLE_SIZE


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where a message goes, as names of i64: `start` is subtracted from addresses.

    The differences below `limit` are in range; `host` is added to them. So many bytes in front of
    what is in range and behind it can be read as well, by channels that are off: `margin`. All
    addresses in range are below `end`, if anything is known of them.
    """

    start: str
    limit: str
    host: str
    margin: int = 0
    end: int | None = None


class SurfaceWriter:
    """Writes once, where the function starts, what stays while it runs.

    That are the bounds of surfaces with known numbers and of extents, and where shared local memory
    is: LLVM does not know that stores leave it where it is, and would add it to each address again.
    `thread` is written where a thread starts, or goes on behind a barrier: where its scratch memory
    is.
    """

    def __init__(self, scratch_bytes: int | None) -> None:
        self._known_scratch = scratch_bytes
        self.text = Text(hint="s")
        self.thread = Text(hint="scratch")
        self._known: dict[tuple[int, int, bool], Bounds] = {}
        self._extents: dict[tuple[int, int, bool], Bounds] = {}
        self._rooms: dict[int, str] = {}

    @cached_property
    def shared_memory(self) -> str:
        """Where the host has shared local memory, as i64."""
        return _field(self.text, "%ctx", Context.SLM)

    @cached_property
    def caches(self) -> str:
        """Where messages remember their last accesses, as a pointer."""
        return _field(self.text, "%ctx", Context.CACHE, "ptr")

    def note(self, number: int) -> str:
        """Return the pointer to one of the words that loops have in front of that."""
        return self.text.let(f"getelementptr i64, ptr {self.caches}, i64 {number - LOOP_NOTES}")

    @cached_property
    def _scratch_bytes(self) -> str:
        return _field(self.text, "%ctx", Context.SCRATCH_BYTES)

    @cached_property
    def _scratch_start(self) -> str:
        return _field(self.thread, "%thread", Thread.SCRATCH_BASE)

    @cached_property
    def _scratch_host(self) -> str:
        return _field(self.thread, "%thread", Thread.SCRATCH)

    def scratch(self, size: int) -> Bounds:
        """Return the bounds of messages to scratch memory; each lane reaches `size` bytes."""
        if self._known_scratch is not None:
            limit = max(0, self._known_scratch - size + 1)
            return Bounds("0", str(limit), self._scratch_host, end=limit)
        if size not in self._rooms:
            self._rooms[size] = limit_for(self.text, self._scratch_bytes, size)
        return Bounds(self._scratch_start, self._rooms[size], self._scratch_host)

    def extent(self, entry: int, size: int, slm_bytes: int | None, *, reads: bool) -> Bounds:
        """Return the bounds of messages that stay in an extent; each lane reaches `size` bytes.

        Its entry of a table is at the address `entry`: see `visim.sem.effects.Within`. With
        `slm_bytes` it is in shared local memory, which has so many.
        """
        key = entry, size, reads
        if key not in self._extents:
            text = self.text
            start, room = (
                text.let(f"load i64, ptr inttoptr (i64 {place} to ptr), align 8")
                for place in (entry, entry + (8 if reads else 16))
            )
            if slm_bytes is None:
                found = Bounds(start, limit_for(text, room, size), start)
            else:
                rest = text.let(f"sub i64 {slm_bytes}, {start}")
                less = text.let(f"icmp ult i64 {room}, {rest}")
                room = text.let(f"select i1 {less}, i64 {room}, i64 {rest}")
                host = text.let(f"add i64 {self.shared_memory}, {start}")
                limit = limit_for(text, room, size)
                found = Bounds(start, limit, host, SLM_MARGIN, end=slm_bytes)
            self._extents[key] = found
        return self._extents[key]

    def bounds(self, number: int, size: int, *, reads: bool) -> Bounds:
        """Return the bounds of messages to a surface of which each lane reaches `size` bytes."""
        key = number, size, reads
        if key not in self._known:
            table = _field(self.text, "%ctx", Context.SURFACES, "ptr")
            entry = self.text.at(table, min(number, BINDING_TABLE_SIZE) * SURFACE_ENTRY)
            self._known[key] = surface_bounds(self.text, entry, size, reads=reads)
        return self._known[key]


def _field(text: Text, record: str, field: Context | Thread, kind: str = "i64") -> str:
    """Return a field of a record."""
    place = text.let(f"getelementptr i64, ptr {record}, i64 {int(field)}")
    return text.let(f"load {kind}, ptr {place}, align 8")


def surface_bounds(text: Text, entry: str, size: int, *, reads: bool) -> Bounds:
    """Return the bounds of a surface that is at `entry` of the binding table."""
    base = text.let(f"load i64, ptr {entry}, align 8")
    place = text.at(entry, 8 if reads else 16)
    return Bounds("0", limit_for(text, text.let(f"load i64, ptr {place}, align 8"), size), base)


def limit_for(text: Text, size: str, wanted: int) -> str:
    """Return how many offsets hold `wanted` bytes in memory of `size` bytes."""
    rest = text.let(f"sub i64 {size}, {wanted - 1}")
    some = text.let(f"icmp sgt i64 {rest}, 0")
    return text.let(f"select i1 {some}, i64 {rest}, i64 0")
