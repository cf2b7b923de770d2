"""Channels that reach what low bits of their numbers say: rows that wrap wherever they begin."""

from __future__ import annotations

import numpy as np
import pytest

from . import harness
from .both import on_interpreter, on_jit

LANES = 32
SLM_BYTES = 4096
TEXT = """.version 4.1
.kernel "k"
.decl V40 v_type=G type=w num_elts=32 align=wordx32
.decl V41 v_type=G type=uw num_elts=32 align=wordx32 alias=<V40, 0>
.decl V42 v_type=G type=d num_elts=32 align=wordx32
.decl V43 v_type=G type=d num_elts=1 align=wordx32
.decl V44 v_type=G type=d num_elts=32 align=wordx32
.decl V45 v_type=G type=ud num_elts=32 align=wordx32 alias=<V44, 0>
.decl V46 v_type=G type=ud num_elts=32 align=wordx32
.decl V47 v_type=G type=d num_elts=32 align=wordx32
.decl V48 v_type=G type=d num_elts=32 align=wordx32
.decl V49 v_type=G type=ud num_elts=32 align=wordx32 alias=<V48, 0>
.kernel_attr SimdSize=32
.function "k"
k:
    mov (M1_NM, 8) V40(0,0)<1> 0x76543210:v
    add (M1_NM, 8) V40(0,8)<1> V40(0,0)<1;1,0> 0x8:w
    add (M1_NM, 16) V40(0,16)<1> V40(0,0)<1;1,0> 0x10:w
    mov (M1, 32) V42(0,0)<1> V41(0,0)<1;1,0>
    add (M1, 32) V42(0,0)<1> V42(0,0)<1;1,0> V43(0,0)<0;1,0>
    shl (M1, 32) V44(0,0)<1> V42(0,0)<1;1,0> 0x2:d
    lsc_store.slm (M1, 32)  flat[V45]:a32  V42:d32
    and (M1, 32) V47(0,0)<1> V42(0,0)<1;1,0> {mask:#x}:d
    shl (M1, 32) V48(0,0)<1> V47(0,0)<1;1,0> 0x2:d
    lsc_load.slm (M1, 32)  V46:d32  flat[V49]:a32
    ret (M1, 1)
"""
"""Each channel stores its number, from V43 on, and loads the one that its low bits say."""


def kernel(mask: int) -> harness.Kernel:
    return harness.assemble(TEXT.format(mask=mask), "pvc")


@pytest.mark.parametrize("mask", [1, 3, 7, 15, 31])
@pytest.mark.parametrize("first", [0, 5, 16])
def test_low_bits_of_numbers_say_where_channels_load(mask: int, first: int) -> None:
    one = kernel(mask)
    registers = ((one.place("V43"), np.full(LANES, first, np.int32).tobytes()),)
    want, wanted = on_interpreter(one, registers, 0xFFFF_FFFF, slm_bytes=SLM_BYTES)
    got, image = on_jit(one, registers, 0xFFFF_FFFF, slm_bytes=SLM_BYTES)
    assert want.fault is None
    assert got.fault is None
    place = one.place("V46")
    assert image[place : place + 4 * LANES].tobytes() == wanted[place : place + 4 * LANES].tobytes()
