"""Values that channels take from others, by indices of their own, where registers are addressed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.opencl.building import built

CHANNELS = 16
SOURCE = """
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
__attribute__((intel_reqd_sub_group_size(16)))
kernel void taken(global int *x, global long *y, global const int *from, int n) {
    int i = get_global_id(0);
    if (i >= n) return;
    int a = x[i];
    long b = y[i];
    for (int turn = 0; turn < 3; turn++) {
        a = intel_sub_group_shuffle(a, from[i]) + turn;
        b = 3 * intel_sub_group_shuffle(b, from[i] ^ 1);
    }
    x[i] = a;
    y[i] = b;
}
"""


def expected(x: np.ndarray, y: np.ndarray, picks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    base = np.arange(x.size) // CHANNELS * CHANNELS
    for turn in range(3):
        x, y = x[base + picks] + np.int32(turn), 3 * y[base + (picks ^ 1)]
    return x, y


def run(device: str, engine: Any, picks: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    program = built(SOURCE, device)
    x, y = np.arange(128, dtype=np.int32) * 7, np.arange(128, dtype=np.int64) << 33
    options: Any = {"global_size": 128, "local_size": 32, "engine": engine}
    program["taken"].launch([x, y, picks, np.int32(count)], **options)
    return x, y


@pytest.mark.parametrize("engine", ["interpreter", "jit"])
@pytest.mark.parametrize("device", ["tgllp", "dg2", "pvc"])
def test_each_channel_takes_the_value_of_the_one_it_names(device: str, engine: str) -> None:
    picks = np.random.default_rng(3).integers(0, CHANNELS, 128, np.int32)
    x, y = run(device, engine, picks, 128)
    wanted_x, wanted_y = expected(
        np.arange(128, dtype=np.int32) * 7, np.arange(128, dtype=np.int64) << 33, picks
    )
    assert np.array_equal(x, wanted_x)
    assert np.array_equal(y, wanted_y)


@pytest.mark.parametrize("device", ["tgllp", "dg2"])
def test_channels_that_do_not_exist_have_some_value_the_same_on_both_engines(device: str) -> None:
    picks = np.random.default_rng(4).integers(-(1 << 15), 1 << 15, 128, np.int32)
    picks[::3] = np.random.default_rng(5).integers(-4, 20, picks[::3].size)
    for count in (128, 37):
        (x, y), (a, b) = (run(device, engine, picks, count) for engine in ("interpreter", "jit"))
        assert np.array_equal(x, a)
        assert np.array_equal(y, b)
