"""What a benchmark is: a program in OpenCL C, its inputs and launches, and what is expected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Values = dict[str, Any]


@dataclass(frozen=True)
class Launch:
    """One launch; `args` name values of the benchmark."""

    kernel: str
    args: tuple[str, ...]
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]


Launches = Callable[[Values], list[Launch]]


@dataclass(frozen=True)
class Benchmark:
    """A program with its inputs, as large as `scale` says, and its launches.

    `expected` computes the outputs of the first run in double precision or in integers, and
    `tolerance` is the greatest relative L2 distance from them (0: all bits). Benchmarks without
    it are compared with the other implementation alone.
    """

    name: str
    source: str
    make: Callable[[np.random.Generator, float], Values]
    launches: Launches
    outputs: tuple[str, ...]
    expected: Callable[[Values], Values] | None = None
    tolerance: float = 1e-6
    options: str = ""


def count(base: int, scale: float, unit: int = 1024) -> int:
    """Return a share of a number, a multiple of `unit`."""
    return max(unit, int(base * scale) // unit * unit)


def power(base: int, scale: float) -> int:
    """Return the power of two nearest to a share of a power of two, in logarithms."""
    return 1 << max(10, round(np.log2(base * scale)))


def floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Return random numbers in [0, 1)."""
    return rng.random(shape, np.float32)


def line(kernel: str, args: str, array: str, local: int = 256, per: int = 1) -> Launches:
    """Return what launches a kernel once, with a work-item for each `per` elements of an array."""

    def launches(values: Values) -> list[Launch]:
        items = len(values[array]) // per
        return [Launch(kernel, tuple(args.split()), (items,), (local,))]

    return launches


def plane(kernel: str, args: str, local: tuple[int, int]) -> Launches:
    """Return what launches a kernel once over n x n work-items."""

    def launches(values: Values) -> list[Launch]:
        n = int(values["n"])
        return [Launch(kernel, tuple(args.split()), (n, n), local)]

    return launches
