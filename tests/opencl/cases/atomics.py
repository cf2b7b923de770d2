"""Atomic operations; what depends on the schedule is compared as a bag or checked as a law."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

import numpy as np
from numpy.random import Generator

from tests.opencl.case import Case, Launch, Unordered, Values
from tests.opencl.cases.inputs import integers

I32, U32, I64, U64, F32 = np.int32, np.uint32, np.int64, np.uint64, np.float32
N = 64


def _exchange(cell: str, seen: str, stored: Callable[[int], float]) -> Callable[..., str | None]:
    """Return the law of exchange: each value stored is seen once, or is the one that stays."""

    def law(outputs: Mapping[str, np.ndarray], inputs: Values) -> str | None:
        before = sorted([inputs[cell][0], *(stored(i) for i in range(N))])
        after = sorted([outputs[cell][0], *outputs[seen]])
        return None if before == after else f"{cell}: exchanged {before} and saw {after}"

    return law


def _fold(function: Callable[..., np.ndarray], first: int, values: np.ndarray) -> int:
    return int(reduce(function, values, values.dtype.type(first)))


def _atomics_global(rng: Generator) -> Values:
    cells = rng.integers(-1000, 1000, 15).astype(I32)
    cells[14] = 3
    return {
        "cells": cells,
        "ucells": np.array([2**31, 2**31 + 5], U32),
        "old": np.zeros((4, N), I32),
        "a": integers(rng, I32, N),
        "swap": np.array([-77], I32),
        "swapped": np.zeros(N, I32),
        "fswap": np.array([-0.25], F32),
        "fswapped": np.zeros(N, F32),
    }


def _atomics_global_expected(v: Values) -> dict[str, np.ndarray]:
    c, a, i = v["cells"], v["a"], np.arange(N, dtype=I32)
    u = a.view(U32)
    old = [c[0] + 3 * i, c[1] - 2 * i, c[2] + i, c[3] - i]
    cells = c.copy()
    cells[:5] += np.array([3 * N, -2 * N, N, -N, 15 * N // 4], I32)
    cells[5] = _fold(np.minimum, c[5], a)
    cells[6] = _fold(np.maximum, c[6], a)
    cells[7] = _fold(np.bitwise_and, c[7], a)
    cells[8] = _fold(np.bitwise_or, c[8], a & 0x0F0F0F0F)
    cells[9] = _fold(np.bitwise_xor, c[9], a)
    cells[10:14] += a.reshape(-1, 4).sum(0, dtype=I32)
    cells[14] = _fold(np.multiply, c[14], 2 * i + 1)
    ucells = [_fold(np.minimum, v["ucells"][0], u), _fold(np.maximum, v["ucells"][1], u)]
    return {"old": np.stack(old).astype(I32), "cells": cells, "ucells": np.array(ucells, U32)}


def _atomics_local(rng: Generator) -> Values:
    return {
        "a": rng.integers(-9999, 9999, 100).astype(I32),
        "out": np.zeros((2, 10), I32),
        "order": np.zeros((2, 51), I32),
    }


def _atomics_local_expected(v: Values) -> dict[str, np.ndarray]:
    out, order = [], []
    for x in v["a"].reshape(2, 50):
        n = len(x)
        total = int(x.sum())
        out.append(
            [
                n,
                total,
                -total,
                _fold(np.bitwise_and, -1, x | 0xFF),
                _fold(np.bitwise_or, 0, x & 0xFFFF),
                int(x.min()),
                int(x.max()),
                _fold(np.bitwise_xor, 0, x),
                -n,
                7 * int((x & 1).any()),
            ]
        )
        order.append([*range(n), n * 10000 + n * (n - 1) // 2])
    return {"out": np.array(out, I32), "order": np.array(order, I32)}


def _atomics_64(rng: Generator) -> Values:
    return {
        "cells": integers(rng, I64, 9),
        "ucells": np.array([2**63, 2**63 + 5], U64),
        "a": integers(rng, I64, N),
        "old": np.zeros((2, N), I64),
        "swap": np.array([-77], I64),
        "swapped": np.zeros(N, I64),
    }


def _atomics_64_expected(v: Values) -> dict[str, np.ndarray]:
    c, a, i = v["cells"], v["a"], np.arange(N, dtype=I64)
    u = a.view(U64)
    cells = c.copy()
    cells[0] += N * 0x100000001
    cells[1] += N
    cells[2] -= a.sum()
    cells[3] = _fold(np.minimum, c[3], a)
    cells[4] = _fold(np.maximum, c[4], a)
    cells[5] = _fold(np.bitwise_and, c[5], a)
    cells[6] = _fold(np.bitwise_or, c[6], a & 0x0FF00FF00FF00FF0)
    cells[7] = _fold(np.bitwise_xor, c[7], a)
    for _ in range(N):
        cells[8] = cells[8] * 3 + 1
    ucells = [_fold(np.minimum, v["ucells"][0], u), _fold(np.maximum, v["ucells"][1], u)]
    old = np.stack([c[0] + i * 0x100000001, c[1] + i])
    return {"cells": cells, "ucells": np.array(ucells, U64), "old": old}


def _atomics_c11(rng: Generator) -> Values:
    return {
        "cells": np.array([-500, 500, 7, 0, 0], I32),
        "ucells": np.array([0, 12345], U32),
        "old": np.zeros((2, 40), I32),
        "a": rng.integers(-9999, 9999, 80).astype(I32),
    }


def _atomics_c11_expected(v: Values) -> dict[str, np.ndarray]:
    a, (top, low, total, *_) = v["a"], v["cells"].tolist()
    sums = a.reshape(2, 40).sum(1)
    cells = [max(top, int(a.max())), min(low, int(a.min())), total + int(a.sum()), *sums]
    parity = _fold(np.bitwise_xor, 12345, a.view(U32))
    return {
        "cells": np.array(cells, I32),
        "ucells": np.array([0xFFFFFFFF, parity], U32),
        "old": np.tile(np.arange(40, dtype=I32), (2, 1)),
    }


def _float_atomics(rng: Generator) -> Values:
    return {
        "sums": np.zeros(6, F32),
        "a": rng.integers(-400, 400, N).astype(F32) / F32(4),
        "bins": np.int32(5),
    }


def _float_atomics_expected(v: Values) -> dict[str, np.ndarray]:
    """All sums are exact, so their order does not show."""
    sums = [v["a"][k::5].sum() for k in range(5)]
    return {"sums": np.array([*sums, v["a"].sum() / 2], F32)}


def _histogram(rng: Generator) -> Values:
    return {
        "pixels": rng.integers(0, 256, (500, 4)).astype(np.uint8),
        "bins": np.arange(64, dtype=U32),
        "count": np.int32(500),
    }


def _histogram_expected(v: Values) -> dict[str, np.ndarray]:
    luma = (v["pixels"][:, :3].astype(U32) @ np.array([77, 150, 29], U32)) >> 8
    return {"bins": v["bins"] + np.bincount(luma >> 2, minlength=64).astype(U32)}


def _kmeans(rng: Generator) -> Values:
    centres = rng.integers(-1500, 1500, (6, 2)).astype(np.int16)
    return {
        "points": rng.integers(-2000, 2000, (117, 2)).astype(np.int16),
        "centres": centres,
        "nearest": np.zeros(117, np.uint8),
        "sums": np.zeros((6, 3), I32),
        "count": np.int32(117),
        "k": np.int32(6),
    }


def _kmeans_expected(v: Values) -> dict[str, np.ndarray]:
    points, centres = v["points"].astype(I32), v["centres"].astype(I32)
    distance = ((points[:, None] - centres) ** 2).sum(2)
    nearest = distance.argmin(1)
    sums = np.zeros((6, 3), I32)
    np.add.at(sums, nearest, np.column_stack([points, np.ones(len(points), I32)]))
    return {"nearest": nearest.astype(np.uint8), "sums": sums}


CASES: tuple[Case, ...] = (
    Case(
        "atomics_global",
        "atomics_global.cl",
        _atomics_global,
        (Launch("atomics_global", "cells ucells old a swap swapped fswap fswapped", (N,), (32,)),),
        _atomics_global_expected,
        rules={"old": Unordered(axis=1)},
        laws=(
            _exchange("swap", "swapped", lambda i: i),
            _exchange("fswap", "fswapped", lambda i: i + 0.5),
        ),
        features={"*": ("atomic",)},
    ),
    Case(
        "atomics_local",
        "atomics_local.cl",
        _atomics_local,
        (Launch("atomics_local", "a out order", (100,), (50,)),),
        _atomics_local_expected,
        rules={"order": Unordered(axis=1)},
        features={"*": (r"lsc_atomic\w*\.slm|dword_atomic",)},
    ),
    Case(
        "atomics_64",
        "atomics_64.cl",
        _atomics_64,
        (Launch("atomics_64", "cells ucells a old swap swapped", (N,), (32,)),),
        _atomics_64_expected,
        rules={"old": Unordered(axis=1)},
        laws=(_exchange("swap", "swapped", lambda i: i << 33),),
        features={"*": (r"svm_atomic\.\w+\.64|lsc_atomic.*:d64",)},
    ),
    Case(
        "atomics_c11",
        "atomics_c11.cl",
        _atomics_c11,
        (Launch("atomics_c11", "cells ucells old a", (80,), (40,)),),
        _atomics_c11_expected,
        rules={"old": Unordered(axis=1)},
        options="-cl-std=CL2.0",
        pocl_options="-cl-std=CL3.0",
    ),
    Case(
        "float_atomics",
        "float_atomics.cl",
        _float_atomics,
        (Launch("float_atomics", "sums a bins", (N,), (16,)),),
        _float_atomics_expected,
    ),
    Case(
        "histogram",
        "histogram.cl",
        _histogram,
        (Launch("histogram", "pixels bins count", (96,), (48,)),),
        _histogram_expected,
    ),
    Case(
        "kmeans",
        "kmeans.cl",
        _kmeans,
        (Launch("kmeans", "points centres nearest sums count k", (120,), (40,)),),
        _kmeans_expected,
    ),
)
