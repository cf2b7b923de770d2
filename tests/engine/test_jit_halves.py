"""Halves of rows in local memory of which channels are off that would be out of range.

Code for 16 channels at a time has two messages where others have one. All channels of one of them
may be off, and far from where local memory is.
"""

from __future__ import annotations

import numpy as np
import pytest

from visim.engine import jit
from visim.engine.base import Machine, RunOptions, SharedStarts
from visim.engine.jit.analysis.affine import InputShape
from visim.engine.jit.analysis.inputs import Inputs
from visim.machine.memory import Memory
from visim.machine.surfaces import Surfaces

from . import harness

LANES = 32
ELEMENTS = 64
FAR = 40_000
"""Elements: more than the memory around local memory that nobody has."""

HEAD = f""".version 4.1
.kernel "k"
.decl V40 v_type=G type=uq num_elts=1 align=wordx32
.decl V41 v_type=G type=d num_elts=2 align=wordx32
.decl V42 v_type=G type=uw num_elts={LANES} align=wordx32
.decl V43 v_type=G type=ud num_elts={LANES} align=wordx32
.decl V44 v_type=G type=ud num_elts={LANES} align=wordx32
.decl V45 v_type=G type=uq num_elts={LANES} align=wordx32
.decl V50 v_type=G type=ud num_elts=16 align=wordx32
.decl V51 v_type=G type=ud num_elts=16 align=wordx32
.decl V52 v_type=G type=ud num_elts=16 align=wordx32
.decl V53 v_type=G type=ud num_elts=16 align=wordx32
.decl V60 v_type=G type=ud num_elts=16 align=wordx32
.decl V61 v_type=G type=ud num_elts=16 align=wordx32
.input V42 offset=64 size={2 * LANES}
.kernel_attr SimdSize={LANES}
.function "k"
k:
    shl (M1_NM, 32) V43(0,0)<1> V42(0,0)<1;1,0> 0x2:ud
    add (M1_NM, 32) V44(0,0)<1> V43(0,0)<1;1,0> {4 * LANES:#x}:ud
    lsc_store.slm (M1_NM, 32)  flat[V43]:a32  V43:d32
    lsc_store.slm (M1_NM, 32)  flat[V44]:a32  V44:d32
    mov (M1, 32) V45(0,0)<1> V43(0,0)<1;1,0>
    add (M1, 32) V45(0,0)<1> V45(0,0)<1;1,0> V40(0,0)<0;1,0>
"""


def kernel_of() -> str:
    """Return a kernel that adds rows in local memory, half by half, and says what it has added."""
    lines = list[str]()
    halves = list(enumerate((("M1", "(0,0)"), ("M5", "(0,16)"))))
    for half, (mask, at) in halves:
        for start in range(2):
            n = 50 + half + 2 * start
            lines += [
                f"add ({mask}, 16) V{n}(0,0)<1> V42{at}<1;1,0> V41(0,{start})<0;1,0>",
                f"shl ({mask}, 16) V{n}(0,0)<1> V{n}(0,0)<1;1,0> 0x2:ud",
            ]
    for half, (mask, _) in halves:
        lines.append(f"lsc_load.slm ({mask}, 16)  V{60 + half}:d32  flat[V{50 + half}]:a32")
    for half, (mask, _) in halves:
        lines.append(f"add ({mask}, 16) V{60 + half}(0,0)<1> V{60 + half}(0,0)<1;1,0> 0x1:ud")
    for half, (mask, _) in halves:
        lines.append(f"lsc_store.slm ({mask}, 16)  flat[V{52 + half}]:a32  V{60 + half}:d32")
    lines.append("lsc_load.slm (M1_NM, 32)  V44:d32  flat[V43]:a32")
    for half, (mask, _) in halves:
        at = f"({half},0)"
        lines.append(f"add ({mask}, 16) V44{at}<1> V44{at}<1;1,0> V{60 + half}(0,0)<1;1,0>")
    lines += ["lsc_store.ugm (M1, 32)  flat[V45]:a64  V44:d32", "ret (M1, 1)"]
    return HEAD + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize("mask", [0x00FF, 0xFFFF, 0x00F00000, 0xFFFF0000, 0x000FF000, 0x80000001])
def test_halves_that_are_off_may_be_anywhere(mask: int) -> None:
    kernel = harness.assemble(kernel_of(), "pvc")
    engines = kernel.prepared, jit.Prepared(kernel.linked)
    memory, out, faults = Memory(), np.zeros(LANES, np.uint32), set[bool]()
    base = memory.add(out, "out")
    lanes = [lane for lane in range(LANES) if mask >> lane & 1]
    low, high = -lanes[0], ELEMENTS - 1 - lanes[-1]
    starts = [(0, high), (high, low), (low, low), (low - 1, 0), (0, high + 1), (FAR, 0), (0, -FAR)]
    for start in starts:
        registers = (
            (kernel.place("V40"), np.array([base], np.uint64).tobytes()),
            (kernel.place("V41"), np.array(start, np.int32).tobytes()),
            (kernel.place("V42"), np.arange(LANES, dtype=np.uint16).tobytes()),
        )
        group = harness.GroupsAlike((harness.ThreadStart(registers, mask),), 4 * ELEMENTS)
        found = list[tuple[object, list[int]]]()
        for engine in engines:
            out[:] = 0
            ended = engine.run([0], group, Machine(memory, Surfaces()), RunOptions())
            found.append((ended.fault, out.tolist()))
        assert found[0] == found[1], start
        faults.add(found[0][0] is not None)
    assert faults == {False, True}


HALVES = f""".version 4.1
.kernel "k"
.decl V40 v_type=G type=uq num_elts=2 align=wordx32
.decl V42 v_type=G type=uw num_elts=16 align=wordx32
.decl V43 v_type=G type=uw num_elts=16 align=wordx32
.decl V50 v_type=G type=ud num_elts=16 align=wordx32
.decl V51 v_type=G type=uq num_elts=16 align=wordx32
.decl V52 v_type=G type=ud num_elts=16 align=wordx32
.decl V53 v_type=G type=uq num_elts=16 align=wordx32
.input V42 offset=64 size=32
.input V43 offset=128 size=32
.kernel_attr SimdSize={LANES}
.function "k"
k:
"""


def copy_of(reads: list[tuple[str, str]]) -> str:
    """Return a kernel that copies the elements with the numbers that variables have."""
    lines = list[str]()
    for number, (mask, ids) in enumerate(reads):
        lines += [
            f"shl ({mask}, 16) V50(0,0)<1> {ids}(0,0)<1;1,0> 0x2:ud",
            f"mov ({mask}, 16) V51(0,0)<1> V50(0,0)<1;1,0>",
            f"add ({mask}, 16) V53(0,0)<1> V51(0,0)<1;1,0> {256 * number:#x}:q",
            f"add ({mask}, 16) V51(0,0)<1> V51(0,0)<1;1,0> V40(0,0)<0;1,0>",
            f"add ({mask}, 16) V53(0,0)<1> V53(0,0)<1;1,0> V40(0,1)<0;1,0>",
            f"lsc_load.ugm ({mask}, 16)  V52:d32  flat[V51]:a64",
            f"lsc_store.ugm ({mask}, 16)  flat[V53]:a64  V52:d32",
        ]
    return HALVES + "".join(f"    {line}\n" for line in [*lines, "ret (M1, 1)"])


@pytest.mark.parametrize(
    ("reads", "rows"),
    [
        ([("M1", "V42"), ("M5", "V43")], 2),
        ([("M5", "V43"), ("M1", "V42"), ("M1", "V43")], 1),
        ([("M5", "V42")], 1),
    ],
)
def test_ids_of_the_upper_half_are_rows_for_its_channels(
    reads: list[tuple[str, str]], rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last thread of a group has channels that are off, whose ids are no row."""
    found, shapes = list[InputShape](), Inputs.shapes

    def noted(self: Inputs, shared: SharedStarts) -> tuple[InputShape, ...]:
        found[:] = shapes(self, shared)
        return tuple(found)

    monkeypatch.setattr(Inputs, "shapes", noted)
    kernel = harness.assemble(copy_of(reads), "pvc")
    memory, data = Memory(), np.arange(ELEMENTS, dtype=np.uint32) * np.uint32(7)
    out = np.zeros(4 * ELEMENTS, np.uint32)
    bases = np.array([memory.add(data, "data"), memory.add(out, "out")], np.uint64).tobytes()
    ids = np.arange(ELEMENTS, dtype=np.uint16).reshape(2, 2, 16)
    ids[1, 1, 4:] = 3
    starts = tuple(
        harness.ThreadStart(
            (
                (kernel.place("V40"), bases),
                (kernel.place("V42"), low.tobytes()),
                (kernel.place("V43"), high.tobytes()),
            ),
            mask,
        )
        for (low, high), mask in zip(ids, (0xFFFFFFFF, 0xFFFFF), strict=True)
    )
    group, left = harness.GroupsAlike(starts), list[list[int]]()
    for engine in (kernel.prepared, jit.Prepared(kernel.linked)):
        out[:] = 0
        assert engine.run([0], group, Machine(memory, Surfaces()), RunOptions()).fault is None
        left.append(out.tolist())
    assert left[0] == left[1]
    assert len(found) == rows
