"""Floating point: exact operators, math functions within OpenCL's limits, half precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.random import Generator

from tests.opencl.case import Case, Launch, Rows, Ulp, Values
from tests.opencl.cases.inputs import SPECIAL, floats, magnitudes
from tests.opencl.cases.reference import fma, narrow_float, saturate_float

N = 128
F32, F64, F16 = np.float32, np.float64, np.float16
DENORMALS = (1e-40, -1e-40, 1e-45, 1.1754944e-38, 3.4028235e38, -3.4028235e38, 16777216.0)
_TABLE = "OpenCL C 7.4, table of single-precision limits"


def _limits(*rows: tuple[str, float]) -> Rows:
    return Rows(tuple((name, Ulp(bound, f"{_TABLE}: {name}")) for name, bound in rows))


def _each(function: Callable[..., float], *args: np.ndarray) -> np.ndarray:
    lists = [a.astype(F64).tolist() for a in args]
    return np.array([function(*row) for row in zip(*lists, strict=True)], F64)


def _round_away(x: np.ndarray) -> np.ndarray:
    wide = x.astype(F64)
    return np.copysign(np.floor(np.abs(wide) + 0.5), wide).astype(F32)


def _float_ops(rng: Generator) -> Values:
    a = magnitudes(rng, N, (-12, 12), edges=(*SPECIAL, *DENORMALS))
    b = rng.permutation(magnitudes(rng, N, (-12, 12), edges=(*SPECIAL, *DENORMALS)))
    b[N // 2 : N // 2 + 8] = a[N // 2 : N // 2 + 8]
    return {
        "a": a,
        "b": b,
        "c": rng.permutation(magnitudes(rng, N, (-12, 12), edges=SPECIAL)),
        "out": np.zeros((16, N), F32),
        "tests": np.zeros((2, N), np.int32),
        "rounded": np.zeros((4, N), F32),
    }


def _float_ops_expected(v: Values) -> dict[str, np.ndarray]:
    x, y, z = v["a"], v["b"], v["c"]
    zero, one = F32(0), F32(1)
    sign = np.where(np.isnan(z), zero, np.where(z == 0, z, np.sign(z)))
    stepped = np.where(x < y, zero, one) + sign
    out = [
        x + y,
        x - y,
        x * y,
        x * y + z,
        fma(x, y, z),
        fma(x, y, -x * y),
        np.floor(x) + np.ceil(y),
        np.trunc(x) - np.rint(y),
        _round_away(x) + zero,
        np.fmin(x, y) + zero,
        np.fmax(x, z) + zero,
        np.abs(x) - np.copysign(y, z),
        np.where(np.isnan(x), F32(2), np.clip(x, -one, one)),
        np.where(x < y, x, np.where(y >= z, z, -y)),
        np.where(np.isnan(x) | np.isnan(y), F32(3), stepped),
        np.where(x > y, x - y, np.where(x <= y, zero, F32(np.nan))),
    ]
    unordered = np.isnan(x) | np.isnan(y)
    tiny = np.finfo(F32).tiny
    flags = [
        np.isnan(x),
        np.isinf(x),
        np.isfinite(x),
        np.isfinite(x) & (np.abs(x) >= tiny),
        np.signbit(x),
        x == y,
        x != y,
        x < y,
        x <= y,
        x > y,
        unordered,
        ~unordered,
        (x < y) | (x > y),
        ~(x >= y),
    ]
    bits = sum(flag.astype(np.int32) << k for k, flag in enumerate(flags))
    greater = sum(-f.astype(np.int32) << k for k, f in enumerate((x > y, y > x, x > 0, y < 0)))
    third = np.sqrt(np.abs(x / F32(3))) / y
    return {
        "out": np.stack(out),
        "tests": np.stack([bits, greater]),
        "rounded": np.stack([x / y, one / y, np.sqrt(np.abs(x)), third]),
    }


def _math_exact(rng: Generator) -> Values:
    a = magnitudes(rng, N, (-20, 20), edges=(1.0, -1.0, 3.4e38, -1.2e-38, 8.0, 1e30, 0.5))
    return {
        "a": a,
        "b": magnitudes(rng, N, (-6, 10), edges=(1.0, 1.0, -np.inf, 3.0, 8.0, 1e-3, np.inf)),
        "e": rng.integers(-160, 160, N, dtype=np.int32),
        "out": np.zeros((11, N), F32),
        "iout": np.zeros((3, N), np.int32),
    }


def _quotient_bits(x: float, y: float) -> int:
    if math.isinf(y):
        return 0
    return round(Fraction(x) / Fraction(y)) & 7


def _math_exact_expected(v: Values) -> dict[str, np.ndarray]:
    x, y, e = v["a"], v["b"], v["e"]
    fraction, exponent = np.frexp(x)
    part, whole = np.modf(x)
    remainder = _each(math.remainder, x, y).astype(F32)
    smaller = np.abs(x) < np.abs(y)
    equal = np.abs(x) == np.abs(y)
    out = [
        np.fmod(x, y),
        remainder,
        np.ldexp(x.astype(F64), e).astype(F32),
        fraction,
        part,
        whole,
        np.nextafter(x, y),
        np.where(np.isinf(y), F32(np.inf), np.frexp(y)[1].astype(F32) - F32(1)),
        np.where(equal, np.fmax(x, y), np.where(smaller, y, x)),
        np.where(equal, np.fmin(x, y), np.where(smaller, x, y)),
        remainder,
    ]
    bits = [_quotient_bits(*row) for row in zip(x.tolist(), y.tolist(), strict=True)]
    iout = [exponent, exponent - 1, np.array(bits, np.int32)]
    return {"out": np.stack(out), "iout": np.stack(iout).astype(np.int32)}


def _math_exp(rng: Generator) -> Values:
    a = floats(rng, N, -95, 95, edges=(*SPECIAL, 88.7, 88.75, -87.4, 1e-6, -3e-4, 100.0, -110.0))
    a[N // 2 :] *= F32(0.05)
    b = magnitudes(rng, N, (-30, 30), edges=(*SPECIAL, 0.9999999, 1.0000001, 1e-20, 3e38))
    b[N // 2 :] = floats(rng, N // 2, -0.999, 3)
    return {"a": a, "b": b, "e": np.zeros((7, N), F32), "l": np.zeros((7, N), F32)}


def _math_exp_expected(v: Values) -> dict[str, np.ndarray]:
    x, y = v["a"].astype(F64), v["b"].astype(F64)
    quarter = (v["a"] * F32(0.25)).astype(F64)
    e = (np.exp(x), np.exp2(x), np.power(10.0, quarter), np.expm1(x), np.sinh(x), np.cosh(x))
    logs = (np.log(y), np.log2(y), np.log10(y), np.log1p(y), np.arcsinh(y), np.arccosh(y))
    return {"e": np.stack([*e, np.tanh(x)]), "l": np.stack([*logs, np.arctanh(y)])}


def _math_trig(rng: Generator) -> Values:
    edges = (*SPECIAL, 3.1415927, 1.5707964, 12345.678, 1e6, 3e9, -1e20, 3e38, 1e-10, 65536.0)
    return {
        "a": floats(rng, N, -40, 40, edges=edges),
        "c": np.zeros((7, N), F32),
        "x": floats(rng, N, -1.05, 1.05, edges=(0.0, -0.0, 1.0, -1.0, 0.5, 1e-5)),
        "y": magnitudes(rng, N, (-8, 12), edges=(1.0, -1.0, 0.0, -0.0, 1e30, -1e30)),
        "i": np.zeros((6, N), F32),
    }


def _math_trig_expected(v: Values) -> dict[str, np.ndarray]:
    a, x, y = (v[k].astype(F64) for k in "axy")
    # An argument of sinpi is reduced before the multiplication by pi, exactly.
    turn = np.remainder(a, 2.0)
    half = np.remainder(a, 1.0)
    sinpi = np.where(half == 0, np.copysign(0.0, a), np.sin(np.pi * turn))
    cospi = np.where(half == 0.5, 0.0, np.cos(np.pi * turn))
    circular = (np.sin(a), np.cos(a), np.tan(a), np.sin(a), np.cos(a), sinpi, cospi)
    angle = np.arctan2(y, x)
    inverse = (np.arcsin(x), np.arccos(x), np.arctan(y), angle)
    return {
        "c": np.stack(circular),
        "i": np.stack([*inverse, np.arcsin(x) / np.pi, np.arctan(y) / np.pi]),
    }


def _math_pow(rng: Generator) -> Values:
    bases = (1.0, -1.0, 2.0, -2.0, 10.0, 0.0, -0.0, 1e10, -3.0, 0.99999)
    x = magnitudes(rng, N, (-6, 6), edges=bases)
    y = floats(rng, N, -12, 12, edges=(3.0, 3.0, 10.0, 3.0, -5.0, 2.5, 3.0, 3.0, 0.5, 1000.0))
    y[30:60] = np.rint(y[30:60])
    y[(y == 0) | (np.abs(y) < 1e-3)] = 2.0
    return {
        "x": x,
        "y": y,
        "e": rng.integers(1, 20, N, dtype=np.int32) * rng.choice([1, 1, -1], N).astype(np.int32),
        "p": np.zeros((6, N), F32),
        "a": magnitudes(rng, N, (-40, 40), edges=(0.0, np.inf, np.nan, 1.0, 4.0, 2.0)),
        "b": magnitudes(rng, N, (-40, 40), edges=(3.0, 7.0, 2.0, np.inf, 0.0, 3.0)),
        "r": np.zeros((6, N), F32),
    }


def _math_pow_expected(v: Values) -> dict[str, np.ndarray]:
    x, y, a, b, e = (v[k].astype(F64) for k in "xyabe")
    positive = np.abs(x)
    degree = ((v["e"] & 7) + 1).astype(F64)
    powers = (
        np.power(x, y),
        np.power(positive, y),
        np.power(x, e),
        np.power(positive, 1.0 / degree),
        np.cbrt(x),
        np.hypot(x, y),
    )
    distance = np.hypot(a - b, b - 2.0)
    roots = (np.sqrt(a), 1.0 / np.sqrt(a), a / b, 1.0 / b, np.sqrt(a * a + b * b + 1), distance)
    return {"p": np.stack(powers), "r": np.stack(roots)}


def _math_special(rng: Generator) -> Values:
    edges = (0.0, 1.0, -1.0, 0.84375, 1.25, 2.857143, 5.9, -5.9, 0.5, 2.0)
    return {"a": floats(rng, N, -8, 8, edges=edges), "out": np.zeros((3, N), F32)}


def _math_special_expected(v: Values) -> dict[str, np.ndarray]:
    x = v["a"]
    shifted = np.abs(x) + F32(0.25)
    return {"out": np.stack([_each(math.erf, x), _each(math.erfc, x), _each(math.gamma, shifted)])}


def _math_native(rng: Generator) -> Values:
    return {
        "a": floats(rng, N, -3, 3, edges=(0.5, 1.0, -1.0, 1.5)),
        "b": floats(rng, N, 0.05, 50, edges=(2.0, 0.25, 3.0, 10.0)),
        "n": np.zeros((13, N), F32),
        "h": np.zeros((11, N), F32),
    }


def _math_native_expected(v: Values) -> dict[str, np.ndarray]:
    x, y = v["a"].astype(F64), v["b"].astype(F64)
    rows = [np.exp(x), np.exp2(x), np.log(y), np.log2(y), np.sin(x), np.cos(x), np.sqrt(y)]
    rows += [1 / np.sqrt(y), 1 / y, x / y, np.power(y, x)]
    tens = np.power(10.0, (v["a"] * F32(0.5)).astype(F64))
    return {"n": np.stack([*rows, tens, np.log10(y)]), "h": np.stack(rows)}


def _half_ops(rng: Generator) -> Values:
    a = magnitudes(rng, N, (-8, 8), edges=(0.0, -0.0, 1.0, 6e-8, 65504.0, 2.5, -0.5), dtype=F16)
    special = (np.nan, np.inf, -np.inf, 1.0, -65504.0, 1e-5, 2048.0)
    return {
        "a": a,
        "b": rng.permutation(magnitudes(rng, N, (-8, 8), edges=special, dtype=F16)),
        "out": np.zeros((12, N), F16),
        "iout": np.zeros(N, np.int32),
        "c": magnitudes(rng, N, (-3, 3), dtype=F16),
        "d": magnitudes(rng, N, (-3, 3), dtype=F16),
        "dot": np.zeros(N, F16),
    }


def _half_ops_expected(v: Values) -> dict[str, np.ndarray]:
    x, y = v["a"], v["b"]
    scaled = y.astype(F32) * F32(1.1)
    out = [
        x + y,
        x - y,
        x * y,
        fma(x, y, np.full(N, 0.5, F16)),
        np.floor(x) + F16(1),
        np.rint(x),
        np.fmin(x, y) + F16(0),
        np.fmax(x, y) + F16(0),
        np.where(np.abs(x) < y, -x, y),
        (x.astype(F32) * F32(1.1)).astype(F16),
        narrow_float(scaled, F16, "rtz"),
        np.trunc(x) + F16(0),
    ]
    iout = saturate_float(x, np.int32, "rte") + 100000 * (x < y) + 200000 * np.isnan(x)
    a, b = v["c"].reshape(-1, 4), v["d"].reshape(-1, 4)
    z = a * b[:, ::-1] - b
    dot = np.concatenate([z[:, :2] + z[:, 2:], z[:, ::2] * z[:, 1::2]], axis=1)
    return {"out": np.stack(out), "iout": iout.astype(np.int32), "dot": dot.ravel()}


def _half_storage(rng: Generator) -> Values:
    edges = (0.0, -0.0, np.inf, -np.inf, 65504.0, 65519.0, 65520.0, -1e6, 6e-8, 3e-8, 1e-8)
    b = magnitudes(rng, N, (-16, 15), edges=(*edges, 1.00048828125, -2e-9, 6.1e-5))
    return {
        "a": magnitudes(rng, N, (-20, 15), edges=edges[:5], dtype=F16),
        "b": b,
        "out": np.zeros((6, N), F16),
        "wide": np.zeros(N, F32),
    }


def _half_storage_expected(v: Values) -> dict[str, np.ndarray]:
    a, b = v["a"], v["b"]
    rows = [narrow_float(b, F16, mode) for mode in ("rte", "rte", "rtz", "rtp", "rtn")]
    swapped = a.reshape(-1, 4)[:, ::-1].ravel()
    return {"out": np.stack([*rows, swapped]), "wide": a.astype(F32) * b}


_NATIVE = "native_* is implementation-defined: an error of a few ulp, as the device's own units"
_HALF = "OpenCL C 7.4: half_* has at least 10 bits, 8192 ulp"
_NATIVE_ROWS = ("exp", "exp2", "log", "log2", "sin", "cos", "sqrt", "rsqrt", "recip", "divide")
_LOGS = ("log", "log2", "log10", "log1p", "asinh", "acosh", "atanh")


CASES: tuple[Case, ...] = (
    Case(
        "float_ops",
        "float_ops.cl",
        _float_ops,
        (
            Launch("float_ops", "a b c out", (N,), (32,)),
            Launch("float_tests", "a b tests", (N,), (32,)),
            Launch("rounded", "a b rounded", (N,), (32,)),
        ),
        _float_ops_expected,
        options="-cl-fp32-correctly-rounded-divide-sqrt",
        features={"*": ("mad", r"rndd|rndz|rnde")},
    ),
    Case(
        "math_exact",
        "math_exact.cl",
        _math_exact,
        (Launch("math_exact", "a b e out iout", (N,), (32,)),),
        _math_exact_expected,
    ),
    Case(
        "math_exp",
        "math_exp.cl",
        _math_exp,
        (
            Launch("exponentials", "a e", (N,), (32,)),
            Launch("logarithms", "b l", (N,), (32,)),
        ),
        _math_exp_expected,
        rules={
            "e": _limits(
                ("exp", 3),
                ("exp2", 3),
                ("exp10", 3),
                ("expm1", 3),
                ("sinh", 4),
                ("cosh", 4),
                ("tanh", 5),
            ),
            "l": _limits(*zip(_LOGS, (3, 3, 3, 2, 4, 4, 5), strict=True)),
        },
        features={"*": (r"\bexp ", r"\blog ")},
    ),
    Case(
        "math_trig",
        "math_trig.cl",
        _math_trig,
        (
            Launch("circular", "a c", (N,), (32,)),
            Launch("inverse", "x y i", (N,), (32,)),
        ),
        _math_trig_expected,
        rules={
            "c": _limits(
                ("sin", 4),
                ("cos", 4),
                ("tan", 5),
                ("sin", 4),
                ("cos", 4),
                ("sinpi", 4),
                ("cospi", 4),
            ),
            "i": _limits(
                ("asin", 4), ("acos", 4), ("atan", 5), ("atan2", 6), ("asinpi", 5), ("atanpi", 5)
            ),
        },
    ),
    Case(
        "math_pow",
        "math_pow.cl",
        _math_pow,
        (
            Launch("powers", "x y e p", (N,), (32,)),
            Launch("roots", "a b r", (N,), (32,)),
        ),
        _math_pow_expected,
        rules={
            "p": _limits(
                ("pow", 16), ("powr", 16), ("pown", 16), ("rootn", 16), ("cbrt", 2), ("hypot", 4)
            ),
            "r": _limits(
                ("sqrt", 3),
                ("rsqrt", 2),
                ("divide", 2.5),
                ("reciprocal", 2.5),
                ("length", 4.25),
                ("distance", 6.5),
            ),
        },
        features={"*": (r"\binv ", r"\bsqrt ", r"\brsqrt ")},
    ),
    Case(
        "math_special",
        "math_special.cl",
        _math_special,
        (Launch("special", "a out", (N,), (32,)),),
        _math_special_expected,
        rules={"out": _limits(("erf", 16), ("erfc", 16), ("tgamma", 16))},
    ),
    Case(
        "math_native",
        "math_native.cl",
        _math_native,
        (
            Launch("natives", "a b n", (N,), (32,)),
            Launch("halves", "a b h", (N,), (32,)),
        ),
        _math_native_expected,
        rules={
            "n": Rows(
                tuple(
                    (f"native_{name}", Ulp(32, _NATIVE, absolute=2e-6))
                    for name in (*_NATIVE_ROWS, "powr", "exp10", "log10")
                )
            ),
            "h": Rows(tuple((f"half_{n}", Ulp(8192, _HALF)) for n in (*_NATIVE_ROWS, "powr"))),
        },
        features={"*": (r"\bsin ", r"\bcos ", r"\bexp ", r"\blog ")},
    ),
    Case(
        "half_ops",
        "half_ops.cl",
        _half_ops,
        (
            Launch("half_ops", "a b out iout", (N,), (32,)),
            Launch("half4_dot", "c d dot", (N // 4,), (32,)),
        ),
        _half_ops_expected,
        pocl=False,
        pocl_why="PoCL has no cl_khr_fp16 on CPUs",
        features={"*": ("type=hf",)},
    ),
    Case(
        "half_storage",
        "half_storage.cl",
        _half_storage,
        (Launch("half_storage", "a b out wide", (N,), (32,)),),
        _half_storage_expected,
    ),
)
