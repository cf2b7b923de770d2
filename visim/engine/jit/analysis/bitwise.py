"""Loops that find remainders of 64 bits bit by bit, as Intel's compiler writes them.

Two blocks are a turn: the first doubles the rest so far, adds the next bit of the number, and takes
the divisor away where it fits; the second counts down, unless the last bit is done. What a turn
makes of each dword is followed for each lane, through halves that are taken apart and put together
again, and compared with what a division does. What else the loop writes, each turn computes anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import cast

from visim.engine.jit.analysis.affine import is_integer
from visim.engine.jit.analysis.blocks import Step
from visim.engine.jit.analysis.flow import Flow, Node, is_uniform, passed
from visim.engine.jit.ir.places import is_repeated, place_offsets
from visim.sem.effects import Effect, Goto, Place, WritePredicate, WriteRegister
from visim.sem.expr import Expr
from visim.types import UD

Cell = tuple[int | str, int]
"""A dword of a variable, by its number and the byte where it begins, or a predicate's bit."""

Symbol = tuple[object, ...]
"""What a number is made of: the name of an operation, and its operands."""

_COMMUTES = {"add", "and", "or", "xor", "eq"}
_ORDERED = {"lt", "shl", "shr"}

TOP = 63
"""The highest bit of a number."""


class _NoRemainder(Exception):
    """The loop does something that a division has no use for."""


@dataclass(frozen=True, slots=True)
class Row:
    """Dwords of successive channels: a place, or a number that all of them are."""

    place: Place | None
    number: int = 0


@dataclass(frozen=True, slots=True)
class RemainderLoop:
    """A loop over the bits of numbers.

    Attributes:
        bit: the variable with the number of the next bit.
        rest: the remainders so far.
        number: the low and the high halves of the numbers that are divided.
        divisor: the low and the high halves of what they are divided by.
        one: what has to be 1, for all lanes.
        turn: how many instructions a turn has.
    """

    bit: Place
    rest: Place
    number: tuple[Row, Row]
    divisor: tuple[Row, Row]
    one: Row
    turn: int


def remainder_loop(flow: Flow, node: Node) -> RemainderLoop | None:
    """Return the loop that starts with a node, if it finds remainders."""
    leave, end = node.block.transfer, node.block.next
    if not isinstance(leave, Goto) or leave.mask is None or not is_uniform(leave.mask):
        return None
    condition, down = leave.mask.args[0], end
    if condition.uop.name == "not":
        condition, down = condition.args[0], flow.label(leave.label)
    last = flow.nodes.get((node.entry, down, node.after))
    if last is None or flow.label(leave.label) <= end or (node.entry, down) in flow.slots:
        return None
    back = last.block.transfer
    if not isinstance(back, Goto) or back.mask is not None:
        return None
    goes_on = (last.entry, flow.label(back.label), last.after) == node.key
    if not goes_on or passed(node.waiting, end, down):
        return None
    try:
        return _Turn().matched(node, last, condition)
    except _NoRemainder:
        return None


@dataclass
class _Turn:
    """What one turn of a loop makes of each dword, for each lane by itself.

    `channels` are those that have to be on for a dword to be written, None: it always is. Only such
    a channel may look at it again, for others it may be what a turn before has left.
    """

    cells: dict[Cell, Symbol] = field(default_factory=dict[Cell, Symbol])
    channels: dict[Cell, int | None] = field(default_factory=dict["Cell", "int | None"])
    inputs: dict[Cell, Place | None] = field(default_factory=dict["Cell", "Place | None"])

    def matched(self, node: Node, last: Node, leaves: Expr) -> RemainderLoop:
        """Return the loop that a turn is part of."""
        for step in node.block.before:
            self._run(step)
        condition = self._value(leaves, 0, None)
        for step in last.block.before:
            self._run(step)
        bit = self._counter(condition, last.block.before)
        rest = self._rest(node.block.before, (bit.variable.index, bit.offset))
        terms = [self._terms(lane, rest, bit) for lane in range(rest.lanes)]
        rows = [self._row([term[number] for term in terms]) for number in range(5)]
        one = rows[4]
        if not (one.number == 1 if one.place is None else is_repeated(one.place)):
            raise _NoRemainder
        turn = len(node.block.forms) + len(last.block.forms)
        return RemainderLoop(bit, rest, (rows[0], rows[1]), (rows[2], rows[3]), one, turn)

    # A turn

    def _run(self, step: Step) -> None:
        """Note what an instruction writes."""
        if step.refusal is not None:
            raise _NoRemainder
        found: list[tuple[Cell, Symbol, int | None]] = []
        for effect in step.effects:
            found += self._written(effect)
        for cell, value, channel in found:
            self.cells[cell], self.channels[cell] = value, channel

    def _written(self, effect: Effect) -> Iterator[tuple[Cell, Symbol, int | None]]:
        if not isinstance(effect, WriteRegister | WritePredicate):
            raise _NoRemainder
        if effect.mask is not None and effect.mask.uop.name != "execution":
            raise _NoRemainder
        for lane in range(effect.value.lanes):
            channel = None if effect.mask is None else int(effect.mask.attribute) + lane
            value = self._value(effect.value, lane, channel)
            if isinstance(effect, WritePredicate):
                yield (effect.variable.name, effect.offset + lane), value, channel
                continue
            low, *high = _cells(effect.place, lane)
            yield low, _low(value) if high else value, channel
            if high:
                yield high[0], _high(value), channel

    def _read(self, cell: Cell, place: Place | None, channel: int | None) -> Symbol:
        if cell not in self.cells:
            self.inputs.setdefault(cell, place)
            return ("input", cell)
        if self.channels[cell] not in {None, channel}:
            raise _NoRemainder
        return self.cells[cell]

    def _value(self, expr: Expr, lane: int, channel: int | None) -> Symbol:
        """Return what a lane of an expression is made of."""
        match expr.uop.name:
            case "constant":
                return _number(int(expr.attribute), expr)
            case "read":
                cells, place = _cells(expr.attribute, lane), expr.attribute
                parts = [self._read(cell, place, channel) for cell in cells]
                return _joined(*parts) if len(parts) == 2 else parts[0]
            case "predicate":
                variable, offset = expr.attribute
                return self._read((variable.name, offset + lane), None, channel)
            case "broadcast":
                return self._value(expr.args[0], 0, channel)
            case "select":
                return ("select", *(self._value(arg, lane, channel) for arg in expr.args))
            case "convert":
                return self._converted(expr, lane, channel)
            case "neg":
                return ("neg", self._value(expr.args[0], lane, channel))
            case name if name in _COMMUTES:
                args = frozenset(self._value(arg, lane, channel) for arg in expr.args)
                return _common(args) if name == "and" else (name, args)
            case name if name in _ORDERED:
                signed = name != "shl" and expr.args[0].type.is_signed
                return (name, signed, *(self._value(arg, lane, channel) for arg in expr.args))
            case _:
                raise _NoRemainder

    def _converted(self, expr: Expr, lane: int, channel: int | None) -> Symbol:
        source = expr.args[0]
        if not is_integer(source.type) or not is_integer(expr.type):
            raise _NoRemainder
        value = self._value(source, lane, channel)
        if value[0] == "number":
            number = cast("int", value[1])
            sign = source.type.is_signed and number >> source.type.bits - 1
            return _number(number - (sign << source.type.bits), expr)
        match (source.type.bits, expr.type.bits):
            case (32, 32) | (64, 64):
                return value
            case (64, 32):
                return _low(value)
            case (32, 64) if not source.type.is_signed:
                return _joined(value, ("number", 0))
            case _:
                raise _NoRemainder

    # What it is

    def _counter(self, condition: Symbol, down: Sequence[Step]) -> Place:
        """Return the variable that counts down, which the loop is left with when it is 0."""
        effects = [effect for step in down for effect in step.effects]
        if len(effects) != 1 or not isinstance(effects[0], WriteRegister):
            raise _NoRemainder
        place = effects[0].place
        if effects[0].mask is not None:
            raise _NoRemainder
        now: Symbol = ("input", _cells(place, 0)[0])
        less = ("add", frozenset((now, ("number", (1 << 32) - 1))))
        zero = ("eq", frozenset((now, ("number", 0))))
        if (
            (place.type.bits, place.lanes) != (32, 1)
            or condition != zero
            or self.cells[_cells(place, 0)[0]] != less
        ):
            raise _NoRemainder
        return place

    def _rest(self, steps: Sequence[Step], bit: Cell) -> Place:
        """Return the only other variable that a turn hands on to the next, in 64 bits a lane."""
        carried = (self.cells.keys() & self.inputs.keys()) - {bit}
        for step in steps:
            for effect in step.effects:
                if not isinstance(effect, WriteRegister) or effect.place.type.bits != 64:
                    continue
                mask, place = effect.mask, effect.place
                own = {cell for lane in range(place.lanes) for cell in _cells(place, lane)}
                if own == carried and mask is not None and mask.attribute == 0 and place.lanes > 1:
                    return place
        raise _NoRemainder

    def _terms(self, lane: int, rest: Place, bit: Place) -> tuple[Symbol, ...]:
        """Return the halves of number and divisor, and what has to be 1, of a lane."""
        low, high = _cells(rest, lane)
        if not self.channels[low] == self.channels[high] == lane:
            raise _NoRemainder
        before = _joined(("input", low), ("input", high))
        after = _joined(self.cells[low], self.cells[high])
        position = _joined(
            ("and", frozenset((("input", _cells(bit, 0)[0]), ("number", TOP)))), ("number", 0)
        )
        parts = list(dict.fromkeys(_parts(after)))
        shifted = [part for part in parts if part[0] == "shr" and part[-1] == position]
        chosen = [cast("Symbol", part[3]) for part in parts if part[0] == "select"]
        if len(shifted) != 1 or len(chosen) not in {1, 2}:
            raise _NoRemainder
        next_bit, number = _low(shifted[0]), cast("Symbol", shifted[0][2])
        ones = [_other(part, next_bit) for part in parts if part[0] == "and"]
        for one in (one for one in ones if one is not None):
            for divisor in ([*chosen, ("number", 0)][:2], chosen[::-1]):
                if len(divisor) == 2 and after == _turned(before, next_bit, one, divisor):
                    return _low(number), _high(number), *divisor, one
        raise _NoRemainder

    def _row(self, terms: list[Symbol]) -> Row:
        """Return the dwords of all lanes as a row of a variable, or as a number."""
        first = terms[0]
        if first[0] == "number" and len(set(terms)) == 1:
            return Row(None, cast("int", first[1]))
        cells = [cast("Cell", term[1]) for term in terms if term[0] == "input"]
        stays = len(cells) == len(terms) and not self.cells.keys() & cells
        known = self.inputs[cells[0]] if stays else None
        if known is None:
            raise _NoRemainder
        offset, step = cells[0][1], cells[1][1] - cells[0][1]
        place = Place(known.variable, offset, UD, len(cells), 1, step, 0)
        if cells != [_cells(place, lane)[0] for lane in range(len(cells))]:
            raise _NoRemainder
        return Row(place)


def _turned(before: Symbol, next_bit: Symbol, one: Symbol, divisor: list[Symbol]) -> Symbol:
    """Return what a turn makes of a rest."""
    zero: Symbol = ("number", 0)
    doubled: Symbol = ("shl", False, before, ("number", 1))
    low: Symbol = ("or", frozenset((_low(doubled), ("and", frozenset((next_bit, one))))))
    high, (d, e) = _high(doubled), divisor
    less: Symbol = ("and", frozenset((("eq", frozenset((high, e))), ("lt", False, low, d))))
    if e != zero:
        less = ("or", frozenset((less, ("lt", False, high, e))))
    taken = _joined(("select", less, zero, d), ("select", less, zero, e) if e != zero else zero)
    return ("add", frozenset((_joined(low, high), ("neg", taken))))


def _cells(place: Place, lane: int) -> list[Cell]:
    """Return the dwords of an element."""
    offset, number = place_offsets(place)[lane], place.variable.index
    if offset % 4 or place.type.bits not in {32, 64} or place.type.is_float:
        raise _NoRemainder
    return [(number, at) for at in range(offset, offset + place.type.bytes, 4)]


def _number(value: int, expr: Expr) -> Symbol:
    if not is_integer(expr.type):
        raise _NoRemainder
    return ("number", value & (1 << expr.type.bits) - 1)


def _common(args: frozenset[Symbol]) -> Symbol:
    """Return the bits that two numbers have in common, as how far constants are shifted."""
    numbers = [cast("int", arg[1]) for arg in args if arg[0] == "number"]
    if len(numbers) < len(args):
        return ("and", args)
    return ("number", reduce(int.__and__, numbers))


def _low(value: Symbol) -> Symbol:
    match value:
        case ("number", int(number)):
            return ("number", number & (1 << 32) - 1)
        case ("join", low, _):
            return cast("Symbol", low)
        case _:
            return ("low", value)


def _high(value: Symbol) -> Symbol:
    match value:
        case ("number", int(number)):
            return ("number", number >> 32)
        case ("join", _, high):
            return cast("Symbol", high)
        case _:
            return ("high", value)


def _joined(low: Symbol, high: Symbol) -> Symbol:
    """Return 64 bits of two halves, the number itself where both are of one."""
    if low[0] == "low" and high == ("high", low[1]):
        return cast("Symbol", low[1])
    if low[0] == high[0] == "number":
        return ("number", cast("int", low[1]) | cast("int", high[1]) << 32)
    return ("join", low, high)


def _other(part: Symbol, operand: Symbol) -> Symbol | None:
    """Return the other operand of an operation that has one for two."""
    operands = cast("frozenset[Symbol]", part[1])
    others = operands - {operand}
    return next(iter(others)) if operand in operands and len(others) == 1 else None


def _parts(symbol: object) -> Iterator[Symbol]:
    """Return all operations that a number is made of, some several times."""
    if isinstance(symbol, frozenset):
        for part in cast("frozenset[object]", symbol):
            yield from _parts(part)
    elif isinstance(symbol, tuple) and symbol[0] != "input":
        yield cast("Symbol", symbol)
        for part in cast("Symbol", symbol)[1:]:
            yield from _parts(part)
