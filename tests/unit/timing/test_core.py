"""Properties of the core: conservation, agreement with one thread alone, monotonic answers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.timing.programs import FREE_FETCH, kernel, multiply, multiply_add, timed
from visim.errors import UnsupportedError
from visim.timing.single import thread_cycles

OPERATIONS = st.tuples(st.integers(0, 3), st.integers(32, 50), st.integers(32, 50))


def bodies():
    """Draw straight programs of products, multiply-adds, math and integer sums."""

    def text(operation):
        kind, target, source = operation
        match kind:
            case 0:
                return multiply(target, source)
            case 1:
                return multiply_add(target, source, target, 51)
            case 2:
                return f"sqrt (M1, 8) V{target}(0,0)<1> V{source}(0,0)<1;1,0>"
            case _:
                return f"mov (M1, 8) V{target}(0,0)<1> V{source}(0,0)<1;1,0>"

    return st.lists(OPERATIONS.map(text), min_size=1, max_size=30)


@settings(max_examples=25, deadline=None)
@given(
    body=bodies(),
    arch=st.sampled_from(["ilk", "snb", "hsw", "skl", "icl", "dg2"]),
    threads=st.integers(1, 9),
)
def test_categories_cover_every_cycle_of_every_slot(body, arch, threads):
    result = timed(kernel(body), arch, threads)
    assert sum(result.stalls.values()) == result.cycles * result.slots
    assert all(cycles >= 0 for cycles in result.stalls.values())
    assert sum(line.cycles for line in result.lines) == sum(result.stalls.values()) - result.idle
    assert result.native == sum(line.issued for line in result.lines)
    assert max(span.end for span in result.spans) == result.cycles


@settings(max_examples=25, deadline=None)
@given(body=bodies(), arch=st.sampled_from(["ilk", "snb"]))
def test_one_thread_in_a_core_is_one_thread_alone(body, arch):
    """Where each class of instructions has one unit and fetches are free."""
    result = timed(kernel(body), arch, 1, **FREE_FETCH)
    natives = result.program.instructions
    assert result.cycles == thread_cycles(natives, result.program.machine)


@settings(max_examples=15, deadline=None)
@given(body=bodies(), arch=st.sampled_from(["snb", "skl"]))
def test_more_threads_are_never_slower_than_the_same_work_in_turn(body, arch):
    program = kernel(body)
    one = timed(program, arch, 1, **FREE_FETCH).cycles
    previous = 0
    for threads in (1, 2, 4, 5):
        cycles = timed(program, arch, threads, slots=5, **FREE_FETCH).cycles
        assert previous <= cycles <= threads * one
        previous = cycles


@settings(max_examples=15, deadline=None)
@given(body=bodies(), more=st.integers(1, 60))
def test_longer_fetches_are_never_faster_for_one_thread(body, more):
    program = kernel(body)
    base = timed(program, "snb", 1)
    slower = timed(program, "snb", 1, memory=200 + more, l1_hit=4 + more)
    assert slower.cycles >= base.cycles
    assert slower.stalls["active"] == base.stalls["active"]


def test_threads_beyond_the_slots_start_when_others_have_ended():
    result = timed(kernel([multiply(32, 33)] * 4), "snb", 12, slots=5)
    ends = sorted(span.end for span in result.spans)
    begins = sorted(span.begin for span in result.spans)
    assert begins[:5] == [0] * 5
    assert begins[5:] == ends[:7]
    assert result.occupancy > 0.5


def test_a_barrier_holds_all_threads_of_its_group():
    body = ["barrier", multiply(32, 33), "barrier"]
    result = timed(kernel(body), "skl", 2, group_size=3)
    waits = [line for line in result.lines if line.text == "barrier"]
    assert [line.executions for line in waits] == [6, 6]
    assert result.stalls["sync"] > 0


def test_a_group_that_never_fits_is_an_error():
    with pytest.raises(UnsupportedError, match="6 hardware threads, there is room for 5"):
        _ = timed(kernel([multiply(32, 33)]), "snb", 1, group_size=6)
