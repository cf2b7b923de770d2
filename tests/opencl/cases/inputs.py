"""Seeded inputs that contain edge values as well as random ones."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator


def integers(rng: Generator, dtype: type[np.integer], count: int) -> np.ndarray:
    """Return `count` integers: the ends of the range and their neighbours, then all magnitudes."""
    info = np.iinfo(dtype)
    edges = [info.min, info.min + 1, info.max, info.max - 1, info.max // 2 + 1, 0, 1, 2, 3, 10]
    if info.min < 0:
        edges += [-1, -2, -3, info.min // 2]
    raw = rng.integers(info.min, info.max, count, dtype=dtype, endpoint=True)
    values = raw >> rng.integers(0, info.bits, count).astype(dtype)
    values[: len(edges)] = rng.permutation(np.array(edges, dtype))[:count]
    return values


def divisors(rng: Generator, dividends: np.ndarray) -> np.ndarray:
    """Return divisors for which division is defined: not zero, and not -1 below the minimum."""
    values = rng.permutation(integers(rng, dividends.dtype.type, len(dividends)))
    values[values == 0] = 7
    info = np.iinfo(dividends.dtype)
    if info.min < 0:
        values[(dividends == info.min) & (values == -1)] = 1
    return values


def floats(
    rng: Generator,
    count: int,
    low: float,
    high: float,
    *,
    edges: tuple[float, ...] = (),
    dtype: type[np.floating] = np.float32,
) -> np.ndarray:
    """Return `count` values spread evenly over [low, high], `edges` first."""
    values = rng.uniform(low, high, count).astype(dtype)
    values[: len(edges)] = np.array(edges, dtype)
    return values


def magnitudes(
    rng: Generator,
    count: int,
    exponents: tuple[int, int],
    *,
    edges: tuple[float, ...] = (),
    dtype: type[np.floating] = np.float32,
) -> np.ndarray:
    """Return `count` values of both signs, exponents spread evenly over a range, `edges` first."""
    significand = rng.uniform(1.0, 2.0, count) * rng.choice([-1.0, 1.0], count)
    values = np.ldexp(significand, rng.integers(*exponents, count)).astype(dtype)
    values[: len(edges)] = np.array(edges, dtype)
    return values


SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -0.5, 1.5, 2.5)
