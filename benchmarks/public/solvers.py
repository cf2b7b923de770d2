"""Solvers of systems and of equations of motion. Data only."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.case import Launch, Values, count, floats, line
from benchmarks.public.program import chain, cube, program, square

_program = partial(program, "solvers")
_STEPS = 4
_ROWS = 64
"""Unknowns of a system with three diagonals."""


def _jacobi_rows(rng: np.random.Generator, scale: float) -> Values:
    n = square(1024, scale)
    return {
        "a": floats(rng, n, n) + n * np.eye(n, dtype=np.float32),
        "b": floats(rng, n),
        "x": np.zeros(n, np.float32),
        "y": np.zeros(n, np.float32),
        "n": np.int32(n),
    }


def _jacobi_rows_expected(values: Values) -> Values:
    a, x = values["a"].astype(np.float64).T, values["x"].astype(np.float64)
    diagonal = np.diag(a)
    for _ in range(_STEPS):
        x = (values["b"] - (a @ x - diagonal * x)) / diagonal
    return {"x": x}


def _conjugate(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 19, scale)
    arrays = {name: floats(rng, n) for name in ("x", "r", "p", "ap")}
    return {**arrays, "parts": np.zeros(n // 256, np.float32), "alpha": np.float32(0.125)}


def _conjugate_expected(values: Values) -> Values:
    x, r, p, ap = (values[name].astype(np.float64) for name in ("x", "r", "p", "ap"))
    alpha = float(values["alpha"])
    rest = r - alpha * ap
    parts = (rest * rest).reshape(-1, 256).sum(axis=1)
    return {"x": x + alpha * p, "r": rest, "parts": parts}


def _tridiagonal(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 13, scale)
    arrays = {name: floats(rng, _ROWS, n) for name in ("low", "middle", "high", "b")}
    arrays["middle"] += np.float32(3)
    work = {name: np.zeros((_ROWS, n), np.float32) for name in "xc"}
    return {**arrays, **work, "n": np.int32(n)}


def _tridiagonal_expected(values: Values) -> Values:
    low, middle, high, b = (
        values[name].astype(np.float64) for name in ("low", "middle", "high", "b")
    )
    c, x = high / middle, b / middle
    for k in range(1, _ROWS):
        w = 1 / (middle[k] - low[k] * c[k - 1])
        c[k], x[k] = high[k] * w, (b[k] - low[k] * x[k - 1]) * w
    for k in range(_ROWS - 2, -1, -1):
        x[k] -= c[k] * x[k + 1]
    return {"x": x}


def _tridiagonal_launches(values: Values) -> list[Launch]:
    args = ("low", "middle", "high", "b", "x", "c", "n")
    return [Launch("tridiagonal", args, (int(values["n"]),), (64,))]


def _cholesky(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 15, scale)
    a = rng.random((n, 6, 6))
    full = np.einsum("nij,nkj->nik", a, a) + 6 * np.eye(6)
    columns = np.ascontiguousarray(full.reshape(n, 36).T.astype(np.float32))
    return {"in": columns, "out": np.zeros_like(columns), "n": np.int32(n)}


def _cholesky_expected(values: Values) -> Values:
    full = np.asarray(values["in"].T, np.float64).reshape(-1, 6, 6)
    lower = np.asarray(np.linalg.cholesky(full))
    return {"out": lower.reshape(-1, 36).T}


def _cholesky_launches(values: Values) -> list[Launch]:
    return [Launch("cholesky", ("in", "out", "n"), (int(values["n"]),), (64,))]


def _elimination(rng: np.random.Generator, scale: float) -> Values:
    n = cube(128, scale, 32)
    data = floats(rng, n, n) + n * np.eye(n, dtype=np.float32)
    steps = {f"k{k}": np.int32(k) for k in range(n - 1)}
    return {"in": data, "a": np.zeros_like(data), "n": np.int32(n), **steps}


def _elimination_launches(values: Values) -> list[Launch]:
    n = int(values["n"])
    first = Launch("start", ("in", "a"), (n * n,), (256,))
    return [
        first,
        *(Launch("elimination", ("a", "n", f"k{k}"), (n, n), (32, 8)) for k in range(n - 1)),
    ]


def _elimination_expected(values: Values) -> Values:
    a = values["in"].astype(np.float64)
    for k in range(len(a) - 1):
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k] / a[k, k], a[k, k + 1 :])
    return {"a": a}


def _newton(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 17, scale)
    return {
        "mean": np.float32(6) * floats(rng, n),
        "eccentricity": np.float32(0.9) * floats(rng, n),
        "anomaly": np.zeros(n, np.float32),
        "steps": np.zeros(n, np.int32),
    }


def _newton_expected(values: Values) -> Values:
    mean, e = (np.asarray(values[name], np.float64) for name in ("mean", "eccentricity"))
    low, high = mean - 1, mean + 1
    for _ in range(60):
        middle = (low + high) / 2
        is_below = middle - e * np.sin(middle) < mean
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return {"anomaly": low}


def _runge_kutta(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 14, scale)
    state = np.float32(20) * floats(rng, n, 4)
    state[:, 3] = 0
    return {"state": state, "step": np.float32(1 / 256)}


def _slope(p: np.ndarray) -> np.ndarray:
    x, y, z = p
    return np.stack([10 * (y - x), x * (28 - z) - y, x * y - z * (8 / 3)])


def _runge_kutta_expected(values: Values) -> Values:
    p, step = values["state"].astype(np.float64).T[:3], float(values["step"])
    for _ in range(64):
        a = _slope(p)
        b = _slope(p + step / 2 * a)
        c = _slope(p + step / 2 * b)
        p = p + step / 6 * (a + 2 * b + 2 * c + _slope(p + step * c))
    return {"state": np.concatenate([p, np.zeros((1, p.shape[1]))]).T}


KERNELS = (
    _program(
        "jacobi_rows",
        _jacobi_rows,
        chain("jacobi_rows", "a b now next n", [*("x", "y") * (_STEPS // 2), "x"], "x", 64),
        "x",
        _jacobi_rows_expected,
        1e-6,
    ),
    _program(
        "conjugate",
        _conjugate,
        line("conjugate", "x r p ap parts alpha", "x"),
        "x r parts",
        _conjugate_expected,
        1e-6,
    ),
    _program(
        "tridiagonal",
        _tridiagonal,
        _tridiagonal_launches,
        "x",
        _tridiagonal_expected,
        1e-6,
    ),
    _program("cholesky", _cholesky, _cholesky_launches, "out", _cholesky_expected, 1e-6),
    _program("elimination", _elimination, _elimination_launches, "a", _elimination_expected, 1e-5),
    _program(
        "newton",
        _newton,
        line("newton", "mean eccentricity anomaly steps", "mean"),
        "anomaly",
        _newton_expected,
        1e-5,
    ),
    _program(
        "runge_kutta",
        _runge_kutta,
        line("runge_kutta", "state step", "state", 64),
        "state",
        _runge_kutta_expected,
        1e-5,
    ),
)
