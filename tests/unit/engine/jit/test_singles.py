"""The compiler's division with sums in F, computed as it stands, is the integer quotient.

`visim.engine.jit.analysis.singles` has the proof; here its steps are done for numbers of all kinds.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Singles = NDArray[np.float64]

LEAST_FACTOR, MOST_FACTOR = 1 - 9.5 * 2.0**-24, 1 - 5 * 2.0**-24


def cut(value: Singles) -> Singles:
    """Return exact values of DF as F, rounded towards zero."""
    near = value.astype(np.float32)
    far = np.abs(near.astype(np.float64)) > np.abs(value)
    return np.where(far, np.nextafter(near, np.float32(0)), near).astype(np.float64)


def check(n: Numbers, d: Numbers) -> int:
    """Divide as the compiler does, and return the most that Q is too small.

    All sums and products in DF are exact.
    """
    a, b = cut(n.astype(np.float64)), cut(d.astype(np.float64))
    a_low, b_low = n - a.astype(np.int64), d - b.astype(np.int64)
    assert max(int(a_low.max()), int(b_low.max())) < 1 << 8
    inverse = (1 / b).astype(np.float32).astype(np.float64)
    factor = cut(inverse - inverse * (1.5 * 2.0**-22))
    assert (factor * b >= LEAST_FACTOR).all()
    assert (factor * b <= MOST_FACTOR).all()
    first = np.floor(cut(a * factor))
    assert (cut(first) == first).all()
    low = a_low - b_low * first
    assert (np.abs(low) < 512).all()
    rest = cut(cut(a - b * first) + low)
    assert (rest >= 0).all()
    raw = first.astype(np.int64) + np.floor(cut(factor * rest)).astype(np.int64)
    missing = n // d - raw
    assert set(np.unique(missing).tolist()) <= {0, 1}
    left = n - raw * d
    assert left.max() < 1 << 32
    assert (raw + (left >= d) == n // d).all()
    assert (left - np.where(left < d, 0, d) == n % d).all()
    return int(missing.max())


def test_all_divisors_of_16_bits_divide_what_is_near_their_multiples() -> None:
    rng = np.random.default_rng(1)
    d = np.arange(1, 1 << 16, dtype=np.int64)
    for bits in (16, 24, 32):
        times = rng.integers(0, 1 << bits, d.size) // d * d
        for away in (-1, 0, 1):
            check(np.clip(times + away, 0, (1 << 32) - 1), d)


def test_all_numbers_of_10_bits_are_divided() -> None:
    n, d = np.meshgrid(np.arange(1 << 10), np.arange(1, 1 << 10))
    check(n.ravel(), d.ravel())


@pytest.mark.parametrize("seed", range(4))
def test_numbers_of_all_sizes_are_divided(seed: int) -> None:
    rng, count = np.random.default_rng(seed), 100_000
    n, d = rng.integers(1, 1 << 32, (2, count))
    d = np.maximum(1, d >> rng.integers(0, 32, count))
    n >>= rng.integers(0, 8, count)
    check(n, d)
    times = n // d * d
    for away in (-1, 0, 1, d - 1, d):
        check(np.clip(times + away, 0, (1 << 32) - 1), d)
    powers = 1 << rng.integers(0, 32, count)
    check(n, np.clip(powers + rng.integers(-2, 3, count), 1, (1 << 32) - 1))
    check(n | 0xFFFFFF00, d | 0xFF)


def test_the_correction_is_needed() -> None:
    rng = np.random.default_rng(9)
    d = rng.integers(1, 1 << 16, 10_000)
    assert check(d * 3, d) == 1
