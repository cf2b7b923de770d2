"""How far ahead memory is asked for rows follows from how work-items go along them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.opencl.building import built_anew
from visim.engine.jit.common import native
from visim.engine.jit.launch import code, kept

SOURCE = """
kernel void line(global float *out, global const float *in) {
    int i = get_global_id(0);
    out[i] = in[i] + 1;
}
kernel void pairs(global double *out, global const double *in) {
    int i = get_global_id(0);
    out[i] = in[i] + 1;
}
kernel void plane(global float *out, global const float *in) {
    int i = get_global_id(1) * get_global_size(0) + get_global_id(0);
    out[i] = in[i] + 1;
}
kernel void more(global float *out, global const float *in) {
    int i = get_global_id(0);
    out[i] += in[i] + 1;
}"""
ITEMS = 256


@pytest.mark.skipif(not native.IS_X86, reason="other hosts are not asked ahead like this")
@pytest.mark.parametrize(
    ("kernel", "global_size", "local_size", "gathers", "ahead"),
    [
        ("line", (ITEMS, 1), (64, 1), True, 1024),
        ("pairs", (ITEMS, 1), (64, 1), True, 2048),
        ("line", (ITEMS, 1), (64, 1), False, 3072),
        ("plane", (64, 4), (32, 4), True, 3072),
        ("plane", (64, 4), (32, 1), True, 1024),
        # What is stored has been asked for when it was loaded.
        ("more", (ITEMS, 1), (64, 1), True, 1024),
    ],
)
def test_rows_are_asked_for_at_the_distance_of_some_threads(
    monkeypatch: pytest.MonkeyPatch,
    kernel: str,
    global_size: tuple[int, int],
    local_size: tuple[int, int],
    gathers: bool,
    ahead: int,
) -> None:
    texts, compiled = list[str](), kept.object_code

    def noted(text: str, made_for: native.Processor) -> bytes:
        texts.append(text)
        return compiled(text, made_for)

    monkeypatch.setenv("VISIM_CACHE_DIR", "")
    monkeypatch.setattr(kept, "object_code", noted)
    monkeypatch.setattr(code, "has_gathers", lambda: gathers)
    monkeypatch.setattr(code, "has_scatters", lambda: False)
    kind = np.float64 if kernel == "pairs" else np.float32
    values, found = np.arange(ITEMS, dtype=kind), np.zeros(ITEMS, kind)
    built_anew(SOURCE, "pvc")[kernel].launch(
        [found, values], global_size=global_size, local_size=local_size, engine="jit"
    )
    np.testing.assert_array_equal(found, values + 1)
    asked = re.findall(r", i64 (\d+)\n *call void @llvm.prefetch", texts[-1])
    lines = len(asked) // 2
    assert [int(one) for one in asked] == 2 * [ahead + 64 * line for line in range(lines)]
    assert lines == 32 * values.itemsize // 64
