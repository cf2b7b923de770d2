"""Double precision: arithmetic, conversions, and the functions with their limits."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from tests.opencl.case import FP64_DEVICES, NO_FP64, Case, Launch, Rows, Ulp, Values
from tests.opencl.cases.inputs import SPECIAL, floats, magnitudes
from tests.opencl.cases.reference import fma, narrow_float, saturate_float

N = 128
F32, F64 = np.float32, np.float64
_DOUBLE = "OpenCL C 7.4, table of double-precision limits"


def _double_ops(rng: Generator) -> Values:
    edges = (*SPECIAL, 1e308, -1e-308, 4503599627370497.5, 2147483647.5, 9.3e18, 1e-310)
    b = magnitudes(rng, N, (-40, 40), edges=edges, dtype=F64)
    return {
        "a": magnitudes(rng, N, (-70, 70), edges=edges, dtype=F64),
        "b": rng.permutation(b),
        "out": np.zeros((12, N), F64),
        "lout": np.zeros((2, N), np.int64),
        "fout": np.zeros((2, N), F32),
        "terms": magnitudes(rng, 32 * 40, (-30, 30), dtype=F64),
        "sums": np.zeros((32, 2), F64),
        "count": np.int32(40),
    }


def _double_ops_expected(v: Values) -> dict[str, np.ndarray]:
    x, y = v["a"], v["b"]
    i = np.arange(N, dtype=F64)
    out = [
        x + y,
        x - y,
        x * y,
        x / y,
        fma(x, y, -x),
        np.sqrt(np.abs(x)),
        np.floor(x) - np.ceil(y),
        np.rint(x) + np.trunc(y),
        np.where(x < y, np.fmax(x, 1.0), np.fmin(y, -1.0)),
        i * 1e300 + x.view(np.uint64).astype(F64),
        x.astype(F32).astype(F64),
        (i - 100) / 7,
    ]
    terms = v["terms"].reshape(32, -1)
    total, low = np.zeros(32), np.zeros(32)
    for column in terms.T:
        addend = column - low
        t = total + addend
        low = (t - total) - addend
        total = t
    lout = [saturate_float(x, np.int64), saturate_float(y, np.int32, "rte").astype(np.int64)]
    return {
        "out": np.stack(out),
        "lout": np.stack(lout),
        "fout": np.stack([x.astype(F32), narrow_float(y, F32, "rtz")]),
        "sums": np.stack([total, low], axis=1),
    }


def _double_math(rng: Generator) -> Values:
    return {
        "a": floats(rng, 64, -30, 30, edges=(0.0, -0.0, 1.0, -0.5, 1e-9, 20.0), dtype=F64),
        "b": floats(rng, 64, 0.01, 90, edges=(1.0, 2.0, 0.5, 0.999999, 10.0), dtype=F64),
        "out": np.zeros((9, 64), F64),
    }


def _double_math_expected(v: Values) -> dict[str, np.ndarray]:
    x, y = v["a"].astype(np.longdouble), v["b"].astype(np.longdouble)
    rows = (np.exp(x), np.log(y), np.sin(x), np.cos(x), np.power(y, x), 1 / np.sqrt(y))
    return {"out": np.stack([*rows, np.arctan2(x, y), np.cbrt(x), np.tanh(x)])}


CASES: tuple[Case, ...] = (
    Case(
        "double_ops",
        "double_ops.cl",
        _double_ops,
        (
            Launch("double_ops", "a b out lout fout", (N,), (32,)),
            Launch("kahan", "terms sums count", (32,), (16,)),
        ),
        _double_ops_expected,
        devices=FP64_DEVICES,
        devices_why=NO_FP64,
        features={"*": ("type=df",)},
    ),
    Case(
        "double_math",
        "double_math.cl",
        _double_math,
        (Launch("double_math", "a b out", (64,), (32,)),),
        _double_math_expected,
        rules={
            "out": Rows(
                tuple(
                    (name, Ulp(bound, f"{_DOUBLE}: {name}"))
                    for name, bound in (
                        ("exp", 3),
                        ("log", 3),
                        ("sin", 4),
                        ("cos", 4),
                        ("pow", 16),
                        ("rsqrt", 2),
                        ("atan2", 6),
                        ("cbrt", 2),
                        ("tanh", 5),
                    )
                )
            )
        },
        devices=FP64_DEVICES,
        devices_why=NO_FP64,
    ),
)
