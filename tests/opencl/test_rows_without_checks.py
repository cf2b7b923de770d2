"""Without checks, too, work-items that are off move nothing, wherever they would."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import visim
import visim.opencl
from tests.opencl.building import built
from tests.opencl.fences import fenced, run_apart

SOURCE = """
kernel void below(global int *out, global const int *in, int n) {
    int i = get_global_id(0);
    if (i < n) out[i] = in[i];
}
kernel void columns(global int *out, global const int *in, int n) {
    int i = get_global_id(0);
    if (i < n) out[i] = in[i * 16];
}
kernel void above(global int *out, global const int *in, int n) {
    int i = get_global_id(0);
    if (i >= n) out[i] = in[i - n];
}
kernel void nobody(global int *out, global const int *in, int n) {
    int i = get_global_id(0), s = 1;
    if (i < n - 100) s = in[n << 26];
    out[i] = s;
}
kernel void slanted(global int *out, global const int *in, int n, local int *tile) {
    int x = get_local_id(0), s = 0;
    tile[x] = in[0] + x;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 1; d < n; d *= 2) {
        if (x >= d) s += tile[x - d];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (x >= d && x & 1) tile[x - d] = s;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[get_global_id(0)] = s;
}
"""
ITEMS = 64
LENGTHS = {
    "below": (1, 0),
    "columns": (16, -15),
    "above": (-1, ITEMS),
    "nobody": (0, 1),
    "slanted": (0, 1),
}
"""How many numbers kernels read: so many for each of `n`, and so many beside them."""
CASES = [("pvc", name) for name in LENGTHS] + [("tgllp", "slanted")]


def check(device: str, name: str) -> None:
    """Run a kernel on both engines, the array before and behind what nobody may read."""
    kernel, (each, more) = built(SOURCE, device)[name], LENGTHS[name]
    for n in (1, 20, 33):
        for at_end in (True, False):
            array, found = fenced(np.int32, each * n + more, at_end=at_end), list[Any]()
            array[:] = np.arange(array.size) + 7
            for engine, checks in (("interpreter", "on"), ("jit", "off")):
                given = [np.zeros(ITEMS, np.int32), array, np.int32(n)]
                given += [visim.Local(4 * 32)] if name == "slanted" else []
                kernel.launch(given, global_size=ITEMS, local_size=32, engine=engine, checks=checks)
                found.append(given[0])
            np.testing.assert_array_equal(found[1], found[0])


@pytest.mark.skipif(sys.platform != "linux", reason="protects pages as Linux does")
@pytest.mark.parametrize(("device", "name"), CASES)
def test_what_is_off_is_not_read(device: str, name: str) -> None:
    built(SOURCE, device)  # Where ocloc is missing the test is skipped here.
    # In a process of its own, which a wrong access ends.
    run_apart(__name__, f"check({device!r}, {name!r})")
