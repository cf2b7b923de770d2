"""Programs of the public set, read from their files, and launches that several families have."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.case import Benchmark, Launch, Launches, Values, line

PROGRAMS = Path(__file__).parent / "programs"


def program(
    family: str,
    name: str,
    make: Callable[[np.random.Generator, float], Values],
    launches: Launches,
    outputs: str,
    expected: Callable[[Values], Values],
    tolerance: float = 0.0,
) -> Benchmark:
    """Return a benchmark whose program is in the family's folder.

    Args:
        family: name of the folder.
        name: of the benchmark and of the file.
        make: makes the values of the arguments.
        launches: the launches on them.
        outputs: names of the arrays that are compared, apart by blanks.
        expected: what NumPy says.
        tolerance: the greatest relative L2 distance from that; 0: all bits.
    """
    source = (PROGRAMS / family / f"{name}.cl").read_text(encoding="utf-8")
    return Benchmark(
        name, source, make, launches, tuple(outputs.split()), expected, tolerance=tolerance
    )


def square(base: int, scale: float, unit: int = 64) -> int:
    """Return the side of a square whose area goes with the scale."""
    return max(unit, int(base * scale**0.5) // unit * unit)


def cube(base: int, scale: float, unit: int = 32) -> int:
    """Return the side of a cube whose volume goes with the scale."""
    return max(unit, int(base * scale ** (1 / 3)) // unit * unit)


def grid(kernel: str, args: str, array: str, local: tuple[int, ...]) -> Launches:
    """Return what launches a kernel once, with a work-item for each element of an array.

    The last axis of the array is the first one of the launch.
    """

    def launches(values: Values) -> list[Launch]:
        return [Launch(kernel, tuple(args.split()), values[array].shape[::-1], local)]

    return launches


def groups(kernel: str, args: str, array: str, local: int) -> Launches:
    """Return what launches a kernel once, with a group for each element of an array."""

    def launches(values: Values) -> list[Launch]:
        items = len(values[array]) * local
        return [Launch(kernel, tuple(args.split()), (items,), (local,))]

    return launches


def chain(kernel: str, args: str, arrays: Sequence[str], items: str, local: int = 256) -> Launches:
    """Return what launches a kernel from each array to the next one.

    Args:
        kernel: its name.
        args: its arguments; `now` and `next` stand for the two arrays.
        arrays: the arrays, one after the other.
        items: the array that has an element for each work-item.
        local: work-items of a group.
    """

    def launches(values: Values) -> list[Launch]:
        steps = itertools.pairwise(arrays)
        return [
            one
            for now, following in steps
            for one in line(kernel, _named(args, now, following), items, local)(values)
        ]

    return launches


def _named(args: str, now: str, following: str) -> str:
    names = {"now": now, "next": following}
    return " ".join(names.get(word, word) for word in args.split())


def sparse_rows(rng: np.random.Generator, rows: int, columns: int, most: int) -> Values:
    """Return a sparse matrix (CSR) whose rows have up to `most` elements, not the same number."""
    starts = np.zeros(rows + 1, np.int32)
    np.cumsum(rng.integers(0, most + 1, rows), out=starts[1:])
    total = int(starts[-1])
    return {
        "starts": starts,
        "columns": rng.integers(0, columns, total).astype(np.int32),
        "values": rng.random(total, np.float32),
    }


def row_numbers(starts: np.ndarray) -> np.ndarray:
    """Return for each element of a sparse matrix (CSR) its row."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


__all__ = [
    "PROGRAMS",
    "chain",
    "cube",
    "grid",
    "groups",
    "program",
    "row_numbers",
    "sparse_rows",
    "square",
]
