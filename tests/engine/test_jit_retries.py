"""Retries that the JIT runs by one channel after the other do what all channels together do.

Each channel adds to an element by comparing and exchanging until it has won; some reach the same
elements. The numbers of instructions that are compared tell in how many turns they would have won.
Threads that come first fill what is remembered of allocations, so that later ones run apart.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from visim.machine.memory import Memory

from . import harness
from .cases import Case, agree, module_text, some_channels, start_with

pytestmark = pytest.mark.usefixtures("each_hardware")

LANES = 32
ELEMENTS = 64
THREADS = 4
ALL = "(0,0)<1;1,0>"
ONE = "(0,0)<0;1,0>"

LOAD = "    lsc_load.ugm (M1, 32)  V60:d32  flat[V50]:a64\n"
COMPUTE = f"    add (M1, 32) V61(0,0)<1> V60{ALL} V43{ALL}\n"
EXCHANGE = "    lsc_atomic_icas.ugm (M1, 32)  V62:d32  flat[V50]:a64  V60  V61\n"
COMPARE = f"    cmp.eq (M1, 32) P1 V62{ALL} V60{ALL}\n"
AGAIN = "    (!P1) goto (M1, 32) AGAIN\n"
LOCAL = {"ugm": "slm", "flat[V50]:a64": "flat[V51]:a32"}


def kernel_of(turn: str, *, before: str = "", rounds: int = 1) -> str:
    """Return a kernel with a loop of such a turn, some times, that stores what it has then.

    `before` stands in front of the loop.
    """
    kept = "".join(
        f"    lsc_store.ugm (M1, 32)  flat[V58]:a64  {name}:d32\n"
        f"    add (M1, 32) V58(0,0)<1> V58{ALL} {4 * LANES:#x}:ud\n"
        for name in ("V60", "V61", "V62", "V44")
    )
    return f"""
.version 4.1
.kernel "k"
.decl V40 v_type=G type=uq num_elts=2 align=wordx32
.decl V41 v_type=G type=d num_elts=32 align=wordx32
.decl V43 v_type=G type=ud num_elts=32 align=wordx32
.decl V44 v_type=G type=ud num_elts=32 align=wordx32
.decl V50 v_type=G type=uq num_elts=32 align=wordx32
.decl V51 v_type=G type=ud num_elts=32 align=wordx32
.decl V56 v_type=G type=ud num_elts=1 align=wordx32
.decl V58 v_type=G type=uq num_elts=32 align=wordx32
.decl V60 v_type=G type=ud num_elts=32 align=wordx32
.decl V61 v_type=G type=ud num_elts=32 align=wordx32
.decl V62 v_type=G type=ud num_elts=32 align=wordx32
.decl V70 v_type=G type=f num_elts=32 align=wordx32 alias=<V60,0>
.decl V71 v_type=G type=f num_elts=32 align=wordx32 alias=<V61,0>
.decl V72 v_type=G type=f num_elts=32 align=wordx32 alias=<V62,0>
.decl P1 v_type=P num_elts=32
.decl P2 v_type=P num_elts=32
.kernel_attr SimdSize=32
.function "k"
k:
    mov (M1, 32) V50(0,0)<1> V41{ALL}
    and (M1, 32) V51(0,0)<1> V41{ALL} 0xfc:d
    add (M1, 32) V50(0,0)<1> V50{ALL} V40(0,0)<0;1,0>
ROUND:
{before}AGAIN:
{turn}    add (M1_NM, 1) V56(0,0)<1> V56{ONE} 0x1:ud
    cmp.lt (M1_NM, 1) P2 V56{ONE} {rounds:#x}:ud
    (P2) goto (M1, 1) ROUND
    add (M1, 32) V58(0,0)<1> V58{ALL} V40(0,1)<0;1,0>
{kept}    ret (M1, 1)
""".strip()


class Elements(Case):
    """What a seed makes: which elements channels add to, and what they add."""

    def __init__(self, kernel: harness.Kernel, seed: str, many: int, *, bad: int = 0) -> None:
        rng = random.Random(seed)
        bits = rng.choice([1, 8])
        elements = np.array([rng.getrandbits(bits) for _ in range(ELEMENTS)], np.uint32)
        out = np.zeros(THREADS * 4 * LANES, np.uint32)
        self.memory, self.changed = Memory(), (elements, out)
        bases = [self.memory.add(elements, "elements"), self.memory.add(out, "out")]
        starts: list[harness.ThreadStart] = []
        for number in range(THREADS):
            places = [4 * rng.randrange(many) for _ in range(LANES)]
            if rng.random() < 0.5:
                places.sort()
            if bad and number == THREADS - 1:
                places[rng.randrange(LANES)] += bad
            registers = {
                "V40": np.array(bases, np.uint64),
                "V41": np.array(places, np.int32),
                "V43": np.array([rng.choice([0, 1, 1, 5]) for _ in range(LANES)], np.uint32),
                "V58": (np.arange(LANES) * 4 + number * 16 * LANES).astype(np.uint64),
            }
            starts.append(start_with(kernel, registers, some_channels(kernel, rng)))
        self.group = harness.GroupsAlike(tuple(starts), 4 * ELEMENTS)


def _local(turn: str) -> str:
    for one, other in LOCAL.items():
        turn = turn.replace(one, other)
    return turn


TURNS = {
    "a number is added": LOAD + COMPUTE + EXCHANGE + COMPARE + AGAIN,
    "the comparison is the other way round": (
        LOAD
        + COMPUTE
        + EXCHANGE
        + f"    cmp.ne (M1, 32) P1 V60{ALL} V62{ALL}\n"
        + "    (P1) goto (M1, 32) AGAIN\n"
    ),
    "what was found is copied": (
        LOAD
        + COMPUTE
        + EXCHANGE.replace("V62", "V44")
        + f"    mov (M1, 32) V62(0,0)<1> V44{ALL}\n"
        + COMPARE
        + AGAIN
    ),
    "a float is added": (
        LOAD + f"    add (M1, 32) V71(0,0)<1> V70{ALL} 1.5:f\n" + EXCHANGE + COMPARE + AGAIN
    ),
    "in local memory": _local(LOAD + COMPUTE + EXCHANGE + COMPARE + AGAIN),
}


@pytest.mark.parametrize("turn", TURNS)
def test_channels_that_win_one_after_the_other_leave_what_all_together_do(turn: str) -> None:
    text = kernel_of(TURNS[turn])
    assert ".pausing:" in module_text(text)
    kernel = harness.assemble(text, "pvc")
    cases = [Elements(kernel, f"{turn} {n}", many) for n, many in enumerate((1, 3, 8, 30, 64) * 2)]
    assert agree(kernel, cases) == {False}


COPY = f"    mov (M1, 32) V60(0,0)<1> V62{ALL}\n"
CARRIED = {
    "in one block": COMPUTE + EXCHANGE + COMPARE + COPY + AGAIN,
    "in another block": (
        COMPUTE
        + EXCHANGE
        + COMPARE
        + "    (P1) goto (M1, 32) OUT\n"
        + COPY
        + "    goto (M1, 1) AGAIN\nOUT:\n"
    ),
    "in local memory": _local(COMPUTE + EXCHANGE + COMPARE + COPY + AGAIN),
}
BEFORE = {
    "what is there": LOAD,
    "the same for all": "    mov (M1, 32) V60(0,0)<1> 0x1:ud\n",
    "something else for each": f"    mov (M1, 32) V60(0,0)<1> V43{ALL}\n",
}
"""What channels compare their element with in their first turn."""


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("turn", CARRIED)
def test_channels_may_compare_with_what_they_found_in_the_turn_before(
    turn: str, before: str
) -> None:
    text = kernel_of(CARRIED[turn], before=BEFORE[before], rounds=3)
    assert ".pausing:" in module_text(text)
    kernel = harness.assemble(text, "pvc")
    seeds = enumerate((1, 2, 3, 8, 30, 64) * 3)
    cases = [Elements(kernel, f"{turn} {before} {n}", many) for n, many in seeds]
    assert agree(kernel, cases) == {False}


@pytest.mark.parametrize("bad", [2, 1 << 20, -(1 << 12)])
def test_elements_out_of_range_or_out_of_line_fault_at_the_same_instruction(bad: int) -> None:
    kernel = harness.assemble(kernel_of(TURNS["a number is added"]), "pvc")
    cases = [Elements(kernel, f"{bad} {n}", many, bad=bad) for n, many in enumerate((1, 8, 64))]
    assert True in agree(kernel, cases)


def test_threads_that_reach_the_same_elements_have_their_turns_at_the_same_instructions() -> None:
    """Turns end in the middle of some loops, as each thread executes 10,000 instructions."""
    kernel = harness.assemble(kernel_of(TURNS["a number is added"], rounds=600), "pvc")
    assert agree(kernel, [Elements(kernel, str(many), many) for many in (8, 64)]) == {False}


OTHERS = {
    "turns are counted": COMPUTE + f"    add (M1, 32) V44(0,0)<1> V44{ALL} 0x1:ud\n",
    "the place changes": COMPUTE + f"    add (M1, 32) V50(0,0)<1> V50{ALL} 0x4:ud\n",
    "what was loaded changes": COMPUTE + f"    add (M1, 32) V60(0,0)<1> V60{ALL} 0x1:ud\n",
    "something else is stored": (COMPUTE + "    lsc_store.ugm (M1, 32)  flat[V58]:a64  V61:d32\n"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_loops_in_which_more_tells_turns_apart_stay_in_vector_form(other: str) -> None:
    text = kernel_of(LOAD + OTHERS[other] + EXCHANGE + COMPARE + AGAIN)
    assert ".pausing:" not in module_text(text)


@pytest.mark.parametrize(
    "ending",
    [
        f"    cmp.eq (M1, 32) P1 V62{ALL} V61{ALL}\n" + AGAIN,
        f"    cmp.lt (M1, 32) P1 V62{ALL} V60{ALL}\n" + AGAIN,
        f"    cmp.eq (M1, 32) P1 V72{ALL} V70{ALL}\n" + AGAIN,
        COMPARE + "    (P1) goto (M1, 32) AGAIN\n",
    ],
)
def test_loops_that_end_otherwise_stay_in_vector_form(ending: str) -> None:
    assert ".pausing:" not in module_text(kernel_of(LOAD + COMPUTE + EXCHANGE + ending))


def test_loops_whose_last_block_leaves_more_stay_in_vector_form() -> None:
    turn = CARRIED["in another block"]
    more = f"{COPY}    mov (M1, 32) V44(0,0)<1> V61{ALL}\n"
    assert ".pausing:" not in module_text(kernel_of(turn.replace(COPY, more)))
    other = f"    add (M1, 32) V60(0,0)<1> V62{ALL} 0x1:ud\n"
    assert ".pausing:" not in module_text(kernel_of(turn.replace(COPY, other)))


def test_observed_threads_stay_in_vector_form() -> None:
    text = kernel_of(TURNS["a number is added"])
    assert ".pausing:" not in module_text(text, watched=("accesses",))
    assert ".pausing:" not in module_text(text, counting=True)
