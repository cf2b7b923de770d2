"""The error that is stated of a sample: larger where lines are scattered, and large enough."""

from __future__ import annotations

import numpy as np
import pytest

import visim
import visim.opencl
from visim.timing import Timing, TimingResult
from visim.timing.sampling import scattered_in

SOURCE = """
kernel void scatter(global int *y, global const int *rows, global const int *values) {
    int i = get_global_id(0);
    atomic_add(&y[rows[i]], values[i]);
}
kernel void stream(global int *y, global const int *rows, global const int *values) {
    int i = get_global_id(0);
    y[i] = rows[i] * values[i];
}
"""
ITEMS = 1 << 17


@pytest.fixture(scope="module")
def program() -> visim.Program:
    """The program of all tests."""
    try:
        return visim.opencl.build(SOURCE, device="tgllp")
    except visim.ToolMissing as missing:
        pytest.skip(str(missing))


def timed(program: visim.Program, kernel: str, *, sample: bool) -> TimingResult:
    """Return what a launch takes."""
    rng = np.random.default_rng(5)
    rows = rng.integers(0, 1 << 12, ITEMS).astype(np.int32)
    timing = Timing("tgl", sample=sample)
    arguments = [np.zeros(ITEMS, np.int32), rows, np.ones(ITEMS, np.int32)]
    program[kernel].launch(arguments, global_size=ITEMS, local_size=64, observers=[timing])
    return timing.result


@pytest.mark.parametrize("kernel", ["scatter", "stream"])
def test_the_stated_error_holds_and_knows_scattered_lines(
    program: visim.Program, kernel: str
) -> None:
    whole, found = (timed(program, kernel, sample=one) for one in (False, True))
    assert found.sample is not None
    assert abs(found.sample.cycles / whole.cycles - 1) < found.sample.error
    assert (scattered_in(found.lines) > 0.8) == (kernel == "scatter")
    assert (found.sample.error > 0.25) == (kernel == "scatter")
