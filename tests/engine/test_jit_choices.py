"""Choices that all channels make alike, such as the clamped row of an image, on both engines.

Such a choice is one number for all channels, so that what it leads to is a row. Where what was
compared has changed since it is none; where channels may choose apart a row is only supposed.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from visim.engine.jit.emit.module import ModuleWriter
from visim.engine.jit.writing.versions import Version
from visim.machine.memory import Memory

from . import harness
from .cases import Case, agree

WIDTH, HEIGHT = 40, 6
MASKS = (0xFFFFFFFF, 0x0000FFFF, 0x00A5005A)
ROWS = (-1, 0, 1, 4, 5, 6, 7, -0x80000000)

HEAD = """.version 4.1
.kernel "k"
.decl V40 v_type=G type=q num_elts=1 align=wordx32
.decl V41 v_type=G type=w num_elts=32 align=wordx32
.decl V42 v_type=G type=d num_elts=2 align=wordx32
.decl V43 v_type=G type=d num_elts=32 align=wordx32
.decl V44 v_type=G type=d num_elts=32 align=wordx32
.decl V45 v_type=G type=q num_elts=32 align=wordx32
.decl V46 v_type=G type=ud num_elts=32 align=wordx32
.decl V47 v_type=G type=d num_elts=32 align=wordx32
.decl V48 v_type=G type=d num_elts=32 align=wordx32
.decl V49 v_type=G type=d num_elts=32 align=wordx32
.decl V50 v_type=G type=ud num_elts=32 align=wordx32 alias=<V47, 0>
.decl V51 v_type=G type=ud num_elts=32 align=wordx32 alias=<V48, 0>
.decl V52 v_type=G type=d num_elts=1 align=wordx32
.decl V53 v_type=G type=uw num_elts=32 align=wordx32 alias=<V41, 0>
.decl P1 v_type=P num_elts=1
.decl P2 v_type=P num_elts=32
.decl P3 v_type=P num_elts=32
.kernel_attr SimdSize=32
.function "k"
k:
"""
BEGIN = (
    "mov (M1_NM, 8) V41(0,0)<1> 0x76543210:v",
    "add (M1_NM, 8) V41(0,8)<1> V41(0,0)<1;1,0> 0x8:w",
    "add (M1_NM, 16) V41(0,16)<1> V41(0,0)<1;1,0> 0x10:w",
    "mov (M1, 32) V43(0,0)<1> V53(0,0)<1;1,0>",
    "mov (M1, 32) V47(0,0)<1> V42(0,0)<0;1,0>",
)
FIRST = "cmp.eq (M1, 32) P2 V47(0,0)<1;1,0> 0x0:d"
ABOVE = "add (M1, 32) V49(0,0)<1> V47(0,0)<1;1,0> -0x1:d"
CLAMPED = "(P2) sel (M1, 32) V48(0,0)<1> 0x0:d V49(0,0)<1;1,0>"
CHOICES = {
    "by a predicate": (*BEGIN, FIRST, ABOVE, CLAMPED),
    "by what a predicate is not": (
        *BEGIN,
        FIRST,
        ABOVE,
        "(!P2) sel (M1, 32) V48(0,0)<1> V49(0,0)<1;1,0> 0x0:d",
    ),
    "by a condition in a register": (
        *BEGIN,
        "cmp.lt (M1, 32) V49(0,0)<1> V47(0,0)<1;1,0> V42(0,1)<0;1,0>",
        "add (M1, 32) V48(0,0)<1> V47(0,0)<1;1,0> (-)V49(0,0)<1;1,0>",
    ),
    "the larger and the smaller number": (
        *BEGIN,
        ABOVE,
        "max (M1, 32) V48(0,0)<1> V49(0,0)<1;1,0> 0x0:d",
        "min (M1, 32) V48(0,0)<1> V48(0,0)<1;1,0> V42(0,1)<0;1,0>",
    ),
    "the larger one without a sign": (
        *BEGIN,
        "max (M1, 32) V51(0,0)<1> V50(0,0)<1;1,0> 0x2:ud",
        "min (M1, 32) V51(0,0)<1> V51(0,0)<1;1,0> V42(0,1)<0;1,0>",
    ),
    "how far it is from a row": (
        *BEGIN,
        "add (M1, 32) V49(0,0)<1> V47(0,0)<1;1,0> -0x3:d",
        "mov (M1, 32) V48(0,0)<1> (abs)V49(0,0)<1;1,0>",
    ),
    "by the bits of a condition": (
        *BEGIN,
        "cmp.lt (M1, 32) V49(0,0)<1> V47(0,0)<1;1,0> V42(0,1)<0;1,0>",
        "and (M1, 32) V48(0,0)<1> V47(0,0)<1;1,0> V49(0,0)<1;1,0>",
        "not (M1, 32) V49(0,0)<1> V49(0,0)<1;1,0>",
        "and (M1, 32) V49(0,0)<1> V49(0,0)<1;1,0> V42(0,1)<0;1,0>",
        "or (M1, 32) V48(0,0)<1> V48(0,0)<1;1,0> V49(0,0)<1;1,0>",
    ),
    "a row of complements": (
        *BEGIN,
        "not (M1, 32) V43(0,0)<1> V43(0,0)<1;1,0>",
        "not (M1, 32) V43(0,0)<1> V43(0,0)<1;1,0>",
        "mov (M1, 32) V48(0,0)<1> 0x1:d",
    ),
    "between rows": (
        *BEGIN,
        FIRST,
        "add (M1, 32) V49(0,0)<1> V43(0,0)<1;1,0> 0x3:d",
        "(P2) sel (M1, 32) V43(0,0)<1> V49(0,0)<1;1,0> V43(0,0)<1;1,0>",
        "mov (M1, 32) V48(0,0)<1> 0x1:d",
    ),
    "for all channels": (*BEGIN, FIRST.replace("(M1,", "(M1_NM,"), ABOVE, CLAMPED),
    "in halves": (
        *BEGIN,
        ABOVE,
        "cmp.eq (M1, 16) P2 V47(0,0)<1;1,0> 0x0:d",
        "cmp.eq (M5, 16) P2 V47(1,0)<1;1,0> 0x0:d",
        "(P2) sel (M1, 16) V48(0,0)<1> 0x0:d V49(0,0)<1;1,0>",
        "(P2) sel (M5, 16) V48(1,0)<1> 0x0:d V49(1,0)<1;1,0>",
    ),
    "another one for each half": (
        *BEGIN[:-1],
        "mov (M1, 16) V47(0,0)<1> V42(0,0)<0;1,0>",
        "mov (M5, 16) V47(1,0)<1> V42(0,1)<0;1,0>",
        FIRST,
        ABOVE,
        CLAMPED,
        "min (M1, 32) V48(0,0)<1> V48(0,0)<1;1,0> 0x4:d",
    ),
    "in a loop": (
        *BEGIN[:-1],
        "\nLOOP:",
        BEGIN[-1],
        FIRST,
        ABOVE,
        CLAMPED,
        "add (M1_NM, 1) V42(0,0)<1> V42(0,0)<0;1,0> 0x1:d",
        "and (M1_NM, 1) V52(0,0)<1> V42(0,0)<0;1,0> 0x3:d",
        "cmp.ne (M1_NM, 1) P1 V52(0,0)<0;1,0> 0x0:d",
        "(P1) jmp (M1, 1) LOOP",
    ),
}
OTHERS = {
    "the number has changed": (
        *BEGIN,
        FIRST,
        "add (M1, 32) V47(0,0)<1> V47(0,0)<1;1,0> -0x1:d",
        "(P2) sel (M1, 32) V48(0,0)<1> 0x0:d V47(0,0)<1;1,0>",
    ),
    "the predicate has changed": (
        *BEGIN,
        FIRST,
        ABOVE,
        "cmp.eq (M5, 16) P2 V47(0,0)<1;1,0> 0x1:d",
        CLAMPED,
    ),
    "the predicate is made of others": (
        *BEGIN,
        FIRST,
        "cmp.lt (M1, 32) P3 V43(0,0)<1;1,0> 0x5:d",
        "and (M1, 32) P2 P2 P3",
        ABOVE,
        CLAMPED,
    ),
}

SUPPOSED = {
    "where channels differ": (
        *BEGIN,
        "cmp.eq (M1, 32) P2 V43(0,0)<1;1,0> 0x0:d",
        ABOVE,
        CLAMPED,
    ),
    "a row and a number": (
        *BEGIN,
        FIRST,
        "add (M1, 32) V49(0,0)<1> V43(0,0)<1;1,0> 0x3:d",
        "(P2) sel (M1, 32) V43(0,0)<1> 0x3:d V49(0,0)<1;1,0>",
        "mov (M1, 32) V48(0,0)<1> 0x1:d",
    ),
}
"""Choices of single channels, of which rows are supposed."""


def text_of(lines: tuple[str, ...]) -> str:
    """Return a kernel that changes the elements of an image in the row that V48 says."""
    body = (
        *lines,
        f"mul (M1, 32) V44(0,0)<1> V48(0,0)<1;1,0> 0x{WIDTH:x}:d",
        "add (M1, 32) V44(0,0)<1> V44(0,0)<1;1,0> V43(0,0)<1;1,0>",
        "shl (M1, 32) V44(0,0)<1> V44(0,0)<1;1,0> 0x2:d",
        "mov (M1, 32) V45(0,0)<1> V44(0,0)<1;1,0>",
        "add (M1, 32) V45(0,0)<1> V45(0,0)<1;1,0> V40(0,0)<0;1,0>",
        "lsc_load.ugm (M1, 32)  V46:d32  flat[V45]:a64",
        "add (M1, 32) V46(0,0)<1> V46(0,0)<1;1,0> 0x7:ud",
        "lsc_store.ugm (M1, 32)  flat[V45]:a64  V46:d32",
        "ret (M1, 1)",
    )
    lines = tuple(f"    {line}\n" for line in body)
    return HEAD + "".join(lines).replace("    \nLOOP", "LOOP")


class Clamped(Case):
    """Channels that reach an image near a row of it."""

    def __init__(self, kernel: harness.Kernel, row: int, mask: int) -> None:
        image = np.arange(WIDTH * HEIGHT, dtype=np.uint32) << 8
        self.memory, self.changed = Memory(), (image,)
        base = np.array([self.memory.add(image, "image")], np.uint64)
        given = {"V40": base, "V42": np.array([row, HEIGHT - 1], np.int32)}
        registers = tuple((kernel.place(name), value.tobytes()) for name, value in given.items())
        self.group = harness.Group((harness.ThreadStart(registers, mask),))


@pytest.mark.parametrize("choice", {**CHOICES, **OTHERS, **SUPPOSED})
def test_choices_are_what_they_are_channel_by_channel(choice: str) -> None:
    kernel = harness.assemble(text_of({**CHOICES, **OTHERS, **SUPPOSED}[choice]), "pvc")
    agree(kernel, [Clamped(kernel, row, mask) for row, mask in product(ROWS, MASKS)])


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("choice", {**CHOICES, **OTHERS, **SUPPOSED})
def test_choices_lead_to_rows(choice: str, full: bool) -> None:
    kernel = harness.assemble(text_of({**CHOICES, **OTHERS, **SUPPOSED}[choice]), "pvc")
    text = ModuleWriter(kernel.linked, Version(full=full, slm_bytes=0)).write().text
    assert ("call void @llvm.prefetch" in text) == (choice not in OTHERS)
