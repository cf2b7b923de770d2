"""Code that runs strip by strip gives what the reference interpreter gives."""

from __future__ import annotations

import numpy as np
import pytest

import visim.engine.jit as jit
from visim.engine.jit import strips
from visim.smith.compare import compare as compare_seed

from . import harness
from .test_jit import compare

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
    monkeypatch.setenv("VISIM_CACHE_DIR", "")
    for name, value in (("LEAST_STEPS", 1), ("LONG", 1), ("STEPS_A_ROW", 0)):
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
    monkeypatch.setattr(jit, "vector_lanes", lambda: lanes)
    monkeypatch.setattr(strips, "REGISTERS", registers)
    kernel = harness.assemble(TEXT, "pvc")
    assert compare(kernel, values(lanes), mask) is None
    width = 2 * lanes if registers else lanes
    assert {loop.strip for loop in loops} == ({width} if width < 32 else set())


@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0x8001F00F])
def test_a_loop_goes_on_behind_a_change_of_the_mode(
    monkeypatch: pytest.MonkeyPatch, loops: list[strips.StripWriter], mask: int
) -> None:
    monkeypatch.setattr(jit, "vector_lanes", lambda: 8)
    start = TEXT[: TEXT.index("    cmp.lt")]
    rounded = "    mad (M1, 32) V43(0,0)<1> V43(0,0)<1;1,0> 0x3f000001:f V43(0,0)<1;1,0>\n"
    switch = "    xor (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x{}:ud\n"
    modes = "".join(switch.format(bits) + rounded for bits in ("10", "30", "4f0", "0"))
    kernel = harness.assemble(f"{start}{rounded}{modes}    ret (M1, 1)\n", "pvc")
    assert compare(kernel, values(8), mask) is None
    assert len(loops) == 1


def sums(rng: np.random.Generator, count: int) -> str:
    """Random sums of two and three numbers in few rows, so that many are there more than once."""
    rows = ["V40", "V41", "V43"]

    def source() -> str:
        if rng.random() < 0.2:
            return rng.choice(["0x7:d", "0xfffffff9:ud", "V44(0,1)<0;1,0>"])
        return f"{rng.choice(rows)}(0,0)<1;1,0>"

    def line() -> str:
        name, sources = ("add", 2) if rng.random() < 0.5 else ("add3", 3)
        predicate = "(P1) " if rng.random() < 0.2 else ""
        row = f"{rng.choice(rows)}(0,0)"
        first = f"{rng.choice(rows)}(0,0)<1;1,0>"
        others = " ".join(source() for _ in range(sources - 1))
        return f"    {predicate}{name} (M1, 32) {row}<1> {first} {others}\n"

    start = TEXT[: TEXT.index("    (P1) goto")].replace("v_type=G type=f", "v_type=G type=d")
    return f"{start}{''.join(line() for _ in range(count))}    ret (M1, 1)\n"


@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0x8001F00F])
@pytest.mark.parametrize("most_terms", [2, 64])
@pytest.mark.parametrize("seed", range(3))
def test_sums_that_are_there_already_are_those_of_the_interpreter(
    monkeypatch: pytest.MonkeyPatch,
    loops: list[strips.StripWriter],
    seed: int,
    most_terms: int,
    mask: int,
) -> None:
    monkeypatch.setattr(jit, "vector_lanes", lambda: 8)
    monkeypatch.setattr("visim.engine.jit.sums.MOST_TERMS", most_terms)
    kernel = harness.assemble(sums(np.random.default_rng(seed), 60), "pvc")
    numbers = values(seed)
    numbers["V43"] = numbers["V43"].view(np.int32)
    assert compare(kernel, numbers, mask) is None
    assert len(loops) == 1


@pytest.mark.parametrize("seed", range(100, 104))
def test_random_programs_are_those_of_the_interpreter(
    loops: list[strips.StripWriter], seed: int
) -> None:
    assert compare_seed(seed, "pvc").is_fine
