"""Loops that find 64-bit quotients bit by bit leave the same on both engines."""

from __future__ import annotations

import numpy as np
import pytest

from visim.engine import jit
from visim.engine.base import Exit, Machine, RunOptions
from visim.engine.jit.writing.bits import BitwiseWriter

from . import harness
from .both import compare
from .harness import Group
from .test_remainders import (
    DOUBLED,
    END,
    HEAD,
    START,
    TAKEN,
    in_turns,
    log_of_turns,
    loops,
    values,
)

__all__ = ["loops"]

DECLARED = """.decl V68 v_type=G type=q num_elts=32 align=wordx32
.decl V69 v_type=G type=q num_elts=1 align=qword
.decl V70 v_type=G type=uq num_elts=32 align=wordx32
.decl V71 v_type=G type=uq num_elts=32 align=wordx32
.decl V72 v_type=G type=uq num_elts=1 align=qword
.decl V73 v_type=G type=d num_elts=1 align=dword
.decl V74 v_type=G type=ud num_elts=64 align=wordx32 alias=<V40, 0>
.decl V75 v_type=G type=ud num_elts=32 align=wordx32
.decl V76 v_type=G type=q num_elts=32 align=wordx32
.decl V77 v_type=G type=ud num_elts=64 align=wordx32 alias=<V76, 0>
.decl P4 v_type=P num_elts=32
.decl P5 v_type=P num_elts=32
"""
COMPARED = TAKEN.partition("    (P3) sel")[0]
SET = """
    mov (M1, 32) V42(0,0)<1> V54(0,0)<1;1,0>
    (P3) goto (M1, 32) less
    add (M1, 32) V42(0,0)<1> V42(0,0)<1;1,0> (-)V41(0,0)<1;1,0>
    shl (M1_NM, 1) V69(0,0)<1> 0x1:q V49(0,0)<0;1,0>
    or (M1, 32) V68(0,0)<1> V68(0,0)<1;1,0> V69(0,0)<0;1,0>
less:
"""
COUNTED = "    cmp.eq" + END.partition("    cmp.eq")[2]
STORED = """
    add (M1, 32) V71(0,0)<1> V70(0,0)<1;1,0> V72(0,0)<0;1,0>
    lsc_store.ugm (M1, 32) flat[V71]:a64 V42:d64
    add (M1, 32) V71(0,0)<1> V71(0,0)<1;1,0> 0x100:uw
    lsc_store.ugm (M1, 32) flat[V71]:a64 V68:d64
"""
CLEARED = "    mov (M1, 32) V68(0,0)<1> 0x0:q\n"
IN_HALVES = """    cmp.lt (M1_NM, 32) P4 V50(0,0)<0;1,0> 0x20:ud
    (P4) goto (M1, 32) low
    add (M1_NM, 1) V73(0,0)<1> V43(0,0)<0;1,0> 0xffffffe0:w
    shr (M1, 32) V75(0,0)<1> V74(0,1)<2;1,0> V73(0,0)<0;1,0>
    goto (M1, 1) known
low:
    shr (M1, 32) V51(0,0)<1> V40(0,0)<1;1,0> V49(0,0)<0;1,0>
    mov (M1, 32) V75(0,0)<1> V52(0,0)<2;1,0>
    mov (M1, 32) V75(0,0)<1> V75(0,0)<1;1,0>
known:
"""
HALVED = DOUBLED.replace(
    "    shr (M1, 32) V51(0,0)<1> V40(0,0)<1;1,0> V49(0,0)<0;1,0>\n", IN_HALVES
).replace("V52(0,0)<2;1,0> V44", "V75(0,0)<1;1,0> V44")
LOOP = START + CLEARED + DOUBLED + COMPARED + SET + COUNTED + STORED
SIGNED = LOOP.replace("(-)V41", "(-abs)V76").replace(
    START, START + "    mov (M1, 32) V41(0,0)<1> (abs)V76(0,0)<1;1,0>\n"
)
LOOPS = {
    "64 bits": LOOP,
    "in halves": LOOP.replace(DOUBLED, HALVED),
    "with a jump of all channels": LOOP.replace(DOUBLED, HALVED).replace(
        "goto (M1, 1) known", "goto (M1, 32) known"
    ),
    "by a signed number": SIGNED,
    "by less than what is compared": LOOP.replace("(-)V41(0,0)<1;1,0>", "(-)V41(0,0)<0;1,0>"),
    "of a number in two variables": LOOP.replace(DOUBLED, HALVED).replace(
        "V74(0,1)<2;1,0> V73", "V56(0,1)<2;1,0> V73"
    ),
    "beside bits that are set": LOOP.replace(CLEARED, "    mov (M1, 32) V68(0,0)<1> 0x5:q\n"),
    "from another bit on": LOOP.replace("0x3f:d", "0x26:d"),
    "from a bit that is not there on": LOOP.replace("0x3f:d", "0x47:d"),
    "of the lower bits": LOOP.replace("0x3f:d", "0x1f:d"),
}
"""What is a division or not, which only the running program knows."""
OTHERS = {
    "another bit": LOOP.replace("0x1:q V49", "0x2:q V49"),
    "bits that are changed": LOOP.replace("or (M1, 32) V68", "xor (M1, 32) V68"),
    "a quotient for all channels": LOOP.replace("or (M1, 32) V68", "or (M1_NM, 32) V68"),
    "what fits is asked": LOOP.replace("(P3) goto", "(!P3) goto"),
    "another condition": LOOP.replace("(P3) goto (M1, 32)", "(P2) goto (M1, 32)"),
    "a bit that is looked at": LOOP.replace(
        STORED,
        STORED.replace("V68:d64", "V68:d64")
        + """
    mov (M1, 32) V68(0,0)<1> V69(0,0)<0;1,0>
    lsc_store.ugm (M1, 32) flat[V71]:a64 V68:d64
""",
    ),
    "a condition that is looked at": LOOP.replace(DOUBLED, HALVED).replace(
        STORED,
        """
    mov (M1, 32) V68(0,0)<1> V73(0,0)<0;1,0>
"""
        + STORED,
    ),
    "a count of what fits": LOOP.replace(
        "    shl (M1_NM, 1) V69",
        "    add (M1, 32) V75(0,0)<1> V75(0,0)<1;1,0> 0x1:ud\n    shl (M1_NM, 1) V69",
    ),
    "another bit of the high half": LOOP.replace(DOUBLED, HALVED).replace(
        "0xffffffe0:w", "0xffffffe1:w"
    ),
    "a jump of some channels only": LOOP.replace("(M1, 32)", "(M1, 16)"),
    "what only one half sets": LOOP.replace(DOUBLED, HALVED)
    .replace("    shl (M1_NM, 1) V69(0,0)<1> 0x1:q V49(0,0)<0;1,0>\n", "")
    .replace("    or (M1, 32) V68(0,0)<1> V68(0,0)<1;1,0> V69(0,0)<0;1,0>\n", "")
    .replace(" V73(0,0)<0;1,0>\n", " V73(0,0)<0;1,0>\n    mov (M1, 32) V60(0,0)<1> 0x0:ud\n")
    .replace("    mov (M1, 32) V75(0,0)<1> V75(0,0)<1;1,0>\n", "")
    .replace(
        "    mov (M1, 32) V75(0,0)<1> V52(0,0)<2;1,0>\n",
        "    mov (M1, 32) V53(0,0)<1> V60(0,0)<1;1,0>\n",
    ),
    "halves of other sizes": LOOP.replace(DOUBLED, HALVED).replace("0x20:ud", "0x1f:ud"),
}


class Unsaved(harness.OnJit):
    """Runs kernels on the JIT as users do, so that nobody sees their registers."""

    def run(
        self, kernel: harness.Kernel, dispatch: Group, machine: Machine, options: RunOptions
    ) -> tuple[Exit, harness.Array]:
        """Run the group; return how it ended, and the registers as they were."""
        compiled = jit.Prepared(kernel.linked)
        ended = compiled.run([0], dispatch, machine, options)
        return ended, compiled.last.records[0].image


ENGINES = (harness.ENGINES["interpreter"], Unsaved())


def kernel_of(loop: str) -> harness.Kernel:
    head = HEAD.replace(".decl P1", DECLARED + ".decl P1")
    return harness.assemble(f"{head}{loop}    ret (M1, 1)\n", "pvc")


def given(seed: int) -> dict[str, np.ndarray]:
    found = values(seed)
    found["V70"] = np.arange(32, dtype=np.uint64) * 8
    found["V76"] = found["V41"].view(np.int64)
    return found


def ends(
    monkeypatch: pytest.MonkeyPatch, loop: str, seed: int, **options: int
) -> list[tuple[object, ...]]:
    """Return how both engines end a loop: its fault, how many instructions, rests and quotients."""
    kernel, found = kernel_of(loop), list[tuple[object, ...]]()
    mask, budget = options.get("mask", 0xFFFFFFFF), options.get("budget")
    for engine in ENGINES:
        monkeypatch.setattr(harness.CHOSEN, "engine", engine)
        memory = np.zeros(64, np.uint64)
        ended = kernel.run(
            given(seed), mask=mask, buffers={"V72": memory}, options=RunOptions(budget=budget)
        ).exit
        found.append((ended.fault and ended.fault.message, ended.executed, *memory.tolist()))
    return found


@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0x8001F00F])
@pytest.mark.parametrize("loop", LOOPS)
def test_quotients_and_counts_of_instructions_are_those_of_the_loop(
    loops: list[BitwiseWriter], monkeypatch: pytest.MonkeyPatch, loop: str, mask: int
) -> None:
    for seed in range(3):
        expected, found = ends(monkeypatch, LOOPS[loop], seed, mask=mask)
        assert expected == found
    assert len(loops) == 3


def test_quotients_are_those_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    _, (_, _, *found) = ends(monkeypatch, LOOP, 7)
    numbers = given(7)
    for lane, (n, d) in enumerate(
        zip(numbers["V40"].tolist(), numbers["V41"].tolist(), strict=True)
    ):
        assert (found[lane], found[32 + lane]) == ((n % d, n // d) if d else (n, 2**64 - 1))


@pytest.mark.parametrize("other", OTHERS)
def test_what_is_no_division_stays(
    loops: list[BitwiseWriter], monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    assert OTHERS[other] != LOOP
    expected, found = ends(monkeypatch, OTHERS[other], 9)
    assert expected == found
    assert not loops


@pytest.mark.parametrize("mask", [0x80, 0x400])
def test_what_turns_leave_is_there_for_who_goes_on_in_the_middle_of_one(
    loops: list[BitwiseWriter], monkeypatch: pytest.MonkeyPatch, mask: int
) -> None:
    """The last bit that was set is one from turns before, where the divisor does not fit last."""
    again = """
    add (M1_NM, 1) V73(0,0)<1> V73(0,0)<0;1,0> 0x1:d
    cmp.lt (M1_NM, 32) P5 V73(0,0)<0;1,0> 0x2:d
    (P5) mov (M1, 32) V68(0,0)<1> 0x0:q
    (P5) goto (M1, 1) middle
"""
    loop = LOOP.replace("    or (M1, 32) V68", "middle:\n    or (M1, 32) V68")
    loop = loop.replace(STORED, again + STORED)
    loop = loop.replace(CLEARED, CLEARED + "    mov (M1_NM, 1) V73(0,0)<1> 0x0:d\n")
    expected, found = ends(monkeypatch, loop, 0, mask=mask)
    assert expected == found
    assert not loops


def test_registers_that_are_kept_are_those_of_the_loop(loops: list[BitwiseWriter]) -> None:
    """What channels leave that have not parted in the last turn comes from turns before."""
    named = given(3) | {"V69": np.zeros(1, np.int64), "V72": np.zeros(1, np.uint64)}
    assert compare(kernel_of(LOOP.replace(STORED, "")), named, 0xFFFFFFFF) is None
    assert not loops


@pytest.mark.parametrize("budget", [100, 1350, 1351])
def test_a_budget_ends_a_loop_where_the_interpreter_ends_it(
    loops: list[BitwiseWriter], monkeypatch: pytest.MonkeyPatch, budget: int
) -> None:
    expected, found = ends(monkeypatch, LOOP, 2, budget=budget)
    assert expected == found
    assert not loops


def test_threads_have_their_turns_when_the_interpreter_gives_them(
    loops: list[BitwiseWriter], monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = kernel_of(in_turns(LOOP.replace(STORED, "").replace(DOUBLED, HALVED)))
    logs: list[list[int]] = []
    for engine in ENGINES:
        monkeypatch.setattr(harness.CHOSEN, "engine", engine)
        logs.append(log_of_turns(kernel, given(1)))
    assert logs[0] == logs[1]
    assert len(loops) == 1
