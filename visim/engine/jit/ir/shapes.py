"""Shapes: vectors of integers that a few scalars describe, because neighbours differ by a step.

The channels of a work-group read and write arrays mostly in rows: their addresses are one base
and equal steps. A shape keeps such a vector as scalars, so that messages need one check and one
access for all channels. Everything is exact modulo 2**bits; only an extension of sums that wrap
makes a vector that is not linear, and then `ShapeWriter.straight` says so at run time.

Where neighbours do not differ by a step, a ragged shape keeps one vector of 32-bit numbers beside
the scalars: indices into an array, which messages check and use as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

from visim.engine.jit.ir.division import scalar_quotient
from visim.engine.jit.ir.text import Text, numbers, signed, splat

_Scalars = TypeVar("_Scalars", str, tuple[str, str])
"""A scalar, or a pair."""


@dataclass(frozen=True, slots=True)
class Form:
    """What is known of a shape before the run.

    The vector is made of pieces of `piece` lanes. Lane i of a piece is `extension(core + i * step)
    * scale + offset`, modulo 2**bits, with `core` in `core_bits` and `offset` in `bits` bits.

    Attributes:
        signed: how a core narrower than `bits` is extended; None where it is not.
        exact: whether `core + i * step` is known not to wrap as an unsigned number.
        ragged: whether the core is a vector of any numbers, in one piece and without a step.
    """

    piece: int
    bits: int
    core_bits: int
    step: int
    signed: bool | None = None
    scale: int = 1
    exact: bool = False
    ragged: bool = False

    @property
    def core_type(self) -> str:
        """The type of a core."""
        return f"<{self.piece} x i{self.core_bits}>" if self.ragged else f"i{self.core_bits}"

    @property
    def extends_sign(self) -> bool:
        """Whether cores are signed; those of odd sizes are low bits that were cut out."""
        return self.signed is True and self.core_bits % 8 == 0

    @property
    def stride(self) -> int:
        """The difference of neighbours where nothing wraps."""
        return self.step * self.scale

    @property
    def always_wraps(self) -> bool:
        """Whether a piece has more elements than its extended cores have room for.

        So it is with few low bits of numbers, such as `x & 1`.
        """
        return self.signed is not None and abs(self.step) * (self.piece - 1) >= 1 << self.core_bits


@dataclass(frozen=True, slots=True)
class Shape:
    """A vector of `lanes` lanes: its form, and for each piece the names of core and offset."""

    form: Form
    lanes: int
    cores: tuple[str, ...]
    offsets: tuple[str, ...]


def linear(lanes: int, bits: int, cores: tuple[str, ...], step: int, *, exact: bool) -> Shape:
    """Return a shape without an extension."""
    form = Form(lanes // len(cores), bits, bits, signed(step, bits), exact=exact)
    return Shape(form, lanes, cores, ("0",) * len(cores))


def uniform(lanes: int, bits: int, scalar: str) -> Shape:
    """Return the shape of a scalar in every lane."""
    return linear(lanes, bits, (scalar,), 0, exact=True)


def row_of_constants(values: list[int], bits: int) -> Shape | None:
    """Return the shape of known numbers, if neighbours differ by the same."""
    if len(values) == 1:
        return uniform(1, bits, str(signed(values[0], bits)))
    step = values[1] - values[0]
    if any(b - a != step for a, b in pairwise(values)):
        return None
    exact = min(values) >= 0
    return linear(len(values), bits, (str(signed(values[0], bits)),), step, exact=exact)


def ragged(lanes: int, core: str, bits: int, *, signed: bool) -> Shape:
    """Return the shape of a vector of 32-bit numbers, extended to `bits` bits."""
    return Shape(Form(lanes, bits, 32, 0, signed, ragged=True), lanes, (core,), ("0",))


def is_uniform(shape: Shape) -> bool:
    """Whether all lanes of a piece are the same."""
    return shape.form.step == 0 and not shape.form.ragged


def is_literal(shape: Shape) -> bool:
    """Whether a shape is made of known numbers."""
    if shape.form.ragged or shape.form.signed is not None:
        return False
    return all(literal(core) is not None for core in shape.cores)


def _in_one(shape: Shape) -> Shape:
    """Return a shape, in one piece where its numbers are known to go on from piece to piece."""
    form, modulus = shape.form, 1 << shape.form.bits
    if not is_literal(shape):
        return shape
    cores = [int(core) % modulus for core in shape.cores]
    distance = form.piece * form.step
    if all((core - cores[0] - n * distance) % modulus == 0 for n, core in enumerate(cores)):
        shape = linear(shape.lanes, form.bits, shape.cores[:1], form.step, exact=True)
    last = (shape.form.piece - 1) * form.step
    exact = all(0 <= int(core) % modulus + last < modulus for core in shape.cores)
    return replace(shape, form=replace(shape.form, exact=exact))


class ShapeWriter:
    """Computes shapes from shapes.

    `joins` says that sums of two numbers may be near each other.
    """

    def __init__(self, text: Text, *, joins: bool = False) -> None:
        self.text = text
        self.joins = joins

    # Pieces

    def refine(self, shape: Shape, piece: int) -> Shape:
        """Return the shape in pieces of `piece` lanes, which divides the present one."""
        form = shape.form
        parts = form.piece // piece
        if parts == 1:
            return shape
        found = {
            core: [
                self._plus(form.core_bits, core, form.step * piece * part) for part in range(parts)
            ]
            for core in dict.fromkeys(shape.cores)
        }
        cores = tuple(part for core in shape.cores for part in found[core])
        offsets = tuple(offset for offset in shape.offsets for _ in range(parts))
        return Shape(replace(form, piece=piece), shape.lanes, cores, offsets)

    def part(self, shape: Shape, first: int, lanes: int) -> Shape | None:
        """Return some successive lanes of a shape."""
        if shape.form.ragged:
            return self._ragged_part(shape, first, lanes)
        piece = shape.form.piece
        while piece > 1 and (first % piece or lanes % piece):
            piece //= 2
        if first % piece or lanes % piece or (piece == 1 and lanes > 1):
            return None
        shape = self.refine(shape, piece)
        pick = slice(first // piece, (first + lanes) // piece)
        return Shape(shape.form, lanes, shape.cores[pick], shape.offsets[pick])

    def _ragged_part(self, shape: Shape, first: int, lanes: int) -> Shape:
        picks = range(first, first + lanes)
        core = self.text.shuffle(f"i{shape.form.core_bits}", shape.lanes, shape.cores[0], picks)
        return Shape(replace(shape.form, piece=lanes), lanes, (core,), shape.offsets)

    def joined(self, shapes: Sequence[Shape]) -> Shape | None:
        """Return the shape of lanes that come one after the other, if they have the same form."""
        piece = min(shape.form.piece for shape in shapes)
        if any(shape.form.ragged or shape.form.piece % piece for shape in shapes):
            return None
        parts = [self.refine(shape, piece) for shape in shapes]
        form = replace(parts[0].form, exact=all(part.form.exact for part in parts))
        if any(replace(part.form, exact=form.exact) != form for part in parts):
            return None
        cores = tuple(core for part in parts for core in part.cores)
        offsets = tuple(offset for part in parts for offset in part.offsets)
        return _in_one(Shape(form, sum(part.lanes for part in parts), cores, offsets))

    def aligned(self, a: Shape, b: Shape) -> tuple[Shape, Shape]:
        """Return two shapes in pieces of one size."""
        piece = min(a.form.piece, b.form.piece)
        return self.refine(a, piece), self.refine(b, piece)

    # Arithmetic

    def add(self, a: Shape, b: Shape) -> Shape | None:
        """Return the sum of two shapes of the same width, if it is one."""
        if a.form.ragged or b.form.ragged:
            return self._ragged_sum(a, b)
        a, b = self.aligned(a, b)
        if a.form.signed is None and b.form.signed is None:
            step = a.form.step + b.form.step
            return self._linear(a, self._pairs("add", a.form.bits, a.cores, b.cores), step)
        if b.form.signed is not None:
            a, b = b, a
        if b.form.signed is not None or not is_uniform(b):
            return None
        return replace(a, offsets=self._pairs("add", a.form.bits, a.offsets, b.cores))

    def _ragged_sum(self, a: Shape, b: Shape) -> Shape | None:
        if b.form.ragged:
            a, b = b, a
        if not is_uniform(b) or len(set(b.cores)) > 1:
            return None
        offset = self._sum("add", a.form.bits, a.offsets[0], b.cores[0])
        return replace(a, offsets=(offset,))

    def scaled(self, a: Shape, factor: int) -> Shape:
        """Return a shape times a constant."""
        form = a.form
        if form.signed is None:
            cores = _each(a.cores, lambda core: self._times(form.bits, core, factor))
            return self._linear(a, cores, form.step * factor)
        offsets = _each(a.offsets, lambda offset: self._times(form.bits, offset, factor))
        scale = signed(form.scale * factor, form.bits)
        return replace(a, form=replace(form, scale=scale), offsets=offsets)

    def combined(self, word: str, a: Shape, b: Shape) -> Shape | None:
        """Return what an instruction makes of two uniform shapes."""
        if not (is_uniform(a) and is_uniform(b)):
            return None
        a, b = self.aligned(a, b)
        return self._linear(a, self._pairs(word, a.form.bits, a.cores, b.cores), 0)

    def divided(self, name: str, a: Shape, b: Shape) -> Shape | None:
        """Return what `div` or `rem` makes of two uniform shapes of unsigned numbers."""
        if not (is_uniform(a) and is_uniform(b)):
            return None
        a, b = self.aligned(a, b)
        pairs, bits = zip(a.cores, b.cores, strict=True), a.form.bits
        found = _each(pairs, lambda pair: scalar_quotient(self.text, name, bits, *pair))
        return self._linear(a, found, 0)

    def compared(self, relation: str, a: Shape, b: Shape, *, signed: bool) -> Shape | None:
        """Return whether a relation of two uniform shapes holds, as a shape of single bits.

        Args:
            relation: `eq`, `ne`, `lt` or `le`.
            a: the left side.
            b: the right side, as wide.
            signed: whether elements are signed.
        """
        if not (is_uniform(a) and is_uniform(b)):
            return None
        a, b = self.aligned(a, b)
        if relation in {"lt", "le"}:
            relation = ("s" if signed else "u") + relation
        holds = self._pairs(f"icmp {relation}", a.form.bits, a.cores, b.cores)
        return linear(a.lanes, 1, holds, 0, exact=True)

    def chosen(self, condition: Shape, a: Shape, b: Shape) -> Shape | None:
        """Return the first shape where a condition holds, else the second one, of the same form."""
        piece = min(one.form.piece for one in (condition, a, b))
        if a.form.ragged or b.form.ragged:
            return None
        condition, a, b = (self.refine(one, piece) for one in (condition, a, b))
        exact = a.form.exact and b.form.exact
        form = replace(a.form, exact=exact)
        if form != replace(b.form, exact=exact):
            return None
        cores = self._choices(form.core_bits, condition, a.cores, b.cores)
        offsets = self._choices(form.bits, condition, a.offsets, b.offsets)
        return Shape(form, a.lanes, cores, offsets)

    def _choices(
        self, bits: int, condition: Shape, a: tuple[str, ...], b: tuple[str, ...]
    ) -> tuple[str, ...]:
        """Return for each piece one of two scalars."""
        return tuple(
            one
            if one == other
            else self.text.let(f"select i1 {bit}, i{bits} {one}, i{bits} {other}")
            for bit, one, other in zip(condition.cores, a, b, strict=True)
        )

    def convert(self, a: Shape, bits: int, *, signed: bool) -> Shape | None:
        """Return a shape as integers of another width; `signed` says how they are extended."""
        form = a.form
        if bits == form.bits:
            return a
        if bits < form.bits:
            return self._narrowed(a, bits)
        if form.signed is not None:
            return _widened(a, bits, signed=signed)
        if is_uniform(a) or (form.exact and not signed):
            word = "sext" if signed else "zext"
            cores = _each(a.cores, lambda core: self._cast(word, form.bits, core, bits))
            return linear(a.lanes, bits, cores, form.step, exact=form.exact and not signed)
        wider = replace(form, bits=bits, signed=signed)
        return Shape(wider, a.lanes, a.cores, ("0",) * len(a.cores))

    def _narrowed(self, a: Shape, bits: int) -> Shape | None:
        form = a.form
        if form.ragged:
            return None
        if form.signed is None:
            cores = _each(a.cores, lambda core: self._cast("trunc", form.bits, core, bits))
            return self._linear(replace(a, form=replace(form, bits=bits)), cores, form.step)
        if form.core_bits != bits:
            return None
        scaled = _each(a.cores, lambda core: self._times(bits, core, form.scale))
        offsets = _each(a.offsets, lambda offset: self._cast("trunc", form.bits, offset, bits))
        cores = self._pairs("add", bits, scaled, offsets)
        return linear(a.lanes, bits, cores, form.stride, exact=False)

    def _linear(self, like: Shape, cores: tuple[str, ...], step: int) -> Shape:
        return linear(like.lanes, like.form.bits, cores, step, exact=step == 0)

    # Ends

    def first(self, shape: Shape, piece: int) -> str:
        """Return lane 0 of a piece."""
        form = shape.form
        core = shape.cores[piece]
        if form.signed is None:
            return core
        word = "sext" if form.signed else "zext"
        wide = self._cast(word, form.core_bits, core, form.bits)
        scaled = self._times(form.bits, wide, form.scale)
        return self._sum("add", form.bits, scaled, shape.offsets[piece])

    def straight(self, form: Form, core: str, away: int = 0) -> list[str]:
        """Return tests whether a piece is linear, which one whose extended sums wrap is not.

        Its core is so far `away` from another one, and linear where that goes there without a wrap.
        """
        if form.signed is None or (form.step == 0 and not away):
            return []
        bits, end = form.core_bits, away + form.step * (form.piece - 1)
        least = -(1 << bits - 1) if form.signed else 0
        most = (1 << bits - form.signed) - 1
        low, high = least - min(0, away, end), most - max(0, away, end)
        if low > most or high < least:
            return ["false"]
        sign, tests = ("s" if form.signed else "u"), list[str]()
        if low > least:
            tests.append(self.text.let(f"icmp {sign}ge i{bits} {core}, {signed(low, bits)}"))
        if high < most:
            tests.append(self.text.let(f"icmp {sign}le i{bits} {core}, {signed(high, bits)}"))
        return tests

    def behind(self, shape: Shape, piece: int, lane: str) -> Shape:
        """Return a piece from a lane on, whose number is an i64."""
        form = shape.form
        lane = self._cast("trunc", 64, lane, form.core_bits)
        away = self._times(form.core_bits, lane, form.step)
        core = self._sum("add", form.core_bits, shape.cores[piece], away)
        return Shape(form, form.piece, (core,), (shape.offsets[piece],))

    def straight_until(self, shape: Shape, lane: str) -> str | None:
        """Return whether the first piece is linear up to a lane, whose number is an i64."""
        text, form = self.text, shape.form
        if form.signed is None or is_uniform(shape):
            return None
        word, least = ("sext", -(1 << form.core_bits - 1)) if form.signed else ("zext", 0)
        first = self._cast(word, form.core_bits, shape.cores[0], 64)
        away = text.let(f"mul i64 {lane}, {form.step}")
        last = text.let(f"add i64 {first}, {away}")
        place = self._plus(64, last, -least)
        return text.let(f"icmp ult i64 {place}, {1 << form.core_bits}")

    def vector(self, shape: Shape) -> str:
        """Return the whole vector, exact in all cases."""
        text, form, lanes = self.text, shape.form, shape.lanes
        if form.signed is None:
            return self._row(shape.cores, form.bits, form, lanes)
        found, vector = self._extended(shape), f"<{lanes} x i{form.bits}>"
        if form.scale != 1:
            factor = splat(f"i{form.bits}", lanes, form.scale)
            found = text.let(f"mul {vector} {found}, {factor}")
        if set(shape.offsets) != {"0"}:
            offsets = self._spread(shape.offsets, form.bits, lanes)
            found = text.let(f"add {vector} {found}, {offsets}")
        return found

    def wide(self, shape: Shape) -> list[tuple[str, str]]:
        """Return the core and the offset of each piece, as 64-bit numbers."""
        form = shape.form
        cores = [self._cast("zext", form.core_bits, core, 64) for core in shape.cores]
        offsets = [self._cast("zext", form.bits, offset, 64) for offset in shape.offsets]
        return list(zip(cores, offsets, strict=True))

    def _row(self, cores: tuple[str, ...], bits: int, form: Form, lanes: int) -> str:
        """Return cores and their steps as a vector of integers of `bits` bits."""
        found = self._spread(cores, bits, lanes)
        if not form.step:
            return found
        steps = [signed(form.step * (lane % form.piece), bits) for lane in range(lanes)]
        return self.text.let(f"add <{lanes} x i{bits}> {found}, {numbers(f'i{bits}', steps)}")

    def _extended(self, shape: Shape) -> str:
        """Return the extended cores; those of odd sizes are low bits that were cut out."""
        text, form, lanes = self.text, shape.form, shape.lanes
        vector = f"<{lanes} x i{form.bits}>"
        if form.core_bits % 8:
            wide = tuple(
                self._cast("zext", form.core_bits, core, form.bits) for core in shape.cores
            )
            row = self._row(wide, form.bits, form, lanes)
            mask = splat(f"i{form.bits}", lanes, (1 << form.core_bits) - 1)
            return text.let(f"and {vector} {row}, {mask}")
        cores, bits = shape.cores, form.core_bits
        row = cores[0] if form.ragged else self._row(cores, bits, form, lanes)
        word = "sext" if form.signed else "zext"
        return text.let(f"{word} <{lanes} x i{form.core_bits}> {row} to {vector}")

    def _spread(self, scalars: tuple[str, ...], bits: int, lanes: int) -> str:
        """Return a vector with each scalar in as many lanes as its piece has."""
        text, count = self.text, len(scalars)
        if count == 1:
            return text.spread(f"i{bits}", lanes, scalars[0])
        few = "poison"
        for number, scalar in enumerate(scalars):
            few = text.let(
                f"insertelement <{count} x i{bits}> {few}, i{bits} {scalar}, i64 {number}"
            )
        piece = lanes // count
        picks = [lane // piece for lane in range(lanes)]
        return text.shuffle(f"i{bits}", count, few, picks)

    # Scalars

    def _pairs(
        self, word: str, bits: int, a: tuple[str, ...], b: tuple[str, ...]
    ) -> tuple[str, ...]:
        return _each(zip(a, b, strict=True), lambda pair: self._sum(word, bits, *pair))

    def _sum(self, word: str, bits: int, a: str, b: str) -> str:
        x, y = (self.text.distances.number(one) for one in (a, b))
        if word == "add" and 0 in {x, y}:
            return b if x == 0 else a
        if word == "mul" and 1 in {x, y}:
            return b if x == 1 else a
        if x is not None and y is not None and word in _FOLDED:
            return str(signed(_FOLDED[word](x, y), bits))
        name = self.text.let(f"{word} i{bits} {a}, {b}")
        if word == "add" and y is not None:
            self.text.distances.add(name, a, y)
        elif word == "add" and x is not None:
            self.text.distances.add(name, b, x)
        elif word == "add" and self.joins:
            self.text.distances.join(name, a, b)
        return name

    def _plus(self, bits: int, scalar: str, number: int) -> str:
        return self._sum("add", bits, scalar, str(signed(number, bits)))

    def _times(self, bits: int, scalar: str, factor: int) -> str:
        return self._sum("mul", bits, scalar, str(signed(factor, bits)))

    def _cast(self, word: str, before: int, scalar: str, after: int) -> str:
        known = literal(scalar)
        if before == after:
            return scalar
        if known is None:
            name = self.text.let(f"{word} i{before} {scalar} to i{after}")
            if word == "trunc":
                self.text.distances.cut(name, scalar, after)
            elif word == "zext":
                self.text.distances.extend(name, scalar, before)
            return name
        if word == "zext":
            known &= (1 << before) - 1
        return str(signed(known, after))


def _widened(a: Shape, bits: int, *, signed: bool) -> Shape | None:
    """Return numbers that have been made wider before, made wider again.

    That is one conversion where zeros are in front of them: nothing wraps that is below that.
    """
    form = a.form
    end = form.scale << form.core_bits
    zeros = form.signed is False and all(offset == "0" for offset in a.offsets)
    if not zeros or not 0 < end <= 1 << (form.bits - int(signed)):
        return None
    return replace(a, form=replace(form, bits=bits))


def _each(scalars: Iterable[_Scalars], find: Callable[[_Scalars], str]) -> tuple[str, ...]:
    """Return what is found for each of some scalars; what is alike is found once."""
    given = list(scalars)
    found = {one: find(one) for one in dict.fromkeys(given)}
    return tuple(found[one] for one in given)


_FOLDED: dict[str, Callable[[int, int], int]] = {
    "add": int.__add__,
    "mul": int.__mul__,
    "and": int.__and__,
    "or": int.__or__,
    "xor": int.__xor__,
}


def literal(scalar: str) -> int | None:
    """Return the number that a scalar is, if it is written as one."""
    return None if scalar.startswith("%") else int(scalar)
