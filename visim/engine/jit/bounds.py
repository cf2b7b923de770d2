"""Where messages may go: each space's first address, its limit, where the host has it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from visim.engine.jit.layout import SURFACE_ENTRY, Context
from visim.engine.jit.text import Text
from visim.machine.surfaces import BINDING_TABLE_SIZE
from visim.sem.effects import Effect, WriteState
from visim.sem.expr import Expr

if TYPE_CHECKING:
    pass


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
    return Bounds("0", limit_for(text, text.let(f"load i64, ptr {place}, align 8"), size), base)


def limit_for(text: Text, size: str, wanted: int) -> str:
    """Return how many offsets hold `wanted` bytes in memory of `size` bytes."""
    rest = text.let(f"sub i64 {size}, {wanted - 1}")
    some = text.let(f"icmp sgt i64 {rest}, 0")
    return text.let(f"select i1 {some}, i64 {rest}, i64 0")
