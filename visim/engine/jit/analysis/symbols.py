"""What values are made of, followed through variables, so that known computations are recognised.

A symbol is a number that stands for an operation with its type, its rounding and the symbols of its
operands; equal ones get the same number. Integers of 32 bits are followed modulo 2**32, whatever
their sign, and sums of them whatever the order of their terms. What cannot be part of a division is
an input: the elements of a variable, as long as nobody writes to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from struct import unpack

from visim.engine.jit.analysis.blocks import Step
from visim.engine.jit.analysis.lanes import channel_of
from visim.engine.jit.analysis.terms import MINUS_ONE, WORD, Elements, Symbol, Symbols
from visim.engine.jit.ir.places import is_repeated, layout
from visim.engine.modes import FloatMode
from visim.engine.rounding import Rounding
from visim.sem.effects import Place, WriteIndirect, WritePredicate, WriteRegister
from visim.sem.expr import Expr, absolute, broadcast, constant, take, unary
from visim.types import DF, UB, UD, UQ, UW, D, DataType, F, Q

_FLOATS = {"fneg", "fdiv", "fadd", "fmul", "ffma"}
Write = WriteRegister | WritePredicate


@dataclass(frozen=True, slots=True)
class Value:
    """What a write has left; `channel` is that of lane 0, None for all channels."""

    type: DataType | None
    channel: int | None
    symbol: Symbol


@dataclass
class ValueFollower:
    """Follows the values of successive instructions that run with the same channels.

    A sum of inputs is an input once it stands in a variable, which can be read again; only those
    who come behind know it as a sum. `lasting` tells which floats a variable holds that none of
    these instructions writes; `first` is the number of the first state of variables, by which
    inputs are told apart from those of other followers.
    """

    symbols: Symbols = field(default_factory=Symbols)
    lasting: Callable[[Elements], Value | None] | None = None
    first: int = 0
    _values: dict[Elements, Value] = field(default_factory=dict[Elements, Value])
    _sums: dict[Elements, Value] = field(default_factory=dict[Elements, Value])
    _bits: dict[tuple[str, int, int], Value] = field(
        default_factory=dict[tuple[str, int, int], Value]
    )
    _writes: dict[int, int] = field(default_factory=dict[int, int])
    _inputs: dict[Symbol, Symbol] = field(default_factory=dict[Symbol, Symbol])
    """The sums that inputs are."""
    _reads: dict[tuple[Symbol, int | None], tuple[Expr, int]] = field(
        default_factory=dict[tuple[Symbol, int | None], tuple[Expr, int]]
    )

    def written(self, step: Step, mode: FloatMode) -> list[tuple[Write, Symbol | None]]:
        """Return the writes of the next instruction, with what they write."""
        writes = [one for one in step.effects if isinstance(one, Write)]
        return [(one, self.symbol(one.value, mode, channel_of(one.mask))) for one in writes]

    def pass_by(self, step: Step, written: Sequence[tuple[Write, Symbol | None]]) -> None:
        """Note what an instruction has written."""
        for write, symbol in written:
            self.note(write, symbol)
        if any(isinstance(effect, WriteIndirect) for effect in step.effects):
            self.forget()

    def note(self, write: Write, symbol: Symbol | None) -> None:
        """Note what a write makes of a variable; nothing else is known of that any more."""
        channel = channel_of(write.mask)
        known = symbol is not None and (write.mask is None or channel is not None)
        if isinstance(write, WritePredicate):
            name, lanes = write.variable.name, write.value.lanes
            for bits in [bits for bits in self._bits if bits[0] == name]:
                if bits[1] < write.offset + lanes and write.offset < bits[1] + bits[2]:
                    del self._bits[bits]
            if known and symbol is not None:
                self._bits[name, write.offset, lanes] = Value(None, channel, symbol)
            return
        number = write.place.variable.index
        self._writes[number] = self._version(number) + 1
        for values in (self._values, self._sums):
            for elements in [one for one in values if one[0] == number]:
                del values[elements]
        if known and symbol is not None:
            values = self._sums if self._is_plain_sum(symbol) else self._values
            kind = _as_unsigned(write.place.type)
            values[elements_of(write.place)] = Value(kind, channel, symbol)

    def behind(self, written: set[int], state: int) -> ValueFollower:
        """Return what follows instructions that come later, for the same channels or for some.

        `written` are the variables that others may have written since, `state` the number of the
        state that they are in then. Only what the later instructions read can be read again.
        """
        values = self._sums | self._values
        return replace(
            self,
            _values={one: values[one] for one in values if one[0] not in written},
            _sums={},
            _bits={},
            _writes=self._writes | dict.fromkeys(written, state),
            _reads={},
        )

    def forget(self) -> None:
        """Forget all values: any variable may have been written."""
        self._values.clear()
        self._sums.clear()
        self._bits.clear()
        self._reads.clear()
        self.first = 1 + max(self._writes.values(), default=self.first)
        self._writes.clear()

    def sum(self, symbol: Symbol) -> Symbol:
        """Return the sum that an input is, or else the symbol itself."""
        return self._inputs.get(symbol, symbol)

    def _version(self, variable: int) -> int:
        """Return a number that changes whenever a variable may have been written."""
        return self._writes.get(variable, self.first)

    def _is_plain_sum(self, symbol: Symbol) -> bool:
        """Whether a symbol is a sum of inputs and numbers only: then it is better an input."""
        parts = self.symbols.parts
        terms = [parts(term)[0] for term in self.symbols.terms(symbol)]
        return parts(symbol)[0] == "sum" and not set(terms) - {"input", "number"}

    def expression(self, symbol: Symbol, lanes: int, channel: int | None) -> Expr | None:
        """Return an expression of UD for what can still be read, magnitudes of that, and numbers.

        It is a broadcast where all lanes are the same. `channel` is that of lane 0, None for all
        channels.
        """
        found = self._narrow(symbol, lanes, channel)
        return None if found is None else broadcast(found, lanes)

    def integer(self, symbol: Symbol, lanes: int, channel: int | None) -> Expr | None:
        """Return an expression of UD, or of DF with the same value, where only that is left."""
        found = self.expression(symbol, lanes, channel)
        if found is not None:
            return found
        near = Rounding.NEAREST_EVEN
        wide = self.symbols.of("convert", DF, near, UD, symbol)
        found = self._still(wide, lanes, channel)
        if found is None:
            less = self.symbols.floats("fneg", DF, near, wide)
            found = self._still(less, lanes, channel)
            found = None if found is None else unary("fneg", found)
        return None if found is None else broadcast(found, lanes)

    def _narrow(self, symbol: Symbol, lanes: int, channel: int | None) -> Expr | None:
        """Return an expression of UD, of one lane where all lanes are the same."""
        name, *parts = self.symbols.parts(symbol)
        if name == "number" and parts[0] == UD:
            return constant(int(str(parts[1])), UD, 1)
        if name == "abs" and isinstance(parts[0], int):
            inner = self._narrow(parts[0], lanes, channel)
            return None if inner is None else absolute(inner.bits_as(D)).bits_as(UD)
        if name == "extended" and isinstance(parts[0], int):
            inner = self._still(parts[0], lanes, channel)
            return None if inner is None else inner.to(UD)
        found = self._still(symbol, lanes, channel)
        return None if found is None or _as_unsigned(found.type) != UD else found.bits_as(UD)

    def _still(self, symbol: Symbol, lanes: int, channel: int | None) -> Expr | None:
        """Return what was read of a variable that has kept it, once if all lanes are the same.

        What was written for some channels is there for others only if it is there for all.
        """
        for wanted in dict.fromkeys((channel, None)):
            expr, version = self._reads.get((symbol, wanted), (None, 0))
            if expr is None or self._version(expr.attribute.variable.index) != version:
                continue
            is_one = expr.lanes != lanes or is_repeated(expr.attribute)
            if wanted is None:
                return take(expr, (0,)) if is_one and expr.lanes > 1 else expr
            if expr.lanes == lanes:
                return expr
        return None

    # Symbols of expressions

    def symbol(self, expr: Expr, mode: FloatMode, channel: int | None) -> Symbol | None:
        """Return what a value is made of, if it can be part of a division.

        No denormals come up there, so that it does not matter what the mode makes of them.
        """
        name, symbols = expr.uop.name, self.symbols
        match name:
            case "read":
                return self._read(expr, channel)
            case "predicate":
                return self._predicate(expr, channel)
            case "constant":
                if _as_unsigned(expr.type) == UD:
                    return symbols.number(int(expr.attribute))
                return symbols.of("number", expr.type, expr.attribute)
            case "broadcast":
                return self.symbol(expr.args[0], mode, None)
            case "canonical":
                return self.symbol(expr.args[0], mode, channel)
            case _ if mode.alternate:
                return None
            case "convert":
                return self._converted(expr, mode, channel)
            case _:
                pass
        found = [self.symbol(arg, mode, channel) for arg in expr.args]
        args = [one for one in found if one is not None]
        if len(args) < len(found):
            return None
        if name in _FLOATS:
            exact = name == "fneg" or expr.attribute == "rne"
            rounding = Rounding.NEAREST_EVEN if exact else mode.rounding
            return symbols.floats(name, expr.type, rounding, *args)
        return self._integer(expr, args)

    def _integer(self, expr: Expr, args: list[Symbol]) -> Symbol | None:
        """Return the symbol of an operation on integers of 32 bits, or on bits."""
        symbols, name = self.symbols, expr.uop.name
        if name == "bitcast":
            return self._same_bits(expr.type, args[0])
        if name in {"le", "lt"}:
            return symbols.of(name, expr.args[0].type, *args)
        if _as_unsigned(expr.type) != UD:
            return None
        match name:
            case "add":
                return symbols.added(args[0], args[1])
            case "neg":
                return symbols.added(symbols.sum({}), args[0], -1)
            case "mul":
                return symbols.product(args[0], args[1])
            case "abs" if expr.type == D:
                return symbols.of(name, args[0])
            case "select":
                return symbols.of(name, *args)
            case "and":
                return self._chosen_by_bits(*args) or self._chosen_by_bits(*args[::-1])
            case _:
                return None

    def _chosen_by_bits(self, bits: Symbol, value: Symbol) -> Symbol | None:
        """Return the symbol of a value where a comparison has set all bits, and 0 elsewhere."""
        symbols = self.symbols
        match symbols.parts(bits):
            case ("select", int(condition), int(every), int(none)):
                if (every, none) == (symbols.number(MINUS_ONE), symbols.number(0)):
                    return symbols.of("select", condition, value, none)
            case _:
                pass
        return None

    def _same_bits(self, kind: DataType, bits: Symbol) -> Symbol:
        """Return the symbol of bits as another type; integers in DF are conversions of numbers."""
        match self.symbols.parts(bits):
            case ("number", source, int(number)) if source == UQ and kind == DF:
                [value] = unpack("<d", number.to_bytes(8, "little"))
                if 0 <= value < WORD and value.is_integer():
                    integer = self.symbols.number(int(value))
                    return self.symbols.of("convert", DF, Rounding.NEAREST_EVEN, UD, integer)
            case _:
                pass
        return self.symbols.of("bitcast", kind, bits)

    def _converted(self, expr: Expr, mode: FloatMode, channel: int | None) -> Symbol | None:
        source, target, symbols = expr.args[0].type, expr.type, self.symbols
        if _as_unsigned(target) == UD and source in {Q, UQ}:
            return self._low(expr.args[0], mode, channel)
        if target.is_float and source == UD:
            inner = self._extended(expr.args[0], mode, channel)
        else:
            inner = self.symbol(expr.args[0], mode, channel)
        if inner is None:
            return None
        if target.is_float:
            wider = source.is_float and target.bits > source.bits
            exact = expr.attribute == "rne" or target == DF or wider
            rounding = Rounding.NEAREST_EVEN if exact else mode.rounding
            return symbols.of("convert", target, rounding, source, inner)
        if target == UD and source in {F, DF}:
            cuts = expr.attribute == "rne" or mode.to_integer is Rounding.ZERO
            return symbols.cut(inner) if cuts else None
        return inner if _as_unsigned(source) == _as_unsigned(target) == UD else None

    def _extended(self, expr: Expr, mode: FloatMode, channel: int | None) -> Symbol | None:
        """Return the symbol of a number that may come from fewer bits, as those of local ids do."""
        if expr.uop.name != "convert" or expr.args[0].type not in {UB, UW}:
            return self.symbol(expr, mode, channel)
        inner = self.symbol(expr.args[0], mode, channel)
        return None if inner is None else self.symbols.of("extended", inner)

    def _low(self, expr: Expr, mode: FloatMode, channel: int | None) -> Symbol | None:
        """Return the symbol of the low half of a number that comes from 32 bits."""
        name, args = expr.uop.name, expr.args
        if name == "convert" and args[0].type == D:
            return self.symbol(args[0], mode, channel)
        if name == "abs":
            inner = self._low(args[0], mode, channel)
            return None if inner is None else self.symbols.of(name, inner)
        if name != "select":
            return None
        condition = self.symbol(args[0], mode, channel)
        low, other = (self._low(arg, mode, channel) for arg in args[1:])
        if condition is None or low is None or other is None:
            return None
        return self.symbols.of(name, condition, low, other)

    def _read(self, expr: Expr, channel: int | None) -> Symbol:
        elements, kind = elements_of(expr.attribute), _as_unsigned(expr.type)
        known, version = self._values.get(elements), self._version(elements[0])
        if known is None and kind.is_float and self.lasting is not None:
            known = self.lasting(elements)
        one = expr.lanes > 1 and len(elements[1]) == 1
        if known is not None and known.type == kind and _holds(known, channel, one=one):
            if self.symbols.parts(known.symbol)[0] != "input":
                self._reads[known.symbol, known.channel] = expr, version
            return known.symbol
        found = self.symbols.of("input", kind, elements, version)
        self._reads[found, None] = expr, version
        known = self._sums.get(elements)
        if known is not None and known.type == kind and _holds(known, channel, one=one):
            self._inputs[found] = known.symbol
        return found

    def _predicate(self, expr: Expr, channel: int | None) -> Symbol | None:
        variable, offset = expr.attribute
        known = self._bits.get((variable.name, offset, expr.lanes))
        if known is None or known.channel not in {None, channel}:
            return None
        return known.symbol


def _holds(known: Value, channel: int | None, *, one: bool) -> bool:
    """Whether what a write has left is there for a channel; `one`: one element for all lanes."""
    return known.channel is None or (known.channel == channel and not one)


def _as_unsigned(kind: DataType) -> DataType:
    return UD if kind == D else kind


def elements_of(place: Place) -> Elements:
    """Return which elements of a variable a place is."""
    offsets = layout(place).offsets
    where = offsets[:1] if is_repeated(place) else offsets
    return place.variable.index, where, place.type.bytes
