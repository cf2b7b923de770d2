"""Where messages may go: each space's first address, its limit, where the host has it."""

from __future__ import annotations

from visim.engine.jit.analysis.bindings import Bindings
from visim.engine.jit.analysis.blocks import MemoryMessage
from visim.engine.jit.layout import CACHE_ENTRY, SLM_MARGIN, SURFACE_ENTRY, Context
from visim.engine.jit.writing.bounds import Bounds, limit_for, surface_bounds
from visim.engine.jit.writing.functions import FunctionFrame
from visim.engine.jit.writing.values import Values
from visim.machine.surfaces import BINDING_TABLE_SIZE
from visim.sem.effects import Atomic, Load, LoadBlock, Space
from visim.sem.expr import Expr


class BoundsWriter:
    """Writes where the messages of one instruction may go."""

    def __init__(self, unit: FunctionFrame, values: Values, bindings: Bindings) -> None:
        self.unit = unit
        self.text = unit.text
        self.values = values
        self.bindings = bindings

    def of(self, effect: MemoryMessage, site: int, size: int) -> Bounds:
        """Return the bounds of message number `site`, of which each lane reaches `size` bytes."""
        unit = self.unit
        match effect.space:
            case Space.FLAT | Space.SHADOW:
                return self._flat(site)
            case Space.SLM if effect.within is not None and effect.within.extent is not None:
                reads, extent = _reads(effect), effect.within.extent
                return unit.surfaces.extent(extent, size, unit.slm_bytes, reads=reads)
            case Space.SLM:
                limit = max(0, unit.slm_bytes - size + 1)
                memory = unit.surfaces.shared_memory
                return Bounds("0", str(limit), memory, SLM_MARGIN, end=limit)
            case Space.SCRATCH:
                return unit.surfaces.scratch(size)
            case Space.ARGUMENT:
                room = limit_for(self.text, unit.context(Context.ARGUMENT_BYTES), size)
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
        caches = self.unit.surfaces.caches
        return self.text.let(f"getelementptr i8, ptr {caches}, i64 {site * CACHE_ENTRY}")

    # Surfaces

    def surface(self, effect: MemoryMessage) -> str:
        """Return the number of a message's surface as i64, if it has one."""
        if effect.surface is None:
            return "0"
        return self.text.let(f"zext i32 {self.values.scalar(effect.surface)} to i64")

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
        reads = _reads(effect)
        number = self.bindings.number(effect.surface)
        self.unit.module.sites.reach(number)
        if number is not None:
            return self.unit.surfaces.bounds(number, size, reads=reads)
        return surface_bounds(self.text, self.entry(effect.surface), size, reads=reads)


def extent_of(effect: MemoryMessage) -> int:
    """Return where the extent is in which a message in flat memory has to stay; 0: anywhere."""
    within = effect.within if effect.space is Space.FLAT else None
    return 0 if within is None or within.extent is None else within.extent


def _reads(effect: MemoryMessage) -> bool:
    """Whether a message only reads."""
    if isinstance(effect, Atomic):
        return effect.operation.value == "load"
    return isinstance(effect, Load | LoadBlock)
