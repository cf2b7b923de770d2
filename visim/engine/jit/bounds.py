"""Where messages may go: each space's first address, its limit, where the host has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from visim.engine.jit.blocks import MemoryMessage
from visim.engine.jit.layout import CACHE_ENTRY, SURFACE_ENTRY, Context, Thread
from visim.engine.jit.values import Values
from visim.sem.effects import Atomic, Load, LoadBlock, Space

if TYPE_CHECKING:
    from visim.engine.jit.unit import UnitWriter


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where a message goes, as names of i64: `start` is subtracted from addresses.

    The differences below `limit` are in range; `host` is added to them.
    """

    start: str
    limit: str
    host: str


class BoundsWriter:
    """Writes where the messages of one instruction may go."""

    def __init__(self, unit: UnitWriter, values: Values) -> None:
        self.unit = unit
        self.text = unit.text
        self.values = values

    def of(self, effect: MemoryMessage, site: int, size: int) -> Bounds:
        """Return the bounds of message number `site`, of which each lane reaches `size` bytes."""
        unit = self.unit
        match effect.space:
            case Space.FLAT:
                return self._flat(site)
            case Space.SLM:
                limit = max(0, unit.slm_bytes - size + 1)
                return Bounds("0", str(limit), unit.context(Context.SLM))
            case Space.SCRATCH:
                room = self._room(unit.context(Context.SCRATCH_BYTES), size)
                start = unit.thread(Thread.SCRATCH_BASE)
                return Bounds(start, room, unit.thread(Thread.SCRATCH))
            case Space.ARGUMENT:
                room = self._room(unit.context(Context.ARGUMENT_BYTES), size)
                return Bounds("0", room, unit.context(Context.ARGUMENTS))
            case _:
                return self._surface(effect, size)

    def _room(self, size: str, wanted: int) -> str:
        """Return how many offsets hold `wanted` bytes in memory of `size` bytes."""
        text = self.text
        rest = text.let(f"sub i64 {size}, {wanted - 1}")
        some = text.let(f"icmp sgt i64 {rest}, 0")
        return text.let(f"select i1 {some}, i64 {rest}, i64 0")

    # Flat memory

    def _flat(self, site: int) -> Bounds:
        """Return the bounds of the allocation in which the message's last access was."""
        cache = self.cache(site)
        base = self._word(cache, 0)
        return Bounds(base, self._word(cache, 1), base)

    def _word(self, pointer: str, number: int) -> str:
        place = self.text.let(f"getelementptr i64, ptr {pointer}, i64 {number}")
        return self.text.let(f"load i64, ptr {place}, align 8")

    def cache(self, site: int) -> str:
        """Return the pointer to what the worker remembers of the message's last access."""
        caches = self.unit.context_pointer(Context.CACHE)
        return self.text.let(f"getelementptr i8, ptr {caches}, i64 {site * CACHE_ENTRY}")

    # Surfaces

    def entry(self, effect: MemoryMessage) -> str:
        """Return where the binding table has the surface of a message."""
        text, surface = self.text, effect.surface
        if surface is None:
            raise TypeError("a surface message without a surface")
        index = text.let(f"zext i32 {self.values.scalar(surface)} to i64")
        known = text.let(f"icmp ult i64 {index}, 256")
        safe = text.let(f"select i1 {known}, i64 {index}, i64 256")
        byte = text.let(f"mul i64 {safe}, {SURFACE_ENTRY}")
        table = self.unit.context_pointer(Context.SURFACES)
        return text.let(f"getelementptr i8, ptr {table}, i64 {byte}")

    def _surface(self, effect: MemoryMessage, size: int) -> Bounds:
        text, entry = self.text, self.entry(effect)
        base = text.let(f"load i64, ptr {entry}, align 8")
        reads = isinstance(effect, Load | LoadBlock) or _only_reads(effect)
        place = text.let(f"getelementptr i8, ptr {entry}, i64 {8 if reads else 16}")
        return Bounds("0", self._room(text.let(f"load i64, ptr {place}, align 8"), size), base)


def _only_reads(effect: MemoryMessage) -> bool:
    return isinstance(effect, Atomic) and effect.operation.value == "load"
