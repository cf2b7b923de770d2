"""Products of 64 bits that compilers make of words: indices times the size of a structure.

Devices without 64-bit products get `low = x * c` and `high = mulh(x, c)`, to which `c * (x >> 31)`
is added if x is signed; words are then put side by side, in as many moves as registers ask for. A
row of such numbers is x, extended, times c: a shape if x has one.

Words are followed through variables that one instruction writes, which reads see wherever it comes
first on every path. So values with the same symbol are equal, also where code repeats.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from visim.engine.jit.analysis.flow import Key
from visim.engine.jit.analysis.lanes import Row, channel_of, row_of
from visim.engine.jit.analysis.slots import Slot, Slots
from visim.sem.expr import Expr, known_integer
from visim.types import UD, UQ, D

_WORD = 4
_MODULUS = 1 << 32
_SIGN = 31
_DEEPEST = 12
"""So many variables are looked through."""
_MOST_TERMS = 16
"""Words with more summands are taken as they are: products have a few, sums of loops any number."""


class Term(NamedTuple):
    """A summand of words: a slot, a number (of 1), the signs or the high words of a sum.

    The high words are those of the sum's product with `factor`. Slots and sums are numbers: sums of
    high words have sums in them, and to compare all of these takes twice as long for each more.
    """

    name: str
    of: int = 0
    factor: int = 0


Terms = dict[Term, int]
_ONE = Term("one")


class Product(NamedTuple):
    """What a row of 64-bit numbers is: the words of an expression, extended, times a factor."""

    words: Expr
    factor: int
    is_signed: bool


@dataclass(frozen=True, slots=True)
class _Moment:
    """An instruction and the channel of lane 0 of what is read there."""

    key: Key
    step: int
    channel: int | None

    def behind(self, lanes: int) -> _Moment:
        channel = None if self.channel is None else self.channel + lanes
        return _Moment(self.key, self.step, channel)


class _Part(NamedTuple):
    """Lanes of a slot."""

    slot: Slot
    first: int
    lanes: int


@dataclass
class WideProducts:
    """Finds products among the rows of a unit."""

    slots: Slots
    _known: dict[int, Terms] = field(default_factory=dict[int, Terms])
    _sums: dict[tuple[tuple[Term, int], ...], int] = field(
        default_factory=dict[tuple[tuple[Term, int], ...], int]
    )
    _operands: dict[Term, tuple[Expr, Slot]] = field(default_factory=dict[Term, tuple[Expr, Slot]])

    def product(self, row: Row, key: Key, step: int, channel: int | None) -> Product | None:
        """Return what a row of 64-bit numbers is at an instruction, if it is a product."""
        if row.size != 2 * _WORD:
            return None
        now = _Moment(key, step, channel)
        words = [row._replace(offset=row.offset + at, size=_WORD) for at in (0, _WORD)]
        low, high = (self._whole(one, now, 0) for one in words)
        if low is None or high is None:
            return None
        lows, highs = self._terms_of(low, 0), self._terms_of(high, 0)
        for term, times in highs.items():
            if term.name != "high" or times != 1 or term not in self._operands:
                continue
            words_of, slot = self._operands[term]
            found = self._checked(term, lows, highs)
            place = row_of(words_of.attribute)
            if found and place and place.lanes == row.lanes and self._whole(place, now, 0) is slot:
                return found
        return None

    def _checked(self, term: Term, lows: Terms, highs: Terms) -> Product | None:
        """Return the product whose unsigned high word is a term, if both words are right."""
        rest = {one: times for one, times in highs.items() if one != term}
        words, slot = self._operands[term]
        base = self._terms_of(slot, 0)
        if lows != _scaled(base, term.factor):
            return None
        if not rest:
            return Product(words, term.factor, is_signed=False)
        is_signed = rest == {Term("sign", term.of): term.factor}
        return Product(words, term.factor, is_signed=True) if is_signed else None

    # Variables

    def _whole(self, row: Row, now: _Moment, depth: int) -> Slot | None:
        """Return the slot whose lanes a row has, all of them, behind copies."""
        parts = self._parts(row, now, depth)
        if parts is None or len(parts) > 1:
            return None
        slot, first, lanes = parts[0]
        return slot if not first and lanes == slot.row.lanes == row.lanes else None

    def _parts(self, row: Row, now: _Moment, depth: int) -> list[_Part] | None:
        """Return which lanes a row has, of one slot after the other."""
        found, done = list[_Part](), 0
        while done < row.lanes:
            rest = row._replace(offset=row.offset + done * row.stride, lanes=row.lanes - done)
            one = self._beginning(rest, now.behind(done))
            if one is None:
                return None
            for part in self._copied(one, depth):
                before = found[-1] if found else None
                if (
                    before
                    and before.slot is part.slot
                    and before.first + before.lanes == part.first
                ):
                    found[-1] = before._replace(lanes=before.lanes + part.lanes)
                else:
                    found.append(part)
            done += one.lanes
        return found

    def _beginning(self, row: Row, now: _Moment) -> _Part | None:
        """Return the lanes of a slot that a row begins with."""
        for slot in self.slots.seen(row.variable, now.key, now.step):
            distance = row.offset - slot.row.offset
            alike = (slot.row.stride, slot.row.size) == (row.stride, row.size)
            if not alike or distance < 0 or distance % row.stride or slot.row.end <= row.offset:
                continue
            if slot.torn or len(slot.definitions) != 1:
                continue
            first = distance // row.stride
            lanes = min(row.lanes, slot.row.lanes - first)
            part = row._replace(lanes=lanes)
            if self.slots.holds(slot, part, now.key, now.step, now.channel):
                return _Part(slot, first, lanes)
        return None

    def _copied(self, part: _Part, depth: int) -> list[_Part]:
        """Return which lanes those of a slot are copies of, else these."""
        one = part.slot.definitions[0]
        if one.key is None or one.write is None or depth == _DEEPEST:
            return [part]
        value = _plain(one.write.value)
        row = row_of(value.attribute) if value.uop.name == "read" else None
        if row is None or row.size != _WORD:
            return [part]
        some = row._replace(offset=row.offset + part.first * row.stride, lanes=part.lanes)
        now = _Moment(one.key, one.step, channel_of(one.write.mask)).behind(part.first)
        return self._parts(some, now, depth + 1) or [part]

    # Terms

    def _terms_of(self, slot: Slot, depth: int) -> Terms:
        """Return what the words of a slot are a sum of, modulo 2**32."""
        found = self._known.get(slot.number)
        if found is None:
            one = slot.definitions[0]
            terms: Terms | None = None
            if one.key is not None and one.write is not None and depth < _DEEPEST:
                now = _Moment(one.key, one.step, channel_of(one.write.mask))
                terms = self._terms(one.write.value, now, depth + 1)
            if terms is None or len(terms) > _MOST_TERMS:
                terms = {Term("slot", slot.number): 1}
            found = terms
            self._known[slot.number] = found
        return found

    def _terms(self, value: Expr, now: _Moment, depth: int) -> Terms | None:
        """Return what words are a sum of, modulo 2**32; None: nothing is known."""
        expr, number = _plain(value), known_integer(value)
        if number is not None:
            return _scaled({_ONE: 1}, number)
        if expr.type not in {D, UD}:
            return self._high(expr, now, depth)
        match expr.uop.name:
            case "read":
                row = row_of(expr.attribute)
                slot = self._whole(row, now, depth) if row else None
                return None if slot is None else self._terms_of(slot, depth)
            case "add":
                a, b = (self._terms(arg, now, depth) for arg in expr.args)
                return None if a is None or b is None else _sum(a, b)
            case "mul":
                return self._times(expr, now, depth)
            case "shr" if expr.type == D and known_integer(expr.args[1]) == _SIGN:
                a = self._terms(expr.args[0], now, depth)
                return None if a is None else {Term("sign", self._sum_of(a)): 1}
            case _:
                return None

    def _times(self, expr: Expr, now: _Moment, depth: int) -> Terms | None:
        for value, factor in (expr.args, expr.args[::-1]):
            number = known_integer(factor)
            if number is not None:
                found = self._terms(value, now, depth)
                return None if found is None else _scaled(found, number)
        return None

    def _sum_of(self, terms: Terms) -> int:
        """Return the number of a sum."""
        return self._sums.setdefault(tuple(sorted(terms.items())), len(self._sums))

    def _high(self, expr: Expr, now: _Moment, depth: int) -> Terms | None:
        """Return the high words of unsigned products as a term."""
        if expr.uop.name != "shr" or expr.type != UQ or known_integer(expr.args[1]) != _WORD * 8:
            return None
        product = expr.args[0]
        if product.uop.name != "mul" or product.type != UQ:
            return None
        for wide, factor in (product.args, product.args[::-1]):
            number = known_integer(factor)
            words = wide.args[0] if wide.uop.name == "convert" else None
            if number is None or words is None or words.type != UD or words.uop.name != "read":
                continue
            row = row_of(words.attribute)
            slot = self._whole(row, now, depth) if row else None
            if slot is not None and number < _MODULUS:
                term = Term("high", self._sum_of(self._terms_of(slot, depth)), number)
                self._operands[term] = words, slot
                return {term: 1}
        return None


def _plain(expr: Expr) -> Expr:
    """Return words without what only changes their sign, or takes the low ones of two."""
    while expr.uop.name in {"convert", "bitcast"} and expr.type in {D, UD}:
        source = expr.args[0]
        if source.type in {D, UD} or (source.type == UQ and source.uop.name == "shr"):
            expr = source
        else:
            break
    return expr


def _scaled(terms: Mapping[Term, int], factor: int) -> Terms:
    return _sum({}, {term: times * factor for term, times in terms.items()})


def _sum(a: Terms, b: Terms) -> Terms:
    found = {term: (a.get(term, 0) + b.get(term, 0)) % _MODULUS for term in {**a, **b}}
    return {term: times for term, times in found.items() if times}
