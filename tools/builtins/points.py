"""Arguments at which functions are measured: special values, all sizes, and where much happens."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Points = NDArray[Any]
DTYPES = {"float": np.dtype("f4"), "double": np.dtype("f8"), "half": np.dtype("f2")}


def special_values(dtype: np.dtype[Any]) -> Points:
    """Return zeros, infinities, NaN, the ends of the normal and denormal numbers, and landmarks."""
    info: Any = np.finfo(dtype)
    one = dtype.type(1)
    sizes = [
        0.0, math.inf, info.max, info.tiny, info.smallest_subnormal,
        np.nextafter(dtype.type(info.tiny), dtype.type(0)), 1.0, 0.5, 1.5, 2.0, 2.5, 3.0, 10.0,
        0.25, math.pi, math.pi / 2, math.pi / 4, math.e, math.log(2), 100.0, 127.5,
        np.nextafter(one, dtype.type(0)), np.nextafter(one, dtype.type(2)),
    ]  # fmt: skip
    positive = np.array(sizes).astype(dtype)
    return np.concatenate([positive, -positive, np.array([np.nan], dtype)])


def spread(
    dtype: np.dtype[Any], count: int, near: tuple[float, float], random: np.random.Generator
) -> Points:
    """Return numbers: a quarter any bit patterns, a quarter of moderate size, half in `near`."""
    info: Any = np.finfo(dtype)
    quarter = max(1, count // 4)
    patterns = random.integers(0, 1 << info.bits, quarter, dtype=np.uint64, endpoint=False)
    whole = patterns.astype(f"u{dtype.itemsize}").view(dtype)
    exponents = random.uniform(-12, 12, quarter)
    sized = (np.exp2(exponents) * random.choice([-1, 1], quarter)).astype(dtype)
    close = random.uniform(*near, count - 2 * quarter).astype(dtype)
    return np.concatenate([whole, sized, close])


def arguments(
    kinds: tuple[str, ...], name: str, count: int, near: tuple[float, float], seed: int
) -> list[Points]:
    """Return the arguments of a function: `count` random ones and the special values.

    Args:
        kinds: the types of its arguments: "T" or "int".
        name: what T is: "float", "double" or "half".
        count: how many random points.
        near: the interval in which half of them are.
        seed: of the random numbers.
    """
    random, dtype = np.random.default_rng(seed), DTYPES[name]
    special = special_values(dtype)
    columns = [spread(dtype, count, near, random) for _ in kinds]
    if len(kinds) == 1:
        return [np.concatenate([special, columns[0]])]
    grid = [random.permutation(special) for _ in kinds]
    pairs = max(1, count // 4)
    found: list[Points] = []
    for place, (kind, column) in enumerate(zip(kinds, columns, strict=True)):
        mixed = random.choice(special, pairs)
        values = np.concatenate([special if not place else grid[place], mixed, column])
        found.append(_integers(values.size, random) if kind == "int" else values)
    return found


def _integers(count: int, random: np.random.Generator) -> Points:
    edges = np.array([0, 1, -1, 2, -2, 3, -3, 127, -126, 200, -200, 2**31 - 1, -(2**31)])
    small = random.integers(-40, 40, count)
    values = np.where(random.random(count) < 0.25, random.choice(edges, count), small)
    return values.astype(np.int32)
