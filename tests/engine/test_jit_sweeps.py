"""Sweeps: what channels load along rows of their own is loaded for several turns at once.

They vary in what is loaded and which way, in what counts, in what all channels load beside it, and
in where turns, rows and memory end. Threads that come first fill what is remembered of allocations,
so that later ones are sweeps.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from visim.engine.base import RunOptions
from visim.machine.memory import Memory

from . import harness
from .cases import Case, agree, module_text, some_channels, start_with

pytestmark = pytest.mark.usefixtures("each_hardware")

LANES = 32
BYTES = 1 << 15
THREADS = 5

ALL = "(0,0)<1;1,0>"
ONE = "(0,0)<0;1,0>"

DECLARATIONS = """
.version 4.1
.kernel "k"
.decl V40 v_type=G type=uq num_elts=3 align=wordx32
.decl V41 v_type=G type=d num_elts=32 align=wordx32
.decl V43 v_type=G type=ud num_elts=32 align=wordx32
.decl V44 v_type=G type=d num_elts=4 align=wordx32
.decl V50 v_type=G type=d num_elts=32 align=wordx32
.decl V51 v_type=G type=q num_elts=32 align=wordx32
.decl V52 v_type=G type=uq num_elts=32 align=wordx32
.decl V53 v_type=G type=ud num_elts=64 align=wordx32
.decl V54 v_type=G type=ub num_elts=256 align=wordx32 alias=<V53,0>
.decl V55 v_type=G type=uq num_elts=32 align=wordx32
.decl V60 v_type=G type=d num_elts=1 align=wordx32
.decl V61 v_type=G type=d num_elts=1 align=wordx32
.decl V62 v_type=G type=uq num_elts=1 align=wordx32
.decl V63 v_type=G type=w num_elts=1 align=word
.decl V64 v_type=G type=uw num_elts=1 align=word alias=<V63,0>
.decl V65 v_type=G type=ud num_elts=16 align=wordx32
.decl V66 v_type=G type=ub num_elts=64 align=wordx32 alias=<V65,0>
.decl P1 v_type=P num_elts=32
.kernel_attr SimdSize=32
.function "k"
k:
    mov (M1_NM, 1) V60(0,0)<1> V44(0,0)<0;1,0>
    mov (M1_NM, 1) V63(0,0)<1> V44(0,3)<0;1,0>
    cmp.lt (M1, 32) P1 V41(0,0)<1;1,0> 0x0:d
    (P1) goto (M1, 32) DONE
"""
LENGTH = "V44(0,1)<0;1,0>"

LOADS = {"d8c32": 1, "d16c32": 2, "d32": 4, "d32x2": 8, "d64": 8}
"""How channels load, and how many bytes."""
STEPS = {"forward": 1, "backward": -1, "of every other element": 2}
PLACES = {
    "forward": f"add (M1, 32) V50(0,0)<1> V41{ALL} V60{ONE}",
    "backward": f"add (M1, 32) V50(0,0)<1> V41{ALL} (-)V60{ONE}",
    "of every other element": f"""shl (M1_NM, 1) V61(0,0)<1> V60{ONE} 0x1:d
    add (M1, 32) V50(0,0)<1> V41{ALL} V61{ONE}""",
}
COUNTS = {
    "a number of 32 bits": f"add (M1_NM, 1) V60(0,0)<1> V60{ONE} 0x1:w",
    "one of 16 bits and a copy": f"""add (M1_NM, 1) V63(0,0)<1> V63{ONE} 0x1:w
    mov (M1_NM, 1) V60(0,0)<1> V64{ONE}""",
}
SHARED = {
    "nothing": "",
    "a byte": f"""
    mov (M1_NM, 1) V62(0,0)<1> V60{ONE}
    add (M1_NM, 1) V62(0,0)<1> V62{ONE} V40(0,1)<0;1,0>
    lsc_load.ugm (M1_NM, 1)  V65:d8c32  flat[V62]:a64
    mov (M1_NM, 1) V61(0,0)<1> V66(0,0)<0;1,0>
    mad (M1, 32) V43(0,0)<1> V43{ALL} V61{ONE} V53{ALL}""",
    "a block": f"""
    mov (M1_NM, 1) V62(0,0)<1> V60{ONE}
    shl (M1_NM, 1) V62(0,0)<1> V62{ONE} 0x2:uq
    add (M1_NM, 1) V62(0,0)<1> V62{ONE} V40(0,1)<0;1,0>
    lsc_load.ugm (M1_NM, 1)  V65:d32x4t  flat[V62]:a64
    add3 (M1, 32) V43(0,0)<1> V43{ALL} V65(0,2)<0;1,0> V65(0,3)<0;1,0>""",
}
ENDS = {
    "at the end": f"""
    cmp.lt (M1_NM, 32) P1 V60{ONE} {LENGTH}
    (P1) goto (M1, 1) LOOP""",
    "in the middle": f"""
    cmp.lt (M1_NM, 32) P1 V60{ONE} {LENGTH}
    (!P1) goto (M1, 1) DONE
    add (M1, 32) V43(0,0)<1> V43{ALL} 0x3:ud
    goto (M1, 1) LOOP""",
}


def whole_kernel(
    load: str = "d8c32",
    place: str = "forward",
    count: str = "a number of 32 bits",
    shared: str = "nothing",
    end: str = "at the end",
) -> str:
    """Return a kernel with a sweep of these kinds."""
    shift, apart = LOADS[load].bit_length() - 1, 2 if load == "d64" else 1
    second = "V53(0,1)<2;1,0>" if load == "d64" else "V53(2,0)<1;1,0>"
    return f"""{DECLARATIONS.strip()}
LOOP:
    {PLACES[place]}
    mov (M1, 32) V51(0,0)<1> V50{ALL}
    shl (M1, 32) V51(0,0)<1> V51{ALL} {shift}:q
    add (M1, 32) V52(0,0)<1> V51{ALL} V40(0,0)<0;1,0>
    lsc_load.ugm (M1, 32)  V53:{load}  flat[V52]:a64
    mul (M1, 32) V43(0,0)<1> V43{ALL} 0x1f:ud
    mov (M1, 32) V50(0,0)<1> V54(0,1)<{4 * apart};1,0>
    add3 (M1, 32) V43(0,0)<1> V43{ALL} V53(0,0)<{apart};1,0> V50{ALL}
    add (M1, 32) V43(0,0)<1> V43{ALL} {second}{SHARED[shared]}
    {COUNTS[count]}{ENDS[end]}
DONE:
    add (M1, 32) V43(0,0)<1> V43{ALL} V60{ONE}
    mov (M1, 32) V51(0,0)<1> V41{ALL}
    shl (M1, 32) V51(0,0)<1> V51{ALL} 0x2:q
    add (M1, 32) V55(0,0)<1> V51{ALL} V40(0,2)<0;1,0>
    lsc_store.ugm (M1, 32)  flat[V55]:a64  V43:d32
    ret (M1, 1)
"""


class Sweeps(Case):
    """What a seed makes: how long rows are, where they begin, and in which order."""

    def __init__(
        self, kernel: harness.Kernel, seed: str, size: int, step: int, *, faults: bool
    ) -> None:
        rng = random.Random(seed)
        data = np.frombuffer(rng.randbytes(BYTES), np.uint8).copy()
        ends, elements = np.zeros(BYTES, np.uint32), BYTES // size
        self.memory, self.changed = Memory(), (ends,)
        arrays = [(data, "data"), (data.copy(), "shared"), (ends, "ends")]
        bases = np.array([self.memory.add(*one) for one in arrays], np.uint64)
        starts: list[harness.ThreadStart] = []
        for number in range(THREADS):
            length = rng.choice([1, 3, 7, 16, 63, 64, 65, 300])
            begin = rng.choice([0, 0, 13])
            apart = rng.choice([1, 5, length, 64])
            places = np.arange(LANES) * apart + 400
            if number == THREADS - 1:  # as near to an end as it can be, or nearer
                first, last = sorted((step * begin, step * (begin + length - 1)))
                out = rng.choice([1, 9, 1 << 28]) if faults else 0
                if rng.random() < 0.5:
                    places += elements - 1 - last - places.max() + out
                else:
                    places += -first - places.min() - out
            if rng.random() < 0.3:
                places = places[::-1].copy()
            other = begin + rng.choice([0, 0, 0, 1])
            registers = {
                "V40": bases,
                "V41": places.astype(np.int32),
                "V44": np.array([begin, begin + length, 0, other], np.int32),
                "V43": np.arange(LANES, dtype=np.uint32),
            }
            starts.append(start_with(kernel, registers, some_channels(kernel, rng)))
        self.group = harness.GroupsAlike(tuple(starts))


def _agree(
    text: str, size: int = 1, place: str = "forward", options: RunOptions | None = None
) -> set[bool]:
    kernel = harness.assemble(text, "pvc")
    made = [
        Sweeps(kernel, f"{text} {number}", size, STEPS[place], faults=faults)
        for faults in (False, True)
        for number in range(3)
    ]
    return agree(kernel, made, options)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("load", LOADS)
def test_sweeps_load_what_turns_load(load: str, place: str) -> None:
    text, far = whole_kernel(load, place), place == "of every other element"
    assert ("sweep" in module_text(text)) == (LOADS[load] < 8 or not far)
    assert False in _agree(text, LOADS[load], place)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("shared", SHARED)
def test_all_channels_may_load_something_together_beside_it(shared: str, end: str) -> None:
    text = whole_kernel("d16c32", shared=shared, end=end)
    assert "sweep" in module_text(text)
    assert False in _agree(text, 2)


def test_a_copy_of_a_counter_counts_if_it_is_one() -> None:
    text = whole_kernel(count="one of 16 bits and a copy")
    assert "sweep" in module_text(text)
    assert False in _agree(text)


def test_a_counter_of_which_a_part_is_written_counts_for_nobody() -> None:
    text = whole_kernel().replace(
        ".decl P1 ", ".decl V67 v_type=G type=uw num_elts=2 align=word alias=<V60,0>\n.decl P1 "
    )
    parts = text.replace("LOOP:", "LOOP:\n    mov (M1_NM, 1) V67(0,1)<1> 0x0:uw")
    assert "sweep" in module_text(text)
    assert "sweep" not in module_text(parts)
    assert False in _agree(parts)


def test_threads_of_16_channels_sweep() -> None:
    text = whole_kernel("d16c32").replace(", 32)", ", 16)").replace("SimdSize=32", "SimdSize=16")
    assert "sweep" in module_text(text)
    assert False in _agree(text, 2)


def test_an_end_of_memory_is_met_in_the_turn_in_which_it_was() -> None:
    for place in PLACES:
        assert _agree(whole_kernel("d16c32", place), 2, place) == {False, True}


def test_a_budget_ends_at_the_same_instruction() -> None:
    text = whole_kernel()
    for budget in (50, 333, 2000):
        _agree(text, options=RunOptions(budget=budget))
    assert "sweep" not in module_text(text, budgeted=True)


def test_what_is_not_side_by_side_or_made_by_data_is_no_sweep() -> None:
    text = whole_kernel()
    wide = text.replace(f"V51(0,0)<1> V51{ALL} 0:q", f"V51(0,0)<1> V51{ALL} 7:q", 1)
    assert wide != text
    assert "sweep" not in module_text(wide)
    data = text.replace(f"V50(0,0)<1> V41{ALL} V60{ONE}", f"V50(0,0)<1> V43{ALL} V60{ONE}")
    assert data != text
    assert "sweep" not in module_text(data)
