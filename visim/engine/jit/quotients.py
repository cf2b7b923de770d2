"""Integer division as Intel's compiler writes it with DF, done as one division.

For unsigned n and d the compiler takes r, the reciprocal of d in F, and rounds towards zero:
`e = 1 + 2**-38 - d * r`, `q = n * r`, `q + q * e`. The last is the quotient but for a relative
error between 2**-39 and 2**-37: r is off by at most 2**-22, whose square is below 2**-44. So it is
too large, but too little to reach the next integer, and cut off to UD it gives the integer
quotient. So does the nearest quotient in DF, whose 53 bits hold all of n: without the host's
rounding mode being switched, which costs more than the division. By zero the compiler's sum is no
number, which gives 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import cast

from visim.engine.jit.blocks import Step
from visim.engine.jit.slots import channel_of
from visim.engine.jit.storage import is_repeated, layout
from visim.engine.modes import FloatMode
from visim.engine.rounding import Rounding
from visim.sem.effects import Effect, Place, WriteRegister
from visim.sem.expr import Expr, broadcast, constant, node, select
from visim.types import DF, UD, UQ, DataType, F

_CORRECTION = 0x3FF0000000004000
"""The bits of 1 + 2**-38 in DF."""

_PARTS = {"convert", "bitcast", "fneg", "fdiv", "fmul", "ffma"}
_EXACT = {"bitcast", "fneg"}

Symbol = tuple[Hashable, ...]
"""What a value is made of: the name of an operation, its type and rounding, its operands."""

Elements = tuple[int, tuple[int, ...], int]
"""A variable's number, where the elements are in it (one, if it is repeated), and their size."""


@dataclass(frozen=True, slots=True)
class _Value:
    """What a write has left in a variable; `channel` is that of lane 0, None for all channels."""

    type: DataType
    channel: int | None
    symbol: Symbol


@dataclass
class QuotientFinder:
    """Follows the values of successive instructions that run with the same channels."""

    _values: dict[Elements, _Value] = field(default_factory=dict[Elements, _Value])
    _writes: dict[int, int] = field(default_factory=dict[int, int])
    _inputs: dict[Symbol, Expr] = field(default_factory=dict[Symbol, Expr])

    def next(self, step: Step, mode: FloatMode) -> Step:
        """Return the next instruction, where it cuts a quotient off as a division."""
        writes = [effect for effect in step.effects if isinstance(effect, WriteRegister)]
        found = [self._symbol(one.value, mode, channel_of(one.mask)) for one in writes]
        effects = tuple(self._divided(effect, mode) for effect in step.effects)
        for write, symbol in zip(writes, found, strict=True):
            self._note(write, symbol)
        same = all(new is old for new, old in zip(effects, step.effects, strict=True))
        return step if same else replace(step, effects=effects)

    def _note(self, write: WriteRegister, symbol: Symbol | None) -> None:
        """Note what a write makes of a variable; nothing else is known of that any more."""
        place, channel = write.place, channel_of(write.mask)
        number = place.variable.index
        self._writes[number] = self._writes.get(number, 0) + 1
        for elements in [known for known in self._values if known[0] == number]:
            del self._values[elements]
        if symbol is not None and (write.mask is None or channel is not None):
            self._values[_elements(place)] = _Value(place.type, channel, symbol)

    # Symbols

    def _symbol(self, expr: Expr, mode: FloatMode, channel: int | None) -> Symbol | None:
        """Return what a value is made of, if it can be part of a division.

        No denormals come up there, so that it does not matter what the mode makes of them.
        """
        name = expr.uop.name
        match name:
            case "read":
                return self._read(expr, channel)
            case "constant":
                return ("number", expr.type, expr.attribute)
            case "broadcast":
                return self._symbol(expr.args[0], mode, None)
            case "canonical":
                return self._symbol(expr.args[0], mode, channel)
            case _ if name not in _PARTS or mode.alternate:
                return None
            case _:
                pass
        args = [self._symbol(arg, mode, channel) for arg in expr.args]
        known = [arg for arg in args if arg is not None]
        if len(known) < len(args):
            return None
        exact = name in _EXACT or (name == "convert" and expr.type == DF)
        nearest = exact or expr.attribute == "rne"
        return _made(name, expr.type, Rounding.NEAREST_EVEN if nearest else mode.rounding, *known)

    def _read(self, expr: Expr, channel: int | None) -> Symbol:
        elements = _elements(expr.attribute)
        known = self._values.get(elements)
        if known is not None and known.type == expr.type:
            same = known.channel == channel and (expr.lanes == 1 or len(elements[1]) > 1)
            if known.channel is None or same:
                return known.symbol
        found = ("input", expr.type, elements, self._writes.get(elements[0], 0))
        self._inputs[found] = expr
        return found

    # Division

    def _divided(self, effect: Effect, mode: FloatMode) -> Effect:
        """Return an effect, with a division in place of a quotient that is cut off."""
        if not isinstance(effect, WriteRegister) or not _cuts_off(effect.value, mode):
            return effect
        value, lanes = effect.value, effect.value.lanes
        symbol = self._symbol(value.args[0], mode, channel_of(effect.mask))
        inputs = [one for one in dict.fromkeys(_inputs(symbol)) if self._is_there(one)]
        for n, d in (*permutations(inputs, 2), *zip(inputs, inputs, strict=True)):
            if symbol == _quotient(n, d):
                a, b = (broadcast(self._inputs[one], lanes) for one in (n, d))
                return replace(effect, value=_division(a, b))
        return effect

    def _is_there(self, symbol: Symbol) -> bool:
        """Whether an input is a number of UD that still is what it was."""
        expr = self._inputs[symbol]
        now = self._writes.get(expr.attribute.variable.index, 0)
        return expr.type == UD and symbol[-1] == now


def _elements(place: Place) -> Elements:
    offsets = layout(place).offsets
    where = offsets[:1] if is_repeated(place) else offsets
    return place.variable.index, where, place.type.bytes


def _made(name: str, kind: DataType, rounding: Rounding, *args: Symbol) -> Symbol:
    """Return the symbol of an operation, the same for factors in either order."""
    if name in {"fmul", "ffma"}:
        return (name, kind, rounding, frozenset(args[:2]), *args[2:])
    return (name, kind, rounding, *args)


def _quotient(n: Symbol, d: Symbol) -> Symbol:
    """Return the symbol of what the compiler cuts a quotient off from."""
    near, zero = Rounding.NEAREST_EVEN, Rounding.ZERO
    one, more = ("number", F, 1), _made("bitcast", DF, near, ("number", UQ, _CORRECTION))
    single = _made("fdiv", F, near, one, _made("convert", F, near, d))
    reciprocal = _made("convert", DF, near, single)
    less = _made("fneg", DF, near, _made("convert", DF, near, d))
    error = _made("ffma", DF, zero, less, reciprocal, more)
    raw = _made("fmul", DF, zero, reciprocal, _made("convert", DF, near, n))
    return _made("ffma", DF, zero, raw, error, raw)


def _inputs(symbol: Hashable) -> Iterator[Symbol]:
    """Return the inputs that a symbol is made of, some several times."""
    if not isinstance(symbol, tuple | frozenset):
        return
    parts = cast("Symbol | frozenset[Symbol]", symbol)
    if isinstance(parts, tuple) and parts[0] == "input":
        yield parts
        return
    for part in parts:
        yield from _inputs(part)


def _cuts_off(value: Expr, mode: FloatMode) -> bool:
    if value.uop.name != "convert" or value.type != UD or value.args[0].type != DF:
        return False
    return value.attribute == "rne" or mode.to_integer is Rounding.ZERO


def _division(n: Expr, d: Expr) -> Expr:
    """Return the quotient of numbers of UD, 0 of divisions by zero."""
    quotient = node("fdiv", DF, n.to(DF), d.to(DF), attribute="rne")
    zero = constant(0, UD, d.lanes)
    return select(d.eq(zero), zero, node("convert", UD, quotient, attribute="rne"))
