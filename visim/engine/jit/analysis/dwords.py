"""Numbers of 64 bits that compilers compute by their dwords, computed as what they are again.

Intel's compiler writes bitwise operations, selections and products of 64 bits for the low and for
the high dword apart, between moves that take a number to pieces and put one together. Where two
dwords are put together of which one is the low and the other the high half of what can be computed
of 64-bit elements, and these still have what the dwords are made of, that is computed at once. LLVM
drops the dwords if nobody else reads them. Comparisons of both dwords become one of the number.
What is known of a block holds in the next one, too, if control comes there from nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import is_
from typing import NamedTuple

from visim.engine.jit.analysis.dwordfacts import DWORD, DwordFacts, Effects, Elements
from visim.engine.jit.analysis.lanes import channel_of, channel_within, row_of
from visim.engine.jit.analysis.terms import Symbol
from visim.engine.jit.ir.places import layout, place_span
from visim.sem.effects import Effect, Place, WritePredicate, WriteRegister, expressions
from visim.sem.expr import Expr, node
from visim.types import BOOL, UD, UQ, D, DataType, Q


class _Whole(NamedTuple):
    """What writes 64-bit elements, and their dwords."""

    write: WriteRegister
    low: Symbol
    high: Symbol


class _Pending(NamedTuple):
    """What writes a dword of each element, until the other dwords are written, or this one read."""

    number: int
    effect: WriteRegister
    symbol: Symbol
    channel: int | None


class _Compared(NamedTuple):
    """What bits of a predicate say of dwords: a relation of two, and `then` another one, too."""

    name: str
    kind: DataType
    dwords: tuple[Symbol, Symbol]
    then: _Compared | None = None


class _Bits(NamedTuple):
    """Bits of a predicate that compare dwords, as long as it has a version."""

    compared: _Compared
    channel: int | None
    version: int


@dataclass
class Dwords:
    """Puts together what the instructions of blocks do to dwords.

    `facts` says what dwords are made of, `_halves` which of them stand in elements that were
    written as wholes, with the version of these, `_compared` which bits of predicates compare them.
    """

    facts: DwordFacts
    _halves: dict[tuple[Symbol, int | None], tuple[Elements, int]] = field(
        default_factory=dict[tuple[Symbol, "int | None"], tuple[Elements, int]]
    )
    _compared: dict[tuple[str, int, int], _Bits] = field(
        default_factory=dict[tuple[str, int, int], _Bits]
    )
    _pending: list[_Pending] = field(default_factory=list[_Pending])

    def with_numbers_whole(self, instructions: Sequence[Effects]) -> list[Effects]:
        """Return what the instructions of a block do, where one of two dwords writes both.

        Args:
            instructions: what each of them does.
        """
        found = list(instructions)
        self._pending.clear()
        for number in range(len(found)):
            effects = found[number] = self._of_numbers(found[number])
            if len(effects) == 1 and _is_dword_of_many(effects[0]):
                self._join(found, number, effects[0])
            self._note(number, found[number])
        return found

    def _join(self, found: list[Effects], number: int, effect: Effect) -> None:
        """Write elements at once where an instruction writes one of their dwords, if it can be."""
        second = next((at for at in range(number + 1, len(found)) if found[at]), None)
        if second is not None and len(found[second]) == 1:
            whole = self._whole(effect, found[second][0])
            if whole is not None:
                found[number], found[second] = (self._stood(whole),), ()
                return
        for first in self._pending:
            whole = self._whole(first.effect, effect, first.symbol)
            if whole is None or any(
                _overlap(one, first.effect.place) for one in _reads(whole.write)
            ):
                continue
            found[first.number], found[number] = (), (self._stood(whole),)
            return

    # Two dwords

    def _whole(self, first: Effect, second: Effect, symbol: Symbol | None = None) -> _Whole | None:
        """Return what writes the 64-bit elements of which two instructions write the dwords.

        The first one's are what it writes now, or the `symbol`, which has been written.
        """
        if not isinstance(first, WriteRegister) or not isinstance(second, WriteRegister):
            return None
        channel = channel_of(first.mask)
        if first.mask is not None and channel is None:
            return None
        same = (first.mask is None) == (second.mask is None) and channel == channel_of(second.mask)
        low, high = sorted((first, second), key=lambda one: one.place.offset)
        place = self._whole_place(low.place)
        if not same or place is None or not _is_behind(low.place, high.place):
            return None
        if any(_overlap(read, first.place) for read in _reads(second)):
            return None
        one, other = (
            symbol
            if symbol is not None and each is first
            else self.facts.symbol(each.value, channel)
            for each in (low, high)
        )
        value = self.facts.number(one, other, place.lanes, channel)
        if value is None or one is None or other is None:
            return None
        return _Whole(WriteRegister(place, value, first.mask), one, other)

    def _stood(self, whole: _Whole) -> WriteRegister:
        """Note where the dwords of elements will stand that are written at once."""
        place, channel = whole.write.place, channel_of(whole.write.mask)
        elements, version = self.facts.stand(whole.low, whole.high, channel, place)
        for dword, away in ((whole.low, 0), (whole.high, DWORD)):
            if self.facts.symbols.parts(dword)[0] in _COMPUTED:
                half = elements._replace(offset=elements.offset + away)
                self._halves[dword, channel] = half, version
        return whole.write

    def _whole_place(self, low: Place) -> Place | None:
        """Return the elements of which a place has the low dwords; None if nobody follows them."""
        place = Place(low.variable, low.offset, UQ, low.lanes, low.lanes, 0, UQ.bytes)
        return place if not low.offset % UQ.bytes and self.facts.is_followed(place) else None

    # Dwords of numbers that are put together

    def _of_numbers(self, effects: Effects) -> Effects:
        """Return effects that compare numbers as wholes, and read dwords where they are together.

        Then nobody needs what computed them apart.
        """
        if len(effects) == 1 and isinstance(effects[0], WritePredicate):
            effects = (self._comparing(effects[0]),)
        if not self._halves or not all(map(_is_write, effects)):
            return effects
        return tuple(self._of_wholes(effect) for effect in effects)

    def _comparing(self, write: WritePredicate) -> WritePredicate:
        """Return what compares numbers at once whose dwords have been compared, if it is so."""
        value, channel = write.value, channel_of(write.mask)
        for one, other in self._comparisons(write):
            found = _of_numbers(value.uop.name, one, other)
            if found is None:
                continue
            name, kind, pairs = found
            numbers = [self.facts.number(*pair, value.lanes, channel) for pair in pairs]
            known = [number.to(kind) for number in numbers if number is not None]
            if len(known) == len(numbers) and not all(map(_is_constant, known)):
                return replace(write, value=node(name, BOOL, *known))
        return write

    def _comparisons(self, write: WritePredicate) -> list[tuple[_Compared, _Compared]]:
        """Return the comparisons of which a predicate says whether both hold, or one of them."""
        value, channel = write.value, channel_of(write.mask)
        if value.uop.name not in {"and", "or"} or (write.mask is not None and channel is None):
            return []
        one, other = (self._comparison(arg, channel) for arg in value.args)
        return [] if one is None or other is None else [(one, other), (other, one)]

    def _comparison(self, bits: Expr, channel: int | None) -> _Compared | None:
        """Return what a predicate says of dwords if it has been written in the same channels."""
        if bits.uop.name != "predicate":
            return None
        variable, offset = bits.attribute
        found = self._compared.get((variable.name, offset, bits.lanes))
        if found is None or found.channel not in {None, channel}:
            return None
        return found.compared if self.facts.is_now(variable.name, found.version) else None

    def _of_wholes(self, effect: Effect) -> Effect:
        if not isinstance(effect, WriteRegister | WritePredicate):
            return effect
        value = self._moved(effect.value, channel_within(effect.mask), {})
        return effect if value is effect.value else replace(effect, value=value)

    def _moved(self, expr: Expr, channel: int | None, known: dict[Expr, Expr]) -> Expr:
        """Return an expression with other places of the same dwords."""
        found = known.get(expr)
        if found is not None:
            return found
        if expr.uop.name == "read":
            found = self._read_elsewhere(expr, channel)
        else:
            args = tuple(self._moved(arg, channel, known) for arg in expr.args)
            same = all(map(is_, args, expr.args))
            found = expr if same else replace(expr, args=args)
        known[expr] = found
        return found

    def _read_elsewhere(self, expr: Expr, channel: int | None) -> Expr:
        if expr.type not in {D, UD} or row_of(expr.attribute) is None:
            return expr
        symbol = self.facts.of_place(expr.attribute, channel)
        if symbol is None:
            return expr
        half = self._halves.get((symbol, channel)) or self._halves.get((symbol, None))
        if half is None or not self.facts.is_now(half[0].variable, half[1]):
            return expr
        return self.facts.read(half[0], expr.type) if half[0].lanes == expr.lanes else expr

    # What instructions write

    def _note(self, number: int, effects: Effects) -> None:
        """Note what the instruction at a place of a block writes."""
        compared = [self._says(effect) for effect in effects]
        self._forget_pending(effects)
        pending = self._waits(number, effects)
        self.facts.note(effects)
        for effect, said in zip(effects, compared, strict=True):
            if isinstance(effect, WritePredicate) and said is not None:
                self._note_compared(effect, said)
        if pending is not None:
            self._pending.append(pending)

    def _waits(self, number: int, effects: Effects) -> _Pending | None:
        """Return what an instruction does if it writes a dword of which it is known what it is."""
        if len(effects) != 1 or not isinstance(effects[0], WriteRegister):
            return None
        write, channel = effects[0], channel_of(effects[0].mask)
        symbol = self.facts.symbol(write.value, channel) if _is_dword_of_many(write) else None
        return None if symbol is None else _Pending(number, write, symbol, channel)

    def _forget_pending(self, effects: Effects) -> None:
        """Forget dwords whose elements cannot be written later than they were."""
        if not self._pending or not effects:
            return
        if not all(map(_is_write, effects)) or any(map(_is_distant, expressions(effects))):
            self._pending.clear()
            return
        touched = [place for effect in effects for place in _reads(effect)]
        touched += [effect.place for effect in effects if isinstance(effect, WriteRegister)]
        self._pending = [
            one
            for one in self._pending
            if not any(_overlap(one.effect.place, place) for place in touched)
        ]

    def _says(self, effect: Effect) -> _Compared | None:
        """Return what a predicate that is written says of dwords."""
        if not isinstance(effect, WritePredicate):
            return None
        value = effect.value
        if value.uop.name in _RELATIONS:
            one, other = (self.facts.symbol(arg, channel_of(effect.mask)) for arg in value.args)
            if one is None or other is None:
                return None
            return _Compared(value.uop.name, value.args[0].type, (one, other))
        for high, low in self._comparisons(effect):
            if (value.uop.name, high.name, high.then, low.then) == ("and", "eq", None, None):
                return high._replace(then=low)
        return None

    def _note_compared(self, write: WritePredicate, compared: _Compared) -> None:
        name, channel = write.variable.name, channel_of(write.mask)
        if write.mask is None or channel is not None:
            key = name, write.offset, write.value.lanes
            self._compared[key] = _Bits(compared, channel, self.facts.version(name))


_BOTH = {"and": "eq", "or": "ne"}
"""How comparisons of both dwords are put together to one of numbers."""

_RELATIONS = {"eq", "ne", "lt", "le"}

_COMPUTED = {"mul", "sum", "not", "select", "and", "or", "xor"}


def _of_numbers(
    word: str, low: _Compared, high: _Compared
) -> tuple[str, DataType, list[tuple[Symbol, Symbol]]] | None:
    """Return the relation of numbers, their type and dwords, if comparisons of dwords say it.

    A number is less than another one if its high dword is less, or if these are equal and its low
    dword is less; the low ones have no signs.
    """
    if high.then is None and low.then is None and low.name == high.name == _BOTH[word]:
        return low.name, UQ, list(zip(low.dwords, high.dwords, strict=True))
    then, kinds = low.then, {UD: UQ, D: Q}
    if word != "or" or then is None or (high.name, high.then) != ("lt", None):
        return None
    if then.kind != UD or then.name not in {"lt", "le"} or high.kind not in kinds:
        return None
    if frozenset(low.dwords) != frozenset(high.dwords):
        return None
    return then.name, kinds[high.kind], list(zip(then.dwords, high.dwords, strict=True))


def _is_write(effect: Effect) -> bool:
    """Whether an effect writes what is not loaded."""
    if not isinstance(effect, WriteRegister | WritePredicate):
        return False
    return not any(expr.uop.name == "loaded" for expr in expressions((effect,)))


def _is_distant(expr: Expr) -> bool:
    """Whether registers are read by an address, or those of another thread."""
    return expr.uop.name in {"gather", "fused"}


def _is_constant(expr: Expr) -> bool:
    return expr.uop.name == "constant"


def _is_dword_of_many(effect: Effect) -> bool:
    """Whether an effect writes a dword of each 64-bit element."""
    if not isinstance(effect, WriteRegister) or effect.place.type.bytes != DWORD:
        return False
    return effect.place.lanes > 1 and layout(effect.place).step == UQ.bytes


def _is_behind(low: Place, high: Place) -> bool:
    """Whether both places have the dwords of the same elements."""
    same = (low.variable.index, low.lanes) == (high.variable.index, high.lanes)
    dwords = {low.type.bytes, high.type.bytes} == {DWORD}
    steps = {layout(low).step, layout(high).step} == {UQ.bytes}
    kinds = low.type in {D, UD} and high.type in {D, UD}
    return same and dwords and steps and kinds and high.offset == low.offset + DWORD


def _reads(effect: Effect) -> list[Place]:
    return [expr.attribute for expr in expressions((effect,)) if expr.uop.name == "read"]


def _overlap(one: Place, other: Place) -> bool:
    """Whether two places may have bytes in common."""
    (low, high), (first, end) = place_span(one), place_span(other)
    return one.variable.index == other.variable.index and low < end and first < high
