"""The exact values of OpenCL's mathematical functions, with their special cases.

A reference takes the arguments as Python floats, which hold half, float and double exactly, and
returns the exact value, or 100 and more bits of it, as a number of mpmath. Special cases are those
of OpenCL C 3.0, 7.5.1, which are C99's. The sign of a zero result is not stated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
from mpmath import mp

Reference = Callable[..., Any]
BITS = 180
HUGE = 20_000
"""A power of two beyond every type's range."""

NAN, INF = mp.nan, mp.inf


def unary(
    function: Callable[[Any], Any], low: float = -math.inf, high: float = math.inf
) -> Reference:
    """Return the reference of a function that has no value outside [low, high]."""

    def reference(x: float) -> Any:
        if math.isnan(x) or not low <= x <= high:
            return NAN
        return function(mpmath.mpf(x))

    return reference


def with_poles(reference: Reference, poles: dict[float, Any]) -> Reference:
    """Return a reference that has other values at some arguments (zeros of both signs are one)."""
    return lambda x: poles[x] if x in poles else reference(x)


def finite(function: Callable[[Any], Any]) -> Reference:
    """Return the reference of a function that has no value at infinities."""
    return lambda x: function(mpmath.mpf(x)) if math.isfinite(x) else NAN


def cbrt(x: Any) -> Any:
    """Return the real cube root."""
    return mp.sign(x) * mp.cbrt(abs(x))


def quarter_tan(x: Any) -> Any:
    """Return tan(pi * x), infinite in the middle of whole numbers."""
    half = x - mp.floor(x)
    if half == 0.5:
        return INF if int(mp.floor(x)) % 2 == 0 else -INF
    return mp.sinpi(x) / mp.cospi(x)


def erfc(x: float) -> Any:
    """Return the complementary error function."""
    if abs(x) > HUGE:
        return mpmath.mpf(0 if x > 0 else 2)
    return mp.erfc(x)


def gamma(x: float) -> Any:
    """Return the gamma function."""
    if math.isnan(x) or x == -math.inf or (x < 0 and x == math.floor(x)):
        return NAN
    if x == 0:
        return mpmath.mpf(math.copysign(1, x)) * INF
    if abs(x) > HUGE:
        return INF if x > 0 else mpmath.mpf(0)
    return mp.gamma(x)


def log_gamma(x: float) -> Any:
    """Return the logarithm of the magnitude of the gamma function."""
    if math.isnan(x):
        return NAN
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return INF
    if x > 0:
        return mp.loggamma(x)
    wide = mpmath.mpf(x)
    return mp.log(mp.pi / abs(mp.sinpi(wide))) - mp.loggamma(1 - wide)


def exponent(x: float) -> Any:
    """Return the exponent of the leading binary digit."""
    if x == 0:
        return -INF
    return mpmath.mpf(math.frexp(x)[1] - 1) if math.isfinite(x) else abs(mpmath.mpf(x))


def power(x: float, y: float) -> Any:
    """Return x to the power of y."""
    if 0 in (x, y) or not (math.isfinite(x) and math.isfinite(y)) or x == 1:
        with np.errstate(all="ignore"):
            return mpmath.mpf(float(np.power(np.float64(x), np.float64(y))))
    if x < 0 and y != math.floor(y):
        return NAN
    sign = -1 if x < 0 and y % 2 == 1 else 1
    size = mp.log(abs(mpmath.mpf(x)), 2) * y
    if abs(size) > HUGE:
        return sign * INF if size > 0 else mpmath.mpf(0)
    return sign * mp.power(2, size)


def power_of_positive(x: float, y: float) -> Any:
    """Return `powr(x, y)`: exp2(y * log2(x)), without a value where that has none."""
    undecided = (x == 1 and math.isinf(y)) or (x in {0, math.inf} and y == 0)
    if math.isnan(x) or math.isnan(y) or x < 0 or undecided:
        return NAN
    found = power(x, y)
    return abs(found) if x == 0 else found


def root(x: float, n: float) -> Any:
    """Return `rootn(x, n)`."""
    if math.isnan(x) or n == 0 or (x < 0 and n % 2 == 0):
        return NAN
    sign = -1 if math.copysign(1, x) < 0 and n % 2 else 1
    if x == 0 or math.isinf(x):
        return mpmath.mpf(0) if (x == 0) == (n > 0) else sign * INF
    return sign * mp.power(abs(mpmath.mpf(x)), mpmath.mpf(1) / int(n))


def atan2(y: float, x: float) -> Any:
    """Return the angle of the point (x, y)."""
    if math.isnan(x) or math.isnan(y):
        return NAN
    if 0 in (x, y) or math.isinf(x) or math.isinf(y):
        return mp.pi * round(math.atan2(y, x) / math.pi * 4) / 4
    return mp.atan2(mpmath.mpf(y), mpmath.mpf(x))


def hypot(x: float, y: float) -> Any:
    """Return sqrt(x**2 + y**2)."""
    if math.isinf(x) or math.isinf(y):
        return INF
    return NAN if math.isnan(x) or math.isnan(y) else mp.hypot(x, y)


def difference(x: float, y: float) -> Any:
    """Return `fdim(x, y)`."""
    if math.isnan(x) or math.isnan(y):
        return NAN
    return mpmath.mpf(x) - mpmath.mpf(y) if x > y else mpmath.mpf(0)


def modulo(x: float, y: float) -> Any:
    """Return `fmod(x, y)`, which doubles hold."""
    if math.isnan(x) or math.isnan(y) or math.isinf(x) or y == 0:
        return NAN
    return mpmath.mpf(math.fmod(x, y))


def remainder(x: float, y: float) -> Any:
    """Return `remainder(x, y)`, which doubles hold."""
    if math.isnan(x) or math.isnan(y) or math.isinf(x) or y == 0:
        return NAN
    return mpmath.mpf(math.remainder(x, y))


def low_quotient(x: float, y: float) -> int | None:
    """Return the low 7 bits of remquo's quotient with its sign, None where it has none."""
    if not (math.isfinite(x) and math.isfinite(y)) or y == 0:
        return None
    whole = round(Fraction(x) / Fraction(y))
    return -(-whole & 0x7F) if whole < 0 else whole & 0x7F


def smaller(x: float, y: float) -> Any:
    """Return `fmin(x, y)`."""
    return mpmath.mpf(y if math.isnan(x) or y < x else x)


def greater(x: float, y: float) -> Any:
    """Return `fmax(x, y)`."""
    return mpmath.mpf(y if math.isnan(x) or y > x else x)


def of_smaller_magnitude(x: float, y: float) -> Any:
    """Return `minmag(x, y)`."""
    if abs(x) != abs(y) and not (math.isnan(x) or math.isnan(y)):
        return mpmath.mpf(x if abs(x) < abs(y) else y)
    return smaller(x, y)


def of_greater_magnitude(x: float, y: float) -> Any:
    """Return `maxmag(x, y)`."""
    if abs(x) != abs(y) and not (math.isnan(x) or math.isnan(y)):
        return mpmath.mpf(x if abs(x) > abs(y) else y)
    return greater(x, y)


def quotient(x: float, y: float) -> Any:
    """Return x / y with signed infinities."""
    if y == 0 and x != 0 and not math.isnan(x):
        return math.copysign(1, x) * math.copysign(1, y) * INF
    return NAN if y == 0 else mpmath.mpf(x) / mpmath.mpf(y)


def fused(a: float, b: float, c: float) -> Any:
    """Return a * b + c."""
    if all(map(math.isfinite, (a, b, c))):
        return mpmath.mpf(a) * mpmath.mpf(b) + mpmath.mpf(c)
    return mpmath.mpf(a * b + c) if math.isinf(a) or math.isinf(b) else mpmath.mpf(0 * a * b + c)


def scaled(x: float, n: float) -> Any:
    """Return `ldexp(x, n)`."""
    return mp.ldexp(mpmath.mpf(x), int(n)) if math.isfinite(x) else mpmath.mpf(x)


def reciprocal_root(x: float) -> Any:
    """Return 1 / sqrt(x); zeros give infinities of their sign."""
    if x == 0:
        return math.copysign(1, x) * INF
    return NAN if math.isnan(x) or x < 0 else 1 / mp.sqrt(mpmath.mpf(x))


def away(x: float) -> Any:
    """Return the nearest whole number, of two the one of greater magnitude."""
    if not math.isfinite(x):
        return mpmath.mpf(x)
    return mpmath.mpf(math.copysign(math.floor(Fraction(abs(x)) + Fraction(1, 2)), x))


def fraction(x: float) -> Any:
    """Return x - floor(x), before it is kept below 1."""
    if math.isinf(x):
        return mpmath.mpf(0)
    return mpmath.mpf(x) - mp.floor(x) if math.isfinite(x) else NAN
