"""Small launches are run in the way that took less time when both were tried."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.engine.jit.storing import THREADS, Launcher, array, expected
from visim.engine.jit import LEAST_STEPS
from visim.engine.jit.launch import trials
from visim.engine.jit.launch.trials import Trial

GROUPS = 64


class Clock:
    """Launches take what `seconds` says of both ways, alone and together."""

    def __init__(self, alone: float, together: float) -> None:
        self.now, self.seconds = 0.0, [alone, together]

    def perf_counter(self) -> float:
        return self.now

    def launch(self, trial: Trial, groups: int = GROUPS) -> bool:
        """Run a launch; return whether all workers have run it."""
        together = trial.together
        began = trial.begin()
        self.now += self.seconds[together] * groups
        if began:
            trial.end(began, groups)
        return together


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock(2.0, 1.0)
    found.now = 1.0
    monkeypatch.setattr(trials, "perf_counter", found.perf_counter)
    return found


@pytest.mark.parametrize(("together", "usual"), [(1.0, True), (3.0, False)])
def test_the_way_that_took_less_time_is_the_usual_one(
    clock: Clock, together: float, usual: bool
) -> None:
    clock.seconds[1] = together
    trial = Trial()
    ways = [clock.launch(trial) for _ in range(4000)]
    assert ways.count(usual) > 3600
    assert True in ways
    assert False in ways


def test_the_other_way_is_tried_again(clock: Clock) -> None:
    trial = Trial()
    for _ in range(1000):
        clock.launch(trial)
    clock.seconds[1] = 9.0
    ways = [clock.launch(trial) for _ in range(2000)]
    assert ways[:100] == [True] * 100
    assert ways[-1000:].count(False) > 900


def test_a_launch_that_was_held_up_counts_little(clock: Clock) -> None:
    trial = Trial()
    for number in range(4000):
        clock.seconds[1] = 500.0 if number % 30 == 0 else 1.0
        way = clock.launch(trial)
    assert way


def test_small_launches_are_right_however_they_are_run(monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = Launcher(monkeypatch)
    groups = 1 + LEAST_STEPS // (THREADS * launcher.prepared.code.traits.weight)
    out, ways = array(groups), set[bool]()
    plan = launcher.plan(out, 7, groups)
    for _ in range(100):
        out.fill(0)
        found = launcher.run(plan, workers=2)
        assert (found.groups, found.threads) == (groups, THREADS * groups)
        assert np.array_equal(out, expected(7, groups))
        ways.add(launcher.made[0].trial.together)
    assert ways == {False, True}
