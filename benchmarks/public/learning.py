"""Layers of neural networks, with floats, bytes and four bits. Data only."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.case import Launch, Values, count, floats, line, plane
from benchmarks.public.program import cube, grid, program, square

_program = partial(program, "learning")
_CHANNELS = 8


def _signed(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape, np.float32)


def _bias_relu(rng: np.random.Generator, scale: float) -> Values:
    n = square(1024, scale)
    return {"x": _signed(rng, n, n), "bias": _signed(rng, n), "n": np.int32(n)}


def _bias_relu_expected(values: Values) -> Values:
    return {"x": np.maximum(values["x"] + values["bias"], 0)}


def _conv3(rng: np.random.Generator, scale: float) -> Values:
    n = square(128, scale, 32)
    return {
        "in": floats(rng, _CHANNELS, n + 2, n + 2),
        "weights": _signed(rng, _CHANNELS, _CHANNELS, 3, 3),
        "out": np.zeros((_CHANNELS, n, n), np.float32),
        "n": np.int32(n),
    }


def _conv3_expected(values: Values) -> Values:
    n, image, out = int(values["n"]), values["in"].astype(np.float64), 0
    for y in range(3):
        for x in range(3):
            part = image[:, y : y + n, x : x + n]
            out = out + np.tensordot(values["weights"][:, :, y, x].astype(np.float64), part, 1)
    return {"out": out}


def _layer_norm(rng: np.random.Generator, scale: float) -> Values:
    rows = count(2048, scale, 64)
    data = _signed(rng, rows, 512)
    return {"in": data, "scale": floats(rng, 512), "out": np.zeros_like(data)}


def _layer_norm_launches(values: Values) -> list[Launch]:
    items = len(values["in"]) * 128
    return [Launch("layer_norm", ("in", "scale", "out"), (items,), (128,))]


def _layer_norm_expected(values: Values) -> Values:
    rows = values["in"].astype(np.float64)
    away = rows - rows.mean(axis=1, keepdims=True)
    variance = (away * away).mean(axis=1, keepdims=True)
    return {"out": away / np.sqrt(variance + 1e-5) * values["scale"]}


def _gelu(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 20, scale)
    return {"in": _signed(rng, n), "out": np.zeros(n, np.float32)}


def _gelu_expected(values: Values) -> Values:
    x = values["in"].astype(np.float64)
    return {"out": 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))}


def _bytes_matrix(rng: np.random.Generator, scale: float) -> Values:
    n = cube(256, scale)
    a, b = (rng.integers(-128, 128, (n, n)).astype(np.int8) for _ in range(2))
    scalars = {"n": np.int32(n), "scale": np.float32(0.0004)}
    return {"a": a, "b": b, "c": np.zeros((n, n), np.int8), **scalars}


def _bytes_matrix_expected(values: Values) -> Values:
    sums = values["a"].astype(np.int32) @ values["b"].astype(np.int32)
    return {"c": np.clip(np.rint(sums.astype(np.float32) * values["scale"]), -128, 127)}


def _four_bits(rng: np.random.Generator, scale: float) -> Values:
    rows, blocks = count(2048, scale), 32
    return {
        "weights": rng.integers(0, 256, (rows, blocks, 16)).astype(np.uint8),
        "scales": floats(rng, rows, blocks),
        "x": _signed(rng, blocks * 32),
        "y": np.zeros(rows, np.float32),
        "blocks": np.int32(blocks),
    }


def _four_bits_expected(values: Values) -> Values:
    packed = values["weights"].astype(np.int32)
    weights = np.concatenate([packed & 15, packed >> 4], axis=2) - 8
    scaled = weights * values["scales"].astype(np.float64)[:, :, None]
    return {"y": scaled.reshape(len(packed), -1) @ values["x"]}


def _attention(rng: np.random.Generator, scale: float) -> Values:
    n = square(1024, scale)
    arrays = {name: _signed(rng, n, 32) for name in ("queries", "keys", "values")}
    return {**arrays, "out": np.zeros((n, 32), np.float32), "n": np.int32(n)}


def _attention_expected(values: Values) -> Values:
    scores = values["queries"].astype(np.float64) @ values["keys"].T
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return {"out": weights @ values["values"] / weights.sum(axis=1, keepdims=True)}


def _pooling(rng: np.random.Generator, scale: float) -> Values:
    n = square(512, scale)
    out, which = np.zeros((n, n), np.float32), np.zeros((n, n), np.uint8)
    return {"in": _signed(rng, 2 * n, 2 * n), "out": out, "which": which, "n": np.int32(n)}


def _pooling_expected(values: Values) -> Values:
    n = int(values["n"])
    parts = values["in"].reshape(n, 2, n, 2).transpose(0, 2, 1, 3).reshape(n, n, 4)
    return {"out": parts.max(axis=2), "which": parts.argmax(axis=2)}


def _adam(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 20, scale)
    arrays = {name: floats(rng, n) for name in ("weight", "mean", "square", "slope")}
    return {**arrays, "rate": np.float32(0.001)}


def _adam_expected(values: Values) -> Values:
    weight, m, v, g = (
        values[name].astype(np.float64) for name in ("weight", "mean", "square", "slope")
    )
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    weight = weight - float(values["rate"]) * m / (np.sqrt(v) + 1e-8)
    return {"mean": m, "square": v, "weight": weight}


def _lstm_cell(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 18, scale)
    cell, out = _signed(rng, n), np.zeros(n, np.float32)
    return {"gates": _signed(rng, 4, n), "cell": cell, "out": out, "n": np.int32(n)}


def _lstm_cell_expected(values: Values) -> Values:
    gates = values["gates"].astype(np.float64)
    enter, forget, show = 1 / (1 + np.exp(-gates[[0, 1, 3]]))
    cell = forget * values["cell"] + enter * np.tanh(gates[2])
    return {"cell": cell, "out": show * np.tanh(cell)}


def _embedding(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 14, scale)
    return {
        "tokens": rng.integers(0, 8192, n).astype(np.int32),
        "table": _signed(rng, 8192, 64),
        "positions": _signed(rng, 512, 64),
        "out": np.zeros((n, 64), np.float32),
        "length": np.int32(512),
    }


def _embedding_expected(values: Values) -> Values:
    at = np.arange(len(values["tokens"])) % int(values["length"])
    return {"out": values["table"][values["tokens"]] + values["positions"][at]}


KERNELS = (
    _program(
        "bias_relu",
        _bias_relu,
        plane("bias_relu", "x bias n", (64, 4)),
        "x",
        _bias_relu_expected,
    ),
    _program(
        "conv3",
        _conv3,
        grid("conv3", "in weights out n", "out", (32, 4, 1)),
        "out",
        _conv3_expected,
        1e-5,
    ),
    _program("layer_norm", _layer_norm, _layer_norm_launches, "out", _layer_norm_expected, 1e-5),
    _program("gelu", _gelu, line("gelu", "in out", "in"), "out", _gelu_expected, 1e-6),
    _program(
        "bytes_matrix",
        _bytes_matrix,
        plane("bytes_matrix", "a b c n scale", (16, 16)),
        "c",
        _bytes_matrix_expected,
    ),
    _program(
        "four_bits",
        _four_bits,
        line("four_bits", "weights scales x y blocks", "y", 64),
        "y",
        _four_bits_expected,
        1e-5,
    ),
    _program(
        "attention",
        _attention,
        line("attention", "queries keys values out n", "queries", 64),
        "out",
        _attention_expected,
        1e-5,
    ),
    _program(
        "pooling",
        _pooling,
        plane("pooling", "in out which n", (32, 8)),
        "out which",
        _pooling_expected,
    ),
    _program(
        "adam",
        _adam,
        line("adam", "weight mean square slope rate", "weight"),
        "weight mean square",
        _adam_expected,
        1e-6,
    ),
    _program(
        "lstm_cell",
        _lstm_cell,
        line("lstm_cell", "gates cell out n", "cell"),
        "cell out",
        _lstm_cell_expected,
        1e-6,
    ),
    _program(
        "embedding",
        _embedding,
        grid("embedding", "tokens table positions out length", "out", (64, 4)),
        "out",
        _embedding_expected,
    ),
)
