"""Launches so large that most of their groups run unwatched (visim.timing.sampling)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.opencl.building import built
from visim.engine.observers import GroupStart, Observer
from visim.timing import Timing, TimingResult

SOURCE = """
kernel void turns(global int *out, int most) {
    int i = get_global_id(0);
    int count = get_group_id(0) % 4096 < 1024 ? 3 * most : most, v = i;
    for (int k = 0; k < count; k++)
        v = v * 3 + k;
    out[i] = v + 1;
}
"""
_ITEMS = 1 << 20


class _Every(Observer):
    """Watches some groups and notes which ones it was told of."""

    def __init__(self, chosen: Sequence[range] | None) -> None:
        self._chosen = chosen
        self.seen: list[int] = []
        self.asked: list[tuple[int, int]] = []

    def group_begin(self, group: GroupStart) -> None:
        self.seen.append(group.group[0] + 8 * group.group[1])

    def choice(self, groups: int, row: int) -> Sequence[range] | None:
        self.asked.append((groups, row))
        return self._chosen


@pytest.mark.parametrize("engine", ["jit", "interpreter"])
@pytest.mark.parametrize(
    ("chosen", "seen"),
    [
        ([range(1), range(3, 5), range(15, 16)], [0, 3, 4, 15]),
        ([range(2), range(9, 9)], [0, 1]),
        ([], [0]),
        (None, list(range(16))),
    ],
)
@pytest.mark.parametrize("timeout", [None, 100.0])
def test_an_observer_is_told_of_the_groups_that_it_chooses_and_all_run(
    engine: str, chosen: list[range] | None, seen: list[int], timeout: float | None
) -> None:
    observer, out = _Every(chosen), np.zeros(64 * 2, np.int32)
    kernel = built(SOURCE, "tgllp")["turns"]
    report = kernel.launch(
        [out, 3],
        global_size=(64, 2),
        local_size=(8, 1),
        engine=engine,
        observers=[observer],
        timeout=timeout,
    )
    assert observer.seen == seen
    assert observer.asked == [(16, 8)]
    assert report.groups == 16
    assert out[:64].all()


def _timed(*, sample: bool) -> tuple[TimingResult, np.ndarray[tuple[int], np.dtype[np.int32]]]:
    out = np.zeros(_ITEMS, np.int32)
    timing = Timing("tgl", sample=sample, parameters={"eus": 160})
    kernel = built(SOURCE, "tgllp")["turns"]
    kernel.launch([out, 5], global_size=_ITEMS, local_size=64, observers=[timing])
    return timing.result, out


def test_a_large_launch_is_told_by_few_groups() -> None:
    (found, sampled), (whole, out) = _timed(sample=True), _timed(sample=False)
    assert found.sample is not None
    assert found.sample.of == _ITEMS // 64
    assert found.sample.clusters == 2
    assert found.native < whole.native / 10
    assert abs(found.sample.cycles / whole.cycles - 1) < found.sample.error
    assert (sampled == out).all()


ADD = """
kernel void add(global float *y, global const float *x, float a) {
    int i = get_global_id(0);
    y[i] += a * x[i];
}
"""


def test_first_caches_say_what_they_have_yet_to_write() -> None:
    items = 1 << 17
    timing = Timing("bmg")
    arrays = [np.zeros(items, np.float32), np.ones(items, np.float32)]
    kernel = built(ADD, "pvc")["add"]
    kernel.launch([*arrays, 2.0], global_size=items, local_size=256, observers=[timing])
    left = timing.result.left
    assert left.first == 20 * 98304 // 64
    assert left.first_changed == pytest.approx(0.5, abs=0.05)
    assert left.changed == pytest.approx(0.5, abs=0.05)
