"""Several workers: the same results, and of several faults that of the lowest group."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from tests.unit.runtime.launching.numbering import GROUPS, HEAD, MEETING, STORE

pytestmark = pytest.mark.usefixtures("each_engine")


@pytest.fixture(params=["", MEETING], ids=["alone", "named barriers"])
def kernel(request):
    return visim.assemble(HEAD + request.param + STORE, platform="pvc")["k"]


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_every_group_runs_once(kernel, workers):
    out = np.zeros(GROUPS, np.uint32)
    report = kernel.launch([out], thread_groups=GROUPS, group_size=2, workers=workers)
    assert report.groups == GROUPS
    assert np.array_equal(out, np.arange(GROUPS) + 1)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_fault_of_the_lowest_group_is_reported(kernel, workers):
    out = np.zeros(GROUPS, np.uint32)
    with pytest.raises(visim.FaultError) as error:
        kernel.launch([out[:123]], thread_groups=GROUPS, group_size=2, workers=workers)
    assert (error.value.fault.group, error.value.fault.thread) == ((123, 0, 0), 0)
    assert error.value.report.groups == 123
    assert not out[123:].any()
