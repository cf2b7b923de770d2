"""Barriers that not all work-items come to, on both engines."""

import numpy as np
import pytest

import visim

DIVERGENT = """\
.version 3.6
.kernel "halves"
.kernel_attr SimdSize=16
.decl V32 v_type=G type=ud num_elts=16 align=GRF
.decl V33 v_type=G type=ud num_elts=1
.decl P1 v_type=P num_elts=16
.input V33 offset=64 size=4
mov (M1, 16) V32(0,0)<1> 0x76543210:uv
cmp.lt (M1, 16) P1 V32(0,0)<1;1,0> V33(0,0)<0;1,0>
(!P1) goto (M1, 16) behind
barrier
behind:
ret (M1, 16)
"""


@pytest.mark.parametrize("engine", ["interpreter", "jit"])
def test_a_barrier_that_some_channels_pass_by_is_found(engine: str):
    kernel = visim.assemble(DIVERGENT, platform="tgllp").kernels[0]
    report = kernel.launch([np.uint32(5)], group_size=1, engine=engine, sanitize="barriers")
    (finding,) = report.findings
    assert finding.kind == "barrier-divergence"
    assert finding.severity == "error"
    assert finding.locations[0][1] == 11
    assert finding.actors[0].channel == 0
    assert "10 of the 16" in finding.message


@pytest.mark.parametrize("engine", ["interpreter", "jit"])
@pytest.mark.parametrize("least", [0, 8])
def test_a_barrier_that_all_channels_come_to_is_well(engine: str, least: int):
    kernel = visim.assemble(DIVERGENT, platform="tgllp").kernels[0]
    report = kernel.launch([np.uint32(least)], group_size=1, engine=engine, sanitize="barriers")
    assert report.findings == ()


DIFFERENT = """\
.version 3.6
.kernel "two"
.kernel_attr SimdSize=16
.decl P1 v_type=P num_elts=1
cmp.eq (M1, 1) P1 r0(0,2)<0;1,0> 0x0:ud
(!P1) jmp (M1, 1) other
barrier
ret (M1, 1)
other:
barrier
ret (M1, 1)
"""


@pytest.mark.parametrize("engine", ["interpreter", "jit"])
def test_threads_that_meet_at_different_barriers_are_found(engine: str):
    text = DIFFERENT.replace("r0(", "%r0(")
    kernel = visim.assemble(text, platform="tgllp").kernels[0]
    report = kernel.launch([], group_size=2, engine=engine, sanitize="all")
    (finding,) = report.findings
    assert finding.kind == "barrier-divergence"
    assert [line for _, line in finding.locations] == [7, 10]


@pytest.mark.parametrize("engine", ["interpreter", "jit"])
def test_a_group_that_cannot_go_on_says_what_was_found_before(engine: str):
    text = DIFFERENT.replace("r0(", "%r0(").replace("other:\nbarrier\n", "other:\n")
    kernel = visim.assemble(text, platform="tgllp").kernels[0]
    with pytest.raises(visim.FaultError) as caught:
        kernel.launch([], group_size=2, engine=engine, sanitize="all")
    (finding,) = caught.value.report.findings
    assert finding.kind == "barrier-divergence"
    assert "thread 1" in finding.message
