"""Conditions in registers: which channels of a row hold a number other than zero, as a mask.

Intel's compiler keeps conditions as numbers (`cmp` into a register gives 0 or -1), joins them by
selection and compares what comes out with zero. Where such conditions begin with comparisons of
shapes, whose masks are arithmetic on scalars (`relations`), so are the masks of all that is made of
them: no vector is compared, joined or taken apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from visim.engine.jit.analysis.lanes import Row, channel_of, channel_within, row_of
from visim.engine.jit.analysis.settings import Part, overlaps
from visim.engine.jit.analysis.slots import is_integer
from visim.engine.jit.ir.places import place_span
from visim.engine.jit.ir.text import Text, low_bits
from visim.sem.effects import Place, RegisterWrite, WritePredicate, WriteRegister
from visim.sem.expr import Expr
from visim.types import BOOL

Bits = tuple[str, int | None]
"""A name of the low bits of an i64, and the channel of lane 0; None: the bits hold for all lanes.

Bits of channels that are off may be any.
"""

Compare = Callable[[Expr, Expr | None], str | None]
"""Returns the bits of a comparison of shapes for the lanes of a mask."""


@dataclass
class Truths:
    """What is known of conditions in code that runs with the same channels."""

    rows: dict[Row, Bits] = field(default_factory=dict[Row, Bits])
    predicates: dict[Part, Bits] = field(default_factory=dict[Part, Bits])

    def note(self, write: RegisterWrite, bits: str | None) -> None:
        """Note what an instruction has written; `bits` are those of its value, if scalars tell."""
        if not isinstance(write, WriteRegister | WritePredicate):
            self.rows.clear()
            return
        channel = channel_of(write.mask)
        known = bits is not None and (write.mask is None or channel is not None)
        if isinstance(write, WritePredicate):
            part = write.variable.name, write.offset, write.value.lanes
            for other in [one for one in self.predicates if overlaps(one, *part)]:
                del self.predicates[other]
            if bits is not None and known:
                self.predicates[part] = bits, channel
            return
        self._forget(write.place)
        row = row_of(write.place)
        if bits is not None and known and row is not None:
            self.rows[row] = bits, channel

    def _forget(self, place: Place) -> None:
        """Know nothing of registers that are written."""
        low, high = place_span(place)
        for row in list(self.rows):
            if row.variable == place.variable.index and low < row.end and row.offset < high:
                del self.rows[row]


class TruthReader:
    """Finds the bits of one instruction's expressions, writing code for them.

    Numbers are known only where all but zero have a low byte other than zero: negation and
    conversions between integers then keep which of them are zero.

    Args:
        text: the function that is written.
        truths: what is known.
        mask: the instruction's mask.
        compare: what compares shapes.
    """

    def __init__(self, text: Text, truths: Truths, mask: Expr | None, compare: Compare) -> None:
        self._text = text
        self._truths = truths
        self._mask = mask
        self._compare = compare

    def bits(self, expr: Expr) -> str | None:
        """Return in which lanes a boolean holds or an integer is not zero, if scalars tell."""
        if expr.type is not BOOL and not is_integer(expr.type):
            return None
        match expr.uop.name:
            case "constant":
                return self._constant(int(expr.attribute), expr.lanes)
            case "read":
                row = row_of(expr.attribute)
                return None if row is None else self._known(self._truths.rows.get(row))
            case "predicate":
                variable, offset = expr.attribute
                key = variable.name, offset, expr.lanes
                return self._known(self._truths.predicates.get(key))
            case "neg" | "convert":
                return self.bits(expr.args[0])
            case "not" if expr.type is BOOL:
                return self._flipped(expr.args[0])
            case "select":
                return self._selection(expr)
            case "eq" | "ne" | "lt" | "le":
                return self._compare(expr, self._mask) or self._against_zero(expr)
            case _:
                return None

    def _known(self, found: Bits | None) -> str | None:
        if found is None:
            return None
        bits, channel = found
        return bits if channel is None or channel == channel_within(self._mask) else None

    @staticmethod
    def _constant(number: int, lanes: int) -> str | None:
        if not number:
            return "0"
        return str(low_bits(lanes)) if number & 255 else None

    def _flipped(self, expr: Expr) -> str | None:
        found = self.bits(expr)
        return found and self._text.let(f"xor i64 {found}, {low_bits(expr.lanes)}")

    def _selection(self, expr: Expr) -> str | None:
        chosen = self.bits(expr.args[0])
        if chosen is None:
            return None
        yes, no = (self.bits(arg) for arg in expr.args[1:])
        if yes is None or no is None:
            return None
        differ = self._text.let(f"xor i64 {yes}, {no}")
        return self._text.let(f"xor i64 {self._text.let(f'and i64 {differ}, {chosen}')}, {no}")

    def _against_zero(self, expr: Expr) -> str | None:
        """Return the bits of a number that is compared with zero."""
        a, b = expr.args
        if _is_zero(a):
            a, b = b, a
        if expr.uop.name not in {"eq", "ne"} or not _is_zero(b):
            return None
        return self.bits(a) if expr.uop.name == "ne" else self._flipped(a)


def _is_zero(expr: Expr) -> bool:
    while expr.uop.name in {"convert", "broadcast"} and is_integer(expr.type):
        expr = expr.args[0]
    return expr.uop.name == "constant" and is_integer(expr.type) and not expr.attribute
