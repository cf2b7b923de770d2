"""Kernels of kinds that a survey of public suites found to be slow or missing here. Data only.

Written anew, after what such suites have: quantised weights, 64-bit modulo, neighbour lists,
products of matrices in blocks of registers, filters of bytes, permutations of a private array.
"""

from __future__ import annotations

import numpy as np

from benchmarks.case import Benchmark, Launch, Values, count, floats, line, plane
from tests.opencl.case import LocalBytes

QUANTISED = """
typedef struct { float scale; char weights[32]; } Block;
kernel void quantised(global const Block *rows, global const float *x, global float *y, int blocks,
                      local float *part) {
    int row = get_group_id(0), l = get_local_id(0);
    float sum = 0;
    for (int b = l; b < blocks; b += get_local_size(0)) {
        global const Block *one = rows + row * blocks + b;
        float s = 0;
        for (int k = 0; k < 32; ++k) s += one->weights[k] * x[32 * b + k];
        sum += s * one->scale;
    }
    part[l] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = get_local_size(0) / 2; k > 0; k /= 2) {
        if (l < k) part[l] += part[l + k];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0) y[row] = part[0];
}"""
_BLOCK = np.dtype([("scale", np.float32), ("weights", np.int8, 32)])


def _quantised(rng: np.random.Generator, scale: float) -> Values:
    rows, blocks = count(1024, scale, 64), 128
    found = np.zeros((rows, blocks), _BLOCK)
    found["scale"] = floats(rng, rows, blocks)
    found["weights"] = rng.integers(-128, 128, (rows, blocks, 32))
    return {
        "rows": found.view(np.uint8),
        "x": floats(rng, 32 * blocks),
        "y": np.zeros(rows, np.float32),
        "blocks": np.int32(blocks),
        "part": LocalBytes(256),
    }


def _quantised_launches(values: Values) -> list[Launch]:
    args = ("rows", "x", "y", "blocks", "part")
    return [Launch("quantised", args, (64 * len(values["y"]),), (64,))]


def _quantised_expected(values: Values) -> Values:
    rows = values["rows"].view(_BLOCK)
    x = values["x"].astype(np.float64).reshape(-1, 32)
    sums = (rows["weights"] * x).sum(axis=2)
    return {"y": (sums * rows["scale"]).sum(axis=1)}


POWERS = """
kernel void powers(global const uint *base, global const uint *modulus, global uint *out) {
    int i = get_global_id(0);
    ulong b = base[i], r = 1, n = modulus[i];
    for (uint e = 65537; e != 0; e >>= 1) {
        if (e & 1) r = r * b % n;
        b = b * b % n;
    }
    out[i] = r;
}"""


def _powers(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 13, scale)
    return {
        "base": rng.integers(0, 1 << 32, n, np.uint32),
        "modulus": rng.integers(2, 1 << 32, n, np.uint32),
        "out": np.zeros(n, np.uint32),
    }


def _powers_expected(values: Values) -> Values:
    pairs = zip(values["base"].tolist(), values["modulus"].tolist(), strict=True)
    return {"out": np.array([pow(b, 65537, n) for b, n in pairs], np.uint32)}


FORCES = """
kernel void forces(global const float4 *place, global const int *near, global float4 *force,
                   int neighbours, float cutoff, int n) {
    int i = get_global_id(0);
    float4 me = place[i], sum = (float4)(0);
    for (int k = 0; k < neighbours; ++k) {
        float4 d = me - place[near[k * n + i]];
        float r = d.x * d.x + d.y * d.y + d.z * d.z;
        if (r < cutoff) {
            float s = 1.0f / (r + 0.5f);
            sum.xyz += d.xyz * (s * s * s * s * (s * s * s - 0.5f));
        }
    }
    force[i] = sum;
}"""


def _forces(rng: np.random.Generator, scale: float) -> Values:
    n, neighbours = count(1 << 15, scale), 64
    place = floats(rng, n, 4) * np.float32(4)
    return {
        "place": place,
        "near": rng.integers(0, n, (neighbours, n)).astype(np.int32),
        "force": np.zeros((n, 4), np.float32),
        "neighbours": np.int32(neighbours),
        "cutoff": np.float32(5),
        "n": np.int32(n),
    }


BLOCKED = """
kernel void blocked(global const float4 *a, global const float4 *b, global float4 *c, int n) {
    int x = get_global_id(0), y = 4 * get_global_id(1), w = n / 4;
    float4 s[4] = {(float4)(0), (float4)(0), (float4)(0), (float4)(0)};
    for (int k = 0; k < w; ++k) {
        float4 p = b[4 * k * w + x], q = b[(4 * k + 1) * w + x];
        float4 r = b[(4 * k + 2) * w + x], t = b[(4 * k + 3) * w + x];
        for (int i = 0; i < 4; ++i) {
            float4 one = a[(y + i) * w + k];
            s[i] += one.x * p + one.y * q + one.z * r + one.w * t;
        }
    }
    for (int i = 0; i < 4; ++i) c[(y + i) * w + x] = s[i];
}"""


def _blocked(rng: np.random.Generator, scale: float) -> Values:
    n = count(512, scale ** (1 / 3), 64)
    c = np.zeros((n, n), np.float32)
    return {"a": floats(rng, n, n), "b": floats(rng, n, n), "c": c, "n": np.int32(n)}


def _blocked_launches(values: Values) -> list[Launch]:
    items = int(values["n"]) // 4
    return [Launch("blocked", ("a", "b", "c", "n"), (items, items), (8, 8))]


def _blocked_expected(values: Values) -> Values:
    return {"c": values["a"].astype(np.float64) @ values["b"].astype(np.float64)}


EDGES = """
kernel void edges(global const uchar *in, global uchar *out, int n) {
    int x = get_global_id(0), y = get_global_id(1), i = y * n + x;
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
    int across = in[i - n + 1] + 2 * in[i + 1] + in[i + n + 1];
    across -= in[i - n - 1] + 2 * in[i - 1] + in[i + n - 1];
    int down = in[i + n - 1] + 2 * in[i + n] + in[i + n + 1];
    down -= in[i - n - 1] + 2 * in[i - n] + in[i - n + 1];
    out[i] = min(255u, abs(across) + abs(down));
}"""


def _edges(rng: np.random.Generator, scale: float) -> Values:
    n = count(1024, scale**0.5, 256)
    image = rng.integers(0, 256, (n, n)).astype(np.uint8)
    return {"in": image, "out": np.zeros((n, n), np.uint8), "n": np.int32(n)}


def _edges_expected(values: Values) -> Values:
    image, n = values["in"].astype(np.int32), int(values["n"])

    def at(down: int, across: int) -> np.ndarray:
        return image[1 + down : n - 1 + down, 1 + across : n - 1 + across]

    across, down = (
        sum(w * (at(*right) - at(*left)) for w, right, left in pairs)
        for pairs in (
            [(1, (-1, 1), (-1, -1)), (2, (0, 1), (0, -1)), (1, (1, 1), (1, -1))],
            [(1, (1, -1), (-1, -1)), (2, (1, 0), (-1, 0)), (1, (1, 1), (-1, 1))],
        )
    )
    out = np.zeros((n, n), np.uint8)
    out[1:-1, 1:-1] = np.minimum(255, np.abs(across) + np.abs(down))
    return {"out": out}


SHUFFLED = """
kernel void shuffled(global const uint *seeds, global uint *out) {
    int i = get_global_id(0);
    uint state = seeds[i];
    uchar deck[64];
    #pragma unroll 4
    for (int k = 0; k < 64; ++k) deck[k] = k;
    #pragma unroll 1
    for (int k = 63; k > 0; --k) {
        state = state * 1664525u + 1013904223u;
        int other = (state >> 16) % (k + 1);
        uchar card = deck[k];
        deck[k] = deck[other];
        deck[other] = card;
    }
    uint found = 0;
    #pragma unroll 4
    for (int k = 0; k < 64; ++k) found = found * 31 + deck[k];
    out[i] = found;
}"""


def _shuffled(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 16, scale)
    return {"seeds": rng.integers(0, 1 << 32, n, np.uint32), "out": np.zeros(n, np.uint32)}


def _shuffled_expected(values: Values) -> Values:
    state, lanes = values["seeds"].copy(), np.arange(len(values["seeds"]))
    deck = np.tile(np.arange(64, dtype=np.uint32)[:, None], (1, len(lanes)))
    for k in range(63, 0, -1):
        state = state * np.uint32(1664525) + np.uint32(1013904223)
        other = (state >> np.uint32(16)) % np.uint32(k + 1)
        card = deck[k].copy()
        deck[k] = deck[other, lanes]
        deck[other, lanes] = card
    found = np.zeros(len(lanes), np.uint32)
    for row in deck:
        found = found * np.uint32(31) + row
    return {"out": found}


SURVEY: tuple[Benchmark, ...] = (
    Benchmark("quantised", QUANTISED, _quantised, _quantised_launches, ("y",), _quantised_expected),
    Benchmark(
        "powers",
        POWERS,
        _powers,
        line("powers", "base modulus out", "base"),
        ("out",),
        _powers_expected,
        0,
    ),
    Benchmark(
        "forces",
        FORCES,
        _forces,
        line("forces", "place near force neighbours cutoff n", "place"),
        ("force",),
    ),
    Benchmark("blocked", BLOCKED, _blocked, _blocked_launches, ("c",), _blocked_expected),
    Benchmark(
        "edges",
        EDGES,
        _edges,
        plane("edges", "in out n", (32, 8)),
        ("out",),
        _edges_expected,
        0,
    ),
    Benchmark(
        "shuffled",
        SHUFFLED,
        _shuffled,
        line("shuffled", "seeds out", "seeds"),
        ("out",),
        _shuffled_expected,
        0,
    ),
)
