"""Sorts and their parts. Data only."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.case import Launch, Values, count, floats, line
from benchmarks.public.program import program, square

_program = partial(program, "sorting")
_KEYS = 64
"""Keys that a work-item of the last kernel of a radix sort puts in their places."""


def _odd_even(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 17, scale)
    data = rng.integers(-(1 << 31), 1 << 31, n).astype(np.int32)
    return {"in": data, "out": np.zeros(n, np.int32)}


def _odd_even_expected(values: Values) -> Values:
    return {"out": np.sort(values["in"].reshape(-1, 128), axis=1).reshape(-1)}


def _local_bitonic(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 18, scale)
    return {"in": floats(rng, n), "out": np.zeros(n, np.float32)}


def _local_bitonic_expected(values: Values) -> Values:
    return {"out": np.sort(values["in"].reshape(-1, 512), axis=1).reshape(-1)}


def _digit_counts(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 20, scale)
    keys = rng.integers(0, 1 << 32, n, np.uint32)
    return {"keys": keys, "counts": np.zeros((16, n // 1024), np.uint32), "shift": np.int32(8)}


def _digits(values: Values, row: int) -> np.ndarray:
    """Return the counts of digits in rows of keys, as an array of digits and rows."""
    digits = (values["keys"].reshape(-1, row) >> np.uint32(values["shift"])) & np.uint32(15)
    return np.stack([(digits == digit).sum(axis=1) for digit in range(16)])


def _digit_counts_expected(values: Values) -> Values:
    return {"counts": _digits(values, 1024)}


def _digit_places(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 13, scale) * _KEYS
    keys = rng.integers(0, 1 << 32, n, np.uint32)
    values = {"keys": keys, "out": np.zeros(n, np.uint32), "shift": np.int32(8)}
    counts = _digits(values, _KEYS)
    places = np.cumsum(counts.reshape(-1)).reshape(counts.shape) - counts
    return {**values, "places": places.astype(np.uint32)}


def _digit_places_expected(values: Values) -> Values:
    digits = (values["keys"] >> np.uint32(values["shift"])) & np.uint32(15)
    return {"out": values["keys"][np.argsort(digits, kind="stable")]}


def _ranks(rng: np.random.Generator, scale: float) -> Values:
    n = square(4096, scale, 256)
    data = rng.integers(0, 5000, n).astype(np.int32)
    return {"in": data, "out": np.zeros(n, np.int32), "n": np.int32(n)}


def _ranks_expected(values: Values) -> Values:
    return {"out": np.sort(values["in"])}


def _merge_places(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 17, scale)
    a, b = (np.sort(rng.integers(0, 4 * n, n)).astype(np.int32) for _ in range(2))
    return {"a": a, "b": b, "out": np.zeros(2 * n, np.int32), "n": np.int32(n)}


def _merge_places_expected(values: Values) -> Values:
    return {"out": np.sort(np.concatenate([values["a"], values["b"]]))}


def _own_rows(rng: np.random.Generator, scale: float) -> Values:
    rows = count(1 << 14, scale)
    data = rng.integers(-(1 << 15), 1 << 15, (rows, 24)).astype(np.int16)
    return {"in": data, "out": np.zeros_like(data)}


def _own_rows_expected(values: Values) -> Values:
    return {"out": np.sort(values["in"], axis=1)}


def _digit_places_launches(values: Values) -> list[Launch]:
    items = len(values["keys"]) // _KEYS
    return [Launch("digit_places", ("keys", "places", "out", "shift"), (items,), (64,))]


KERNELS = (
    _program(
        "odd_even",
        _odd_even,
        line("odd_even", "in out", "in", 64, 2),
        "out",
        _odd_even_expected,
    ),
    _program(
        "local_bitonic",
        _local_bitonic,
        line("local_bitonic", "in out", "in", 256, 2),
        "out",
        _local_bitonic_expected,
    ),
    _program(
        "digit_counts",
        _digit_counts,
        line("digit_counts", "keys counts shift", "keys", 64, 16),
        "counts",
        _digit_counts_expected,
    ),
    _program("digit_places", _digit_places, _digit_places_launches, "out", _digit_places_expected),
    _program("ranks", _ranks, line("ranks", "in out n", "in"), "out", _ranks_expected),
    _program(
        "merge_places",
        _merge_places,
        line("merge_places", "a b out n", "out"),
        "out",
        _merge_places_expected,
    ),
    _program(
        "own_rows", _own_rows, line("own_rows", "in out", "in", 64), "out", _own_rows_expected
    ),
)
