"""Where messages may go: each space's first address, its limit, where the host has it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from visim.engine.jit.blocks import MemoryMessage
from visim.engine.jit.layout import CACHE_ENTRY, SURFACE_ENTRY, Context, Thread
from visim.engine.jit.text import Text
from visim.engine.jit.values import Values
from visim.machine.surfaces import BINDING_TABLE_SIZE
from visim.sem.effects import Atomic, Effect, Load, LoadBlock, Space, WriteState
from visim.sem.expr import Expr

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


@dataclass
class Bindings:
    """The numbers that state variables hold in code that runs one after another, where known.

    Older messages name their surface by such a variable, which is set right before each of them.
    """

    known: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])

    def note(self, effect: Effect) -> None:
        """Note what an instruction writes."""
        if not isinstance(effect, WriteState):
            return
        value, lanes = effect.value, effect.value.lanes
        whole = effect.mask is None and value.uop.name == "constant"
        for element in range(effect.element, effect.element + lanes):
            self.known.pop((effect.variable.name, element), None)
            if whole:
                self.known[effect.variable.name, element] = int(value.attribute)

    def number(self, surface: Expr) -> int | None:
        """Return the number that an index of the binding table is."""
        match surface.uop.name:
            case "constant":
                return int(surface.attribute)
            case "state":
                variable, element = surface.attribute
                return self.known.get((variable.name, element))
            case _:
                return None


class BoundsWriter:
    """Writes where the messages of one instruction may go."""

    def __init__(self, unit: UnitWriter, values: Values, bindings: Bindings) -> None:
        self.unit = unit
        self.text = unit.text
        self.values = values
        self.bindings = bindings

    def of(self, effect: MemoryMessage, site: int, size: int) -> Bounds:
        """Return the bounds of message number `site`, of which each lane reaches `size` bytes."""
        unit = self.unit
        match effect.space:
            case Space.FLAT:
                return self._flat(site)
            case Space.SLM:
                limit = max(0, unit.slm_bytes - size + 1)
                return Bounds("0", str(limit), unit.surfaces.shared_memory)
            case Space.SCRATCH:
                room = _room(self.text, unit.context(Context.SCRATCH_BYTES), size)
                start = unit.thread(Thread.SCRATCH_BASE)
                return Bounds(start, room, unit.thread(Thread.SCRATCH))
            case Space.ARGUMENT:
                room = _room(self.text, unit.context(Context.ARGUMENT_BYTES), size)
                return Bounds("0", room, unit.context(Context.ARGUMENTS))
            case _:
                return self._surface(effect, size)

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

    def entry(self, surface: Expr) -> str:
        """Return where the binding table has a surface."""
        text = self.text
        index = text.let(f"zext i32 {self.values.scalar(surface)} to i64")
        known = text.let(f"icmp ult i64 {index}, {BINDING_TABLE_SIZE}")
        safe = text.let(f"select i1 {known}, i64 {index}, i64 {BINDING_TABLE_SIZE}")
        byte = text.let(f"mul i64 {safe}, {SURFACE_ENTRY}")
        table = self.unit.context_pointer(Context.SURFACES)
        return text.let(f"getelementptr i8, ptr {table}, i64 {byte}")

    def _surface(self, effect: MemoryMessage, size: int) -> Bounds:
        if effect.surface is None:
            raise TypeError("a surface message without a surface")
        reads = isinstance(effect, Load | LoadBlock) or _only_reads(effect)
        number = self.bindings.number(effect.surface)
        if number is not None:
            return self.unit.surfaces.bounds(number, size, reads=reads)
        return surface_bounds(self.text, self.entry(effect.surface), size, reads=reads)


class SurfaceWriter:
    """Writes once, where the function starts, what stays while it runs.

    That are the bounds of surfaces with known numbers, and where shared local memory is: LLVM does
    not know that stores leave it where it is, and would add it to each address again.
    """

    def __init__(self) -> None:
        self.text = Text(hint="s")
        self._known: dict[tuple[int, int, bool], Bounds] = {}

    @cached_property
    def shared_memory(self) -> str:
        """Where the host has shared local memory, as i64."""
        place = self.text.let(f"getelementptr i64, ptr %ctx, i64 {int(Context.SLM)}")
        return self.text.let(f"load i64, ptr {place}, align 8")

    def bounds(self, number: int, size: int, *, reads: bool) -> Bounds:
        """Return the bounds of messages to a surface of which each lane reaches `size` bytes."""
        key = number, size, reads
        if key not in self._known:
            place = self.text.let(f"getelementptr i64, ptr %ctx, i64 {int(Context.SURFACES)}")
            table = self.text.let(f"load ptr, ptr {place}, align 8")
            entry = self.text.at(table, min(number, BINDING_TABLE_SIZE) * SURFACE_ENTRY)
            self._known[key] = surface_bounds(self.text, entry, size, reads=reads)
        return self._known[key]


def surface_bounds(text: Text, entry: str, size: int, *, reads: bool) -> Bounds:
    """Return the bounds of a surface that is at `entry` of the binding table."""
    base = text.let(f"load i64, ptr {entry}, align 8")
    place = text.at(entry, 8 if reads else 16)
    return Bounds("0", _room(text, text.let(f"load i64, ptr {place}, align 8"), size), base)


def _room(text: Text, size: str, wanted: int) -> str:
    """Return how many offsets hold `wanted` bytes in memory of `size` bytes."""
    rest = text.let(f"sub i64 {size}, {wanted - 1}")
    some = text.let(f"icmp sgt i64 {rest}, 0")
    return text.let(f"select i1 {some}, i64 {rest}, i64 0")


def _only_reads(effect: MemoryMessage) -> bool:
    return isinstance(effect, Atomic) and effect.operation.value == "load"
