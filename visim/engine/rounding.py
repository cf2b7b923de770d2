"""Rounding modes and the exact machinery beneath directed rounding.

Owns the rounding-mode enumeration, error-free transformations on float64 vectors, rounding to
odd, the step from a nearest result to a directed one, and the exact evaluation of single lanes
with rational numbers. Knows nothing of instructions, registers or integer types.

The method everywhere: compute the nearest result `r`, learn on which side of `r` the exact value
lies, then step to the neighbour where the mode asks for it. Rounding to odd (truncate, then set
the last bit if anything was lost) lets a float64 stand for an exact value when it is rounded
again to a format with at least two bits fewer: see Boldo and Melquiond, "Emulation of FMA and
correctly rounded sums: proved algorithms using rounding to odd".

Floating-point warnings of NumPy are the caller's business: run inside
`numpy.errstate(all="ignore")`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import IntEnum
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

# Any of the three float types; which one is known at run time only.
Floats = npt.NDArray[Any]
Doubles = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]

FLOAT16 = np.dtype(np.float16)
FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
INT64 = np.dtype(np.int64)

# Below this magnitude the error of a float64 product may itself underflow.
PRODUCT_FLOOR = 2.0**-960
# Splits a float64 into two halves of at most 26 bits (Veltkamp).
_SPLITTER = 2.0**27 + 1.0


class Rounding(IntEnum):
    """Rounding mode of a floating-point operation, numbered as in control register bits 5:4."""

    NEAREST_EVEN = 0
    UP = 1
    DOWN = 2
    ZERO = 3


def step(nearest: Floats, below: Booleans, above: Booleans, rounding: Rounding) -> Floats:
    """Turn nearest results into results of a directed mode.

    Args:
        nearest: results rounded to nearest even, of any float type.
        below: where the exact value is less than `nearest`.
        above: where the exact value is greater than `nearest`.
        rounding: the mode wanted.

    Returns:
        A new array of the type of `nearest`.
    """
    match rounding:
        case Rounding.NEAREST_EVEN:
            return nearest
        case Rounding.UP:
            return np.where(above, np.nextafter(nearest, nearest.dtype.type(np.inf)), nearest)
        case Rounding.DOWN:
            return np.where(below, np.nextafter(nearest, nearest.dtype.type(-np.inf)), nearest)
        case Rounding.ZERO:
            outside = (below & (nearest > 0)) | (above & (nearest < 0))
            return np.where(outside, np.nextafter(nearest, nearest.dtype.type(0)), nearest)


def narrow(values: Doubles, dtype: np.dtype[Any], rounding: Rounding) -> Floats:
    """Round float64 values to the float type `dtype`.

    Overflow, gradual underflow and signed zeros follow IEEE 754.
    """
    nearest = values.astype(dtype)
    if not rounding:
        return nearest
    back = nearest.astype(FLOAT64)
    return step(nearest, values < back, values > back, rounding)


def sum_error(a: Doubles, b: Doubles, total: Doubles) -> Doubles:
    """Return `a + b - total` exactly, where `total` is the nearest sum (Knuth's TwoSum).

    Not a number where the sum is not finite.
    """
    shadow = total - a
    return (a - (total - shadow)) + (b - shadow)


def product_error(a: Doubles, b: Doubles, product: Doubles) -> Doubles:
    """Return `a * b - product` exactly, where `product` is the nearest product (Dekker).

    Exact where `product` is at least `PRODUCT_FLOOR` in magnitude or a factor is zero; not
    finite where a factor or the product is too large to be split.
    """
    big = a * _SPLITTER
    a_high = big - (big - a)
    a_low = a - a_high
    big = b * _SPLITTER
    b_high = big - (big - b)
    b_low = b - b_high
    return a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def to_odd(nearest: Doubles, error: Doubles) -> Doubles:
    """Round `nearest + error` to odd, where `error` is the exact error of a nearest sum.

    Values that are not finite are returned unchanged.
    """
    inexact = np.abs(error) > 0.0
    bits = nearest.view(INT64)
    # -1 where the error has the opposite sign: the magnitude was rounded up. Truncate, stick.
    up = (bits ^ error.view(INT64)) >> 63
    return np.where(inexact, (bits + up) | 1, bits).view(FLOAT64)


def odd_sum(a: Doubles, b: Doubles) -> Doubles:
    """Return `a + b` rounded to odd."""
    total = a + b
    return to_odd(total, sum_error(a, b, total))


def signed_zero_sum(total: Doubles, a: Doubles, b: Doubles, rounding: Rounding) -> Doubles:
    """Give exact zero sums of `a` and `b` the sign of the rounding mode.

    A zero sum is -0 when rounding down, unless both terms are +0 (IEEE 754, 6.3).
    """
    if rounding != Rounding.DOWN:
        return total
    negative = (total == 0.0) & (np.signbit(a) | np.signbit(b))
    return np.where(negative, -0.0, total)


def round_fraction(value: Fraction, zero: float, rounding: Rounding) -> float:
    """Round an exact value to float64; `zero` is the result when `value` is zero."""
    if value == 0:
        return zero
    try:
        # Python's quotient of two integers is rounded to nearest even.
        nearest = value.numerator / value.denominator
    except OverflowError:
        nearest = math.inf if value > 0 else -math.inf
    if nearest == 0.0:
        nearest = math.copysign(0.0, value)
    difference = _side(value, nearest)
    return _step_one(nearest, difference, rounding)


def exact_sum(a: float, b: float, rounding: Rounding) -> float:
    """Return the sum of two finite numbers."""
    zero = a + b
    if rounding == Rounding.DOWN and (math.copysign(1, a) < 0 or math.copysign(1, b) < 0):
        zero = -0.0
    return round_fraction(Fraction(a) + Fraction(b), zero, rounding)


def exact_product(a: float, b: float, rounding: Rounding) -> float:
    """Return the product of two finite numbers."""
    return round_fraction(Fraction(a) * Fraction(b), a * b, rounding)


def exact_quotient(a: float, b: float, rounding: Rounding) -> float:
    """Return the quotient of two finite numbers, `b` not zero."""
    return round_fraction(Fraction(a) / Fraction(b), a / b, rounding)


def exact_square_root(a: float, rounding: Rounding) -> float:
    """Return the square root of a finite number that is not negative."""
    nearest = math.sqrt(a)
    square = Fraction(nearest) ** 2
    return _step_one(nearest, _compare(Fraction(a), square), rounding)


def exact_fma(a: float, b: float, c: float, rounding: Rounding) -> float:
    """Return `a * b + c` of finite numbers, rounded once."""
    value = Fraction(a) * Fraction(b) + Fraction(c)
    product_sign = math.copysign(1.0, a) * math.copysign(1.0, b)
    signs = {product_sign, math.copysign(1.0, c)}
    negative = -1.0 in signs if rounding == Rounding.DOWN else signs == {-1.0}
    return round_fraction(value, -0.0 if negative else 0.0, rounding)


def mend(
    result: Doubles,
    unsafe: Booleans,
    operands: tuple[Doubles, ...],
    exact: Callable[..., float],
    rounding: Rounding,
) -> None:
    """Replace the lanes of `result` in `unsafe` by exact ones, in place.

    Args:
        result: lanes computed by vectors; right already where an operand is not finite.
        unsafe: the lanes to compute again, of the shape of `result`.
        operands: broadcastable to `result`.
        exact: function of one lane's operands and the rounding mode.
        rounding: the mode.
    """
    full = [np.broadcast_to(operand, result.shape) for operand in operands]
    for lane in zip(*np.nonzero(unsafe), strict=True):
        values = [float(operand[lane]) for operand in full]
        if all(map(math.isfinite, values)):
            result[lane] = exact(*values, rounding)


def _side(value: Fraction, nearest: float) -> int:
    if math.isinf(nearest):
        return -1 if nearest > 0 else 1
    return _compare(value, Fraction(nearest))


def _compare(value: Fraction, other: Fraction) -> int:
    return (value > other) - (value < other)


def _step_one(nearest: float, difference: int, rounding: Rounding) -> float:
    """Scalar form of `step`; `difference` is the sign of exact value minus `nearest`."""
    if difference > 0 and rounding == Rounding.UP:
        return math.nextafter(nearest, math.inf)
    if difference < 0 and rounding == Rounding.DOWN:
        return math.nextafter(nearest, -math.inf)
    if rounding == Rounding.ZERO and difference * nearest < 0:
        return math.nextafter(nearest, 0.0)
    return nearest
