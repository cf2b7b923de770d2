"""Buffers that kernels reach by the binding table alone: races, bounds, and values of old runs."""

import numpy as np
import pytest

import visim

ENGINES = pytest.mark.parametrize("engine", ["interpreter", "jit"])

GROUPS = """\
.version 3.6
.kernel "groups"
.kernel_attr SimdSize=16
.decl V32 v_type=G type=ud num_elts=1 align=GRF
.decl V33 v_type=G type=ud num_elts=16 align=GRF
.decl V34 v_type=G type=ud num_elts=16 align=GRF
.decl T6 v_type=T num_elts=1 v_name=T6
.input V32 offset=64 size=4
.input T6 offset=68 size=4
mov (M1, 16) V33(0,0)<1> 0x76543210:uv
add (M1, 8) V33(0,8)<1> V33(0,0)<1;1,0> 0x8:ud
shl (M1, 16) V33(0,0)<1> V33(0,0)<1;1,0> 0x2:ud
mov (M1, 16) V34(0,0)<1> %group_id_x(0,0)<0;1,0>
mul (M1, 16) V34(0,0)<1> V34(0,0)<1;1,0> V32(0,0)<0;1,0>
add (M1, 16) V33(0,0)<1> V33(0,0)<1;1,0> V34(0,0)<1;1,0>
scatter4_scaled.R (M1, 16) T6 0x0:ud V33.0 V34.0
ret (M1, 16)
"""
"""Each group writes 16 dwords, so many bytes behind those of the group before as it is told."""


def findings(step: int, elements: int, engine: str) -> tuple[visim.Finding, ...]:
    kernel = visim.assemble(GROUPS, platform="tgllp").kernels[0]
    given = [np.uint32(step), np.zeros(elements, np.uint32)]
    run = kernel.launch(given, group_size=1, thread_groups=4, engine=engine, sanitize="all")
    return run.findings


@ENGINES
def test_groups_with_parts_of_their_own_are_well(engine: str):
    assert findings(64, 64, engine) == ()


@ENGINES
def test_groups_race_by_the_binding_table(engine: str):
    (finding,) = findings(32, 64, engine)
    assert (finding.kind, finding.buffer) == ("race-global", "T6")
    assert {line for _, line in finding.locations} == {16}
    assert "T6[8] of 64" in finding.message


@ENGINES
def test_an_access_behind_a_surface_names_it(engine: str):
    (finding,) = findings(64, 60, engine)
    assert (finding.kind, finding.buffer, finding.count) == ("oob-write", "T6", 4)
    assert "T6[60] of 60" in finding.message
