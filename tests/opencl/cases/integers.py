"""Integer arithmetic: wrap-around, every division, 64 bits, small types, conversions."""

from __future__ import annotations

from math import gcd

import numpy as np
from numpy.random import Generator

from tests.opencl.case import Case, Launch, Values
from tests.opencl.cases.inputs import SPECIAL, divisors, integers, magnitudes
from tests.opencl.cases.reference import (
    clz,
    ctz,
    exactly,
    integer_to_float,
    mul_hi,
    popcount,
    rotate,
    saturate,
    saturate_float,
    truncating_divide,
)

N = 256
I32, U32, I64, U64 = np.int32, np.uint32, np.int64, np.uint64


def _int_ops(rng: Generator) -> Values:
    count = N - 5
    return {
        "a": integers(rng, I32, N),
        "b": rng.permutation(integers(rng, I32, N)),
        "out": np.full(N, 77, I32),
        "uout": np.full(N, 77, U32),
        "n": np.int32(count),
        "bias": np.int8(-9),
    }


def _int_ops_expected(v: Values) -> dict[str, np.ndarray]:
    x, y, count = v["a"], v["b"], int(v["n"])
    r = x * y + (x >> (y & 31)) - (y << (x & 31))
    r ^= (x & y) | ~(x ^ I32(0x5A5A5A5A))
    r += mul_hi(x, y) + np.minimum(x, y) - np.maximum(x, ~y)
    r = np.where(x > y, r + I32(9), r - I32(9))
    r += (x == y) + 2 * ((x < 0) & (y < 0)) + 4 * ((x <= y) | (x == 0)).astype(I32)
    a, b = x.view(U32), y.view(U32)
    w = a * b + (a >> (b & U32(31))) + mul_hi(a, b)
    w ^= np.where(a > b, a - b, b - a)
    w += np.maximum(a, b) * U32(3) - np.minimum(a, U32(17))
    w = (w << U32(7)) | (w >> U32(25))
    w += (a < b) + np.clip(x, -100, 100).view(U32)
    out, uout = v["out"], v["uout"]
    out[:count], uout[:count] = r[:count], w[:count]
    return {"out": out, "uout": uout}


# dg2 and pvc divide integers with float arithmetic that rounds towards zero for a while.
_ROUNDING_SWITCHED = {
    "pvc": (r"xor .*%cr0",),
    "dg2": (r"xor .*%cr0",),
    "tgllp": (r"\bdiv |\bmod ",),
    "skl": (r"\bdiv |\bmod ",),
}


def _division(dtype: type[np.integer], name: str) -> tuple[Case, Case]:
    count = N // 2 if np.dtype(dtype).itemsize == 8 else N

    def make(rng: Generator) -> Values:
        a = integers(rng, dtype, count)
        return {
            "a": a,
            "b": divisors(rng, a),
            "quotient": np.zeros(count, dtype),
            "remainder": np.zeros(count, dtype),
            "y": dtype(int(np.iinfo(dtype).max) // 37),
        }

    def by_variable(v: Values) -> dict[str, np.ndarray]:
        quotient, remainder = truncating_divide(v["a"], v["b"])
        return {"quotient": quotient, "remainder": remainder}

    def by_uniform(v: Values) -> dict[str, np.ndarray]:
        quotient, remainder = truncating_divide(v["a"], np.full(count, v["y"], dtype))
        return {"quotient": quotient, "remainder": remainder}

    options = f"-DT={name}"
    args = "a b quotient remainder"
    varying = Launch("divide", args, (count,), (64,))
    uniform = Launch("divide_uniform", "a quotient remainder y", (count,), (64,))
    features = _ROUNDING_SWITCHED if name in ("int", "uint") else {}
    return (
        Case(
            f"div_{name}",
            "div.cl",
            make,
            (varying,),
            by_variable,
            options=options,
            features=features,
        ),
        Case(f"div_uniform_{name}", "div.cl", make, (uniform,), by_uniform, options=options),
    )


def _constant_division(dtype: type[np.integer], name: str, big: int, negative: int) -> Case:
    constants = (3, 7, 10, 16, 100, 127, big, negative)

    def make(rng: Generator) -> Values:
        size = len(constants) * N
        return {
            "a": integers(rng, dtype, N),
            "quotient": np.zeros(size, dtype),
            "remainder": np.zeros(size, dtype),
        }

    def expected(v: Values) -> dict[str, np.ndarray]:
        pairs = [truncating_divide(v["a"], np.full(N, c, dtype)) for c in constants]
        quotients, remainders = zip(*pairs, strict=True)
        return {"quotient": np.concatenate(quotients), "remainder": np.concatenate(remainders)}

    suffix = {8: "L", 4: ""}.get(np.dtype(dtype).itemsize, "")
    unsigned = "U" if np.iinfo(dtype).min == 0 else ""
    options = f"-DT={name} -DBIG=((T){big}{unsigned}{suffix}) -DNEGATIVE=((T){negative})"
    launch = Launch("divide_constants", "a quotient remainder", (N,), (64,))
    return Case(f"div_const_{name}", "div_const.cl", make, (launch,), expected, options=options)


def _gcd(rng: Generator) -> Values:
    a = integers(rng, U32, 48)
    wide = integers(rng, I64, 16)
    wide[wide == np.iinfo(I64).min] = 12
    return {
        "a": a,
        "b": rng.permutation(integers(rng, U32, 48)),
        "out": np.zeros(48, U32),
        "mean": np.zeros(48, np.float32),
        "c": wide,
        "d": rng.permutation(wide),
        "wide": np.zeros(16, I64),
    }


def _gcd_expected(v: Values) -> dict[str, np.ndarray]:
    f32 = np.float32
    means: list[np.float32] = []
    for a, b in zip(v["a"].tolist(), v["b"].tolist(), strict=True):
        x, y, total, steps = a, b, f32(0), 0
        while y:
            total += f32(x // y) / f32(3)
            x, y, steps = y, x % y, steps + 1
        means.append(total * f32(0.1) + f32(steps) if steps else f32(0))
    return {
        "out": exactly(U32, gcd, v["a"], v["b"]),
        "mean": np.array(means, f32),
        "wide": exactly(I64, gcd, v["c"], v["d"]),
    }


def _long_ops(rng: Generator) -> Values:
    return {
        "a": integers(rng, I64, N),
        "b": rng.permutation(integers(rng, I64, N)),
        "out": np.zeros(N, I64),
        "uout": np.zeros(N, U64),
        "steps": rng.permutation(np.arange(0, 186, 3, dtype=U32)),
        "fib": np.zeros((62, 2), U64),
    }


def _long_ops_expected(v: Values) -> dict[str, np.ndarray]:
    x, y = v["a"], v["b"]
    a, b = x.view(U64), y.view(U64)
    r = x * y + (x >> (y & 63)) - (y << (x & 63))
    r ^= (x & y) | ~(x + I64(0x123456789ABCDEF))
    r += np.where(x < y, np.minimum(x, 5), np.maximum(y, -7))
    r += mul_hi(x, y)
    r -= x.astype(I32).astype(I64) * y.astype(I32).astype(I64)
    w = a * U64(6364136223846793005) + U64(1442695040888963407)
    w ^= w >> (a >> U64(59))
    w = rotate(w, b & U64(63)) + mul_hi(a, b)
    w += (a & U64(0xFFFFFFFF)) * (b & U64(0xFFFFFFFF))
    uout = np.where(w > a, w - a, a - w)
    numbers = [0, 1]
    while len(numbers) < 190:
        numbers.append(numbers[-1] + numbers[-2])
    chosen = [numbers[k] for k in v["steps"].tolist()]
    fib = [[n & (1 << 64) - 1, n >> 64 & (1 << 64) - 1] for n in chosen]
    return {
        "out": r + popcount(x) - clz(y),
        "uout": uout + exactly(U64, lambda p, q: abs(p - q), x, y),
        "fib": np.array(fib, U64),
    }


def _bit_tricks(rng: Generator) -> Values:
    return {
        "a": integers(rng, U32, N),
        "b": rng.permutation(integers(rng, U32, N)),
        "out": np.zeros((24, N), U32),
    }


def _signed24(value: int) -> int:
    return ((value + (1 << 23)) & 0xFFFFFF) - (1 << 23)


def _bit_tricks_expected(v: Values) -> dict[str, np.ndarray]:
    u, w = v["a"], v["b"]
    x, y = u.view(I32), w.view(I32)
    rows = [
        popcount(u),
        clz(u),
        popcount(u ^ w) + popcount(u & ~w),
        rotate(u, w),
        exactly(U32, lambda p: int(f"{p:032b}"[::-1], 2), u),
        exactly(U32, lambda p, q: _signed24(p) * _signed24(q) + p, x, y),
        exactly(U32, lambda p, q: (p & 0xFFFFFF) * (q & 0xFFFFFF), u, w),
        mul_hi(x, y).view(U32),
        mul_hi(u, w),
        exactly(U32, lambda p, q: (p + q) >> 1, x, y),
        exactly(U32, lambda p, q: (p + q + 1) >> 1, u, w),
        saturate(I32, lambda p, q: p + q, x, y).view(U32),
        saturate(U32, lambda p, q: p + q, u, w),
        saturate(I32, lambda p, q: p - q, x, y).view(U32),
        saturate(U32, lambda p, q: p - q, u, w),
        exactly(U32, lambda p, q: abs(p - q), x, y),
        exactly(U32, abs, x),
        exactly(U32, lambda p, q: (p * q >> 32) + p, x, y),
        saturate(U32, lambda p, q: p * (q & 7) + q, u, w),
        exactly(U32, lambda p, q: (p & 0xFF0000FF) | (q & 0x00FFFF00), u, w),
        exactly(U32, lambda p, q: (p & 0xFFFF) << 16 | (q & 0xFFFF), u, w),
        exactly(U32, lambda p, q: (p >> (q & 31)) & ((1 << (p & 15)) - 1), u, w),
        np.where(u > w, w, u),
        saturate(I32, lambda p, q: p * q - 1, x, y).view(U32),
    ]
    return {"out": np.stack(rows)}


def _trailing(rng: Generator) -> Values:
    return {
        "a": integers(rng, U32, N) << rng.integers(0, 32, N, dtype=U32),
        "b": integers(rng, U64, N) << rng.integers(0, 64, N, dtype=U64),
        "out": np.zeros(N, U32),
        "wide": np.zeros(N, U64),
        "narrow": np.zeros(N, np.uint8),
    }


def _trailing_expected(v: Values) -> dict[str, np.ndarray]:
    low = v["a"].astype(np.uint8)
    return {
        "out": ctz(v["a"]),
        "wide": ctz(v["b"]) + U64(100) * clz(v["b"]),
        "narrow": ctz(low) * np.uint8(16) + clz(low),
    }


def _small_types(rng: Generator) -> Values:
    return {
        "a": integers(rng, np.int8, 4 * 64),
        "b": rng.permutation(integers(rng, np.int8, 4 * 64)),
        "out": np.zeros((8, 4 * 64), np.int8),
        "c": integers(rng, np.uint16, N),
        "d": rng.permutation(integers(rng, np.uint16, N)),
        "words": np.zeros((8, N), np.uint16),
    }


def _small_types_expected(v: Values) -> dict[str, np.ndarray]:
    i8, i16, u16 = np.int8, np.int16, np.uint16
    x, y, u, w = v["a"], v["b"], v["c"], v["d"]
    p, q = u.view(i16), w.view(i16)
    out = [
        saturate(i8, lambda a, b: a + b, x, y),
        saturate(i8, lambda a, b: a - b, x, y),
        exactly(i8, lambda a, b: (a + b) >> 1, x, y),
        rotate(x, y),
        x * y + (x >> i8(1)),
        np.maximum(x, y) - np.minimum(x, i8(3)),
        exactly(i8, lambda a, b: abs(a - b), x, y),
        popcount(x) + clz(y),
    ]
    words = [
        saturate(u16, lambda a, b: a + b, u, w),
        saturate(i16, lambda a, b: a + b, p, q).view(u16),
        saturate(u16, lambda a, b: a - b, u, w),
        saturate(i16, lambda a, b: a - b, p, q).view(u16),
        exactly(u16, lambda a, b: (a + b + 1) >> 1, u, w),
        mul_hi(u, w),
        mul_hi(p, q).view(u16),
        u * w + (u >> (w & u16(15))),
    ]
    return {"out": np.stack(out), "words": np.stack(words)}


def _convert_int(rng: Generator) -> Values:
    values: Values = {"a": integers(rng, I32, N), "b": integers(rng, I64, N)}
    for name in ("int8", "uint8", "int16", "uint16", "uint32"):
        values[f"n_{name}"] = np.zeros((2, N), name)
    for name in ("int32", "uint32", "uint64", "uint8"):
        values[f"l_{name}"] = np.zeros((2, N), name)
    return values


def _convert_int_expected(v: Values) -> dict[str, np.ndarray]:
    def sat(dtype: type[np.integer], x: np.ndarray) -> np.ndarray:
        return saturate(dtype, int, x)

    x, y = v["a"], v["b"]
    z = y.view(U64)
    i8, u8, i16, u16 = np.int8, np.uint8, np.int16, np.uint16
    return {
        "n_int8": np.stack([sat(i8, x), x.astype(i8)]),
        "n_uint8": np.stack([sat(u8, x), x.astype(u8)]),
        "n_int16": np.stack([sat(i16, x), x.astype(i16)]),
        "n_uint16": np.stack([sat(u16, x), x.astype(u16)]),
        "n_uint32": np.stack([sat(U32, x), sat(U32, x.astype(i8))]),
        "l_int32": np.stack([sat(I32, y), sat(I32, z)]),
        "l_uint32": np.stack([sat(U32, y), y.astype(U32)]),
        "l_uint64": np.stack([sat(U64, y), sat(U64, y.astype(I32))]),
        "l_uint8": np.stack([sat(u8, y), sat(u8, z)]),
    }


def _convert_float(rng: Generator) -> Values:
    ties = (3.5, -2.5, 127.5, -128.5, 2147483520.0, -2147483648.0, 4294967040.0, 4294967296.0)
    small = (65534.5, 65535.5, 1e-30, -1e-30, 255.5, 9.2233715e18, -9.223372e18, 1.8446743e19)
    floats = magnitudes(rng, N, (-4, 36), edges=(*SPECIAL, *ties, *small))
    return {
        "f": floats,
        "s": np.zeros((4, N), I32),
        "u": np.zeros((4, N), U32),
        "c": np.zeros((2, N), np.int8),
        "us": np.zeros((2, N), np.uint16),
        "i": integers(rng, I32, N),
        "out": np.zeros((7, N), np.float32),
        "l": integers(rng, I64, N),
        "lout": np.zeros((2, N), np.float32),
        "g": magnitudes(rng, N, (-4, 70), edges=(*SPECIAL, *ties, *small)),
        "back": np.zeros(N, I64),
        "uback": np.zeros(N, U64),
    }


def _convert_float_expected(v: Values) -> dict[str, np.ndarray]:
    f, i, wide = v["f"], v["i"], v["l"]
    modes = ("rtz", "rte", "rtp", "rtn")
    u = i.view(U32)
    halves = i.astype(np.int16).astype(np.float32) + i.astype(np.uint8).astype(np.float32)
    floats = [integer_to_float(i, m) for m in ("rte", "rtz", "rtp", "rtn")]
    return {
        "s": np.stack([saturate_float(f, I32, m) for m in modes]),
        "u": np.stack([saturate_float(f, U32, m) for m in modes]),
        "c": np.stack([saturate_float(f, np.int8, m) for m in ("rtz", "rte")]),
        "us": np.stack([saturate_float(f, np.uint16, m) for m in ("rtz", "rtp")]),
        "out": np.stack([*floats, integer_to_float(u), integer_to_float(u, "rtz"), halves]),
        "lout": np.stack([integer_to_float(wide), integer_to_float(wide.view(U64))]),
        "back": saturate_float(v["g"], I64),
        "uback": saturate_float(v["g"], U64),
    }


def _collatz(rng: Generator) -> Values:
    start = rng.integers(1, 5000, 128, dtype=U32)
    start[:4] = (1, 2, 27, 4294967295)
    return {
        "start": start,
        "steps": np.zeros(128, np.uint16),
        "peak": np.zeros(128, U64),
        "limit": np.int32(150),
    }


def _collatz_expected(v: Values) -> dict[str, np.ndarray]:
    steps, peaks = [], []
    for start in v["start"].tolist():
        x, count, top = start, 0, start
        while x != 1 and count < v["limit"]:
            x = 3 * x + 1 if x & 1 else x >> 1
            top, count = max(top, x), count + 1
        steps.append(count)
        peaks.append(top)
    return {"steps": np.array(steps, np.uint16), "peak": np.array(peaks, U64)}


_DIVISIONS = tuple(
    case
    for dtype, name in (
        (np.int8, "char"),
        (np.uint8, "uchar"),
        (np.int16, "short"),
        (np.uint16, "ushort"),
        (I32, "int"),
        (U32, "uint"),
        (I64, "long"),
        (U64, "ulong"),
    )
    for case in _division(dtype, name)
)

CASES: tuple[Case, ...] = (
    Case(
        "int_ops",
        "int_ops.cl",
        _int_ops,
        (Launch("int_ops", "a b out uout n bias", (N,), (32,)),),
        _int_ops_expected,
    ),
    *_DIVISIONS,
    _constant_division(np.int8, "char", 101, -5),
    _constant_division(np.uint8, "uchar", 251, 200),
    _constant_division(np.int16, "short", 12345, -5),
    _constant_division(np.uint16, "ushort", 54321, 65535),
    _constant_division(I32, "int", 1000000007, -5),
    _constant_division(U32, "uint", 4294967291, 641),
    _constant_division(I64, "long", 100000000003, -5),
    _constant_division(U64, "ulong", 18446744073709551557, 641),
    Case(
        "gcd",
        "gcd.cl",
        _gcd,
        (
            Launch("gcd", "a b out mean", (48,), (24,)),
            Launch("gcd64", "c d wide", (16,), (16,)),
        ),
        _gcd_expected,
        options="-cl-fp32-correctly-rounded-divide-sqrt",
        features=_ROUNDING_SWITCHED,
    ),
    Case(
        "long_ops",
        "long_ops.cl",
        _long_ops,
        (
            Launch("long_ops", "a b out uout", (N,), (64,)),
            Launch("fibonacci128", "steps fib", (62,), (31,)),
        ),
        _long_ops_expected,
    ),
    Case(
        "bit_tricks",
        "bit_tricks.cl",
        _bit_tricks,
        (Launch("bit_tricks", "a b out", (N,), (64,)),),
        _bit_tricks_expected,
        features={"*": ("cbit", "lzd")},
    ),
    Case(
        "count_trailing_zeros",
        "count_trailing_zeros.cl",
        _trailing,
        (Launch("trailing", "a b out wide narrow", (N,), (64,)),),
        _trailing_expected,
        options="-cl-std=CL2.0",
        pocl_options="-cl-std=CL3.0",
        features={"*": ("fbl|bfrev|cbit",)},
    ),
    Case(
        "small_types",
        "small_types.cl",
        _small_types,
        (
            Launch("bytes", "a b out", (64,), (32,)),
            Launch("words", "c d words", (N,), (64,)),
        ),
        _small_types_expected,
    ),
    Case(
        "convert_int",
        "convert_int.cl",
        _convert_int,
        (
            Launch("narrow", "a n_int8 n_uint8 n_int16 n_uint16 n_uint32", (N,), (64,)),
            Launch("from_long", "b l_int32 l_uint32 l_uint64 l_uint8", (N,), (64,)),
        ),
        _convert_int_expected,
    ),
    Case(
        "convert_float",
        "convert_float.cl",
        _convert_float,
        (
            Launch("to_int", "f s u c us", (N,), (64,)),
            Launch("to_float", "i out", (N,), (64,)),
            Launch("long_to_float", "l lout g back uback", (N,), (64,)),
        ),
        _convert_float_expected,
        features={"*": (r"\bmov\.sat ", r"\brnde ")},
    ),
    Case(
        "collatz",
        "collatz.cl",
        _collatz,
        (Launch("collatz", "start steps peak limit", (128,), (32,)),),
        _collatz_expected,
    ),
)
