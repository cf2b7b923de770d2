"""Loads of a channel that runs a loop alone: where they are, and whether they may go there.

Addresses that are a number plus what all channels share are checked by what has been found out in
front of the loop; where the number grows by the same in each turn, nothing is checked in turns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar

from visim.engine.jit.analysis.apart import Region
from visim.engine.jit.analysis.counters import Multiple, MultipleReader
from visim.engine.jit.analysis.flow import Node
from visim.engine.jit.analysis.slots import Row, row_of
from visim.engine.jit.ir.places import is_repeated
from visim.engine.jit.ir.text import opaque, scalar_bytes, scalar_type
from visim.engine.jit.writing.bounds import Bounds
from visim.engine.jit.writing.cuts import Cutter, place_row
from visim.engine.jit.writing.frame import UnitFrame
from visim.engine.jit.writing.reach import BoundsWriter
from visim.engine.jit.writing.spans import SpanWriter, TurnWriter
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
    """An address: what varies, as an i64, and what all channels share."""

    varying: str
    common: Place
    multiple: Multiple | None


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
        self._terms: dict[Row, str] = {}
        self._spans = SpanWriter(self.text, hoist.combined)
        self._in_range = TurnWriter(self.text, hoist.combined)
        self._multiples = MultipleReader(region)

    def begin(self, node: Node) -> None:
        """Begin a block."""
        self._sums.clear()
        self._terms.clear()
        self._spans.begin()
        self._multiples.begin(node)

    # Addresses

    def note(self, cutter: Cutter, write: WriteRegister, mask: str | None) -> None:
        """Note that a row is written: it may be a sum of 64 bits with what all channels share."""
        row, value = place_row(write.place), write.value
        self._sums.pop(row, None)
        if mask is None and value.uop.name == "add" and value.type.bits == 64:
            for one, other in (value.args, value.args[::-1]):
                if other.uop.name == "read" and is_repeated(other.attribute):
                    place: Place = other.attribute
                    if place.variable.index not in self._changing:
                        multiple = self._multiples.multiple(one)
                        self._sums[row] = _Sum(self._term(cutter, one), place, multiple)
        self._multiples.note(write)

    def forget(self, row: Row) -> None:
        """Note that an instruction is done that has written a row."""
        self._terms.pop(row, None)

    def _term(self, cutter: Cutter, value: Expr) -> str:
        """Return what varies in a sum, as i64; a row has one name as long as nobody writes it."""
        row = row_of(value.attribute) if value.uop.name == "read" else None
        if row is None:
            return self._first(cutter.value(value), 64)
        if row not in self._terms:
            self._terms[row] = self._first(cutter.value(value), 64)
        return self._terms[row]

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

        There is no test where one before has looked. Channels that are off load what comes first.
        """
        text, bits = self.text, addresses.type.bits
        row = row_of(addresses.attribute) if addresses.uop.name == "read" else None
        if row is not None and row in self._sums:
            found = self._sums[row]
            base = self._hoist.hoisted(partial(self._distance, found.common, bounds))
            if mask is None:
                return self._checked(found, base, bounds)
            offset = text.let(f"add i64 {found.varying}, {base}")
        else:
            address = self._first(cutter.value(addresses), bits)
            if bits < 64:
                address = text.let(f"zext i{bits} {address} to i64")
            offset = text.let(f"sub i64 {address}, {bounds.start}")
        if mask is not None:
            on = text.let(f"extractelement <1 x i1> {mask}, i64 0")
            offset = text.let(f"select i1 {on}, i64 {offset}, i64 0")
        fits = text.let(f"icmp ult i64 {offset}, {bounds.limit}")
        return text.let(f"add i64 {offset}, {bounds.host}"), fits

    def _checked(self, found: _Sum, base: str, bounds: Bounds) -> tuple[str, str | None]:
        """Return where a sum is, and the test whether it is in range."""
        if found.multiple is None:
            return self._spans.place(found.varying, base, bounds)
        self._in_range.add(found.multiple, base, bounds.limit)
        there = self._hoist.hoisted(partial(self._host, base, bounds))
        return self.text.let(f"add i64 {found.varying}, {there}"), None

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
        """Write, in front of the first channel, which numbers are in range."""
        self._spans.write()
        self._in_range.write()

    def turns(self, most: str, row: Callable[[Row], str]) -> str:
        """Return how many turns of a channel are in range, at most `most`.

        `row` returns its element of a row.
        """
        return self._in_range.turns(most, row, self._multiples.steps)
