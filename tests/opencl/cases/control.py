"""Control flow: divergent loops, switch, functions that are called, recursion."""

from __future__ import annotations

from functools import cache
from itertools import permutations

import numpy as np
from numpy.random import Generator

from tests.opencl.case import Case, Launch, Values

I32, F32 = np.int32, np.float32


def _nested_loops(rng: Generator) -> Values:
    return {
        "a": rng.integers(0, 256, 64, dtype=I32),
        "out": np.zeros(64, I32),
        "trips": np.zeros(64, I32),
    }


def _nested_item(i: int, a: int) -> tuple[int, int]:
    outer, inner = a & 15, (a >> 4) & 15
    total = count = 0
    for j in range(outer):
        if (j ^ i) % 5 == 3:
            continue
        for k in range(j, inner + j):
            count += 1
            if ((total + k) & 7) == 5:
                continue
            total += k * j + i
            if total > 300:
                break
        m = total
        while True:
            m -= 7
            count += 1
            if m == 1:
                return total, count
            if m <= 0:
                break
        if total > 500 and i & 1:
            break
    return -total, count


def _nested_loops_expected(v: Values) -> dict[str, np.ndarray]:
    rows = np.array([_nested_item(i, a) for i, a in enumerate(v["a"].tolist())], I32)
    return {"out": rows[:, 0], "trips": rows[:, 1]}


PUSH, ADD, SUB, MUL, DUP, SWAP, JUMP_IF, DEC, HALT = range(9)
_FACTORIAL = [PUSH, 1, SWAP, DUP, JUMP_IF, 8, HALT, 99, DUP, PUSH, 3, SUB, JUMP_IF, 6, MUL, HALT]
_COUNTDOWN = [PUSH, 9, ADD, DUP, DEC, 20, HALT]
_SQUARE = [DUP, MUL, PUSH, 7, SWAP, SUB, HALT]
_LOOP = [PUSH, 5, DEC, 32, DUP, SWAP, ADD, HALT]


def _bytecode(rng: Generator) -> Values:
    code = [*_FACTORIAL, *_COUNTDOWN, *_SQUARE, *_LOOP, 77, PUSH]
    starts = [0, 16, 23, 30, 38, 3]
    return {
        "code": np.array(code, np.uint8),
        "entry": rng.choice(starts, 96).astype(I32),
        "out": np.zeros(96, I32),
        "limit": np.int32(40),
    }


def _run_bytecode(code: list[int], i: int, pc: int, limit: int) -> int:
    stack = [i] + [0] * 7
    top = steps = 0
    while steps < limit:
        steps += 1
        op = code[pc]
        pc += 1
        if op == PUSH:
            top += 1
            stack[top] = code[pc]
            pc += 1
        elif op == ADD:
            stack[top - 1] += stack[top]
            top -= 1
        elif op == SUB:
            stack[top] = -stack[top]
            stack[top - 1] += stack[top]
            top -= 1
        elif op == MUL:
            stack[top - 1] *= stack[top]
            top -= 1
        elif op == DUP:
            stack[top + 1] = stack[top]
            top += 1
        elif op == SWAP:
            stack[top], stack[top - 1] = stack[top - 1], stack[top]
        elif op in (DEC, JUMP_IF):
            stack[top] -= op == DEC
            pc = code[pc] if stack[top] > 0 else pc + 1
        else:
            return stack[top] + 1000000 * steps if op == HALT else -op
        if not 0 <= top < 7 or (top == 0 and code[pc] in (ADD, SUB, MUL, SWAP)):
            raise ValueError(f"the program of item {i} leaves its stack")
    return -1000


def _bytecode_expected(v: Values) -> dict[str, np.ndarray]:
    code, limit = v["code"].tolist(), int(v["limit"])
    out = [_run_bytecode(code, i, pc, limit) for i, pc in enumerate(v["entry"].tolist())]
    return {"out": np.array(out, I32)}


def _n_queens(rng: Generator) -> Values:
    del rng
    return {"solutions": np.full(49, 9, np.uint32), "n": np.int32(7)}


def _n_queens_expected(v: Values) -> dict[str, np.ndarray]:
    n = int(v["n"])
    out = np.zeros(n * n, np.uint32)
    for rows in permutations(range(n)):
        if (
            len({r + i for i, r in enumerate(rows)})
            == n
            == len({r - i for i, r in enumerate(rows)})
        ):
            out[rows[0] * n + rows[1]] += 1
    return {"solutions": out}


def _mandelbrot(rng: Generator) -> Values:
    del rng
    return {
        "counts": np.full((14, 26), 9999, np.uint16),
        "width": np.int32(26),
        "height": np.int32(14),
        "limit": np.int32(40),
        "x0": np.float32(-2.2),
        "y0": np.float32(-1.15),
        "step": np.float32(0.125),
    }


def _mandelbrot_expected(v: Values) -> dict[str, np.ndarray]:
    py, px = np.mgrid[0 : int(v["height"]), 0 : int(v["width"])].astype(F32)
    cx, cy = v["x0"] + v["step"] * px, v["y0"] + v["step"] * py
    x, y = np.zeros_like(cx), np.zeros_like(cy)
    counts = np.zeros(cx.shape, np.uint16)
    live = np.ones(cx.shape, bool)
    for _ in range(int(v["limit"])):
        xx, yy = x * x, y * y
        live &= ~(xx + yy > 4)
        x, y = np.where(live, xx - yy + cx, x), np.where(live, F32(2) * x * y + cy, y)
        counts += live
    return {"counts": counts}


def _noinline(rng: Generator) -> Values:
    return {
        "seed": rng.integers(1, 2**31, 80).astype(I32),
        "out": np.zeros((80, 4), F32),
        "tags": np.zeros(80, I32),
        "pairs": rng.integers(-100, 100, 160).astype(I32),
    }


def _xorshift(x: int, rounds: int) -> int:
    for _ in range(rounds):
        x ^= x << 13 & 0xFFFFFFFF
        x ^= x >> 17
        x ^= x << 5 & 0xFFFFFFFF
    return x


def _noinline_expected(v: Values) -> dict[str, np.ndarray]:
    out, tags = [], []
    for i, seed in enumerate(v["seed"].tolist()):
        x, y, tag = float(i), 2.0 * i, seed
        for dx, dy in ((0.5, 1.5 if seed & 1 else -2.0), (float(seed & 3), -1.0)):
            x, y, tag = x + dx, y - dy, _xorshift(tag, 2)
        for k in range(seed & 3):
            if tag & 7 != 5:
                tag = _xorshift(tag, k + 1)
        turned = np.array([x, y, 3.0, -4.0], F32)
        quarter = seed >> 2
        if quarter & 1:
            turned = turned[[1, 2, 3, 0]]
        if quarter & 2:
            turned = -turned[[2, 3, 0, 1]]
        out.append(turned)
        tags.append(tag)
    return {
        "out": np.array(out),
        "tags": np.array(tags, np.uint32).view(I32),
        "pairs": np.sort(v["pairs"].reshape(-1, 2), axis=1).ravel(),
    }


def _recursion(rng: Generator) -> Values:
    a = rng.permutation(np.arange(40, dtype=I32)) + I32(40) * rng.integers(0, 9, 40, dtype=I32)
    return {"a": a, "out": np.zeros((2, 40), I32)}


@cache
def _fib(n: int) -> int:
    return n if n < 2 else _fib(n - 1) + _fib(n - 2)


@cache
def _ackermann(m: int, n: int) -> int:
    if m == 0:
        return n + 1
    return _ackermann(m - 1, 1 if n == 0 else _ackermann(m, n - 1))


@cache
def _male(n: int) -> int:
    return 0 if n == 0 else n - _female(_male(n - 1))


@cache
def _female(n: int) -> int:
    return 1 if n == 0 else n - _male(_female(n - 1))


def _recursion_expected(v: Values) -> dict[str, np.ndarray]:
    values = v["a"].tolist()
    second = [
        _ackermann(2, a & 3) if a & 1 else _male(a & 15) * 100 + _female(a & 15) for a in values
    ]
    return {"out": np.array([[_fib(a & 7) for a in values], second], I32)}


def _recursion_data(rng: Generator) -> Values:
    matrices = rng.integers(-3, 9, (20, 4, 4)).astype(I32)
    matrices[rng.random(matrices.shape) < 0.25] = 0
    return {
        "rows": rng.integers(-999, 999, (24, 14)).astype(np.int16),
        "lengths": rng.integers(0, 15, 24).astype(I32),
        "stride": np.int32(14),
        "matrices": matrices,
        "out": np.zeros(20, np.int64),
        "n": np.int32(4),
    }


def _recursion_data_expected(v: Values) -> dict[str, np.ndarray]:
    rows = v["rows"]
    for row, length in zip(rows, v["lengths"].tolist(), strict=True):
        row[:length].sort()
    permanents = [
        sum(int(np.prod(m[range(4), list(order)])) for order in permutations(range(4)))
        for m in v["matrices"].astype(np.int64)
    ]
    return {"rows": rows, "out": np.array(permanents, np.int64)}


def _recursion_ids(rng: Generator) -> Values:
    return {
        "links": rng.integers(0, 48, 48, dtype=np.uint32),
        "starts": rng.integers(0, 48, 48, dtype=np.uint32),
        "out": np.zeros(48, np.uint32),
    }


def _walk(links: list[int], at: int, depth: int, i: int) -> int:
    if depth == 0:
        return at * 1000 + i % 24
    if at == i:
        return 500000 + i // 24 * 1000 + depth
    following = _walk(links, links[at], depth - 1, i)
    return following + 24 if at & 1 else following ^ 48


def _recursion_ids_expected(v: Values) -> dict[str, np.ndarray]:
    links = v["links"].tolist()
    out = [_walk(links, at, (at & 7) + 2, i) for i, at in enumerate(v["starts"].tolist())]
    return {"out": np.array(out, np.uint32)}


_NO_RECURSION = "PoCL inlines every call: recursion ends its compiler"

CASES: tuple[Case, ...] = (
    Case(
        "nested_loops",
        "nested_loops.cl",
        _nested_loops,
        (Launch("nested_loops", "a out trips", (64,), (32,)),),
        _nested_loops_expected,
        features={"*": (r"\(P\d+\) goto|\(!P\d+\) goto",)},
    ),
    Case(
        "bytecode",
        "bytecode.cl",
        _bytecode,
        (Launch("bytecode", "code entry out limit", (96,), (48,)),),
        _bytecode_expected,
    ),
    Case(
        "n_queens",
        "n_queens.cl",
        _n_queens,
        (Launch("n_queens", "solutions n", (49,), (49,)),),
        _n_queens_expected,
    ),
    Case(
        "mandelbrot",
        "mandelbrot.cl",
        _mandelbrot,
        (Launch("mandelbrot", "counts width height limit x0 y0 step", (32, 16), (16, 4)),),
        _mandelbrot_expected,
    ),
    Case(
        "noinline",
        "noinline.cl",
        _noinline,
        (Launch("noinline", "seed out tags pairs", (80,), (40,)),),
        _noinline_expected,
        features={"*": (r"\bcall ",)},
    ),
    Case(
        "recursion",
        "recursion.cl",
        _recursion,
        (Launch("recursive", "a out", (40,), (20,)),),
        _recursion_expected,
        pocl=False,
        pocl_why=_NO_RECURSION,
        features={"*": (r"\bfcall ", r"\bfret ")},
    ),
    Case(
        "recursion_data",
        "recursion_data.cl",
        _recursion_data,
        (
            Launch("sort_rows", "rows lengths stride", (24,), (24,)),
            Launch("permanents", "matrices out n", (20,), (10,)),
        ),
        _recursion_data_expected,
        pocl=False,
        pocl_why=_NO_RECURSION,
        features={"*": (r"\bfcall ", r"\bfret ")},
    ),
    Case(
        "recursion_ids",
        "recursion_ids.cl",
        _recursion_ids,
        (Launch("walks", "links starts out", (48,), (24,)),),
        _recursion_ids_expected,
        devices=("pvc", "dg2"),
        devices_why="ocloc aborts where a stack function calls a work-item function",
        pocl=False,
        pocl_why=_NO_RECURSION,
        features={
            "*": (r"\bfcall ",),
            "pvc": (r"arg\[",),
            "dg2": (r"oword_ld_unaligned .*%scratch",),
        },
    ),
)
