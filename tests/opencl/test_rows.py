"""Rows of work-items reach memory alike on both engines, whatever their group's shape is."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import pytest

import visim
import visim.opencl
from tests.opencl.building import built

SOURCE = """
kernel void rows(global int *out, global const int *in, int w, int n) {
    int x = get_global_id(0), y = get_global_id(1), i = y * w + x, s = 0;
    if (x > 0 && x < w - 1) s = in[i - 1] + 3 * in[i + 1];
    for (int k = 0; k < (x & 7); ++k) {
        s += in[(i + k * w) % n];
        if (s & 1) s ^= in[k];
    }
    out[i] = s + in[y] + in[n - 1 - i];
    out[n + 2 * i] = s;
    out[n + 2 * i + 1] = in[in[i] & 63];
    if (y & 1) out[3 * n + (uint)(i - 1)] = x;
}
kernel void shared_rows(global int *out, global const int *in, local int *part) {
    int x = get_local_id(0), y = get_local_id(1), w = get_local_size(0), h = get_local_size(1);
    int i = y * w + x, base = (get_group_id(1) * get_num_groups(0) + get_group_id(0)) * w * h;
    part[i] = in[base + i];
    barrier(CLK_LOCAL_MEM_FENCE);
    int s = part[x * h % (w * h)] + part[y * w] + part[w * h - 1 - i];
    if (x) s += part[i - 1];
    out[base + i] = s;
}
kernel void sideways(global uchar *out, global const uchar *in, uint start) {
    uint i = start + (uint)get_global_id(0);
    out[get_global_id(0)] = in[(size_t)i & 127];
}
"""
GROUPS = [(64, 1), (32, 4), (16, 16), (8, 8), (4, 16), (5, 3), (1, 7)]


def program(device: str) -> visim.Program:
    return built(SOURCE, device)


def both(device: str, kernel: str, arguments: list[Any], **sizes: Any) -> None:
    """Launch on both engines and compare all arrays, bit by bit."""
    found: list[list[Any]] = []
    for engine in ("interpreter", "jit"):
        given = [copy(argument) for argument in arguments]
        program(device)[kernel].launch(given, engine=engine, **sizes)
        found.append(given)
    for ours, theirs in zip(*found, strict=True):
        if hasattr(ours, "dtype"):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("local", GROUPS, ids=str)
@pytest.mark.parametrize("device", ["pvc", "tgllp"])
def test_rows_of_any_group_are_read_and_written_alike(device: str, local: tuple[int, int]) -> None:
    w, h = 2 * local[0], 2 * local[1]
    n = w * h
    values = np.random.default_rng(1).integers(-99, 99, max(n, 64)).astype(np.int32)
    out = np.zeros(4 * n, np.int32)
    given = [out, values, np.int32(w), np.int32(n)]
    both(device, "rows", given, global_size=(w, h), local_size=local)


@pytest.mark.parametrize("local", GROUPS, ids=str)
def test_rows_of_shared_memory_are_read_and_written_alike(local: tuple[int, int]) -> None:
    n = 4 * local[0] * local[1]
    values = np.random.default_rng(2).integers(-99, 99, n).astype(np.int32)
    given = [np.zeros(n, np.int32), values, visim.Local(n)]
    size = (2 * local[0], 2 * local[1])
    both("pvc", "shared_rows", given, global_size=size, local_size=local)


def test_indices_that_wrap_around_are_no_row() -> None:
    octets = np.arange(128, dtype=np.uint8)
    for start in (0, 5, 2**32 - 20):
        given = [np.zeros(64, np.uint8), octets, np.uint32(start)]
        both("pvc", "sideways", given, global_size=64, local_size=64)


def test_a_row_that_leaves_its_array_is_the_same_fault() -> None:
    faults: list[visim.FaultError] = []
    n, small = 64, np.zeros(40, np.int32)
    arguments = [np.zeros(4 * n, np.int32), small, np.int32(n), np.int32(n)]
    for engine in ("interpreter", "jit"):
        with pytest.raises(visim.FaultError) as raised:
            program("pvc")["rows"].launch(
                arguments, global_size=(n, 1), local_size=(n, 1), engine=engine
            )
        faults.append(raised.value)
    assert faults[0].fault == faults[1].fault


def test_without_checks_results_are_the_same_and_the_report_says_so() -> None:
    values = np.arange(64, dtype=np.int32)
    outs: list[np.ndarray] = []
    for checks in ("on", "off"):
        out = np.zeros(256, np.int32)
        report = program("pvc")["rows"].launch(
            [out, values, np.int32(64), np.int32(64)],
            global_size=(64, 1),
            local_size=(64, 1),
            engine="jit",
            checks=checks,
        )
        outs.append(out)
        assert isinstance(report, visim.Report)
        assert any("checks='off'" in note for note in report.notes) == (checks == "off")
    np.testing.assert_array_equal(outs[0], outs[1])
