"""Code that runs strip by strip gives what the reference interpreter gives."""

from __future__ import annotations

import re

import numpy as np
import pytest

import visim.engine.jit as jit
from visim.engine.base import Machine, RunOptions
from visim.engine.jit.analysis.runs import Run
from visim.engine.jit.emit.module import ModuleWriter
from visim.engine.jit.launch import code
from visim.engine.jit.writing import strips
from visim.engine.jit.writing.versions import Version
from visim.machine.memory import Memory
from visim.machine.surfaces import Surfaces
from visim.smith.compare import compare as compare_seed

from . import harness
from .both import compare

TEXT = """.version 4.1
.kernel "k"
.decl V40 v_type=G type=ud num_elts=32 align=wordx32
.decl V41 v_type=G type=ud num_elts=32 align=wordx32
.decl V42 v_type=G type=q num_elts=32 align=wordx32
.decl V43 v_type=G type=f num_elts=32 align=wordx32
.decl V44 v_type=G type=ud num_elts=8 align=wordx32
.decl V45 v_type=G type=hf num_elts=32 align=wordx32
.decl V46 v_type=G type=d num_elts=64 align=wordx32
.decl V47 v_type=G type=ub num_elts=64 align=wordx32
.decl P1 v_type=P num_elts=32
.decl P2 v_type=P num_elts=32
.kernel_attr SimdSize=32
.function "k"
k:
    cmp.lt (M1, 32) P1 V40(0,0)<1;1,0> V41(0,0)<1;1,0>
    (P1) goto (M1, 32) L1
    add (M1, 32) V40(0,0)<1> V40(0,0)<1;1,0> V44(0,1)<0;1,0>
    add (M1_NM, 1) V44(0,2)<1> V44(0,2)<0;1,0> 0x7:ud
    cmp.gt (M1, 32) P2 V40(0,0)<1;1,0> V44(0,2)<0;1,0>
    rol (M1, 32) V41(0,0)<1> V40(0,0)<1;1,0> 0x7:ud
    (P2) bfn.xca (M1, 32) V40(0,0)<1> V40(0,0)<1;1,0> V41(0,0)<1;1,0> V44(0,0)<0;1,0>
    mov (M1, 32) V42(0,0)<1> V40(0,0)<1;1,0>
    add (M1, 32) V42(0,0)<1> V42(0,0)<1;1,0> V46(0,0)<2;1,0>
    (!P2) mul (M1, 32) V43(0,0)<1> V43(0,0)<1;1,0> 0x3f000000:f
    mov (M1, 32) V45(0,0)<1> V43(0,0)<1;1,0>
    mov (M1_NM, 32) V46(0,1)<2> V41(0,0)<1;1,0>
    mov (M1, 32) V47(0,0)<2> V40(0,0)<1;1,0>
    cmp.eq (M1_NM, 32) P1 V41(0,0)<1;1,0> V44(0,2)<0;1,0>
L1:
    (P2) mov (M1, 32) V41(0,0)<1> V40(0,0)<1;1,0>
    (!P1) mov (M1, 32) V40(0,0)<1> V44(0,2)<0;1,0>
    ret (M1, 1)
"""


@pytest.fixture(autouse=True)
def _strips_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take hosts to be without AVX-512, where nothing runs strip by strip, and runs to be long."""
    monkeypatch.setattr(code, "has_mask_registers", lambda: False)
    monkeypatch.setenv("VISIM_CACHE_DIR", "")
    names = ("LEAST_STEPS", "LONG", "STEPS_A_ROW", "STEPS_A_ROW_IN_PLACE")
    for name, value in zip(names, (1, 1, 0, 0), strict=True):
        monkeypatch.setattr(strips, name, value)


@pytest.fixture
def loops(monkeypatch: pytest.MonkeyPatch) -> list[strips.StripWriter]:
    """The loops over strips that are written."""
    written: list[strips.StripWriter] = []
    write = strips.StripWriter.write

    def noted(self: strips.StripWriter) -> None:
        written.append(self)
        write(self)

    monkeypatch.setattr(strips.StripWriter, "write", noted)
    return written


def values(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    found: dict[str, np.ndarray] = {
        f"V{number}": rng.integers(0, 1 << 32, count, dtype=np.uint32)
        for number, count in ((40, 32), (41, 32), (44, 8), (46, 64))
    }
    found["V42"] = rng.integers(0, 1 << 62, 32, dtype=np.int64)
    found["V43"] = (rng.random(32, np.float32) - 0.5) * 1000
    found["V45"] = np.zeros(32, np.uint16)
    found["V47"] = np.zeros(64, np.uint8)
    return found


@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0x8001F00F])
@pytest.mark.parametrize("registers", [0, 99])
@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_masks_types_and_predicates_are_those_of_the_interpreter(
    monkeypatch: pytest.MonkeyPatch,
    loops: list[strips.StripWriter],
    lanes: int,
    registers: int,
    mask: int,
) -> None:
    monkeypatch.setattr(code, "vector_lanes", lambda: lanes)
    monkeypatch.setattr(strips, "REGISTERS", registers)
    kernel = harness.assemble(TEXT, "pvc")
    assert compare(kernel, values(lanes), mask) is None
    width = 2 * lanes if registers else lanes
    assert {loop.strip for loop in loops} == ({width} if width < 32 else set())


@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0x8001F00F])
def test_a_loop_goes_on_behind_a_change_of_the_mode(
    monkeypatch: pytest.MonkeyPatch, loops: list[strips.StripWriter], mask: int
) -> None:
    monkeypatch.setattr(code, "vector_lanes", lambda: 8)
    start = TEXT[: TEXT.index("    cmp.lt")]
    rounded = "    mad (M1, 32) V43(0,0)<1> V43(0,0)<1;1,0> 0x3f000001:f V43(0,0)<1;1,0>\n"
    switch = "    xor (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x{}:ud\n"
    modes = "".join(switch.format(bits) + rounded for bits in ("10", "30", "4f0", "0"))
    kernel = harness.assemble(f"{start}{rounded}{modes}    ret (M1, 1)\n", "pvc")
    assert compare(kernel, values(8), mask) is None
    assert len(loops) == 1


@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0x8001F00F])
@pytest.mark.parametrize("special", [None, 3, 21])
def test_what_is_seldom_needed_stands_in_the_loop_behind_a_branch(
    monkeypatch: pytest.MonkeyPatch, loops: list[strips.StripWriter], special: int | None, mask: int
) -> None:
    monkeypatch.setattr(code, "vector_lanes", lambda: 8)
    start = TEXT[: TEXT.index("    cmp.lt")]
    root = "    rsqrt (M1, 32) V43(0,0)<1> V43(0,0)<1;1,0>\n"
    chosen = "    cmp.lt (M1, 32) P1 V40(0,0)<1;1,0> V41(0,0)<1;1,0>\n    (P1) " + root.lstrip()
    kernel = harness.assemble(f"{start}{root}{chosen}{root}    ret (M1, 1)\n", "pvc")
    numbers = values(8)
    numbers["V43"] = np.abs(numbers["V43"]) + 1
    if special is not None:
        numbers["V43"][special] = 0
    assert compare(kernel, numbers, mask) is None
    assert len(loops) == 1


@pytest.mark.parametrize("seed", range(100, 104))
def test_random_programs_are_those_of_the_interpreter(
    loops: list[strips.StripWriter], seed: int
) -> None:
    assert compare_seed(seed, "pvc").is_fine


def alike(number: str) -> str:
    """A program that does the same three times with other registers; the last by a `number`."""
    head = TEXT[: TEXT.index("    cmp.lt")].replace(
        ".kernel_attr", ".decl P3 v_type=P num_elts=32\n.kernel_attr", 1
    )
    piece = """    cmp.lt (M1, 32) {p} {a}(0,0)<1;1,0> V44(0,{n})<0;1,0>
    add (M1, 32) {a}(0,0)<1> {a}(0,0)<1;1,0> V44(0,{n})<0;1,0>
    ({p}) rol (M1, 32) {b}(0,0)<1> {a}(0,0)<1;1,0> {number}:ud
    (!{p}) xor (M1, 32) {b}(0,0)<1> {a}(0,0)<1;1,0> {b}(0,0)<1;1,0>
    ({p}) goto (M1, 32) L{n}
L{n}:
"""
    names = [("P1", "V40", "V41"), ("P2", "V41", "V40"), ("P3", "V40", "V41")]
    pieces = [
        piece.format(p=p, a=a, b=b, n=n, number=how)
        for n, ((p, a, b), how) in enumerate(zip(names, ["0x7", "0x7", number], strict=True))
    ]
    return f"{head}{''.join(pieces)}    ret (M1, 1)\n"


@pytest.mark.parametrize(("number", "ways"), [("0x7", ["noinline"]), ("0x8", None)])
@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0x8001F00F])
def test_loops_that_are_alike_are_one_function(
    monkeypatch: pytest.MonkeyPatch,
    loops: list[strips.StripWriter],
    mask: int,
    number: str,
    ways: list[str] | None,
) -> None:
    monkeypatch.setattr(code, "vector_lanes", lambda: 8)
    kernel = harness.assemble(alike(number), "pvc")
    assert compare(kernel, values(9), mask) is None
    assert len(loops) == 3
    version = Version(full=True, slm_bytes=0, vector_lanes=8)
    text = ModuleWriter(kernel.linked, version).write().text
    found = re.findall(r"define internal void @piece.* (\w+) #0", text)
    assert found == (ways or ["noinline", "alwaysinline"])
    assert text.count("call void @piece.0") == 4 - len(found)


ROWS, BLOCKS, ELEMENTS = 8, 4, 64


def product_kernel(*, reaches: bool) -> str:
    """A loop that adds products of a row and elements of blocks, which begin where V41 says.

    With `reaches` one of the sums is read by an indirect operand, so that it has a fixed place.
    """
    lines = [
        ".version 4.1",
        '.kernel "k"',
        ".decl V40 v_type=G type=uq num_elts=2 align=wordx32",
        f".decl V41 v_type=G type=uq num_elts={BLOCKS} align=wordx32",
        ".decl V42 v_type=G type=d num_elts=32 align=wordx32",
        ".decl V43 v_type=G type=d num_elts=1 align=wordx32",
        ".decl V44 v_type=G type=uq num_elts=32 align=wordx32",
        ".decl P1 v_type=P num_elts=32",
        ".decl P2 v_type=P num_elts=32",
        ".decl A0 v_type=A num_elts=1",
    ]
    lines += [
        f".decl V{first + n} v_type=G type={kind} num_elts={count} align=wordx32"
        for first, kind, count, number in (
            (50, "d", 32, ROWS),
            (60, "d", 8, BLOCKS),
            (70, "uq", 1, BLOCKS),
            (80, "uq", 32, ROWS),
        )
        for n in range(number)
    ]
    lines += [".kernel_attr SimdSize=32", '.function "k"', "k:"]
    lines += ["    mov (M1_NM, 1) V43(0,0)<1> 0x0:d", "L1:"]
    for block in range(BLOCKS):
        at, of = f"V{70 + block}(0,0)", f"V{60 + block}"
        lines += [
            f"    add (M1_NM, 1) {at}<1> V40(0,0)<0;1,0> V41(0,{block})<0;1,0>",
            f"    lsc_load.ugm (M1_NM, 1)  {of}:d32x8t  flat[V{70 + block}]:a64",
            f"    cmp.gt (M1, 32) P1 V42(0,0)<1;1,0> {of}(0,3)<0;1,0>",
        ]
        lines += [
            f"    {'(P1) ' if n % 2 else ''}mad (M1, 32) V{50 + n}(0,0)<1> "
            f"{of}(0,{n})<0;1,0> V42(0,0)<1;1,0> V{50 + n}(0,0)<1;1,0>"
            for n in range(ROWS)
        ]
    lines += [
        "    add (M1_NM, 1) V43(0,0)<1> V43(0,0)<0;1,0> 0x1:d",
        "    cmp.lt (M1_NM, 32) P2 V43(0,0)<0;1,0> 0x3:d",
        "    (P2) goto (M1, 32) L1",
        "    mov (M1, 32) V44(0,0)<1> V42(0,0)<1;1,0>",
        "    shl (M1, 32) V44(0,0)<1> V44(0,0)<1;1,0> 0x2:uq",
        "    add (M1, 32) V44(0,0)<1> V44(0,0)<1;1,0> V40(0,1)<0;1,0>",
    ]
    if reaches:
        lines += [
            "    addr_add (M1_NM, 1) A0(0)<1> &V51 0x40:uw",
            "    add (M1, 16) V52(0,0)<1> V52(0,0)<1;1,0> r[A0(0),0]<1;1,0>:d",
        ]
    for n in range(ROWS):
        lines += [
            f"    add (M1, 32) V{80 + n}(0,0)<1> V44(0,0)<1;1,0> {128 * n:#x}:uq",
            f"    lsc_store.ugm (M1, 32)  flat[V{80 + n}]:a64  V{50 + n}:d32",
        ]
    return "\n".join([*lines, "    ret (M1, 1)", ""])


@pytest.mark.parametrize("wrong", [None, 0, 2, BLOCKS - 1])
@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0x8001F00F])
@pytest.mark.parametrize(("in_place", "reaches"), [(False, False), (True, False), (True, True)])
def test_blocks_that_are_loaded_in_front_are_those_of_the_interpreter(
    monkeypatch: pytest.MonkeyPatch,
    loops: list[strips.StripWriter],
    in_place: bool,
    reaches: bool,
    mask: int,
    wrong: int | None,
) -> None:
    monkeypatch.setattr(code, "vector_lanes", lambda: 8)
    monkeypatch.setattr(strips, "REGISTERS", 0)

    def stays(_: Run) -> bool:
        return in_place

    monkeypatch.setattr(strips, "stays", stays)
    kernel = harness.assemble(product_kernel(reaches=reaches), "pvc")
    data, out = np.arange(ELEMENTS, dtype=np.int32) * 7919, np.zeros(32 * ROWS, np.int32)
    memory = Memory()
    bases = [memory.add(data, "data"), memory.add(out, "out")]
    starts = [32 * block for block in range(BLOCKS)]
    if wrong is not None:
        starts[wrong] = 4 * ELEMENTS + 64
    given = {
        "V40": np.array(bases, np.uint64),
        "V41": np.array(starts, np.uint64),
        "V42": np.arange(32, dtype=np.int32),
    }
    given |= {f"V{50 + n}": np.arange(32, dtype=np.int32) * n for n in range(ROWS)}
    registers = tuple((kernel.place(name), array.tobytes()) for name, array in given.items())
    group = harness.GroupsAlike((harness.ThreadStart(registers, mask),))
    found: list[tuple[object, int, bytes]] = []
    for engine in (kernel.prepared, jit.Prepared(kernel.linked)):
        out[:] = -1
        ended = engine.run([0], group, Machine(memory, Surfaces()), RunOptions())
        found.append((ended.fault, ended.executed, out.tobytes()))
    assert found[0] == found[1]
    assert (found[0][0] is None) == (wrong is None)
    crowded = [loop for loop in loops if len(loop.run.leading) >= 2 * BLOCKS]
    assert {loop.cut.in_place for loop in crowded} == {in_place}
