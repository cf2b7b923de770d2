"""Threads that start with their low channels only: code for them leaves out what others compute."""

from __future__ import annotations

import numpy as np
import pytest

from visim.engine import jit
from visim.engine.base import Machine, RunOptions
from visim.engine.jit.launch.code import KernelCode
from visim.engine.jit.launch.kept import Compiled
from visim.engine.jit.writing.versions import Version
from visim.machine.memory import Memory
from visim.machine.surfaces import Surfaces

from . import harness

HEAD = """.version 4.1
.kernel "k"
.decl V40 v_type=G type=uq num_elts=32 align=wordx32
.decl V41 v_type=G type=d num_elts=32 align=wordx32
.decl V42 v_type=G type=d num_elts=32 align=wordx32
.decl V43 v_type=G type=d num_elts=32 align=wordx32
.decl V44 v_type=G type=f num_elts=32 align=wordx32
.decl P1 v_type=P num_elts=32
.kernel_attr SimdSize=32
.function "k"
k:
    add (M1, 32) V42(0,0)<1> V41(0,0)<1;1,0> 0x7:d
"""
MASKED = "    lsc_store.ugm (M1, 32)  flat[V40]:a64  V42:d32\n"
EVERY = "    lsc_store.ugm (M1_NM, 32)  flat[V40]:a64  V42:d32\n"
TAIL = "    ret (M1, 1)\n"
BODIES = {
    "arithmetic": (
        "    mov (M1, 32) V44(0,0)<1> V42(0,0)<1;1,0>\n"
        "    mad (M1, 32) V44(0,0)<1> V44(0,0)<1;1,0> V44(0,0)<1;1,0> V44(0,0)<1;1,0>\n"
        "    mov (M1, 32) V42(0,0)<1> V44(0,0)<1;1,0>\n" + MASKED
    ),
    "somebody looks at all channels": EVERY,
    "all channels are written": "    mov (M1_NM, 32) V42(0,0)<1> V41(0,0)<1;1,0>\n" + EVERY,
    "halves": (
        "    add (M1, 16) V43(0,0)<1> V42(0,0)<1;1,0> 0x1:d\n"
        "    add (M5, 16) V43(1,0)<1> V42(1,0)<1;1,0> 0x2:d\n"
        "    mul (M1, 32) V42(0,0)<1> V43(0,0)<1;1,0> V43(0,0)<1;1,0>\n" + MASKED
    ),
    "lanes of other channels": (
        "    add (M1, 16) V43(0,0)<1> V42(1,0)<1;1,0> 0x1:d\n"
        "    mov (M1, 16) V42(0,0)<1> V43(0,0)<1;1,0>\n" + MASKED
    ),
    "one number for all": "    add (M1, 32) V42(0,0)<1> V42(0,9)<0;1,0> V41(0,0)<1;1,0>\n" + MASKED,
    "a predicate and a loop": (
        "again:\n    add (M1, 32) V42(0,0)<1> V42(0,0)<1;1,0> V41(0,0)<1;1,0>\n"
        "    cmp.lt (M1, 32) P1 V42(0,0)<1;1,0> 0x40:d\n"
        "    (P1) goto (M1, 32) again\n"
        "    cmp.gt (M1, 32) P1 V42(0,0)<1;1,0> 0x48:d\n"
        "    (P1) sel (M1, 32) V42(0,0)<1> V42(0,0)<1;1,0> V41(0,0)<1;1,0>\n" + MASKED
    ),
}
MASKS = {0xFFFF: 16, 0xFF: 8, 0x1: 1, 0x3FF: 0, 0xFFFF_0000: 0, 0xFFFF_FFFF: 0}
"""Channels to start with, and how many low ones code is made for."""


def stored(engine: object, kernel: harness.Kernel, mask: int) -> list[int]:
    memory, out = Memory(), np.full(32, -1, np.int32)
    places = memory.add(out, "out") + 4 * np.arange(32, dtype=np.uint64)
    registers = (
        (kernel.place("V40"), places.astype(np.uint64).tobytes()),
        (kernel.place("V41"), np.arange(1, 33, dtype=np.int32).tobytes()),
    )
    group = harness.GroupsAlike((harness.ThreadStart(registers, mask),))
    ended = engine.run([0], group, Machine(memory, Surfaces()), RunOptions())
    assert ended.fault is None
    return out.tolist()


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("body", BODIES)
def test_low_channels_do_what_they_do_in_the_interpreter(body: str, mask: int) -> None:
    kernel = harness.assemble(HEAD + BODIES[body] + TAIL, "pvc")
    wanted = stored(kernel.prepared, kernel, mask)
    assert stored(jit.Prepared(kernel.linked), kernel, mask) == wanted


def test_code_is_made_for_low_channels_where_all_threads_start_with_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, compiled = list[int](), KernelCode.compiled

    def noted(code: KernelCode, version: Version) -> Compiled:
        made.append(version.low)
        return compiled(code, version)

    monkeypatch.setattr(KernelCode, "compiled", noted)
    kernel = harness.assemble(HEAD + MASKED + TAIL, "pvc")
    engine = jit.Prepared(kernel.linked)
    for mask in MASKS:
        stored(engine, kernel, mask)
    assert made == [*MASKS.values()]
