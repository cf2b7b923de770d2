"""Indirect operands on the JIT: rows and single elements of the register image, and their ends.

The bits, the faults and the channels that they name are those of the reference interpreter.
"""

from __future__ import annotations

import numpy as np
import pytest

from visim.engine.jit.emit.module import ModuleWriter
from visim.engine.jit.passes import VARIABLE, Pass
from visim.engine.jit.writing import functions
from visim.engine.jit.writing.versions import Version
from visim.linker.places import MARGIN

from . import harness
from .both import compare, on_jit
from .hardware import HARDWARE, use_hardware

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


ARRAY = DECLARATIONS.replace(
    ".decl A0 v_type=A num_elts=16",
    ".decl V43 v_type=G type=uw num_elts=16 align=wordx32\n.decl A0 v_type=A num_elts=16",
)
"""V43 has what is added to the addresses of elements, one for each channel."""
WORDS = {"in reach": range(0, 64, 4), "alike": [20] * 16, "odd": [*range(0, 36, 4), 38, *[0] * 6]}
VALUES = ("V41(0,{})<0;1,0>", "V41(0,5)<0;1,0>", "V40(0,{})<0;1,0>", "0x7:d")
"""A row of what is not reached, one element of it, a row of what is reached, a constant."""


def written_singly(value: str, *, group: str = "M1", kind: str = "", after: str = "") -> str:
    """Return a kernel that writes 16 elements one after another."""
    lines = ["addr_add (M1_NM, 16) A0(0)<1> &V40 V43(0,0)<1;1,0>"]
    for lane in range(16):
        lines.append(f"setp ({group}_NM, 16) P2 0x{1 << lane:x}:ud")
        lines.append(f"(P2) mov ({group}{kind}, 16) r[A0({lane}),0]<1>:d {value.format(lane)}")
    lines += [after, "ret (M1, 1)"]
    return ARRAY + "".join(f"    {line}\n" for line in lines if line)


@pytest.mark.parametrize("hardware", HARDWARE)
@pytest.mark.parametrize("limit", [0, 512])
@pytest.mark.parametrize("group", ["M1", "M5"])
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("passes", ["", "-emit-graphs"])
def test_elements_that_are_written_together_equal_the_interpreter(
    monkeypatch: pytest.MonkeyPatch,
    passes: str,
    value: str,
    group: str,
    limit: int,
    hardware: str,
) -> None:
    """Lanes that come before a fault have been written, also by code that is emitted from MIR."""
    monkeypatch.setenv(VARIABLE, passes)
    use_hardware(hardware, monkeypatch)
    monkeypatch.setattr(functions, "MOST_REACHING", limit)
    for kind in ("", "_NM"):
        made = harness.assemble(written_singly(value, group=group, kind=kind), "pvc")
        beyond = [*range(0, 44, 4), from_end(made, 0), *range(16)]
        for words in (*WORDS.values(), beyond[:16]):
            values = inputs(0) | {"V43": np.array(words, np.uint16)}
            for mask in MASKS:
                assert compare(made, values, mask) is None, (kind, words, hex(mask))


@pytest.mark.parametrize("passes", ["", "-emit-graphs"])
def test_numbers_that_are_added_to_elements_are_written(
    monkeypatch: pytest.MonkeyPatch, passes: str
) -> None:
    """They are no part of the elements' addresses, which are sums of the same type."""
    monkeypatch.setenv(VARIABLE, passes)
    row = "v_type=G type=ud num_elts=32 align=wordx32"
    declared = f".decl V44 {row} alias=<V41, 0>\n.decl V45 {row}\n.decl A0"
    text = written_singly("V45(0,{})<0;1,0>").replace("]<1>:d", "]<1>:ud")
    begin, rest = text.replace(".decl A0", declared).split("    setp", 1)
    sums = "    add (M1_NM, 32) V45(0,0)<1> V44(0,0)<1;1,0> 0x64:ud\n"
    made = harness.assemble(f"{begin}{sums}    setp{rest}", "pvc")
    for words in WORDS.values():
        values = inputs(0) | {"V43": np.array(words, np.uint16)}
        for mask in MASKS:
            assert compare(made, values, mask) is None, (words, hex(mask))


@pytest.mark.parametrize("hardware", HARDWARE)
@pytest.mark.parametrize("limit", [0, 512])
def test_elements_of_private_arrays_equal_the_interpreter(
    monkeypatch: pytest.MonkeyPatch, limit: int, hardware: str
) -> None:
    """Each channel reads one element of 1, 2 and 4 bytes, at an address of its own."""
    use_hardware(hardware, monkeypatch)
    monkeypatch.setattr(functions, "MOST_REACHING", limit)
    for kind in ("d", "w", "b"):
        read = f"mov (M1, 16) V41(0,0)<1> r[A0(0),0]<1,0>:{kind}"
        start = "addr_add (M1_NM, 16) A0(0)<1> &V40 V43(0,0)<1;1,0>"
        made = harness.assemble(f"{ARRAY}    {start}\n    {read}\n    ret (M1, 1)\n", "pvc")
        beyond = [*range(0, 44, 4), from_end(made, 4), *(from_end(made, -4 * n) for n in range(4))]
        for words in (*WORDS.values(), beyond):
            values = inputs(0) | {"V43": np.array(words, np.int64).astype(np.uint16)}
            for mask in MASKS:
                assert compare(made, values, mask) is None, (kind, words, hex(mask))


def test_the_predicate_of_the_last_element_can_be_read_behind_it() -> None:
    after = "(P2) mov (M1, 16) V41(0,0)<1> 0x63:d"
    made = harness.assemble(written_singly("V41(0,{})<0;1,0>", after=after), "pvc")
    values = inputs(0) | {"V43": np.array(WORDS["in reach"], np.uint16)}
    assert compare(made, values, 0xFFFFFFFF) is None


def test_what_was_known_of_a_row_is_forgotten_where_elements_are_written() -> None:
    """Zeros are conditions that are known not to hold."""
    start, pairs = written_singly("V41(0,{})<0;1,0>").split("    setp", 1)
    cleared = start + "    mov (M1_NM, 16) V40(0,0)<1> 0x0:d\n    setp" + pairs
    compared = "cmp.ne (M1_NM, 16) P1 V40(0,0)<1;1,0> 0x0:d"
    chosen = "(P1) sel (M1_NM, 32) V41(0,0)<1> 0x63:d 0x1:d"
    text = cleared.replace("    ret (M1, 1)", f"    {compared}\n    {chosen}\n    ret (M1, 1)")
    made = harness.assemble(text, "pvc")
    values = inputs(0) | {"V43": np.array(WORDS["in reach"], np.uint16)}
    for mask in MASKS:
        assert compare(made, values, mask) is None, hex(mask)


@pytest.mark.parametrize("value", VALUES)
def test_elements_of_an_array_are_checked_at_once(value: str) -> None:
    """Where what is moved may have been written by the moves before, each has its own check."""
    linked = harness.assemble(written_singly(value), "pvc").linked
    version = Version(full=True, slm_bytes=0, off=(Pass.GRAPHS.title,))
    text = ModuleWriter(linked, version).write().text
    assert text.count("call i16 @llvm.cttz.i16(") == (16 if "V40" in value else 1)
    text = ModuleWriter(linked, Version(full=True, slm_bytes=0)).write().text
    assert ("call i1 @llvm.cttz.i1(" in text) == ("V40" in value)
    assert text.count("call i16 @llvm.cttz.i16(") == ("V40" not in value)
