"""Integer division as Intel's compiler writes it gives the same on both engines."""

from __future__ import annotations

import numpy as np
import pytest

from visim.engine import jit
from visim.engine.base import Machine, RunOptions
from visim.engine.jit.analysis import quotients
from visim.engine.jit.analysis.quotients import QuotientFinder
from visim.engine.jit.launch import code
from visim.engine.jit.writing import strips
from visim.machine.memory import Memory
from visim.machine.surfaces import Surfaces
from visim.sem.effects import Effect

from . import harness
from .both import compare

HEAD = """.version 4.1
.kernel "k"
.decl A0 v_type=A num_elts=1
.decl V40 v_type=G type=ud num_elts=32 align=wordx32
.decl V41 v_type=G type=ud num_elts=32 align=wordx32
.decl V42 v_type=G type=f num_elts=32 align=wordx32
.decl V43 v_type=G type=df num_elts=32 align=wordx32
.decl V44 v_type=G type=df num_elts=32 align=wordx32
.decl V45 v_type=G type=df num_elts=32 align=wordx32
.decl V46 v_type=G type=df num_elts=32 align=wordx32
.decl V47 v_type=G type=ud num_elts=32 align=wordx32
.decl V48 v_type=G type=ud num_elts=32 align=wordx32
.decl P1 v_type=P num_elts=32
.kernel_attr SimdSize=32
.function "k"
k:
"""
MORE = """.decl V49 v_type=G type=uq num_elts=32 align=wordx32
.decl V50 v_type=G type=ud num_elts=32 align=wordx32
.decl V51 v_type=G type=ud num_elts=32 align=wordx32
.decl V52 v_type=G type=df num_elts=1 align=wordx32
"""
DIVISION = """
    mov (M1, 32) V42(0,0)<1> V41(0,0)<1;1,0>
    inv (M1, 32) V42(0,0)<1> V42(0,0)<1;1,0>
    mov (M1, 32) V43(0,0)<1> V41(0,0)<1;1,0>
    mov (M1, 32) V43(0,0)<1> (-)V43(0,0)<1;1,0>
    mov (M1, 32) V44(0,0)<1> V42(0,0)<1;1,0>
    xor (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x30:ud
    mad (M1, 32) V45(0,0)<1> V43(0,0)<1;1,0> V44(0,0)<1;1,0> 0x3ff0000000004000:df
    xor (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x30:ud
    mov (M1, 32) V46(0,0)<1> V40(0,0)<1;1,0>
    xor (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x30:ud
    mul (M1, 32) V46(0,0)<1> V44(0,0)<1;1,0> V46(0,0)<1;1,0>
    mad (M1, 32) V45(0,0)<1> V46(0,0)<1;1,0> V45(0,0)<1;1,0> V46(0,0)<1;1,0>
    xor (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x30:ud
    mov (M1, 32) V47(0,0)<1> V45(0,0)<1;1,0>
"""
LINES = DIVISION.strip().splitlines()
OTHERS = {
    "another correction": DIVISION.replace("4000:df", "2000:df"),
    "no correction": DIVISION.replace("V45(0,0)<1;1,0> V46", "V46(0,0)<1;1,0> V46"),
    "the nearest sums": DIVISION.replace("0x30:ud", "0x0:ud"),
    "sums rounded up": DIVISION.replace("0x30:ud", "0x10:ud"),
    "a numerator that changes": DIVISION.replace(
        LINES[-1], f"add (M1, 32) V40(0,0)<1> V40(0,0)<1;1,0> 0x1:ud\n{LINES[-1]}"
    ),
    "a divisor that changes": DIVISION.replace(
        LINES[2], f"add (M1, 2) V41(0,0)<1> V41(0,0)<1;1,0> 0x1:ud\n{LINES[2]}"
    ),
    "a numerator that changes by its address": DIVISION.replace(
        LINES[-1],
        "addr_add (M1_NM, 1) A0(0)<1> &V40 0x0:uw\n"
        f"mov (M1, 2) r[A0(0),0]<1>:ud 0x9:ud\n{LINES[-1]}",
    ),
    "a reciprocal of some channels": DIVISION.replace("inv (M1", "(P1) inv (M1"),
    "halves": DIVISION.replace(LINES[8], LINES[8].replace("32)", "16)")),
}


def values(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    edges = [0, 1, 2, 3, 5, 7, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF, 65537]
    n, d = rng.integers(0, 1 << 32, (2, 32), dtype=np.uint32)
    d >>= rng.integers(0, 32, 32).astype(np.uint32)
    n[:16], d[:16] = rng.choice(edges, 16), rng.choice(edges, 16)
    n[16:24] = d[16:24] * np.uint32(3) - rng.integers(0, 2, 8, dtype=np.uint32)
    return {"V40": n, "V41": d, "V47": np.zeros(32, np.uint32)}


@pytest.fixture
def divisions(monkeypatch: pytest.MonkeyPatch) -> list[Effect]:
    """The effects that have become divisions."""
    monkeypatch.setenv("VISIM_CACHE_DIR", "")
    found: list[Effect] = []
    divided = QuotientFinder._divided  # pyright: ignore[reportPrivateUsage]

    def noted(self: QuotientFinder, effect: Effect, mode: quotients.FloatMode) -> Effect:
        new = divided(self, effect, mode)
        found.extend([new] if new is not effect else [])
        return new

    monkeypatch.setattr(QuotientFinder, "_divided", noted)
    return found


@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0x8001F00F])
@pytest.mark.parametrize("seed", range(6))
def test_quotients_are_those_of_the_compilers_sums(
    divisions: list[Effect], seed: int, mask: int
) -> None:
    kernel = harness.assemble(f"{HEAD}{DIVISION}    ret (M1, 1)\n", "pvc")
    assert compare(kernel, values(seed), mask) is None
    assert len(divisions) == 1


def test_a_divisor_for_all_channels_is_found(divisions: list[Effect]) -> None:
    text = DIVISION
    for name in ("V41", "V42", "V43", "V44", "V45"):
        text = text.replace(f"{name}(0,0)<1;1,0>", f"{name}(0,0)<0;1,0>")
    lines = text.strip().splitlines()
    lines[:7] = [line.replace("(M1, 32)", "(M1_NM, 1)") for line in lines[:7]]
    lines[-3] = lines[-3].replace("V45(0,0)<1>", "V46(0,0)<1>")
    lines[-1] = lines[-1].replace("V45(0,0)<0;1,0>", "V46(0,0)<1;1,0>")
    kernel = harness.assemble("\n".join([HEAD, *lines, "    ret (M1, 1)\n"]), "pvc")
    for seed in range(4):
        assert compare(kernel, values(seed), 0xFFFF0FFE) is None
    assert len(divisions) == 4


@pytest.mark.parametrize("other", OTHERS)
def test_what_is_no_division_stays(divisions: list[Effect], other: str) -> None:
    assert OTHERS[other] != DIVISION
    kernel = harness.assemble(f"{HEAD}{OTHERS[other]}    ret (M1, 1)\n", "pvc")
    assert compare(kernel, values(9), 0xFFFFFFFF) is None
    assert not divisions


def test_signed_numbers_are_divided_as_written(divisions: list[Effect]) -> None:
    head = HEAD.replace("V40 v_type=G type=ud", "V40 v_type=G type=d")
    assert head != HEAD
    kernel = harness.assemble(f"{head}{DIVISION}    ret (M1, 1)\n", "pvc")
    assert compare(kernel, values(9), 0xFFFFFFFF) is None
    assert not divisions


@pytest.mark.parametrize("kind", ["d", "ud"])
def test_sums_that_are_cut_off_after_a_detour_by_floats_are_no_divisions(
    divisions: list[Effect], kind: str
) -> None:
    switch = LINES[5]
    lines = [
        "mul (M1, 32) V47(0,0)<1> V40(0,0)<1;1,0> V41(0,0)<1;1,0>",
        "add (M1, 32) V47(0,0)<1> V47(0,0)<1;1,0> V48(0,0)<1;1,0>",
        "mov (M1, 32) V43(0,0)<1> V47(0,0)<1;1,0>",
        switch,
        "mov (M1, 32) V48(0,0)<1> V43(0,0)<1;1,0>",
    ]
    head = HEAD.replace("V47 v_type=G type=ud", f"V47 v_type=G type={kind}")
    kernel = harness.assemble("\n".join([head, switch, *lines, "    ret (M1, 1)\n"]), "pvc")
    numbers = values(3) | {"V48": np.arange(32, dtype=np.uint32)}
    assert compare(kernel, numbers, 0x8001F00F) is None
    assert not divisions


def test_what_strips_compute_is_there_for_a_division_behind_them(
    divisions: list[Effect], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiler's last instruction reads neither number, the division both."""
    monkeypatch.setattr(code, "has_mask_registers", lambda: False)
    for name in ("LEAST_STEPS", "LONG", "STEPS_A_ROW", "STEPS_A_ROW_IN_PLACE"):
        monkeypatch.setattr(strips, name, 0)
    head = HEAD.replace(".decl P1", f"{MORE}.decl P1")
    lines = [
        "shr (M1_NM, 32) V40(0,0)<1> V50(0,0)<1;1,0> 0x1:ud",
        "shr (M1_NM, 32) V41(0,0)<1> V51(0,0)<1;1,0> 0x14:ud",
        *LINES[:-1],
        "mov (M1_NM, 1) V52(0,0)<1> V45(0,0)<0;1,0>",  # a strip ends here
        LINES[-1],
        "lsc_store.ugm (M1_NM, 32)  flat[V49]:a64  V47:d32",
    ]
    kernel = harness.assemble("\n".join([head, *lines, "    ret (M1, 1)\n"]), "pvc")
    out, memory, given = np.zeros(32, np.uint32), Memory(), values(5)
    places = memory.add(out, "out") + 4 * np.arange(32, dtype=np.uint64)
    given = {"V49": places, "V50": given["V40"], "V51": given["V41"]}
    registers = tuple((kernel.place(name), data.tobytes()) for name, data in given.items())
    group = harness.Group((harness.ThreadStart(registers, 0xFFFFFFFF),), 0)
    found: list[list[int]] = []
    for engine in (kernel.prepared, jit.Prepared(kernel.linked)):
        out[:] = 0
        assert engine.run([0], group, Machine(memory, Surfaces()), RunOptions()).fault is None
        found.append(out.tolist())
    assert found[0] == found[1]
    assert any(found[0])
    assert divisions


def test_a_divisor_that_some_channels_share_is_not_taken_for_all(divisions: list[Effect]) -> None:
    """A scalar that channel 0 writes is not written where channel 0 is off."""
    lines = [line.replace("(M1, 32)", "(M1, 1)") for line in LINES[:2]]
    text = "\n".join([HEAD, *lines, *LINES[2:4]])
    text += "\n    mov (M1, 32) V44(0,0)<1> V42(0,0)<0;1,0>\n"
    text += "\n".join([*LINES[5:], "    ret (M1, 1)\n"])
    kernel = harness.assemble(text, "pvc")
    given = values(3) | {"V41": np.full(32, 7, np.uint32)}
    assert compare(kernel, given, 0xFFFFFFFE) is None
    assert not divisions


LOOP = """.decl V53 v_type=G type=ud num_elts=32 align=wordx32
.decl V54 v_type=G type=ud num_elts=1 align=dword
.decl V55 v_type=G type=ud num_elts=32 align=wordx32
.decl V56 v_type=G type=df num_elts=32 align=wordx32
.decl V57 v_type=G type=df num_elts=1 align=qword
.decl V58 v_type=G type=df num_elts=1 align=qword
.decl V59 v_type=G type=f num_elts=1 align=dword
.decl V60 v_type=G type=uw num_elts=32 align=wordx32
.decl V61 v_type=G type=df num_elts=32 align=wordx32
.decl P2 v_type=P num_elts=32
"""
DIVISOR = "\n".join(LINES[:5])
SUMS = "\n".join(LINES[5:]).replace("V45", "V56")
WIDE_N = LINES[8].replace("V46", "V61")
NO_N = SUMS.replace(f"{LINES[8]}\n", "").replace("V46(0,0)<1;1,0>", "V61(0,0)<1;1,0>", 1)
SCALAR = """
    mov (M1_NM, 1) V59(0,0)<1> V41(0,0)<0;1,0>
    inv (M1_NM, 1) V59(0,0)<1> V59(0,0)<0;1,0>
    mov (M1_NM, 1) V52(0,0)<1> V41(0,0)<0;1,0>
    mov (M1_NM, 1) V57(0,0)<1> (-)V52(0,0)<0;1,0>
    mov (M1_NM, 1) V58(0,0)<1> V59(0,0)<0;1,0>
"""
ONCE = DIVISOR.replace("V43(0,0)<1> V41", "V45(0,0)<1> V41").replace("(-)V43", "(-)V45")
BY_ONE = SUMS.replace("V43(0,0)<1;1,0>", "V57(0,0)<0;1,0>").replace(
    "V44(0,0)<1;1,0>", "V58(0,0)<0;1,0>"
)
SKIP = "cmp.gt (M1, 32) P2 V55(0,0)<1;1,0> 0x2:ud\n(P2) goto (M1, 32) over"
STEP = "add (M1, 32) V41(0,0)<1> V41(0,0)<1;1,0> 0x1:ud"
FOUND = {
    "the divisor": (ONCE, SUMS),
    "one divisor for all": (SCALAR, BY_ONE),
    "a divisor that is written later": (f"{ONCE}\n{STEP}", SUMS),
    "the numerator": (WIDE_N, f"{DIVISOR}\n{NO_N}"),
    "both": (f"{ONCE}\n{WIDE_N}", NO_N),
    "both, in blocks of their own": (f"{ONCE}\nnext:\n{WIDE_N}", NO_N),
    "a reciprocal that all channels share": (
        SCALAR + "\n".join(ONCE.splitlines()[2:4]).replace("V41(0,0)<1;1,0>", "V41(0,0)<0;1,0>"),
        SUMS.replace("V44(0,0)<1;1,0>", "V58(0,0)<0;1,0>"),
    ),
    "nothing, but a numerator of words": ("", f"{DIVISOR}\n{SUMS}".replace("V40", "V60")),
    "nothing, but a product as the numerator": (
        "",
        f"mul (M1, 32) V48(0,0)<1> V40(0,0)<1;1,0> V55(0,0)<1;1,0>\n{DIVISOR}\n"
        + SUMS.replace("V40", "V48"),
    ),
    "nothing, but a number as the numerator": (
        "",
        f"{DIVISOR}\n{NO_N}".replace("V61(0,0)<1;1,0>", "0x41dffffffbc00000:df"),
    ),
}
NOT_FOUND = {
    "what some channels pass by": (f"{SKIP}\n{ONCE}\nover:", SUMS),
    "a divisor of the turn before": ("", f"{SUMS}\n{ONCE}\n{STEP}"),
    "a reciprocal of another time": (
        f"{ONCE}\n",
        f"{SUMS}\n{STEP}\n" + "\n".join([*LINES[:2], LINES[4]]),
    ),
    "a numerator that no integer became": (
        WIDE_N.replace("V40", "V42"),
        f"{DIVISOR}\n{NO_N}",
    ),
    "what some channels pass by, in blocks of another mode": (
        f"{SKIP}\n{ONCE}\n{LINES[5]}\nover:",
        f"{SUMS.removeprefix(LINES[5])}\n{LINES[5]}",
    ),
    "a numerator that some channels pass by, in blocks of another mode": (
        f"{SKIP}\n{WIDE_N}\n{LINES[5]}\nover:\n{LINES[5]}",
        f"{DIVISOR}\n{NO_N}",
    ),
    "a number with a fraction as the numerator": (
        "",
        f"{DIVISOR}\n{NO_N}".replace("V61(0,0)<1;1,0>", "0x4008000000000001:df"),
    ),
    "a number that is too large as the numerator": (
        "",
        f"{DIVISOR}\n{NO_N}".replace("V61(0,0)<1;1,0>", "0x41f0000000000000:df"),
    ),
}


def in_a_loop(front: str, turn: str) -> str:
    """Return a loop of which channels leave at different times, with other numbers each turn."""
    return "\n".join(
        [
            HEAD.replace(".decl P1", f"{MORE}{LOOP}.decl P1"),
            front,
            "again:",
            turn,
            "    mul (M1, 32) V53(0,0)<1> V53(0,0)<1;1,0> 0x10003:ud",
            "    add (M1, 32) V53(0,0)<1> V53(0,0)<1;1,0> V47(0,0)<1;1,0>",
            "    shr (M1, 32) V40(0,0)<1> V40(0,0)<1;1,0> 0x1:ud",
            "    add (M1_NM, 1) V54(0,0)<1> V54(0,0)<0;1,0> 0x1:ud",
            "    cmp.lt (M1, 32) P1 V54(0,0)<0;1,0> V55(0,0)<1;1,0>",
            "    (P1) goto (M1, 32) again",
            "    ret (M1, 1)\n",
        ]
    )


def loop_values(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    turns = {"V55": rng.integers(1, 5, 32, dtype=np.uint32), "V53": np.zeros(32, np.uint32)}
    words = {"V60": rng.integers(0, 1 << 16, 32).astype(np.uint16)}
    return values(seed) | turns | words


@pytest.mark.parametrize("name", FOUND)
def test_parts_of_divisions_in_front_of_a_loop_are_known_in_it(
    divisions: list[Effect], name: str
) -> None:
    kernel = harness.assemble(in_a_loop(*FOUND[name]), "pvc")
    for seed in range(3):
        for mask in (0xFFFFFFFF, 0x8001F00E):
            assert compare(kernel, loop_values(seed), mask) is None
    assert divisions


@pytest.mark.parametrize("name", NOT_FOUND)
def test_parts_that_may_not_belong_together_are_no_division(
    divisions: list[Effect], name: str
) -> None:
    kernel = harness.assemble(in_a_loop(*NOT_FOUND[name]), "pvc")
    for seed in range(3):
        for mask in (0xFFFFFFFF, 0x8001F00E):
            assert compare(kernel, loop_values(seed), mask) is None
    assert not divisions


ALL = DIVISION.replace("(M1, 32)", "(M1_NM, 32)").strip().splitlines()
ALL_SUMS = [line.replace("V46", "V43") for line in ALL[11:]]
COPIES = {
    "a numerator in DF": [
        ALL[8],
        WIDE_N,
        STEP.replace("V41", "V40").replace("M1", "M1_NM"),
        "mul (M1, 32) V56(0,0)<1> V61(0,0)<1;1,0> V61(0,0)<1;1,0>",
    ],
    "a product": [
        "mul (M1, 32) V53(0,0)<1> V40(0,0)<1;1,0> V41(0,0)<1;1,0>",
        "mul (M1_NM, 32) V48(0,0)<1> V40(0,0)<1;1,0> V41(0,0)<1;1,0>",
        ALL[8].replace("V40", "V48"),
        "add (M1, 32) V55(0,0)<1> V53(0,0)<1;1,0> 0x1:ud",
    ],
}


@pytest.mark.parametrize("copied", COPIES)
def test_what_some_channels_have_as_well_is_not_divided_for_all(
    divisions: list[Effect], copied: str
) -> None:
    """A copy that was written for some channels and read last holds something else in others."""
    *front, read = COPIES[copied]
    product = ALL[10].replace("V46(0,0)<1> ", "V43(0,0)<1> ")
    lines = [*ALL[:5], *front, *ALL[5:7], product, read, *ALL_SUMS, "ret (M1, 1)\n"]
    kernel = harness.assemble(
        "\n".join([HEAD.replace(".decl P1", f"{LOOP}.decl P1"), *lines]), "pvc"
    )
    for seed in range(3):
        others = {"V53": np.arange(32, dtype=np.uint32), "V61": np.arange(32) / 3}
        assert compare(kernel, values(seed) | others, 0x8001F00E) is None
    assert divisions


SINGLES = """.version 4.1
.kernel "k"
.decl V40 v_type=G type=ud num_elts=16 align=wordx32
.decl V41 v_type=G type=ud num_elts=16 align=wordx32
.decl V42 v_type=G type=f num_elts=16 align=wordx32
.decl V43 v_type=G type=ud num_elts=16 align=wordx32
.decl V44 v_type=G type=f num_elts=16 align=wordx32
.decl V45 v_type=G type=f num_elts=16 align=wordx32
.decl V46 v_type=G type=ud num_elts=16 align=wordx32
.decl V47 v_type=G type=f num_elts=16 align=wordx32
.decl V48 v_type=G type=f num_elts=16 align=wordx32
.decl V49 v_type=G type=f num_elts=16 align=wordx32
.decl V50 v_type=G type=ud num_elts=16 align=wordx32
.decl V51 v_type=G type=f num_elts=16 align=wordx32
.decl V52 v_type=G type=f num_elts=16 align=wordx32
.decl V53 v_type=G type=f num_elts=16 align=wordx32
.decl V54 v_type=G type=ud num_elts=16 align=wordx32
.decl V55 v_type=G type=d num_elts=16 align=wordx32
.decl V56 v_type=G type=d num_elts=16 align=wordx32
.decl V57 v_type=G type=d num_elts=16 align=wordx32
.decl V58 v_type=G type=ud num_elts=16 alias=<V55, 0>
.decl V59 v_type=G type=d num_elts=16 align=wordx32
.decl V60 v_type=G type=d num_elts=16 alias=<V41, 0>
.decl P2 v_type=P num_elts=16
.kernel_attr SimdSize=16
.function "k"
k:
    xor (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x30:ud
    mov (M1, 16) V42(0,0)<1> V41(0,0)<1;1,0>
    mov (M1, 16) V43(0,0)<1> V42(0,0)<1;1,0>
    add (M1, 16) V43(0,0)<1> V41(0,0)<1;1,0> (-)V43(0,0)<1;1,0>
    mov (M1, 16) V44(0,0)<1> V43(0,0)<1;1,0>
    mov (M1, 16) V45(0,0)<1> V40(0,0)<1;1,0>
    mov (M1, 16) V46(0,0)<1> V45(0,0)<1;1,0>
    add (M1, 16) V46(0,0)<1> V40(0,0)<1;1,0> (-)V46(0,0)<1;1,0>
    mov (M1, 16) V47(0,0)<1> V46(0,0)<1;1,0>
    inv (M1, 16) V48(0,0)<1> V42(0,0)<1;1,0>
    mad (M1, 16) V49(0,0)<1> V48(0,0)<1;1,0> 0xb4c00000:f V48(0,0)<1;1,0>
    mul (M1, 16) V48(0,0)<1> V45(0,0)<1;1,0> V49(0,0)<1;1,0>
    mov (M1, 16) V50(0,0)<1> V48(0,0)<1;1,0>
    mov (M1, 16) V51(0,0)<1> V50(0,0)<1;1,0>
    mov (M1, 16) V52(0,0)<1> (-)V42(0,0)<1;1,0>
    mad (M1, 16) V52(0,0)<1> V52(0,0)<1;1,0> V51(0,0)<1;1,0> V45(0,0)<1;1,0>
    mov (M1, 16) V53(0,0)<1> (-)V44(0,0)<1;1,0>
    mad (M1, 16) V53(0,0)<1> V53(0,0)<1;1,0> V51(0,0)<1;1,0> V47(0,0)<1;1,0>
    add (M1, 16) V53(0,0)<1> V52(0,0)<1;1,0> V53(0,0)<1;1,0>
    mul (M1, 16) V53(0,0)<1> V49(0,0)<1;1,0> V53(0,0)<1;1,0>
    xor (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x30:ud
    mov (M1, 16) V54(0,0)<1> V53(0,0)<1;1,0>
    add (M1, 16) V55(0,0)<1> V54(0,0)<1;1,0> V50(0,0)<1;1,0>
    mul (M1, 16) V55(0,0)<1> V55(0,0)<1;1,0> V41(0,0)<1;1,0>
    add (M1, 16) V55(0,0)<1> V40(0,0)<1;1,0> (-)V55(0,0)<1;1,0>
"""
"""Intel's compiler's code for dg2, up to what is left of the numerator."""
ENDS = {
    "quotient": """
    cmp.ge (M1, 16) V56(0,0)<1> V58(0,0)<1;1,0> V41(0,0)<1;1,0>
    add3 (M1, 16) V59(0,0)<1> V54(0,0)<1;1,0> V50(0,0)<1;1,0> (-)V56(0,0)<1;1,0>
""",
    "quotient and more": """
    cmp.ge (M1, 16) V56(0,0)<1> V58(0,0)<1;1,0> V41(0,0)<1;1,0>
    add (M1, 16) V57(0,0)<1> V54(0,0)<1;1,0> V50(0,0)<1;1,0>
    add3 (M1, 16) V59(0,0)<1> V57(0,0)<1;1,0> V59(0,0)<1;1,0> (-)V56(0,0)<1;1,0>
""",
    "remainder by bits": """
    cmp.ge (M1, 16) V56(0,0)<1> V58(0,0)<1;1,0> V41(0,0)<1;1,0>
    and (M1, 16) V56(0,0)<1> V60(0,0)<1;1,0> V56(0,0)<1;1,0>
    add3 (M1, 16) V59(0,0)<1> V55(0,0)<1;1,0> V59(0,0)<1;1,0> (-)V56(0,0)<1;1,0>
""",
    "remainder": """
    cmp.lt (M1, 16) P2 V58(0,0)<1;1,0> V41(0,0)<1;1,0>
    (P2) sel (M1, 16) V56(0,0)<1> 0x0:d V60(0,0)<1;1,0>
    add3 (M1, 16) V59(0,0)<1> V55(0,0)<1;1,0> V59(0,0)<1;1,0> (-)V56(0,0)<1;1,0>
""",
}
QUOTIENT, REMAINDER = ENDS["quotient"], ENDS["remainder"]
BY_BITS = ENDS["remainder by bits"]
OTHER_ENDS = {
    "signed rests": (SINGLES, QUOTIENT.replace("V58", "V55")),
    "a correction too much": (SINGLES, QUOTIENT.replace("(-)V56", "V56")),
    "another correction": (SINGLES, REMAINDER.replace("0x0:d", "0x1:d")),
    "other bits of the divisor": (SINGLES, BY_BITS.replace("V60", "V46")),
    "another condition": (SINGLES, REMAINDER.replace(".lt", ".le")),
    "sums to the nearest": (SINGLES.replace("0x30:ud", "0x0:ud"), QUOTIENT),
    "another factor": (SINGLES.replace("0xb4c00000", "0xb4c00001"), QUOTIENT),
    "a divisor that changes": (
        SINGLES,
        "    add (M1, 16) V41(0,0)<1> V41(0,0)<1;1,0> 0x1:ud\n" + QUOTIENT,
    ),
    "some channels": (SINGLES, QUOTIENT.replace("add3", "(P2) add3")),
    "a rest that was changed": (
        SINGLES,
        "    add (M1, 16) V55(0,0)<1> V55(0,0)<1;1,0> 0x1:ud\n" + QUOTIENT,
    ),
}


def halves(seed: int) -> dict[str, np.ndarray]:
    """Return numbers for 16 channels, and something to add."""
    found = {name: array[seed % 3 * 8 :][:16] for name, array in values(seed).items()}
    return found | {"V59": np.arange(16, dtype=np.int32) - 7}


@pytest.mark.parametrize("mask", [0xFFFF, 0x81A5])
@pytest.mark.parametrize("end", ENDS)
def test_divisions_with_sums_in_single_precision_are_found(
    divisions: list[Effect], end: str, mask: int
) -> None:
    kernel = harness.assemble(f"{SINGLES}{ENDS[end]}    ret (M1, 1)\n", "dg2")
    for seed in range(12):
        assert compare(kernel, halves(seed), mask) is None
    assert divisions


@pytest.mark.parametrize("other", OTHER_ENDS)
def test_what_corrects_no_division_stays(divisions: list[Effect], other: str) -> None:
    text, end = OTHER_ENDS[other]
    assert (text, end) not in {(SINGLES, QUOTIENT), (SINGLES, REMAINDER)}
    kernel = harness.assemble(f"{text}{end}    ret (M1, 1)\n", "dg2")
    assert compare(kernel, halves(1), 0xFFFF) is None
    assert not divisions


@pytest.mark.parametrize("end", ENDS)
def test_one_divisor_for_all_channels_gives_the_same(divisions: list[Effect], end: str) -> None:
    text = f"{SINGLES}{ENDS[end]}    ret (M1, 1)\n"
    for name in ("V41", "V60"):
        text = text.replace(f"{name}(0,0)<1;1,0>", f"{name}(0,0)<0;1,0>")
    kernel = harness.assemble(text, "dg2")
    for seed in range(24):
        given = halves(seed)
        given["V41"] = np.roll(given["V41"], seed)
        assert compare(kernel, given, 0xF7FF) is None
    assert divisions


D = "add (M1, 16) V41(0,0)<1> V62(0,0)<1;1,0> V63(0,0)<1;1,0>\n"
CHANGE = "add (M1, 16) V62(0,0)<1> V62(0,0)<1;1,0> 0x3:ud\n"
SOME = "cmp.lt (M1, 16) P3 V59(0,0)<1;1,0> 0x0:d\n(P3) goto (M1, 16) on\n"
NOT_ZERO = "cmp.eq (M1, 16) P2 V41(0,0)<1;1,0> 0x0:ud\n(P2) goto (M1, 16) over\n"
OTHERS_FIRST = "mul (M1, 16) V59(0,0)<1> V59(0,0)<1;1,0> 0x3:d\n"
SUM_IN_FRONT = {
    "behind a jump": (D + NOT_ZERO, ""),
    "behind another block": (D + SOME + OTHERS_FIRST + "on:\n" + NOT_ZERO, ""),
    "behind a block that jumps": (D + NOT_ZERO + SOME + OTHERS_FIRST + "on:\n", ""),
}
SUM_OF_OTHERS = {
    "a sum that some channels pass by": (SOME + D + "on:\n" + NOT_ZERO, ""),
    "a term that some channels change": (D + SOME + CHANGE + "on:\n" + NOT_ZERO, ""),
    "a term that changes": (D + NOT_ZERO + CHANGE, ""),
    "a sum of the turn before": (NOT_ZERO, D),
    "a sum that others change": (
        D + SOME + CHANGE.replace("V62", "V41") + "on:\n" + NOT_ZERO,
        "",
    ),
}


def divides_by_a_sum(front: str, behind: str) -> str:
    """Return a loop that divides by V41, of which part of the code knows only of which sum it is.

    Some channels pass by the division; what is added changes from turn to turn.
    """
    head, body = SINGLES.split("k:\n")
    names = [f".decl V{n} v_type=G type=ud num_elts=16 align=wordx32\n" for n in (62, 63, 64)]
    names += [".decl P3 v_type=P num_elts=16\n", ".decl P4 v_type=P num_elts=1\n"]
    known = "add (M1, 16) V43(0,0)<1> V41(0,0)<1;1,0> (-)V43"
    assert known in body
    body = body.replace(known, "add3 (M1, 16) V43(0,0)<1> V62(0,0)<1;1,0> V63(0,0)<1;1,0> (-)V43")
    return (
        head.replace(".decl P2", f"{''.join(names)}.decl P2")
        + f"k:\nagain:\n{front}{body}{QUOTIENT}over:\n{behind}"
        + CHANGE
        + "add (M1, 16) V40(0,0)<1> V40(0,0)<1;1,0> V59(0,0)<1;1,0>\n"
        + "add (M1_NM, 1) V64(0,0)<1> V64(0,0)<0;1,0> 0x1:ud\n"
        + "cmp.lt (M1_NM, 1) P4 V64(0,0)<0;1,0> 0x3:ud\n"
        + "(P4) jmp (M1, 1) again\nret (M1, 1)\n"
    )


def terms(seed: int) -> dict[str, np.ndarray]:
    """Return what `halves` does, with the divisor as a sum of V62 and V63."""
    given = halves(seed)
    other = np.random.default_rng(seed).integers(0, 1 << 32, 16, dtype=np.uint32)
    sums = {"V62": given["V41"] - other, "V63": other, "V64": np.zeros(16, np.uint32)}
    return given | sums


@pytest.mark.parametrize("name", SUM_IN_FRONT)
def test_what_blocks_in_front_have_added_is_known(divisions: list[Effect], name: str) -> None:
    kernel = harness.assemble(divides_by_a_sum(*SUM_IN_FRONT[name]), "dg2")
    for seed in range(6):
        for mask in (0xFFFF, 0x81A5):
            assert compare(kernel, terms(seed), mask) is None
    assert divisions


@pytest.mark.parametrize("name", SUM_OF_OTHERS)
def test_what_others_may_have_changed_since_is_not_known(
    divisions: list[Effect], name: str
) -> None:
    kernel = harness.assemble(divides_by_a_sum(*SUM_OF_OTHERS[name]), "dg2")
    for seed in range(3):
        for mask in (0xFFFF, 0x81A5):
            assert compare(kernel, terms(seed), mask) is None
    assert not divisions


ONE_MORE = "    add (M1, 16) V41(0,0)<1> V62(0,0)<1;1,0> 0x1:ud\n"
FROM_LESS = {
    "quotient": QUOTIENT.replace("cmp.ge", "cmp.lt").replace(
        "V58(0,0)<1;1,0> V41(0,0)", "V62(0,0)<1;1,0> V58(0,0)"
    ),
    "remainder": REMAINDER.replace("cmp.lt", "cmp.le").replace(
        "V58(0,0)<1;1,0> V41(0,0)", "V58(0,0)<1;1,0> V62(0,0)"
    ),
    "remainder by bits": BY_BITS.replace("cmp.ge", "cmp.lt").replace(
        "V58(0,0)<1;1,0> V41(0,0)", "V62(0,0)<1;1,0> V58(0,0)"
    ),
}
"""Ends that compare with d - 1, from which d was made."""
FROM_OTHERS = {
    "another comparison": FROM_LESS["quotient"].replace("cmp.lt", "cmp.le"),
    "d - 1 that changes": CHANGE + FROM_LESS["quotient"],
    "d for d - 1": FROM_LESS["quotient"].replace("V62", "V41"),
}


def divides_by_one_more(end: str, *, low_from_less: bool) -> str:
    """Return a division by V41, which is V62 + 1; its low part may be made from V62 as well."""
    head, body = SINGLES.split("k:\n")
    known = "add (M1, 16) V43(0,0)<1> V41(0,0)<1;1,0> (-)V43(0,0)<1;1,0>\n"
    assert known in body
    if low_from_less:
        part = "    add (M1, 16) V43(0,0)<1> V43(0,0)<1;1,0> 0x1:ud\n"
        body = body.replace(known, known.replace("V41", "V62") + part)
    name = ".decl V62 v_type=G type=ud num_elts=16 align=wordx32\n"
    head = head.replace(".decl P2", f"{name}.decl P2")
    return f"{head}k:\n{ONE_MORE}{body}{end}    ret (M1, 1)\n"


@pytest.mark.parametrize("low_from_less", [False, True])
@pytest.mark.parametrize("end", FROM_LESS)
def test_a_divisor_that_is_compared_as_what_is_one_less(
    divisions: list[Effect], end: str, low_from_less: bool
) -> None:
    text = divides_by_one_more(FROM_LESS[end], low_from_less=low_from_less)
    kernel = harness.assemble(text, "dg2")
    assert any(0 in halves(seed)["V41"] for seed in range(6))
    for seed in range(6):
        given = halves(seed)
        given["V62"] = given["V41"] - np.uint32(1)
        for mask in (0xFFFF, 0x81A5):
            assert compare(kernel, given, mask) is None
    assert divisions


@pytest.mark.parametrize("end", FROM_OTHERS)
def test_what_is_compared_with_something_else_stays(divisions: list[Effect], end: str) -> None:
    text = divides_by_one_more(FROM_OTHERS[end], low_from_less=True)
    kernel = harness.assemble(text, "dg2")
    for seed in range(3):
        given = halves(seed)
        given["V62"] = given["V41"] - np.uint32(1)
        assert compare(kernel, given, 0xFFFF) is None
    assert not divisions
