"""How workers share the groups of a launch."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.engine.test_jit_teams import THREADS, Launcher, array, expected
from visim.engine.jit.launch.work import Task

GROUPS = 20_000


def test_several_workers_take_smaller_parts_at_the_end() -> None:
    task = Task.of(range(6400), 2)
    assert (task.chunk, task.least, task.shares) == (100, 12, 4)


@pytest.mark.parametrize("groups", [1, 5, 640])
def test_parts_are_never_empty(groups: int) -> None:
    task = Task.of(range(groups), 3)
    assert 1 <= task.least <= task.chunk


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
@pytest.mark.parametrize("end", [GROUPS - 10, GROUPS - 1])
def test_the_lowest_fault_is_reported_where_parts_are_small(
    monkeypatch: pytest.MonkeyPatch, end: int, workers: int
) -> None:
    launcher, out = Launcher(monkeypatch), array(end)
    found = launcher.launch(out, 7, GROUPS, workers=workers)
    assert found.fault is not None
    assert found.fault.group == (end, 0, 0)
    assert found.groups == end
    assert np.array_equal(out, expected(7, end))
