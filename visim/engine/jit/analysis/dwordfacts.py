"""What rows of dwords are made of, and the numbers of 64 bits of which they are the halves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, cast

from visim.engine.jit.analysis.lanes import Row, channel_of, row_of
from visim.engine.jit.analysis.terms import Symbol, Symbols
from visim.engine.jit.ir.places import fits_variable, is_repeated, layout, place_span
from visim.operands import FIRST_DECLARED_GENERAL, General
from visim.sem.effects import Effect, Place, WriteIndirect, WritePredicate, WriteRegister
from visim.sem.expr import Expr, bits_constant, known_integer, node, select
from visim.sem.uops import UOPS
from visim.types import UD, UQ, D, DataType, Q

DWORD = 4
_WORD_BITS = 32

_MOST_OPERATIONS = 24
"""How many operations a number may be made of: some of them may be computed a second time."""

_FOLLOWED = {"add", "mul", "not", "and", "or", "xor"}

Effects = tuple[Effect, ...]
"""What an instruction does."""


class Elements(NamedTuple):
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
class DwordFacts:
    """Follows what rows of dwords are made of, through instructions one after another.

    Symbols of dwords are the `low` and the `high` halves of 64-bit elements, a `row` of which no
    more is known, numbers, and what is computed of these: the `sign` is what an arithmetic shift
    leaves of a dword, `high product` the high dword of a product of two of them. Variables and
    predicates have versions, which change whenever they are written. With `products`, those of 64
    bits are computed at once, too.
    """

    grf: int
    products: bool
    symbols: Symbols = field(default_factory=Symbols)
    _known: dict[int, dict[Row, _Known]] = field(default_factory=dict[int, dict[Row, _Known]])
    _versions: dict[int | str, int] = field(default_factory=dict[int | str, int])
    _variables: dict[int, General] = field(default_factory=dict[int, General])
    _conditions: dict[Symbol, Expr] = field(default_factory=dict[Symbol, Expr])
    _stands: dict[tuple[Symbol, Symbol, int | None], tuple[Elements, int]] = field(
        default_factory=dict[tuple[Symbol, Symbol, "int | None"], tuple[Elements, int]]
    )
    _left: int = 0

    # What is written

    def note(self, effects: Effects) -> None:
        """Note what an instruction writes."""
        writes = [effect for effect in effects if isinstance(effect, WriteRegister)]
        symbols = [self.symbol(one.value, channel_of(one.mask)) for one in writes]
        for effect in effects:
            if isinstance(effect, WritePredicate):
                self._change(effect.variable.name)
            elif isinstance(effect, WriteIndirect):
                for holder in self._versions.keys() | self._variables.keys():
                    self._change(holder)
                self._known.clear()
        for write, symbol in zip(writes, symbols, strict=True):
            self._write(write, symbol)

    def stand(
        self, low: Symbol, high: Symbol, channel: int | None, place: Place
    ) -> tuple[Elements, int]:
        """Note that a number will stand in a place; return its elements and their version then."""
        index = place.variable.index
        self._variables[index] = place.variable
        found = Elements(index, place.offset, UQ.bytes, place.lanes), self.version(index) + 1
        self._stands[low, high, channel] = found
        return found

    def version(self, holder: int | str) -> int:
        """Return the version of a variable, by its index, or of a predicate, by its name."""
        return self._versions.get(holder, 0)

    def is_followed(self, place: Place) -> bool:
        """Whether a place lies in a variable that nobody reaches from elsewhere."""
        variable = place.variable
        own = variable.index >= FIRST_DECLARED_GENERAL and not variable.is_file_scope
        return own and fits_variable(place, self.grf)

    # Numbers

    def number(
        self, low: Symbol | None, high: Symbol | None, lanes: int, channel: int | None
    ) -> Expr | None:
        """Return the number whose dwords are two symbols, if it can be computed."""
        self._left = _MOST_OPERATIONS
        return self._number(low, high, lanes, channel)

    def _number(
        self, low: Symbol | None, high: Symbol | None, lanes: int, channel: int | None
    ) -> Expr | None:
        if low is None or high is None or self._left < 0:
            return None
        self._left -= 1
        stands = self._stands.get((low, high, channel))
        has_lanes = stands is not None and stands[0].lanes == lanes  # numbers are of any lanes
        if stands is not None and has_lanes and self.is_now(stands[0].variable, stands[1]):
            return self.read(stands[0], UQ)
        match self.symbols.parts(low), self.symbols.parts(high):
            case ("low", Elements() as one, version), ("high", other, since):
                same = one == other and version == since and self.is_now(one.variable, version)
                return self.read(one, UQ) if same else None
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

    def is_now(self, holder: int | str, version: object) -> bool:
        """Whether a variable or a predicate still has a version."""
        return self._versions.get(holder, 0) == version

    def read(self, one: Elements, kind: DataType) -> Expr:
        """Return what reads elements as those of a type."""
        variable = self._variables[one.variable]
        place = Place(variable, one.offset, kind, one.lanes, one.lanes, 0, one.step)
        return Expr(UOPS["read"], kind, one.lanes, (), place)

    def _condition(self, symbol: Symbol) -> Expr | None:
        match self.symbols.parts(symbol):
            case ("bits", str(name), _, version) if self.is_now(name, version):
                return self._conditions[symbol]
            case _:
                return None

    def _dword(
        self, symbol: Symbol, kind: DataType, lanes: int, channel: int | None
    ) -> Expr | None:
        """Return dwords that stand in a row; numbers may stand in rows of other lanes, too."""
        match self.symbols.parts(symbol):
            case ("row", Elements() as one, version) if self.is_now(one.variable, version):
                return self.read(one, kind)
            case _:
                pass
        for rows in self._known.values():
            for row, known in rows.items():
                is_so = known.symbol == symbol and known.channel in {None, channel}
                if is_so and row.lanes == lanes:
                    found = Elements(row.variable, row.offset, row.stride, row.lanes)
                    return self.read(found, kind)
        return None

    # Symbols

    def symbol(self, expr: Expr, channel: int | None) -> Symbol | None:
        """Return what dwords are made of."""
        symbols, name = self.symbols, expr.uop.name
        if expr.type not in {D, UD}:
            return None
        number = known_integer(expr)
        if number is not None:
            return symbols.number(number)
        if name == "read":
            return self.of_place(expr.attribute, channel)
        if name in {"convert", "bitcast"}:
            source = expr.args[0]
            if source.type in {D, UD}:
                return self.symbol(source, channel)
            return self._half(source, channel) if source.type in {Q, UQ} else None
        if name == "shr":
            is_sign = expr.type == D and known_integer(expr.args[1]) == _WORD_BITS - 1
            found = self.symbol(expr.args[0], channel) if is_sign else None
            return None if found is None else symbols.of("sign", found)
        if name == "select":
            return self._selected(expr, channel)
        args = [self.symbol(arg, channel) for arg in expr.args] if name in _FOLLOWED else [None]
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
        one, other = (self.symbol(arg, channel) for arg in expr.args[1:])
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
        found = [self.symbol(one, channel) for one in sources if one.type == UD]
        known = [one for one in found if one is not None]
        return self.symbols.of("high product", frozenset(known)) if len(known) > 1 else None

    def of_place(self, place: Place, channel: int | None) -> Symbol | None:
        """Return what the dwords of a place are made of."""
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
            if away in {0, DWORD} and self.is_followed(elements):
                return self._of_elements("high" if away else "low", elements)
        return self._of_elements("row", place)

    def _of_elements(self, word: str, place: Place) -> Symbol | None:
        step, index = layout(place).step, place.variable.index
        if step is None or not self.is_followed(place):
            return None
        self._variables[index] = place.variable
        found = Elements(index, place.offset, step, place.lanes)
        return self.symbols.of(word, found, self._versions.get(index, 0))

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
        if place.type in {D, UD} and self.is_followed(place):
            self._variables[index] = place.variable
            self._known.setdefault(index, {})[row] = _Known(symbol, channel)


def _meets(row: Row, place: Place) -> bool:
    """Whether a row may have bytes in common with a place of its variable."""
    first, end = place_span(place)
    return row.offset < end and first < row.end


def _two(factors: object) -> tuple[Symbol, Symbol]:
    """Return the factors of a product, which may be the same."""
    found = sorted(cast("frozenset[Symbol]", factors))
    return found[0], found[-1]
