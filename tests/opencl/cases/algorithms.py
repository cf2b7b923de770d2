"""Whole algorithms: hashes, simulation, sparse algebra, random numbers, rendering."""

from __future__ import annotations

import hashlib
import zlib
from itertools import pairwise

import numpy as np
from numpy.random import Generator

from tests.opencl.case import Case, Launch, LocalBytes, Mostly, Relative, Values
from tests.opencl.cases.reference import fma

I32, U32, F32 = np.int32, np.uint32, np.float32


def _life(rng: Generator) -> Values:
    return {
        "now": (rng.random((9, 20)) < 0.35).astype(np.uint8),
        "next": np.zeros((9, 20), np.uint8),
        "words": rng.integers(0, 2**32, 24, dtype=U32) & rng.integers(0, 2**32, 24, dtype=U32),
        "height": np.int32(24),
        "after": np.zeros(24, U32),
        "later": np.zeros(24, U32),
    }


def _generation(now: np.ndarray) -> np.ndarray:
    turns = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx]
    around = sum(np.roll(now, turn, (0, 1)) for turn in turns)
    return ((around == 3) | ((around == 2) & (now == 1))).astype(np.uint8)


def _life_expected(v: Values) -> dict[str, np.ndarray]:
    bits = np.unpackbits(v["words"].view(np.uint8).reshape(24, 4), axis=1, bitorder="little")
    first = _generation(bits)
    packed = [
        np.packbits(x, axis=1, bitorder="little").view(U32).ravel()
        for x in (first, _generation(first))
    ]
    return {"next": _generation(v["now"]), "after": packed[0], "later": packed[1]}


def _several(rng: Generator) -> Values:
    del rng
    return {
        "a": np.zeros(96, np.uint16),
        "b": np.zeros(96, np.uint16),
        "seed": np.uint32(12345),
        "out": np.zeros(2, U32),
    }


def _several_expected(v: Values) -> dict[str, np.ndarray]:
    """All intermediate values fit a float32 exactly."""
    i = np.arange(96, dtype=U32)
    x = (i + U32(1)) * U32(2654435761) ^ v["seed"]
    x ^= x >> U32(15)
    a = (x >> U32(8)).astype(np.uint16)
    padded = np.pad(a.astype(np.float64), 2, mode="edge")
    taps = (0.0625, 0.25, 0.375, 0.25, 0.0625)
    blurred = sum(tap * padded[k : k + 96] for k, tap in enumerate(taps))
    b = np.clip(np.rint(blurred), 0, 65535).astype(np.uint16)
    a = np.abs(a.astype(I32) - b).astype(np.uint16)
    return {"a": a, "b": b, "out": np.array([a.max(), a.sum()], U32)}


def _nbody(rng: Generator) -> Values:
    count = 64
    position = rng.normal(size=(count, 4)).astype(F32)
    position[:, 3] = rng.uniform(0.1, 1, count)
    return {
        "position": position,
        "velocity": rng.normal(size=(count, 4)).astype(F32),
        "new_position": np.zeros((count, 4), F32),
        "new_velocity": np.zeros((count, 4), F32),
        "block": LocalBytes(16 * 32),
        "count": np.int32(count),
        "dt": np.float32(0.01),
        "softening": np.float32(0.05),
    }


def _nbody_expected(v: Values) -> dict[str, np.ndarray]:
    p, w = v["position"].astype(np.float64), v["velocity"].astype(np.float64)
    d = p[None, :, :3] - p[:, None, :3]
    r2 = (d * d).sum(2) + float(v["softening"])
    acceleration = (d * (p[:, 3] / r2**1.5)[..., None]).sum(1)
    dt = float(v["dt"])
    w[:, :3] += acceleration * dt
    p[:, :3] += w[:, :3] * dt
    return {"new_position": p, "new_velocity": w}


def _sha256(rng: Generator) -> Values:
    stride = 128
    lengths = np.array([0, 1, 3, 55, 56, 63, 64, 65, 119, 120, 128, 100, 7, 8, 9, 60], U32)
    return {
        "messages": rng.integers(0, 256, (len(lengths), stride)).astype(np.uint8),
        "lengths": lengths,
        "digests": np.zeros((len(lengths), 8), U32),
        "stride": np.uint32(stride),
    }


def _sha256_expected(v: Values) -> dict[str, np.ndarray]:
    rows = zip(v["messages"], v["lengths"].tolist(), strict=True)
    digests = [hashlib.sha256(row[:n].tobytes()).digest() for row, n in rows]
    return {"digests": np.array([np.frombuffer(d, ">u4") for d in digests]).astype(U32)}


def _crc32(rng: Generator) -> Values:
    ends = np.cumsum(rng.integers(0, 20, 64)).astype(I32)
    return {
        "data": rng.integers(0, 256, int(ends[-1]) + 1).astype(np.uint8),
        "ends": ends,
        "bits": np.zeros(64, U32),
        "table": np.zeros(64, U32),
    }


def _crc32_expected(v: Values) -> dict[str, np.ndarray]:
    ends = [0, *v["ends"].tolist()]
    data = v["data"].tobytes()
    sums = [zlib.crc32(data[a:b]) for a, b in pairwise(ends)]
    return {"bits": np.array(sums, U32), "table": np.array(sums, U32)}


def _spmv(rng: Generator) -> Values:
    """Small multiples of a quarter: the sums are exact in every order."""
    rows, lengths = 60, rng.integers(0, 14, 60)
    lengths[[3, 17]] = (40, 0)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(I32)
    count = int(starts[-1])
    return {
        "starts": starts,
        "columns": rng.integers(0, 50, count).astype(I32),
        "values": rng.integers(-40, 40, count).astype(F32) / F32(4),
        "x": rng.integers(-40, 40, 50).astype(F32) / F32(4),
        "y": np.zeros(rows, F32),
        "rows": np.int32(rows),
        "z": np.zeros(20, F32),
        "part": LocalBytes(4 * 16),
    }


def _spmv_expected(v: Values) -> dict[str, np.ndarray]:
    products = v["values"] * v["x"][v["columns"]]
    starts = v["starts"].tolist()
    y = [products[a:b].sum() for a, b in pairwise(starts)]
    return {"y": np.array(y, F32), "z": np.array(y[:20], F32)}


def _random(rng: Generator) -> Values:
    key = np.zeros((), np.dtype([("x", U32), ("y", U32)]))
    key["x"], key["y"] = rng.integers(0, 2**32, 2, dtype=U32)
    return {
        "out": np.zeros((64, 4), U32),
        "key": key[()],
        "inside": np.zeros(48, U32),
        "draws": np.uint32(4),
    }


def _philox(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, ...]:
    (x, y, z, w), (k0, k1), mask = counter, key, 0xFFFFFFFF
    for _ in range(10):
        p, q = 0xD2511F53 * x, 0xCD9E8D57 * z
        x, y, z, w = q >> 32 ^ y ^ k0, q & mask, p >> 32 ^ w ^ k1, p & mask
        k0, k1 = (k0 + 0x9E3779B9) & mask, (k1 + 0xBB67AE85) & mask
    return x, y, z, w


def _random_expected(v: Values) -> dict[str, np.ndarray]:
    key = (int(v["key"]["x"]), int(v["key"]["y"]))
    out = [_philox((i, 0, 0xFFFFFFFF - i, 7), key) for i in range(64)]
    draws = [[_philox((i, k, 0, 0), key) for k in range(4)] for i in range(48)]
    p = (np.array(draws, U32) >> U32(8)).astype(F32) * F32(2.0**-24)
    x, y = p[..., ::2].ravel(), p[..., 1::2].ravel()
    inside = (fma(x, x, y * y) < 1).reshape(48, -1).sum(1)
    return {"out": np.array(out, U32), "inside": inside.astype(U32)}


BODY = np.dtype(
    {
        "names": ["sphere", "colour"],
        "formats": [("f4", (4,)), ("u1", (4,))],
        "offsets": [0, 16],
        "itemsize": 32,
    }
)
VECTOR3 = np.dtype((np.void, 16))


def _ray_march(rng: Generator) -> Values:
    bodies = np.zeros(4, BODY)
    bodies["sphere"][:, :3] = rng.uniform(-1, 1, (4, 3)) * (1.2, 1.2, 0.8)
    bodies["sphere"][:, 3] = rng.uniform(0.2, 0.6, 4)
    bodies["colour"] = rng.integers(60, 256, (4, 4))
    light = np.array([0.6, 0.64, -0.48, 0.0], F32)
    return {
        "bodies": bodies,
        "count": np.int32(4),
        "image": np.zeros((16, 16, 4), np.uint8),
        "depth": np.zeros((16, 16), F32),
        "light": light.view(VECTOR3)[0],
    }


def _ray(origin: np.ndarray, direction: np.ndarray, bodies: np.ndarray, light: np.ndarray):
    colour, weight, first = np.zeros(3), 1.0, -1.0
    for bounce in range(3):
        nearest, hit = 1e30, None
        for body in bodies:
            d = body["sphere"][:3] - origin
            along = d @ direction
            gap = d @ d - along * along
            if along < 0 or gap > body["sphere"][3]:
                continue
            t = along - np.sqrt(body["sphere"][3] - gap)
            if 0.01 < t < nearest:
                nearest, hit = t, body
        if bounce == 0 and hit is not None:
            first = nearest
        if hit is None:
            colour += weight * np.array([16, 32, 64]) * (1 - abs(direction[1]))
            break
        origin = origin + nearest * direction
        normal = origin - hit["sphere"][:3]
        normal /= np.sqrt(normal @ normal)
        colour += weight * 0.7 * max(normal @ light, 0.1) * hit["colour"][:3]
        direction = direction - 2 * (direction @ normal) * normal
        weight *= 0.3
    return np.clip(np.rint(colour), 0, 255), first


def _ray_march_expected(v: Values) -> dict[str, np.ndarray]:
    bodies = v["bodies"].astype(np.dtype([("sphere", "f8", (4,)), ("colour", "f8", (4,))]))
    light = np.frombuffer(v["light"].tobytes(), F32)[:3].astype(np.float64)
    image, depth = np.full((16, 16, 4), 255, np.uint8), np.zeros((16, 16))
    for y in range(16):
        for x in range(16):
            direction = np.array([(x - 8 + 0.5) / 16, (y - 8 + 0.5) / 16, 1.0])
            direction /= np.sqrt(direction @ direction)
            colour, depth[y, x] = _ray(np.array([0.0, 0.0, -4.0]), direction, bodies, light)
            image[y, x, :3] = colour
    return {"image": image, "depth": depth}


_ROUNDING = Relative(1e-5, "64 terms, each with rsqrt within 2 ulp and a dozen roundings")

CASES: tuple[Case, ...] = (
    Case(
        "life",
        "life.cl",
        _life,
        (
            Launch("life_bytes", "now next", (20, 9), (10, 3)),
            Launch("life_bits", "words after height", (24,), (8,)),
            Launch("life_bits", "after later height", (24,), (24,)),
        ),
        _life_expected,
    ),
    Case(
        "several_kernels",
        "several_kernels.cl",
        _several,
        (
            Launch("fill", "a seed", (96,), (32,)),
            Launch("blur", "a b", (96,), (48,)),
            Launch("difference", "a b", (96,), (96,)),
            Launch("peak", "a out", (96,), (24,)),
        ),
        _several_expected,
    ),
    Case(
        "nbody",
        "nbody.cl",
        _nbody,
        (
            Launch(
                "nbody",
                "position velocity new_position new_velocity block count dt softening",
                (64,),
                (32,),
            ),
        ),
        _nbody_expected,
        rules={"new_position": _ROUNDING, "new_velocity": _ROUNDING},
    ),
    Case(
        "sha256",
        "sha256.cl",
        _sha256,
        (Launch("sha256", "messages lengths digests stride", (16,), (16,)),),
        _sha256_expected,
    ),
    Case(
        "crc32",
        "crc32.cl",
        _crc32,
        (
            Launch("crc32_bits", "data ends bits", (64,), (32,)),
            Launch("crc32_table", "data ends table", (64,), (64,)),
        ),
        _crc32_expected,
    ),
    Case(
        "spmv",
        "spmv.cl",
        _spmv,
        (
            Launch("spmv_scalar", "starts columns values x y rows", (64,), (32,)),
            Launch("spmv_group", "starts columns values x z part", (320,), (16,)),
        ),
        _spmv_expected,
    ),
    Case(
        "random",
        "random.cl",
        _random,
        (
            Launch("draw", "out key", (64,), (32,)),
            Launch("circle", "inside key draws", (48,), (48,)),
        ),
        _random_expected,
    ),
    Case(
        "ray_march",
        "ray_march.cl",
        _ray_march,
        (Launch("ray_march", "bodies count image depth light", (16, 16), (16, 4)),),
        _ray_march_expected,
        rules={
            "image": Mostly(2, 6, "pixels on the rim of a sphere"),
            "depth": Mostly(1e-4, 3, "pixels on the rim of a sphere"),
        },
    ),
)
