"""The compiled simulation gives the numbers of the plain one."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.timing.programs import kernel, multiply, multiply_add
from visim.timing import Timing
from visim.timing.legaliser import legalise
from visim.timing.machine import ARCHITECTURES
from visim.timing.model import simulate_work

LINES = st.sampled_from(
    [
        multiply(40, 32),
        multiply(32, 41),
        multiply_add(41, 40, 33, 40),
        "sqrt (M1, 8) V42(0,0)<1> V40(0,0)<1;1,0>",
        "mul (M1, 8) V43(0,0)<1> V43(0,0)<1;1,0> V42(0,0)<1;1,0>",
    ]
)


def both_ways(program, arch, threads, group_size, **parameters):
    """Return the results of the plain and the compiled simulation."""
    timing = Timing(arch, parameters=parameters)
    program.launch([], thread_groups=threads, group_size=group_size, observers=[timing])
    native = legalise(timing._kernel, timing.machine)
    work = timing._paths.work(native, timing._slm_bytes)
    return [
        simulate_work(native, work, events=500, use_compiled=chosen) for chosen in (False, True)
    ]


def check_equal(plain, fast):
    assert plain.to_dict() == fast.to_dict()
    assert plain.spans == fast.spans
    assert plain.events == fast.events


@settings(max_examples=25, deadline=None)
@given(
    parts=st.lists(st.lists(LINES, max_size=12), min_size=1, max_size=4),
    arch=st.sampled_from(ARCHITECTURES[2:]),
    threads=st.integers(1, 12),
    group_size=st.integers(1, 4),
    parameters=st.fixed_dictionaries(
        {"eus": st.integers(1, 3)},
        optional={
            "memory": st.integers(0, 300),
            "l1_ways": st.integers(0, 4),
            "switch_cycles": st.integers(0, 3),
            "issue_align": st.integers(1, 3),
            "dispatch_cycles": st.integers(0, 50),
            "policy": st.sampled_from(["stay", "round-robin"]),
        },
    ),
)
def test_drawn_programs_have_equal_counters(parts, arch, threads, group_size, parameters):
    body = [line for part in parts for line in (*part, "barrier")]
    check_equal(*both_ways(kernel(body), arch, threads, group_size, **parameters))
