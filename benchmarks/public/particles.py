"""Particles that move, pull each other and lie in cells. Data only."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.case import Values, count, floats, line
from benchmarks.public.program import program, square

_program = partial(program, "particles")


def _leapfrog(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 18, scale)
    speed, force = (floats(rng, n, 4) - np.float32(0.5) for _ in range(2))
    step = np.float32(0.0625)
    return {"place": floats(rng, n, 4), "speed": speed, "force": force, "step": step}


def _leapfrog_expected(values: Values) -> Values:
    step = float(values["step"])
    v = values["speed"] + step * values["force"].astype(np.float64)
    p = values["place"] + step * v
    return {"place": np.clip(p, 0, 1), "speed": np.where((p < 0) | (p > 1), -v, v)}


def _neighbours(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 15, scale)
    near = (np.arange(n) + rng.integers(1, 200, (24, n))) % n
    return {
        "place": floats(rng, n, 4),
        "near": near.astype(np.int32),
        "force": np.zeros((n, 4), np.float32),
        "cutoff": np.float32(0.25),
        "n": np.int32(n),
    }


def _neighbours_expected(values: Values) -> Values:
    place = values["place"].astype(np.float64)[:, :3]
    d = place - place[values["near"]]
    r2 = (d * d).sum(axis=2)
    w = 1 / (r2 + 0.01)
    factor = np.where(r2 < values["cutoff"], w**3 * (w**3 - 0.5) * w, 0)
    force = np.zeros((len(place), 4))
    force[:, :3] = (d * factor[:, :, None]).sum(axis=0)
    return {"force": force}


def _cell_counts(rng: np.random.Generator, scale: float) -> Values:
    n, side = count(1 << 18, scale), 64
    counts = np.zeros((side, side), np.int32)
    return {"place": floats(rng, n, 2), "counts": counts, "side": np.int32(side)}


def _cell_counts_expected(values: Values) -> Values:
    side = int(values["side"])
    x, y = (values["place"] * np.float32(side)).astype(np.int32).T
    return {"counts": np.bincount(y * side + x, minlength=side * side).reshape(side, side)}


def _tiled_bodies(rng: np.random.Generator, scale: float) -> Values:
    n = square(2048, scale, 256)
    return {"bodies": floats(rng, n, 4), "pull": np.zeros((n, 4), np.float32), "n": np.int32(n)}


def _tiled_bodies_expected(values: Values) -> Values:
    bodies = values["bodies"].astype(np.float64)
    d = bodies - bodies[:, None]
    w = bodies[:, 3] * ((d[..., :3] ** 2).sum(axis=2) + np.float32(0.01)) ** -1.5
    return {"pull": (d * w[..., None]).sum(axis=1)}


def _flock(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 13, scale)
    return {
        "place": floats(rng, n, 2),
        "speed": floats(rng, n, 2) - np.float32(0.5),
        "turn": np.zeros((n, 2), np.float32),
        "sight": np.float32(0.05),
        "n": np.int32(n),
    }


def _flock_expected(values: Values) -> Values:
    place, speed = (values[name].astype(np.float64) for name in ("place", "speed"))
    sight = float(values["sight"])
    away, along, seen = np.zeros(place.shape), np.zeros(place.shape), np.zeros((len(place), 1))
    for k in range(1, 129):
        d = np.roll(place, -k, axis=0) - place
        far = (d * d).sum(axis=1, keepdims=True)
        sees = (far <= sight) & ((d * speed).sum(axis=1, keepdims=True) >= 0)
        away -= np.where(sees & (far < sight / 4), d, 0)
        along += np.where(sees, np.roll(speed, -k, axis=0), 0)
        seen += sees
    return {"turn": np.where(seen > 0, away + along / np.maximum(seen, 1) - speed, 0)}


def _deposit(rng: np.random.Generator, scale: float) -> Values:
    n, side = count(1 << 17, scale), 128
    grid = np.zeros((side, side), np.int32)
    return {"place": floats(rng, n, 2), "grid": grid, "side": np.int32(side)}


def _deposit_expected(values: Values) -> Values:
    side = int(values["side"])
    p = values["place"] * np.float32(side - 1)
    whole = p.astype(np.int32)
    wx, wy = ((p - whole.astype(np.float32)) * np.float32(256)).astype(np.int64).T
    at, grid = whole[:, 1] * side + whole[:, 0], np.zeros(side * side, np.int64)
    np.add.at(grid, at, (256 - wx) * (256 - wy))
    np.add.at(grid, at + 1, wx * (256 - wy))
    np.add.at(grid, at + side, (256 - wx) * wy)
    np.add.at(grid, at + side + 1, wx * wy)
    return {"grid": grid.reshape(side, side)}


KERNELS = (
    _program(
        "leapfrog",
        _leapfrog,
        line("leapfrog", "place speed force step", "place"),
        "place speed",
        _leapfrog_expected,
        1e-6,
    ),
    _program(
        "neighbours",
        _neighbours,
        line("neighbours", "place near force cutoff n", "place"),
        "force",
        _neighbours_expected,
        1e-5,
    ),
    _program(
        "cell_counts",
        _cell_counts,
        line("cell_counts", "place counts side", "place"),
        "counts",
        _cell_counts_expected,
    ),
    _program(
        "tiled_bodies",
        _tiled_bodies,
        line("tiled_bodies", "bodies pull n", "bodies", 64),
        "pull",
        _tiled_bodies_expected,
        1e-5,
    ),
    _program(
        "flock",
        _flock,
        line("flock", "place speed turn sight n", "place"),
        "turn",
        _flock_expected,
        1e-5,
    ),
    _program(
        "deposit", _deposit, line("deposit", "place grid side", "place"), "grid", _deposit_expected
    ),
)
