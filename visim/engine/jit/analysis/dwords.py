"""Numbers of 64 bits that compilers compute by their dwords, computed as what they are again.

Intel's compiler writes bitwise operations, selections and products of 64 bits for the low and for
the high dword apart, between moves that take a number to pieces and put one together. Where two
dwords are put together of which one is the low and the other the high half of what can be computed
of 64-bit elements, and these still have what the dwords are made of, that is computed at once. LLVM
drops the dwords if nobody else reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import is_
from typing import NamedTuple, cast

from visim.engine.jit.analysis.lanes import Row, channel_of, channel_within, row_of
from visim.engine.jit.analysis.terms import Symbol, Symbols
from visim.engine.jit.ir.places import fits_variable, is_repeated, layout, place_span
from visim.operands import FIRST_DECLARED_GENERAL, General
from visim.sem.effects import (
    Effect,
    Place,
    WriteIndirect,
    WritePredicate,
    WriteRegister,
    expressions,
)
from visim.sem.expr import Expr, bits_constant, known_integer, node, select
from visim.sem.uops import UOPS
from visim.types import UD, UQ, D, DataType, Q

_DWORD = 4
_WORD_BITS = 32

_MOST_OPERATIONS = 24
"""How many operations a number may be made of: some of them may be computed a second time."""

_BITWISE = {"and", "or", "xor"}

Effects = tuple[Effect, ...]
"""What an instruction does."""


def with_numbers_whole(
    instructions: Sequence[Effects], grf: int, *, products: bool
) -> list[Effects]:
    """Return what the instructions of a block do, where the first of two dwords writes both.

    Args:
        instructions: what each of them does.
        grf: the size of a register of the device, in bytes.
        products: whether products of 64 bits are computed at once, too.
    """
    found, dwords = list(instructions), _Dwords(grf, products)
    if not any(_is_dword_of_many(effect) for effects in found for effect in effects):
        return found
    for number in range(len(found)):
        effects = found[number] = dwords.of_wholes(found[number])
        if len(effects) == 1 and _is_dword_of_many(effects[0]):
            second = next((at for at in range(number + 1, len(found)) if found[at]), None)
            if second is not None and len(found[second]) == 1:
                whole = dwords.whole(effects[0], found[second][0])
                if whole is not None:
                    found[number], found[second] = (whole,), ()
        dwords.note(found[number])
    return found


class _Elements(NamedTuple):
    """Elements of 64 bits of a variable, 8 bytes apart, or one that is repeated (`step` 0)."""

    variable: int
    offset: int
    step: int
    lanes: int


@dataclass(frozen=True, slots=True)
class _Known:
    """What a row of dwords is; `channel` is that of lane 0, None where it is so for all lanes."""

    symbol: Symbol
    channel: int | None


@dataclass
class _Dwords:
    """Follows what rows of dwords are made of, through a block.

    Symbols of dwords are the `low` and the `high` halves of 64-bit elements, a `row` of which no
    more is known, numbers, and what is computed of these: the `sign` is what an arithmetic shift
    leaves of a dword, `high product` the high dword of a product of two of them. Variables and
    predicates have versions, which change whenever they are written.
    """

    grf: int
    products: bool
    symbols: Symbols = field(default_factory=Symbols)
    _known: dict[int, dict[Row, _Known]] = field(default_factory=dict[int, dict[Row, _Known]])
    _versions: dict[int | str, int] = field(default_factory=dict[int | str, int])
    _variables: dict[int, General] = field(default_factory=dict[int, General])
    _conditions: dict[Symbol, Expr] = field(default_factory=dict[Symbol, Expr])
    _stands: dict[tuple[Symbol, Symbol, int | None], tuple[_Elements, int]] = field(
        default_factory=dict[tuple[Symbol, Symbol, "int | None"], tuple[_Elements, int]]
    )
    _halves: dict[tuple[Symbol, int | None], tuple[_Elements, int]] = field(
        default_factory=dict[tuple[Symbol, "int | None"], tuple[_Elements, int]]
    )
    _left: int = 0

    # Two dwords

    def whole(self, first: Effect, second: Effect) -> WriteRegister | None:
        """Return what writes the 64-bit elements of which two instructions write the dwords."""
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
        self._left = _MOST_OPERATIONS
        self._variables[place.variable.index] = place.variable
        one, other = (self._symbol(each.value, channel) for each in (low, high))
        value = self._number(one, other, place.lanes, channel)
        if value is None or one is None or other is None:
            return None
        index = place.variable.index
        elements = _Elements(index, place.offset, UQ.bytes, place.lanes)
        version = self._versions.get(index, 0) + 1
        self._stands[one, other, channel] = elements, version
        for symbol, away in ((one, 0), (other, _DWORD)):
            if self.symbols.parts(symbol)[0] in _COMPUTED:
                half = elements._replace(offset=elements.offset + away)
                self._halves[symbol, channel] = half, version
        return WriteRegister(place, value, first.mask)

    def _whole_place(self, low: Place) -> Place | None:
        """Return the elements of which a place has the low dwords; None if nobody follows them."""
        place = Place(low.variable, low.offset, UQ, low.lanes, low.lanes, 0, UQ.bytes)
        return place if not low.offset % UQ.bytes and self._is_followed(place) else None

    def _is_followed(self, place: Place) -> bool:
        variable = place.variable
        own = variable.index >= FIRST_DECLARED_GENERAL and not variable.is_file_scope
        return own and fits_variable(place, self.grf)

    # Numbers

    def _number(
        self, low: Symbol | None, high: Symbol | None, lanes: int, channel: int | None
    ) -> Expr | None:
        """Return the number whose dwords are two symbols, if it can be computed."""
        if low is None or high is None or self._left < 0:
            return None
        self._left -= 1
        stands = self._stands.get((low, high, channel))
        has_lanes = stands is not None and stands[0].lanes == lanes  # numbers are of any lanes
        if stands is not None and has_lanes and self._is_now(stands[0].variable, stands[1]):
            return self._read(stands[0], UQ)
        match self.symbols.parts(low), self.symbols.parts(high):
            case ("low", _Elements() as one, version), ("high", other, since):
                same = one == other and version == since and self._is_now(one.variable, version)
                return self._read(one, UQ) if same else None
            case ("number", _, int(one)), ("number", _, int(other)):
                return bits_constant(other << _WORD_BITS | one, UQ, lanes)
            case (str(name), int(a), int(b)), (str(word), int(c), int(d)) if name == word:
                one = self._number(a, c, lanes, channel)
                two = None if one is None else self._number(b, d, lanes, channel)
                return None if one is None or two is None else node(name, UQ, one, two)
            case ("not", int(a)), ("not", int(b)):
                one = self._number(a, b, lanes, channel)
                return None if one is None else ~one
            case ("select", int(by), int(a), int(b)), ("select", int(also), int(c), int(d)):
                condition = self._condition(by) if by == also else None
                one = None if condition is None else self._number(a, c, lanes, channel)
                two = None if one is None else self._number(b, d, lanes, channel)
                if condition is None or one is None or two is None:
                    return None
                return select(condition, one, two)
            case _:
                found = self._product(low, high, lanes, channel)
                return self._extended(low, high, lanes, channel) if found is None else found

    def _extended(self, low: Symbol, high: Symbol, lanes: int, channel: int | None) -> Expr | None:
        """Return dwords that are extended to 64 bits, if they still stand in a row."""
        is_signed = high == self.symbols.of("sign", low)
        if not is_signed and high != self.symbols.number(0):
            return None
        found = self._dword(low, D if is_signed else UD, lanes, channel)
        return None if found is None else (found.to(Q) if is_signed else found).to(UQ)

    def _product(self, low: Symbol, high: Symbol, lanes: int, channel: int | None) -> Expr | None:
        """Return the product of 64 bits whose dwords are two symbols.

        The high one is the high dword of the product of both low ones, plus those products of one
        number's low dword with the other's high one.
        """
        symbols = self.symbols
        name, *factors = symbols.parts(low)
        if name != "mul" or not self.products:
            return None
        a, b = _two(factors[0])
        terms = symbols.terms(high)
        if terms.pop(symbols.of("high product", frozenset((a, b))), 0) != 1:
            return None
        rest = [term for term, times in terms.items() for _ in range(min(times, 3))]
        for one, other in (rest, rest[::-1]) if len(rest) == 2 else ():
            high_b, high_a = self._other_factor(one, a), self._other_factor(other, b)
            first = self._number(a, high_a, lanes, channel)
            second = None if first is None else self._number(b, high_b, lanes, channel)
            if first is not None and second is not None:
                return node("mul", UQ, first, second)
        return None

    def _other_factor(self, product: Symbol, factor: Symbol) -> Symbol | None:
        """Return by what a factor is multiplied in a product; None if it is not in it."""
        name, *factors = self.symbols.parts(product)
        if name != "mul":
            return None
        a, b = _two(factors[0])
        return {a: b, b: a}.get(factor)

    # What can be read again

    def _is_now(self, holder: int | str, version: object) -> bool:
        return self._versions.get(holder, 0) == version

    def _read(self, one: _Elements, kind: DataType) -> Expr:
        variable = self._variables[one.variable]
        place = Place(variable, one.offset, kind, one.lanes, one.lanes, 0, one.step)
        return Expr(UOPS["read"], kind, one.lanes, (), place)

    def _condition(self, symbol: Symbol) -> Expr | None:
        match self.symbols.parts(symbol):
            case ("bits", str(name), _, version) if self._is_now(name, version):
                return self._conditions[symbol]
            case _:
                return None

    def _dword(
        self, symbol: Symbol, kind: DataType, lanes: int, channel: int | None
    ) -> Expr | None:
        """Return dwords that stand in a row; numbers may stand in rows of other lanes, too."""
        match self.symbols.parts(symbol):
            case ("row", _Elements() as one, version) if self._is_now(one.variable, version):
                return self._read(one, kind)
            case _:
                pass
        for rows in self._known.values():
            for row, known in rows.items():
                is_so = known.symbol == symbol and known.channel in {None, channel}
                if is_so and row.lanes == lanes:
                    found = _Elements(row.variable, row.offset, row.stride, row.lanes)
                    return self._read(found, kind)
        return None

    # Symbols

    def _symbol(self, expr: Expr, channel: int | None) -> Symbol | None:
        """Return what dwords are made of."""
        symbols, name = self.symbols, expr.uop.name
        if expr.type not in {D, UD}:
            return None
        number = known_integer(expr)
        if number is not None:
            return symbols.number(number)
        if name == "read":
            return self._of_place(expr.attribute, channel)
        if name in {"convert", "bitcast"}:
            source = expr.args[0]
            if source.type in {D, UD}:
                return self._symbol(source, channel)
            return self._half(source, channel) if source.type in {Q, UQ} else None
        if name == "shr":
            is_sign = expr.type == D and known_integer(expr.args[1]) == _WORD_BITS - 1
            found = self._symbol(expr.args[0], channel) if is_sign else None
            return None if found is None else symbols.of("sign", found)
        if name == "select":
            return self._selected(expr, channel)
        args = [self._symbol(arg, channel) for arg in expr.args] if name in _FOLLOWED else [None]
        known = [arg for arg in args if arg is not None]
        if len(known) < len(args):
            return None
        match name:
            case "add":
                return symbols.added(known[0], known[1])
            case "mul":
                return symbols.product(known[0], known[1])
            case _:
                return symbols.of(name, *known)

    def _selected(self, expr: Expr, channel: int | None) -> Symbol | None:
        condition = expr.args[0]
        if condition.uop.name != "predicate":
            return None
        one, other = (self._symbol(arg, channel) for arg in expr.args[1:])
        if one is None or other is None:
            return None
        variable, offset = condition.attribute
        version = self._versions.get(variable.name, 0)
        by = self.symbols.of("bits", variable.name, (offset, condition.lanes), version)
        self._conditions[by] = condition
        return self.symbols.of("select", by, one, other)

    def _half(self, expr: Expr, channel: int | None) -> Symbol | None:
        """Return the low dwords of numbers of 64 bits."""
        match expr.uop.name:
            case "read":
                return self._of_elements("low", expr.attribute)
            case "convert" if expr.args[0].type in {Q, UQ}:
                return self._half(expr.args[0], channel)
            case "shr" if expr.type == UQ and known_integer(expr.args[1]) == _WORD_BITS:
                source = expr.args[0]
                if source.uop.name == "read":
                    return self._of_elements("high", source.attribute)
                return self._high_product(source, channel)
            case _:
                return None

    def _high_product(self, expr: Expr, channel: int | None) -> Symbol | None:
        """Return the high dwords of products of two dwords without signs."""
        if expr.uop.name != "mul" or any(arg.uop.name != "convert" for arg in expr.args):
            return None
        sources = [arg.args[0] for arg in expr.args]
        found = [self._symbol(one, channel) for one in sources if one.type == UD]
        known = [one for one in found if one is not None]
        return self.symbols.of("high product", frozenset(known)) if len(known) > 1 else None

    def _of_place(self, place: Place, channel: int | None) -> Symbol | None:
        row = row_of(place)
        if row is not None:
            known = self._known.get(row.variable, {}).get(row)
            if known is not None and known.channel in {None, channel}:
                return known.symbol
        if is_repeated(place) or (row is not None and row.stride == UQ.bytes):
            away = place.offset % UQ.bytes
            whole = place.offset - away
            step, kind = layout(place).step or 0, UQ
            elements = Place(place.variable, whole, kind, place.lanes, place.lanes, 0, step)
            if away in {0, _DWORD} and self._is_followed(elements):
                return self._of_elements("high" if away else "low", elements)
        return self._of_elements("row", place)

    def _of_elements(self, word: str, place: Place) -> Symbol | None:
        step, index = layout(place).step, place.variable.index
        if step is None or not self._is_followed(place):
            return None
        self._variables[index] = place.variable
        found = _Elements(index, place.offset, step, place.lanes)
        return self.symbols.of(word, found, self._versions.get(index, 0))

    # Dwords of numbers that are put together

    def of_wholes(self, effects: Effects) -> Effects:
        """Return effects that read dwords where these are put together, if that is as good.

        Then nobody needs what computed them apart.
        """
        if not self._halves or not all(map(_is_write, effects)):
            return effects
        return tuple(self._of_wholes(effect) for effect in effects)

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
        symbol = self._of_place(expr.attribute, channel)
        if symbol is None:
            return expr
        half = self._halves.get((symbol, channel)) or self._halves.get((symbol, None))
        if half is None or not self._is_now(half[0].variable, half[1]):
            return expr
        return self._read(half[0], expr.type) if half[0].lanes == expr.lanes else expr

    # What instructions write

    def note(self, effects: Effects) -> None:
        """Note what an instruction writes."""
        writes = [effect for effect in effects if isinstance(effect, WriteRegister)]
        symbols = [self._symbol(one.value, channel_of(one.mask)) for one in writes]
        for effect in effects:
            if isinstance(effect, WritePredicate):
                self._change(effect.variable.name)
            elif isinstance(effect, WriteIndirect):
                for holder in self._versions.keys() | self._variables.keys():
                    self._change(holder)
                self._known.clear()
        for write, symbol in zip(writes, symbols, strict=True):
            self._write(write, symbol)

    def _change(self, holder: int | str) -> None:
        self._versions[holder] = self._versions.get(holder, 0) + 1

    def _write(self, write: WriteRegister, symbol: Symbol | None) -> None:
        place, row, channel = write.place, row_of(write.place), channel_of(write.mask)
        index = place.variable.index
        self._change(index)
        rows = self._known.get(index, {})
        for one in [one for one in rows if _meets(one, place)]:
            del rows[one]
        if symbol is None or row is None or (write.mask is not None and channel is None):
            return
        if place.type in {D, UD} and self._is_followed(place):
            self._variables[index] = place.variable
            self._known.setdefault(index, {})[row] = _Known(symbol, channel)


_COMPUTED = {"mul", "sum", "not", "select", *_BITWISE}
_FOLLOWED = {"add", "mul", "not", *_BITWISE}


def _is_write(effect: Effect) -> bool:
    """Whether an effect writes what is not loaded."""
    if not isinstance(effect, WriteRegister | WritePredicate):
        return False
    return not any(expr.uop.name == "loaded" for expr in expressions((effect,)))


def _is_dword_of_many(effect: Effect) -> bool:
    """Whether an effect writes a dword of each 64-bit element."""
    if not isinstance(effect, WriteRegister) or effect.place.type.bytes != _DWORD:
        return False
    return effect.place.lanes > 1 and layout(effect.place).step == UQ.bytes


def _is_behind(low: Place, high: Place) -> bool:
    """Whether both places have the dwords of the same elements."""
    same = (low.variable.index, low.lanes) == (high.variable.index, high.lanes)
    dwords = {low.type.bytes, high.type.bytes} == {_DWORD}
    steps = {layout(low).step, layout(high).step} == {UQ.bytes}
    kinds = low.type in {D, UD} and high.type in {D, UD}
    return same and dwords and steps and kinds and high.offset == low.offset + _DWORD


def _reads(effect: Effect) -> list[Place]:
    return [expr.attribute for expr in expressions((effect,)) if expr.uop.name == "read"]


def _overlap(one: Place, other: Place) -> bool:
    """Whether two places may have bytes in common."""
    (low, high), (first, end) = place_span(one), place_span(other)
    return one.variable.index == other.variable.index and low < end and first < high


def _meets(row: Row, place: Place) -> bool:
    """Whether a row may have bytes in common with a place of its variable."""
    first, end = place_span(place)
    return row.offset < end and first < row.end


def _two(factors: object) -> tuple[Symbol, Symbol]:
    """Return the factors of a product, which may be the same."""
    found = sorted(cast("frozenset[Symbol]", factors))
    return found[0], found[-1]
