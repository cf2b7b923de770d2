"""Instruction fetch around the 64 lines of Gen6's first cache."""

from __future__ import annotations

import pytest

from tests.unit.timing.programs import PASSES, loop, timed
from visim.timing import Timing


@pytest.mark.parametrize("lines", [8, 40, 62])
def test_a_loop_that_fits_misses_in_its_first_pass_only(lines):
    result = timed(loop(4 * lines), "snb")
    assert result.icache["l1_misses"] <= lines + 2
    assert result.icache["l1_hits"] >= (PASSES - 1) * lines


@pytest.mark.parametrize("lines", [66, 80])
def test_a_loop_that_does_not_fit_misses_every_line(lines):
    result = timed(loop(4 * lines), "snb")
    assert result.icache["l1_hits"] <= PASSES
    assert result.icache["l1_misses"] >= PASSES * lines
    assert result.icache["l2_misses"] <= lines + 2, "it fits the 384 lines of the second cache"


def test_a_loop_that_does_not_fit_costs_more_a_pass():
    fits, exceeds = (timed(loop(4 * lines), "snb") for lines in (60, 68))
    assert exceeds.cycles / 68 > fits.cycles / 60
    assert exceeds.stalls["ifetch"] > 1.5 * fits.stalls["ifetch"]


def test_cores_of_a_row_share_the_misses():
    program = loop(40)
    results = []
    for cores in (1, 3):
        timing = Timing("snb", parameters={"eus": 3, "slots": 1, "l1_cores": cores})
        program.launch([], thread_groups=3, observers=[timing])
        results.append(timing.result.icache["l1_misses"])
    assert results[0] == 3 * results[1]


def test_free_fetch_counts_nothing():
    result = timed(loop(40), "snb", memory=0)
    assert result.stalls["ifetch"] == 0
    assert set(result.icache.values()) == {0}
