"""Fourier's and other transforms. Data only."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.case import Launch, Values, count, floats, line, power
from benchmarks.public.program import program

_program = partial(program, "fft")
_PRIME = 998244353


def _stages(kernel: str, middle: str) -> partial[list[Launch]]:
    return partial(_stage_launches, kernel, middle)


def _stage_launches(kernel: str, middle: str, values: Values) -> list[Launch]:
    """Return a launch for each stage: from `in` to `a`, `b`, `a` and so on, the last to `out`."""
    half_n = len(values["in"]) // 2
    stages = half_n.bit_length()
    arrays = ["in", *("ab"[k % 2] for k in range(stages - 1)), "out"]
    return [
        Launch(
            kernel,
            (arrays[k], *middle.split(), arrays[k + 1], "half_n", f"span{k}"),
            (half_n,),
            (256,),
        )
        for k in range(stages)
    ]


def _sizes(n: int) -> Values:
    spans = {f"span{k}": np.int32(1 << k) for k in range(n.bit_length() - 1)}
    return {"half_n": np.int32(n // 2), **spans}


def _complex(pairs: NDArray[np.float32]) -> NDArray[np.complex128]:
    real, imaginary = pairs.astype(np.float64).T
    return real + 1j * imaginary


def _pairs(numbers: NDArray[np.complex128]) -> np.ndarray:
    return np.stack([numbers.real, numbers.imag], axis=-1)


def _butterflies(rng: np.random.Generator, scale: float) -> Values:
    n = power(1 << 15, scale)
    arrays = {name: np.zeros((n, 2), np.float32) for name in ("a", "b", "out")}
    return {"in": floats(rng, n, 2), **arrays, **_sizes(n)}


def _butterflies_expected(values: Values) -> Values:
    return {"out": _pairs(np.fft.fft(_complex(values["in"])))}


def _local_fft(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 18, scale)
    factors = _pairs(np.exp(-2j * np.pi * np.arange(128) / 256)).astype(np.float32)
    return {"in": floats(rng, n, 2), "factors": factors, "out": np.zeros((n, 2), np.float32)}


def _local_fft_expected(values: Values) -> Values:
    found = np.fft.fft(_complex(values["in"]).reshape(-1, 256))
    return {"out": _pairs(found.reshape(-1))}


def _slow_fourier(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 14, scale)
    return {"in": floats(rng, n), "out": np.zeros((n, 2), np.float32)}


def _slow_fourier_expected(values: Values) -> Values:
    found = np.fft.fft(values["in"].astype(np.float64).reshape(-1, 64))
    return {"out": _pairs(found.reshape(-1))}


def _hadamard(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 19, scale)
    data = rng.integers(-999, 1000, n).astype(np.int32)
    return {"in": data, "out": np.zeros(n, np.int32)}


def _hadamard_expected(values: Values) -> Values:
    rows = values["in"].astype(np.int64).reshape(-1, 256)
    matrix = np.ones((1, 1), np.int64)
    for _ in range(8):
        matrix = np.kron([[1, 1], [1, -1]], matrix)
    return {"out": (rows @ matrix).reshape(-1)}


def _haar(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 20, scale)
    data = {"in": floats(rng, 2 * n), "out": np.zeros(2 * n, np.float32)}
    return {**data, "half_n": np.int32(n), "means": np.zeros(n, np.uint8)}


def _haar_launches(values: Values) -> list[Launch]:
    return [Launch("haar", ("in", "out", "half_n"), (int(values["half_n"]),), (256,))]


def _haar_expected(values: Values) -> Values:
    a, b = values["in"].reshape(-1, 2).T
    half = np.float32(0.5)
    return {"out": np.concatenate([(a + b) * half, (a - b) * half])}


def _number_theoretic(rng: np.random.Generator, scale: float) -> Values:
    n = power(1 << 14, scale)
    root, factors = pow(3, (_PRIME - 1) // n, _PRIME), [1]
    for _ in range(n // 2 - 1):
        factors.append(factors[-1] * root % _PRIME)
    arrays = {name: np.zeros(n, np.uint32) for name in ("a", "b", "out")}
    data = rng.integers(0, _PRIME, n).astype(np.uint32)
    return {"in": data, "factors": np.array(factors, np.uint32), **arrays, **_sizes(n)}


def _transformed(data: np.ndarray, factors: np.ndarray) -> np.ndarray:
    if len(data) == 1:
        return data
    even, odd = (_transformed(data[k::2], factors[::2]) for k in (0, 1))
    odd = odd * factors % _PRIME
    return np.concatenate([(even + odd) % _PRIME, (even - odd) % _PRIME])


def _number_theoretic_expected(values: Values) -> Values:
    data, factors = (values[name].astype(np.int64) for name in ("in", "factors"))
    return {"out": _transformed(data, factors)}


KERNELS = (
    _program(
        "butterflies",
        _butterflies,
        _stages("butterflies", ""),
        "out",
        _butterflies_expected,
        1e-5,
    ),
    _program(
        "local_fft",
        _local_fft,
        line("local_fft", "in factors out", "in", 128, 2),
        "out",
        _local_fft_expected,
        1e-6,
    ),
    _program(
        "slow_fourier",
        _slow_fourier,
        line("slow_fourier", "in out", "in"),
        "out",
        _slow_fourier_expected,
        1e-5,
    ),
    _program(
        "hadamard", _hadamard, line("hadamard", "in out", "in", 128, 2), "out", _hadamard_expected
    ),
    _program("haar", _haar, _haar_launches, "out", _haar_expected),
    _program(
        "number_theoretic",
        _number_theoretic,
        _stages("number_theoretic", "factors"),
        "out",
        _number_theoretic_expected,
    ),
)
