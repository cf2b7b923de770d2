"""Work-groups: local memory and barriers, ids in three dimensions."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from tests.opencl.case import Case, Launch, LocalBytes, Relative, Values
from tests.opencl.cases.reference import fma

I32, U32, F32 = np.int32, np.uint32, np.float32


def _local_exchange(size: int, groups: int) -> Case:
    """Groups of `size` work-items, which is not a multiple of any SIMD width."""
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


def _split_barriers(rng: Generator) -> Values:
    n = 32
    shape = n, n
    return {
        "a": rng.integers(-1000, 1000, shape, dtype=np.int32),
        "b": rng.integers(-1000, 1000, shape, dtype=np.int32),
        "c": np.zeros(shape, np.int32),
        "n": np.int32(n),
    }


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
    *(
        Case(
            name,
            "split_barriers.cl",
            _split_barriers,
            (Launch("split_barriers", "a b c n", (32, 32), (8, 8)),),
            lambda v: {"c": v["a"] @ v["b"]},
            options=options,
            pocl=False,
            pocl_why="only Intel's compiler knows the halves of a barrier by these names",
            features={"*": ("sbarrier.signal", "sbarrier.wait"), **doubled},
        )
        for name, options, doubled in (
            ("split_barriers", "", {}),
            (
                "split_barriers_32",
                "-DCHANNELS=32",
                dict.fromkeys(("skl", "tgllp", "dg2"), (r"signal[^\n]*\n *sbarrier.signal",)),
            ),
        )
    ),
    Case(
        "inline_assembly",
        "inline_assembly.cl",
        lambda rng: {
            "out": np.zeros(64, I32),
            "in": rng.integers(-1000, 1000, 64, dtype=np.int32),
        },
        (Launch("inline_assembly", "out in", (64,), (32,)),),
        lambda v: {"out": (v["in"] + 12) * (v["in"] + 5)},
        pocl=False,
        pocl_why="the assembly is Intel's",
        features={"*": (r"add \(M1, 16\) T\(",)},
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
)
