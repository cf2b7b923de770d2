"""Rows so long that 64-bit addresses wrap in them: their ends are in range, what is between is not.

Fifteen times -0x1111111111111111 is 1, modulo 2**64: so far is the last of 16 channels from the
first one.
"""

from __future__ import annotations

import numpy as np
import pytest

from visim.machine.memory import Memory

from . import harness
from .cases import Case, agree

MESSAGES = {
    "load": "lsc_load.ugm (M1_NM, {0})  V46:d32  flat[V45]:a64",
    "store": "lsc_store.ugm (M1_NM, {0})  flat[V45]:a64  V46:d32",
}
FIRST_ALONE_THEN_ALL = """.version 4.1
.kernel "k"
.decl V40 v_type=G type=q num_elts=1 align=wordx32
.decl V41 v_type=G type=w num_elts=32 align=wordx32
.decl V42 v_type=G type=d num_elts=1 align=wordx32
.decl V43 v_type=G type=d num_elts=32 align=wordx32
.decl V44 v_type=G type=uw num_elts=32 align=wordx32 alias=<V41, 0>
.decl V45 v_type=G type=q num_elts=32 align=wordx32
.decl V46 v_type=G type=ud num_elts=32 align=wordx32
.decl P1 v_type=P num_elts=1
.decl P2 v_type=P num_elts={0}
.kernel_attr SimdSize={0}
.function "k"
k:
    mov (M1_NM, 8) V41(0,0)<1> 0x76543210:v
    add (M1_NM, 8) V41(0,8)<1> V41(0,0)<1;1,0> 0x8:w
    add (M1_NM, 16) V41(0,16)<1> V41(0,0)<1;1,0> 0x10:w
    mov (M1_NM, 1) V42(0,0)<1> 0x1:d
    mov (M1_NM, {0}) V45(0,0)<1> V44(0,0)<1;1,0>
    mul (M1_NM, {0}) V45(0,0)<1> V45(0,0)<1;1,0> 0x{1:x}:q
    add (M1_NM, {0}) V45(0,0)<1> V45(0,0)<1;1,0> V40(0,0)<0;1,0>
LOOP:
    mov (M1_NM, {0}) V43(0,0)<1> V41(0,0)<1;1,0>
    cmp.lt (M1_NM, {0}) P2 V43(0,0)<1;1,0> V42(0,0)<0;1,0>
    (P2) {2}
    add (M1_NM, 1) V42(0,0)<1> V42(0,0)<0;1,0> 0x1f:d
    cmp.lt (M1_NM, 1) P1 V42(0,0)<0;1,0> 0x40:d
    (P1) jmp (M1, 1) LOOP
    ret (M1, 1)
"""


class Reaching(Case):
    """A thread with the address of an array."""

    def __init__(self, kernel: harness.Kernel, lanes: int) -> None:
        data = np.arange(16, dtype=np.uint32)
        self.memory, self.changed = Memory(), (data,)
        start = np.array([self.memory.add(data, "data")], np.uint64)
        place = kernel.place("V40")
        self.group = harness.Group(
            (harness.ThreadStart(((place, start.tobytes()),), (1 << lanes) - 1),)
        )


@pytest.mark.parametrize("lanes", [8, 16, 32])
@pytest.mark.parametrize("verb", MESSAGES)
def test_rows_that_wrap_are_out_of_range(verb: str, lanes: int) -> None:
    step = pow(lanes - 1, -1, 1 << 64)
    message = MESSAGES[verb].format(lanes)
    kernel = harness.assemble(FIRST_ALONE_THEN_ALL.format(lanes, step, message), "pvc")
    assert agree(kernel, [Reaching(kernel, lanes)]) == {True}
