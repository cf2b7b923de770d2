"""The OpenCL built-ins that NumPy does not have, written on Python integers or wider floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np


def truncating_divide(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return quotient and remainder as C defines them (rounded towards zero)."""
    remainder = np.fmod(x, y)
    return (x - remainder) // y, remainder


def exactly(dtype: type[np.integer], function: Callable[..., int], *args: np.ndarray) -> np.ndarray:
    """Apply `function` to Python integers, element by element, and wrap to `dtype`."""
    bits = np.iinfo(dtype).bits
    lists = [np.asarray(a).ravel().tolist() for a in args]
    results = [function(*row) & ((1 << bits) - 1) for row in zip(*lists, strict=True)]
    unsigned = np.array(results, np.dtype(f"u{bits // 8}"))
    return unsigned.view(dtype).reshape(args[0].shape)


def saturate(
    dtype: type[np.integer], function: Callable[..., int], *args: np.ndarray
) -> np.ndarray:
    """Like `exactly`, but clamp to the range of `dtype`."""
    info = np.iinfo(dtype)

    def clamped(*row: int) -> int:
        return max(info.min, min(info.max, function(*row)))

    return exactly(dtype, clamped, *args)


def popcount(x: np.ndarray) -> np.ndarray:
    """Return the number of bits set, in the type of `x`."""
    mask = (1 << x.dtype.itemsize * 8) - 1
    return exactly(x.dtype.type, lambda v: (v & mask).bit_count(), x)


def clz(x: np.ndarray) -> np.ndarray:
    """Return the number of leading zero bits, in the type of `x`."""
    bits = x.dtype.itemsize * 8
    return exactly(x.dtype.type, lambda v: bits - (v & ((1 << bits) - 1)).bit_length(), x)


def ctz(x: np.ndarray) -> np.ndarray:
    """Return the number of trailing zero bits, in the type of `x`; the width for zero."""
    bits = x.dtype.itemsize * 8
    return exactly(x.dtype.type, lambda v: (v & -v).bit_length() - 1 if v else bits, x)


def rotate(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Rotate left by `y` modulo the width."""
    bits = x.dtype.itemsize * 8
    mask = (1 << bits) - 1

    def turned(v: int, n: int) -> int:
        n %= bits
        v &= mask
        return v << n | v >> (bits - n)

    return exactly(x.dtype.type, turned, x, y)


def mul_hi(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the upper half of the product."""
    bits = x.dtype.itemsize * 8
    return exactly(x.dtype.type, lambda a, b: a * b >> bits, x, y)


def round_to_integer(x: np.ndarray, mode: str) -> np.ndarray:
    """Round float64 values to integral ones: mode rte, rtz, rtp or rtn."""
    return {"rte": np.rint, "rtz": np.trunc, "rtp": np.ceil, "rtn": np.floor}[mode](x)


def saturate_float(x: np.ndarray, dtype: type[np.integer], mode: str = "rtz") -> np.ndarray:
    """Convert floats to integers with saturation; NaN becomes 0."""
    info = np.iinfo(dtype)
    results: list[int] = []
    for value in x.astype(np.float64).tolist():
        if np.isnan(value):
            results.append(0)
        elif np.isinf(value):
            results.append(info.max if value > 0 else info.min)
        else:
            rounded = int(round_to_integer(np.float64(value), mode))
            results.append(max(info.min, min(info.max, rounded)))
    return np.array(results, dtype)


def integer_to_float(x: np.ndarray, mode: str = "rte") -> np.ndarray:
    """Convert integers to float32, rounding once in the given direction."""
    results: list[np.float32] = []
    for value in x.tolist():
        near = _nearest_float32(value)
        exact = int(near)
        if mode == "rtp" and exact < value:
            near = np.nextafter(near, np.float32(np.inf))
        elif mode == "rtn" and exact > value:
            near = np.nextafter(near, np.float32(-np.inf))
        elif mode == "rtz" and abs(exact) > abs(value):
            near = np.nextafter(near, np.float32(0))
        results.append(near)
    return np.array(results, np.float32)


def _nearest_float32(value: int) -> np.float32:
    """Round an integer of up to 64 bits to the nearest float32, ties to even."""
    shift = max(0, abs(value).bit_length() - 24)
    kept, dropped = divmod(abs(value), 1 << shift)
    half = 1 << shift >> 1
    if dropped > half or (shift and dropped == half and kept & 1):
        kept += 1
    return np.float32(np.ldexp(float(kept), shift) * (-1.0 if value < 0 else 1.0))


def fma(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return x * y + z rounded once to the type of `x`: half, float or double.

    A double that is rounded to odd rounds to a type of half its width as the exact value does.
    """
    dtype = x.dtype.type
    results: list[np.floating] = []
    for row in zip(x.tolist(), y.tolist(), z.tolist(), strict=True):
        wide = _fma_wide(*row)
        if dtype is not np.float64 and math.isfinite(wide) and all(map(math.isfinite, row)):
            wide = _to_odd(wide, Fraction(row[0]) * Fraction(row[1]) + Fraction(row[2]))
        results.append(dtype(wide))
    return np.array(results, dtype)


def _fma_wide(x: float, y: float, z: float) -> float:
    """Return x * y + z rounded once to double."""
    if not all(map(math.isfinite, (x, y, z))):
        return x * y + z
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    return x * y + z if exact == 0 else float(exact)


def _to_odd(near: float, exact: Fraction) -> float:
    """Return the double with an odd significand next to `exact`, or `exact` itself."""
    if Fraction(near) == exact or np.float64(near).view(np.uint64) & np.uint64(1):
        return near
    return math.nextafter(near, math.inf if exact > Fraction(near) else -math.inf)


def narrow_float(x: np.ndarray, dtype: type[np.floating], mode: str) -> np.ndarray:
    """Convert to a narrower float type in the given direction: rte, rtz, rtp or rtn."""
    with np.errstate(over="ignore", under="ignore"):
        near = x.astype(dtype)
        if mode == "rte":
            return near
        back = near.astype(x.dtype)
        inward = np.nextafter(near, dtype(0))
        up, down = (np.nextafter(near, dtype(end)) for end in (np.inf, -np.inf))
    if mode == "rtz":
        return np.where(np.abs(back) > np.abs(x), inward, near)
    if mode == "rtp":
        return np.where(back < x, up, near)
    return np.where(back > x, down, near)
