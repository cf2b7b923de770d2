"""Loads of a channel that runs a loop alone: where they are, and whether they may go there.

Where an address is a number that grows by the same in each turn, plus what all channels share, it
is known in front of a channel's first turn how many are in range, and nothing is checked in turns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar

from visim.engine.jit.analysis.apart import Region
from visim.engine.jit.analysis.counters import Multiple, MultipleReader
from visim.engine.jit.analysis.flow import Node
from visim.engine.jit.analysis.lanes import Row, row_of
from visim.engine.jit.ir.places import is_repeated
from visim.engine.jit.ir.text import opaque, scalar_bytes, scalar_type
from visim.engine.jit.writing.bounds import Bounds
from visim.engine.jit.writing.cuts import Cutter, place_row
from visim.engine.jit.writing.frame import UnitFrame
from visim.engine.jit.writing.reach import BoundsWriter
from visim.engine.jit.writing.spans import TurnWriter
from visim.engine.jit.writing.values import Values
from visim.sem.effects import Load, Place, WriteRegister
from visim.sem.expr import Expr

_Found = TypeVar("_Found")


class _Hoisted(Protocol):
    def __call__(self, write: Callable[[], _Found]) -> _Found: ...


@dataclass(frozen=True, slots=True)
class Hoist:
    """What writes in front of the first channel.

    `hoisted` writes something there, `combined` gives what one of LLVM's functions of two numbers
    returns, `values` are those of a block.
    """

    hoisted: _Hoisted
    combined: Callable[[str, str, str], str]
    values: Callable[[Node], Values]


@dataclass(frozen=True, slots=True)
class _Sum:
    """An address: what varies, a multiple of a counter as an i64, and what all channels share."""

    varying: str
    common: Place
    multiple: Multiple


class LoneLoads:
    """Writes the loads of the channel that runs; those out of range go to the label `bail`."""

    def __init__(self, unit: UnitFrame, region: Region, hoist: Hoist, bail: str) -> None:
        self.unit = unit
        self.text = unit.text
        self._region = region
        self._hoist = hoist
        self._bail = bail
        self._changing = {place.variable.index for place in region.singles}
        self._sums: dict[Row, _Sum] = {}
        self._in_range = TurnWriter(self.text, hoist.combined)
        self._multiples = MultipleReader(region)

    def begin(self, node: Node) -> None:
        """Begin a block."""
        self._sums.clear()
        self._multiples.begin(node)

    # Addresses

    def note(self, cutter: Cutter, write: WriteRegister, mask: str | None) -> None:
        """Note that a row is written: it may be a multiple of a counter plus what all share."""
        row, value = place_row(write.place), write.value
        whole = self._region.whole(row)
        self._sums = {
            one: sum_ for one, sum_ in self._sums.items() if self._region.whole(one) != whole
        }
        if mask is None and value.uop.name == "add" and value.type.bits == 64:
            for one, other in (value.args, value.args[::-1]):
                multiple = self._multiples.multiple(one)
                if multiple is not None and self._is_common(other):
                    varying = self._first(cutter.value(one), 64)
                    self._sums[row] = _Sum(varying, other.attribute, multiple)
        self._multiples.note(write)

    def _is_common(self, expr: Expr) -> bool:
        """Whether all channels share a number that stays what it is in the loop."""
        if expr.uop.name != "read" or not is_repeated(expr.attribute):
            return False
        return expr.attribute.variable.index not in self._changing

    # Loads

    def load(self, node: Node, cutter: Cutter, load: Load) -> list[str]:
        """Load what the channel loads, or end the attempt."""
        text, bounds = self.text, self._hoist.hoisted(partial(self._bounds, node, load))
        place, fits = self._place(cutter, load.addresses, bounds, cutter.mask(load.mask))
        if fits is not None:
            inside = text.fresh("inside")
            text.likely(fits, inside, self._bail)
            text.label(inside)
        scalar = scalar_type(load.type)
        pointer = text.let(f"inttoptr i64 {place} to ptr")
        pointers = [
            text.at(pointer, part * scalar_bytes(scalar)) for part in range(load.components)
        ]
        return [text.let(f"load <1 x {scalar}>, ptr {one}, align 1") for one in pointers]

    def _bounds(self, node: Node, load: Load) -> Bounds:
        """Return where a load may go, as when all channels load."""
        size = load.components * scalar_bytes(scalar_type(load.type))
        site = self.unit.module.sites.number(load, self.unit.unit.number)
        bindings = self._region.bindings[id(load)]
        return BoundsWriter(self.unit, self._hoist.values(node), bindings).of(load, site, size)

    def _place(
        self, cutter: Cutter, addresses: Expr, bounds: Bounds, mask: str | None
    ) -> tuple[str, str | None]:
        """Return where a load is in the host's memory, and the test whether it may go there.

        Multiples of counters need none. Channels that are off load what comes first.
        """
        text, bits = self.text, addresses.type.bits
        row = row_of(addresses.attribute) if addresses.uop.name == "read" else None
        if mask is None and row is not None and row in self._sums:
            found = self._sums[row]
            base = self._hoist.hoisted(partial(self._distance, found.common, bounds))
            self._in_range.add(found.multiple, base, bounds.limit)
            there = self._hoist.hoisted(partial(self._host, base, bounds))
            return text.let(f"add i64 {found.varying}, {there}"), None
        address = self._first(cutter.value(addresses), bits)
        if bits < 64:
            address = text.let(f"zext i{bits} {address} to i64")
        offset = text.let(f"sub i64 {address}, {bounds.start}")
        if mask is not None:
            on = text.let(f"extractelement <1 x i1> {mask}, i64 0")
            offset = text.let(f"select i1 {on}, i64 {offset}, i64 0")
        fits = text.let(f"icmp ult i64 {offset}, {bounds.limit}")
        return text.let(f"add i64 {offset}, {bounds.host}"), fits

    def _host(self, base: str, bounds: Bounds) -> str:
        """Return what a number is added to: a name of the loop's own, for which is a register."""
        return self.text.let(opaque(self.text.let(f"add i64 {base}, {bounds.host}")))

    def _distance(self, place: Place, bounds: Bounds) -> str:
        one = self.unit.storage.read(replace(place, lanes=1, width=1))
        return self.text.let(f"sub i64 {self._first(one, 64)}, {bounds.start}")

    def _first(self, vector: str, bits: int) -> str:
        return self.text.let(f"extractelement <1 x i{bits}> {vector}, i64 0")

    # In front of the loop, and of a channel

    def write(self) -> None:
        """Write, in front of the first channel, which counters are in range."""
        self._in_range.write()

    def turns(self, most: str, row: Callable[[Row], str]) -> str:
        """Return how many turns of a channel are in range, at most `most`.

        `row` returns its element of a row.
        """
        return self._in_range.turns(most, row, self._multiples.steps)
