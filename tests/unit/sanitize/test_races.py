"""Races of programs in vISA text, on both engines: what orders accesses, and what does not."""

import numpy as np
import pytest

import visim

ENGINES = pytest.mark.parametrize("engine", ["interpreter", "jit"])

NEIGHBOURS = """\
.version 3.6
.kernel "neighbours"
.kernel_attr SimdSize=16
.kernel_attr SLMSize=1
.decl V32 v_type=G type=ud num_elts=16 align=GRF
.decl V33 v_type=G type=ud num_elts=16 align=GRF
.decl V34 v_type=G type=ud num_elts=16 align=GRF
.decl V35 v_type=G type=ud num_elts=1
mov (M1, 16) V32(0,0)<1> 0x76543210:uv
add (M1, 8) V32(0,8)<1> V32(0,0)<1;1,0> 0x8:ud
and (M1, 1) V35(0,0)<1> %r0(0,2)<0;1,0> 0xff:ud
shl (M1, 1) V35(0,0)<1> V35(0,0)<0;1,0> 0x4:ud
add (M1, 16) V32(0,0)<1> V32(0,0)<1;1,0> V35(0,0)<0;1,0>
scatter4_scaled.R (M1, 16) %slm 0x0:ud V33.0 V32.0
{between}
add (M1, 16) V33(0,0)<1> V33(0,0)<1;1,0> 0x40:ud
and (M1, 16) V33(0,0)<1> V33(0,0)<1;1,0> 0x7f:ud
gather4_scaled.R (M1, 16) %slm 0x0:ud V33.0 V34.0
ret (M1, 16)
"""
"""Each of two threads writes its own dwords of SLM, and reads the other's."""

_SHIFT = "shl (M1, 16) V33(0,0)<1> V32(0,0)<1;1,0> 0x2:ud\n"


def neighbours(between: str, platform: str = "tgllp") -> visim.Kernel:
    text = NEIGHBOURS.replace("scatter4", f"{_SHIFT}scatter4", 1)
    return visim.assemble(text.format(between=between), platform=platform).kernels[0]


@ENGINES
@pytest.mark.parametrize(
    "between",
    [
        "fence_local.E\nbarrier",
        "fence_local.E\nfence_global.EL1\nbarrier",
        "fence_local.E\nsbarrier.signal\nsbarrier.wait",
    ],
)
def test_a_barrier_with_its_fence_orders_local_memory(engine: str, between: str):
    report = neighbours(between).launch([], group_size=2, engine=engine, sanitize="races")
    assert report.findings == ()


@ENGINES
@pytest.mark.parametrize(
    ("between", "advice"),
    [
        ("", "put barrier"),
        ("fence_local.E", "put barrier"),
        ("barrier", "without a fence for local memory"),
        ("fence_global.EL1\nbarrier", "without a fence for local memory"),
        ("barrier\nfence_local.E", "without a fence for local memory"),
    ],
)
def test_what_does_not_order_local_memory_is_a_race(engine: str, between: str, advice: str):
    report = neighbours(between).launch([], group_size=2, engine=engine, sanitize="races")
    (finding,) = report.findings
    assert (finding.kind, finding.severity) == ("race-local", "error")
    last = 18 + len(between.split("\n"))
    assert [line for _, line in finding.locations] == [15, last]
    assert {actor.thread for actor in finding.actors} == {0, 1}
    assert advice in finding.advice


def test_a_split_barrier_lets_what_stands_inside_race():
    inside = "fence_local.E\nsbarrier.signal\n{}\nsbarrier.wait"
    store = "scatter4_scaled.R (M1, 16) %slm 0x0:ud V33.0 V32.0"
    report = neighbours(inside.format(store)).launch([], group_size=2, sanitize="races")
    assert {finding.kind for finding in report.findings} == {"race-local"}


ALL_WRITE = """\
.version 3.6
.kernel "all"
.kernel_attr SimdSize=16
.decl V32 v_type=G type=uq num_elts=1 align=GRF
.decl V33 v_type=G type=uq num_elts=16 align=GRF
.decl V34 v_type=G type=ud num_elts=16 align=GRF
.input V32 offset=64 size=8
mov (M1, 16) V33(0,0)<1> V32(0,0)<0;1,0>
mov (M1, 16) V34(0,0)<1> {value}
lsc_store.ugm (M1, 16) flat[V33]:a64 V34:d32
ret (M1, 16)
"""


@ENGINES
@pytest.mark.parametrize(
    ("value", "kind", "severity"),
    [
        ("0x7:ud", "race-same-value", "warning"),
        ("0x76543210:uv", "race-global", "error"),
    ],
)
def test_channels_of_one_instruction_race(engine: str, value: str, kind: str, severity: str):
    kernel = visim.assemble(ALL_WRITE.format(value=value), platform="pvc").kernels[0]
    data = np.zeros(4, np.uint32)
    report = kernel.launch([data], group_size=1, engine=engine, sanitize="races")
    (finding,) = report.findings
    assert (finding.kind, finding.severity, finding.buffer) == (kind, severity, "V32")
    assert "V32[0] of 4" in finding.message


@ENGINES
@pytest.mark.parametrize("workers", [1, 2])
def test_groups_race_whatever_their_order(engine: str, workers: int):
    text = ALL_WRITE.format(value="%group_id_x(0,0)<0;1,0>").replace("(M1, 16)", "(M1_NM, 1)")
    kernel = visim.assemble(text.replace("(M1_NM, 1)\n", "(M1, 16)\n"), platform="pvc").kernels[0]
    data = np.zeros(4, np.uint32)
    found = [
        kernel.launch(
            [data], thread_groups=4, engine=engine, workers=workers, seed=seed, sanitize="races"
        ).findings
        for seed in (0, 1, 2)
    ]
    for findings in found:
        (finding,) = findings
        assert finding.kind == "race-global"
        assert len({actor.group for actor in finding.actors}) == 2
