"""Reductions, scans, counts. Data only."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.case import Launch, Values, count, floats, line
from benchmarks.public.program import program
from tests.opencl.case import LocalBytes

_program = partial(program, "reductions")
_GROUP = 256
_WORKERS = 8192


def _integers(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.integers(-999, 1000, n).astype(np.int32)


def _group_sums(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 22, scale, 2048)
    return {"in": _integers(rng, n), "out": np.zeros(n // 2048, np.int32)}


def _group_sums_expected(values: Values) -> Values:
    return {"out": values["in"].reshape(-1, 2048).sum(axis=1)}


def _greatest(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 20, scale)
    groups = n // _GROUP
    return {
        "in": rng.integers(0, 500, n).astype(np.float32),
        "most": np.zeros(groups, np.float32),
        "where": np.zeros(groups, np.int32),
    }


def _greatest_expected(values: Values) -> Values:
    rows = values["in"].reshape(-1, _GROUP)
    return {"most": rows.max(axis=1), "where": rows.argmax(axis=1)}


def _scanned(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 20, scale)
    return {"in": _integers(rng, n), "out": np.zeros(n, np.int32)}


def _exclusive_scan_expected(values: Values) -> Values:
    rows = values["in"].reshape(-1, 512)
    return {"out": (np.cumsum(rows, axis=1) - rows).reshape(-1)}


def _long_scan(rng: np.random.Generator, scale: float) -> Values:
    values = _scanned(rng, scale)
    sums = len(values["in"]) // _GROUP
    local = {"part": LocalBytes(4 * _GROUP), "count": np.int32(sums)}
    return {**values, "sums": np.zeros(sums, np.int32), **local}


def _long_scan_launches(values: Values) -> list[Launch]:
    n, local = len(values["in"]), (_GROUP,)
    return [
        Launch("scan_groups", ("in", "out", "sums", "part"), (n,), local),
        Launch("scan_sums", ("sums", "count", "part"), local, local),
        Launch("add_sums", ("out", "sums"), (n,), local),
    ]


def _long_scan_expected(values: Values) -> Values:
    return {"out": np.cumsum(values["in"], dtype=np.int32)}


def _segment_sums(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 16, scale)
    starts = np.zeros(n + 1, np.int32)
    np.cumsum(rng.integers(0, 64, n), out=starts[1:])
    return {"starts": starts, "in": floats(rng, starts[-1]), "out": np.zeros(n, np.float32)}


def _segment_sums_expected(values: Values) -> Values:
    sums = np.concatenate([[0], np.cumsum(values["in"].astype(np.float64))])
    return {"out": np.diff(sums[values["starts"]])}


def _strided_dot(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 21, scale)
    out = np.zeros(_WORKERS // 128, np.float32)
    return {"x": floats(rng, n), "y": floats(rng, n), "out": out, "n": np.int32(n)}


def _strided_dot_launches(values: Values) -> list[Launch]:
    del values
    return [Launch("strided_dot", ("x", "y", "out", "n"), (_WORKERS,), (128,))]


def _strided_dot_expected(values: Values) -> Values:
    products = values["x"].astype(np.float64) * values["y"]
    groups = np.arange(len(products)) % _WORKERS // 128
    return {"out": np.bincount(groups, products, _WORKERS // 128)}


def _byte_counts(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 20, scale, 4096)
    data = rng.binomial(255, 0.4, (n, 4)).astype(np.uint8)
    return {"in": data, "counts": np.zeros(256, np.uint32)}


def _byte_counts_expected(values: Values) -> Values:
    return {"counts": np.bincount(values["in"].reshape(-1), minlength=256)}


def _compaction(rng: np.random.Generator, scale: float) -> Values:
    values = _scanned(rng, scale)
    return {**values, "kept": np.zeros(len(values["in"]) // 128, np.int32)}


def _compaction_expected(values: Values) -> Values:
    rows = values["in"].reshape(-1, 128)
    order = np.argsort(rows <= 0, axis=1, kind="stable")
    moved = np.take_along_axis(rows, order, axis=1)
    return {"out": np.maximum(moved, 0).reshape(-1), "kept": (rows > 0).sum(axis=1)}


KERNELS = (
    _program(
        "group_sums",
        _group_sums,
        line("group_sums", "in out", "in", 256, 8),
        "out",
        _group_sums_expected,
    ),
    _program(
        "greatest",
        _greatest,
        line("greatest", "in most where", "in"),
        "most where",
        _greatest_expected,
    ),
    _program(
        "exclusive_scan",
        _scanned,
        line("exclusive_scan", "in out", "in", 256, 2),
        "out",
        _exclusive_scan_expected,
    ),
    _program("long_scan", _long_scan, _long_scan_launches, "out", _long_scan_expected),
    _program(
        "segment_sums",
        _segment_sums,
        line("segment_sums", "starts in out", "out"),
        "out",
        _segment_sums_expected,
        1e-6,
    ),
    _program(
        "strided_dot", _strided_dot, _strided_dot_launches, "out", _strided_dot_expected, 1e-5
    ),
    _program(
        "byte_counts",
        _byte_counts,
        line("byte_counts", "in counts", "in", 256, 16),
        "counts",
        _byte_counts_expected,
    ),
    _program(
        "compaction",
        _compaction,
        line("compaction", "in out kept", "in", 128),
        "out kept",
        _compaction_expected,
    ),
)
