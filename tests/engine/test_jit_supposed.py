"""Rows that are supposed where single channels choose, as at the edges of images, on both engines.

Kernels reach columns left and right of a row of channels, limited to an image, or in a ring, of
which low bits are kept. In most threads that changes nothing; in others, and where sums wrap, all
is as it is channel by channel.
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

WIDTH = 100
STARTS = (0, 1, 2, 30, 66, 67, 68, 69, 90, 99, -2, -40, 0x7FFFFFF0, -0x80000000)
MASKS = (0xFFFFFFFF, 0x0000FFFF, 0x00A5005A)

HEAD = """.version 4.1
.kernel "k"
.decl V40 v_type=G type=q num_elts=1 align=wordx32
.decl V41 v_type=G type=w num_elts=32 align=wordx32
.decl V42 v_type=G type=d num_elts=2 align=wordx32
.decl V43 v_type=G type=d num_elts=32 align=wordx32
.decl V44 v_type=G type=d num_elts=32 align=wordx32
.decl V45 v_type=G type=d num_elts=32 align=wordx32
.decl V46 v_type=G type=d num_elts=32 align=wordx32
.decl V47 v_type=G type=q num_elts=32 align=wordx32
.decl V48 v_type=G type=ud num_elts=32 align=wordx32
.decl V49 v_type=G type=ud num_elts=32 align=wordx32
.decl V50 v_type=G type=ud num_elts=32 align=wordx32
.decl V51 v_type=G type=q num_elts=32 align=wordx32
.decl V52 v_type=G type=ud num_elts=32 align=wordx32
.decl V53 v_type=G type=uw num_elts=32 align=wordx32 alias=<V41, 0>
.decl V54 v_type=G type=ud num_elts=32 align=wordx32 alias=<V43, 0>
.decl V55 v_type=G type=ud num_elts=32 align=wordx32 alias=<V44, 0>
.decl V56 v_type=G type=ud num_elts=32 align=wordx32 alias=<V45, 0>
.decl V57 v_type=G type=q num_elts=1 align=wordx32
.decl P2 v_type=P num_elts=32
.kernel_attr SimdSize=32
.function "k"
k:
"""
BEGIN = (
    "mov (M1_NM, 8) V41(0,0)<1> 0x76543210:v",
    "add (M1_NM, 8) V41(0,8)<1> V41(0,0)<1;1,0> 0x8:w",
    "add (M1_NM, 16) V41(0,16)<1> V41(0,0)<1;1,0> 0x10:w",
    "mov (M1, 32) V43(0,0)<1> V53(0,0)<1;1,0>",
    "add (M1, 32) V43(0,0)<1> V43(0,0)<1;1,0> V42(0,0)<0;1,0>",
)
LEFT = "add (M1, 32) V44(0,0)<1> V43(0,0)<1;1,0> -0x1:d"
RIGHT = "add (M1, 32) V45(0,0)<1> V43(0,0)<1;1,0> 0x1:d"
COLUMNS = {
    "the larger and the smaller number": (
        LEFT,
        "max (M1, 32) V44(0,0)<1> V44(0,0)<1;1,0> 0x0:d",
        RIGHT,
        "min (M1, 32) V45(0,0)<1> V42(0,1)<0;1,0> V45(0,0)<1;1,0>",
    ),
    "between two limits": (
        "max (M1, 32) V44(0,0)<1> V43(0,0)<1;1,0> 0x2:d",
        "add (M1, 32) V44(0,0)<1> V44(0,0)<1;1,0> -0x2:d",
        "min (M1, 32) V44(0,0)<1> V44(0,0)<1;1,0> V42(0,1)<0;1,0>",
        "max (M1, 32) V45(0,0)<1> V43(0,0)<1;1,0> -0x2:d",
        "add (M1, 32) V45(0,0)<1> V45(0,0)<1;1,0> 0x2:d",
        "min (M1, 32) V45(0,0)<1> V45(0,0)<1;1,0> V42(0,1)<0;1,0>",
    ),
    "without a sign": (
        "max (M1, 32) V55(0,0)<1> V54(0,0)<1;1,0> 0x1:ud",
        "add (M1, 32) V44(0,0)<1> V44(0,0)<1;1,0> -0x1:d",
        RIGHT,
        "min (M1, 32) V56(0,0)<1> V56(0,0)<1;1,0> 0x32:ud",
    ),
    "by predicates": (
        "cmp.eq (M1, 32) P2 V43(0,0)<1;1,0> 0x0:d",
        LEFT,
        "(P2) sel (M1, 32) V44(0,0)<1> V43(0,0)<1;1,0> V44(0,0)<1;1,0>",
        "cmp.lt (M1, 32) P2 V43(0,0)<1;1,0> V42(0,1)<0;1,0>",
        RIGHT,
        "(!P2) sel (M1, 32) V45(0,0)<1> V43(0,0)<1;1,0> V45(0,0)<1;1,0>",
    ),
    "from the other end": (
        "cmp.eq (M1, 32) P2 V43(0,0)<1;1,0> 0x0:d",
        LEFT,
        "(P2) sel (M1, 32) V44(0,0)<1> V42(0,1)<0;1,0> V44(0,0)<1;1,0>",
        "cmp.ne (M1, 32) P2 V42(0,1)<0;1,0> V43(0,0)<1;1,0>",
        RIGHT,
        "(P2) sel (M1, 32) V45(0,0)<1> V45(0,0)<1;1,0> 0x0:d",
    ),
    "mirrored": (
        LEFT,
        "cmp.lt (M1, 32) P2 V44(0,0)<1;1,0> 0x0:d",
        "(P2) sel (M1, 32) V44(0,0)<1> (-)V44(0,0)<1;1,0> V44(0,0)<1;1,0>",
        "add (M1, 32) V46(0,0)<1> V42(0,1)<0;1,0> (-)V43(0,0)<1;1,0>",
        RIGHT,
        "cmp.gt (M1, 32) P2 V45(0,0)<1;1,0> V42(0,1)<0;1,0>",
        "(P2) sel (M1, 32) V45(0,0)<1> V46(0,0)<1;1,0> V45(0,0)<1;1,0>",
    ),
    "going down": (
        "add (M1, 32) V44(0,0)<1> V42(0,1)<0;1,0> (-)V43(0,0)<1;1,0>",
        "max (M1, 32) V44(0,0)<1> V44(0,0)<1;1,0> 0x0:d",
        "add (M1, 32) V45(0,0)<1> 0x32:d (-)V43(0,0)<1;1,0>",
        "min (M1, 32) V45(0,0)<1> V45(0,0)<1;1,0> 0x9:d",
        "max (M1, 32) V45(0,0)<1> V45(0,0)<1;1,0> 0x0:d",
    ),
    "every second column": (
        "shl (M1, 32) V46(0,0)<1> V43(0,0)<1;1,0> 0x1:d",
        "min (M1, 32) V44(0,0)<1> V46(0,0)<1;1,0> V42(0,1)<0;1,0>",
        "add (M1, 32) V45(0,0)<1> V46(0,0)<1;1,0> 0x1:d",
        "min (M1, 32) V45(0,0)<1> V45(0,0)<1;1,0> V42(0,1)<0;1,0>",
    ),
    "in a ring": (
        LEFT,
        "and (M1, 32) V44(0,0)<1> V44(0,0)<1;1,0> V42(0,1)<0;1,0>",
        RIGHT,
        "and (M1, 32) V45(0,0)<1> V42(0,1)<0;1,0> V45(0,0)<1;1,0>",
    ),
    "down a ring": (
        "add (M1, 32) V44(0,0)<1> 0x3:d (-)V43(0,0)<1;1,0>",
        "and (M1, 32) V44(0,0)<1> V44(0,0)<1;1,0> V42(0,1)<0;1,0>",
        "shl (M1, 32) V46(0,0)<1> V43(0,0)<1;1,0> 0x1:d",
        "and (M1, 32) V45(0,0)<1> V46(0,0)<1;1,0> V42(0,1)<0;1,0>",
    ),
    "in halves": (
        LEFT,
        "max (M1, 16) V44(0,0)<1> V44(0,0)<1;1,0> 0x0:d",
        "max (M5, 16) V44(1,0)<1> V44(1,0)<1;1,0> 0x0:d",
        RIGHT,
        "min (M1, 32) V45(0,0)<1> V45(0,0)<1;1,0> V42(0,1)<0;1,0>",
    ),
    "of what changes": (
        LEFT,
        "cmp.lt (M1, 32) P2 V44(0,0)<1;1,0> 0x0:d",
        "(P2) sel (M1, 32) V44(0,0)<1> 0x0:d V44(0,0)<1;1,0>",
        "mov (M1, 32) V45(0,0)<1> V44(0,0)<1;1,0>",
        "max (M1, 32) V44(0,0)<1> V44(0,0)<1;1,0> 0x3:d",
        "add (M1, 32) V44(0,0)<1> V44(0,0)<1;1,0> -0x3:d",
    ),
}


def load(column: str, to: str) -> tuple[str, ...]:
    """Return a load of a column; its address is written over in place."""
    return (
        f"mov (M1, 32) V47(0,0)<1> {column}(0,0)<1;1,0>",
        "shl (M1, 32) V47(0,0)<1> V47(0,0)<1;1,0> 0x2:q",
        "add (M1, 32) V47(0,0)<1> V47(0,0)<1;1,0> V40(0,0)<0;1,0>",
        f"lsc_load.ugm (M1, 32)  {to}:d32  flat[V47]:a64",
    )


def text_of(columns: tuple[str, ...], *, stores: bool = False) -> str:
    """Return a kernel that adds two columns, one between them and one element, or stores one."""
    body = (
        *BEGIN,
        *columns,
        *load("V44", "V48"),
        *load("V45", "V49"),
        *load("V43", "V50"),
        "mul (M1, 32) V46(0,0)<1> V43(0,0)<1;1,0> 0x0:d",
        *load("V46", "V52"),
        "add (M1, 32) V48(0,0)<1> V48(0,0)<1;1,0> V49(0,0)<1;1,0>",
        "add (M1, 32) V50(0,0)<1> V50(0,0)<1;1,0> V52(0,0)<1;1,0>",
        "add (M1, 32) V48(0,0)<1> V48(0,0)<1;1,0> V50(0,0)<1;1,0>",
        f"mov (M1, 32) V47(0,0)<1> V{'44' if stores else '43'}(0,0)<1;1,0>",
        "shl (M1, 32) V47(0,0)<1> V47(0,0)<1;1,0> 0x2:q",
        f"add (M1, 32) V47(0,0)<1> V47(0,0)<1;1,0> V{'40' if stores else '57'}(0,0)<0;1,0>",
        "lsc_store.ugm (M1, 32)  flat[V47]:a64  V48:d32",
        "ret (M1, 1)",
    )
    return HEAD + "".join(f"    {line}\n" for line in body)


class Filtered(Case):
    """Channels of a row that begins somewhere in an image, or not in it, one above the other."""

    def __init__(self, kernel: harness.Kernel, start: int, last: int, mask: int) -> None:
        image = np.arange(WIDTH, dtype=np.uint32) ** 2
        self.found = np.zeros(WIDTH, np.uint32)
        self.memory, self.changed = Memory(), (image, self.found)
        places = [self.memory.add(one, name) for one, name in ((image, "in"), (self.found, "out"))]
        given = {
            "V40": np.array(places[:1], np.uint64),
            "V57": np.array(places[1:], np.uint64),
            "V42": np.array([start, last], np.int32),
        }
        registers = tuple((kernel.place(name), value.tobytes()) for name, value in given.items())
        self.group = harness.Group((harness.ThreadStart(registers, mask),))


LASTS = (WIDTH - 1, 40, -1, 5000, 63, 31)


@pytest.mark.parametrize("stores", [False, True])
@pytest.mark.parametrize("columns", COLUMNS)
def test_limited_columns_are_what_they_are_channel_by_channel(columns: str, stores: bool) -> None:
    kernel = harness.assemble(text_of(COLUMNS[columns], stores=stores), "pvc")
    agree(kernel, [Filtered(kernel, *one) for one in product(STARTS, LASTS, MASKS)])


def has_rows(lines: tuple[str, ...], column: str, *, full: bool) -> bool:
    """Whether memory ahead is asked for, as it is for rows, where only one column is loaded."""
    body = (
        *BEGIN,
        *lines,
        *load(column, "V48"),
        "mul (M1, 32) V46(0,0)<1> V43(0,0)<1;1,0> V43(0,0)<1;1,0>",
        "mov (M1, 32) V51(0,0)<1> V46(0,0)<1;1,0>",
        "add (M1, 32) V51(0,0)<1> V51(0,0)<1;1,0> V57(0,0)<0;1,0>",
        "lsc_store.ugm (M1, 32)  flat[V51]:a64  V48:d32",
        "ret (M1, 1)",
    )
    kernel = harness.assemble(HEAD + "".join(f"    {line}\n" for line in body), "pvc")
    written = ModuleWriter(kernel.linked, Version(full=full, slm_bytes=0)).write().text
    return "call void @llvm.prefetch" in written


OTHERS = {"going down", "down a ring", "in halves"}
"""Memory is not asked for behind rows that go down; rows are not joined of halves."""


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("columns", sorted(COLUMNS.keys() - OTHERS))
def test_limited_columns_are_supposed_to_be_rows(columns: str, full: bool) -> None:
    assert all(has_rows(COLUMNS[columns], column, full=full) for column in ("V44", "V45"))


def test_columns_that_nothing_limits_to_rows_are_not_supposed_to_be_any() -> None:
    squares = ("mul (M1, 32) V44(0,0)<1> V43(0,0)<1;1,0> V43(0,0)<1;1,0>",)
    limited = "max (M1, 32) V44(0,0)<1> V44(0,0)<1;1,0> 0x0:d"
    assert not has_rows((*squares, limited), "V44", full=True)


def test_where_all_rows_hold_the_sums_are_those_of_numpy() -> None:
    kernel = harness.assemble(text_of(COLUMNS["the larger and the smaller number"]), "pvc")
    image = np.arange(WIDTH, dtype=np.uint32) ** 2
    for start in (0, 30, WIDTH - 32):
        case = Filtered(kernel, start, WIDTH - 1, MASKS[0])
        agree(kernel, [case])
        x = np.arange(start, start + 32)
        sums = image[np.maximum(x - 1, 0)] + image[np.minimum(x + 1, WIDTH - 1)] + image[x]
        np.testing.assert_array_equal(case.found[x], sums + image[0])
