"""A kernel that stores a value plus its group's number: made, launched and checked."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import visim
from tests.unit.runtime.kernels import (
    HEADER,
    ArgInfo,
    BindingTableIndex,
    PayloadArgument,
    ZeBuilder,
    linked,
)
from visim.engine.base import RunOptions
from visim.engine.jit import Prepared
from visim.engine.jit.launch.workers import Team
from visim.runtime.building.loading import Contents, LoadedKernel
from visim.runtime.launching.launch import Launch
from visim.runtime.launching.running import run_plan
from visim.runtime.printf.records import current_receiver
from visim.runtime.program import Program
from visim.target import platform

HEAD = """\
.version 4.1
.kernel "kernel"
.decl out v_type=G type=uq num_elts=1 align=qword
.decl where v_type=G type=uq num_elts=1 align=qword
.decl value v_type=G type=ud num_elts=1 align=dword
.decl at v_type=G type=ud num_elts=1 align=dword
.decl real v_type=G type=f num_elts=1 align=dword
.decl P1 v_type=P num_elts=1
.input out offset=160 size=8
.input value offset=168 size=4
.kernel_attr SimdSize=16
.function "main_0"

main_0:
    add (M1_NM, 1) value(0,0)<1> value(0,0)<0;1,0> %group_id_x(0,0)<0;1,0>
    shl (M1_NM, 1) at(0,0)<1> %group_id_x(0,0)<0;1,0> 0x3:ud
    shl (M1_NM, 1) where(0,0)<1> %hw_id(0,0)<0;1,0> 0x2:ud
    add (M1_NM, 1) where(0,0)<1> where(0,0)<0;1,0> at(0,0)<0;1,0>
"""
_WHOLE = """\
.decl inputs v_type=G type=ud num_elts=35 align=dword
.decl ids v_type=G type=uw num_elts=48 align=word alias=<inputs, 0>
"""
TOGETHER = (
    HEAD.replace(".decl out", _WHOLE + ".decl out")
    .replace("align=qword", "align=qword alias=<inputs, 128>", 1)
    .replace(
        "type=ud num_elts=1 align=dword", "type=ud num_elts=1 align=dword alias=<inputs, 136>", 1
    )
    .replace(".input out", ".input ids offset=32 size=96\n.input out")
)
"""Local ids, in which threads differ, and arguments are one variable."""
FLAT = """\
    add (M1_NM, 1) where(0,0)<1> where(0,0)<0;1,0> out(0,0)<0;1,0>
    lsc_store.ugm (M1_NM, 1) flat[where]:a64 value:d32
    ret (M1, 1)
"""
BOUND = """\
    add (M1_NM, 1) at(0,0)<1> where(0,0)<0;1,0> 0x0:ud
    lsc_store.ugm (M1_NM, 1) bti(0x2)[at]:a32 value:d32
    ret (M1, 1)
"""
CALLING_OUT = (
    """\
    and (M1_NM, 1) at(0,0)<1> value(0,0)<0;1,0> 0x30:ud
    or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> at(0,0)<0;1,0>
    mov (M1_NM, 1) real(0,0)<1> value(0,0)<0;1,0>
    mul (M1_NM, 1) real(0,0)<1> real(0,0)<0;1,0> 0x40400000:f
    mov (M1_NM, 1) value(0,0)<1> real(0,0)<0;1,0>
"""
    + FLAT
)
"""It stores three times the value, rounded in a mode that is computed: that is called out."""
LONG = "    add (M1_NM, 1) value(0,0)<1> value(0,0)<0;1,0> %hw_id(0,0)<0;1,0>\n" * 200
"""Takes LLVM a while."""
THREADS = 2
GROUPS = 4
POINTER = "arg_bypointer", 32, 8, 0, "stateless", "global", "readwrite"


def storing(body: str = FLAT, head: str = HEAD) -> ZeBuilder:
    """A kernel that stores a value plus the group's number."""
    built = ZeBuilder(
        "dg2",
        16,
        payload=(
            *HEADER,
            PayloadArgument(*POINTER),
            PayloadArgument("arg_byvalue", 40, 4, 1),
        ),
        args_info=[
            ArgInfo(0, "__global", "NONE", "int*;8", "NONE", "out"),
            ArgInfo(1, "__private", "NONE", "int;4", "NONE", "value"),
        ],
        binding_table=[BindingTableIndex(2, 0)] if body is BOUND else [],
    )
    built.linked = linked(head + body, "dg2")
    return built


class Launcher:
    """A kernel that stores a value plus the group's number, a prepared JIT, its teams."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, body: str = FLAT, head: str = HEAD) -> None:
        self.built = storing(body, head)
        self.prepared = Prepared(self.built.linked)
        self.made: list[Team] = []
        make = Team.__init__

        def noted(team: Team, *given: object) -> None:
            self.made.append(team)
            make(team, *given)

        monkeypatch.setattr(Team, "__init__", noted)

    def plan(self, out: np.ndarray, value: int = 0, groups: int = 4):
        return self.built.plan([out, value], global_size=32 * groups, local_size=32)

    def run(self, plan, **options: object):
        chosen = RunOptions(**options)
        return run_plan(plan, self.prepared, chosen, current_receiver()).exit

    def launch(self, out: np.ndarray, value: int = 0, groups: int = 4, **options: object):
        return self.run(self.plan(out, value, groups), **options)


def array(groups: int = 4) -> np.ndarray:
    return np.zeros(THREADS * groups, np.uint32)


def expected(value: int, groups: int = 4) -> np.ndarray:
    return np.repeat(np.arange(groups, dtype=np.uint32) + value, THREADS)


def kernel(body: str = FLAT) -> visim.Kernel:
    built = storing(body)
    loaded = LoadedKernel(built.linked.kernel, built.kernel)
    contents = Contents("k", "zebin", "1", (4, 1), platform("dg2"), (loaded,), ())
    return Program(contents).kernels[0]


def bound(one: visim.Kernel, out: np.ndarray, **options: object) -> Launch:
    sizes = {"global_size": 32 * GROUPS, "local_size": 32}
    return one.bind([out, 1], **{"engine": "jit"} | sizes | options)


def check(launch: Callable[[], object], out: np.ndarray) -> None:
    launch()
    assert np.array_equal(out, expected(1))
