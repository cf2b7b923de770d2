"""Division of integers: by the host's floats where these hold all of an integer.

Hosts divide integers one lane at a time, floats in all lanes at once. For n and d below 2**w the
quotient n / d, unless it is an integer, is at least 1 / d away from the next one. DF gives it with
an error of at most 2**-53 of itself, for w = 32 less than 2**-21 / d; so it stays between the
same two integers, whatever the host's rounding mode, and cut off it is the integer quotient. So is
that of F, with an error of at most 2**-23 of it, for w = 16.

Where all lanes have the same divisor, one division gives the factor (1 + 2**-40) / d for all. Then
n times the factor is more than n / d, but for n = 0, by less than 2**-39 of it, so by less than
2**-7 / d: cut off it is the quotient as well.
"""

from __future__ import annotations

from visim.engine.jit.ir.floats import Library
from visim.engine.jit.ir.places import is_repeated
from visim.engine.jit.ir.text import Text, scalar_type, splat, vector_type
from visim.sem.expr import Expr, broadcast, constant, node, select
from visim.types import DF, UD, UQ, DataType

_MORE = 1 + 2.0**-40
_LAST_BIT_IS_ONE = 2.0**52
"""In sums of this and of integers below 2**32, the low half has the integer's bits.

Without AVX-512 hosts convert only to signed integers.
"""


class DivisionWriter:
    """Writes quotients and remainders of vectors of integers; `alone`: by one divisor for all."""

    def __init__(self, text: Text, library: Library, *, alone: bool) -> None:
        self._text = text
        self._library = library
        self._alone = alone

    def divide(self, name: str, kind: DataType, lanes: int, args: list[str]) -> str:
        """Divide magnitudes, so that the smallest integer by -1 wraps; by zero gives all ones.

        Args:
            name: `div` for the quotient, `rem` for the remainder.
            kind: the integers' type.
            lanes: how many there are.
            args: dividend and divisor.
        """
        text, vector, bools = self._text, vector_type(kind, lanes), f"<{lanes} x i1>"
        scalar = scalar_type(kind)
        a, b = args
        zero = text.let(f"icmp eq {vector} {b}, zeroinitializer")
        one = splat(scalar, lanes, 1)
        divisor = text.let(f"select {bools} {zero}, {vector} {one}, {vector} {b}")
        if kind.is_signed:
            quotient = self._signed_quotient(kind, lanes, a, divisor)
        else:
            quotient = self._quotient(kind, lanes, a, divisor)
        if name == "rem":
            product = text.let(f"mul {vector} {quotient}, {divisor}")
            quotient = text.let(f"sub {vector} {a}, {product}")
        ones = splat(scalar, lanes, -1)
        return text.let(f"select {bools} {zero}, {vector} {ones}, {vector} {quotient}")

    def _signed_quotient(self, kind: DataType, lanes: int, a: str, b: str) -> str:
        text, vector = self._text, vector_type(kind, lanes)
        found = self._quotient(
            kind, lanes, self._magnitude(vector, lanes, a), self._magnitude(vector, lanes, b)
        )
        negative = text.let(f"sub {vector} zeroinitializer, {found}")
        signs = text.let(f"xor {vector} {a}, {b}")
        differ = text.let(f"icmp slt {vector} {signs}, zeroinitializer")
        return text.let(f"select <{lanes} x i1> {differ}, {vector} {negative}, {vector} {found}")

    def _magnitude(self, vector: str, lanes: int, value: str) -> str:
        name = f"llvm.abs.v{lanes}{vector.rpartition(' ')[2].rstrip('>')}"
        function = self._library.intrinsic(name, vector, vector, "i1")
        return self._text.let(f"call {vector} {function}({vector} {value}, i1 false)")

    def _quotient(self, kind: DataType, lanes: int, a: str, b: str) -> str:
        """Return the quotient of unsigned numbers, whose divisor is not zero."""
        text, vector = self._text, vector_type(kind, lanes)
        if lanes == 1 or kind.bits > 32:
            return text.let(f"udiv {vector} {a}, {b}")
        wide = f"<{lanes} x {'float' if kind.bits <= 16 else 'double'}>"
        n, d = (text.let(f"uitofp {vector} {one} to {wide}") for one in (a, b))
        if kind.bits <= 16:
            return text.let(f"fptoui {wide} {text.let(f'fdiv {wide} {n}, {d}')} to {vector}")
        if self._alone:
            one = text.let(f"extractelement {wide} {d}, i64 0")
            factor = text.let(f"fdiv double {_MORE!r}, {one}")
            quotient = text.let(f"fmul {wide} {n}, {text.spread('double', lanes, factor)}")
        else:
            quotient = text.let(f"fdiv {wide} {n}, {d}")
        trunc = self._library.intrinsic(f"llvm.trunc.v{lanes}f64", wide, wide)
        whole = text.let(f"call {wide} {trunc}({wide} {quotient})")
        moved = text.let(f"fadd {wide} {whole}, {splat('double', lanes, _LAST_BIT_IS_ONE)}")
        bits = text.let(f"bitcast {wide} {moved} to <{lanes} x i64>")
        return text.let(f"trunc <{lanes} x i64> {bits} to {vector}")


def is_one(expr: Expr) -> bool:
    """Whether all lanes are the same as far as their expression shows."""
    name = expr.uop.name
    return name in {"broadcast", "constant"} or (name == "read" and is_repeated(expr.attribute))


def divided(n: Expr, d: Expr, *, by_zero: int) -> Expr:
    """Return the quotient of numbers of UD, or of DF with such values; that by zero is said."""
    if n.type == d.type == UD:
        return _or_by_zero(node("div", UD, n, d), d, by_zero)
    if d.uop.name == "broadcast":
        one = d.args[0].to(DF)
        factor = node("fdiv", DF, constant(_MORE, DF, 1), one, attribute="rne")
        quotient = node("fmul", DF, n.to(DF), broadcast(factor, n.lanes), attribute="rne")
    else:
        quotient = node("fdiv", DF, n.to(DF), d.to(DF), attribute="rne")
    whole = node("trunc", DF, quotient)
    moved = node("fadd", DF, whole, constant(_LAST_BIT_IS_ONE, DF, n.lanes), attribute="rne")
    return _or_by_zero(moved.bits_as(UQ).to(UD), d, by_zero)


def _or_by_zero(quotient: Expr, d: Expr, by_zero: int) -> Expr:
    zero, other = constant(0, d.type, d.lanes), constant(by_zero, UD, d.lanes)
    return select(d.eq(zero), other, quotient)


def scalar_quotient(text: Text, name: str, bits: int, a: str, b: str) -> str:
    """Return what `div` or `rem` makes of two unsigned numbers; by zero that is all ones."""
    kind = f"i{bits}"
    zero = text.let(f"icmp eq {kind} {b}, 0")
    divisor = text.let(f"select i1 {zero}, {kind} 1, {kind} {b}")
    found = text.let(f"u{name} {kind} {a}, {divisor}")
    return text.let(f"select i1 {zero}, {kind} -1, {kind} {found}")
