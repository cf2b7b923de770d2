"""Kernels drawn at random: shapes of loops, strides, types, guards, local memory.

Nobody has written these, so that nobody can have tuned visim for them. `drawn(seed)` returns a set;
the same seed always gives the same one. A kernel is put together of parts, each of which says what
it is in OpenCL C and what it does with NumPy for all work-items at once. All conditions are on
what is loaded or on indices, never on sums of floats, whose last bits may differ.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.case import Benchmark, Launch, Values

SEED = 2026
"""The seed of the set that is measured if no other is given."""
COUNT = 24
_GROUP = 128


@dataclass(frozen=True)
class Kind:
    """A type of elements: its name in OpenCL C, in NumPy, and the type of sums."""

    name: str
    numpy: type[np.generic]
    sum_name: str
    sum_numpy: type[np.generic]

    @property
    def is_float(self) -> bool:
        """Whether sums are rounded."""
        return self.sum_name == "float"


KINDS = (
    Kind("float", np.float32, "float", np.float64),
    Kind("float", np.float32, "float", np.float64),
    Kind("uint", np.uint32, "uint", np.uint32),
    Kind("int", np.int32, "uint", np.uint32),
    Kind("uchar", np.uint8, "uint", np.uint32),
    Kind("short", np.int16, "uint", np.uint32),
    Kind("ulong", np.uint64, "ulong", np.uint64),
)
"""Integers are added without signs, so that sums wrap."""


@dataclass
class State:
    """What is known while a kernel is computed with NumPy; arrays have an element per item."""

    values: Values
    i: np.ndarray
    k: int = 0
    j: int = 0


@dataclass(frozen=True)
class Part:
    """Something that has a text in OpenCL C and a value."""

    text: str
    value: Callable[[State], np.ndarray]


Choose = random.Random


def _address(choose: Choose) -> Part:
    """Return an index: neighbours, strides, columns, what all items share, or a gather."""
    stride, far = choose.choice((2, 3, 4, 5, 8, 17)), choose.choice((33, 64, 100, 256, 1000))
    return choose.choice(
        (
            Part("i + k + j", lambda s: s.i + s.k + s.j),
            Part(f"i + k * {far} + j", lambda s: s.i + s.k * far + s.j),
            Part(f"i * {stride} + k + j", lambda s: s.i * stride + s.k + s.j),
            Part(f"i * {far} + k * 4 + j", lambda s: s.i * far + s.k * 4 + s.j),
            Part(f"k * {stride} + j", lambda s: np.full_like(s.i, s.k * stride + s.j)),
            Part("i - k * 3 - j", lambda s: s.i - s.k * 3 - s.j),
            Part(
                "index[(i + k) & mask] + j",
                lambda s: s.values["index"][(s.i + s.k) & s.values["mask"]] + s.j,
            ),
            Part("(i ^ (k + 1)) + j", lambda s: (s.i ^ (s.k + 1)) + s.j),
        )
    )


def _load(choose: Choose, kind: Kind, array: str) -> Part:
    address = _address(choose)
    return Part(
        f"({kind.sum_name}){array}[({address.text}) & mask]",
        lambda s: s.values[array][address.value(s) & s.values["mask"]].astype(kind.sum_numpy),
    )


def _condition(choose: Choose) -> Part:
    """Return a guard, or one that is always open."""
    least = choose.choice((20, 100, 128))
    return choose.choice(
        (
            Part("1", lambda s: np.full(s.i.shape, True)),
            Part("1", lambda s: np.full(s.i.shape, True)),
            Part("(k & 1) == 0", lambda s: np.full(s.i.shape, s.k % 2 == 0)),
            Part("((i ^ k) & 3) != 0", lambda s: ((s.i ^ s.k) & 3) != 0),
            Part("i + k < mask - 40", lambda s: s.i + s.k < s.values["mask"] - 40),
            Part(
                f"flags[(i + k) & mask] > {least}",
                lambda s: s.values["flags"][(s.i + s.k) & s.values["mask"]] > least,
            ),
        )
    )


Step = tuple[str, Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]]
"""How two loaded values change a sum: in OpenCL C, and a function of the sum and the values."""

_FLOAT_STEPS: tuple[Step, ...] = (
    ("sum += x * y", lambda s, x, y: s + x * y),
    ("sum = fmax(sum, x - y)", lambda s, x, y: np.maximum(s, x - y)),
    ("sum = 0.5f * sum + x + y", lambda s, x, y: 0.5 * s + x + y),
    ("sum += sqrt(x * x + y)", lambda s, x, y: s + np.sqrt(x * x + y)),
    ("sum += x / (1 + y)", lambda s, x, y: s + x / (1 + y)),
    ("sum += exp(-x) * y", lambda s, x, y: s + np.exp(-x) * y),
)
_INTEGER_STEPS: tuple[Step, ...] = (
    ("sum += x * y", lambda s, x, y: s + x * y),
    ("sum = (sum ^ x) * 31 + y", lambda s, x, y: (s ^ x) * s.dtype.type(31) + y),
    ("sum += x > y ? x - y : y - x", lambda s, x, y: s + np.where(x > y, x - y, y - x)),
    ("sum = max(sum, x ^ y)", lambda s, x, y: np.maximum(s, x ^ y)),
    ("sum += x / (y % 97 + 1)", lambda s, x, y: s + x // (y % s.dtype.type(97) + s.dtype.type(1))),
    (
        "sum = rotate(sum, 5) + (x & y)",
        lambda s, x, y: _rotated(s) + (x & y),
    ),
)


def _rotated(x: np.ndarray) -> np.ndarray:
    bits = 8 * x.dtype.itemsize
    return (x << x.dtype.type(5)) | (x >> x.dtype.type(bits - 5))


@dataclass(frozen=True)
class Shape:
    """What a kernel is made of."""

    kind: Kind
    turns: int
    inner: int
    own_turns: bool
    x: Part
    y: Part
    guard: Part
    step: Step
    meeting: str
    stored: str

    def source(self) -> str:
        """Return the kernel's text."""
        kind = self.kind
        step = self.step[0].replace("rotate(sum, 5)", f"rotate(sum, ({kind.sum_name})5)")
        turns = "lengths[i]" if self.own_turns else str(self.turns)
        local_array = f"\n    local {kind.sum_name} tile[{_GROUP}];" if self.meeting else ""
        meeting = f"\n{_MEETINGS[self.meeting]}" if self.meeting else ""
        return f"""kernel __attribute__((reqd_work_group_size({_GROUP}, 1, 1)))
void drawn(global const {kind.name} *a, global const {kind.name} *b, global const int *index,
           global const uchar *flags, global const int *lengths, global {kind.sum_name} *out,
           int mask) {{{local_array}
    int i = get_global_id(0), l = get_local_id(0);
    {kind.sum_name} sum = 0;
    for (int k = 0; k < {turns}; ++k)
        for (int j = 0; j < {self.inner}; ++j) {{
            if (!({self.guard.text})) continue;
            {kind.sum_name} x = {self.x.text}, y = {self.y.text};
            {step};
        }}{meeting}
    out[{_STORES[self.stored][0]}] = sum;
}}
"""

    def expected(self, values: Values) -> Values:
        """Return what NumPy says."""
        i = np.arange(len(values["out"]))
        total, state = np.zeros(len(i), self.kind.sum_numpy), State(values, i)
        for k in range(int(values["lengths"].max()) if self.own_turns else self.turns):
            for j in range(self.inner):
                state.k, state.j = k, j
                takes = self.guard.value(state)
                if self.own_turns:
                    takes = takes & (k < values["lengths"])
                after = self.step[1](total, self.x.value(state), self.y.value(state))
                total = np.where(takes, after, total)
        out = np.zeros_like(total)
        out[_STORES[self.stored][1](i)] = _met(self.meeting, total)
        return {"out": out}


_MEETINGS = {
    "tree": f"""    tile[l] = sum;
    for (int d = {_GROUP // 2}; d > 0; d /= 2) {{
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < d) tile[l] += tile[l + d];
    }}
    barrier(CLK_LOCAL_MEM_FENCE);
    sum += tile[0];""",
    "turned": f"""    tile[l] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    sum = sum * 3 + tile[{_GROUP - 1} - l];""",
    "shifted": f"""    for (int d = 1; d <= 8; d *= 2) {{
        tile[l] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        sum += tile[(l + d) & {_GROUP - 1}];
        barrier(CLK_LOCAL_MEM_FENCE);
    }}""",
}
"""How the items of a group meet in local memory."""

_STORES: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "straight": ("i", lambda i: i),
    "backwards": ("mask - i", lambda i: len(i) - 1 - i),
    "apart": ("(i * 5) & mask", lambda i: i * 5 % len(i)),
}


def _met(meeting: str, total: np.ndarray) -> np.ndarray:
    rows = total.reshape(-1, _GROUP)
    if meeting == "tree":
        rows = rows + rows.sum(axis=1, keepdims=True, dtype=rows.dtype)
    elif meeting == "turned":
        rows = rows * rows.dtype.type(3) + rows[:, ::-1]
    elif meeting == "shifted":
        for d in (1, 2, 4, 8):
            rows = rows + np.roll(rows, -d, axis=1)
    return rows.reshape(-1)


def _shape(choose: Choose) -> Shape:
    kind = choose.choice(KINDS)
    return Shape(
        kind,
        choose.choice((1, 2, 4, 7, 16, 32)),
        choose.choice((1, 1, 1, 2, 3)),
        choose.random() < 0.25,
        _load(choose, kind, "a"),
        _load(choose, kind, "b"),
        _condition(choose),
        choose.choice(_FLOAT_STEPS if kind.is_float else _INTEGER_STEPS),
        choose.choice(("", "", "tree", "turned", "shifted")),
        choose.choice(("straight", "straight", "straight", "backwards", "apart")),
    )


def _make(kind: Kind, rng: np.random.Generator, scale: float) -> Values:
    n = 1 << max(10, round(np.log2(scale * (1 << 17))))
    return {
        "a": _elements(kind, rng, n),
        "b": _elements(kind, rng, n),
        "index": rng.integers(0, n, n).astype(np.int32),
        "flags": rng.integers(0, 256, n).astype(np.uint8),
        "lengths": rng.integers(0, 24, n).astype(np.int32),
        "out": np.zeros(n, np.float32 if kind.is_float else kind.sum_numpy),
        "mask": np.int32(n - 1),
    }


def _elements(kind: Kind, rng: np.random.Generator, n: int) -> np.ndarray:
    if kind.is_float:
        return rng.random(n, np.float32)
    return np.frombuffer(rng.bytes(n * np.dtype(kind.numpy).itemsize), kind.numpy).copy()


def _launches(values: Values) -> list[Launch]:
    args = ("a", "b", "index", "flags", "lengths", "out", "mask")
    return [Launch("drawn", args, (len(values["out"]),), (_GROUP,))]


def drawn(seed: int = SEED, count: int = COUNT) -> tuple[Benchmark, ...]:
    """Return a set of kernels.

    Args:
        seed: the set's number.
        count: how many; the first ones of a longer set are those of a shorter one.
    """
    choose = random.Random(seed)
    return tuple(_benchmark(f"drawn_{seed}_{k}", _shape(choose)) for k in range(count))


def _benchmark(name: str, shape: Shape) -> Benchmark:
    def make(rng: np.random.Generator, scale: float) -> Values:
        return _make(shape.kind, rng, scale)

    tolerance = 1e-5 if shape.kind.is_float else 0.0
    return Benchmark(
        name, shape.source(), make, _launches, ("out",), shape.expected, tolerance=tolerance
    )


__all__ = ["COUNT", "SEED", "drawn"]
