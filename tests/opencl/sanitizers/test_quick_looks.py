"""Launches that native code looks at first: what it finds clean, and what runs once more."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from tests.opencl.building import built
from visim.runtime.launching.quickly import QuickLook

SOURCE = """
kernel void own(global int *x, global int *y, local int *t) {
  int l = get_local_id(0), g = get_global_id(0);
  t[l] = x[g];
  barrier(CLK_LOCAL_MEM_FENCE);
  y[g] = y[g] * 2 + t[63 - l];
  printf("%d ", g);
}
kernel void shared(global int *x, global int *y, local int *t) {
  int g = get_global_id(0);
  y[g] += 5;
  x[g & 7] += y[g];
  if (g == 3) printf("once");
}
kernel void bytes(global uchar *x, global uchar *y, local int *t) {
  int g = get_global_id(0);
  y[g] = x[g] + 1;
}
kernel void parts(global uchar *x, global uchar *y, local int *t) {
  int g = get_global_id(0);
  y[g * 3 & 127] = x[g] + 1;
}
kernel void counted(global int *x, global int *y, local int *t) {
  atomic_inc(&y[x[get_global_id(0)] & 3]);
}
"""

FAR = """
kernel void far(global int *y, int wide, int high) {
  int x = get_global_id(0), row = get_global_id(1);
  if ((x == 0 && row == high) || (x == wide && row == 0)) y[0] = x + 1;
}
"""
FAR_APART = [(4099, 1), (4096, 1), (1, 255)]
"""Two groups that race: one has x = 0, one y = 0."""


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each look so far found a launch clean."""
    found: list[bool] = []
    run = QuickLook.run

    def noted(self: QuickLook, *given: object) -> object:
        result = run(self, *given)  # pyright: ignore[reportArgumentType]
        found.append(result is not None)
        return result

    monkeypatch.setattr(QuickLook, "run", noted)
    return found


def launched(
    kernel: str, device: str, wanted: str | None, engine: str = "jit"
) -> tuple[visim.Report, np.ndarray, np.ndarray, str]:
    x = np.arange(128, dtype=np.int32) * 3
    y = np.arange(128, dtype=np.int32)
    texts: list[str] = []
    options = {} if wanted is None else {"sanitize": wanted}
    with visim.printf_to(texts.append):
        report = built(SOURCE, device)[kernel].launch(
            [x, y, visim.Local(256)], global_size=128, local_size=64, engine=engine, **options
        )
    return report, x, y, "".join(texts)


@pytest.mark.parametrize("device", ["pvc", "tgllp", "bmg"])
@pytest.mark.parametrize(
    ("kernel", "clean"),
    [("own", True), ("shared", False), ("bytes", True), ("parts", False), ("counted", True)],
)
def test_a_launch_takes_place_once_whatever_is_suspected(looks, device, kernel, clean):
    _, x, y, text = launched(kernel, device, None)
    report, own_x, own_y, own_text = launched(kernel, device, "all")
    assert looks == [clean]
    assert own_text == text == report.printf
    assert own_y.tolist() == y.tolist()
    if kernel != "shared":  # it races: what is lost depends on the order
        assert own_x.tolist() == x.tolist()
    assert {one.kind for one in report.findings} == (
        {"race-global"} if kernel == "shared" else set()
    )
    assert report.findings == launched(kernel, device, "all", "interpreter")[0].findings


def test_bytes_that_count_as_never_written_stay_so_until_the_launch(looks):
    y = visim.Uninitialised(np.zeros(128, np.int32))
    kernel = built(SOURCE, "pvc")["shared"]
    x = np.zeros(128, np.int32)
    options = {"global_size": 128, "local_size": 64, "engine": "jit", "sanitize": "all"}
    report = kernel.launch([x, y, visim.Local(256)], **options)
    assert looks == [False]
    assert "uninit-global" in {one.kind for one in report.findings}


@pytest.mark.parametrize(("wide", "high"), FAR_APART)
def test_groups_that_race_are_found_wherever_they_are(wide, high):
    report = built(FAR, "pvc")["far"].launch(
        [np.zeros(1, np.int32), np.int32(wide), np.int32(high)],
        global_size=(wide + 1, high + 1),
        local_size=(1, 1),
        engine="jit",
        sanitize="races",
    )
    assert [one.kind for one in report.findings] == ["race-global"]


def test_more_groups_than_words_tell_apart_are_looked_at_precisely(looks, monkeypatch):
    monkeypatch.setattr("visim.runtime.launching.quickly.MOST_GROUPS", 1)
    assert launched("own", "pvc", "races")[0].findings == ()
    assert looks == [False]
