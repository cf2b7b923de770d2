"""Texts, hashes, checksums. Data only."""

from __future__ import annotations

import base64
import zlib
from functools import partial

import numpy as np

from benchmarks.case import Launch, Values, count, line
from benchmarks.public.program import program

_program = partial(program, "strings")
_QUARTERS = (
    *((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)),
    *((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)),
)


def _rotate(x: np.ndarray, by: int) -> np.ndarray:
    return (x << np.uint32(by)) | (x >> np.uint32(32 - by))


def _bytes(rng: np.random.Generator, *shape: int, most: int = 256) -> np.ndarray:
    return rng.integers(0, most, shape).astype(np.uint8)


def _fnv(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 15, scale)
    starts = np.zeros(n + 1, np.int32)
    np.cumsum(rng.integers(0, 64, n), out=starts[1:])
    text = _bytes(rng, int(starts[-1]))
    return {"text": text, "starts": starts, "hashes": np.zeros(n, np.uint32)}


def _fnv_expected(values: Values) -> Values:
    starts, text = values["starts"], values["text"]
    lengths = np.diff(starts)
    h = np.full(len(lengths), 2166136261, np.uint32)
    for k in range(int(lengths.max())):
        goes_on = lengths > k
        byte = text[starts[:-1][goes_on] + k].astype(np.uint32)
        h[goes_on] = (h[goes_on] ^ byte) * np.uint32(16777619)
    return {"hashes": h}


def _checksums(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 15, scale)
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> np.uint32(1)) ^ (table & np.uint32(1)) * np.uint32(0xEDB88320)
    return {"data": _bytes(rng, n, 64), "table": table, "sums": np.zeros(n, np.uint32)}


def _checksums_expected(values: Values) -> Values:
    return {"sums": np.array([zlib.crc32(record.tobytes()) for record in values["data"]])}


def _murmur(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 16, scale)
    words = rng.integers(0, 1 << 32, (n, 16), np.uint32)
    return {"words": words, "hashes": np.zeros(n, np.uint32), "seed": np.uint32(42)}


def _murmur_expected(values: Values) -> Values:
    h = np.full(len(values["words"]), values["seed"])
    for column in values["words"].T:
        h ^= _rotate(column * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
        h = _rotate(h, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    h ^= np.uint32(64)
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return {"hashes": h ^ (h >> np.uint32(16))}


def _occurrences(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 20, scale)
    text = ord("a") + _bytes(rng, n + 8, most=2)
    return {"text": text, "pattern": text[100:108].copy(), "found": np.zeros(n, np.uint8)}


def _occurrences_expected(values: Values) -> Values:
    windows = np.lib.stride_tricks.sliding_window_view(values["text"], 8)
    return {"found": (windows == values["pattern"]).all(axis=1)[: len(values["found"])]}


def _edit_distances(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 14, scale)
    words, other = (97 + _bytes(rng, *shape, most=4) for shape in ((n, 16), (16,)))
    return {"words": words, "other": other, "distances": np.zeros(n, np.int32)}


def _edit_distances_expected(values: Values) -> Values:
    words, other = values["words"], values["other"]
    row = np.tile(np.arange(17), (len(words), 1))
    for y in range(16):
        following = row + 1
        for x in range(16):
            changed = row[:, x] + (words[:, y] != other[x])
            near = np.minimum(row[:, x + 1], following[:, x]) + 1
            following[:, x + 1] = np.minimum(near, changed)
        row = following
    return {"distances": row[:, 16]}


def _base64(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 19, scale)
    return {"in": _bytes(rng, n, 3), "out": np.zeros((n, 4), np.uint8)}


def _base64_expected(values: Values) -> Values:
    text = base64.b64encode(values["in"].tobytes())
    return {"out": np.frombuffer(text, np.uint8).reshape(-1, 4)}


def _key_counts(rng: np.random.Generator, scale: float) -> Values:
    n, slots = count(1 << 17, scale), 1 << 15
    return {
        "keys": rng.integers(1, 16384, n).astype(np.uint32),
        "taken": np.zeros(slots, np.uint32),
        "counts": np.zeros(slots, np.uint32),
        "out": np.zeros(n, np.uint32),
        "mask": np.uint32(slots - 1),
    }


def _key_counts_launches(values: Values) -> list[Launch]:
    return [
        one
        for launches in (
            line("clear", "taken counts", "taken"),
            line("count_keys", "keys taken counts mask", "keys"),
            line("look_up", "keys taken counts out mask", "keys"),
        )
        for one in launches(values)
    ]


def _key_counts_expected(values: Values) -> Values:
    return {"out": np.bincount(values["keys"])[values["keys"]]}


def _chacha(rng: np.random.Generator, scale: float) -> Values:
    blocks = count(1 << 15, scale)
    state = rng.integers(0, 1 << 32, 16, np.uint32)
    return {"state": state, "out": np.zeros((blocks, 16), np.uint32)}


def _chacha_expected(values: Values) -> Values:
    first = np.tile(values["state"][:, None], (1, len(values["out"])))
    first[12] += np.arange(len(values["out"]), dtype=np.uint32)
    x = first.copy()
    for _ in range(10):
        for a, b, c, d in _QUARTERS:
            for add, turn, other, by in ((a, d, b, 16), (c, b, d, 12), (a, d, b, 8), (c, b, d, 7)):
                x[add] += x[other]
                x[turn] = _rotate(x[turn] ^ x[add], by)
    return {"out": (x + first).T}


KERNELS = (
    _program("fnv", _fnv, line("fnv", "text starts hashes", "hashes"), "hashes", _fnv_expected),
    _program(
        "checksums",
        _checksums,
        line("checksums", "data table sums", "sums"),
        "sums",
        _checksums_expected,
    ),
    _program(
        "murmur",
        _murmur,
        line("murmur", "words hashes seed", "hashes"),
        "hashes",
        _murmur_expected,
    ),
    _program(
        "occurrences",
        _occurrences,
        line("occurrences", "text pattern found", "found"),
        "found",
        _occurrences_expected,
    ),
    _program(
        "edit_distances",
        _edit_distances,
        line("edit_distances", "words other distances", "distances"),
        "distances",
        _edit_distances_expected,
    ),
    _program("base64", _base64, line("base64", "in out", "in"), "out", _base64_expected),
    _program("key_counts", _key_counts, _key_counts_launches, "out", _key_counts_expected),
    _program("chacha", _chacha, line("chacha", "state out", "out", 64), "out", _chacha_expected),
)
