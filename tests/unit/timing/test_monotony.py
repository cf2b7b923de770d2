"""Answers that go one way: more threads, longer latencies, caches that are too small."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.timing.programs import FREE_FETCH, kernel, loop, multiply, timed
from visim.errors import ArgumentError, UnsupportedError
from visim.timing import ARCHITECTURES, find_machine
from visim.timing.machine import Machine
from visim.timing.native import Native
from visim.timing.single import thread_cycles

KINDS = ["alu", "alu.float", "logic", "math.sqrt", "message.surface.load"]


def natives():
    """Draw instructions of one thread: kinds, a register written, two read."""
    register = st.integers(2, 20)
    return st.lists(st.tuples(st.sampled_from(KINDS), register, register, register), max_size=25)


def program(drawn):
    return [
        Native(
            "op",
            8,
            0,
            kind,
            0,
            ((a,), (b,)),
            (a, b),
            (target,),
            (a,) if kind.startswith("message") else (),
            sd=1,
            sx=1,
            ss=1,
        )
        for kind, target, a, b in drawn
    ]


def slower(machine: Machine, kind: str, cycles: int) -> Machine:
    cost = machine.cost(kind)
    changed = replace(cost, ld_1=cost.ld_1 + cycles)
    return replace(machine, costs={**machine.costs, kind: changed})


@settings(max_examples=40, deadline=None)
@given(
    drawn=natives(),
    arch=st.sampled_from(ARCHITECTURES),
    kind=st.sampled_from(KINDS),
    cycles=st.integers(0, 300),
)
def test_longer_latencies_are_never_faster_for_one_thread(drawn, arch, kind, cycles):
    machine = find_machine(arch)
    instructions = program(drawn)
    before = thread_cycles(instructions, machine)
    assert thread_cycles(instructions, slower(machine, kind, cycles)) >= before


@settings(max_examples=15, deadline=None)
@given(
    length=st.integers(1, 12),
    arch=st.sampled_from(["snb", "ivb", "skl", "tgl", "pvc"]),
    slots=st.integers(1, 6),
)
def test_more_slots_are_slower_by_no_more_than_the_last_threads_alone(length, arch, slots):
    """Twelve threads do not divide among all numbers of slots, so a few may be left at the end."""
    body = [multiply(32 + i % 3, 32 + i % 3) for i in range(length)]
    work = kernel(body, platform="pvc" if arch == "pvc" else "skl")
    few, more = (timed(work, arch, 12, slots=n, **FREE_FETCH) for n in (slots, slots + 1))
    alone = timed(work, arch, 1, **FREE_FETCH)
    assert more.cycles < few.cycles + alone.cycles


@settings(max_examples=3, deadline=None)
@given(fits=st.integers(4, 60), exceeds=st.integers(66, 90))
def test_a_loop_that_fits_the_cache_costs_less_a_line_than_one_that_does_not(fits, exceeds):
    inside, outside = (timed(loop(4 * lines), "snb") for lines in (fits, exceeds))
    assert inside.icache["l1_misses"] < outside.icache["l1_misses"]
    assert inside.icache["l1_misses"] <= fits + 2


@pytest.mark.parametrize("arch", ["gen99", ""])
def test_unknown_generations_are_errors(arch):
    with pytest.raises(ArgumentError, match="no architecture"):
        find_machine(arch)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_unknown_messages_are_errors_on_every_generation(arch):
    unknown = Native("send", 8, 0, "message.telepathy", 0)
    with pytest.raises(UnsupportedError, match="has no message 'telepathy'"):
        thread_cycles([unknown], find_machine(arch))
