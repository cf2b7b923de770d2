"""Floating-point micro-operations on vectors, exact in all four rounding modes.

Owns addition, subtraction, multiplication, division, square root, fused multiply-add, minimum,
maximum, saturation, denormal flushing, rounding to integral values and the fraction, for
float16, float32 and float64 arrays of one or more dimensions that broadcast together and have
one type. Knows nothing of registers, regions or masks. Follows the vISA specification, 2
(Floating Point Mode, Saturation) and the pages MAD, MUL, MIN_MAX, FRC, RND*.

Every result is correctly rounded with gradual underflow; flushing denormals is a separate
operation. Not-a-number operands give a quiet not-a-number whose payload is not defined.
Rounding to nearest even is the fast case: apart from `fma` it is one NumPy function, whose
float16 form goes through float32 (24 bits suffice: 2 * 11 + 2).

Floating-point warnings of NumPy are the caller's business: run inside
`numpy.errstate(all="ignore")`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from visim.engine.rounding import (
    FLOAT32,
    FLOAT64,
    INT64,
    PRODUCT_FLOOR,
    Booleans,
    Doubles,
    Floats,
    Rounding,
    exact_fma,
    exact_product,
    exact_quotient,
    exact_square_root,
    exact_sum,
    mend,
    narrow,
    odd_sum,
    product_error,
    signed_zero_sum,
    step,
    sum_error,
    to_odd,
)

# By bytes of the type: the least normal number, the greatest number below 1.
# Python floats take the type of the array that they meet.
_LEAST_NORMAL = {2: 2.0**-14, 4: 2.0**-126, 8: 2.0**-1022}
_BELOW_ONE = {2: 1.0 - 2.0**-11, 4: 1.0 - 2.0**-24, 8: 1.0 - 2.0**-53}
_BELOW_HALF = np.array(0x0FFFFFFF)


def add(a: Floats, b: Floats, rounding: Rounding) -> Floats:
    """Return `a + b`."""
    if not rounding:
        return np.add(a, b)
    if a.dtype != FLOAT64:
        wide_a, wide_b = a.astype(FLOAT64), b.astype(FLOAT64)
        total = signed_zero_sum(odd_sum(wide_a, wide_b), wide_a, wide_b, rounding)
        return narrow(total, a.dtype, rounding)
    total = a + b
    error = sum_error(a, b, total)
    result = step(signed_zero_sum(total, a, b, rounding), error < 0, error > 0, rounding)
    return _mended(result, ~np.isfinite(error), (a, b), exact_sum, rounding)


def sub(a: Floats, b: Floats, rounding: Rounding) -> Floats:
    """Return `a - b`; equal numbers give +0, or -0 when rounding down."""
    return add(a, -b, rounding) if rounding else np.subtract(a, b)


def mul(a: Floats, b: Floats, rounding: Rounding) -> Floats:
    """Return `a * b`."""
    if not rounding:
        return np.multiply(a, b)
    if a.dtype != FLOAT64:
        # Two 24-bit numbers have a product of 48 bits: exact in float64.
        return narrow(a.astype(FLOAT64) * b.astype(FLOAT64), a.dtype, rounding)
    product = a * b
    error = product_error(a, b, product)
    result = step(product, error < 0, error > 0, rounding)
    return _mended(result, _unsafe_product(a, b, product, error), (a, b), exact_product, rounding)


def div(a: Floats, b: Floats, rounding: Rounding) -> Floats:
    """Return `a / b`; a finite number over zero is an infinity in every mode."""
    if not rounding:
        return np.divide(a, b)
    if a.dtype != FLOAT64:
        # A quotient of 24-bit numbers that float32 cannot hold is at least 2**-48 away (relative)
        # from all that it can hold, so float64's nearest result is on the same side of them.
        return narrow(a.astype(FLOAT64) / b.astype(FLOAT64), a.dtype, rounding)
    quotient = a / b
    product = quotient * b
    remainder = (a - product) - product_error(quotient, b, product)
    direction = remainder * np.sign(b)
    result = step(quotient, direction < 0, direction > 0, rounding)
    small = (np.abs(a) < PRODUCT_FLOOR) | (np.abs(quotient) < _LEAST_NORMAL[8])
    unsafe = ~np.isfinite(remainder) | (small & (a != 0))
    return _mended(result, unsafe & (b != 0), (a, b), exact_quotient, rounding)


def sqrt(a: Floats, rounding: Rounding) -> Floats:
    """Return the square root; negative numbers give not-a-number, -0 gives -0."""
    if not rounding:
        return np.sqrt(a)
    if a.dtype != FLOAT64:
        # As for quotients: a root that is no 24-bit number is not close to one either.
        return narrow(np.sqrt(a.astype(FLOAT64)), a.dtype, rounding)
    root = np.sqrt(a)
    square = root * root
    remainder = (a - square) - product_error(root, root, square)
    result = step(root, remainder < 0, remainder > 0, rounding)
    unsafe = (a > 0) & ((a < PRODUCT_FLOOR) | ~np.isfinite(remainder))
    return _mended(result, unsafe, (a,), exact_square_root, rounding)


def fma(a: Floats, b: Floats, c: Floats, rounding: Rounding) -> Floats:
    """Return `a * b + c` rounded once."""
    if a.dtype == FLOAT64:
        return _fma64(a, b, c, rounding)
    if a.dtype == FLOAT32 and not rounding:
        return _fma32_nearest(a, b, c)
    product, addend = a.astype(FLOAT64) * b.astype(FLOAT64), c.astype(FLOAT64)
    total = product + addend
    error = sum_error(product, addend, total)
    if np.count_nonzero(error):
        total = to_odd(total, error)
    return narrow(signed_zero_sum(total, product, addend, rounding), a.dtype, rounding)


def muladd(a: Floats, b: Floats, c: Floats) -> Floats:
    """Return `a * b + c`, the product and the sum rounded to nearest."""
    return a * b + c


def fmin(a: Floats, b: Floats) -> Floats:
    """Return the lesser of two numbers, or the one that is a number (page MIN_MAX).

    The page leaves zeros of different sign open; they compare as equal, and of equal numbers
    this returns `b`, as a select of `a` where `a < b` does. Two not-a-numbers give one of them.
    """
    return np.where((a < b) | (b != b), a, b)  # noqa: PLR0124 - true for not-a-number only


def fmax(a: Floats, b: Floats) -> Floats:
    """Return the greater of two numbers, or the one that is a number (page MIN_MAX).

    The page leaves zeros of different sign open; they compare as equal, and of equal numbers
    this returns `a`, as a select of `a` where `a >= b` does. Two not-a-numbers give one of them.
    """
    return np.where((a >= b) | (b != b), a, b)  # noqa: PLR0124 - true for not-a-number only


def saturate(a: Floats) -> Floats:
    """Clamp to 0..1; not-a-number and -0 become +0 (specification 2, Saturation)."""
    return np.minimum(np.where(a > 0.0, a, 0.0), 1.0)


def flush_denormals(a: Floats) -> Floats:
    """Replace denormals by zeros of their sign."""
    # Multiplying by false keeps the sign; not-a-number stays one either way.
    return a * (np.abs(a) >= _LEAST_NORMAL[a.itemsize])


def without_infinities(a: Floats) -> Floats:
    """Replace infinities by the greatest number of their sign (specification 2, ALT mode)."""
    greatest = np.finfo(a.dtype).max
    return np.clip(a, -greatest, greatest)


def round_to_integral(a: Floats, mode: Rounding) -> Floats:
    """Round to an integral value of the same type; the result keeps the operand's sign.

    `mode` is DOWN for RNDD, UP for RNDU, ZERO for RNDZ and NEAREST_EVEN for RNDE.
    """
    match mode:
        case Rounding.NEAREST_EVEN:
            return np.rint(a)
        case Rounding.UP:
            return np.ceil(a)
        case Rounding.DOWN:
            return np.floor(a)
        case Rounding.ZERO:
            return np.trunc(a)


def frac(a: Floats) -> Floats:
    """Return `a - floor(a)`, in [0, 1) (page FRC); not-a-number for infinities.

    A small negative number, whose difference would round to 1, gives the number just below 1.
    """
    return np.minimum(a - np.floor(a), _BELOW_ONE[a.itemsize])


def _fma32_nearest(a: Floats, b: Floats, c: Floats) -> npt.NDArray[np.float32]:
    product = a.astype(FLOAT64) * b.astype(FLOAT64)
    addend = c.astype(FLOAT64)
    total = product + addend
    result = total.astype(FLOAT32)
    # Rounding twice is wrong only if the first rounding ends halfway between two float32, of
    # which even denormals have 24 bits: then the low 28 bits of the float64 are zero.
    low = total.view(INT64) & _BELOW_HALF
    if np.count_nonzero(low) == low.size:
        return result
    # So they are for sums that float32 holds. Those are common, and right.
    inexact = total != result.astype(FLOAT64)
    if np.count_nonzero(inexact) and np.count_nonzero(inexact & (low == 0)):
        return to_odd(total, sum_error(product, addend, total)).astype(FLOAT32)
    return result


def _fma64(a: Doubles, b: Doubles, c: Doubles, rounding: Rounding) -> Doubles:
    """Sum the three parts of `a * b + c` after Boldo and Melquiond."""
    product = a * b
    error = product_error(a, b, product)
    low_sum = c + error
    high = product + low_sum
    low = odd_sum(sum_error(c, error, low_sum), sum_error(product, low_sum, high))
    result = high + low
    unsafe = _unsafe_product(a, b, product, error) | ~np.isfinite(result)
    if rounding:
        last = sum_error(high, low, result)
        result = step(result, last < 0, last > 0, rounding)
        unsafe |= ~np.isfinite(last)
    if np.count_nonzero(result) != result.size:
        # An exact zero has lost its sign on the way.
        zero = signed_zero_sum(product + c, product, c, rounding)
        result = np.where(result == 0.0, zero, result)
    if not np.count_nonzero(unsafe):
        return result
    # Finite factors may overflow, but not against an infinite addend.
    absorbed = np.isfinite(a) & np.isfinite(b) & np.isinf(c)
    plain = np.where(absorbed, c, product + c)
    result = np.where(unsafe, plain, result)
    return _mended(result, unsafe, (a, b, c), exact_fma, rounding)


def _unsafe_product(a: Doubles, b: Doubles, product: Doubles, error: Doubles) -> Booleans:
    """Tell where `product_error` cannot be relied upon."""
    sound = (np.abs(product) >= PRODUCT_FLOOR) & (np.abs(error) < np.inf)
    if np.count_nonzero(sound) == sound.size:
        return ~sound
    return ~(sound | (((a == 0.0) | (b == 0.0)) & np.isfinite(error)))


def _mended(
    result: Floats,
    unsafe: Booleans,
    operands: tuple[Doubles, ...],
    exact: Callable[..., float],
    rounding: Rounding,
) -> Floats:
    if np.count_nonzero(unsafe):
        mend(result, unsafe, operands, exact, rounding)
    return result
