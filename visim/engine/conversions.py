"""Conversions between number types on vectors, exact in all four rounding modes.

Owns float to float (with bfloat16, whose bits are held in uint16), float to integer with
clamping, and integer to float. Knows nothing of registers or instructions. Follows the vISA
specification, 2 (Type Conversion); the rows of its table that call negative numbers converted
to unsigned "qNaN Indefinite" are read as 0.

Not-a-number operands give a quiet not-a-number whose payload is not defined. Floating-point
warnings of NumPy are the caller's business: run inside `numpy.errstate(all="ignore")`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from visim.engine.floats import add, round_to_integral
from visim.engine.rounding import FLOAT16, FLOAT32, FLOAT64, Floats, Rounding, narrow, odd_sum

# Any of the eight integer types; which one is known at run time only.
Integers = npt.NDArray[Any]
_UINT16 = np.dtype(np.uint16)
_UINT32 = np.dtype(np.uint32)
_LIMITS: dict[np.dtype[Any], tuple[int, int]] = {
    np.dtype(name): (int(np.iinfo(name).min), int(np.iinfo(name).max))
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
}


def convert_float(a: Floats, to_dtype: npt.DTypeLike, rounding: Rounding) -> Floats:
    """Convert between float16, float32 and float64; to a wider type this is exact."""
    target: np.dtype[Any] = np.dtype(to_dtype)
    if a.dtype == target:
        return a + a.dtype.type(-0.0)
    if FLOAT16 in {a.dtype, target}:
        # NumPy's own code for float16 does not make a not-a-number quiet; adding -0 does.
        a = a + a.dtype.type(-0.0)
    if not rounding or target.itemsize > a.itemsize:
        return a.astype(target)
    return narrow(a.astype(FLOAT64), target, rounding)


def float_to_int(
    a: Floats, to_dtype: npt.DTypeLike, rounding_of_conversion: Rounding = Rounding.ZERO
) -> Integers:
    """Round to an integer and clamp to the range of `to_dtype`; not-a-number gives 0.

    Args:
        a: numbers of any float type.
        to_dtype: one of the eight integer types.
        rounding_of_conversion: how fractions are removed; hardware truncates unless bit 12 of
            the control register selects its rounding mode.
    """
    target: np.dtype[Any] = np.dtype(to_dtype)
    least, greatest = _LIMITS[target]
    value = a.astype(FLOAT64)
    if rounding_of_conversion != Rounding.ZERO:
        value = round_to_integral(value, rounding_of_conversion)
    is_number = value == value  # noqa: PLR0124 - false for not-a-number only
    if np.count_nonzero(is_number) != value.size:
        value = np.where(is_number, value, 0.0)
    above = np.maximum(value, float(least))
    if target.itemsize < 8:
        return np.minimum(above, float(greatest)).astype(target)
    # The greatest 64-bit integers are no float64; what reaches their power of two is clamped.
    ceiling = float(greatest)
    inside = np.minimum(above, math.nextafter(ceiling, 0.0)).astype(target)
    return np.where(value >= ceiling, target.type(greatest), inside)


def int_to_float(a: Integers, to_dtype: npt.DTypeLike, rounding: Rounding) -> Floats:
    """Convert integers of 8 to 64 bits, rounding once; float16 may overflow."""
    target: np.dtype[Any] = np.dtype(to_dtype)
    if not rounding:
        # To float16 NumPy goes through float32, which holds all integers below 2**24: rounding
        # twice matters only far beyond the greatest float16.
        return a.astype(target)
    if a.itemsize < 8:
        return narrow(a.astype(FLOAT64), target, rounding)
    high = (a >> a.dtype.type(32)).astype(FLOAT64) * 2.0**32
    low = (a & a.dtype.type(0xFFFFFFFF)).astype(FLOAT64)
    if target == FLOAT64:
        return add(high, low, rounding)
    return narrow(odd_sum(high, low), target, rounding)


def bf16_to_f32(a: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
    """Widen bfloat16 bits to float32, exactly."""
    wide = (a.astype(_UINT32) << np.uint32(16)).view(FLOAT32)
    return wide + np.float32(-0.0)


def f32_to_bf16(a: npt.NDArray[np.float32], rounding: Rounding) -> npt.NDArray[np.uint16]:
    """Round float32 to bfloat16, returned as its bits."""
    bits = a.view(_UINT32)
    kept = bits >> np.uint32(16)
    lost = bits & np.uint32(0xFFFF)
    negative = np.signbit(a)
    match rounding:
        case Rounding.NEAREST_EVEN:
            away = lost + (kept & np.uint32(1)) > np.uint32(0x8000)
        case Rounding.UP:
            away = (lost != 0) & ~negative
        case Rounding.DOWN:
            away = (lost != 0) & negative
        case Rounding.ZERO:
            away = np.zeros_like(negative)
    # The exponent is above the fraction: a carry moves into it, up to infinity.
    return np.where(np.isnan(a), kept | np.uint32(0x40), kept + away).astype(_UINT16)
