"""Messages of the JIT whose indices differ by a number, or do not, reach what they should.

What is found out of the indices of one message serves others, until something else is in them.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from visim.engine.jit.emit.module import ModuleWriter
from visim.engine.jit.writing.versions import Version
from visim.machine.memory import Memory

from . import harness
from .cases import Case, agree

LANES = 32
ELEMENTS = 512
CASES = 12
ROW = "(0,0)<1;1,0>"

HEAD = """.version 4.1
.kernel "k"
.decl V40 v_type=G type=uq num_elts=2 align=wordx32
.decl V41 v_type=G type=d num_elts=32 align=wordx32
.decl V42 v_type=G type=d num_elts=32 align=wordx32
.decl V43 v_type=G type=d num_elts=1 align=dword
.decl V44 v_type=G type=d num_elts=32 align=wordx32
.decl V45 v_type=G type=d num_elts=32 align=wordx32
.decl V46 v_type=G type=d num_elts=32 align=wordx32
.decl V50 v_type=G type=q num_elts=32 align=wordx32
.decl V51 v_type=G type=uq num_elts=32 align=wordx32
.decl V53 v_type=G type=uq num_elts=32 align=wordx32
.decl V55 v_type=G type=uq num_elts=32 align=wordx32
.decl V60 v_type=G type=ud num_elts=32 align=wordx32
.decl V61 v_type=G type=ud num_elts=32 align=wordx32
.decl V39 v_type=G type=d num_elts=4 alias=<V40, 0>
.decl P1 v_type=P num_elts=32
.decl A0 v_type=A num_elts=1
.kernel_attr SimdSize=32
.function "k"
k:
    mov (M1, 32) V46(0,0)<1> V41(0,0)<1;1,0>
"""

CHANGES = {
    "nothing": "",
    "a number that lanes share": f"    add (M1, 32) V41(0,0)<1> V41{ROW} V43(0,0)<0;1,0>\n",
    "numbers that they do not share": f"    add (M1, 32) V41(0,0)<1> V41{ROW} V42{ROW}\n",
    "some lanes": (
        f"    cmp.gt (M1, 32) P1 V42{ROW} 0x3:d\n    (P1) add (M1, 32) V41(0,0)<1> V41{ROW} 0x1:d\n"
    ),
    "a half": "    add (M1, 16) V41(1,0)<1> V41(1,0)<1;1,0> V42(0,0)<1;1,0>\n",
    "two halves": (
        "    add (M1, 16) V41(0,0)<1> V41(0,0)<1;1,0> V43(0,0)<0;1,0>\n"
        "    add (M5, 16) V41(1,0)<1> V41(1,0)<1;1,0> V43(0,0)<0;1,0>\n"
    ),
    "one element": "    mov (M1_NM, 1) V41(0,5)<1> V42(0,5)<0;1,0>\n",
    "elements by an address": (
        "    addr_add (M1_NM, 1) A0(0)<1> &V41 0x20:uw\n"
        "    mov (M1_NM, 8) r[A0(0),0]<1>:d V42(0,0)<1;1,0>\n"
    ),
    "through the variable in front": (
        "    add (M1, 16) V39(1,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0>\n"
    ),
    "a factor": (
        f"    shl (M1, 32) V41(0,0)<1> V41{ROW} 0x1:d\n"
        f"    add (M1, 32) V41(0,0)<1> V41{ROW} V42{ROW}\n"
        f"    shr (M1, 32) V41(0,0)<1> V41{ROW} 0x1:d\n"
    ),
    "what was loaded": (
        f"    and (M1, 32) V44(0,0)<1> V60{ROW} 0x1f:ud\n"
        f"    add (M1, 32) V41(0,0)<1> V41{ROW} V44{ROW}\n"
    ),
    "a loop over strips": "".join(
        f"    xor (M1, 32) V44(0,0)<1> V44{ROW} V42{ROW}\n"
        f"    add (M1, 32) V41(0,0)<1> V41{ROW} V44{ROW}\n"
        f"    and (M1, 32) V41(0,0)<1> V41{ROW} 0x7f:d\n"
        for _ in range(16)
    ),
}
"""What happens to the indices in V41 between two messages."""


def addresses(to: str, index: str, buffer: int) -> str:
    """Return what makes addresses in a buffer of indices."""
    return (
        f"    mov (M1, 32) V50(0,0)<1> {index}{ROW}\n"
        f"    shl (M1, 32) V50(0,0)<1> V50{ROW} 0x2:q\n"
        f"    add (M1, 32) {to}(0,0)<1> V50{ROW} V40(0,{buffer})<0;1,0>\n"
    )


def text(change: str) -> str:
    """Return a kernel that loads at two vectors of indices and stores at two others."""
    return (
        HEAD
        + addresses("V51", "V41", 0)
        + "    lsc_load.ugm (M1, 32)  V60:d32  flat[V51]:a64\n"
        + change
        + f"    add (M1, 32) V45(0,0)<1> V41{ROW} V43(0,0)<0;1,0>\n"
        + addresses("V53", "V45", 0)
        + "    lsc_load.ugm (M1, 32)  V61:d32  flat[V53]:a64\n"
        + f"    add (M1, 32) V61(0,0)<1> V61{ROW} V60{ROW}\n"
        + addresses("V55", "V46", 1)
        + "    lsc_store.ugm (M1, 32)  flat[V55]:a64  V60:d32\n"
        + f"    add (M1, 32) V45(0,0)<1> V45{ROW} V43(0,0)<0;1,0>\n"
        + addresses("V53", "V45", 1)
        + "    lsc_store.ugm (M1, 32)  flat[V53]:a64  V61:d32\n"
        + "    ret (M1, 1)\n"
    )


class Butterfly(Case):
    """What a seed makes: a buffer, indices that are a butterfly, numbers that change them."""

    def __init__(self, kernel: harness.Kernel, seed: str) -> None:
        rng, count = random.Random(seed), np.arange(LANES)
        data = np.array([rng.getrandbits(32) for _ in range(ELEMENTS)], np.uint32)
        out = np.zeros(ELEMENTS, np.uint32)
        self.memory, self.changed = Memory(), (out,)
        bases = [self.memory.add(data, "data"), self.memory.add(out, "out")]
        run, distance = rng.choice([1, 2, 4, 8, 16, 32]), rng.choice([1, 4, 16, 40])
        indices = rng.randrange(64) + count + (count & -run)
        changes = [rng.randrange(8) for _ in range(LANES)] if rng.randrange(3) else [0] * LANES
        mask = rng.choice([0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, rng.getrandbits(LANES) | 1])
        given = {
            "V40": np.array(bases, np.uint64),
            "V41": indices.astype(np.int32),
            "V42": np.array(changes, np.int32),
            "V43": np.array([distance], np.int32),
        }
        registers = tuple((kernel.place(name), one.tobytes()) for name, one in given.items())
        # The second thread reaches memory directly.
        self.group = harness.Group((harness.ThreadStart(registers, mask),) * 2)


@pytest.mark.parametrize("change", CHANGES)
def test_messages_reach_what_their_own_indices_say(change: str) -> None:
    kernel = harness.assemble(text(CHANGES[change]), "pvc")
    cases = (Butterfly(kernel, f"{change} {number}") for number in range(CASES))
    assert agree(kernel, cases) == {False}


def test_lanes_that_data_say_are_not_looked_at() -> None:
    kernel = harness.assemble(text(CHANGES["what was loaded"]), "pvc")
    version = Version(full=True, slm_bytes=0, has_mask_registers=True)
    assert "call i32 @llvm.cttz.i32" not in ModuleWriter(kernel.linked, version).write().text


def _in_all_channels(lines: str) -> str:
    return lines.replace("(M1, 32)", "(M1_NM, 32)")


OFF = (
    HEAD.replace("(M1, 32) V46", "(M1_NM, 32) V46")
    + f"    add (M1, 32) V45(0,0)<1> V41{ROW} V43(0,0)<0;1,0>\n"
    + addresses("V51", "V45", 0)
    + "    lsc_load.ugm (M1, 32)  V60:d32  flat[V51]:a64\n"
    + _in_all_channels(
        addresses("V53", "V41", 0)
        + "    lsc_load.ugm (M1, 32)  V61:d32  flat[V53]:a64\n"
        + f"    xor (M1, 32) V61(0,0)<1> V61{ROW} V45{ROW}\n"
        + addresses("V55", "V44", 1)
        + "    lsc_store.ugm (M1, 32)  flat[V55]:a64  V61:d32\n"
    )
    + "    ret (M1, 1)\n"
)
"""Two loads whose indices differ by a number only in channels that are on; the second is of all."""


@pytest.mark.parametrize("mask", [0xFF, 0xFFFF, 0xFFFFFFFF])
def test_indices_in_channels_that_are_off_are_not_those_of_a_message_without_mask(
    mask: int,
) -> None:
    kernel, run = harness.assemble(OFF, "pvc"), np.arange(LANES)
    case = Butterfly(kernel, "off")
    given = {
        "V41": np.where(run < 16, run, run * 3 % 50),
        "V43": np.array([8]),
        "V44": run,
        "V45": run + 8,
    }
    registers = [
        (kernel.place(name), one.astype(np.int32).tobytes()) for name, one in given.items()
    ]
    start = harness.ThreadStart((case.group.starts[0].registers[0], *registers), mask)
    case.group = harness.Group((start,) * 2)
    assert agree(kernel, [case]) == {False}
