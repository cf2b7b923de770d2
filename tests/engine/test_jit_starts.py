"""Variables that nobody has written are zero, also where the JIT gives some of them no start."""

from __future__ import annotations

import numpy as np
import pytest

from visim.engine import jit
from visim.engine.base import Machine, RunOptions
from visim.machine.memory import Memory
from visim.machine.surfaces import Surfaces

from . import harness

HEAD = """.version 4.1
.kernel "k"
.decl V40 v_type=G type=uq num_elts=32 align=wordx32
.decl V41 v_type=G type=d num_elts=32 align=wordx32
.decl V42 v_type=G type=d num_elts=32 align=wordx32
.decl V43 v_type=G type=d num_elts=1 align=dword
.decl P1 v_type=P num_elts=32
.decl P2 v_type=P num_elts=1
.kernel_attr SimdSize=32
.function "k"
k:
    cmp.lt (M1, 32) P1 V41(0,0)<1;1,0> 0x10:d
"""
STORE = "    lsc_store.ugm (M1, 32)  flat[V40]:a64  V42:d32\n"
TAIL = "    ret (M1, 1)\n"
BODIES = {
    "written as a whole": "    add (M1, 32) V42(0,0)<1> V41(0,0)<1;1,0> 0x1:d\n" + STORE,
    "read first": "    add (M1, 32) V42(0,0)<1> V42(0,0)<1;1,0> V41(0,0)<1;1,0>\n" + STORE,
    "written in part": "    mov (M1, 16) V42(1,0)<1> V41(0,0)<1;1,0>\n" + STORE,
    "written for some channels": "    (P1) mov (M1, 32) V42(0,0)<1> V41(0,0)<1;1,0>\n" + STORE,
    "written on one path": (
        "    (P1) goto (M1, 32) on\n    mov (M1, 32) V42(0,0)<1> V41(0,0)<1;1,0>\non:\n" + STORE
    ),
    "written behind its first use in a loop": (
        "again:\n    add (M1_NM, 1) V43(0,0)<1> V43(0,0)<0;1,0> 0x1:d\n"
        + STORE
        + "    mov (M1, 32) V42(0,0)<1> V41(0,0)<1;1,0>\n"
        "    cmp.lt (M1_NM, 1) P2 V43(0,0)<0;1,0> 0x2:d\n    (P2) goto (M1, 1) again\n"
    ),
    "written again in a loop": (
        "again:\n    add (M1_NM, 1) V43(0,0)<1> V43(0,0)<0;1,0> 0x1:d\n"
        "    add (M1, 32) V42(0,0)<1> V41(0,0)<1;1,0> V43(0,0)<0;1,0>\n"
        + STORE
        + "    cmp.lt (M1_NM, 1) P2 V43(0,0)<0;1,0> 0x3:d\n    (P2) goto (M1, 1) again\n"
    ),
}


@pytest.mark.parametrize("on", [0xFFFFFFFF, 0x00FF0F01])
@pytest.mark.parametrize("body", BODIES)
def test_variables_begin_as_in_the_interpreter(body: str, on: int) -> None:
    kernel = harness.assemble(HEAD + BODIES[body] + TAIL, "pvc")
    found: list[list[int]] = []
    for engine in (kernel.prepared, jit.Prepared(kernel.linked)):
        memory, out = Memory(), np.full(32, -1, np.int32)
        places = memory.add(out, "out") + 4 * np.arange(32, dtype=np.uint64)
        registers = (
            (kernel.place("V40"), places.astype(np.uint64).tobytes()),
            (kernel.place("V41"), np.arange(32, dtype=np.int32).tobytes()),
        )
        group = harness.Group((harness.ThreadStart(registers, on),))
        ended = engine.run([0], group, Machine(memory, Surfaces()), RunOptions())
        assert ended.fault is None
        found.append(out.tolist())
    assert found[0] == found[1]
