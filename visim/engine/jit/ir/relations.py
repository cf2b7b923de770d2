"""Comparisons of shapes as masks: which lanes of a row are below a number is arithmetic on scalars.

Guards such as `if (i < n)` compare rows, whose neighbours differ by one, with numbers. Where the
row begins then says how many of its lanes are below, which is the mask; no vector is compared.
Where lanes may wrap around that takes some twenty instructions for each piece. Hosts with registers
for masks compare the piece itself then, in six, where it fits one register: two of them, and the
masks joined, come too late where a message waits for the mask (scans of local memory).
"""

from __future__ import annotations

from visim.engine.jit.ir.floats import Library
from visim.engine.jit.ir.shapes import Shape, ShapeWriter, is_uniform
from visim.engine.jit.ir.text import Text, numbers

MOST_PIECES = 2
"""Rows of more pieces are compared as vectors."""

MOST_BITS = 32
"""Differences of wider elements do not fit the 64 bits in which they are computed."""

_REGISTER_BITS = 512
"""How long registers are that are compared into registers for masks."""


class RelationWriter:
    """Writes comparisons of shapes.

    Args:
        text: the function that is written.
        library: what declares intrinsic functions.
    """

    def __init__(self, text: Text, library: Library) -> None:
        self._text = text
        self._library = library

    def bits(self, relation: str, a: Shape, b: Shape, *, signed: bool) -> str | None:
        """Return in which lanes a relation holds, as the low bits of an i64.

        None stands for shapes that are not two numbers, or a row with neighbours one apart and a
        number.

        Args:
            relation: `eq`, `ne`, `lt` or `le`.
            a: the left side.
            b: the right side, as wide.
            signed: whether elements are signed.
        """
        if _is_number(a) and _is_number(b):
            return self._of_numbers(relation, a, b, signed=signed)
        swapped = is_uniform(a)
        row, number = (b, a) if swapped else (a, b)
        if not _is_row(row) or not is_uniform(number) or number.form.signed is not None:
            return None
        piece = min(row.form.piece, number.form.piece)
        if row.lanes // piece > MOST_PIECES:
            return None
        writer = ShapeWriter(self._text)
        row, number = writer.refine(row, piece), writer.refine(number, piece)
        found = "0"
        for place, (first, limit) in enumerate(zip(row.cores, number.cores, strict=True)):
            if relation in {"eq", "ne"}:
                some = self._equal(first, limit, row)
            else:
                # number < row is the opposite of row <= number.
                with_equal = (relation == "le") != swapped
                some = self._below(first, limit, row, signed=signed, with_equal=with_equal)
            if place:
                some = self._text.let(f"shl i64 {some}, {place * piece}")
                some = self._text.let(f"or i64 {found}, {some}")
            found = some
        if relation == "ne" or (swapped and relation in {"lt", "le"}):
            found = self._text.let(f"xor i64 {found}, {(1 << row.lanes) - 1}")
        return found

    def _of_numbers(self, relation: str, a: Shape, b: Shape, *, signed: bool) -> str:
        """Return all lanes or none."""
        text = self._text
        if relation in {"lt", "le"}:
            relation = ("s" if signed else "u") + relation
        holds = text.let(f"icmp {relation} i{a.form.bits} {a.cores[0]}, {b.cores[0]}")
        if a.lanes == 1:
            return text.let(f"zext i1 {holds} to i64")
        return text.let(f"select i1 {holds}, i64 {(1 << a.lanes) - 1}, i64 0")

    def _equal(self, first: str, number: str, row: Shape) -> str:
        """Return the bit of the lane of a piece that is a number."""
        text, bits = self._text, row.form.bits
        lane = text.let(f"sub i{bits} {number}, {first}")
        wide = text.let(f"zext i{bits} {lane} to i64")
        inside = text.let(f"icmp ult i64 {wide}, {row.form.piece}")
        place = text.let(f"select i1 {inside}, i64 {wide}, i64 0")
        one = text.let(f"zext i1 {inside} to i64")
        return text.let(f"shl i64 {one}, {place}")

    def _below(self, first: str, limit: str, row: Shape, *, signed: bool, with_equal: bool) -> str:
        """Return the bits of the lanes of a piece that are below a limit."""
        text, bits, piece = self._text, row.form.bits, row.form.piece
        wraps = signed or not row.form.exact
        if wraps and not text.tests_bits and piece * bits <= _REGISTER_BITS:
            word = ("s" if signed else "u") + ("le" if with_equal else "lt")
            return self._compared(word, first, limit, row)
        start = self._ordered(first, bits, signed=signed)
        end = self._ordered(limit, bits, signed=signed)
        if with_equal:
            end = text.let(f"add i64 {end}, 1")
        distance = text.let(f"sub i64 {end}, {start}")
        found = self._lanes(distance, piece)
        if not wraps:
            return found
        # Lanes behind the one that wraps around begin again at the least number.
        room = text.let(f"sub i64 {1 << bits}, {start}")
        beyond = text.let(f"add i64 {distance}, {1 << bits}")
        others = text.let(f"xor i64 {self._lanes(room, piece)}, -1")
        again = text.let(f"and i64 {self._lanes(beyond, piece)}, {others}")
        return text.let(f"or i64 {found}, {again}")

    def _compared(self, relation: str, first: str, limit: str, row: Shape) -> str:
        """Return the bits of the lanes of a piece for which a relation to a limit holds."""
        text, piece, scalar = self._text, row.form.piece, f"i{row.form.bits}"
        kind, each = f"<{piece} x {scalar}>", numbers(scalar, range(piece))
        lanes = text.let(f"add {kind} {text.spread(scalar, piece, first)}, {each}")
        limits = text.spread(scalar, piece, limit)
        holds = text.let(f"icmp {relation} {kind} {lanes}, {limits}")
        bits = text.let(f"bitcast <{piece} x i1> {holds} to i{piece}")
        return text.let(f"zext i{piece} {bits} to i64")

    def _ordered(self, scalar: str, bits: int, *, signed: bool) -> str:
        """Return an element as an i64 from 0 on, in the order of its type."""
        text = self._text
        if signed:
            scalar = text.let(f"xor i{bits} {scalar}, {-(1 << bits - 1)}")
        return text.let(f"zext i{bits} {scalar} to i64")

    def _lanes(self, count: str, most: int) -> str:
        """Return as many low bits as a number says, none below 0, `most` at most."""
        text = self._text
        for name, bound in (("smax", 0), ("smin", most)):
            function = self._library.intrinsic(f"llvm.{name}.i64", "i64", "i64", "i64")
            count = text.let(f"call i64 {function}(i64 {count}, i64 {bound})")
        top = text.let(f"shl i64 1, {count}")
        return text.let(f"add i64 {top}, -1")


def _is_number(shape: Shape) -> bool:
    return is_uniform(shape) and shape.form.signed is None and len(set(shape.cores)) == 1


def _is_row(shape: Shape) -> bool:
    form = shape.form
    return form.signed is None and not form.ragged and form.step == 1 and form.bits <= MOST_BITS


__all__ = ["RelationWriter"]
