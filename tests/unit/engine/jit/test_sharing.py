"""How workers share the groups of a launch."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.engine.jit.storing import THREADS, Launcher, array, expected
from visim.engine.jit.launch import workers as teamwork
from visim.engine.jit.launch.work import Task
from visim.engine.jit.layout import Part, Shared

GROUPS = 20_000


def test_several_workers_take_smaller_parts_at_the_end() -> None:
    task = Task.of(range(6400), 2)
    assert (task.chunk, task.least, task.shares) == (100, 12, 4)


@pytest.mark.parametrize("groups", [1, 5, 640])
def test_parts_are_never_empty(groups: int) -> None:
    task = Task.of(range(groups), 3)
    assert 1 <= task.least <= task.chunk


def test_each_worker_begins_with_a_part_of_its_own() -> None:
    task = Task.of(range(10), 3)
    task.begin()
    parts = task.shared.tolist()[Shared.PARTS :]
    assert [parts[at : at + 2] for at in range(0, len(parts), Part.SIZE)] == [
        [0, 3],
        [3, 6],
        [6, 10],
    ]


def test_one_worker_takes_all_groups_at_once() -> None:
    task = Task.of(range(6400), 1)
    assert task.least == task.chunk == 6400


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
@pytest.mark.parametrize("groups", [GROUPS, GROUPS + 11])
def test_every_group_of_a_large_launch_runs_once(
    monkeypatch: pytest.MonkeyPatch, groups: int, workers: int
) -> None:
    launcher, out = Launcher(monkeypatch), array(groups)
    for _ in range(3):
        out.fill(0)
        found = launcher.launch(out, 7, groups, workers=workers)
        assert (found.groups, found.threads) == (groups, THREADS * groups)
        assert np.array_equal(out, expected(7, groups))
    assert len(launcher.made[0].runners) == workers


@pytest.mark.parametrize("workers", [2, 3])
@pytest.mark.parametrize("end", [7, GROUPS // 2 + 5, GROUPS - 10, GROUPS - 1])
def test_the_lowest_fault_is_reported_where_parts_are_small(
    monkeypatch: pytest.MonkeyPatch, end: int, workers: int
) -> None:
    launcher, out = Launcher(monkeypatch), array(end)
    found = launcher.launch(out, 7, GROUPS, workers=workers)
    assert found.fault is not None
    assert found.fault.group == (end, 0, 0)
    assert found.groups == end
    assert np.array_equal(out, expected(7, end))


class Clock:
    """A clock that goes on by the same time whenever somebody looks."""

    def __init__(self, step_s: float) -> None:
        self.now, self.step_s = 0.0, step_s

    def perf_counter(self) -> float:
        self.now += self.step_s
        return self.now


@pytest.mark.parametrize(
    ("step_s", "ranges"),
    [
        (0.001, [[10, 20, 30], [40, 20], [60]]),
        (1.0, [[10, 10, 10, 10, 10, 10]] * 3),
    ],
    ids=["quick", "slow"],
)
def test_looks_are_as_far_apart_as_ranges_are_quick(
    monkeypatch: pytest.MonkeyPatch, step_s: float, ranges: list[list[int]]
) -> None:
    monkeypatch.setattr(teamwork, "time", Clock(step_s))
    monkeypatch.setattr(teamwork, "_THREADS_BETWEEN_LOOKS", 10 * THREADS)
    begin, shared = Task.begin, list[int]()

    def noted(task: Task) -> None:
        shared.append(len(task.groups))
        begin(task)

    monkeypatch.setattr(Task, "begin", noted)
    launcher, out = Launcher(monkeypatch), array(60)
    for wanted in ranges:
        shared.clear()
        found = launcher.launch(out, 7, 60, workers=1)
        assert shared == wanted
        assert found.groups == 60
        assert np.array_equal(out, expected(7, 60))
        out.fill(0)


def test_a_fault_in_a_later_range_ends_a_launch_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teamwork, "_THREADS_BETWEEN_LOOKS", 10 * THREADS)
    launcher, out = Launcher(monkeypatch), array(35)
    for _ in range(3):
        found = launcher.launch(out, 7, 60, workers=1)
        assert found.fault is not None
        assert (found.fault.group, found.groups) == ((35, 0, 0), 35)
        assert np.array_equal(out, expected(7, 35))
        out.fill(0)
