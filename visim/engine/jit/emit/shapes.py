"""Shapes of addresses from facts: rows whose lanes differ by a step, and vectors of indices.

A fact says that a value is affine. Where a sum is extended, which may wrap, no fact holds of the
wider value; then its shape is that of the operand, extended, and the message tests it.
"""

from __future__ import annotations

from collections.abc import Callable, Container

from visim.engine.jit.ir.shapes import Shape, ShapeWriter, linear, ragged
from visim.engine.jit.ir.text import Text, scalar_type, signed
from visim.engine.jit.mir.facts import Fact
from visim.engine.jit.mir.ops import OPS, Op
from visim.engine.jit.mir.solver import Facts
from visim.engine.jit.mir.values import Value
from visim.sem.expr import WIDE
from visim.types import BOOL, DataType

_MOST_DEPTH = 12
"""So many operations are looked through at most."""
_INDEX_BITS = 32
_ADDRESS_BITS = 64


class ShapeFinder:
    """Finds the shapes of values of one function.

    Args:
        text: where scalars are written.
        facts: what is known of the values.
        exact: affine values that are known not to wrap.
        name: gives the vector that a value is.
    """

    def __init__(
        self,
        text: Text,
        facts: Facts,
        exact: Container[Value],
        name: Callable[[Value], str],
    ) -> None:
        self.text = text
        self.facts = facts
        self._exact = exact
        self.name = name
        self.writer = ShapeWriter(text)
        self._found: dict[Value, Shape | None] = {}

    def begin_block(self) -> None:
        """Forget what was found where control may not have come from."""
        self._found.clear()

    def addresses(self, value: Value) -> Shape | None:
        """Return the shape of addresses; those of 32 bits have one in any case."""
        found = self.shape(value, 0)
        if found is None and value.type is not None and value.type.bits == _INDEX_BITS:
            return ragged(value.lanes, self.name(value), _ADDRESS_BITS, signed=False)
        return found

    def shape(self, value: Value, depth: int) -> Shape | None:
        """Return the shape of integers, if one is found within so much `depth`; it is kept."""
        if value not in self._found:
            self._found[value] = self._new(value, depth)
        return self._found[value]

    def _new(self, value: Value, depth: int) -> Shape | None:
        kind = value.type
        if kind is None or not is_plain(kind) or depth > _MOST_DEPTH:
            return None
        fact = self.facts.of(value)
        if fact.step is not None:
            return self._affine(value, kind, fact)
        find = _TABLE.get(value.op)
        return None if find is None else find(self, value, kind, depth + 1)

    def _affine(self, value: Value, kind: DataType, fact: Fact) -> Shape:
        """Return the shape of a value whose lanes differ by a known step."""
        bits, step = kind.bits, signed(fact.step or 0, kind.bits)
        first = fact.lanes[0] if fact.lanes else None
        core = str(signed(first, bits)) if first is not None else self._lane(value, kind)
        # What goes up by a step within a range that is shorter than all numbers does not wrap.
        short = fact.low >= 0 < step and fact.high - fact.low < (1 << bits) - step
        exact = not step or short or value in self._exact
        return linear(value.lanes, bits, (core,), step, exact=exact)

    def _lane(self, value: Value, kind: DataType) -> str:
        vector = f"<{value.lanes} x {scalar_type(kind)}>"
        return self.text.let(f"extractelement {vector} {self.name(value)}, i64 0")


def is_plain(kind: DataType) -> bool:
    """Whether a type is one of integers of at most 64 bits."""
    return not kind.is_float and kind is not WIDE and kind is not BOOL


def _convert(find: ShapeFinder, value: Value, kind: DataType, depth: int) -> Shape | None:
    (arg,) = value.args
    source = arg.type
    if source is None or not is_plain(source):
        return None
    found = find.shape(arg, depth)
    if found is not None:
        return find.writer.convert(found, kind.bits, signed=source.is_signed)
    if source.bits == _INDEX_BITS < kind.bits:
        return ragged(arg.lanes, find.name(arg), kind.bits, signed=source.is_signed)
    return None


def _add(find: ShapeFinder, value: Value, kind: DataType, depth: int) -> Shape | None:
    a, b = (find.shape(arg, depth) for arg in value.args)
    return None if a is None or b is None else find.writer.add(a, b)


def _subtract(find: ShapeFinder, value: Value, kind: DataType, depth: int) -> Shape | None:
    a, b = (find.shape(arg, depth) for arg in value.args)
    if a is None or b is None or b.form.ragged:
        return None
    return find.writer.add(a, find.writer.scaled(b, -1))


def _shift(find: ShapeFinder, value: Value, kind: DataType, depth: int) -> Shape | None:
    by = find.facts.of(value.args[1]).number
    return None if by is None or by >= kind.bits else _scaled(find, value, 1 << by, depth)


def _multiply(find: ShapeFinder, value: Value, kind: DataType, depth: int) -> Shape | None:
    factor = find.facts.of(value.args[1]).number
    return None if factor is None else _scaled(find, value, factor, depth)


def _scaled(find: ShapeFinder, value: Value, factor: int, depth: int) -> Shape | None:
    found = find.shape(value.args[0], depth)
    return None if found is None else find.writer.scaled(found, factor)


def _join(find: ShapeFinder, value: Value, kind: DataType, depth: int) -> Shape | None:
    parts = [find.shape(arg, depth) for arg in value.args]
    known = [part for part in parts if part is not None]
    return find.writer.joined(known) if len(known) == len(parts) else None


_TABLE: dict[Op, Callable[[ShapeFinder, Value, DataType, int], Shape | None]] = {
    OPS["convert"]: _convert,
    OPS["bitcast"]: _convert,
    OPS["add"]: _add,
    OPS["sub"]: _subtract,
    OPS["shl"]: _shift,
    OPS["mul"]: _multiply,
    OPS["concat"]: _join,
}
"""Operations whose results have a shape where their operands have, though no fact says it."""

__all__ = ["ShapeFinder"]
