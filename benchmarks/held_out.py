"""Kernels that visim was not tuned on: what others may bring. Data only."""

from __future__ import annotations

import numpy as np

from benchmarks.case import Benchmark, Launch, Values, count, floats, line, plane

DIVIDE = """
kernel void divide(global const int *a, global const int *b, global int *q, global int *r) {
    int i = get_global_id(0);
    q[i] = a[i] / b[i];
    r[i] = a[i] % b[i];
}"""


def _divide(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 21, scale)
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
    n = count(1 << 20, scale)
    return {"in": rng.integers(0, 1 << 32, n, np.uint32), "out": np.zeros(n, np.uint32)}


def _divide_expected(values: Values) -> Values:
    a, b = values["a"].astype(np.int64), values["b"].astype(np.int64)
    q = np.sign(a) * (np.abs(a) // b)
    return {"q": q, "r": a - q * b}


TRANSPOSE = """
kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void transpose(global const float *in, global float *out, int n) {
    local float tile[16][17];
    int lx = get_local_id(0), ly = get_local_id(1);
    int gx = get_group_id(0) * 16, gy = get_group_id(1) * 16;
    tile[ly][lx] = in[(gy + ly) * n + gx + lx];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[(gx + ly) * n + gy + lx] = tile[lx][ly];
}"""


def _square_of_floats(rng: np.random.Generator, scale: float) -> Values:
    n = count(2048, scale**0.5, 64)
    return {"in": floats(rng, n, n), "out": np.zeros((n, n), np.float32), "n": np.int32(n)}


def _transpose_expected(values: Values) -> Values:
    return {"out": values["in"].T}


CONVOLVE = """
kernel void convolve(global const float *in, constant float *weights, global float *out, int n) {
    int x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int dy = -2; dy <= 2; ++dy)
        for (int dx = -2; dx <= 2; ++dx) {
            int sx = clamp(x + dx, 0, n - 1), sy = clamp(y + dy, 0, n - 1);
            sum += weights[(dy + 2) * 5 + dx + 2] * in[sy * n + sx];
        }
    out[y * n + x] = sum;
}"""


def _convolve(rng: np.random.Generator, scale: float) -> Values:
    return {**_square_of_floats(rng, scale), "weights": floats(rng, 25)}


def _convolve_expected(values: Values) -> Values:
    n, weights = int(values["n"]), values["weights"].astype(np.float64)
    padded = np.pad(values["in"].astype(np.float64), 2, "edge")
    shifted = (padded[dy : dy + n, dx : dx + n] for dy in range(5) for dx in range(5))
    return {"out": sum(w * part for w, part in zip(weights, shifted, strict=True))}


GRAY = """
kernel void gray(global const uchar4 *in, global uchar *out) {
    int i = get_global_id(0);
    uchar4 p = in[i];
    out[i] = (uchar)((77 * p.x + 150 * p.y + 29 * p.z + 128) >> 8);
}"""


def _gray(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 23, scale)
    pixels = rng.integers(0, 256, (n, 4)).astype(np.uint8)
    return {"in": pixels, "out": np.zeros(n, np.uint8)}


def _gray_expected(values: Values) -> Values:
    weighed = values["in"].astype(np.int64) @ np.array([77, 150, 29, 0])
    return {"out": (weighed + 128) >> 8}


SCAN = """
kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void scan(global const int *in, global int *out) {
    local int a[256], b[256];
    int l = get_local_id(0), i = get_global_id(0);
    a[l] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    local int *from = a, *to = b;
    for (int d = 1; d < 256; d *= 2) {
        to[l] = l >= d ? from[l] + from[l - d] : from[l];
        barrier(CLK_LOCAL_MEM_FENCE);
        local int *t = from; from = to; to = t;
    }
    out[i] = from[l];
}"""


def _scan(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 21, scale)
    return {"in": rng.integers(-99, 99, n).astype(np.int32), "out": np.zeros(n, np.int32)}


def _scan_expected(values: Values) -> Values:
    return {"out": np.cumsum(values["in"].reshape(-1, 256), axis=1).reshape(-1)}


GEMV = """
kernel void gemv(global const float *a, global const float *x, global float *y, int n) {
    int row = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += a[k * n + row] * x[k];
    y[row] = sum;
}"""


def _gemv(rng: np.random.Generator, scale: float) -> Values:
    n = count(4096, scale**0.5, 256)
    return {
        "a": floats(rng, n, n),
        "x": floats(rng, n),
        "y": np.zeros(n, np.float32),
        "n": np.int32(n),
    }


def _gemv_expected(values: Values) -> Values:
    return {"y": values["x"].astype(np.float64) @ values["a"].astype(np.float64)}


FLOYD = """
kernel void floyd(global int *d, int n, int k) {
    int x = get_global_id(0), y = get_global_id(1);
    d[y * n + x] = min(d[y * n + x], d[y * n + k] + d[k * n + x]);
}"""


def _floyd(rng: np.random.Generator, scale: float) -> Values:
    n = count(256, scale ** (1 / 3), 64)
    distances = rng.integers(1, 1000, (n, n)).astype(np.int32)
    return {"d": distances, "n": np.int32(n), **{f"k{k}": np.int32(k) for k in range(n)}}


def _floyd_launches(values: Values) -> list[Launch]:
    n = int(values["n"])
    return [Launch("floyd", ("d", "n", f"k{k}"), (n, n), (64, 4)) for k in range(n)]


def _floyd_expected(values: Values) -> Values:
    d = values["d"].astype(np.int64)
    for k in range(len(d)):
        d = np.minimum(d, d[:, k : k + 1] + d[k])
    return {"d": d}


KMEANS = """
kernel void assign(global const float4 *points, constant float4 *centres, global int *nearest) {
    int i = get_global_id(0), best = 0;
    float4 p = points[i];
    float least = INFINITY;
    for (int c = 0; c < 16; ++c) {
        float4 d = p - centres[c];
        float far = dot(d, d);
        if (far < least) { least = far; best = c; }
    }
    nearest[i] = best;
}"""


def _kmeans(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 20, scale)
    return {
        "points": floats(rng, n, 4),
        "centres": floats(rng, 16, 4),
        "nearest": np.zeros(n, np.int32),
    }


MONTE_CARLO = """
kernel void throw(global uint *hits) {
    uint i = get_global_id(0), x = i * 2654435769u + 1, found = 0;
    for (int k = 0; k < 256; ++k) {
        x ^= x << 13; x ^= x >> 17; x ^= x << 5;
        float a = (x >> 8) * 0x1p-24f;
        x ^= x << 13; x ^= x >> 17; x ^= x << 5;
        float b = (x >> 8) * 0x1p-24f;
        found += a * a + b * b < 1.0f;
    }
    hits[i] = found;
}"""


def _monte_carlo(rng: np.random.Generator, scale: float) -> Values:
    return {"hits": np.zeros(count(1 << 18, scale), np.uint32)}


SEARCH = """
kernel void search(global const uint *sorted, int n, global const uint *keys, global int *found) {
    int i = get_global_id(0), low = 0, high = n;
    uint key = keys[i];
    while (low < high) {
        int middle = (low + high) / 2;
        if (sorted[middle] < key) low = middle + 1; else high = middle;
    }
    found[i] = low;
}"""


def _search(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 19, scale)
    return {
        "sorted": np.sort(rng.integers(0, 1 << 32, 1 << 16, np.uint32)),
        "n": np.int32(1 << 16),
        "keys": rng.integers(0, 1 << 32, n, np.uint32),
        "found": np.zeros(n, np.int32),
    }


def _search_expected(values: Values) -> Values:
    return {"found": np.searchsorted(values["sorted"], values["keys"])}


SOFTMAX = """
kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void softmax(global const float *in, global float *out) {
    local float part[128];
    int l = get_local_id(0), at = get_group_id(0) * 512 + l;
    float x[4], most = -INFINITY, sum = 0;
    for (int k = 0; k < 4; ++k) { x[k] = in[at + k * 128]; most = fmax(most, x[k]); }
    part[l] = most;
    for (int d = 64; d > 0; d /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < d) part[l] = fmax(part[l], part[l + d]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    most = part[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 4; ++k) { x[k] = exp(x[k] - most); sum += x[k]; }
    part[l] = sum;
    for (int d = 64; d > 0; d /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < d) part[l] += part[l + d];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 4; ++k) out[at + k * 128] = x[k] / part[0];
}"""


def _softmax(rng: np.random.Generator, scale: float) -> Values:
    rows = count(1 << 13, scale, 64)
    return {"in": floats(rng, rows * 512), "out": np.zeros(rows * 512, np.float32)}


def _softmax_expected(values: Values) -> Values:
    grown = np.exp(values["in"].astype(np.float64).reshape(-1, 512))
    return {"out": (grown / grown.sum(axis=1, keepdims=True)).reshape(-1)}


HASH = """
kernel void hash(global const ulong *in, global ulong *out) {
    int i = get_global_id(0);
    ulong h = in[i];
    for (int k = 0; k < 8; ++k) {
        h ^= h >> 33; h *= 0xff51afd7ed558ccdUL;
        h ^= h >> 33; h *= 0xc4ceb9fe1a85ec53UL;
        h ^= h >> 33;
    }
    out[i] = h;
}"""


def _hash(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 20, scale)
    return {"in": rng.integers(0, 1 << 64, n, np.uint64), "out": np.zeros(n, np.uint64)}


def _hash_expected(values: Values) -> Values:
    h = values["in"].copy()
    for _ in range(8):
        h = (h ^ (h >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
        h = (h ^ (h >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
        h ^= h >> np.uint64(33)
    return {"out": h}


JACOBI = """
kernel void jacobi(global const float *in, global float *out, int n) {
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2), i = (z * n + y) * n + x;
    if (x == 0 || y == 0 || z == 0 || x == n - 1 || y == n - 1 || z == n - 1) return;
    out[i] = (in[i - 1] + in[i + 1] + in[i - n] + in[i + n] + in[i - n * n] + in[i + n * n]) / 6;
}"""


def _jacobi(rng: np.random.Generator, scale: float) -> Values:
    n = count(192, scale ** (1 / 3), 32)
    return {"in": floats(rng, n, n, n), "out": np.zeros((n, n, n), np.float32), "n": np.int32(n)}


def _jacobi_launches(values: Values) -> list[Launch]:
    n = int(values["n"])
    return [Launch("jacobi", ("in", "out", "n"), (n, n, n), (32, 4, 2))]


def _jacobi_expected(values: Values) -> Values:
    a, out = values["in"].astype(np.float64), np.zeros(values["in"].shape)
    near = a[:-2, 1:-1, 1:-1] + a[2:, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1] + a[1:-1, 2:, 1:-1]
    out[1:-1, 1:-1, 1:-1] = (near + a[1:-1, 1:-1, :-2] + a[1:-1, 1:-1, 2:]) / 6
    return {"out": out}


HELD_OUT = (
    Benchmark(
        "divide", DIVIDE, _divide, line("divide", "a b q r", "a"), ("q", "r"), _divide_expected, 0
    ),
    Benchmark("mix", SHA, _mix, line("scramble", "in out", "in"), ("out",)),
    Benchmark(
        "transpose",
        TRANSPOSE,
        _square_of_floats,
        plane("transpose", "in out n", (16, 16)),
        ("out",),
        _transpose_expected,
        0,
    ),
    Benchmark(
        "convolve",
        CONVOLVE,
        _convolve,
        plane("convolve", "in weights out n", (32, 8)),
        ("out",),
        _convolve_expected,
    ),
    Benchmark("gray", GRAY, _gray, line("gray", "in out", "in"), ("out",), _gray_expected, 0),
    Benchmark("scan", SCAN, _scan, line("scan", "in out", "in"), ("out",), _scan_expected, 0),
    Benchmark("gemv", GEMV, _gemv, line("gemv", "a x y n", "x"), ("y",), _gemv_expected),
    Benchmark("floyd", FLOYD, _floyd, _floyd_launches, ("d",), _floyd_expected, 0),
    Benchmark(
        "kmeans", KMEANS, _kmeans, line("assign", "points centres nearest", "points"), ("nearest",)
    ),
    Benchmark("monte_carlo", MONTE_CARLO, _monte_carlo, line("throw", "hits", "hits"), ("hits",)),
    Benchmark(
        "search",
        SEARCH,
        _search,
        line("search", "sorted n keys found", "keys"),
        ("found",),
        _search_expected,
        0,
    ),
    Benchmark(
        "softmax",
        SOFTMAX,
        _softmax,
        line("softmax", "in out", "in", 128, 4),
        ("out",),
        _softmax_expected,
    ),
    Benchmark("hash", HASH, _hash, line("hash", "in out", "in"), ("out",), _hash_expected, 0),
    Benchmark("jacobi", JACOBI, _jacobi, _jacobi_launches, ("out",), _jacobi_expected),
)
