"""Rows that are stored for some work-items only: elements of any size, at any distances."""

from __future__ import annotations

from copy import copy
from functools import cache
from typing import Any

import numpy as np
import pytest

import visim
import visim.opencl

SOURCE = """
#define ON(i) (n == -1 ? (i & 5) == 1 : n == -2 ? (i ^ i >> 3) & 1 : i < n)
kernel void part(global TYPE *out, global const TYPE *in, int n, int at) {
    int i = get_global_id(0);
    TYPE v = in[i] + (TYPE)1;
    if (ON(i)) out[i + at] = v;
}
kernel void apart(global TYPE *out, global const TYPE *in, int n, int at) {
    int i = get_global_id(0);
    TYPE v = in[i] + (TYPE)1, w = v + v;
    if (ON(i)) { out[3 * i + at] = v; out[3 * i + 2 + at] = w; }
    out[100 * STEP - STEP * i] = w;
}
kernel void local_part(global TYPE *out, global const TYPE *in, int n, int at) {
    local TYPE tile[3 * 40];
    int i = get_local_id(0), g = get_global_id(0);
    for (int k = i; k < 120; k += get_local_size(0)) tile[k] = in[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (ON(i)) { tile[i] = in[g]; tile[3 * i + 2] = in[g + 1]; }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = i; k < 120; k += get_local_size(0)) out[get_group_id(0) * 120 + k + at] = tile[k];
}
kernel void many(global TYPE *out, global const TYPE *in, int n, int at) {
    int i = get_global_id(0);
    TYPE v = in[i] + (TYPE)1;
    __attribute__((opencl_unroll_hint(40)))
    for (int k = 0; k < 120; k += 3) if (ON(i)) out[i * 123 + k] = out[i * 123 + k + 2] + v;
    out[i * 123 + 1] = v;
}
"""
KINDS = {
    "uchar": (np.uint8, 1),
    "ushort": (np.uint16, 1),
    "uint": (np.uint32, 1),
    "double": (np.float64, 1),
    "uchar4": (np.uint8, 4),
    "int2": (np.int32, 2),
    "float4": (np.float32, 4),
    "double2": (np.float64, 2),
}
ROOM = 480
WHO = (-1, -2, 0, 1, 7, 33, 80)


@cache
def program(kind: str, device: str) -> visim.Program:
    step = 3 if kind == "uint" else 1
    return visim.opencl.build(SOURCE, device=device, options=f"-DTYPE={kind} -DSTEP={step}")


def results(kernel: str, kind: str, n: int, device: str = "pvc", room: int = ROOM) -> list[Any]:
    """Launch on both engines, twice; return the arrays that come out, or the faults."""
    dtype, parts = KINDS[kind]
    given = np.random.default_rng(n + 3).integers(0, 99, (128, parts)).astype(dtype)
    found: list[Any] = []
    for engine in ("interpreter", "jit"):
        out = np.full((room, parts), 113, dtype)
        for at in (3, 60):
            arguments = [copy(out), given, np.int32(n), np.int32(at)]
            try:
                program(kind, device)[kernel].launch(
                    arguments, global_size=80, local_size=40, engine=engine, workers=1
                )
            except visim.FaultError as fault:
                found.append(fault.fault)
                break
            out = arguments[0]
        else:
            found.append(out)
    return found


def _place(fault: Any) -> tuple[Any, ...]:
    """Return where a fault is; arrays have other addresses in each launch."""
    return fault.category, fault.group, fault.thread, fault.channel, fault.line, fault.size


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kernel", ["part", "apart", "local_part"])
def test_work_items_that_are_off_store_nothing(kernel: str, kind: str) -> None:
    for n in WHO:
        ours, theirs = results(kernel, kind, n)
        np.testing.assert_array_equal(ours, theirs, err_msg=f"{kernel}, {kind}, {n}")


@pytest.mark.parametrize("kind", ["ushort", "float4"])
def test_long_kernels_do_as_short_ones(kind: str) -> None:
    for n in (-2, 33):
        ours, theirs = results("many", kind, n, room=80 * 123 + 3)
        np.testing.assert_array_equal(ours, theirs)
        assert np.count_nonzero(ours != 113) > 1000


@pytest.mark.parametrize("device", ["tgllp", "dg2"])
def test_devices_with_fewer_channels_do_as_well(device: str) -> None:
    for kind in ("ushort", "float4"):
        for kernel in ("apart", "local_part"):
            ours, theirs = results(kernel, kind, -2, device)
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("kind", ["uchar", "int2", "float4"])
@pytest.mark.parametrize("kernel", ["part", "apart"])
def test_only_work_items_that_are_on_are_out_of_range(kernel: str, kind: str) -> None:
    last = 3 * 39 + 2 if kernel == "apart" else 39
    # Of 40 items the last one just reaches the end with the larger offset, or does not.
    for more in (1, 0):
        ours, theirs = results(kernel, kind, 40, room=60 + last + more)
        if more:
            np.testing.assert_array_equal(ours, theirs)
        else:
            assert _place(ours) == _place(theirs)


@pytest.mark.parametrize("kind", ["uchar", "float4"])
def test_native_code_has_rows_for_them(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = pytest.importorskip("visim.engine.jit.launch.kept")
    made, texts = kept.object_of, list[str]()

    def noted(text: str, host: Any, tier: Any) -> Any:
        texts.append(text)
        return made(text, host, tier)

    monkeypatch.setenv("VISIM_CACHE_DIR", "")
    monkeypatch.setattr(kept, "object_of", noted)
    fresh = visim.opencl.build(SOURCE, device="pvc", options=f"-DTYPE={kind} -DSTEP=1 -DANEW")
    dtype, parts = KINDS[kind]
    out, given = np.zeros((ROOM, parts), dtype), np.zeros((128, parts), dtype)
    fresh["part"].launch([out, given, np.int32(-1), np.int32(0)], global_size=80, engine="jit")
    size = parts * np.dtype(dtype).itemsize
    assert f"call void @store.row.{size}.{size}(" in "".join(texts)
