"""Kernels that sessions debug, and sessions of them."""

from __future__ import annotations

import numpy as np

import visim
from tests.opencl.building import built
from visim.debug.fronts.commands import execute
from visim.debug.session import Session

DEVICES = ("pvc", "tgllp", "bmg")

SOURCE = """\
float twice(float v) { return v + v; }

kernel void steps(global float *out, global const float *x, float a, int n)
{
    int i = get_global_id(0);
    if (i < n) {
        float v = x[i];
        float w = twice(v) * a;
        if (i % 3 == 0)
            w = w + 1.0f;
        out[i] = w;
    }
}

kernel void turns(global int *out, local int *shared)
{
    int i = get_local_id(0);
    shared[i] = i * 10;
    barrier(CLK_LOCAL_MEM_FENCE);
    int next = shared[(i + 1) % get_local_size(0)];
    out[get_global_id(0)] = next + get_group_id(0);
}

kernel void beyond(global int *out, int first)
{
    int i = get_global_id(0);
    int place = i < first ? i : i + 1000000;
    out[place] = i;
}
"""

BARE = """\
.version 4.1
.kernel "count"
.decl data v_type=G type=uq num_elts=1 align=qword
.decl limit v_type=G type=ud num_elts=1 align=dword
.decl place v_type=G type=uq num_elts=1 align=qword
.decl sum v_type=G type=ud num_elts=8 align=wordx32
.decl turn v_type=G type=ud num_elts=1 align=dword
.decl more v_type=P num_elts=1
.input data offset=64 size=8
.input limit offset=72 size=4
.kernel_attr Target="cm"
.kernel_attr SimdSize=8
.function "count_0"

count_0:
    mov (M1, 8) sum(0,0)<1> 0x0:ud
    mov (M1_NM, 1) turn(0,0)<1> 0x0:ud
again:
    add (M1, 8) sum(0,0)<1> sum(0,0)<1;1,0> turn(0,0)<0;1,0>
    add (M1_NM, 1) turn(0,0)<1> turn(0,0)<0;1,0> 0x1:ud
    cmp.lt (M1_NM, 1) more turn(0,0)<0;1,0> limit(0,0)<0;1,0>
    (more) jmp (M1_NM, 1) again
    mul (M1_NM, 1) turn(0,0)<1> %group_id_x(0,0)<0;1,0> 0x20:ud
    add (M1_NM, 1) place(0,0)<1> data(0,0)<0;1,0> turn(0,0)<0;1,0>
    lsc_store.ugm (M1_NM, 1) flat[place]:a64 sum:d32x8t
    ret (M1, 1)
"""


DOWN = """int down(int depth) { int own = depth * 10;
    if (depth > 0)
        own += down(depth - 1);
    return own; }
kernel void go(global int *out) { out[get_global_id(0)] = down(3); }
"""
"""A function that calls itself, with a variable of its own in each activation."""


def steps(device: str, items: int = 256, *, options: str = "", **sizes: int) -> Session:
    """Return a session of the kernel that has a branch and a function."""
    program = built(SOURCE, device, options)
    out, x = np.zeros(items, np.float32), np.arange(items, dtype=np.float32)
    launch = {"global_size": items, "local_size": 64, **sizes}
    return Session(program["steps"], [out, x, np.float32(2), items - 6], launch)


def turns(device: str, items: int = 128) -> Session:
    """Return a session of the kernel with a barrier."""
    out = np.zeros(items, np.int32)
    launch = {"global_size": items, "local_size": 64}
    return Session(built(SOURCE, device)["turns"], [out, visim.Local(256)], launch)


def down() -> Session:
    """Return a session of the kernel with a function that calls itself."""
    program = built(DOWN, "pvc", "-g -cl-opt-disable")
    return Session(program["go"], [np.zeros(16, np.int32)], {"global_size": 16})


def bare(groups: int = 4, limit: int = 10) -> Session:
    """Return a session of the kernel in vISA text."""
    program = visim.assemble(BARE, platform="pvc")
    data = np.zeros(8 * groups, np.uint32)
    return Session(program["count"], [data, limit], {"thread_groups": groups})


def say(session: Session, *lines: str) -> str:
    """Execute commands and return the answer of the last one."""
    text = ""
    for line in lines:
        text = "\n".join(execute(session, line).lines)
    return text
