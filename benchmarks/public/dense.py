"""Matrices that are full. Data only."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.case import Launch, Values, count, floats, line, plane
from benchmarks.public.program import cube, groups, program, square

_program = partial(program, "dense")


def _row_products(rng: np.random.Generator, scale: float) -> Values:
    n = square(1024, scale)
    a, x = floats(rng, n, n), floats(rng, n)
    return {"a": a, "x": x, "y": np.zeros(n, np.float32), "n": np.int32(n)}


def _row_products_expected(values: Values) -> Values:
    return {"y": values["a"].astype(np.float64) @ values["x"]}


def _gram(rng: np.random.Generator, scale: float) -> Values:
    n = cube(256, scale)
    a, c = floats(rng, n, n // 2), np.zeros((n, n), np.float32)
    return {"a": a, "c": c, "n": np.int32(n), "m": np.int32(n // 2)}


def _gram_expected(values: Values) -> Values:
    a = values["a"].astype(np.float64)
    return {"c": np.tril(a @ a.T)}


def _dgemm(rng: np.random.Generator, scale: float) -> Values:
    n = cube(256, scale)
    a, b = rng.random((n, n)), rng.random((n, n))
    return {"a": a, "b": b, "c": np.zeros((n, n)), "n": np.int32(n)}


def _product_expected(values: Values) -> Values:
    return {"c": values["a"].astype(np.float64) @ values["b"]}


def _rank_one(rng: np.random.Generator, scale: float) -> Values:
    n = square(1024, scale)
    return {"a": floats(rng, n, n), "x": floats(rng, n), "y": floats(rng, n), "n": np.int32(n)}


def _rank_one_expected(values: Values) -> Values:
    return {"a": values["a"] + np.outer(values["x"].astype(np.float64), values["y"])}


def _small_products(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 18, scale)
    return {"a": floats(rng, n, 4), "b": floats(rng, n, 4), "c": np.zeros((n, 4), np.float32)}


def _small_products_expected(values: Values) -> Values:
    a, b = (values[name].astype(np.float64).reshape(-1, 4, 4) for name in "ab")
    return {"c": (a @ b).reshape(-1, 4)}


def _turned(rng: np.random.Generator, scale: float) -> Values:
    n = square(1024, scale)
    return {"in": floats(rng, n, n), "out": np.zeros((n, n), np.float32), "n": np.int32(n)}


def _turned_expected(values: Values) -> Values:
    return {"out": values["in"].T}


def _register_tile(rng: np.random.Generator, scale: float) -> Values:
    n = cube(384, scale)
    a, b = floats(rng, n, n), floats(rng, n, n)
    return {"a": a, "b": b, "c": np.zeros((n, n), np.float32), "n": np.int32(n)}


def _register_tile_launches(values: Values) -> list[Launch]:
    n = int(values["n"])
    return [Launch("register_tile", ("a", "b", "c", "n"), (n // 4, n // 4), (8, 8))]


def _half_norms(rng: np.random.Generator, scale: float) -> Values:
    rows = count(4096, scale)
    a = floats(rng, rows, 256).astype(np.float16)
    return {"a": a, "norms": np.zeros(rows, np.float32), "n": np.int32(256)}


def _half_norms_expected(values: Values) -> Values:
    return {"norms": np.linalg.norm(values["a"].astype(np.float64), axis=1)}


KERNELS = (
    _program(
        "row_products",
        _row_products,
        groups("row_products", "a x y n", "y", 64),
        "y",
        _row_products_expected,
        1e-6,
    ),
    _program("gram", _gram, plane("gram", "a c n m", (16, 16)), "c", _gram_expected, 1e-6),
    _program("dgemm", _dgemm, plane("dgemm", "a b c n", (16, 16)), "c", _product_expected, 1e-14),
    _program(
        "rank_one",
        _rank_one,
        plane("rank_one", "a x y n", (64, 4)),
        "a",
        _rank_one_expected,
        1e-6,
    ),
    _program(
        "small_products",
        _small_products,
        line("small_products", "a b c", "a"),
        "c",
        _small_products_expected,
        1e-6,
    ),
    _program("turned", _turned, plane("turned", "in out n", (16, 16)), "out", _turned_expected),
    _program(
        "register_tile",
        _register_tile,
        _register_tile_launches,
        "c",
        _product_expected,
        1e-6,
    ),
    _program(
        "half_norms",
        _half_norms,
        line("half_norms", "a norms n", "norms"),
        "norms",
        _half_norms_expected,
        1e-6,
    ),
)
