"""Rows that vectors are where choices of single channels change nothing.

Filters clamp the column of an image: `max(x - 1, 0)`, `min(x + 1, w - 1)`, `x ? x - 1 : 0`. Each
channel chooses for itself, but in all threads that are not at an edge all choose alike. So the
row of those is supposed, and tests of scalars say whether it is what there is: a row that does not
wrap only goes up or down, so its first and its last element tell. The same holds of rings, where
`(x + k) & mask` wraps in few threads only.
"""

from __future__ import annotations

from collections.abc import Callable

from visim.engine.jit.analysis.affine import ShapeReader
from visim.engine.jit.analysis.lanes import Row, row_of
from visim.engine.jit.analysis.settings import COMPARISONS
from visim.engine.jit.analysis.slots import is_integer
from visim.engine.jit.ir.shapes import Shape, ShapeWriter, is_uniform, linear, literal, uniform
from visim.engine.jit.ir.text import signed
from visim.sem.effects import Place
from visim.sem.expr import Expr

Known = Callable[[Row, int | None], tuple[Shape, tuple[str, ...]] | None]
"""What is supposed of a row of a variable, in lanes from a channel on that are active."""

_MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge"}


class SupposingReader(ShapeReader):
    """Finds shapes that are supposed, at the instruction of another reader.

    `tests` are the names of what has to hold, each an i1; `known` says what variables hold.
    """

    def __init__(self, reader: ShapeReader, known: Known) -> None:
        super().__init__(reader.text, reader.storage, reader.affine, reader.key, reader.step)
        self.indices = reader.indices
        self.writer = ShapeWriter(reader.text, joins=True)
        self.known = known
        self.tests: list[str] = []

    def _indices(self, source: Expr, expr: Expr) -> Shape | None:
        """Return no shape: vectors of indices are what has been found without supposing."""
        return None

    def _read(self, place: Place, channel: int | None) -> Shape | None:
        found = super()._read(place, channel)
        if found is not None and not found.form.ragged:
            return found
        row = row_of(place)
        supposed = None if row is None else self.known(row, channel)
        if supposed is None:
            return None
        self.tests += supposed[1]
        return supposed[0]

    # What wraps

    def _binary(self, expr: Expr, channel: int | None) -> Shape | None:
        """Return a row of which low bits are kept, as indices of rings have: it does not wrap."""
        found = super()._binary(expr, channel)
        if found is not None or expr.uop.name != "and":
            return found
        a, b = (self.shape(arg, channel) for arg in expr.args)
        if a is None or b is None:
            return None
        row, mask = (a, b) if is_uniform(b) else (b, a)
        if not _is_plain(row) or not is_uniform(mask):
            return None
        row, mask = self.writer.aligned(row, mask)
        bits, reach = row.form.bits, _reach(row)
        cores = dict[tuple[str, str], str]()
        for core, number in dict.fromkeys(zip(row.cores, mask.cores, strict=True)):
            self._keeps_low_bits(number, bits)
            first, last = (
                self.text.let(f"and i{bits} {self._at(row, core, end)}, {number}")
                for end in (0, reach)
            )
            away = self.text.let(f"sub i{bits} {last}, {first}")
            self.tests.append(self.text.let(f"icmp eq i{bits} {away}, {signed(reach, bits)}"))
            cores[core, number] = first
        firsts = tuple(cores[pair] for pair in zip(row.cores, mask.cores, strict=True))
        return linear(row.lanes, bits, firsts, row.form.step, exact=True)

    def _keeps_low_bits(self, mask: str, bits: int) -> None:
        """Suppose that a mask is one less than a power of two: it has low bits only."""
        above = self.text.let(f"add i{bits} {mask}, 1")
        both = self.text.let(f"and i{bits} {above}, {mask}")
        self.tests.append(self.text.let(f"icmp eq i{bits} {both}, 0"))

    # Choices

    def _extreme(self, expr: Expr, channel: int | None) -> Shape | None:
        """Return the smaller or the larger of two numbers; of a row and a bound the row."""
        a, b = (self.shape(arg, channel) for arg in expr.args)
        if a is None or b is None:
            return None
        smaller = self.writer.compared("lt", a, b, signed=expr.type.is_signed)
        if smaller is not None:
            ordered = (a, b) if expr.uop.name == "min" else (b, a)
            return self.writer.chosen(smaller, *ordered)
        row, bound = (a, b) if is_uniform(b) else (b, a)
        if not _is_plain(row) or not is_uniform(bound):
            return None
        row, bound = self.writer.aligned(row, bound)
        is_signed, reach = expr.type.is_signed, _reach(row)
        self._goes_on(row, is_signed=is_signed)
        if expr.uop.name == "min":
            self._test("le", row, max(0, reach), bound, is_signed=is_signed)
        else:
            self._test("ge", row, min(0, reach), bound, is_signed=is_signed)
        return row

    def _selection(self, expr: Expr, channel: int | None) -> Shape | None:
        """Return a choice that all channels make alike; that of a row before that of a number."""
        a, b = (self.shape(arg, channel) for arg in expr.args[1:])
        if a is None or b is None:
            return None
        condition = self._condition(expr.args[0], channel)
        if condition is None:
            return None
        known = {literal(core) for core in condition.cores}
        if len(known) == 1 and None not in known:
            return a if known.pop() else b
        return self.writer.chosen(condition, a, b) or self._preferred(condition, a, b)

    def _preferred(self, condition: Shape, a: Shape, b: Shape) -> Shape | None:
        """Return of two shapes the one that goes up, if there is one."""
        first, second = a.form.stride > 0, b.form.stride > 0
        if first is second:
            return None
        for core in dict.fromkeys(condition.cores):
            self.tests.append(core if first else self.text.let(f"xor i1 {core}, true"))
        return a if first else b

    def _condition(self, expr: Expr, channel: int | None) -> Shape | None:
        """Return what a comparison gives in all lanes, as a shape of single bits."""
        name = expr.uop.name
        if name not in COMPARISONS or not is_integer(expr.args[0].type):
            return super()._condition(expr, channel)
        a, b = (self.shape(arg, channel) for arg in expr.args)
        if a is None or b is None:
            return None
        is_signed = expr.args[0].type.is_signed
        found = self.writer.compared(name, a, b, signed=is_signed)
        if found is not None:
            return found
        row, bound, relation = (a, b, name) if is_uniform(b) else (b, a, _MIRRORED[name])
        if not _is_plain(row) or not is_uniform(bound):
            return None
        if relation in {"eq", "ne"}:
            self._differ(row, bound)
            return uniform(row.lanes, 1, "1" if relation == "ne" else "0")
        return self._ordered(relation, row, bound, is_signed=is_signed)

    def _differ(self, row: Shape, bound: Shape) -> None:
        """Suppose that no lane of a row is a number: it is not between the ends."""
        row, bound = self.writer.aligned(row, bound)
        bits, reach = row.form.bits, _reach(row)
        for core, number in dict.fromkeys(zip(row.cores, bound.cores, strict=True)):
            pair = (number, core) if reach > 0 else (core, number)
            away = self.text.let(f"sub i{bits} {pair[0]}, {pair[1]}")
            self.tests.append(self.text.let(f"icmp ugt i{bits} {away}, {abs(reach)}"))

    def _ordered(self, relation: str, row: Shape, bound: Shape, *, is_signed: bool) -> Shape:
        """Suppose that both ends of a row are on one side of a number; return on which."""
        row, bound = self.writer.aligned(row, bound)
        word = ("s" if is_signed else "u") + relation
        self._goes_on(row, is_signed=is_signed)
        found = dict[tuple[str, str], str]()
        for core, number in dict.fromkeys(zip(row.cores, bound.cores, strict=True)):
            bits = row.form.bits
            one, other = (
                self.text.let(f"icmp {word} i{bits} {self._at(row, core, end)}, {number}")
                for end in (0, _reach(row))
            )
            self.tests.append(self.text.let(f"icmp eq i1 {one}, {other}"))
            found[core, number] = one
        cores = tuple(found[pair] for pair in zip(row.cores, bound.cores, strict=True))
        return linear(row.lanes, 1, cores, 0, exact=True)

    # Ends of rows

    def _goes_on(self, row: Shape, *, is_signed: bool) -> None:
        """Suppose that a row does not wrap."""
        reach, bits = _reach(row), row.form.bits
        word = ("s" if is_signed else "u") + ("ge" if reach > 0 else "le")
        for core in dict.fromkeys(row.cores):
            last = self._at(row, core, reach)
            self.tests.append(self.text.let(f"icmp {word} i{bits} {last}, {core}"))

    def _test(self, relation: str, row: Shape, end: int, bound: Shape, *, is_signed: bool) -> None:
        """Suppose a relation of a number to what is so far from the first lanes of a row."""
        word = ("s" if is_signed else "u") + relation
        for core, number in dict.fromkeys(zip(row.cores, bound.cores, strict=True)):
            place = self._at(row, core, end)
            self.tests.append(self.text.let(f"icmp {word} i{row.form.bits} {place}, {number}"))

    def _at(self, row: Shape, core: str, away: int) -> str:
        if not away:
            return core
        bits = row.form.bits
        return self.text.let(f"add i{bits} {core}, {signed(away, bits)}")


def _reach(row: Shape) -> int:
    return row.form.step * (row.form.piece - 1)


def _is_plain(row: Shape) -> bool:
    """Whether a shape is a row of numbers as they are, of which the ends tell."""
    form = row.form
    known = form.signed is None and not form.ragged and form.step != 0 and form.piece > 1
    return known and abs(_reach(row)) < 1 << form.bits - 1
