"""Kernels that go through arrays once. Data only."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.case import Values, count, floats, line
from benchmarks.public.program import program

_program = partial(program, "streaming")


def _quadruple(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 20, scale)
    return {"in": floats(rng, n, 4), "out": np.zeros((n, 4), np.float32)}


def _arrays(names: str, base: int) -> Callable[[np.random.Generator, float], Values]:
    def make(rng: np.random.Generator, scale: float) -> Values:
        n = count(base, scale)
        found = {name: floats(rng, n) for name in names.split()}
        return {**found, "out": np.zeros(n, np.float32)}

    return make


def _add_four_expected(values: Values) -> Values:
    a, b, c, d = (values[name] for name in "abcd")
    return {"out": (a + b) + (c + d)}


def _axpby(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 20, scale)
    factors = {"alpha": np.float64(0.75), "beta": np.float64(0.5)}
    return {**factors, "x": rng.random(n), "y": rng.random(n)}


def _axpby_expected(values: Values) -> Values:
    return {"y": values["alpha"] * values["x"] + values["beta"] * values["y"]}


def _saturated(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 18, scale)
    a, b = (rng.integers(0, 256, (n, 16)).astype(np.uint8) for _ in range(2))
    return {"a": a, "b": b, "out": np.zeros((n, 16), np.uint8)}


def _saturated_expected(values: Values) -> Values:
    total = values["a"].astype(np.int32) + values["b"]
    return {"out": np.minimum(total, 255)}


def _planes(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 20, scale)
    names = ("red", "green", "blue")
    return {"in": floats(rng, n, 3), **{name: np.zeros(n, np.float32) for name in names}}


def _planes_expected(values: Values) -> Values:
    return dict(zip(("red", "green", "blue"), values["in"].T, strict=True))


def _backwards(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 21, scale)
    data = rng.integers(0, 1 << 32, n, np.uint32)
    return {"in": data, "out": np.zeros(n, np.uint32), "n": np.uint32(n)}


def _backwards_expected(values: Values) -> Values:
    return {"out": values["in"][::-1]}


def _complex_product(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 20, scale)
    a, b = floats(rng, n, 2), floats(rng, n, 2)
    return {"a": a, "b": b, "out": np.zeros((n, 2), np.float32)}


def _complex_product_expected(values: Values) -> Values:
    a, b = (values[name].astype(np.float64) @ np.array([1, 1j]) for name in "ab")
    return {"out": np.stack([(a * b).real, (a * b).imag], axis=1)}


def _horner(rng: np.random.Generator, scale: float) -> Values:
    return {**_arrays("x", 1 << 21)(rng, scale), "coefficients": floats(rng, 9)}


def _horner_expected(values: Values) -> Values:
    coefficients = values["coefficients"].astype(np.float64)
    return {"out": np.polyval(coefficients[::-1], values["x"].astype(np.float64))}


def _quadruple_expected(values: Values) -> Values:
    return {"out": values["in"]}


KERNELS = (
    _program(
        "quadruple",
        _quadruple,
        line("quadruple", "in out", "in"),
        "out",
        _quadruple_expected,
    ),
    _program(
        "add_four",
        _arrays("a b c d", 1 << 21),
        line("add_four", "a b c d out", "out"),
        "out",
        _add_four_expected,
    ),
    _program(
        "axpby",
        _axpby,
        line("axpby", "alpha x beta y", "y"),
        "y",
        _axpby_expected,
        1e-14,
    ),
    _program(
        "saturated",
        _saturated,
        line("saturated", "a b out", "a"),
        "out",
        _saturated_expected,
    ),
    _program(
        "planes",
        _planes,
        line("planes", "in red green blue", "red"),
        "red green blue",
        _planes_expected,
    ),
    _program(
        "backwards",
        _backwards,
        line("backwards", "in out n", "out"),
        "out",
        _backwards_expected,
    ),
    _program(
        "complex_product",
        _complex_product,
        line("complex_product", "a b out", "a"),
        "out",
        _complex_product_expected,
        1e-6,
    ),
    _program(
        "horner",
        _horner,
        line("horner", "coefficients x out", "x"),
        "out",
        _horner_expected,
        1e-6,
    ),
)
