"""What is supposed of variables in straight code, and how vectors are made where it does not hold.

Where a supposed row is not what there is, which few threads find, code that is seldom passed needs
the vector. It is made there again, from scalars and other vectors, so that threads that do not need
it do not compute it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace

from visim.engine.jit.analysis.affine import ShapeReader
from visim.engine.jit.analysis.lanes import Row, channel_of, row_of
from visim.engine.jit.analysis.slots import is_integer
from visim.engine.jit.analysis.supposed import SupposingReader
from visim.engine.jit.ir.places import is_repeated, place_span
from visim.engine.jit.ir.shapes import Shape, ShapeWriter
from visim.engine.jit.writing.values import Values
from visim.sem.effects import RegisterWrite, WriteIndirect, WriteRegister
from visim.sem.expr import Expr, below, is_seldom
from visim.types import BOOL

_CHOICES = frozenset({"min", "max", "select"})
_OPERATIONS = _CHOICES | {
    *("add", "sub", "mul", "shl", "shr", "and", "or", "xor", "not", "neg", "abs"),
    *("convert", "bitcast", "eq", "ne", "lt", "le"),
}
_MOST = 48
"""How many operations make a vector again; one that takes more stays in a register."""

_Bits = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Remade:
    """A vector that is made again where it is needed.

    Attributes:
        values: what writes its operations.
        expr: what it is.
        leaves: what it is made of: shapes, other such vectors, or names.
        predicates: the same of predicates.
        weight: how many operations it takes.
    """

    values: Values
    expr: Expr
    leaves: Mapping[Expr, Shape | Remade | str]
    predicates: Mapping[_Bits, Remade | str]
    weight: int

    def write(self) -> str:
        """Write the operations; return the name of the vector."""
        known = {leaf: self._made(one) for leaf, one in self.leaves.items()}
        fresh = {bits: self._made(one) for bits, one in self.predicates.items()}
        again = replace(self.values, shapes=None, fresh=fresh, _known=known, _bits_known={})
        return again.value(self.expr)

    def _made(self, one: Shape | Remade | str) -> str:
        if isinstance(one, Remade):
            return one.write()
        return ShapeWriter(self.values.text).vector(one) if isinstance(one, Shape) else one


@dataclass(frozen=True, slots=True)
class Supposed:
    """What is supposed of a row of a variable, for all channels or for active ones."""

    row: Row
    channel: int | None
    shape: Shape
    tests: tuple[str, ...]
    remade: Remade


@dataclass
class Suppositions:
    """What is supposed of variables at an instruction of a chain.

    Attributes:
        held: what is known, by variable.
        cores: how vectors of indices are made again, by their names.
    """

    held: dict[int, list[Supposed]] = field(default_factory=dict[int, list[Supposed]])
    cores: dict[str, Remade] = field(default_factory=dict[str, Remade])

    def find(self, row: Row, channel: int | None) -> Supposed | None:
        """Return what is supposed of a row, if that is known of the lanes that are looked at."""
        for one in self.held.get(row.variable, ()):
            if one.row == row and (one.channel is None or one.channel == channel):
                return one
        return None

    def known(self, row: Row, channel: int | None) -> tuple[Shape, tuple[str, ...]] | None:
        """Return the shape that is supposed of a row, and what has to hold for it."""
        found = self.find(row, channel)
        return None if found is None else (found.shape, found.tests)

    def forget(self, variables: Iterable[int]) -> None:
        """Suppose nothing of variables that are written."""
        for variable in variables:
            self.held.pop(variable, None)

    def note(self, writes: Iterable[RegisterWrite], found: Iterable[Supposed]) -> None:
        """Note that an instruction has written registers, and what is supposed of them."""
        for write in writes:
            if isinstance(write, WriteIndirect):
                self.held.clear()
            elif isinstance(write, WriteRegister):
                self._overwrite(write)
        for one in found:
            self.held.setdefault(one.row.variable, []).append(one)

    def _overwrite(self, write: WriteRegister) -> None:
        low, high = place_span(write.place)
        variable = write.place.variable.index
        known = self.held.get(variable)
        if known:
            self.held[variable] = [
                one for one in known if one.row.end <= low or high <= one.row.offset
            ]


class Supposing:
    """Supposes what an instruction computes and writes."""

    def __init__(self, values: Values, reader: ShapeReader, known: Suppositions) -> None:
        self.values = values
        self.reader = reader
        self.suppositions = known

    def shape(self, expr: Expr, channel: int | None) -> tuple[Shape, tuple[str, ...]] | None:
        """Return the shape that an expression is supposed to have, and what has to hold."""
        if not self._may_suppose(expr, channel):
            return None
        reader = SupposingReader(self.reader, self.suppositions.known)
        found = reader.shape(expr, channel)
        if found is None or found.form.ragged or not reader.tests:
            return None
        return found, tuple(dict.fromkeys(reader.tests))

    def _may_suppose(self, expr: Expr, channel: int | None) -> bool:
        """Whether an expression chooses, or reads of what something is supposed."""
        for one in below([expr]):
            if one.uop.name in _CHOICES or _keeps_some_bits(one):
                return True
            row = row_of(one.attribute) if one.uop.name == "read" else None
            if row is not None and self.suppositions.find(row, channel) is not None:
                return True
        return False

    def written(self, writes: Iterable[RegisterWrite], known: Container[Row]) -> list[Supposed]:
        """Return what is supposed of registers that are written, but for rows that are known."""
        found = list[Supposed]()
        for write in writes:
            if isinstance(write, WriteRegister) and is_integer(write.value.type):
                row = row_of(write.place)
                one = None if row is None or row in known else self._write(write, row)
                if one is not None:
                    found.append(one)
        return found

    def _write(self, write: WriteRegister, row: Row) -> Supposed | None:
        channel = channel_of(write.mask)
        if write.value.type.bits < 32 or (write.mask is not None and channel is None):
            return None
        found = self.shape(write.value, channel)
        if found is None:
            return None
        remade = self.remade(write.value, channel)
        if self.values.mask(write.mask) is None:
            channel = None
        return Supposed(row, channel, *found, remade)

    def ragged(self, channel: int | None, source: Expr, core: str) -> None:
        """Note how a vector of indices is made again."""
        if not self._may_suppose(source, channel):
            return
        remade = self.remade(source, channel)
        if any(isinstance(one, Remade) for one in remade.leaves.values()):
            self.suppositions.cores[core] = remade

    # Making vectors again

    def remade(self, expr: Expr, channel: int | None) -> Remade:
        """Return how the vector of an expression is made again later."""
        leaves = dict[Expr, Shape | Remade | str]()
        predicates = dict[_Bits, Remade | str]()
        weight = self._collect(expr, channel, leaves, predicates)
        parts = [*leaves.values(), *predicates.values()]
        weight += sum(one.weight for one in parts if isinstance(one, Remade))
        if weight > _MOST:
            leaves, predicates, weight = {expr: self.values.value(expr)}, {}, 1
        return Remade(self.values, expr, leaves, predicates, weight)

    def _collect(
        self,
        expr: Expr,
        channel: int | None,
        leaves: dict[Expr, Shape | Remade | str],
        predicates: dict[_Bits, Remade | str],
    ) -> int:
        """Find what an expression is made of; return how many operations it takes."""
        if expr in leaves or expr.uop.name in {"constant", "vector"}:
            return 0
        if expr.uop.name == "predicate":
            variable, offset = expr.attribute
            predicates[variable.name, offset, expr.lanes] = self._predicate(expr, channel)
            return 0
        plain = expr.type is BOOL or is_integer(expr.type)
        plain = plain and all(arg.type is BOOL or is_integer(arg.type) for arg in expr.args)
        if expr.uop.name not in _OPERATIONS or not plain or is_seldom(expr):
            leaves[expr] = self._leaf(expr, channel)
            return 1
        return 1 + sum(self._collect(arg, channel, leaves, predicates) for arg in expr.args)

    def _leaf(self, expr: Expr, channel: int | None) -> Shape | Remade | str:
        shape = self.reader.shape(expr, channel)
        if shape is not None and not shape.form.ragged:
            return shape
        row = row_of(expr.attribute) if expr.uop.name == "read" else None
        known = None if row is None else self.suppositions.find(row, channel)
        return self.values.value(expr) if known is None else known.remade

    def _predicate(self, expr: Expr, channel: int | None) -> Remade | str:
        """Return how a predicate is made again, if it has been set to a comparison before."""
        reader = self.reader
        setting = reader.affine.settings.seen(expr, reader.key, reader.step)
        if setting is None or (setting.mask is not None and channel_of(setting.mask) != channel):
            return self.values.value(expr)
        return self.remade(setting.value, channel)


def _keeps_some_bits(expr: Expr) -> bool:
    """Whether an expression keeps those bits of numbers that one number says, not a known one."""
    return expr.uop.name == "and" and any(map(_is_scalar, expr.args))


def _is_scalar(expr: Expr) -> bool:
    """Whether all channels read the same element."""
    return expr.uop.name == "read" and is_repeated(expr.attribute)
