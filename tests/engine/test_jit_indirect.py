"""Indirect operands on the JIT: rows and single elements of the register image, and their ends.

The bits, the faults and the channels that they name are those of the reference interpreter.
"""

from __future__ import annotations

import numpy as np
import pytest

from visim.linker.places import MARGIN

from . import harness
from .test_jit import compare, on_jit

DECLARATIONS = """.version 4.1
.kernel "k"
.decl V40 v_type=G type=d num_elts=64 align=wordx32
.decl V41 v_type=G type=d num_elts=32 align=wordx32
.decl V42 v_type=G type=d num_elts=1
.decl A0 v_type=A num_elts=16
.decl P1 v_type=P num_elts=32
.decl P2 v_type=P num_elts=32
.kernel_attr SimdSize=32
.function "k"
k:
"""
MASKS = (0xFFFFFFFF, 0x0000FFFF, 0x00A5005A, 0x80008001)


def kernel(*lines: str) -> harness.Kernel:
    body = "".join(f"    {line}\n" for line in (*lines, "ret (M1, 1)"))
    return harness.assemble(DECLARATIONS + body, "pvc")


def inputs(offset: int, predicate: int = 0x3C) -> dict[str, np.ndarray]:
    bits = np.array([predicate >> lane & 1 for lane in range(32)], np.uint8)
    return {
        "V40": np.arange(100, 164, dtype=np.int32),
        "V41": np.arange(1, 33, dtype=np.int32),
        "V42": np.array([offset], np.int32),
        "P1": bits,
    }


def from_end(made: harness.Kernel, distance: int) -> int:
    """Return what is added to &V40 to be `distance` bytes in front of the end of all variables."""
    return made.linked.reached_bytes - MARGIN - distance - made.place("V40")


ADDRESS = "addr_add (M1_NM, 1) A0(0)<1> &V40 V42(0,0)<0;1,0>"
READS = (
    "mov (M1, 16) V41(0,0)<1> r[A0(0),0]<8;8,1>:d",
    "mov (M5, 16) V41(0,0)<1> r[A0(0),8]<1;1,0>:d",
    "mov (M1, 8) V41(0,0)<1> r[A0(0),-4]<2;1,0>:d",
    "mov (M1, 16) V41(0,0)<1> r[A0(0),-64]<8;8,1>:d",
    "mov (M1, 16) V41(0,0)<1> r[A0(0),0]<1;1,0>:w",
)
WRITES = (
    "mov (M1, 16) r[A0(0),0]<1>:d V41(0,0)<1;1,0>",
    "(P1) mov (M1, 16) r[A0(0),0]<1>:d V41(0,0)<1;1,0>",
    "(P1) mov (M5, 16) r[A0(0),8]<1>:d V41(0,0)<1;1,0>",
    "(!P1) mov (M1, 16) r[A0(0),0]<1>:w V41(0,0)<1;1,0>",
    "mov (M1_NM, 16) r[A0(0),0]<1>:d V41(0,0)<1;1,0>",
)


@pytest.mark.parametrize("line", READS + WRITES)
def test_rows_in_the_middle_and_at_the_ends_of_the_image_equal_the_interpreter(line: str) -> None:
    made = kernel(ADDRESS, line)
    ends = [from_end(made, distance) for distance in (64, 60, 32, 4, 0)]
    for offset in (0, 4, 64, 2, -(made.place("V40")) - 4, *ends):
        for mask in MASKS:
            assert compare(made, inputs(offset), mask) is None, (offset, mask)


@pytest.mark.parametrize("constant", [0x0, 0x1, 0x20, 0x8001, 0xF0, 0xFFFF])
@pytest.mark.parametrize("group", ["M1", "M5"])
def test_writes_under_constant_predicates_equal_the_interpreter(constant: int, group: str) -> None:
    made = kernel(
        ADDRESS,
        f"setp ({group}_NM, 16) P2 0x{constant:x}:ud",
        f"(P2) mov ({group}, 16) r[A0(0),0]<1>:d V41(0,0)<0;1,0>",
    )
    for offset in (0, 4, 2, from_end(made, 64), from_end(made, 8), from_end(made, 0)):
        for mask in MASKS:
            assert compare(made, inputs(offset), mask) is None, (offset, mask)


def test_a_constant_predicate_is_forgotten_where_others_are_written() -> None:
    made = kernel(
        ADDRESS,
        "setp (M1_NM, 32) P2 0x1:ud",
        "cmp.gt (M1, 16) P2 V41(0,0)<1;1,0> 0x4:d",
        "(P2) mov (M1, 16) r[A0(0),0]<1>:d V41(0,0)<1;1,0>",
        "setp (M1_NM, 32) P2 0x2:ud",
        "(!P2) mov (M1, 16) r[A0(0),64]<1>:d V41(0,0)<1;1,0>",
    )
    for mask in MASKS:
        assert compare(made, inputs(0), mask) is None


def test_a_row_that_channels_leave_which_are_off_is_written_up_to_the_end() -> None:
    made = kernel(ADDRESS, "mov (M1, 16) r[A0(0),0]<1>:d V41(0,0)<1;1,0>")
    values = inputs(from_end(made, 12))
    registers = tuple((made.place(name), array.tobytes()) for name, array in values.items())
    ended, image = on_jit(made, registers, 0b111)
    assert ended.fault is None
    end = made.linked.reached_bytes - MARGIN
    assert list(image[end - 12 : end].view(np.int32)) == [1, 2, 3]
