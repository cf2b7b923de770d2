"""Rows that grow by the same number in each turn of a loop, and multiples of them.

Where a channel that runs a loop alone loads `value[i]` and adds one to `i`, it follows from where
it begins how many turns are in range.
"""

from __future__ import annotations

from dataclasses import dataclass

from visim.engine.jit.analysis.apart import Region
from visim.engine.jit.analysis.flow import Node
from visim.engine.jit.analysis.lanes import Row, channel_of, row_of
from visim.sem.effects import WriteRegister
from visim.sem.expr import Expr, known_integer

_WIDE = 64
_MOST_SHIFT = 31


@dataclass(frozen=True, slots=True)
class Multiple:
    """A number of 64 bits: a counter, extended from `bits` bits, shifted to the left."""

    counter: Row
    bits: int
    signed: bool
    shift: int = 0


def counters(region: Region) -> dict[Row, int]:
    """Return the rows to which every turn adds a positive number once, and that number."""
    writes: dict[Row, list[tuple[Node, WriteRegister]]] = {}
    for node, _, step in region.steps():
        for effect in step.effects:
            row = row_of(effect.place) if isinstance(effect, WriteRegister) else None
            if row is not None and isinstance(effect, WriteRegister):
                writes.setdefault(region.whole(row), []).append((node, effect))
    found = {
        row: _increase(row, some[0][1])
        for row, some in writes.items()
        if len(some) == 1 and some[0][0].key in region.steady
    }
    return {row: step for row, step in found.items() if step}


def _increase(row: Row, write: WriteRegister) -> int:
    """Return what a write adds to a row for all channels that are active; 0: something else."""
    value = write.value
    if write.mask is not None and channel_of(write.mask) is None:
        return 0
    if value.uop.name != "add" or value.type.is_float or value.type.bits != 8 * row.size:
        return 0
    for one, other in (value.args, value.args[::-1]):
        if one.uop.name == "read" and row_of(one.attribute) == row:
            return _number(other) or 0
    return 0


def _number(expr: Expr) -> int | None:
    """Return a number that is the same for all lanes, known and not negative."""
    found = known_integer(expr)
    return None if found is None or found >> expr.type.bits - 1 else found


class MultipleReader:
    """Follows, through the first block of a turn, which rows are multiples of counters."""

    def __init__(self, region: Region) -> None:
        self.steps = counters(region)
        self._region = region
        self._known: dict[Row, Multiple] = {}
        self._as_begun = set[Row]()

    def begin(self, node: Node) -> None:
        """Begin a block: in others than the first one nothing is known."""
        self._known.clear()
        self._as_begun = set(self.steps) if node is self._region.header else set[Row]()

    def multiple(self, expr: Expr) -> Multiple | None:
        """Return what an expression is a multiple of, if it is one."""
        kind = expr.type
        match expr.uop.name:
            case _ if kind.is_float:
                return None
            case "read":
                row = row_of(expr.attribute)
                if row is None or kind.bits != 8 * row.size:
                    return None
                if row in self._as_begun and kind.bits >= _WIDE // 2:
                    return Multiple(row, kind.bits, kind.is_signed)
                return self._known.get(row)
            case "convert" if kind.bits == _WIDE:
                return self.multiple(expr.args[0])
            case "shl" if kind.bits == _WIDE:
                found, shift = self.multiple(expr.args[0]), _number(expr.args[1])
                if found is None or shift is None or found.shift + shift > _MOST_SHIFT:
                    return None
                return Multiple(found.counter, found.bits, found.signed, found.shift + shift)
            case _:
                return None

    def note(self, write: WriteRegister) -> None:
        """Note a write."""
        row = row_of(write.place)
        if row is None:
            return
        found, plain = self.multiple(write.value), channel_of(write.mask) is not None
        whole = self._region.whole(row)
        self._known = {
            one: multiple
            for one, multiple in self._known.items()
            if self._region.whole(one) != whole
        }
        self._as_begun.discard(whole)
        if found is not None and (plain or write.mask is None) and write.value.type.bits == _WIDE:
            self._known[row] = found
