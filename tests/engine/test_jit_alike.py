"""Pieces of rows that begin alike, as the ids of groups 16 or 8 wide, are known to do so.

They share scalars and loads, where all values of a variable have pieces that are alike.
"""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from visim.engine import jit
from visim.engine.base import Machine, RunOptions
from visim.machine.memory import Memory
from visim.machine.surfaces import Surfaces

from . import harness

LANES = 32
HEAD = """.version 4.1
.kernel "k"
.decl V40 v_type=G type=uq num_elts=2 align=wordx32
.decl V41 v_type=G type=uw num_elts=32 align=wordx32
.decl V42 v_type=G type=uw num_elts=32 align=wordx32
.decl V43 v_type=G type=ud num_elts=32 align=wordx32
.decl V44 v_type=G type=uq num_elts=32 align=wordx32
.decl V45 v_type=G type=ud num_elts=32 align=wordx32
.decl V46 v_type=G type=d num_elts=4 align=dword
.decl V47 v_type=G type=ud num_elts=32 align=wordx32
.decl V48 v_type=G type=ud num_elts=32 align=wordx32
.decl V49 v_type=G type=uq num_elts=32 align=wordx32
.decl V50 v_type=G type=ud num_elts=32 align=wordx32
.decl V51 v_type=G type=uq num_elts=32 align=wordx32
.decl V52 v_type=G type=uq num_elts=32 align=wordx32
.decl P1 v_type=P num_elts=1
.decl P2 v_type=P num_elts=32
.input V41 offset=64 size=64
.input V42 offset=128 size=64
.kernel_attr SimdSize=32
.function "k"
k:
"""
X, Y = "V41(0,0)<1;1,0>", "V42(0,0)<1;1,0>"
SHORT = "    cmp.ne (M1_NM, 1) P1 V46(0,0)<0;1,0> 0x0:d\n"
BODIES = {
    "a value of ids that are alike": f"    mov (M1, 32) V43(0,0)<1> {X}\n",
    "a value of ids that are not": f"    mov (M1, 32) V43(0,0)<1> {Y}\n",
    "either of them": (
        f"{SHORT}    mov (M1, 32) V43(0,0)<1> {X}\n    (P1) goto (M1, 1) on\n"
        f"    mov (M1, 32) V43(0,0)<1> {Y}\non:\n"
    ),
    "a sum of both": f"    add (M1, 32) V43(0,0)<1> {X} {Y}\n",
    "one that changes in a loop": (
        f"    mov (M1, 32) V43(0,0)<1> {X}\nagain:\n"
        f"    add (M1, 32) V43(0,0)<1> V43(0,0)<1;1,0> {Y}\n"
        "    add (M1_NM, 1) V46(0,0)<1> V46(0,0)<0;1,0> 0xFFFFFFFF:d\n"
        "    cmp.gt (M1_NM, 1) P1 V46(0,0)<0;1,0> 0x0:d\n    (P1) goto (M1, 1) again\n"
    ),
    "for some channels": (
        f"    mov (M1, 32) V43(0,0)<1> {X}\n    cmp.gt (M1, 32) P2 {Y} 0x13:uw\n"
        f"    (P2) add (M1, 32) V43(0,0)<1> V43(0,0)<1;1,0> 0x4:ud\n"
    ),
    "behind a jump of some channels": (
        f"    mov (M1, 32) V43(0,0)<1> {X}\n    cmp.gt (M1, 32) P2 {Y} 0x13:uw\n"
        f"    (P2) goto (M1, 32) on\n    mov (M1, 32) V43(0,0)<1> {Y}\non:\n"
    ),
    "parts of it": (
        f"    mov (M1, 32) V43(0,0)<1> {X}\n"
        "    mov (M1, 16) V43(1,0)<1> V43(0,0)<1;1,0>\n"
        "    add (M1, 16) V43(0,0)<1> V43(0,0)<1;1,0> 0x2:ud\n"
    ),
}
TAIL = """    mul (M1, 32) V47(0,0)<1> V43(0,0)<1;1,0> 0x4:ud
    mov (M1, 32) V51(0,0)<1> V47(0,0)<1;1,0>
    add (M1, 32) V44(0,0)<1> V51(0,0)<1;1,0> V40(0,0)<0;1,0>
    lsc_load.ugm (M1, 32)  V45:d32  flat[V44]:a64
    add (M1, 32) V50(0,0)<1> V45(0,0)<1;1,0> V43(0,0)<1;1,0>
    mul (M1, 32) V48(0,0)<1> V42(0,0)<1;1,0> 0x4:uw
    mov (M1, 32) V49(0,0)<1> V48(0,0)<1;1,0>
    add (M1, 32) V52(0,0)<1> V49(0,0)<1;1,0> V40(0,1)<0;1,0>
    lsc_store.ugm (M1, 32)  flat[V52]:a64  V50:d32
    ret (M1, 1)
"""
ELEMENTS = 256


@pytest.mark.parametrize("width", [16, 8])
@pytest.mark.parametrize("body", BODIES)
def test_rows_of_small_groups_are_those_of_the_interpreter(body: str, width: int) -> None:
    kernel = harness.assemble(HEAD + BODIES[body] + TAIL, "pvc")
    engines, rng = (kernel.prepared, jit.Prepared(kernel.linked)), random.Random(body)
    lane = np.arange(LANES, dtype=np.uint16)
    faults = set[bool]()
    for turns, size, some in product((0, 1, 3), (ELEMENTS, width + 10), (False, True)):
        mask = rng.choice([rng.getrandbits(LANES), 0xFFFF0000, 0xFF00]) if some else 0xFFFFFFFF
        memory, out = Memory(), np.zeros(LANES, np.uint32)
        data = np.arange(ELEMENTS, dtype=np.uint32)[:size] * np.uint32(7)
        bases = [memory.add(data, "data"), memory.add(out, "out")]
        found: list[tuple[object, list[int]]] = []
        for engine in engines:
            out[:] = 0
            registers = (
                (kernel.place("V40"), np.array(bases, np.uint64).tobytes()),
                (kernel.place("V41"), (lane % np.uint16(width)).tobytes()),
                (kernel.place("V42"), lane.tobytes()),
                (kernel.place("V46"), np.array([turns, 0, 0, 0], np.int32).tobytes()),
            )
            group = harness.GroupsAlike((harness.ThreadStart(registers, mask),))
            ended = engine.run([0], group, Machine(memory, Surfaces()), RunOptions())
            found.append((ended.fault, out.tolist()))
        assert found[0] == found[1]
        faults.add(found[0][0] is not None)
    assert False in faults


def _near_rows(last: int) -> str:
    """Return a kernel that loads rows of 16 near each other, with another one between them."""
    row, kinds = "(0,0)<1;1,0>", {53: "uq", 54: "uq", 56: "uq"} | dict.fromkeys(range(60, 64), "ud")
    names = [
        f".decl V{n} v_type=G type={kind} num_elts=32 align=wordx32\n" for n, kind in kinds.items()
    ]
    head = HEAD.replace("num_elts=2", "num_elts=3").replace(".decl P1", f"{''.join(names)}.decl P1")
    loads = f"""    mov (M1, 32) V43(0,0)<1> {X}
    mul (M1, 32) V47(0,0)<1> V43{row} 0x4:ud
    mov (M1, 32) V51(0,0)<1> V47{row}
    mul (M1, 32) V48(0,0)<1> {Y} 0x4:uw
    mov (M1, 32) V49(0,0)<1> V48{row}
    add (M1, 32) V44(0,0)<1> V51{row} V40(0,0)<0;1,0>
    lsc_load.ugm (M1, 32)  V60:d32  flat[V44]:a64
    add (M1, 32) V52(0,0)<1> V49{row} V40(0,1)<0;1,0>
    lsc_load.ugm (M1, 32)  V61:d32  flat[V52]:a64
    add (M1, 32) V53(0,0)<1> V44{row} 0x40:uw
    lsc_load.ugm (M1, 32)  V62:d32  flat[V53]:a64
    add (M1, {last}) V54(0,0)<1> V44{row} 0x80:uw
    lsc_load.ugm (M1, {last})  V63:d32  flat[V54]:a64
    add (M1, 32) V56(0,0)<1> V49{row} V40(0,2)<0;1,0>
"""
    stores = [
        f"    lsc_store.ugm (M1, 32)  flat[V56]:a64  V{n}:d32\n"
        f"    add (M1, 32) V56(0,0)<1> V56{row} 0x80:uw\n"
        for n in range(60, 64)
    ]
    return f"{head}{loads}{''.join(stores)}    ret (M1, 1)\n"


@pytest.mark.parametrize("last", [8, 16, 32])
def test_rows_near_others_that_are_alike_leave_what_is_behind_a_shorter_one(last: int) -> None:
    kernel = harness.assemble(_near_rows(last), "pvc")
    lane = np.arange(LANES, dtype=np.uint16)
    memory, out = Memory(), np.zeros(4 * LANES, np.uint32)
    data = [np.arange(64, dtype=np.uint32) * 7, np.arange(LANES, dtype=np.uint32) + 1000, out]
    bases = [memory.add(one, str(number)) for number, one in enumerate(data)]
    registers = (
        (kernel.place("V40"), np.array(bases, np.uint64).tobytes()),
        (kernel.place("V41"), (lane % np.uint16(16)).tobytes()),
        (kernel.place("V42"), lane.tobytes()),
    )
    group = harness.GroupsAlike((harness.ThreadStart(registers, 0xFFFFFFFF),))
    found = list[list[int]]()
    for engine in (kernel.prepared, jit.Prepared(kernel.linked)):
        out[:] = 0
        ended = engine.run([0], group, Machine(memory, Surfaces()), RunOptions())
        assert ended.fault is None
        found.append(out.tolist())
    assert found[0] == found[1]
