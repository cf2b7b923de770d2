"""How far ahead memory is asked for rows follows from how work-items go along them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.hosts import IS_X86
from tests.opencl.building import built_anew
from visim.engine.jit.common import native
from visim.engine.jit.common.tiers import Tier
from visim.engine.jit.launch import code, kept

SOURCE = """
kernel void line(global float *out, global const float *in) {
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
}
kernel void three(global float *out, global const float *in) {
    int n = get_global_size(0), i = (get_global_id(1) + 1) * n + get_global_id(0);
    out[i - n] = in[i - n] + in[i] + in[i + n];
}"""
PAIRS = """
kernel void pairs(global double *out, global const double *in) {
    int i = get_global_id(0);
    out[i] = in[i] + 1;
}"""
ITEMS = 256


def _written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list of the modules that will be compiled."""
    texts, compiled = list[str](), kept.object_of

    def noted(text: str, made_for: native.Processor, tier: Tier) -> bytes:
        texts.append(text)
        return compiled(text, made_for, tier)

    monkeypatch.setenv("VISIM_CACHE_DIR", "")
    monkeypatch.setattr(kept, "object_of", noted)
    return texts


def _asked(text: str) -> list[int]:
    """Return the distances at which memory is asked for in the first way of the loop."""
    text, *_ = text.split("group.begins.certain:")
    return [int(one) for one in re.findall(r", i64 (\d+)\n *call void @llvm.prefetch", text)]


@pytest.mark.skipif(not IS_X86, reason="other hosts are not asked ahead like this")
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
    monkeypatch.setattr(code, "has_gathers", lambda: gathers)
    monkeypatch.setattr(code, "has_scatters", lambda: False)
    monkeypatch.setattr(code, "finds_rows", lambda: False)
    texts = _written(monkeypatch)
    kind = np.float64 if kernel == "pairs" else np.float32
    values, found = np.arange(ITEMS, dtype=kind), np.zeros(ITEMS, kind)
    source = PAIRS if kernel == "pairs" else SOURCE
    built_anew(source, "pvc")[kernel].launch(
        [found, values], global_size=global_size, local_size=local_size, engine="jit"
    )
    np.testing.assert_array_equal(found, values + 1)
    asked = _asked(texts[-1])
    lines = len(asked) // 2
    assert asked == 2 * [ahead + 64 * line for line in range(lines)]
    assert lines == 32 * values.itemsize // 64


@pytest.mark.skipif(not IS_X86, reason="other hosts are not asked ahead like this")
@pytest.mark.parametrize("device", ["pvc", "dg2", "tgllp"])
@pytest.mark.parametrize(
    ("kernel", "global_size", "local_size", "rows"),
    [
        ("line", (ITEMS, 1), (64, 1), 0),
        ("plane", (64, 4), (32, 4), 0),
        ("more", (ITEMS, 1), (64, 1), 0),
        # Three rows of one array, and the one that is stored beside them.
        ("three", (64, 4), (32, 2), 4),
    ],
)
def test_rows_that_are_alone_in_their_arrays_are_left_to_processors_that_find_them(
    monkeypatch: pytest.MonkeyPatch,
    device: str,
    kernel: str,
    global_size: tuple[int, int],
    local_size: tuple[int, int],
    rows: int,
) -> None:
    monkeypatch.setattr(code, "has_gathers", lambda: False)
    monkeypatch.setattr(code, "has_scatters", lambda: False)
    monkeypatch.setattr(code, "finds_rows", lambda: True)
    texts = _written(monkeypatch)
    values, found = np.arange(ITEMS + 128, dtype=np.float32), np.zeros(ITEMS, np.float32)
    built_anew(SOURCE, device)[kernel].launch(
        [found, values], global_size=global_size, local_size=local_size, engine="jit"
    )
    expected = values[:ITEMS] + 1
    if kernel == "three":
        expected = values[:ITEMS] + values[64 : ITEMS + 64] + values[128:]
    np.testing.assert_array_equal(found, expected)
    asked = _asked(texts[-1])
    # Joined halves of a thread, which dg2 and tgllp have, ask for one line.
    assert sorted(asked) == sorted(rows * ([3072, 3072 + 64] if device == "pvc" else [3072]))
