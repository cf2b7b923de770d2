"""Work-items that go through lists of different lengths find the same on both engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import visim
import visim.opencl
from tests.opencl.building import built
from visim.errors import FaultError

SOURCE = """
kernel void rows(global const int *start, global const int *column, global const short *value,
                 global const uchar *x, global int *out) {
    int row = get_global_id(0), sum = 0;
    for (int i = start[row]; i < start[row + 1]; ++i) sum += value[i] * x[column[i]];
    out[row] = sum;
}
kernel void frontier(global const int *start, global const int *column, global const short *value,
                     global const uchar *x, global int *out) {
    int vertex = get_global_id(0), found = -1, tried = 0;
    for (int i = start[vertex]; i < start[vertex + 1]; ++i, ++tried)
        if (x[column[i]] == 7) { found = value[i]; break; }
    out[vertex] = found * 64 + tried;
}
kernel void nested(global const int *start, global const int *column, global const short *value,
                   global const uchar *x, global int *out) {
    int last = get_global_id(0), sum = 0;
    for (int row = max(last - 3, 0); row <= last; ++row) {
        int low = 0;
        for (int i = start[row]; i < start[row + 1]; ++i) {
            if (value[i] & 1) continue;
            low = min(low, (int)value[i] - x[column[i]]);
        }
        sum = 3 * sum + low;
    }
    out[last] = sum;
}
"""
ROWS = 300
ENGINES = ("interpreter", "jit")


def program(device: str) -> visim.Program:
    return built(SOURCE, device)


def lists(longest: int) -> list[Any]:
    rng = np.random.default_rng(longest)
    start = np.concatenate([[0], np.cumsum(rng.integers(0, longest, ROWS))]).astype(np.int32)
    entries = int(start[-1])
    return [
        start,
        rng.integers(0, 500, entries).astype(np.int32),
        rng.integers(-99, 99, entries).astype(np.int16),
        rng.integers(0, 40, 500).astype(np.uint8),
        np.zeros(ROWS, np.int32),
    ]


def launched(device: str, kernel: str, given: list[Any], engine: str) -> tuple[str, list[int]]:
    """Return how many instructions a launch took, or its fault, and what it has found."""
    sizes: dict[str, Any] = {"global_size": ROWS, "local_size": 60, "collect": "instructions"}
    try:
        report = program(device)[kernel].launch(given, engine=engine, **sizes)
    except FaultError as fault:
        return f"{fault.fault.place}, channel {fault.fault.channel}", []
    return str(report and report.instructions), given[-1].tolist()


@pytest.mark.parametrize("kernel", ["rows", "frontier", "nested"])
@pytest.mark.parametrize("device", ["pvc", "tgllp"])
def test_lists_of_all_lengths_give_the_same_on_both_engines(device: str, kernel: str) -> None:
    for longest in (20, 140):
        ours, theirs = (launched(device, kernel, lists(longest), e) for e in ENGINES)
        assert ours == theirs


@pytest.mark.parametrize("device", ["pvc", "tgllp"])
def test_an_index_out_of_range_has_the_same_end_on_both_engines(device: str) -> None:
    given = lists(20)
    given[1][[700, 1500]] = 1 << 28
    ours, theirs = (launched(device, "rows", [*given[:4], given[4].copy()], e) for e in ENGINES)
    assert ours == theirs
