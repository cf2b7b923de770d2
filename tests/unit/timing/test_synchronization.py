"""What threads wait for: barriers of the group and of some of its threads, and earlier threads."""

from __future__ import annotations

import pytest

from tests.unit.timing.programs import FREE_FETCH, chain, kernel, multiply, timed
from visim.errors import UnsupportedError
from visim.timing import Timing, model

SIGNAL, WAIT = "nbarrier.signal 0x3:ub 0x4:ub", "nbarrier.wait 0x3:ub"


def waits(result):
    return [line.stalls["sync"] for line in result.lines if "wait" in line.text]


@pytest.mark.parametrize("halves", [("sbarrier.signal", "sbarrier.wait"), (SIGNAL, WAIT)])
def test_what_stands_between_the_halves_of_a_barrier_hides_its_latency(halves):
    signal, wait = halves
    body = [multiply(32, 32)] * 2
    split = timed(kernel([signal, *body, wait], platform="pvc"), "pvc", group_size=4)
    joined = timed(kernel([signal, wait, *body], platform="pvc"), "pvc", group_size=4)
    assert 0 < waits(split)[0] < waits(joined)[0]


def test_a_named_barrier_holds_only_the_threads_that_it_names():
    """Threads of a group of eight meet in phases of four."""
    body = [SIGNAL, WAIT, multiply(32, 33)] * 2
    result = timed(kernel(body, platform="pvc"), "pvc", group_size=8)
    assert [line.executions for line in result.lines if line.text.strip() == WAIT] == [8, 8]
    assert sum(result.stalls.values()) == result.cycles * result.slots


def test_generations_without_named_barriers_refuse_them():
    with pytest.raises(UnsupportedError, match="dg2 has no named barriers"):
        timed(kernel([SIGNAL, WAIT], platform="pvc"), "dg2", group_size=4)


def test_a_named_barrier_whose_threads_only_the_run_knows_is_an_error():
    variable = ".decl V90 v_type=G type=ub num_elts=1 align=GRF"
    body = ["mov (M1_NM, 1) V90(0,0)<1> 0x4:ub", "nbarrier.signal 0x3:ub V90(0,0)<0;1,0>", WAIT]
    program = kernel(body, platform="pvc", declarations=[variable])
    with pytest.raises(UnsupportedError, match="make it an immediate"):
        timed(program, "pvc", group_size=4)


@pytest.mark.parametrize(
    ("pattern", "lengths"), [("none", 1), ("vertical", 4), ("horizontal", 3), ("wavefront", 6)]
)
def test_threads_of_a_space_start_when_those_that_they_depend_on_have_ended(pattern, lengths):
    """A space of 4 x 3 threads: its longest way has as many threads one after another."""
    timing = Timing("skl", dependency=pattern, parameters=FREE_FETCH)
    chain(5).launch([], thread_space=(4, 3), dependency=pattern, observers=[timing])
    one = timed(chain(5), "skl", **FREE_FETCH).cycles
    assert timing.result.cycles == lengths * one


def test_vectors_make_threads_wait_too():
    timing = Timing("skl", dependency=[(-1, -1)], parameters=FREE_FETCH)
    chain(5).launch([], thread_space=(4, 3), dependency=[(-1, -1)], observers=[timing])
    begins = sorted({span.begin for span in timing.result.spans})
    assert len(begins) == 3


@pytest.mark.parametrize(
    ("body", "launch"),
    [
        ([SIGNAL, multiply(32, 33), WAIT], {"thread_groups": 2, "group_size": 4}),
        ([multiply(32, 33)], {"thread_space": (4, 3), "dependency": "wavefront"}),
    ],
)
def test_native_code_has_the_same_barriers_and_orders(body, launch, monkeypatch):
    results = []
    for limit in (0, 1 << 60):
        monkeypatch.setattr(model, "WORTH_COMPILING", limit)
        timing = Timing("pvc", dependency=launch.get("dependency", "none"))
        kernel(body, platform="pvc").launch([], **launch, observers=[timing])
        results.append(timing.result.to_dict())
    assert results[0] == results[1]


def test_raw_messages_are_timed_as_what_their_bits_say():
    variables = [f".decl V{n} v_type=G type=ud num_elts=8 align=GRF" for n in (90, 91)]
    body = [
        "mov (M1, 8) V91(0,0)<1> 0x40:ud",
        "raw_send (M1, 8) 0xc 1 1  0x2106efe:ud V91.0 V90.0",
    ]
    attributes = [".kernel_attr SLMSize=1"]
    result = timed(kernel(body, declarations=variables, attributes=attributes), "skl")
    kinds = [item.kind for line in result.lines for item in line.native]
    assert "message.slm.load" in kinds
