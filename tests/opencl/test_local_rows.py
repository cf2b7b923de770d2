"""Rows of local memory of which some work-items are off, and would be out of range."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import pytest

import visim
import visim.opencl
from tests.opencl.building import built

SOURCE = """
kernel void slanted(global int *out, global const int *in, local TYPE *tile, int size, int w) {
    int x = get_local_id(1) * get_local_size(0) + get_local_id(0);
    int n = get_local_size(0) * get_local_size(1), base = get_group_id(0) * n, s = 0;
    for (int k = x; k < size; k += n) tile[k] = (TYPE)(in[k] + base);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int m = 0; m < n; ++m) {
        if (x <= m && (m - x) * w + x < size) s += SUM(tile[(m - x) * w + x]);
        if (x >= m && (m & 1 || x & 5)) s -= SUM(tile[x - m]);
        if (x + m < n && size - 1 - x - m >= 0) s ^= SUM(tile[size - 1 - x - m]);
        if (in[m] == x) s += SUM(tile[size - 1]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int m = 0; m < n; ++m) {
        if (x + m < size && x <= m) tile[size - 1 - m + x] = (TYPE)(s + m);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int k = x; k < size; k += n) s += SUM(tile[k]) * (k & 7);
    out[base + x] = s;
}
kernel void beyond(global int *out, local int *tile, int w, int last) {
    int x = get_local_id(0);
    tile[x] = x;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (x <= last) out[x] = tile[w * (last - 1 - x) + x];
    if (x == 3 || x == 5 || x >= last) tile[x + 16 - last] = x;
    out[x] += tile[x & 15];
}
"""
KINDS = {
    "int": "-DTYPE=int -DSUM(v)=(v)",
    "char": "-DTYPE=char -DSUM(v)=(v)",
    "int2": "-DTYPE=int2 -DSUM(v)=((v).x-3*(v).y)",
    "double": "-DTYPE=double -DSUM(v)=((int)(v))",
}
SIZES = {"int": 4, "char": 1, "int2": 8, "double": 8}


def program(device: str, kind: str) -> visim.Program:
    return built(SOURCE, device, KINDS[kind])


def both(kernel: str, given: list[Any], device: str = "pvc", kind: str = "int", **on: Any) -> Any:
    """Launch on both engines; return the arrays that come out, or the faults."""
    found: list[Any] = []
    for engine in ("interpreter", "jit"):
        arguments = [copy(argument) for argument in given]
        try:
            program(device, kind)[kernel].launch(arguments, engine=engine, **on)
            found.append(arguments[0])
        except visim.FaultError as fault:
            found.append(fault.fault)
    return found


@pytest.mark.parametrize("local", [(16, 1), (40, 1), (8, 4), (5, 3), (3, 1)], ids=str)
@pytest.mark.parametrize(("size", "w"), [(40, 1), (700, 17), (130, 65), (3, 1), (1300, 1201)])
def test_work_items_that_are_off_may_be_anywhere(local: tuple[int, int], size: int, w: int) -> None:
    ours, theirs = slanted("pvc", "int", local, size, w)
    np.testing.assert_array_equal(ours, theirs)
    assert ours.any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("device", ["pvc", "tgllp"])
def test_elements_of_any_size_are_found(device: str, kind: str) -> None:
    if device == "tgllp" and kind == "double":
        pytest.skip("tgllp has no doubles")
    ours, theirs = slanted(device, kind, (16, 2), 90, 4)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("last", range(18))
@pytest.mark.parametrize("w", [1, 3, 17])
def test_a_work_item_that_is_on_and_out_of_range_is_the_same_fault(w: int, last: int) -> None:
    given = [np.zeros(16, np.int32), visim.Local(4 * 16), np.int32(w), np.int32(last)]
    ours, theirs = both("beyond", given, global_size=16, local_size=16)
    if isinstance(ours, visim.Fault):
        assert ours == theirs
    else:
        np.testing.assert_array_equal(ours, theirs)


def slanted(device: str, kind: str, local: tuple[int, int], size: int, w: int) -> Any:
    n = local[0] * local[1]
    values = np.random.default_rng(5).integers(-60, 60, max(size, n)).astype(np.int32)
    tile = visim.Local(SIZES[kind] * size)
    given = [np.zeros(2 * n, np.int32), values, tile, np.int32(size), np.int32(w)]
    sizes: dict[str, Any] = {"global_size": (2 * local[0], local[1]), "local_size": local}
    return both("slanted", given, device, kind, **sizes)
