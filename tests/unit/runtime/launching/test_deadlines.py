"""A launch that is not done in time is a fault that says where it was."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from tests.unit.runtime.texts import LOOP, SCALE
from visim.errors import Fault
from visim.runtime.launching.deadlines import Deadline


@pytest.mark.parametrize("engine", ["interpreter", "jit"])
def test_a_thread_that_goes_on_for_ever_is_stopped_where_it_is(engine):
    kernel = visim.assemble(LOOP, platform="pvc")["endless"]
    with pytest.raises(visim.FaultError) as caught:
        kernel.launch([], engine=engine, timeout=0.1)
    fault = caught.value.fault
    assert (fault.category, fault.code, fault.kernel) == ("out-of-contract", "timeout", "endless")
    assert "0.1 seconds" in fault.message
    assert fault.instruction == "goto (M1, 8) again"
    assert caught.value.report.groups == 0


def test_a_launch_in_the_background_has_a_deadline_too():
    kernel = visim.assemble(LOOP, platform="pvc")["endless"]
    handle = kernel.launch([], timeout=0.1, wait=False)
    with pytest.raises(visim.FaultError, match="timeout"):
        handle.result()


@pytest.mark.parametrize("engine", ["interpreter", "jit"])
def test_a_launch_that_is_done_in_time_is_as_ever(engine):
    data = np.ones(64, np.float32)
    kernel = visim.assemble(SCALE, platform="pvc")["scale"]
    options = {"thread_groups": 4, "engine": engine, "timeout": np.float64(600)}
    report = kernel.launch([data, np.float32(2)], **options)
    assert report.groups == 4
    assert (data == 2).all()


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan"), "1", True, [1]])
def test_what_is_no_time_is_refused(seconds):
    kernel = visim.assemble(LOOP, platform="pvc")["endless"]
    with pytest.raises(visim.ArgumentError, match="timeout: expected a number of seconds"):
        kernel.launch([], timeout=seconds)


def test_a_run_that_somebody_else_has_stopped_is_not_late():
    class Set:
        def is_set(self) -> bool:
            return True

    deadline = Deadline(1.0, 0.0)
    assert deadline.is_over(None)
    assert not deadline.is_over(Set())
    assert deadline.fault(Fault("cancelled", "cancelled", ""), "k").code == "timeout"
