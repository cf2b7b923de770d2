"""Requests that tests make: programs that need no compiler, and cases for them."""

from __future__ import annotations

import base64
from pathlib import Path

import visim

EXAMPLES = Path(visim.__file__).parent / "examples"
SAXPY = {"binary": base64.b64encode((EXAMPLES / "saxpy/saxpy.zebin").read_bytes()).decode()}
SAXPY_SOURCE = """__kernel void saxpy(__global float *y, __global const float *x, float a, int n)
{
    int i = get_global_id(0);
    if (i < n)
        y[i] += a * x[i];
}
"""
SCALE = """.version 4.1
.kernel "scale"
.decl V32 v_type=G type=q num_elts=1 align=qword
.decl V33 v_type=G type=f num_elts=16 align=GRF
.input V32 offset=64 size=8
lsc_load.ugm (M1_NM, 1) V33:d32x16t flat[V32]:a64
mul (M1, 16) V33(0,0)<1> V33(0,0)<1;1,0> 0x40000000:f
lsc_store.ugm (M1_NM, 1) flat[V32]:a64 V33:d32x16t
ret (M1, 1)
"""
ENDLESS = """.version 4.1
.kernel "endless"
again:
jmp (M1, 1) again
ret (M1, 1)
"""


def case(n, **more):
    """Return a case of saxpy with `n` work-items, with what comes of it."""
    args = {"y": f"iota:{n}", "x": f"ones:{n}", "a": 2, "n": n}
    expect = {"y": {"formula": "y + a*x"}}
    return {"global_size": [n], "args": args, "expect": expect, **more}
