"""Numbers of channels, which compilers write in parts, on both engines.

From them follow the addresses of private arrays, whose elements lie side by side for all channels.
"""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest

from visim.engine.jit.emit.module import ModuleWriter
from visim.engine.jit.writing.versions import Version
from visim.machine.memory import Memory

from . import harness
from .cases import Case, agree

LANES = 32
ELEMENTS = 96
MASKS = (0xFFFFFFFF, 0x0000FFFF, 0x00A5005A, 0x80008001)

HEAD = """.version 4.1
.kernel "k"
.decl V40 v_type=G type=uq num_elts=1 align=wordx32
.decl V41 v_type=G type=w num_elts=32 align=wordx32
.decl V42 v_type=G type=d num_elts=1 align=wordx32
.decl V43 v_type=G type=uw num_elts=32 align=wordx32 alias=<V41, 0>
.decl V44 v_type=G type=d num_elts=32 align=wordx32
.decl V45 v_type=G type=q num_elts=32 align=wordx32
.decl V46 v_type=G type=ud num_elts=32 align=wordx32
.decl P1 v_type=P num_elts=32
.kernel_attr SimdSize=32
.function "k"
k:
"""
NUMBERS = (
    "mov (M1_NM, 8) V41(0,0)<1> 0x76543210:v",
    "add (M1_NM, 8) V41(0,8)<1> V41(0,0)<1;1,0> 0x8:w",
    "add (M1_NM, 16) V41(0,16)<1> V41(0,0)<1;1,0> 0x10:w",
)
CHOICES = {
    "as compilers write them": NUMBERS,
    "with a gap": (*NUMBERS[:2], NUMBERS[2].replace("0x10:w", "0x20:w")),
    "some twice": (*NUMBERS[:2], NUMBERS[2].replace("0x10:w", "0x0:w")),
    "downwards": (
        "mov (M1_NM, 8) V41(0,0)<1> 0x01234567:v",
        "add (M1_NM, 8) V41(0,8)<1> V41(0,0)<1;1,0> 0x8:w",
        "add (M1_NM, 16) V41(0,16)<1> V41(0,0)<1;1,0> 0x10:w",
    ),
    "from a number that is not known": (
        "mov (M1_NM, 16) V41(0,0)<1> V42(0,0)<0;1,0>",
        "add (M1_NM, 16) V41(0,16)<1> V41(0,0)<1;1,0> 0x1:w",
    ),
    "some for channels that are on": (NUMBERS[0], NUMBERS[1], NUMBERS[2].replace("M1_NM", "M5")),
    "some changed later": (*NUMBERS, "add (M1_NM, 1) V41(0,3)<1> V41(0,3)<0;1,0> 0x4:w"),
    "in another order": (
        "mov (M1_NM, 8) V41(0,16)<1> 0x76543210:v",
        "add (M1_NM, 8) V41(0,24)<1> V41(0,16)<1;1,0> 0x8:w",
        "add (M1_NM, 16) V41(0,0)<1> V41(0,16)<1;1,0> 0x10:w",
    ),
    "beyond 16 bits": (*NUMBERS, "add (M1_NM, 32) V41(0,0)<1> V41(0,0)<1;1,0> -0x8:w"),
    "in a loop": (
        "\nLOOP:",
        *NUMBERS,
        "add (M1_NM, 1) V42(0,0)<1> V42(0,0)<0;1,0> 0x1:d",
        "cmp.lt (M1_NM, 1) P1 V42(0,0)<0;1,0> 0x8:d",
        "(P1) jmp (M1, 1) LOOP",
    ),
}


def text_of(lines: tuple[str, ...]) -> str:
    """Return a kernel that doubles the elements that channels find by their numbers."""
    body = (
        *lines,
        "mov (M1, 32) V44(0,0)<1> V43(0,0)<1;1,0>",
        "add (M1, 32) V44(0,0)<1> V44(0,0)<1;1,0> V42(0,0)<0;1,0>",
        "shl (M1, 32) V44(0,0)<1> V44(0,0)<1;1,0> 0x2:d",
        "mov (M1, 32) V45(0,0)<1> V44(0,0)<1;1,0>",
        "add (M1, 32) V45(0,0)<1> V45(0,0)<1;1,0> V40(0,0)<0;1,0>",
        "lsc_load.ugm (M1, 32)  V46:d32  flat[V45]:a64",
        "add (M1, 32) V46(0,0)<1> V46(0,0)<1;1,0> V43(0,0)<1;1,0>",
        "lsc_store.ugm (M1, 32)  flat[V45]:a64  V46:d32",
        "ret (M1, 1)",
    )
    lines = tuple(f"    {line}\n" for line in body)
    return HEAD + "".join(lines).replace("    \nLOOP", "LOOP")


class Numbered(Case):
    """Channels that reach elements from a first one on."""

    def __init__(self, kernel: harness.Kernel, first: int, mask: int) -> None:
        data = np.arange(ELEMENTS, dtype=np.uint32) << 8
        self.memory, self.changed = Memory(), (data,)
        base = np.array([self.memory.add(data, "data")], np.uint64)
        given = {"V40": base, "V42": np.array([first], np.int32)}
        registers = tuple((kernel.place(name), value.tobytes()) for name, value in given.items())
        self.group = harness.Group((harness.ThreadStart(registers, mask),))


@pytest.mark.parametrize("choice", CHOICES)
def test_channels_reach_the_elements_of_their_numbers(choice: str) -> None:
    kernel = harness.assemble(text_of(CHOICES[choice]), "pvc")
    firsts = (0, 7, 40, 64, 65, 90, -1, -40)
    agree(kernel, [Numbered(kernel, first, mask) for first, mask in product(firsts, MASKS)])


def test_numbers_written_in_parts_are_one_row() -> None:
    version = Version(full=True, slm_bytes=0)
    for choice in ("as compilers write them", "in a loop"):
        kernel = harness.assemble(text_of(CHOICES[choice]), "pvc")
        text = ModuleWriter(kernel.linked, version).write().text
        assert "<32 x i32>, ptr" in text
        assert "load.lanes" not in text


@pytest.mark.parametrize(
    ("choice", "distance"), [("as compilers write them", 3072), ("with a gap", 256)]
)
@pytest.mark.parametrize("waits", [False, True])
def test_rows_to_come_are_asked_for(choice: str, distance: int, waits: bool) -> None:
    """Also where threads wait for each other; nearer where each moves pieces of several rows."""
    lines = (*CHOICES[choice], *(["barrier"] if waits else []))
    kernel = harness.assemble(text_of(lines), "pvc")
    text = ModuleWriter(kernel.linked, Version(full=True, slm_bytes=0)).write().text
    asked = re.findall(r"@llvm.prefetch.p0\(ptr (%\S+),", text)
    assert asked
    for line in asked:
        found = re.search(rf"{re.escape(line)} = getelementptr i8, ptr %\S+, i64 (\d+)", text)
        assert found is not None
        assert distance <= int(found[1]) < distance + 128
