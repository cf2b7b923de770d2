"""Functions of work-groups and subgroups: broadcasts, reductions, scans, shuffles, blocks."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from tests.opencl.case import Case, Launch, Values

I32, U32, F32 = np.int32, np.uint32, np.float32
_INTEL = "PoCL has no cl_intel_subgroups"


def _work_group(rng: Generator) -> Values:
    count = 80
    return {
        "a": rng.integers(-999, 999, count).astype(I32),
        "out": np.zeros((7, count), I32),
        "f": rng.integers(-4000, 4000, count).astype(F32) / F32(8),
        "fout": np.zeros((2, count), F32),
        "u": rng.integers(0, 2**63, count, dtype=np.uint64),
        "uout": np.zeros(count, np.uint64),
    }


def _work_group_expected(v: Values) -> dict[str, np.ndarray]:
    x, f = v["a"].reshape(2, 40), v["f"].reshape(2, 40)

    def spread(column: np.ndarray) -> np.ndarray:
        return np.repeat(column[:, None], 40, axis=1)

    scan = np.cumsum(x, axis=1, dtype=I32)
    lowest = np.minimum.accumulate(x, axis=1)
    before = np.concatenate([np.full((2, 1), 2**31 - 1, I32), lowest[:, :-1]], axis=1)
    votes = (x > 990).any(1) + 2 * (x > -1000).all(1)
    out = [
        spread(x.sum(1, dtype=I32)),
        scan - x,
        np.maximum.accumulate(x, axis=1),
        spread(x.min(1)),
        spread(x[:, 5]),
        spread(votes.astype(I32)),
        before,
    ]
    fout = [spread(f.max(1)), np.cumsum(f, axis=1, dtype=F32)]
    uout = np.cumsum(v["u"].reshape(2, 40), axis=1, dtype=np.uint64)
    return {
        "out": np.stack(out).reshape(7, 80),
        "fout": np.stack(fout).reshape(2, 80),
        "uout": uout.ravel(),
    }


def _subgroup(rng: Generator) -> Values:
    count = 80
    return {
        "a": rng.integers(-999, 999, count).astype(I32),
        "out": np.zeros((8, count), I32),
        "f": rng.integers(-4000, 4000, count).astype(F32) / F32(8),
        "fout": np.zeros((2, count), F32),
        "r": np.zeros(count, I32),
    }


def _subgroup_expected(v: Values) -> dict[str, np.ndarray]:
    """Groups of 40 work-items hold sub-groups of 16, 16 and 8."""
    a, f = v["a"], v["f"]
    out, fout, r = np.zeros((8, 80), I32), np.zeros((2, 80), F32), np.zeros(80, I32)
    for start in (0, 16, 32, 40, 56, 72):
        size = 8 if start % 40 == 32 else 16
        part = slice(start, start + size)
        x, g = a[part], f[part]
        scan = np.cumsum(x, dtype=I32)
        number, lane = start % 40 // 16, np.arange(size)
        out[:, part] = np.stack(
            [
                np.full(size, scan[-1]),
                scan - x,
                scan,
                np.full(size, x.min() - x.max()),
                np.maximum.accumulate(x),
                np.full(size, x[2]),
                np.full(size, (x > 900).any() + 2 * (x > -900).all()),
                number + 10 * lane + 1000 * size + 300000 + 16000000,
            ]
        )
        fout[0, part] = g.sum(dtype=F32)
        fout[1, part] = np.concatenate([[-np.inf], np.maximum.accumulate(g)[:-1]])
        low = x & 3
        r[part] = np.where((x > 950).any(), x.max() + low * (low - 1) // 2, -1)
    return {"out": out, "fout": fout, "r": r}


def _shuffles(rng: Generator) -> Values:
    count = 64
    return {
        "a": rng.integers(-999, 999, count).astype(I32),
        "index": rng.integers(0, 1000, count).astype(U32),
        "out": np.zeros((5, count), I32),
        "f": rng.normal(size=(count, 2)).astype(F32),
        "fout": np.zeros((count, 2), F32),
        "q": rng.integers(-(2**60), 2**60, count),
        "qout": np.zeros(count, np.int64),
    }


def _shuffles_expected(v: Values) -> dict[str, np.ndarray]:
    a, lane = v["a"].reshape(-1, 16), np.arange(16)
    mirror = v["a"][::-1].reshape(-1, 16)
    index = (v["index"] & 15).astype(np.int64)
    down = np.concatenate([a, mirror], axis=1)[:, lane + index[0]]
    up = np.concatenate([mirror, a], axis=1)[:, 16 + lane - 3]
    out = [
        np.take_along_axis(a, index.reshape(-1, 16), axis=1),
        a[:, lane ^ 5],
        down,
        up,
        a[:, ::-1] + a[:, 7:8],
    ]
    totals = v["q"].reshape(-1, 16).sum(1)
    return {
        "out": np.stack(out).reshape(5, -1),
        "fout": np.roll(v["f"].reshape(-1, 16, 2), -1, axis=1).reshape(-1, 2),
        "qout": np.repeat(totals, 16),
    }


def _blocks(rng: Generator) -> Values:
    count = 64
    return {
        "a": rng.integers(0, 2**32, 8 * count, dtype=U32),
        "out": np.zeros(5 * count, U32),
        "h": rng.integers(0, 2**16, 4 * count).astype(np.uint16),
        "hout": np.zeros(3 * count, np.uint16),
    }


def _blocks_expected(v: Values) -> dict[str, np.ndarray]:
    """Component k of lane l of sub-group s of a block of n words is word (s * n + k) * 16 + l."""
    a, h = v["a"], v["h"]

    def block(data: np.ndarray, n: int) -> np.ndarray:
        return data[: 64 * n].reshape(4, n, 16).transpose(1, 0, 2)

    x, y, z, w = block(a, 1)[0], block(a, 2), block(a, 4), block(a, 8)
    single = x + y[0] * U32(3) + z[3] * U32(5) + w[7]
    four = np.stack([y[0], y[1], w[2], w[5]]) + z[::-1]
    s, t = block(h, 1)[0], block(h, 4)
    two = np.stack([t[1], t[2]]) * s
    return {
        "out": np.concatenate([single.ravel(), four.transpose(1, 0, 2).ravel()]),
        "hout": np.concatenate([(s + t[0]).ravel(), two.transpose(1, 0, 2).ravel()]),
    }


CASES: tuple[Case, ...] = (
    Case(
        "work_group",
        "work_group.cl",
        _work_group,
        (Launch("work_group", "a out f fout u uout", (80,), (40,)),),
        _work_group_expected,
        options="-cl-std=CL2.0",
        pocl=False,
        pocl_why="PoCL 3.1 has no work-group collective functions",
    ),
    Case(
        "subgroup",
        "subgroup.cl",
        _subgroup,
        (
            Launch("subgroup", "a out f fout", (80,), (40,)),
            Launch("divergent", "a r", (80,), (40,)),
        ),
        _subgroup_expected,
        pocl=False,
        pocl_why=_INTEL,
    ),
    Case(
        "subgroup_shuffle",
        "subgroup_shuffle.cl",
        _shuffles,
        (
            Launch("shuffles", "a index out f fout", (64,), (32,)),
            Launch("butterfly", "q qout", (64,), (64,)),
        ),
        _shuffles_expected,
        features={"*": (r"r\[A",)},
        pocl=False,
        pocl_why=_INTEL,
    ),
    Case(
        "subgroup_block",
        "subgroup_block.cl",
        _blocks,
        (Launch("blocks", "a out h hout", (64,), (32,)),),
        _blocks_expected,
        features={"*": (r"svm_block_ld|oword_ld|lsc_load.*:d\d+x\d+t",)},
        pocl=False,
        pocl_why=_INTEL,
    ),
)
