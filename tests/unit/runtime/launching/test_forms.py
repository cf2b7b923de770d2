"""Launches with the same options share what does not depend on arguments, and nothing else."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import visim
from tests.unit.runtime.launching.numbering import HEAD, STORE

GROUPS = 4


@pytest.fixture
def kernel():
    return visim.assemble(HEAD + STORE, platform="pvc")["k"]


def test_numbers_of_other_types_are_refused_after_launches_with_equal_ones(kernel):
    out = np.zeros(1, np.uint32)
    kernel.launch([out], thread_groups=1, group_size=(1, 1))
    with pytest.raises(visim.ArgumentError, match="thread_groups"):
        kernel.launch([out], thread_groups=True, group_size=(1, 1))
    with pytest.raises(visim.ArgumentError, match="group_size"):
        kernel.launch([out], thread_groups=1, group_size=(1.0, 1))


def test_options_that_change_between_launches_are_read_again(kernel):
    out, groups = np.zeros(GROUPS, np.uint32), [1]
    for count in (1, GROUPS):
        groups[0] = count
        assert kernel.launch([out], thread_groups=groups).groups == count
    collected = iter(["instructions"])
    assert kernel.launch([out], thread_groups=1, collect=collected).instructions
    assert kernel.launch([out], thread_groups=1, collect=iter(())).instructions is None


def test_nobody_keeps_what_options_hold(kernel):
    class Watching(visim.Observer):
        pass

    out, observer, surface = np.zeros(1, np.uint32), Watching(), np.zeros(4, np.uint32)
    gone = [weakref.ref(one) for one in (out, observer, surface)]
    kernel.launch([out], observers=[observer], surfaces={3: surface}, engine="jit")
    del out, observer, surface
    gc.collect()
    assert [one() for one in gone] == [None] * len(gone)


def test_wrong_options_stay_wrong(kernel):
    for _ in range(2):
        with pytest.raises(visim.ArgumentError, match="seed"):
            kernel.launch([np.zeros(1, np.uint32)], seed=-1)


class Number:
    """An integer that looks like all others of its kind."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number

    def __repr__(self) -> str:
        return "Number"


def test_numbers_that_look_the_same_are_told_apart(kernel):
    out = np.zeros(GROUPS, np.uint32)
    for count in (1, GROUPS):
        assert kernel.launch([out], thread_groups=[Number(count)]).groups == count


@pytest.mark.parametrize("engine", ["interpreter", "jit"])
@pytest.mark.parametrize("collect", [(), "taint"])
def test_nobody_keeps_the_memory_of_a_launch(kernel, engine, collect):
    out, surface = np.zeros(GROUPS, np.uint32), np.zeros(4, np.uint32)
    gone = [weakref.ref(one) for one in (out, surface)]
    chosen = None if collect else engine
    surfaces = {3: surface}
    bound = kernel.bind(
        [out], thread_groups=GROUPS, surfaces=surfaces, engine=chosen, collect=collect
    )
    bound()
    bound()
    del bound, out, surface, surfaces
    gc.collect()
    assert [one() for one in gone] == [None] * len(gone)


@pytest.mark.parametrize("engine", ["interpreter", "jit"])
def test_budgets_may_be_larger_than_any_count(kernel, engine):
    out = np.zeros(GROUPS, np.uint32)
    assert kernel.launch([out], thread_groups=GROUPS, engine=engine, budget=1 << 70).groups


CLOCK = "    mov (M1_NM, 1) number(0,0)<1> %tsc(0,0)<0;1,0>\n"


@pytest.mark.parametrize("engine", ["interpreter", "jit"])
def test_each_launch_counts_its_own_time(engine):
    kernel = visim.assemble(HEAD + CLOCK + STORE, platform="pvc")["k"]
    found = [np.zeros(GROUPS, np.uint32) for _ in range(3)]
    for out in found:
        kernel.launch([out], thread_groups=GROUPS, engine=engine)
    assert [out.tolist() for out in found] == [[3] * GROUPS] * 3


@pytest.mark.parametrize("engine", ["interpreter", "jit"])
def test_a_launch_that_runs_is_not_launched_again_by_its_observers(kernel, engine):
    class Again(visim.Observer):
        wanted = True

        def group_begin(self, event):
            if self.wanted:
                bound()

    observer, out = Again(), np.zeros(GROUPS, np.uint32)
    bound = kernel.bind([out], thread_groups=GROUPS, engine=engine, observers=[observer])
    with pytest.raises(visim.UnsupportedError, match="bind the kernel once more"):
        bound()
    observer.wanted = False
    assert bound().groups == GROUPS
