"""Groups that run at the same time have private memory of their own."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.runtime.kernels import (
    HEADER,
    ArgInfo,
    PayloadArgument,
    PerThreadMemoryBuffer,
    ZeBuilder,
    linked,
)
from visim.engine.base import RunOptions
from visim.runtime.launching.launch import make_engine
from visim.runtime.launching.running import run_plan
from visim.runtime.printf.records import current_receiver

BODY = """\
.version 4.1
.kernel "kernel"
.decl base v_type=G type=uq num_elts=1 align=qword
.decl out v_type=G type=uq num_elts=1 align=qword
.decl at v_type=G type=uq num_elts=1 align=qword
.decl where v_type=G type=uq num_elts=1 align=qword
.decl before v_type=G type=ud num_elts=1 align=dword
.decl after v_type=G type=ud num_elts=1 align=dword
.input base offset=160 size=8
.input out offset=168 size=8
.kernel_attr SimdSize=16
.function "main_0"

main_0:
    shl (M1_NM, 1) at(0,0)<1> %hw_id(0,0)<0;1,0> 0x6:ud
    add (M1_NM, 1) at(0,0)<1> at(0,0)<0;1,0> base(0,0)<0;1,0>
    lsc_load.ugm (M1_NM, 1) before:d32 flat[at]:a64
    add (M1_NM, 1) before(0,0)<1> before(0,0)<0;1,0> %group_id_x(0,0)<0;1,0>
    lsc_store.ugm (M1_NM, 1) flat[at]:a64 before:d32
    lsc_load.ugm (M1_NM, 1) after:d32 flat[at]:a64
    shl (M1_NM, 1) where(0,0)<1> %group_id_x(0,0)<0;1,0> 0x3:ud
    add (M1_NM, 1) where(0,0)<1> where(0,0)<0;1,0> out(0,0)<0;1,0>
    shl (M1_NM, 1) at(0,0)<1> %hw_id(0,0)<0;1,0> 0x2:ud
    add (M1_NM, 1) where(0,0)<1> where(0,0)<0;1,0> at(0,0)<0;1,0>
    lsc_store.ugm (M1_NM, 1) flat[where]:a64 after:d32
    ret (M1, 1)
"""
GROUPS = 3000


@pytest.mark.parametrize(("engine", "workers"), [("interpreter", 1), ("jit", 1), ("jit", 3)])
def test_private_memory_is_zero_at_first_and_keeps_what_its_thread_stores(engine, workers):
    groups = GROUPS if engine == "jit" else 20
    built = ZeBuilder(
        "dg2",
        16,
        payload=(
            *HEADER,
            PayloadArgument("private_base_stateless", 32, 8),
            PayloadArgument("arg_bypointer", 40, 8, 0, "stateless", "global", "readwrite"),
        ),
        args_info=[ArgInfo(0, "__global", "NONE", "int*;8", "NONE", "out")],
        per_thread_memory=[PerThreadMemoryBuffer("global", "private_space", 4, 0, True)],
    )
    built.linked = linked(BODY, "dg2")
    out = np.zeros(2 * groups, np.uint32)
    plan = built.plan([out], global_size=32 * groups, local_size=32)
    executable = make_engine(engine).prepare(built.linked)
    for _ in range(2):
        found = run_plan(plan, executable, RunOptions(workers=workers), current_receiver())
        assert found.exit.fault is None
        assert np.array_equal(out, np.repeat(np.arange(groups), 2))
