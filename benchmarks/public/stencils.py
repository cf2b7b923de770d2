"""Kernels whose elements look at their neighbours. Data only."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np

from benchmarks.case import Launch, Values, count, floats, plane
from benchmarks.public.program import chain, cube, grid, program, square

_program = partial(program, "stencils")
_STEPS = 16
_SWEEPS = 4


def _heat(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 19, scale)
    a, b = floats(rng, n), np.zeros(n, np.float32)
    return {"a": a, "b": b, "rate": np.float32(0.25), "n": np.int32(n)}


def _heat_expected(values: Values) -> Values:
    a = values["a"].astype(np.float64)
    for _ in range(_STEPS):
        a = np.concatenate([a[:1], a[1:-1] + 0.25 * (a[:-2] - 2 * a[1:-1] + a[2:]), a[-1:]])
    return {"a": a}


def _square(rng: np.random.Generator, scale: float) -> Values:
    n = square(1024, scale)
    return {"in": floats(rng, n, n), "out": np.zeros((n, n), np.float32), "n": np.int32(n)}


def _box_expected(values: Values) -> Values:
    n, padded = int(values["n"]), np.pad(values["in"].astype(np.float64), 1, "edge")
    return {"out": sum(padded[y : y + n, x : x + n] for y in range(3) for x in range(3)) / 9}


def _life(rng: np.random.Generator, scale: float) -> Values:
    n = 1 << int(np.log2(square(1024, scale)))
    cells = rng.integers(0, 2, (n, n)).astype(np.uint8)
    return {"in": cells, "out": np.zeros((n, n), np.uint8), "n": np.int32(n)}


def _life_expected(values: Values) -> Values:
    cells = values["in"].astype(np.int32)
    moves = [move for move in product((-1, 0, 1), repeat=2) if move != (0, 0)]
    near = sum(np.roll(cells, move, (0, 1)) for move in moves)
    return {"out": (near == 3) | ((near == 2) & (cells == 1))}


def _wave(rng: np.random.Generator, scale: float) -> Values:
    n = square(1024, scale)
    now, before, following = floats(rng, n, n), floats(rng, n, n), np.zeros((n, n), np.float32)
    scalars = {"speed": np.float32(0.2), "n": np.int32(n)}
    return {"now": now, "before": before, "next": following, **scalars}


def _wave_expected(values: Values) -> Values:
    now, before = (values[name].astype(np.float64) for name in ("now", "before"))
    near = now[1:-1, :-2] + now[1:-1, 2:] + now[:-2, 1:-1] + now[2:, 1:-1]
    inner = now[1:-1, 1:-1]
    following = np.zeros(now.shape)
    bend = float(values["speed"]) * (near - 4 * inner)
    following[1:-1, 1:-1] = 2 * inner - before[1:-1, 1:-1] + bend
    return {"next": following}


def _cube27(rng: np.random.Generator, scale: float) -> Values:
    n = cube(96, scale, 16)
    data = floats(rng, n + 2, n + 2, n + 2)
    return {"in": data, "out": np.zeros_like(data), "weights": floats(rng, 4), "n": np.int32(n)}


def _cube27_launches(values: Values) -> list[Launch]:
    n = int(values["n"])
    return [Launch("cube27", ("in", "out", "weights", "n"), (n, n, n), (16, 4, 2))]


def _cube27_expected(values: Values) -> Values:
    data, n, weights = values["in"].astype(np.float64), int(values["n"]), values["weights"]
    out = np.zeros(data.shape)
    for move in product(range(3), repeat=3):
        part = data[tuple(slice(at, at + n) for at in move)]
        out[1:-1, 1:-1, 1:-1] += float(weights[sum(abs(at - 1) for at in move)]) * part
    return {"out": out}


def _red_black(rng: np.random.Generator, scale: float) -> Values:
    n = square(1024, scale)
    colours = {"red": np.int32(0), "black": np.int32(1), "n": np.int32(n)}
    return {"u": floats(rng, n + 2, n + 2), "f": floats(rng, n + 2, n + 2), **colours}


def _red_black_launches(values: Values) -> list[Launch]:
    n = int(values["n"])
    return [
        Launch("red_black", ("u", "f", "n", colour), (n // 2, n), (32, 8))
        for _ in range(_SWEEPS)
        for colour in ("red", "black")
    ]


def _red_black_expected(values: Values) -> Values:
    u, f = (np.asarray(values[name], np.float64) for name in "uf")
    side = np.arange(len(u))
    colours = (side + side[:, None] + 1) % 2
    colours[[0, -1]] = colours[:, [0, -1]] = -1
    for colour in (0, 1) * _SWEEPS:
        near = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
        u = np.where(colours == colour, (near - f) / 4, u)
    return {"u": u}


def _tile_blur_expected(values: Values) -> Values:
    n, padded = int(values["n"]), np.pad(values["in"].astype(np.float64), 2, "edge")
    weights = np.array([1, 4, 6, 4, 1]) / 16
    across = np.sum([w * padded[:, k : k + n] for k, w in enumerate(weights)], axis=0)
    return {"out": np.sum([w * across[k : k + n] for k, w in enumerate(weights)], axis=0)}


KERNELS = (
    _program(
        "heat",
        _heat,
        chain("heat", "now next rate n", [*("a", "b") * (_STEPS // 2), "a"], "a"),
        "a",
        _heat_expected,
        1e-6,
    ),
    _program("box", _square, plane("box", "in out n", (32, 8)), "out", _box_expected, 1e-6),
    _program("life", _life, plane("life", "in out n", (32, 8)), "out", _life_expected),
    _program(
        "wave",
        _wave,
        grid("wave", "now before next speed n", "now", (64, 4)),
        "next",
        _wave_expected,
        1e-6,
    ),
    _program("cube27", _cube27, _cube27_launches, "out", _cube27_expected, 1e-6),
    _program("red_black", _red_black, _red_black_launches, "u", _red_black_expected, 1e-6),
    _program(
        "tile_blur",
        _square,
        plane("tile_blur", "in out n", (16, 16)),
        "out",
        _tile_blur_expected,
        1e-6,
    ),
)
