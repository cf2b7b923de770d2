"""Launches of one form take over the workers of those that are gone, and nothing else of them."""

from __future__ import annotations

import gc
import os
import sys
import weakref
from threading import Thread

import numpy as np
import pytest

from tests.unit.engine.jit.storing import (
    BOUND,
    CALLING_OUT,
    FLAT,
    HEAD,
    THREADS,
    TOGETHER,
    Launcher,
    array,
    expected,
)
from visim.engine.jit import LEAST_STEPS
from visim.engine.jit.launch.teams import MOST_IDLE, MOST_TEAMS
from visim.engine.jit.launch.work import NativeWork
from visim.engine.jit.launch.workers import SMALL_STEPS
from visim.engine.observers import Observer


@pytest.fixture
def launcher(monkeypatch: pytest.MonkeyPatch) -> Launcher:
    return Launcher(monkeypatch)


def test_later_launches_take_over_the_team_of_the_first(launcher: Launcher) -> None:
    for value, groups in ((1, 4), (2, 4), (3, 9), (4, 1)):
        out = array(groups)
        found = launcher.launch(out, value, groups)
        assert np.array_equal(out, expected(value, groups))
        assert (found.groups, found.threads) == (groups, THREADS * groups)
    assert len(launcher.made) == 1


def test_a_dispatch_that_is_launched_again_keeps_its_team(launcher: Launcher) -> None:
    first, second = array(), array()
    plans = launcher.plan(first, 1), launcher.plan(second, 5)
    for _ in range(3):
        for plan in plans:
            launcher.run(plan)
    assert np.array_equal(first, expected(1))
    assert np.array_equal(second, expected(5))
    assert len(launcher.made) == 2


def test_many_dispatches_that_are_launched_by_turns_share_teams(launcher: Launcher) -> None:
    outs = [array(1 + number % 3) for number in range(2 * MOST_TEAMS + 3)]
    plans = [launcher.plan(out, 10 * at, len(out) // THREADS) for at, out in enumerate(outs)]
    for _ in range(3):
        for at, (plan, out) in enumerate(zip(plans, outs, strict=True)):
            out.fill(0)
            found = launcher.run(plan)
            assert found.groups == len(out) // THREADS
            assert np.array_equal(out, expected(10 * at, found.groups))
    assert len(launcher.made) == MOST_TEAMS


@pytest.mark.parametrize("head", [HEAD, TOGETHER])
def test_all_workers_of_a_shared_team_work_for_the_dispatch_that_is_launched(
    monkeypatch: pytest.MonkeyPatch, head: str
) -> None:
    launcher = Launcher(monkeypatch, FLAT, head)
    groups = 1 + SMALL_STEPS // (THREADS * launcher.prepared.code.traits.weight)
    outs = [array(groups + number % 3) for number in range(MOST_TEAMS + 3)]
    plans = [launcher.plan(out, 10 * at, len(out) // THREADS) for at, out in enumerate(outs)]
    for _ in range(3):
        for at, (plan, out) in enumerate(zip(plans, outs, strict=True)):
            out.fill(0)
            found = launcher.run(plan, workers=2)
            assert np.array_equal(out, expected(10 * at, found.groups))
    assert {len(team.runners) for team in launcher.made} == {2}
    assert len(launcher.made) == MOST_TEAMS


@pytest.mark.parametrize("head", [HEAD, TOGETHER])
def test_threads_find_the_arguments_of_their_launch(
    monkeypatch: pytest.MonkeyPatch, head: str
) -> None:
    launcher = Launcher(monkeypatch, FLAT, head)
    for value in (7, 8, 300):
        out = array()
        launcher.launch(out, value)
        assert np.array_equal(out, expected(value))
    assert len(launcher.made) == 1


def test_call_outs_of_dispatches_that_share_teams_are_done_by_the_team_that_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    launcher = Launcher(monkeypatch, CALLING_OUT)
    outs = [array() for _ in range(MOST_TEAMS + 3)]
    plans = [launcher.plan(out, 5 * at) for at, out in enumerate(outs)]
    for _ in range(3):
        for at, (plan, out) in enumerate(zip(plans, outs, strict=True)):
            out.fill(0)
            launcher.run(plan)
            assert np.array_equal(out, 3 * expected(5 * at))
    assert len(launcher.made) == MOST_TEAMS


def test_memory_of_a_dispatch_that_shares_a_team_is_out_of_range_for_others(
    launcher: Launcher,
) -> None:
    memory = np.zeros(64 * MOST_TEAMS, np.uint32)
    plans = [launcher.plan(memory[: 6 + 2 * at], at, 32) for at in range(MOST_TEAMS + 5)]
    for _ in range(2):
        for at, plan in enumerate(plans):
            found = launcher.run(plan)
            assert found.fault is not None
            assert found.fault.group == (3 + at, 0, 0)
            assert np.array_equal(memory[: 6 + 2 * at], expected(at, 3 + at))


def test_a_team_that_comes_back_may_be_that_of_another_dispatch(launcher: Launcher) -> None:
    outs = [array() for _ in range(MOST_TEAMS + 1)]
    plans = [launcher.plan(out, at) for at, out in enumerate(outs)]
    for plan in plans:
        launcher.run(plan)
    # The first dispatch and the last one have the same team.
    del plan, plans[0]
    later = [array() for _ in range(2)]
    newer = [launcher.plan(out, 100 + at) for at, out in enumerate(later)]
    for plan in newer:
        launcher.run(plan)
        launcher.run(plans[-1])
    for at, out in enumerate(outs):
        assert np.array_equal(out, expected(at))
    for at, out in enumerate(later):
        assert np.array_equal(out, expected(100 + at))
    assert len(launcher.made) == MOST_TEAMS


def test_a_team_whose_aiming_was_interrupted_is_aimed_again(
    launcher: Launcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    outs = [array() for _ in range(MOST_TEAMS + 1)]
    plans = [launcher.plan(out, at) for at, out in enumerate(outs)]
    for plan in plans:
        launcher.run(plan)

    def interrupted(_work: NativeWork) -> None:
        raise KeyboardInterrupt

    # The first dispatch and the last one have the same team, which is aimed at the last one.
    with monkeypatch.context() as patched:
        patched.setattr(NativeWork, "aim", interrupted)
        with pytest.raises(KeyboardInterrupt):
            launcher.run(plans[0])
    outs[-1].fill(0)
    launcher.run(plans[-1])
    assert np.array_equal(outs[-1], expected(MOST_TEAMS))


def test_a_few_dispatches_of_many_forms_keep_their_teams(launcher: Launcher) -> None:
    plans = [launcher.plan(array(), 1) for _ in range(MOST_TEAMS + 1)]
    for _ in range(2):
        for at, plan in enumerate(plans):
            launcher.run(plan, budget=1000 + at)
    assert len(launcher.made) == len(plans)


def test_nothing_of_a_launch_stays_alive(launcher: Launcher) -> None:
    class Watching(Observer):
        pass

    out, observer = array(), Watching()
    arrays, observers = weakref.ref(out), weakref.ref(observer)
    gc.disable()
    try:
        launcher.launch(out, observers=(observer,))
        del out, observer
        assert arrays() is None
        assert observers() is None
    finally:
        gc.enable()


def test_an_observer_is_let_go_when_its_run_has_ended(launcher: Launcher) -> None:
    class Watching(Observer):
        pass

    plan, observer = launcher.plan(array()), Watching()
    gone = weakref.ref(observer)
    launcher.run(plan, observers=(observer,))
    del observer
    gc.collect()
    assert gone() is None


def test_a_run_that_raises_leaves_no_counts_to_the_next(launcher: Launcher) -> None:
    class Stopping(Observer):
        begun = 0

        def group_begin(self, group: object) -> None:
            self.begun += 1
            if self.begun == 3:
                raise RuntimeError("seen enough")

    plan, watching = launcher.plan(array()), Stopping()
    with pytest.raises(RuntimeError, match="seen enough"):
        launcher.run(plan, count_forms=True, observers=(watching,))
    again = launcher.run(plan, count_forms=True, observers=(watching,))
    alone = launcher.run(launcher.plan(array()), count_forms=True)
    assert again.forms == alone.forms


def test_memory_of_the_launch_before_is_out_of_range(launcher: Launcher) -> None:
    memory = np.zeros(64, np.uint32)
    launcher.launch(memory, groups=32)
    found = launcher.launch(memory[:6], 7, groups=32)
    assert found.fault is not None
    assert found.fault.group == (3, 0, 0)
    assert np.array_equal(memory[6:8], [3, 3])
    launcher.launch(memory, 1, groups=32)
    assert np.array_equal(memory, expected(1, 32))
    assert len(launcher.made) == 1


def test_surfaces_are_those_of_the_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = Launcher(monkeypatch, BOUND)
    first, second = array(), array()
    launcher.launch(first, 1)
    launcher.launch(second, 2)
    assert np.array_equal(first, expected(1))
    assert np.array_equal(second, expected(2))
    assert len(launcher.made) == 1


@pytest.mark.parametrize(
    ("share", "available", "expected"),
    [(0.99, 64, 1), (1.01, 64, 2), (4.04, 2, 2), (16.4, 64, 8), (160, 64, 25), (160, 16, 16)],
)
def test_large_launches_get_more_workers_than_small_ones(
    launcher: Launcher,
    monkeypatch: pytest.MonkeyPatch,
    share: float,
    available: int,
    expected: int,
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(available)))
    steps = THREADS * launcher.prepared.code.traits.weight
    groups = int(share * LEAST_STEPS / steps)
    out = array(groups)
    found = launcher.launch(out, 7, groups)
    assert len(launcher.made[0].runners) == expected
    assert found.groups == groups
    assert np.array_equal(out, np.repeat(np.arange(groups, dtype=np.uint32) + 7, THREADS))


def test_launches_with_loops_get_all_workers_since_nobody_knows_how_long_they_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = """\
again:
    add (M1_NM, 1) at(0,0)<1> at(0,0)<0;1,0> 0x0:ud
    cmp.lt (M1_NM, 1) P1 at(0,0)<0;1,0> 0x0:ud
    (P1) goto (M1_NM, 1) again
"""
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(64)))
    launcher = Launcher(monkeypatch, loop + FLAT)
    groups = 64 + LEAST_STEPS // (THREADS * launcher.prepared.code.traits.weight)
    out = array(groups)
    launcher.launch(out, 7, groups)
    assert np.array_equal(out, expected(7, groups))
    assert len(launcher.made[0].runners) == 64


def test_other_options_get_a_team_of_their_own(launcher: Launcher) -> None:
    out = array()
    for options in ({}, {"budget": 1000}, {"count_forms": True}, {}, {"budget": 1000}):
        found = launcher.launch(out, 3, **options)
        assert np.array_equal(out, expected(3))
        assert bool(found.forms) == ("count_forms" in options)
    assert len(launcher.made) == 3
    assert launcher.launch(out, budget=2).fault is not None


def test_a_dispatch_with_other_options_gives_its_team_back(launcher: Launcher) -> None:
    plan = launcher.plan(array(), 1)
    for _ in range(3):
        launcher.run(plan)
        launcher.run(plan, budget=1000)
    assert len(launcher.made) == 2


def test_no_handler_of_a_signal_can_run_when_a_launch_goes(launcher: Launcher) -> None:
    plan, called = launcher.plan(array(), 1), list[str]()
    launcher.run(plan)
    sys.setprofile(lambda frame, event, _: called.append(f"{event} {frame.f_code.co_name}"))
    del plan
    sys.setprofile(None)
    assert not [name for name in called if name.startswith("call")]
    launcher.launch(array())
    assert len(launcher.made) == 1


def test_idle_teams_are_limited(launcher: Launcher) -> None:
    plans = [launcher.plan(array(), number) for number in range(MOST_IDLE + 4)]
    for plan in plans:
        launcher.run(plan)
    assert len(launcher.made) == len(plans)
    teams = [weakref.ref(team) for team in launcher.made]
    launcher.made.clear()
    plans.clear()
    del plan
    gc.collect()
    assert sum(team() is not None for team in teams) <= MOST_IDLE + 1


def test_launches_of_several_threads_get_their_own_results(launcher: Launcher) -> None:
    wrong: list[int] = []

    def work(number: int) -> None:
        for value in range(20):
            out = array(8)
            launcher.launch(out, 1000 * number + value, 8)
            if not np.array_equal(out, expected(1000 * number + value, 8)):
                wrong.append(number)

    threads = [Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
