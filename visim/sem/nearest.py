"""Floating-point arithmetic that rounds to nearest and keeps denormals, whatever CR0 says.

Compound meanings of inexact mathematics are written with it, so that they read like formulas.
"""

from __future__ import annotations

from dataclasses import dataclass

from visim.sem.expr import Expr, constant, node, select
from visim.types import BOOL, DF, DataType, F

RNE = "rne"


@dataclass(frozen=True, slots=True)
class Nearest:
    """An expression whose operators round to nearest."""

    expr: Expr

    def _with(self, name: str, other: Nearest | float, *, swap: bool = False) -> Nearest:
        value = other.expr if isinstance(other, Nearest) else self.constant(other).expr
        pair = (value, self.expr) if swap else (self.expr, value)
        return Nearest(node(name, self.expr.type, *pair, attribute=RNE))

    def constant(self, value: float) -> Nearest:
        """Return a constant of this expression's type."""
        return Nearest(constant(value, self.expr.type, self.expr.lanes))

    def __add__(self, other: Nearest | float) -> Nearest:
        return self._with("fadd", other)

    def __sub__(self, other: Nearest | float) -> Nearest:
        return self._with("fsub", other)

    def __rsub__(self, other: float) -> Nearest:
        return self._with("fsub", other, swap=True)

    def __mul__(self, other: Nearest | float) -> Nearest:
        return self._with("fmul", other)

    def __truediv__(self, other: Nearest | float) -> Nearest:
        return self._with("fdiv", other)

    def __rtruediv__(self, other: float) -> Nearest:
        return self._with("fdiv", other, swap=True)

    def __neg__(self) -> Nearest:
        return Nearest(-self.expr)

    def __lt__(self, other: Nearest | float) -> Expr:
        return self._compare("lt", other)

    def __gt__(self, other: Nearest | float) -> Expr:
        value = other if isinstance(other, Nearest) else self.constant(other)
        return value < self

    def equals(self, other: Nearest | float) -> Expr:
        """Return per channel whether both are equal."""
        return self._compare("eq", other)

    def _compare(self, name: str, other: Nearest | float) -> Expr:
        value = other if isinstance(other, Nearest) else self.constant(other)
        return node(name, BOOL, self.expr, value.expr, attribute=RNE)

    def rounded(self) -> Nearest:
        """Return the nearest integral values."""
        return Nearest(node("rint", self.expr.type, self.expr, attribute=RNE))

    def magnitude(self) -> Nearest:
        """Return the absolute values."""
        return Nearest(node("fabs", self.expr.type, self.expr))

    def root(self) -> Nearest:
        """Return the square roots."""
        return Nearest(node("fsqrt", self.expr.type, self.expr, attribute=RNE))

    def to(self, kind: DataType) -> Expr:
        """Convert to `kind`; floats round to nearest, integers truncate."""
        if kind == self.expr.type:
            return self.expr
        return node("convert", kind, self.expr, attribute=RNE)

    def single(self) -> Nearest:
        """Return the values as F."""
        return Nearest(self.to(F))

    def double(self) -> Nearest:
        """Return the values as DF, exactly."""
        return Nearest(self.to(DF))


def fused(a: Nearest, b: Nearest | float, c: Nearest | float) -> Nearest:
    """Return a * b + c, rounded once."""
    values = [one if isinstance(one, Nearest) else a.constant(one) for one in (a, b, c)]
    return Nearest(node("ffma", a.expr.type, *(one.expr for one in values), attribute=RNE))


def multiply_and_add(a: Nearest, b: Nearest, c: Nearest | float, *, contracts: bool) -> Nearest:
    """Return a * b + c, the product and the sum rounded.

    Args:
        a: one factor.
        b: the other one.
        c: what is added.
        contracts: whether the function that this is of is the same if both are rounded at once.
            `tests/engine/test_contraction.py` tries that with all numbers.
    """
    if not contracts:
        return a * b + c
    added = c if isinstance(c, Nearest) else a.constant(c)
    return Nearest(node("fmuladd", a.expr.type, a.expr, b.expr, added.expr))


def nearest(integers: Expr) -> Nearest:
    """Return integers below 2**53 in magnitude as DF."""
    return Nearest(node("convert", DF, integers, attribute=RNE))


def choose(condition: Expr, when_true: Nearest | float, when_false: Nearest) -> Nearest:
    """Return per channel one of two values."""
    first = when_true if isinstance(when_true, Nearest) else when_false.constant(when_true)
    return Nearest(select(condition, first.expr, when_false.expr))


def polynomial(x: Nearest, *coefficients: float, contracts: bool = False) -> Nearest:
    """Return c0 + x * (c1 + x * (...)), each product and each sum rounded.

    Args:
        x: the variable.
        coefficients: from the constant on.
        contracts: that of `multiply_and_add`.
    """
    total = x.constant(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = multiply_and_add(total, x, coefficient, contracts=contracts)
    return total
