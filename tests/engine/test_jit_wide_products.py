"""Indices times the size of a structure, which compilers multiply word by word, on both engines."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from visim.engine.jit.emit.module import ModuleWriter
from visim.engine.jit.writing.versions import Version
from visim.machine.memory import Memory

from . import harness
from .cases import Case, agree

LANES = 32
ELEMENTS = 3 * 96
MASKS = (0xFFFFFFFF, 0x0000FFFF, 0x00A5005A)
FIRSTS = (0, 5, 60, 70, -1, -40, 0x7FFFFFF0, -0x80000000)

HEAD = """.version 4.1
.kernel "k"
.decl V40 v_type=G type=q num_elts=1 align=wordx32
.decl V41 v_type=G type=w num_elts=32 align=wordx32
.decl V59 v_type=G type=uw num_elts=32 align=wordx32 alias=<V41, 0>
.decl V42 v_type=G type=d num_elts=1 align=wordx32
.decl V43 v_type=G type=q num_elts=1 align=wordx32
.decl V44 v_type=G type=d num_elts=32 align=wordx32
.decl V45 v_type=G type=ud num_elts=32 align=wordx32 alias=<V44, 0>
.decl V46 v_type=G type=d num_elts=32 align=wordx32
.decl V47 v_type=G type=ud num_elts=32 align=wordx32
.decl V48 v_type=G type=d num_elts=32 align=wordx32 alias=<V47, 0>
.decl V49 v_type=G type=d num_elts=32 align=wordx32
.decl V50 v_type=G type=ud num_elts=32 align=wordx32 alias=<V49, 0>
.decl V51 v_type=G type=d num_elts=32 align=wordx32
.decl V52 v_type=G type=d num_elts=64 align=wordx32
.decl V53 v_type=G type=d num_elts=64 align=wordx32
.decl V54 v_type=G type=q num_elts=32 align=wordx32 alias=<V53, 0>
.decl V55 v_type=G type=q num_elts=32 align=wordx32
.decl V56 v_type=G type=ud num_elts=32 align=wordx32
.decl V57 v_type=G type=q num_elts=32 align=wordx32
.decl V58 v_type=G type=d num_elts=1 align=wordx32
.decl P1 v_type=P num_elts=1
.kernel_attr SimdSize=32
.function "k"
k:
"""
INDEX = (
    "mov (M1_NM, 8) V41(0,0)<1> 0x76543210:v",
    "add (M1_NM, 8) V41(0,8)<1> V41(0,0)<1;1,0> 0x8:w",
    "add (M1_NM, 16) V41(0,16)<1> V41(0,0)<1;1,0> 0x10:w",
    "add (M1, 32) V44(0,0)<1> V59(0,0)<1;1,0> V42(0,0)<0;1,0>",
)
SIGN = "asr (M1, 32) V46(0,0)<1> V44(0,0)<1;1,0> 0x1f:d"
LOW = "mul (M1, 32) V47(0,0)<1> V45(0,0)<1;1,0> 0xc:ud"
HIGH = "mulh (M1, 32) V50(0,0)<1> V45(0,0)<1;1,0> 0xc:ud"
REST = (
    "mul (M1, 32) V51(0,0)<1> V44(0,0)<1;1,0> 0x0:d",
    "add (M1, 32) V49(0,0)<1> V49(0,0)<1;1,0> V51(0,0)<1;1,0>",
    "mul (M1, 32) V51(0,0)<1> 0xc:d V46(0,0)<1;1,0>",
    "add (M1, 32) V49(0,0)<1> V49(0,0)<1;1,0> V51(0,0)<1;1,0>",
)
CHANGE = "add (M1, 32) V44(0,0)<1> V44(0,0)<1;1,0> 0x1:d"
WORDS = (
    "mov (M1, 32) V52(0,0)<1> V48(0,0)<1;1,0>",
    "mov (M1, 32) V52(2,0)<1> V49(0,0)<1;1,0>",
    "mov (M1, 16) V53(0,0)<2> V52(0,0)<1;1,0>",
    "mov (M5, 16) V53(2,0)<2> V52(1,0)<1;1,0>",
    "mov (M1, 16) V53(0,1)<2> V52(2,0)<1;1,0>",
    "mov (M5, 16) V53(2,1)<2> V52(3,0)<1;1,0>",
)
SIGNED = (*INDEX, SIGN, LOW, HIGH, *REST, *WORDS)
PRODUCTS = {
    "signed": SIGNED,
    "unsigned": (*INDEX, LOW, HIGH, *WORDS),
    "some words for all channels": (
        *SIGNED[:-1],
        SIGNED[-1].replace("mov (M5, 16)", "mov (M1_NM, 16)"),
    ),
    "in a loop": (
        "mov (M1_NM, 1) V58(0,0)<1> 0x0:d",
        "\nLOOP:",
        *SIGNED,
        "add (M1_NM, 1) V58(0,0)<1> V58(0,0)<0;1,0> 0x1:d",
        "add (M1_NM, 1) V42(0,0)<1> V42(0,0)<0;1,0> 0x1:d",
        "cmp.lt (M1_NM, 1) P1 V58(0,0)<0;1,0> 0x3:d",
        "(P1) jmp (M1, 1) LOOP",
    ),
    "an index that changes later": (*SIGNED, CHANGE),
}
OTHERS = {
    "another factor above": (*INDEX, SIGN, LOW, HIGH.replace("0xc", "0xd"), *REST, *WORDS),
    "another factor of the sign": (
        *INDEX,
        SIGN,
        LOW,
        HIGH,
        *(one.replace("0xc", "0xb") for one in REST),
        *WORDS,
    ),
    "another index above": (*INDEX, SIGN, LOW, CHANGE, HIGH, *REST, *WORDS),
    "words the other way round": (
        *SIGNED[:-6],
        *(one.replace("V52(2", "V52(9").replace("V52(0", "V52(2") for one in WORDS[:1]),
        "mov (M1, 32) V52(0,0)<1> V49(0,0)<1;1,0>",
        *WORDS[2:],
    ),
    "some words changed": (*SIGNED, "mov (M1, 1) V53(0,7)<1> 0x1:d"),
    "bits of another place": (*INDEX, SIGN.replace("0x1f", "0x1e"), LOW, HIGH, *REST, *WORDS),
}
REACH = (
    "add (M1, 32) V55(0,0)<1> V54(0,0)<1;1,0> V40(0,0)<0;1,0>",
    "lsc_load.ugm (M1, 32)  V56:d32  flat[V55]:a64",
    "add (M1, 32) V56(0,0)<1> V56(0,0)<1;1,0> 0x7:ud",
    "lsc_store.ugm (M1, 32)  flat[V55]:a64  V56:d32",
    "ret (M1, 1)",
)
SHOW = (
    "mov (M1, 32) V57(0,0)<1> V41(0,0)<1;1,0>",
    "shl (M1, 32) V57(0,0)<1> V57(0,0)<1;1,0> 0x3:q",
    "add (M1, 32) V57(0,0)<1> V57(0,0)<1;1,0> V43(0,0)<0;1,0>",
    "add (M1, 32) V55(0,0)<1> V54(0,0)<1;1,0> 0x5:q",
    "lsc_store.ugm (M1, 32)  flat[V57]:a64  V55:d64",
    "ret (M1, 1)",
)


def text_of(*lines: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in lines).replace("    \nLOOP", "LOOP")


class Indexed(Case):
    """Channels that have indices from a first one on."""

    def __init__(self, kernel: harness.Kernel, first: int, mask: int) -> None:
        data = np.arange(ELEMENTS, dtype=np.uint32) << 8
        shown = np.zeros(LANES, np.uint64)
        self.memory, self.changed = Memory(), (data, shown)
        places = [np.array([self.memory.add(one, "data")], np.uint64) for one in self.changed]
        given = {"V40": places[0], "V42": np.array([first], np.int32), "V43": places[1]}
        registers = tuple((kernel.place(name), value.tobytes()) for name, value in given.items())
        self.group = harness.Group((harness.ThreadStart(registers, mask),))


@pytest.mark.parametrize("choice", {**PRODUCTS, **OTHERS})
def test_products_are_the_same(choice: str) -> None:
    lines = {**PRODUCTS, **OTHERS}[choice]
    for end in (REACH, SHOW):
        kernel = harness.assemble(text_of(*lines, *end), "pvc")
        agree(kernel, [Indexed(kernel, first, mask) for first, mask in product(FIRSTS, MASKS)])


@pytest.mark.parametrize("choice", {**PRODUCTS, **OTHERS})
def test_products_reach_rows(choice: str) -> None:
    kernel = harness.assemble(text_of(*{**PRODUCTS, **OTHERS}[choice], *REACH), "pvc")
    text = ModuleWriter(kernel.linked, Version(full=True, slm_bytes=0)).write().text
    assert ("call void @llvm.prefetch" in text) == (choice in PRODUCTS)


def chained(products: int) -> str:
    """Return a kernel in which the high words of each product are the index of the next one."""
    variables, lines = list[str](), [*INDEX, "mov (M1, 32) V55(0,0)<1> 0x0:q"]
    row = "v_type=G type={} num_elts={} align=wordx32"
    for one in range(products):
        factor, before = f"0x{12345 + 2 * one:x}", f"X{one - 1}" if one else "V44"
        unsigned = f"U{one - 1}" if one else "V45"
        variables += (
            *(f".decl {name}{one} {row.format('ud', 32)}" for name in "LH"),
            *(f".decl {name}{one} {row.format('d', 32)}" for name in "XZ"),
            f".decl U{one} {row.format('ud', 32)} alias=<X{one}, 0>",
            f".decl W{one} {row.format('d', 64)}",
            f".decl Q{one} {row.format('q', 32)} alias=<W{one}, 0>",
        )
        lines += (
            f"asr (M1, 32) Z{one}(0,0)<1> {before}(0,0)<1;1,0> 0x1f:d",
            f"mul (M1, 32) L{one}(0,0)<1> {unsigned}(0,0)<1;1,0> {factor}:ud",
            f"mulh (M1, 32) H{one}(0,0)<1> {unsigned}(0,0)<1;1,0> {factor}:ud",
            f"mul (M1, 32) Z{one}(0,0)<1> Z{one}(0,0)<1;1,0> {factor}:d",
            f"add (M1, 32) X{one}(0,0)<1> H{one}(0,0)<1;1,0> Z{one}(0,0)<1;1,0>",
            f"mov (M1, 32) W{one}(0,0)<2> L{one}(0,0)<1;1,0>",
            f"mov (M1, 32) W{one}(0,1)<2> X{one}(0,0)<1;1,0>",
            f"add (M1, 32) V55(0,0)<1> Q{one}(0,0)<1;1,0> V55(0,0)<1;1,0>",
        )
    shown = (one for one in SHOW if "V54" not in one)
    head = HEAD.replace(".kernel_attr", "\n".join((*variables, ".kernel_attr")))
    return head + "".join(f"    {line}\n" for line in (*lines, *shown))


def test_chains_of_products_compile() -> None:
    """With sums that have all sums before in them this took twice as long for each product more."""
    kernel = harness.assemble(chained(64), "pvc")
    agree(kernel, [Indexed(kernel, first, mask) for first, mask in product(FIRSTS[:5], MASKS)])
