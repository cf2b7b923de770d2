"""The kernels that benchmarks run: OpenCL C, inputs and launches. Data only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.opencl.case import LocalBytes

Values = dict[str, Any]


@dataclass(frozen=True)
class Launch:
    """One launch; `args` name values of the benchmark."""

    kernel: str
    args: tuple[str, ...]
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]


@dataclass(frozen=True)
class Benchmark:
    """A program with its inputs, as large as `scale` says, and its launches."""

    name: str
    source: str
    make: Callable[[np.random.Generator, float], Values]
    launches: Callable[[Values], list[Launch]]
    outputs: tuple[str, ...]
    options: str = ""


def _count(base: int, scale: float, unit: int = 1024) -> int:
    return max(unit, int(base * scale) // unit * unit)


def _floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.random(shape, np.float32)


SAXPY = """
kernel void saxpy(global float *y, global const float *x, float a) {
    size_t i = get_global_id(0);
    y[i] = a * x[i] + y[i];
}"""


def _saxpy(rng: np.random.Generator, scale: float) -> Values:
    n = _count(1 << 24, scale)
    return {"y": _floats(rng, n), "x": _floats(rng, n), "a": np.float32(1e-3)}


SGEMM = """
#define T 16
kernel void naive(global const float *a, global const float *b, global float *c, int n) {
    int x = get_global_id(0), y = get_global_id(1);
    float s = 0;
    for (int k = 0; k < n; ++k) s += a[y * n + k] * b[k * n + x];
    c[y * n + x] = s;
}
kernel __attribute__((reqd_work_group_size(T, T, 1)))
void tiled(global const float *a, global const float *b, global float *c, int n) {
    local float p[T][T], q[T][T];
    int lx = get_local_id(0), ly = get_local_id(1);
    int x = get_global_id(0), y = get_global_id(1);
    float s = 0;
    for (int t = 0; t < n; t += T) {
        p[ly][lx] = a[y * n + t + lx];
        q[ly][lx] = b[(t + ly) * n + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < T; ++k) s += p[ly][k] * q[k][lx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[y * n + x] = s;
}"""


def _sgemm(rng: np.random.Generator, scale: float) -> Values:
    n = _count(512, scale ** (1 / 3), 64)
    c = np.zeros((n, n), np.float32)
    return {"a": _floats(rng, n, n), "b": _floats(rng, n, n), "c": c, "n": np.int32(n)}


def _square(kernel: str) -> Callable[[Values], list[Launch]]:
    def launches(values: Values) -> list[Launch]:
        n = int(values["n"])
        return [Launch(kernel, ("a", "b", "c", "n"), (n, n), (16, 16))]

    return launches


NBODY = """
kernel void nbody(global const float4 *p, global float4 *a, int n) {
    int i = get_global_id(0);
    float4 me = p[i], sum = (float4)(0);
    for (int j = 0; j < n; ++j) {
        float4 d = p[j] - me;
        float r = d.x * d.x + d.y * d.y + d.z * d.z + 0.01f;
        float w = native_rsqrt(r);
        sum += d * (p[j].w * w * w * w);
    }
    a[i] = sum;
}"""


def _nbody(rng: np.random.Generator, scale: float) -> Values:
    n = _count(4096, scale**0.5, 256)
    return {"p": _floats(rng, n, 4), "a": np.zeros((n, 4), np.float32), "n": np.int32(n)}


MANDEL = """
kernel void mandel(global int *out, int width, int most) {
    int x = get_global_id(0), y = get_global_id(1);
    float cr = -2.0f + 3.0f * x / width, ci = -1.5f + 3.0f * y / width, a = 0, b = 0;
    int i = 0;
    for (; i < most && a * a + b * b < 4.0f; ++i) {
        float t = a * a - b * b + cr;
        b = 2.0f * a * b + ci;
        a = t;
    }
    out[y * width + x] = i;
}"""


def _mandel(rng: np.random.Generator, scale: float) -> Values:
    n = _count(512, scale**0.5, 64)
    return {"out": np.zeros((n, n), np.int32), "n": np.int32(n), "most": np.int32(512)}


REDUCE = """
kernel void reduce(global const float *x, global float *out, local float *part) {
    int l = get_local_id(0);
    part[l] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = get_local_size(0) / 2; s > 0; s >>= 1) {
        if (l < s) part[l] += part[l + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0) out[get_group_id(0)] = part[0];
}"""


def _reduce(rng: np.random.Generator, scale: float) -> Values:
    n = _count(1 << 22, scale)
    return {
        "x": _floats(rng, n),
        "out": np.zeros(n // 256, np.float32),
        "part": LocalBytes(1024),
    }


STENCIL = """
kernel void stencil(global const float *in, global float *out, int w, int h) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
    int i = y * w + x;
    out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - w] + in[i + w]);
}"""


def _stencil(rng: np.random.Generator, scale: float) -> Values:
    n = _count(2048, scale**0.5, 256)
    return {"in": _floats(rng, n, n), "out": np.zeros((n, n), np.float32), "n": np.int32(n)}


BLACKSCHOLES = """
float cnd(float d) {
    float k = 1.0f / (1.0f + 0.2316419f * fabs(d));
    float c = 0.39894228f * native_exp(-0.5f * d * d) * k * (0.31938153f + k * (-0.356563782f
        + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    return d > 0 ? 1.0f - c : c;
}
kernel void bs(global const float *s, global const float *x, global const float *t,
               global float *call, global float *put, float r, float v) {
    int i = get_global_id(0);
    float q = sqrt(t[i]);
    float d1 = (native_log(s[i] / x[i]) + (r + 0.5f * v * v) * t[i]) / (v * q);
    float d2 = d1 - v * q;
    float e = x[i] * native_exp(-r * t[i]);
    float a = cnd(d1), b = cnd(d2);
    call[i] = s[i] * a - e * b;
    put[i] = e * (1.0f - b) - s[i] * (1.0f - a);
}"""


def _blackscholes(rng: np.random.Generator, scale: float) -> Values:
    n = _count(1 << 20, scale)
    return {
        "s": _floats(rng, n) * 25 + 5,
        "x": _floats(rng, n) * 99 + 1,
        "t": _floats(rng, n) * 9 + 1,
        "call": np.zeros(n, np.float32),
        "put": np.zeros(n, np.float32),
        "r": np.float32(0.02),
        "v": np.float32(0.3),
    }


HISTOGRAM = """
kernel void count_bytes(global const uchar *x, global uint *out, local uint *bins, int per) {
    int l = get_local_id(0), n = get_local_size(0);
    for (int i = l; i < 256; i += n) bins[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    int start = get_group_id(0) * n * per;
    for (int i = 0; i < per; ++i) atomic_inc(&bins[x[start + i * n + l]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = l; i < 256; i += n) atomic_add(&out[i], bins[i]);
}"""


def _histogram(rng: np.random.Generator, scale: float) -> Values:
    n = _count(1 << 22, scale, 16384)
    return {
        "x": rng.integers(0, 256, n).astype(np.uint8),
        "out": np.zeros(256, np.uint32),
        "bins": LocalBytes(1024),
        "per": np.int32(64),
    }


SPMV = """
kernel void spmv(global const int *start, global const int *column, global const float *value,
                 global const float *x, global float *y) {
    int row = get_global_id(0);
    float sum = 0;
    for (int i = start[row]; i < start[row + 1]; ++i) sum += value[i] * x[column[i]];
    y[row] = sum;
}"""


def _spmv(rng: np.random.Generator, scale: float) -> Values:
    rows = _count(1 << 16, scale)
    lengths = rng.integers(4, 28, rows)
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    count = int(start[-1])
    return {
        "start": start,
        "column": rng.integers(0, rows, count).astype(np.int32),
        "value": _floats(rng, count),
        "x": _floats(rng, rows),
        "y": np.zeros(rows, np.float32),
    }


DIVIDE = """
kernel void divide(global const int *a, global const int *b, global int *q, global int *r) {
    int i = get_global_id(0);
    q[i] = a[i] / b[i];
    r[i] = a[i] % b[i];
}"""


def _divide(rng: np.random.Generator, scale: float) -> Values:
    n = _count(1 << 21, scale)
    return {
        "a": rng.integers(-(1 << 31), (1 << 31) - 1, n).astype(np.int32),
        "b": rng.integers(1, 1 << 20, n).astype(np.int32),
        "q": np.zeros(n, np.int32),
        "r": np.zeros(n, np.int32),
    }


SHA = """
#define R(x, n) rotate(x, (uint)(32 - n))
kernel void scramble(global const uint *in, global uint *out) {
    int i = get_global_id(0);
    uint a = in[i], b = 0x6a09e667, c = 0xbb67ae85, d = 0x3c6ef372;
    for (int k = 0; k < 64; ++k) {
        uint s = R(a, 6) ^ R(a, 11) ^ R(a, 25), m = (a & b) ^ (~a & c);
        uint t = d + s + m + k * 0x9e3779b9u;
        d = c; c = b; b = a; a = t + (R(b, 2) ^ R(b, 13) ^ R(b, 22));
    }
    out[i] = a ^ b ^ c ^ d;
}"""


def _mix(rng: np.random.Generator, scale: float) -> Values:
    n = _count(1 << 20, scale)
    return {"in": rng.integers(0, 1 << 32, n, np.uint32), "out": np.zeros(n, np.uint32)}


def _line(kernel: str, args: str, array: str, local: int = 256, per: int = 1) -> Any:
    def launches(values: Values) -> list[Launch]:
        count = len(values[array]) // per
        return [Launch(kernel, tuple(args.split()), (count,), (local,))]

    return launches


def _plane(kernel: str, args: str, local: tuple[int, int]) -> Any:
    def launches(values: Values) -> list[Launch]:
        n = int(values["n"])
        return [Launch(kernel, tuple(args.split()), (n, n), local)]

    return launches


BENCHMARKS = (
    Benchmark("saxpy", SAXPY, _saxpy, _line("saxpy", "y x a", "y"), ("y",)),
    Benchmark("sgemm_naive", SGEMM, _sgemm, _square("naive"), ("c",)),
    Benchmark("sgemm_tiled", SGEMM, _sgemm, _square("tiled"), ("c",)),
    Benchmark("nbody", NBODY, _nbody, _line("nbody", "p a n", "p"), ("a",)),
    Benchmark("mandel", MANDEL, _mandel, _plane("mandel", "out n most", (32, 8)), ("out",)),
    Benchmark("reduce", REDUCE, _reduce, _line("reduce", "x out part", "x"), ("out",)),
    Benchmark("stencil", STENCIL, _stencil, _plane("stencil", "in out n n", (64, 4)), ("out",)),
    Benchmark(
        "blackscholes",
        BLACKSCHOLES,
        _blackscholes,
        _line("bs", "s x t call put r v", "s"),
        ("call", "put"),
    ),
    Benchmark(
        "histogram",
        HISTOGRAM,
        _histogram,
        _line("count_bytes", "x out bins per", "x", per=64),
        ("out",),
    ),
    Benchmark("spmv", SPMV, _spmv, _line("spmv", "start column value x y", "y"), ("y",)),
    Benchmark("divide", DIVIDE, _divide, _line("divide", "a b q r", "a"), ("q", "r")),
    Benchmark("mix", SHA, _mix, _line("scramble", "in out", "in"), ("out",)),
)
