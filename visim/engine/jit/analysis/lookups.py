"""Indices into tables: numbers from zero to a known one, whatever the data are that they come from.

Bytes, low bits and what is shifted down far enough are such numbers. One look at the ends of a
table then tells that all lanes are in range, and lanes that data choose are hardly ever adjacent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from visim.engine.jit.analysis.blocks import Step
from visim.engine.jit.analysis.lanes import LEAST_LANES, Row, channel_of, channel_within, row_of
from visim.engine.jit.analysis.slots import is_integer
from visim.engine.jit.ir.places import is_repeated, place_span
from visim.sem.effects import Effect, Load, Place, WriteIndirect, WriteRegister, expressions
from visim.sem.expr import Expr
from visim.types import DataType

_MOST = (1 << 31) - 1
"""Larger numbers are no indices into tables."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """Indices from zero to `most`.

    That holds for active lanes, where `channel` is that of lane 0; None: for all lanes.
    """

    most: int
    channel: int | None


_Rows = dict[int, dict[Row, tuple[int, int | None]]]
"""What the rows of each variable do not exceed, and the channel of lane 0; None: all lanes."""


@dataclass
class LookupFinder:
    """Finds indices into tables in successive instructions that run with the same channels.

    `constant` tells which number a place has held since before these instructions, if it knows.
    """

    constant: Callable[[Place], int | None]
    _rows: _Rows = field(default_factory=_Rows)

    def next(self, step: Step) -> dict[Expr, Lookup]:
        """Return those of the next instruction's indices that go into tables."""
        found, writes = dict[Expr, Lookup](), list[tuple[WriteRegister, int | None]]()
        for effect in step.effects:
            channel = channel_within(getattr(effect, "mask", None))
            reader = _Reader(self._rows, self.constant, channel)
            for index in _indices(effect):
                most = reader.most(index)
                if most is not None and most <= _MOST:
                    found[index] = Lookup(most, channel)
            if isinstance(effect, WriteRegister):
                writes.append((effect, reader.most(effect.value)))
        for write, most in writes:
            self._note(write, most)
        if any(isinstance(effect, WriteIndirect) for effect in step.effects):
            self._rows.clear()
        return found

    def _note(self, write: WriteRegister, most: int | None) -> None:
        """Know of a row what was written to it, and nothing else."""
        rows = self._rows.setdefault(write.place.variable.index, {})
        low, high = place_span(write.place)
        for row in [row for row in rows if low < row.end and row.offset < high]:
            del rows[row]
        row, channel = row_of(write.place), channel_of(write.mask)
        holds = write.mask is None or channel is not None
        if row is not None and holds and most is not None and most <= _MOST:
            rows[row] = most, channel


class _Reader:
    """Finds what values do not exceed in lanes that are active from a channel on.

    They are not negative then; None stands for any number.
    """

    def __init__(
        self, rows: _Rows, constant: Callable[[Place], int | None], channel: int | None
    ) -> None:
        self._rows = rows
        self._constant = constant
        self._channel = channel
        self._found: dict[Expr, int | None] = {}

    def most(self, expr: Expr) -> int | None:
        """Return what a value does not exceed."""
        if expr not in self._found:
            self._found[expr] = self._find(expr)
        return self._found[expr]

    def _find(self, expr: Expr) -> int | None:
        if not is_integer(expr.type):
            return None
        if expr.uop.name == "read":
            most = self._read(expr.attribute)
        else:
            most = _most(expr, [self.most(arg) for arg in expr.args])
        end = _end(expr.type)
        if most is not None and most <= end:
            return most
        return None if expr.type.is_signed else end

    def _read(self, place: Place) -> int | None:
        if is_repeated(place):
            number = self._constant(place)
            return None if number is None else _natural([number])
        row, known = row_of(place), self._rows.get(place.variable.index, {})
        most, channel = (None, None) if row is None else known.get(row, (None, None))
        return most if channel is None or channel == self._channel else None


def _end(kind: DataType) -> int:
    """Return the largest number of an integer type."""
    return (1 << kind.bits - kind.is_signed) - 1


def _most(expr: Expr, args: list[int | None]) -> int | None:
    """Return what an operation does not exceed if nothing wraps, nor is below zero.

    `args` is that of its operands.
    """
    known = [arg for arg in args if arg is not None]
    match expr.uop.name:
        case "constant" if is_integer(expr.type):
            return _natural([expr.attribute])
        case "vector" if is_integer(expr.type):
            return _natural(expr.attribute)
        case "and":
            return min(known, default=None)
        case "select":
            return None if None in args[1:] else max(known[-2:])
        case "min" if not expr.type.is_signed:
            return min(known, default=None)
        case _ if not known or None in args:
            return None
        case "max" | "min" | "concat" | "broadcast" | "take" | "convert" | "clamp":
            return max(known)
        case "bitcast" if expr.args[0].type.bits == expr.type.bits:
            return known[0]
        case _:
            return _calculated(expr, known)


def _calculated(expr: Expr, args: list[int]) -> int | None:
    """Return what a calculation does not exceed, of which all operands are known."""
    first, *others = args
    match expr.uop.name:
        case "or" | "xor":
            return (1 << max(args).bit_length()) - 1
        case "add":
            return sum(args)
        case "mul":
            return first * others[0]
        case "shr":
            return first >> (_constant(expr.args[1]) or 0)
        case "shl" if (count := _constant(expr.args[1])) is not None:
            return first << count
        case "div" if count := _constant(expr.args[1]):
            return first // count
        case "rem" if count := _constant(expr.args[1]):
            return min(first, count - 1)
        case _:
            return None


def _constant(expr: Expr) -> int | None:
    """Return the number that a count is in all lanes, which counts of shifts are cut to."""
    match expr.uop.name:
        case "constant" if is_integer(expr.type):
            return _natural([expr.attribute])
        case "broadcast" | "convert":
            found = _constant(expr.args[0])
            return found if found is None or found <= _end(expr.type) else None
        case "and":
            a, b = map(_constant, expr.args)
            return None if a is None or b is None else a & b
        case _:
            return None


def _natural(numbers: Sequence[float]) -> int | None:
    """Return the largest one of some numbers, if none is negative."""
    return int(max(numbers)) if min(numbers) >= 0 else None


def _indices(effect: Effect) -> Iterator[Expr]:
    """Return what an effect makes addresses of to load from: numbers, which it may extend."""
    if isinstance(effect, Load) and effect.addresses.type.bits == 32:
        yield effect.addresses
    if not isinstance(effect, WriteRegister):
        return
    for expr in expressions([effect]):
        if expr.uop.name == "convert" and expr.type.bits == 64 and expr.lanes >= LEAST_LANES:
            yield from (source for source in expr.args if is_integer(source.type))
