"""Matrices and vectors most of whose elements are 0. Data only."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.case import Launch, Values, count, floats, line
from benchmarks.public.program import groups, program, row_numbers, sparse_rows

_program = partial(program, "sparse")
_DIAGONALS = (-512, -32, -1, 0, 1, 32, 512)
_LENGTH = 32
"""Elements of a sparse vector, whose indices are below three times as much."""


def _group_rows(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 14, scale)
    return {**sparse_rows(rng, n, n, 96), "x": floats(rng, n), "y": np.zeros(n, np.float32)}


def _rows_expected(values: Values) -> Values:
    products = values["values"].astype(np.float64) * values["x"][values["columns"]]
    rows = row_numbers(values["starts"])
    return {"y": np.bincount(rows, products, len(values["starts"]) - 1)}


def _ellpack(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 17, scale)
    return {
        "columns": rng.integers(0, n, (12, n)).astype(np.int32),
        "values": floats(rng, 12, n),
        "x": floats(rng, n),
        "y": np.zeros(n, np.float32),
        "n": np.int32(n),
    }


def _ellpack_expected(values: Values) -> Values:
    x = values["x"].astype(np.float64)[values["columns"]]
    return {"y": (values["values"] * x).sum(axis=0)}


def _coordinates(rng: np.random.Generator, scale: float) -> Values:
    n, total = 1 << 14, count(1 << 18, scale)
    rows, columns = (rng.integers(0, n, total).astype(np.int32) for _ in range(2))
    values, x = (rng.integers(-99, 100, size).astype(np.int32) for size in (total, n))
    y = np.zeros(n, np.int32)
    return {"rows": rows, "columns": columns, "values": values, "x": x, "y": y}


def _coordinates_expected(values: Values) -> Values:
    products = values["values"].astype(np.int64) * values["x"][values["columns"]]
    return {"y": np.bincount(values["rows"], products, len(values["y"]))}


def _sampled(rng: np.random.Generator, scale: float) -> Values:
    n, total = 4096, count(1 << 17, scale)
    rows, columns = (rng.integers(0, n, total).astype(np.int32) for _ in range(2))
    a, b = floats(rng, n, 32), floats(rng, n, 32)
    return {"rows": rows, "columns": columns, "a": a, "b": b, "out": np.zeros(total, np.float32)}


def _sampled_expected(values: Values) -> Values:
    u, v = values["a"][values["rows"]], values["b"][values["columns"]]
    return {"out": (u.astype(np.float64) * v).sum(axis=1)}


def _many_columns(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 13, scale)
    x, y = floats(rng, n, 16), np.zeros((n, 16), np.float32)
    return {**sparse_rows(rng, n, n, 24), "x": x, "y": y}


def _many_columns_launches(values: Values) -> list[Launch]:
    args = ("starts", "columns", "values", "x", "y")
    return [Launch("many_columns", args, (16, len(values["y"])), (16, 16))]


def _many_columns_expected(values: Values) -> Values:
    products = values["values"].astype(np.float64)[:, None] * values["x"][values["columns"]]
    y = np.zeros(values["y"].shape)
    np.add.at(y, row_numbers(values["starts"]), products)
    return {"y": y}


def _diagonals(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 18, scale)
    return {
        "values": floats(rng, len(_DIAGONALS), n),
        "offsets": np.array(_DIAGONALS, np.int32),
        "x": floats(rng, n),
        "y": np.zeros(n, np.float32),
        "n": np.int32(n),
    }


def _diagonals_expected(values: Values) -> Values:
    columns = np.arange(int(values["n"])) + values["offsets"][:, None]
    inside = (columns >= 0) & (columns < int(values["n"]))
    x = np.where(inside, values["x"].astype(np.float64)[np.where(inside, columns, 0)], 0)
    return {"y": (values["values"] * x).sum(axis=0)}


def _sparse_dot(rng: np.random.Generator, scale: float) -> Values:
    pairs = count(1 << 15, scale)
    chosen = np.argsort(rng.random((2 * pairs, 3 * _LENGTH)), axis=1)[:, :_LENGTH]
    return {
        "indices": np.sort(chosen, axis=1).astype(np.int32),
        "values": floats(rng, 2 * pairs, _LENGTH),
        "out": np.zeros(pairs, np.float32),
        "length": np.int32(_LENGTH),
    }


def _sparse_dot_expected(values: Values) -> Values:
    full = np.zeros((len(values["indices"]), 3 * _LENGTH))
    np.put_along_axis(full, values["indices"].astype(np.int64), values["values"], axis=1)
    return {"out": (full[::2] * full[1::2]).sum(axis=1)}


KERNELS = (
    _program(
        "group_rows",
        _group_rows,
        groups("group_rows", "starts columns values x y", "y", 32),
        "y",
        _rows_expected,
        1e-6,
    ),
    _program(
        "ellpack",
        _ellpack,
        line("ellpack", "columns values x y n", "y"),
        "y",
        _ellpack_expected,
        1e-6,
    ),
    _program(
        "coordinates",
        _coordinates,
        line("coordinates", "rows columns values x y", "rows"),
        "y",
        _coordinates_expected,
    ),
    _program(
        "sampled",
        _sampled,
        line("sampled", "rows columns a b out", "out"),
        "out",
        _sampled_expected,
        1e-6,
    ),
    _program(
        "many_columns", _many_columns, _many_columns_launches, "y", _many_columns_expected, 1e-6
    ),
    _program(
        "diagonals",
        _diagonals,
        line("diagonals", "values offsets x y n", "y"),
        "y",
        _diagonals_expected,
        1e-6,
    ),
    _program(
        "sparse_dot",
        _sparse_dot,
        line("sparse_dot", "indices values out length", "out"),
        "out",
        _sparse_dot_expected,
        1e-6,
    ),
)
