"""The 16 kernels that visim's speed is judged by. Data only."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np

from benchmarks.case import Benchmark, Launch, Values, count, floats, line, plane, power
from tests.opencl.case import LocalBytes

SAXPY = """
kernel void saxpy(global float *y, global const float *x, float a) {
    size_t i = get_global_id(0);
    y[i] = a * x[i] + y[i];
}"""


def _saxpy(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 24, scale)
    return {"y": floats(rng, n), "x": floats(rng, n), "a": np.float32(1e-3)}


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
    n = count(512, scale ** (1 / 3), 64)
    c = np.zeros((n, n), np.float32)
    return {"a": floats(rng, n, n), "b": floats(rng, n, n), "c": c, "n": np.int32(n)}


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
    n = count(4096, scale**0.5, 256)
    return {"p": floats(rng, n, 4), "a": np.zeros((n, 4), np.float32), "n": np.int32(n)}


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
    n = count(512, scale**0.5, 64)
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
    n = count(1 << 22, scale)
    return {
        "x": floats(rng, n),
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
    n = count(2048, scale**0.5, 256)
    return {"in": floats(rng, n, n), "out": np.zeros((n, n), np.float32), "n": np.int32(n)}


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
    n = count(1 << 20, scale)
    return {
        "s": floats(rng, n) * 25 + 5,
        "x": floats(rng, n) * 99 + 1,
        "t": floats(rng, n) * 9 + 1,
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
    n = count(1 << 22, scale, 16384)
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
    rows = count(1 << 16, scale)
    lengths = rng.integers(4, 28, rows)
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    entries = int(start[-1])
    return {
        "start": start,
        "column": rng.integers(0, rows, entries).astype(np.int32),
        "value": floats(rng, entries),
        "x": floats(rng, rows),
        "y": np.zeros(rows, np.float32),
    }


TRIAD = """
kernel void triad(global float *a, global const float *b, global const float *c, float s) {
    size_t i = get_global_id(0);
    a[i] = b[i] + s * c[i];
}"""


def _triad(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 24, scale)
    zeros = np.zeros(n, np.float32)
    return {"a": zeros, "b": floats(rng, n), "c": floats(rng, n), "s": np.float32(1.5)}


HIST_GLOBAL = """
kernel void hist_global(global const uint *x, global uint *out) {
    atomic_inc(&out[x[get_global_id(0)] & 1023]);
}"""


def _hist_global(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 22, scale)
    return {"x": rng.integers(0, 1 << 32, n, np.uint32), "out": np.zeros(1024, np.uint32)}


BITONIC = """
kernel void bitonic(global uint *x, int block, int distance) {
    int i = get_global_id(0);
    int low = 2 * i - (i & (distance - 1)), high = low + distance;
    uint a = x[low], b = x[high];
    bool up = (low & block) == 0;
    x[low] = up ? min(a, b) : max(a, b);
    x[high] = up ? max(a, b) : min(a, b);
}"""


def _bitonic(rng: np.random.Generator, scale: float) -> Values:
    n = power(1 << 20, scale)
    numbers = {f"n{1 << bit}": np.int32(1 << bit) for bit in range(n.bit_length())}
    return {"x": rng.integers(0, 1 << 32, n, np.uint32), **numbers}


def _bitonic_launches(values: Values) -> list[Launch]:
    n = len(values["x"])
    found: list[Launch] = []
    block = 2
    while block <= n:
        distance = block // 2
        while distance:
            args = ("x", f"n{block}", f"n{distance}")
            found.append(Launch("bitonic", args, (n // 2,), (256,)))
            distance //= 2
        block *= 2
    return found


FFT = """
kernel void pass(global const float2 *in, global float2 *out, int middle, int p) {
    int i = get_global_id(0), k = i & (p - 1);
    float2 a = in[i], b = in[i + middle];
    float angle = -3.14159265358979f * k / p, c = cos(angle), s = sin(angle);
    float2 t = (float2)(b.x * c - b.y * s, b.x * s + b.y * c);
    int j = 2 * i - k;
    out[j] = a + t;
    out[j + p] = a - t;
}"""


def _fft(rng: np.random.Generator, scale: float) -> Values:
    n = power(1 << 20, scale)
    numbers = {f"n{1 << bit}": np.int32(1 << bit) for bit in range(n.bit_length())}
    start = floats(rng, n, 2) - np.float32(0.5)
    return {"start": start, "even": np.zeros_like(start), "odd": np.zeros_like(start), **numbers}


def _fft_launches(values: Values) -> list[Launch]:
    n, found, source = len(values["start"]), list[Launch](), "start"
    for bit in range(n.bit_length() - 1):
        target = "even" if bit % 2 else "odd"
        args = (source, target, f"n{n // 2}", f"n{1 << bit}")
        found.append(Launch("pass", args, (n // 2,), (256,)))
        source = target
    return found


def _fft_expected(values: Values) -> Values:
    start = values["start"].astype(np.float64)
    found = np.fft.fft(start[:, 0] + 1j * start[:, 1])
    last = "even" if (len(start).bit_length() - 2) % 2 else "odd"
    return {last: np.stack([found.real, found.imag], axis=1)}


SHA256 = """
constant uint K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
#define R(x, n) rotate(x, (uint)(32 - n))
kernel void sha256(global const uint *in, global uint *out) {
    int i = get_global_id(0);
    uint w[16] = {in[i], 0x80000000u, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32};
    uint a = 0x6a09e667, b = 0xbb67ae85, c = 0x3c6ef372, d = 0xa54ff53a;
    uint e = 0x510e527f, f = 0x9b05688c, g = 0x1f83d9ab, h = 0x5be0cd19;
    #pragma unroll
    for (int k = 0; k < 64; ++k) {
        uint x = w[k & 15];
        if (k >= 16) {
            uint p = w[(k + 1) & 15], q = w[(k + 14) & 15];
            x += (R(p, 7) ^ R(p, 18) ^ (p >> 3)) + w[(k + 9) & 15]
                + (R(q, 17) ^ R(q, 19) ^ (q >> 10));
            w[k & 15] = x;
        }
        uint t = h + (R(e, 6) ^ R(e, 11) ^ R(e, 25)) + ((e & f) ^ (~e & g)) + K[k] + x;
        uint u = (R(a, 2) ^ R(a, 13) ^ R(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g; g = f; f = e; e = d + t; d = c; c = b; b = a; a = t + u;
    }
    out[i] = a + 0x6a09e667;
}"""


def _sha256(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 20, scale)
    return {"in": rng.integers(0, 1 << 32, n, np.uint32), "out": np.zeros(n, np.uint32)}


def _sha256_expected(values: Values) -> Values:
    """Hash the first messages only; the rest is compared with the other implementation."""
    words = [int(word).to_bytes(4, "big") for word in values["in"][:1024]]
    first = [int.from_bytes(hashlib.sha256(word).digest()[:4], "big") for word in words]
    return {"out": np.array(first, np.uint32)}


SPILL = """
kernel void spilldp(global const double *x, global double *y) {
    int i = get_global_id(0);
    double v[24], s = x[i];
    #pragma unroll
    for (int j = 0; j < 24; ++j) v[j] = s * (j + 1) * 0.03125;
    for (int k = 0; k < 64; ++k) {
        #pragma unroll
        for (int j = 0; j < 24; ++j) v[j] = fma(v[j], 0.5, v[(j + 7) % 24] * 0.25 + s);
    }
    s = 0;
    #pragma unroll
    for (int j = 0; j < 24; ++j) s += v[j];
    y[i] = s;
}"""


def _spill(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 17, scale)
    return {"x": rng.random(n), "y": np.zeros(n)}


def _spill_expected(values: Values) -> Values:
    x = values["x"]
    v = [x * (j + 1) * 0.03125 for j in range(24)]
    for _ in range(64):
        for j in range(24):
            v[j] = v[j] * 0.5 + (v[(j + 7) % 24] * 0.25 + x)
    return {"y": sum(v)}


def _saxpy_expected(values: Values) -> Values:
    return {"y": values["y"].astype(np.float64) + float(values["a"]) * values["x"]}


def _triad_expected(values: Values) -> Values:
    return {"a": values["b"].astype(np.float64) + float(values["s"]) * values["c"]}


def _sgemm_expected(values: Values) -> Values:
    return {"c": values["a"].astype(np.float64) @ values["b"].astype(np.float64)}


def _nbody_expected(values: Values) -> Values:
    p = values["p"].astype(np.float64)
    found = np.zeros_like(p)
    for row, me in enumerate(p):
        d = p - me
        w = ((d[:, :3] ** 2).sum(axis=1) + 0.01) ** -0.5
        found[row] = (d * (p[:, 3] * w**3)[:, None]).sum(axis=0)
    return {"a": found}


def _reduce_expected(values: Values) -> Values:
    return {"out": values["x"].reshape(-1, 256).astype(np.float64).sum(axis=1)}


def _stencil_expected(values: Values) -> Values:
    x = values["in"].astype(np.float64)
    found = np.zeros_like(x)
    around = x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1]
    found[1:-1, 1:-1] = 0.2 * (x[1:-1, 1:-1] + around)
    return {"out": found}


def _spmv_expected(values: Values) -> Values:
    products = values["value"].astype(np.float64) * values["x"][values["column"]]
    return {"y": np.add.reduceat(products, values["start"][:-1])}


def _bins(size: int) -> Callable[[Values], Values]:
    def expected(values: Values) -> Values:
        return {"out": np.bincount(values["x"].astype(np.int64) % size, minlength=size)}

    return expected


BENCHMARKS = (
    Benchmark("saxpy", SAXPY, _saxpy, line("saxpy", "y x a", "y"), ("y",), _saxpy_expected),
    Benchmark("triad", TRIAD, _triad, line("triad", "a b c s", "a"), ("a",), _triad_expected),
    Benchmark("sgemm_naive", SGEMM, _sgemm, _square("naive"), ("c",), _sgemm_expected),
    Benchmark("sgemm_tiled", SGEMM, _sgemm, _square("tiled"), ("c",), _sgemm_expected),
    Benchmark("nbody", NBODY, _nbody, line("nbody", "p a n", "p"), ("a",), _nbody_expected, 3e-6),
    Benchmark("mandel", MANDEL, _mandel, plane("mandel", "out n most", (32, 8)), ("out",)),
    Benchmark(
        "reduce", REDUCE, _reduce, line("reduce", "x out part", "x"), ("out",), _reduce_expected
    ),
    Benchmark(
        "hist_global",
        HIST_GLOBAL,
        _hist_global,
        line("hist_global", "x out", "x"),
        ("out",),
        _bins(1024),
        0,
    ),
    Benchmark(
        "hist_local",
        HISTOGRAM,
        _histogram,
        line("count_bytes", "x out bins per", "x", per=64),
        ("out",),
        _bins(256),
        0,
    ),
    Benchmark(
        "stencil5",
        STENCIL,
        _stencil,
        plane("stencil", "in out n n", (64, 4)),
        ("out",),
        _stencil_expected,
    ),
    Benchmark(
        "blackscholes",
        BLACKSCHOLES,
        _blackscholes,
        line("bs", "s x t call put r v", "s"),
        ("call", "put"),
    ),
    Benchmark(
        "bitonic",
        BITONIC,
        _bitonic,
        _bitonic_launches,
        ("x",),
        lambda values: {"x": np.sort(values["x"])},
        0,
    ),
    Benchmark(
        "spmv", SPMV, _spmv, line("spmv", "start column value x y", "y"), ("y",), _spmv_expected
    ),
    Benchmark(
        "sha256", SHA256, _sha256, line("sha256", "in out", "in"), ("out",), _sha256_expected, 0
    ),
    Benchmark("spilldp", SPILL, _spill, line("spilldp", "x y", "x"), ("y",), _spill_expected),
    Benchmark("fft", FFT, _fft, _fft_launches, ("even", "odd"), _fft_expected),
)
