"""Images in arrays. Data only."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.case import Values, count, floats, line, plane
from benchmarks.public.program import grid, program, square

_program = partial(program, "images")
_FIXED = 4096
"""The unit of angles in fixed point."""


def _bytes(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(0, 256, shape).astype(np.uint8)


def _byte_image(rng: np.random.Generator, scale: float) -> Values:
    n = square(1024, scale)
    return {"in": _bytes(rng, n, n), "out": np.zeros((n, n), np.uint8), "n": np.int32(n)}


def _erosion_expected(values: Values) -> Values:
    image, n = values["in"], int(values["n"])
    out = image.copy()
    parts = [image[y : n - 2 + y, x : n - 2 + x] for y in range(3) for x in range(3)]
    out[1:-1, 1:-1] = np.minimum.reduce(parts)
    return {"out": out}


def _bilateral(rng: np.random.Generator, scale: float) -> Values:
    n = square(512, scale)
    return {
        "in": floats(rng, n, n),
        "out": np.zeros((n, n), np.float32),
        "n": np.int32(n),
        "near": np.float32(0.2),
        "alike": np.float32(8),
    }


def _bilateral_expected(values: Values) -> Values:
    image, n = values["in"].astype(np.float64), int(values["n"])
    padded, total, weights = np.pad(image, 2, "edge"), np.zeros((n, n)), np.zeros((n, n))
    for dy in range(-2, 3):
        for dx in range(-2, 3):
            other = padded[2 + dy : 2 + dy + n, 2 + dx : 2 + dx + n]
            fall = (dx * dx + dy * dy) * float(values["near"])
            weight = np.exp(-fall - (other - image) ** 2 * float(values["alike"]))
            total += weight * other
            weights += weight
    return {"out": total / weights}


def _pixels(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 20, scale)
    return {"in": _bytes(rng, n, 4), "out": np.zeros((n, 4), np.uint8)}


def _tone_curve(rng: np.random.Generator, scale: float) -> Values:
    return {**_pixels(rng, scale), "table": _bytes(rng, 256)}


def _tone_curve_expected(values: Values) -> Values:
    return {"out": values["table"][values["in"]]}


def _luma_chroma(rng: np.random.Generator, scale: float) -> Values:
    pixels = _pixels(rng, scale)["in"]
    return {"in": pixels, **{name: np.zeros(len(pixels), np.uint8) for name in "yuv"}}


def _luma_chroma_expected(values: Values) -> Values:
    factors = np.array([[66, 129, 25, 0], [-38, -74, 112, 0], [112, -94, -18, 0]])
    y, u, v = (values["in"].astype(np.int64) @ factors.T + 128).T >> 8
    return {"y": y + 16, "u": u + 128, "v": v + 128}


def _enlarged(rng: np.random.Generator, scale: float) -> Values:
    n = square(1024, scale)
    side = n * 3 // 10
    sizes = {"from": np.int32(side), "to": np.int32(n)}
    return {"in": floats(rng, side, side), "out": np.zeros((n, n), np.float32), **sizes}


def _enlarged_expected(values: Values) -> Values:
    image, to = values["in"].astype(np.float64), int(values["to"])
    at = np.arange(to) * (len(image) - 1) * 256 // to
    whole, rest = at >> 8, (at & 255) / 256
    rows = image[whole] + rest[:, None] * (image[whole + 1] - image[whole])
    return {"out": rows[:, whole] + rest * (rows[:, whole + 1] - rows[:, whole])}


def _turned_image(rng: np.random.Generator, scale: float) -> Values:
    n = square(1024, scale)
    return {
        "in": rng.integers(0, 1 << 32, (n, n), np.uint32),
        "out": np.zeros((n, n), np.uint32),
        "n": np.int32(n),
        "cosine": np.int32(_FIXED * np.cos(0.5)),
        "sine": np.int32(_FIXED * np.sin(0.5)),
    }


def _turned_image_expected(values: Values) -> Values:
    n, cosine, sine = (int(values[name]) for name in ("n", "cosine", "sine"))
    dy, dx = np.indices((n, n)) - n // 2
    x = ((dx * cosine - dy * sine) >> 12) + n // 2
    y = ((dx * sine + dy * cosine) >> 12) + n // 2
    inside = (x >= 0) & (y >= 0) & (x < n) & (y < n)
    return {"out": np.where(inside, values["in"][np.clip(y, 0, n - 1), np.clip(x, 0, n - 1)], 0)}


def _median(rng: np.random.Generator, scale: float) -> Values:
    n = square(1024, scale)
    return {"in": _bytes(rng, n + 2, n + 2), "out": np.zeros((n, n), np.uint8), "n": np.int32(n)}


def _median_expected(values: Values) -> Values:
    image, n = values["in"], int(values["n"])
    parts = [image[y : n + y, x : n + x] for y in range(3) for x in range(3)]
    return {"out": np.sort(np.stack(parts), axis=0)[4]}


def _row_sums(rng: np.random.Generator, scale: float) -> Values:
    n = square(1024, scale, 256)
    return {"in": _bytes(rng, n, n), "out": np.zeros((n, n), np.uint32), "n": np.int32(n)}


def _row_sums_expected(values: Values) -> Values:
    return {"out": np.cumsum(values["in"], axis=1, dtype=np.uint32)}


def _cosines(rng: np.random.Generator, scale: float) -> Values:
    n = square(1024, scale)
    k, x = np.indices((8, 8))
    basis = np.cos((2 * x + 1) * k * np.pi / 16) * np.where(k == 0, np.sqrt(1 / 8), 0.5)
    image = {"in": floats(rng, n, n), "out": np.zeros((n, n), np.float32), "n": np.int32(n)}
    return {**image, "basis": basis.astype(np.float32)}


def _cosines_expected(values: Values) -> Values:
    n, basis = int(values["n"]), values["basis"].astype(np.float64)
    blocks = values["in"].reshape(n // 8, 8, n // 8, 8).transpose(0, 2, 1, 3)
    return {"out": (basis @ blocks @ basis.T).transpose(0, 2, 1, 3).reshape(n, n)}


KERNELS = (
    _program(
        "erosion", _byte_image, plane("erosion", "in out n", (32, 8)), "out", _erosion_expected
    ),
    _program(
        "bilateral",
        _bilateral,
        plane("bilateral", "in out n near alike", (32, 8)),
        "out",
        _bilateral_expected,
        1e-6,
    ),
    _program(
        "tone_curve",
        _tone_curve,
        line("tone_curve", "in table out", "in"),
        "out",
        _tone_curve_expected,
    ),
    _program(
        "luma_chroma",
        _luma_chroma,
        line("luma_chroma", "in y u v", "in"),
        "y u v",
        _luma_chroma_expected,
    ),
    _program(
        "enlarged",
        _enlarged,
        grid("enlarged", "in out from to", "out", (32, 8)),
        "out",
        _enlarged_expected,
        1e-6,
    ),
    _program(
        "turned_image",
        _turned_image,
        plane("turned_image", "in out n cosine sine", (32, 8)),
        "out",
        _turned_image_expected,
    ),
    _program("median", _median, plane("median", "in out n", (32, 8)), "out", _median_expected),
    _program(
        "row_sums", _row_sums, line("row_sums", "in out n", "in", 64), "out", _row_sums_expected
    ),
    _program(
        "cosines",
        _cosines,
        plane("cosines", "in basis out n", (8, 8)),
        "out",
        _cosines_expected,
        1e-6,
    ),
)
