"""Kernels on graphs without a shape. Data only."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np

from benchmarks.case import Launch, Values, count, line
from benchmarks.public.program import chain, program, row_numbers

_program = partial(program, "graphs")
_LEVELS = 6
_STEPS = 4
_SWEEPS = 6
_JUMPS = 18
_FAR = np.int32(np.iinfo(np.int32).max)


def _graph(rng: np.random.Generator, vertices: int, degree: int) -> Values:
    """Return an undirected graph (CSR, sorted, no edge twice) with a ring through all vertices."""
    extra = vertices * (degree - 2) // 2
    ring = np.arange(vertices)
    one = np.concatenate([ring, rng.integers(0, vertices, extra)])
    other = np.concatenate([(ring + 1) % vertices, rng.integers(0, vertices, extra)])
    keys = np.concatenate([one * vertices + other, other * vertices + one])
    keys = np.unique(keys[keys // vertices != keys % vertices])
    starts = np.searchsorted(keys, np.arange(vertices + 1) * vertices)
    return {"starts": starts.astype(np.int32), "targets": (keys % vertices).astype(np.int32)}


def _edges(graph: Values) -> tuple[np.ndarray, np.ndarray]:
    """Return starts and ends of all edges but the last ones, a multiple of 256."""
    total = len(graph["targets"]) // 256 * 256
    return row_numbers(graph["starts"])[:total].astype(np.int32), graph["targets"][:total]


def _levels(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 16, scale)
    steps = {f"now{k}": np.int32(k) for k in range(_LEVELS)}
    return {**_graph(rng, n, 8), "level": np.zeros(n, np.int32), **steps}


def _levels_launches(values: Values) -> list[Launch]:
    items, local = values["level"].shape, (256,)
    steps = [("starts", "targets", "level", f"now{k}") for k in range(_LEVELS)]
    first = Launch("start", ("level",), items, local)
    return [first, *(Launch("levels", args, items, local) for args in steps)]


def _levels_expected(values: Values) -> Values:
    rows, targets = row_numbers(values["starts"]), values["targets"]
    level = np.full(len(values["level"]), -1)
    level[0] = 0
    for now in range(_LEVELS):
        reached = targets[level[rows] == now]
        level[reached[level[reached] < 0]] = now + 1
    return {"level": level}


def _page_rank(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 15, scale)
    graph = _graph(rng, n, 8)
    return {
        "starts": graph["starts"],
        "sources": graph["targets"],
        "degrees": np.diff(graph["starts"]).astype(np.int32),
        "a": np.full(n, 1 / n, np.float32),
        "b": np.zeros(n, np.float32),
        "damping": np.float32(0.85),
        "n": np.int32(n),
    }


def _page_rank_expected(values: Values) -> Values:
    n, ranks = int(values["n"]), values["a"].astype(np.float64)
    rows, damping = row_numbers(values["starts"]), float(values["damping"])
    for _ in range(_STEPS):
        shares = (ranks / values["degrees"])[values["sources"]]
        ranks = (1 - damping) / n + damping * np.bincount(rows, shares, n)
    return {"a": ranks}


def _labels(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 15, scale)
    names = rng.permutation(n).astype(np.int32)
    return {**_graph(rng, n, 8), "a": names, "b": np.zeros(n, np.int32)}


def _labels_expected(values: Values) -> Values:
    now = values["a"].copy()
    for _ in range(_STEPS):
        following = now.copy()
        np.minimum.at(following, row_numbers(values["starts"]), now[values["targets"]])
        now = following
    return {"a": now}


def _triangles(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 13, scale)
    graph = _graph(rng, n, 24)
    start, end = _edges(graph)
    return {**graph, "from": start, "to": end, "found": np.zeros(len(start), np.int32)}


def _triangles_expected(values: Values) -> Values:
    starts, targets = values["starts"], values["targets"]
    near: list[set[int]] = [set(targets[a:b].tolist()) for a, b in itertools.pairwise(starts)]
    pairs = zip(values["from"].tolist(), values["to"].tolist(), strict=True)
    return {"found": np.array([len(near[int(u)] & near[int(v)]) for u, v in pairs])}


def _relaxation(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 15, scale)
    start, end = _edges(_graph(rng, n, 8))
    first = np.full(n, _FAR)
    first[0] = 0
    weight = rng.integers(1, 100, len(start)).astype(np.int32)
    arrays = {name: np.zeros(n, np.int32) for name in "ab"}
    return {"from": start, "to": end, "weight": weight, "first": first, **arrays}


def _relaxation_launches(values: Values) -> list[Launch]:
    arrays = ["a", "b"] * (_SWEEPS // 2) + ["a"]
    found = line("carry", "first a", "first")(values)
    for now, following in itertools.pairwise(arrays):
        found += line("carry", f"{now} {following}", "first")(values)
        found += line("relaxation", f"from to weight {now} {following}", "from")(values)
    return found


def _relaxation_expected(values: Values) -> Values:
    now = values["first"].astype(np.int64)
    for _ in range(_SWEEPS):
        far = now[values["from"]]
        far = np.where(far < _FAR, far + values["weight"], _FAR)
        following = now.copy()
        np.minimum.at(following, values["to"], far)
        now = following
    return {"a": now}


def _pointer_jumps(rng: np.random.Generator, scale: float) -> Values:
    n = count(1 << 17, scale)
    parents = np.maximum(np.arange(n) - rng.integers(1, 9, n), 0).astype(np.int32)
    return {"parents": parents, "a": np.zeros(n, np.int32), "b": np.zeros(n, np.int32)}


def _pointer_jumps_expected(values: Values) -> Values:
    parents = values["parents"]
    for _ in range(_JUMPS):
        parents = parents[parents]
    return {"b": parents}


KERNELS = (
    _program("levels", _levels, _levels_launches, "level", _levels_expected),
    _program(
        "page_rank",
        _page_rank,
        chain(
            "page_rank",
            "starts sources degrees now next damping n",
            [*("a", "b") * (_STEPS // 2), "a"],
            "a",
        ),
        "a",
        _page_rank_expected,
        1e-6,
    ),
    _program(
        "labels",
        _labels,
        chain("labels", "starts targets now next", [*("a", "b") * (_STEPS // 2), "a"], "a"),
        "a",
        _labels_expected,
    ),
    _program(
        "triangles",
        _triangles,
        line("triangles", "starts targets from to found", "found"),
        "found",
        _triangles_expected,
    ),
    _program("relaxation", _relaxation, _relaxation_launches, "a", _relaxation_expected),
    _program(
        "pointer_jumps",
        _pointer_jumps,
        chain("pointer_jumps", "now next", ["parents", *("a", "b") * (_JUMPS // 2)], "parents"),
        "b",
        _pointer_jumps_expected,
    ),
)
