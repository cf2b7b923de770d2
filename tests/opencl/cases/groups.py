"""Work-groups: local memory and barriers, ids in three dimensions, collective functions."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from tests.opencl.case import Case, Launch, LocalBytes, Relative, Values
from tests.opencl.cases.reference import fma

I32, U32, F32 = np.int32, np.uint32, np.float32
_INTEL = "PoCL has no cl_intel_subgroups"


def _local_exchange(size: int, groups: int) -> Case:
    """Groups of `size` work-items, which is no multiple of any SIMD width."""
    count = size * groups

    def make(rng: Generator) -> Values:
        return {
            "a": rng.integers(-500, 500, count).astype(I32),
            "out": np.zeros(count, I32),
            "tile": LocalBytes(4 * size),
            "by": np.int32(rng.integers(1, size)),
            "b": rng.integers(0, 9999, count).astype(np.uint16),
            "totals": np.zeros(count, U32),
        }

    def expected(v: Values) -> dict[str, np.ndarray]:
        tile, by = v["a"].reshape(groups, size), int(v["by"])
        total = np.zeros_like(tile)
        for k in range(3):
            other = np.roll(tile, -(by + k), axis=1)
            tile = other + I32(k)
            total += other
        out = total * I32(1000) + tile[:, ::-1]
        totals = [_triangle(row, g) for g, row in enumerate(v["b"].reshape(groups, size))]
        sums = np.array(totals, U32)[:, None] + np.arange(size, dtype=U32)
        return {"out": out.ravel(), "totals": sums.ravel()}

    return Case(
        f"local_rotate_{size}",
        "local_rotate.cl",
        make,
        (
            Launch("local_rotate", "a out tile by", (count,), (size,)),
            Launch("triangle", "b totals", (count,), (size,)),
        ),
        expected,
        features={"*": ("barrier|sbarrier",)},
    )


def _triangle(row: np.ndarray, group: int) -> int:
    total = group
    values = row.tolist()
    while len(values) > 1:
        values += [0] * (len(values) % 2)
        values = [(values[k] + values[k + 1]) & 0xFFFF for k in range(0, len(values), 2)]
        total = (total * 31 + values[0]) & 0xFFFFFFFF
    return total


def _prefix_scan(rng: Generator) -> Values:
    return {
        "a": rng.integers(0, 2**32, 192, dtype=U32),
        "out": np.zeros(192, U32),
        "sums": np.zeros(3, U32),
        "t": LocalBytes(4 * 64),
    }


def _prefix_scan_expected(v: Values) -> dict[str, np.ndarray]:
    a = v["a"]
    scan = np.cumsum(a, dtype=U32) - a
    return {"out": scan, "sums": a.reshape(3, 64).sum(1, dtype=U32)}


def _bitonic_sort(rng: Generator) -> Values:
    keys = rng.permutation(2**16).astype(U32)[:256] * U32(65537)
    return {
        "keys": keys,
        "values": np.arange(256, dtype=np.uint16),
        "down": np.int32(1),
        "more": rng.permutation(keys[:128]),
        "items": rng.permutation(128).astype(np.uint16),
        "up": np.int32(0),
    }


def _bitonic_sort_expected(v: Values) -> dict[str, np.ndarray]:
    def rows(keys: np.ndarray, values: np.ndarray, size: int, step: int) -> list[np.ndarray]:
        keys, values = keys.reshape(-1, size), values.reshape(-1, size)
        order = np.argsort(keys, axis=1)[:, ::step]
        return [np.take_along_axis(x, order, axis=1).ravel() for x in (keys, values)]

    keys, values = rows(v["keys"], v["values"], 128, -1)
    more, items = rows(v["more"], v["items"], 64, 1)
    return {"keys": keys, "values": values, "more": more, "items": items}


def _sgemm(rng: Generator) -> Values:
    rows, cols, depth = 13, 18, 11
    return {
        "a": rng.normal(size=(rows, depth)).astype(F32),
        "b": rng.normal(size=(depth, cols)).astype(F32),
        "c": rng.normal(size=(rows, cols)).astype(F32),
        "rows": np.int32(rows),
        "cols": np.int32(cols),
        "depth": np.int32(depth),
        "alpha": np.float32(1.25),
        "beta": np.float32(-0.3),
    }


def _sgemm_expected(v: Values) -> dict[str, np.ndarray]:
    a, b, c = v["a"], v["b"], v["c"]
    total = np.zeros_like(c).ravel()
    for k in range(a.shape[1]):
        left = np.repeat(a[:, k], c.shape[1])
        total = fma(left, np.tile(b[k], c.shape[0]), total)
    alpha = np.full(total.shape, v["alpha"], F32)
    return {"c": fma(alpha, total, (v["beta"] * c).ravel()).reshape(c.shape)}


def _fft(rng: Generator) -> Values:
    signal = rng.normal(size=(3, 64, 2)).astype(F32)
    return {
        "in": signal,
        "out": np.zeros_like(signal),
        "t": LocalBytes(8 * 64),
        "sign": np.float32(-1),
        "one": np.float32(1),
        "back": np.zeros_like(signal),
    }


def _fft_expected(v: Values) -> dict[str, np.ndarray]:
    signal = v["in"].astype(np.float64)
    spectrum = np.fft.fft(signal[..., 0] + 1j * signal[..., 1])
    return {
        "out": np.stack([spectrum.real, spectrum.imag], axis=2),
        "back": signal * 64,
    }


def _levenshtein(rng: Generator) -> Values:
    groups, stride = 5, 32
    left = rng.integers(97, 101, (groups, stride)).astype(np.uint8)
    right = left.copy()
    edited = rng.random(right.shape) < 0.3
    right[edited] = rng.integers(97, 101, int(edited.sum()))
    right[3] = np.roll(right[3], 4)
    lengths = np.array([[12, 14], [32, 20], [0, 7], [25, 32], [9, 0]], I32)
    return {
        "left": left,
        "right": right,
        "lengths": lengths,
        "distance": np.full(groups, -1, I32),
        "stride": np.int32(stride),
    }


def _edit_distance(left: list[int], right: list[int]) -> int:
    row = list(range(len(right) + 1))
    for i, a in enumerate(left):
        above, row = row, [i + 1]
        for j, b in enumerate(right):
            row.append(min(above[j] + (a != b), above[j + 1] + 1, row[j] + 1))
    return row[-1]


def _levenshtein_expected(v: Values) -> dict[str, np.ndarray]:
    rows = zip(v["left"].tolist(), v["right"].tolist(), v["lengths"].tolist(), strict=True)
    return {"distance": np.array([_edit_distance(a[:n], b[:m]) for a, b, (n, m) in rows], I32)}


def _stencil(rng: Generator) -> Values:
    return {
        "in": rng.normal(size=(13, 29)).astype(F32),
        "out": np.zeros((13, 29), F32),
        "width": np.int32(29),
        "height": np.int32(13),
        "tile": LocalBytes(4 * 12 * 7),
    }


def _stencil_expected(v: Values) -> dict[str, np.ndarray]:
    padded = np.pad(v["in"], 1, mode="edge")
    c = v["in"]
    total = padded[1:-1, :-2] + padded[1:-1, 2:]
    total += padded[:-2, 1:-1] + padded[2:, 1:-1]
    wide = (total - F32(4) * c).ravel()
    out = fma(wide, np.full(wide.shape, 0.125, F32), c.ravel())
    return {"out": out.reshape(c.shape)}


def _transpose(rng: Generator) -> Values:
    return {
        "in": rng.integers(0, 2**32, (10, 7, 4), dtype=U32),
        "out": np.zeros((7, 10, 4), U32),
        "width": np.int32(7),
        "height": np.int32(10),
    }


def _transpose_expected(v: Values) -> dict[str, np.ndarray]:
    return {"out": v["in"].transpose(1, 0, 2)[..., ::-1].copy()}


def _ids(rng: Generator) -> Values:
    del rng
    return {"out": np.zeros((3, 4, 6, 16), I32), "flat": np.zeros((21, 16), I32)}


def _ids_of(
    sizes: tuple[int, int, int],
    local: tuple[int, int, int],
    offset: tuple[int, int, int],
    dimensions: int,
) -> np.ndarray:
    z, y, x = np.mgrid[0 : sizes[2], 0 : sizes[1], 0 : sizes[0]]
    out = np.zeros((*x.shape, 16), I32)
    for d, at in enumerate((x, y, z)):
        out[..., d] = at + offset[d]
        out[..., 3 + d] = at % local[d]
        out[..., 6 + d] = at // local[d]
        out[..., 9 + d] = local[d] * 100 + sizes[d] // local[d]
    out[..., 12] = dimensions
    out[..., 13] = sizes[0] * 10000 + sizes[1] * 100 + sizes[2]
    out[..., 14] = offset[0] + 100 * offset[1] + 10000 * offset[2]
    last = dimensions - 1
    out[..., 15] = (x, y, z)[last] * 10 + offset[last] * 10 + local[last]
    return out


def _ids_expected(v: Values) -> dict[str, np.ndarray]:
    del v
    flat = _ids_of((21, 1, 1), (7, 1, 1), (1000, 0, 0), 1)
    return {"out": _ids_of((6, 4, 3), (3, 2, 3), (5, 7, 11), 3), "flat": flat.reshape(21, 16)}


def _nonuniform(rng: Generator) -> Values:
    del rng
    return {
        "out": np.zeros((10, 21, 4), I32),
        "sums": np.zeros((3, 3), I32),
        "t": LocalBytes(4 * 32),
    }


def _nonuniform_expected(v: Values) -> dict[str, np.ndarray]:
    del v
    width, height, lw, lh = 21, 10, 8, 4
    y, x = np.mgrid[0:height, 0:width]
    gx, gy = x // lw, y // lh
    w, h = np.minimum(lw, width - gx * lw), np.minimum(lh, height - gy * lh)
    linear = y * width + x
    last = (gy * lh + h - 1) * width + gx * lw + w - 1
    inside = (y % lh) * w + x % lw
    numbers = gy * 3 + gx + 1000 * linear + 1000000 * inside
    enqueued = np.full(x.shape, lw * 100 + lh)
    rows = [linear[k * lh : (k + 1) * lh] for k in range(3)]
    sums = [[row[:, k * lw : (k + 1) * lw].sum() for k in range(3)] for row in rows]
    out = np.stack([w * 100 + h, enqueued, last - linear, numbers], axis=2)
    return {"out": out.astype(I32), "sums": np.array(sums, I32)}


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


def _shared_values(rng: Generator) -> Values:
    return {
        "a": rng.integers(-500, 500, 120).astype(I32),
        "out": np.zeros(120, I32),
        "by": rng.integers(-9, 9, 3).astype(F32),
        "b": rng.integers(-99, 99, 64).astype(F32),
        "plane": np.zeros(64, F32),
    }


def _shared_values_expected(v: Values) -> dict[str, np.ndarray]:
    out = np.roll(3 * v["a"].reshape(3, 40), -1, axis=1).ravel()
    x, y, z = v["by"]
    return {"out": out, "plane": x * v["b"] + y * v["b"] * v["b"] + z}


CASES: tuple[Case, ...] = (
    *(_local_exchange(size, groups) for size, groups in ((7, 5), (33, 2), (48, 2), (100, 2))),
    Case(
        "prefix_scan",
        "prefix_scan.cl",
        _prefix_scan,
        (
            Launch("scan_blocks", "a out sums t", (96,), (32,)),
            Launch("add_sums", "out sums", (192,), (64,)),
        ),
        _prefix_scan_expected,
    ),
    Case(
        "shared_values",
        "shared_values.cl",
        _shared_values,
        (
            Launch("neighbours", "a out", (120,), (40,)),
            Launch("plane", "by b plane", (64,), (32,)),
        ),
        _shared_values_expected,
        features={"*": ("barrier|sbarrier",), "pvc": ("d32x4t",)},
    ),
    Case(
        "bitonic_sort",
        "bitonic_sort.cl",
        _bitonic_sort,
        (
            Launch("bitonic_sort", "keys values down", (256,), (128,)),
            Launch("bitonic_sort", "more items up", (128,), (64,)),
        ),
        _bitonic_sort_expected,
    ),
    Case(
        "sgemm",
        "sgemm.cl",
        _sgemm,
        (Launch("sgemm", "a b c rows cols depth alpha beta", (24, 16), (8, 8)),),
        _sgemm_expected,
        features={"*": ("mad", "barrier")},
    ),
    Case(
        "fft",
        "fft.cl",
        _fft,
        (
            Launch("fft64", "in out t sign", (96,), (32,)),
            Launch("fft64", "out back t one", (96,), (32,)),
        ),
        _fft_expected,
        rules={
            "out": Relative(2e-6, "six passes, each within a few float32 roundings"),
            "back": Relative(4e-6, "twelve passes"),
        },
    ),
    Case(
        "levenshtein",
        "levenshtein.cl",
        _levenshtein,
        (Launch("levenshtein", "left right lengths distance stride", (165,), (33,)),),
        _levenshtein_expected,
    ),
    Case(
        "stencil",
        "stencil.cl",
        _stencil,
        (Launch("stencil", "in out width height tile", (30, 15), (10, 5)),),
        _stencil_expected,
    ),
    Case(
        "transpose",
        "transpose.cl",
        _transpose,
        (Launch("transpose", "in out width height", (8, 12), (4, 4)),),
        _transpose_expected,
    ),
    Case(
        "ids",
        "ids.cl",
        _ids,
        (
            Launch("ids", "out", (6, 4, 3), (3, 2, 3), (5, 7, 11)),
            Launch("ids", "flat", (21,), (7,), (1000,)),
        ),
        _ids_expected,
    ),
    Case(
        "nonuniform",
        "nonuniform.cl",
        _nonuniform,
        (Launch("nonuniform", "out sums t", (21, 10), (8, 4)),),
        _nonuniform_expected,
        options="-cl-std=CL2.0",
        pocl=False,
        pocl_why="PoCL 3.1 has no non-uniform work-groups",
    ),
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
