"""The compiled simulation gives the numbers of the plain one."""

from __future__ import annotations

import pytest

from tests.unit.timing.programs import kernel, multiply, multiply_add
from visim.timing import Timing, compiled
from visim.timing.legaliser import legalise
from visim.timing.model import simulate_work


@pytest.mark.skipif(not compiled.is_available(), reason="Numba is not installed (extra timing)")
@pytest.mark.parametrize("arch", ["ivb", "skl"])
def test_all_counters_are_equal(arch):
    body = [multiply(40, 32), "barrier", multiply_add(41, 40, 33, 40), "barrier"]
    timing = Timing(arch, parameters={"eus": 3})
    kernel(body * 4).launch([], thread_groups=5, group_size=2, observers=[timing])
    program = legalise(timing._kernel, timing.machine)
    work = timing._work(program)
    plain, fast = (
        simulate_work(program, work, events=500, use_compiled=chosen) for chosen in (False, True)
    )
    assert plain.to_dict() == fast.to_dict()
    assert plain.spans == fast.spans
    assert plain.events == fast.events
