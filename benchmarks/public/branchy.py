"""Integer code with branches, each work-item on its own way. Data only."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.case import Values, count, line
from benchmarks.public.program import program

_program = partial(program, "branchy")
_CODE = (
    *(5, 12),  # push 12, the number of turns
    *(9, 4),  # swap, mix
    *(6, 3, 5, 5, 3),  # if it is even: push 5, multiply
    *(1, 2, 5, 7, 2),  # double, push 7, add
    *(9, 7, 8, 15),  # swap, one turn less, back to the first swap
    *(9, 0),
)
"""The program of the stack machine."""
_BOARD = 9
_NUMBERS = 16
"""Numbers of a record of varints."""


def _words(rng: np.random.Generator, n: int, least: int = 0, end: int = 1 << 32) -> np.ndarray:
    return rng.integers(least, end, n).astype(np.uint32)


def _collatz(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 16, scale)
    return {"starts": _words(rng, n, 1, 1 << 20), "steps": np.zeros(n, np.uint32)}


def _collatz_expected(values: Values) -> Values:
    n: NDArray[np.uint64] = values["starts"].astype(np.uint64)
    steps, one = np.zeros(len(n), np.int64), np.uint64(1)
    while np.any(goes_on := n != one):
        n = np.where(goes_on, np.where(n & one, np.uint64(3) * n + one, n >> one), n)
        steps += goes_on
    return {"steps": steps}


def _common_divisors(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 17, scale)
    return {"a": _words(rng, n), "b": _words(rng, n), "out": np.zeros(n, np.uint32)}


def _common_divisors_expected(values: Values) -> Values:
    return {"out": np.gcd(values["a"], values["b"])}


def _primes(rng: np.random.Generator, scale: float) -> Values:
    del rng
    return {"out": np.zeros(count(1 << 14, scale, 256), np.uint8), "first": np.uint32(1000000)}


def _primes_expected(values: Values) -> Values:
    numbers = int(values["first"]) + 1 + 2 * np.arange(len(values["out"]))
    is_prime = np.ones(len(numbers), np.bool_)
    for d in range(3, int(numbers[-1] ** 0.5) + 1, 2):
        is_prime &= numbers % d != 0
    return {"out": is_prime}


def _one_array(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 18, scale, 256)
    return {"in": _words(rng, n), "out": np.zeros(n, np.uint32)}


def _roots_expected(values: Values) -> Values:
    numbers = values["in"].astype(np.uint64)
    found = np.sqrt(numbers.astype(np.float64)).astype(np.uint64)
    return {"out": found - (found * found > numbers)}


def _stack_machine(rng: np.random.Generator, scale: float) -> Values:
    return {**_one_array(rng, scale / 8), "code": np.array(_CODE, np.uint8)}


def _stack_machine_expected(values: Values) -> Values:
    x: NDArray[np.uint32] = values["in"].copy()
    for _ in range(12):
        x ^= x >> np.uint32(3)
        x = np.where(x & np.uint32(1), x, x * np.uint32(5))
        x = x * np.uint32(2) + np.uint32(7)
    return {"out": x}


def _queens(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 12, scale, 64)
    one, other = (rng.integers(0, _BOARD, n) for _ in range(2))
    other = np.where(abs(one - other) < 2, (one + 2) % _BOARD, other)
    other = np.where(abs(one - other) < 2, one - 2, other)
    a, b = np.uint32(1) << one.astype(np.uint32), np.uint32(1) << other.astype(np.uint32)
    return {
        "first": a | b,
        "left": (a << np.uint32(2)) | (b << np.uint32(1)),
        "right": (a >> np.uint32(2)) | (b >> np.uint32(1)),
        "ways": np.zeros(n, np.uint32),
        "size": np.int32(_BOARD),
    }


def _ways(columns: int, left: int, right: int) -> int:
    if columns == (1 << _BOARD) - 1:
        return 1
    found, free = 0, ~(columns | left | right) & ((1 << _BOARD) - 1)
    while free:
        bit = free & -free
        free ^= bit
        found += _ways(columns | bit, (left | bit) << 1, (right | bit) >> 1)
    return found


def _queens_expected(values: Values) -> Values:
    starts = list(zip(*(values[name].tolist() for name in ("first", "left", "right")), strict=True))
    known = {start: _ways(*start) for start in set(starts)}
    return {"ways": np.array([known[start] for start in starts])}


def _dates(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 18, scale)
    days = rng.integers(-500000, 1000000, n).astype(np.int32)
    return {"days": days, "out": np.zeros(n, np.int32)}


def _dates_expected(values: Values) -> Values:
    days = values["days"].astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    years = months.astype("datetime64[Y]")
    parts = (
        years.astype(np.int64) + 1970,
        (months - years).astype(np.int64) + 1,
        (days - months).astype(np.int64) + 1,
    )
    return {"out": parts[0] * 10000 + parts[1] * 100 + parts[2]}


def _varints(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 14, scale)
    numbers = _words(rng, n * _NUMBERS) >> rng.integers(0, 32, n * _NUMBERS).astype(np.uint32)
    ends = [(numbers >> np.uint32(7 * k)) == 0 for k in range(1, 5)]
    lengths = 5 - np.sum(ends, axis=0)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    data = np.zeros(int(starts[-1]), np.uint8)
    for k in range(5):
        has = lengths > k
        low = ((numbers[has] >> np.uint32(7 * k)) & np.uint32(127)).astype(np.uint8)
        data[starts[:-1][has] + k] = low | np.where(lengths[has] > k + 1, 128, 0).astype(np.uint8)
    return {
        "bytes": data,
        "starts": starts[::_NUMBERS].astype(np.int32),
        "sums": np.zeros(n, np.uint32),
        "numbers": numbers,
    }


def _varints_expected(values: Values) -> Values:
    found = np.zeros(len(values["sums"]), np.uint32)
    for column in values["numbers"].reshape(-1, _NUMBERS).T:
        found = found * np.uint32(31) + column
    return {"sums": found}


def _morton(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 19, scale)
    points = rng.integers(0, 1 << 16, (n, 2)).astype(np.uint16)
    return {"in": points, "codes": np.zeros(n, np.uint32), "bits": np.zeros(n, np.uint8)}


def _morton_expected(values: Values) -> Values:
    x, y = values["in"].astype(np.int64).T
    code = sum((x >> k & 1) << 2 * k | (y >> k & 1) << 2 * k + 1 for k in range(16))
    ones = sum(code >> k & 1 for k in range(32))
    zeros = sum((code >> k == 0) for k in range(32))
    return {"codes": code, "bits": ones + zeros}


def _automaton(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 15, scale)
    return {
        "text": rng.integers(0, 256, (64, n)).astype(np.uint8),
        "table": rng.integers(0, 16, (16, 32)).astype(np.uint8),
        "ends": np.zeros(n, np.int32),
    }


def _automaton_expected(values: Values) -> Values:
    state = np.zeros(len(values["ends"]), np.int64)
    found = np.zeros(len(values["ends"]), np.int64)
    for row in values["text"]:
        state = values["table"][state, row & 31].astype(np.int64)
        found += state == 15
        state[state == 15] = 0
    return {"ends": found}


KERNELS = (
    _program(
        "collatz",
        _collatz,
        line("collatz", "starts steps", "starts"),
        "steps",
        _collatz_expected,
    ),
    _program(
        "common_divisors",
        _common_divisors,
        line("common_divisors", "a b out", "a"),
        "out",
        _common_divisors_expected,
    ),
    _program("primes", _primes, line("primes", "out first", "out", 64), "out", _primes_expected),
    _program("roots", _one_array, line("roots", "in out", "in"), "out", _roots_expected),
    _program(
        "stack_machine",
        _stack_machine,
        line("stack_machine", "code in out", "in"),
        "out",
        _stack_machine_expected,
    ),
    _program(
        "queens",
        _queens,
        line("queens", "first left right ways size", "ways", 64),
        "ways",
        _queens_expected,
    ),
    _program("dates", _dates, line("dates", "days out", "days"), "out", _dates_expected),
    _program(
        "varints",
        _varints,
        line("varints", "bytes starts sums", "sums", 64),
        "sums",
        _varints_expected,
    ),
    _program(
        "morton",
        _morton,
        line("morton", "in codes bits", "codes"),
        "codes bits",
        _morton_expected,
    ),
    _program(
        "automaton",
        _automaton,
        line("automaton", "text table ends", "ends"),
        "ends",
        _automaton_expected,
    ),
)
