"""Foreseen loops with branches in a turn, which all channels take, or none, or some of them."""

from __future__ import annotations

import random

import numpy as np
import pytest
from numpy.typing import NDArray

from .test_jit_foreseen import ALL, BODIES, COUNTER, is_foreseen
from .test_jit_foreseen import texts as texts
from .test_jit_strides import ENDS, Strides, compare, strided

pytestmark = pytest.mark.usefixtures("each_hardware")

LOW, HIGH = (f"V69(0,{number})<0;1,0>" for number in range(2))
FORKS = {
    "channels in range": f"""
    add (M1, 32) V70(0,0)<1> V41{ALL} {COUNTER}
    cmp.ge (M1, 32) P4 V70{ALL} {LOW}
    cmp.lt (M1, 32) P5 V70{ALL} {HIGH}
    and (M1, 32) P4 P4 P5
    (!P4) goto (M1, 32) SKIP{{body}}
SKIP:""",
    "all or none": f"""
    cmp.lt (M1_NM, 32) P4 {COUNTER} {HIGH}
    (!P4) goto (M1, 1) SKIP{{body}}
SKIP:""",
    "all or none, for channels": f"""
    cmp.lt (M1, 32) P4 {COUNTER} {HIGH}
    (P4) goto (M1, 32) SKIP{{body}}
SKIP:""",
    "one way or the other": f"""
    cmp.lt (M1, 32) P4 {COUNTER} {LOW}
    (P4) goto (M1, 32) ELSE{{body}}
    goto (M1, 32) SKIP
ELSE:
    add (M1, 32) V43(0,0)<1> V43{ALL} 0x5:ud
SKIP:""",
    "one in the other": f"""
    cmp.ge (M1_NM, 32) P4 {COUNTER} {LOW}
    (!P4) goto (M1, 1) SKIP
    add (M1, 32) V70(0,0)<1> V41{ALL} {COUNTER}
    cmp.lt (M1, 32) P5 V70{ALL} {HIGH}
    (!P5) goto (M1, 32) SKIP{{body}}
SKIP:""",
    "out of the loop": f"""
    cmp.gt (M1, 32) P4 {COUNTER} {HIGH}
    (P4) goto (M1, 32) DONE{{body}}""",
    "out of the loop, some channels": f"""
    add (M1, 32) V70(0,0)<1> V41{ALL} {COUNTER}
    cmp.gt (M1, 32) P4 V70{ALL} {HIGH}
    (P4) goto (M1, 32) DONE{{body}}""",
}
"""What is around the body, or in front of it."""


def forked(fork: str, body: str, end: str, adds: str = "plus", test: str = "lt") -> str:
    """Return a kernel whose turns have a branch."""
    text = strided(body, end, adds, test)
    declarations = """
.decl V69 v_type=G type=d num_elts=2 align=wordx32
.decl V70 v_type=G type=d num_elts=32 align=wordx32
.decl P4 v_type=P num_elts=32
.decl P5 v_type=P num_elts=32"""
    text = text.replace("\n.decl P1", f"{declarations}\n.decl P1")
    assert BODIES[body] in text
    return text.replace(BODIES[body], FORKS[fork].format(body=BODIES[body]))


class Forks(Strides):
    """Threads that branch at numbers of their own."""

    def more(self, rng: random.Random) -> dict[str, NDArray[np.int32]]:
        """Return what their channels are compared with."""
        low = rng.choice([-(1 << 31), -50, 0, 1, 5, 13, 40])
        high = rng.choice([(1 << 31) - 1, 4000, 100, 60, 33, 20, 3, 0, -7])
        return {"V69": np.array([low, high], np.int32)}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("fork", FORKS)
def test_channels_go_on_together_or_part(fork: str, body: str, texts: list[str]) -> None:
    rng = random.Random(f"{fork} {body}")
    for number in range(2):
        text = forked(fork, body, rng.choice(list(ENDS)))
        compare(text, f"{fork} {body} {number}", case_of=Forks)
        assert is_foreseen(texts)


@pytest.mark.parametrize("fork", ["channels in range", "all or none", "one in the other"])
def test_what_some_turns_write_is_not_foreseen(fork: str, texts: list[str]) -> None:
    text = forked(fork, "rows at a distance", "another counter")
    add = "    add (M1_NM, 1) V60(0,0)<1> V60(0,0)<0;1,0> V66(0,0)<0;1,0>\n"
    assert add in text
    compare(text.replace(add, "").replace("SKIP:", f"{add}SKIP:", 1), fork, case_of=Forks)
    assert not is_foreseen(texts)


def test_rows_that_some_turns_write_are_not_foreseen(texts: list[str]) -> None:
    text = forked("all or none", "rows at a distance", "another counter")
    load = "    lsc_load.ugm (M1, 32)  V53:d32  flat[V52]:a64\n"
    assert load in text
    compare(text.replace(load, "").replace("SKIP:", f"SKIP:\n{load}", 1), "rows", case_of=Forks)
    assert not is_foreseen(texts)


def test_branches_that_data_decide_are_not_foreseen(texts: list[str]) -> None:
    text = forked("channels in range", "rows at a distance", "another counter")
    data = text.replace(f"P4 V70{ALL}", f"P4 V43{ALL}")
    assert data != text
    compare(data, "data", case_of=Forks)
    assert not is_foreseen(texts)


def test_groups_meet_at_barriers_between_loops(texts: list[str]) -> None:
    text = forked("channels in range", "a block, and a row of local memory", "another counter")
    text = text.replace("DONE:\n", "DONE:\n    barrier\n")
    compare(text, "barrier", case_of=Forks)
    assert is_foreseen(texts)
