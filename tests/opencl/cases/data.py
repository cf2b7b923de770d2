"""Data: private arrays, structs, vectors of small types, program-scope data, address spaces."""

from __future__ import annotations

import base64

import numpy as np
from numpy.random import Generator

from tests.opencl.case import Case, Launch, LocalBytes, Values
from tests.opencl.cases.inputs import integers

I32, F32 = np.int32, np.float32

PARTICLE = np.dtype(
    {
        "names": ["kind", "weight", "cell", "id"],
        "formats": ["i1", "i2", ("i4", (3,)), "i8"],
        "offsets": [0, 2, 16, 32],
        "itemsize": 48,
    }
)
SETTINGS = np.dtype(
    {
        "names": ["scale", "mode", "dx", "dy", "mask"],
        "formats": [("f4", (3,)), "u1", "i2", "i2", "u8"],
        "offsets": [0, 12, 14, 16, 24],
        "itemsize": 32,
    }
)


def _private_array(rng: Generator) -> Values:
    return {
        "a": rng.integers(-50, 50, (40, 12)).astype(I32),
        "sorted": np.zeros((40, 12), I32),
        "n": np.int32(12),
        "commands": rng.integers(0, 65536, (64, 20)).astype(np.uint16),
        "hashes": np.zeros(64, np.uint32),
        "m": np.int32(20),
        "index": rng.integers(0, 64, 64).astype(I32),
        "picked": np.zeros((64, 2), F32),
        "letters": rng.integers(0, 256, (32, 12)).astype(np.uint8),
        "walks": np.zeros(32, np.uint32),
    }


def _walk(keys: list[int]) -> int:
    order = sorted(range(len(keys)), key=lambda k: keys[k] % 96)
    digest, at = 17, 0
    for _ in keys:
        digest, at = (digest * 31 + at) & 0xFFFFFFFF, order[at]
    return digest


def _ring(commands: list[int]) -> int:
    ring = [k * 3 for k in range(16)]
    head, digest = 0, 2166136261
    for c in commands:
        at = (head + (c >> 8)) & 15
        ring[at] = (ring[at] + c) & 255
        head = (head + (c & 7)) & 15
        digest = (digest ^ ring[head]) * 16777619 & 0xFFFFFFFF
    return digest


def _private_array_expected(v: Values) -> dict[str, np.ndarray]:
    picked = []
    for i, index in enumerate(v["index"].tolist()):
        table = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]
        table[index & 3][1] = float(i)
        table[index >> 2 & 3][0] += 0.5
        table[index >> 2 & 3][1] += 0.25
        picked.append(table[index >> 4 & 3])
    return {
        "sorted": np.sort(v["a"], axis=1),
        "hashes": np.array([_ring(row) for row in v["commands"].tolist()], np.uint32),
        "picked": np.array(picked, F32),
        "walks": np.array([_walk(row) for row in v["letters"].tolist()], np.uint32),
    }


def _struct_args(rng: Generator) -> Values:
    count = 96
    particles = np.zeros(count, PARTICLE)
    particles["kind"] = rng.integers(2, 6, count)
    particles["weight"] = rng.integers(-200, 200, count)
    particles["cell"] = rng.integers(-1000, 1000, (count, 3))
    particles["id"] = integers(rng, np.int64, count)
    settings = np.zeros((), SETTINGS)
    settings["scale"] = (0.5, -3.0, 1.25)
    settings["mode"], settings["dx"], settings["dy"] = 4, -17, 1000
    settings["mask"] = 0xFFFF0000FFFFFF0F
    return {
        "s": settings[()],
        "in": particles,
        "out": np.zeros(count, PARTICLE),
        "scaled": np.zeros(count, F32),
        "words": np.zeros(count, np.uint32),
    }


def _struct_args_expected(v: Values) -> dict[str, np.ndarray]:
    p, s = v["in"], v["s"]
    i = np.arange(len(p))
    out = np.zeros(len(p), PARTICLE)
    out["kind"] = p["kind"] ^ 1
    weight = p["weight"].astype(I32)
    matched = out["kind"] == s["mode"]
    dx, dy = int(s["dx"]), int(s["dy"])
    out["weight"] = np.where(matched, weight * dx, weight - dy).astype(np.int16)
    out["cell"] = p["cell"][:, [2, 0, 1]] + np.array([dx, dy, int(s["mode"])], I32)
    out["id"] = ((p["id"] ^ i).view(np.uint64) & s["mask"]).view(np.int64)
    scaled = s["scale"][out["kind"] % 3] * p["weight"].astype(F32)
    raw = scaled.copy().view(np.uint8).reshape(-1, 4)
    raw[:, 1] = i
    return {"out": out, "scaled": scaled, "words": raw.view(np.uint32)[:, 0] + raw[:, 3]}


def _vectors(rng: Generator) -> Values:
    i16 = np.int16
    a = rng.integers(-1000, 1000, (48, 8)).astype(i16)
    b = np.where(rng.random((48, 8)) < 0.2, a, rng.integers(-1000, 1000, (48, 8))).astype(i16)
    b[5] = a[5] + i16(1)
    return {
        "chars": integers(rng, np.int8, 3 * 70),
        "threes": np.zeros((70, 3), np.int8),
        "bytes": rng.integers(0, 256, (48, 16)).astype(np.uint8),
        "order": rng.integers(0, 256, (48, 16)).astype(np.uint8),
        "sixteens": np.zeros((48, 16), np.uint8),
        "sums": np.zeros(48, np.uint32),
        "a": a,
        "b": b,
        "eights": np.zeros((48, 8), i16),
        "flags": np.zeros(48, I32),
        "odd": rng.integers(-32768, 32767, 36).astype(i16),
        "words": np.zeros(32, I32),
    }


def _vectors_expected(v: Values) -> dict[str, np.ndarray]:
    i16, u32 = np.int16, np.uint32
    index = np.arange(70).astype(np.int8)[:, None]
    threes = v["chars"].reshape(-1, 3)[:, [2, 0, 1]] * np.array([3, -5, 7], np.int8) + index
    threes[:, 1] = np.maximum(threes[:, 0], threes[:, 2])
    data = v["bytes"]
    s = np.take_along_axis(data, (v["order"] & 15).astype(np.int64), axis=1)
    s[:, [0, 15]] = s[:, [15, 0]]
    s[:, ::2] = np.maximum(s[:, ::2], data[:, 1::2])
    pairs = s[:, :8].astype(np.uint16) * np.uint16(3) + data[:, 8:]
    quads = pairs[:, :4].astype(u32) + pairs[:, 4:]
    x, y = v["a"], v["b"]
    both = np.concatenate([x, y], axis=1)[:, [0, 8, 1, 9, 2, 10, 15, 7]]
    less = x < y
    flags = less.any(1) + 2 * less.all(1) + 4 * (x == y).any(1)
    quad = np.stack([v["odd"][k : k + 32] for k in range(4)], axis=1).view(np.uint16).astype(u32)
    even = quad[:, 0] | quad[:, 2] << 16
    odd = quad[:, 3] | quad[:, 1] << 16
    return {
        "threes": threes,
        "sixteens": s,
        "sums": quads @ np.array([1, 2, 3, 5], u32),
        "eights": np.where(less, y, x) - (y >> i16(2)) + both,
        "flags": flags.astype(I32),
        "words": (even ^ odd).view(I32),
    }


def _constants(rng: Generator) -> Values:
    return {
        "a": rng.integers(0, 2**20, 64).astype(I32),
        "out": np.zeros((64, 2), I32),
        "fout": np.zeros(64, F32),
        "text": np.zeros((64, 3), np.int8),
    }


_PRIMES = np.array([2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53], I32)
_POWERS = np.array([[0, 1, 4, 9], [0, 1, 8, 27]], I32)
_WEIGHTS = np.array([[0.5, 1.5, -2, 4], [1, 0, 0, 0], [-1, 0.25, 3, 8]], F32)


def _constants_expected(v: Values) -> dict[str, np.ndarray]:
    x = v["a"]
    first = _PRIMES[x & 15] * 1000 + _POWERS[x & 1, (x >> 1) & 3]
    second = np.array([8, 27], I32)[(x >> 3) & 1] - np.array([3, 5], I32)[x & 1]
    digits = np.frombuffer(b"0123456789abcdef", np.int8)
    names = np.array([list(b"red"), list(b"gre")], np.int8)
    letters = names[(x >> 1) & 1, (x >> 2) % 3]
    return {
        "out": np.stack([first, second], axis=1),
        "fout": _WEIGHTS[(x & 255) % 3, (x >> 2) & 3],
        "text": np.stack([digits[(x >> 4) & 15], digits[x & 15], letters], axis=1),
    }


def _globals(rng: Generator) -> Values:
    del rng
    return {"by": np.int32(3), "more": np.int32(-10), "out": np.zeros(9, I32)}


def _globals_expected(v: Values) -> dict[str, np.ndarray]:
    table = np.array([1, 2, 3, 4, 0, 0, 0, 0]) + 2 * np.arange(8)
    counter = 100 + 16 * int(v["by"]) + 8 * int(v["more"])
    return {"out": np.array([counter, *table], I32)}


def _generic_pointers(rng: Generator) -> Values:
    return {
        "data": rng.integers(0, 1000, 48).astype(I32),
        "out": np.zeros(48, I32),
        "scratch": LocalBytes(4 * 12),
    }


def _generic_pointers_expected(v: Values) -> dict[str, np.ndarray]:
    data = v["data"].astype(np.int64)
    i = np.arange(48)
    own = i + 2 * i + 3 * i + (i ^ 5) + 2000000
    local = np.repeat(data.reshape(4, 12).sum(1) * 2, 12) + 1000000
    memory = np.repeat(data.reshape(-1, 4).sum(1), 4) + 2000000
    return {"out": np.choose(data % 3, [own, local, memory]).astype(I32)}


_TEXT = "Vektorrechner kosten 1€, mäßig süß: 日本語 und \U0001f600! ".encode()


def _text(rng: Generator) -> Values:
    data = np.frombuffer(_TEXT + b"\xc3\x28\xe2\x82", np.uint8).copy()
    length = len(data)
    del rng
    return {
        "in": data,
        "out": np.zeros((length + 2) // 3 * 4, np.int8),
        "length": np.int32(length),
        "points": np.zeros(length, I32),
    }


def _utf8(data: bytes, i: int) -> int:
    first = data[i]
    if 0x80 <= first < 0xC0:
        return -1
    size = 1 + (first >= 0xC0) + (first >= 0xE0) + (first >= 0xF0)
    try:
        return ord(data[i : i + size].decode())
    except (UnicodeDecodeError, TypeError):
        return -2


def _text_expected(v: Values) -> dict[str, np.ndarray]:
    data = v["in"].tobytes()
    encoded = np.frombuffer(base64.b64encode(data), np.int8)
    points = [_utf8(data, i) for i in range(len(data))]
    return {"out": encoded, "points": np.array(points, I32)}


_TEXT_LENGTH = len(_TEXT) + 4

CASES: tuple[Case, ...] = (
    Case(
        "private_array",
        "private_array.cl",
        _private_array,
        (
            Launch("insertion_sort", "a sorted n", (40,), (20,)),
            Launch("ring", "commands hashes m", (64,), (32,)),
            Launch("lookup", "index picked", (64,), (32,)),
            Launch("counting", "letters walks n", (32,), (16,)),
        ),
        _private_array_expected,
        features={
            "*": (r"r\[A",),
            "pvc": (r"lsc_store.*ss\(",),
            "skl": (r"scatter\w*\.\S+ .*%scratch",),
            "tgllp": (r"scatter\w*\.\S+ .*%scratch",),
        },
    ),
    Case(
        "struct_args",
        "struct_args.cl",
        _struct_args,
        (Launch("struct_args", "s in out scaled words", (96,), (32,)),),
        _struct_args_expected,
    ),
    Case(
        "vectors",
        "vectors.cl",
        _vectors,
        (
            Launch("three", "chars threes", (70,), (35,)),
            Launch("sixteen", "bytes order sixteens sums", (48,), (48,)),
            Launch("eight", "a b eights flags", (48,), (24,)),
            Launch("unaligned", "odd words", (32,), (32,)),
        ),
        _vectors_expected,
    ),
    Case(
        "constants",
        "constants.cl",
        _constants,
        (Launch("constants", "a out fout text", (64,), (32,)),),
        _constants_expected,
    ),
    Case(
        "globals",
        "globals.cl",
        _globals,
        (
            Launch("bump", "by", (16,), (16,)),
            Launch("bump", "more", (8,), (8,)),
            Launch("read_back", "out", (9,), (9,)),
        ),
        _globals_expected,
        options="-cl-std=CL2.0",
        keeps_state=True,
        pocl=False,
        pocl_why="PoCL 3.1 has no program-scope variables in global memory",
    ),
    Case(
        "generic_pointers",
        "generic_pointers.cl",
        _generic_pointers,
        (Launch("generic_pointers", "data out scratch", (48,), (12,)),),
        _generic_pointers_expected,
        options="-cl-std=CL2.0",
        pocl=False,
        pocl_why="PoCL 3.1 has no generic address space",
    ),
    Case(
        "text",
        "text.cl",
        _text,
        (
            Launch("base64", "in out length", (32,), (16,)),
            Launch("utf8", "in points length", (_TEXT_LENGTH,), (1,)),
        ),
        _text_expected,
    ),
)
