"""Launches with the same options share what does not depend on arguments, and nothing else."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import visim
from tests.unit.runtime.test_workers import HEAD, STORE

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
