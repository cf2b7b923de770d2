"""Walks: loops in which channels store rows of their own do the same one channel after the other.

Each channel reads and writes elements at a place of its own, turn by turn. Walks vary in how
addresses are made, in how far places are from each other, and in where turns and channels end.
Threads that come first fill what is remembered of allocations, so that later ones run apart.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from visim.engine.base import RunOptions
from visim.machine.memory import Memory

from . import harness
from .cases import Case, agree, between_gaps, module_text, some_channels, start_with

pytestmark = pytest.mark.usefixtures("each_hardware")

LANES = 32
ELEMENTS = 1 << 15
THREADS = 4

ALL = "(0,0)<1;1,0>"
ONE = "(0,0)<0;1,0>"

DECLARATIONS = """
.version 4.1
.kernel "k"
.decl V40 v_type=G type=uq num_elts=3 align=wordx32
.decl V41 v_type=G type=d num_elts=32 align=wordx32
.decl V42 v_type=G type=d num_elts=32 align=wordx32
.decl V43 v_type=G type=ud num_elts=32 align=wordx32
.decl V44 v_type=G type=d num_elts=4 align=wordx32
.decl V50 v_type=G type=d num_elts=32 align=wordx32
.decl V51 v_type=G type=q num_elts=32 align=wordx32
.decl V52 v_type=G type=uq num_elts=32 align=wordx32
.decl V53 v_type=G type=ud num_elts=32 align=wordx32
.decl V54 v_type=G type=ub num_elts=128 align=wordx32 alias=<V53,0>
.decl V55 v_type=G type=uq num_elts=32 align=wordx32
.decl V56 v_type=G type=ud num_elts=32 align=wordx32
.decl V60 v_type=G type=d num_elts=1 align=wordx32
.decl V61 v_type=G type=d num_elts=1 align=wordx32
.decl V62 v_type=G type=q num_elts=1 align=wordx32
.decl P1 v_type=P num_elts=32
.decl P2 v_type=P num_elts=32
.kernel_attr SimdSize=32
.function "k"
k:
"""
LENGTH = "V44(0,1)<0;1,0>"
CLAMP = "V44(0,2)<0;1,0>"

INDICES = {
    "a row and what all count": f"""
    add (M1, 32) V50(0,0)<1> V41{ALL} V60{ONE}
    mov (M1, 32) V51(0,0)<1> V50{ALL}
    shl (M1, 32) V51(0,0)<1> V51{ALL} 0x2:q""",
    "what all count, in 64 bits": f"""
    mov (M1_NM, 1) V62(0,0)<1> V60{ONE}
    mov (M1, 32) V51(0,0)<1> V41{ALL}
    add (M1, 32) V51(0,0)<1> V51{ALL} V62{ONE}
    shl (M1, 32) V51(0,0)<1> V51{ALL} 0x2:q""",
    "an edge behind which nothing more comes": f"""
    add (M1_NM, 1) V61(0,0)<1> V60{ONE} 0x5:d
    min (M1_NM, 1) V61(0,0)<1> V61{ONE} {CLAMP}
    max (M1_NM, 1) V61(0,0)<1> V61{ONE} 0x9:d
    add (M1, 32) V50(0,0)<1> V41{ALL} V61{ONE}
    mov (M1, 32) V51(0,0)<1> V50{ALL}
    shl (M1, 32) V51(0,0)<1> V51{ALL} 0x2:q""",
    "backwards": f"""
    add (M1, 32) V50(0,0)<1> V41{ALL} (-)V60{ONE}
    mov (M1, 32) V51(0,0)<1> V50{ALL}
    shl (M1, 32) V51(0,0)<1> V51{ALL} 0x2:q""",
    "backwards, by complements": f"""
    not (M1_NM, 1) V61(0,0)<1> V60{ONE}
    add (M1, 32) V50(0,0)<1> V41{ALL} V61{ONE}
    mov (M1, 32) V51(0,0)<1> V50{ALL}
    shl (M1, 32) V51(0,0)<1> V51{ALL} 0x2:q""",
    "each channel counts": f"""
    add (M1, 32) V42(0,0)<1> V42{ALL} 0x2:w
    mov (M1, 32) V51(0,0)<1> V42{ALL}
    shl (M1, 32) V51(0,0)<1> V51{ALL} 0x2:q""",
}
READS = {
    "another array": (0, "0x0:q"),
    "the element that is written": (1, "0x0:q"),
    "the one before": (1, "0xfffffffffffffffc:q"),
    "the one behind": (1, "0x4:q"),
}
ENDS = {
    "all together": f"""
    add (M1_NM, 1) V60(0,0)<1> V60{ONE} 0x1:d
    cmp.lt (M1_NM, 32) P1 V60{ONE} {LENGTH}
    (P1) goto (M1, 1) LOOP""",
    "each for itself": f"""
    add (M1_NM, 1) V60(0,0)<1> V60{ONE} 0x1:d
    and (M1, 32) V56(0,0)<1> V43{ALL} 0x7f:ud
    cmp.lt (M1, 32) P1 V60{ONE} {LENGTH}
    cmp.ne (M1, 32) P2 V56{ALL} 0x0:ud
    and (M1, 32) P1 P1 P2
    (P1) goto (M1, 32) LOOP""",
    "all in the middle": f"""
    add (M1_NM, 1) V60(0,0)<1> V60{ONE} 0x1:d
    cmp.lt (M1_NM, 32) P1 V60{ONE} {LENGTH}
    (!P1) goto (M1, 1) DONE
    add (M1, 32) V43(0,0)<1> V43{ALL} 0x3:ud
    goto (M1, 1) LOOP""",
}


def whole_kernel(index: str, reads: str, ends: str) -> str:
    """Return a kernel with a walk whose addresses, loads and ends are of these kinds."""
    base, more = READS[reads]
    return f"""{DECLARATIONS.strip()}
    mov (M1_NM, 1) V60(0,0)<1> V44{ONE}
    cmp.lt (M1, 32) P1 V41{ALL} 0x0:d
    (P1) goto (M1, 32) DONE
LOOP:{INDICES[index]}
    add (M1, 32) V52(0,0)<1> V51{ALL} V40(0,{base})<0;1,0>
    add (M1, 32) V52(0,0)<1> V52{ALL} {more}
    lsc_load.ugm (M1, 32)  V53:d32  flat[V52]:a64
    mov (M1, 32) V56(0,0)<1> V54(0,1)<4;1,0>
    add3 (M1, 32) V43(0,0)<1> V43{ALL} V53{ALL} V56{ALL}
    add (M1, 32) V55(0,0)<1> V51{ALL} V40(0,1)<0;1,0>
    lsc_store.ugm (M1, 32)  flat[V55]:a64  V43:d32{ENDS[ends]}
DONE:
    add (M1, 32) V43(0,0)<1> V43{ALL} V60{ONE}
    mov (M1, 32) V51(0,0)<1> V41{ALL}
    shl (M1, 32) V51(0,0)<1> V51{ALL} 0x2:q
    add (M1, 32) V55(0,0)<1> V51{ALL} V40(0,2)<0;1,0>
    lsc_store.ugm (M1, 32)  flat[V55]:a64  V43:d32
    ret (M1, 1)
"""


class Walks(Case):
    """What a seed makes: how long walks are, how far apart they begin, and in which order."""

    def __init__(self, kernel: harness.Kernel, seed: str, *, far: bool, faults: bool) -> None:
        rng = random.Random(seed)
        data = np.array([rng.getrandbits(32) for _ in range(ELEMENTS)], np.uint32)
        self.out, self.ends = between_gaps(data), np.zeros(ELEMENTS, np.uint32)
        self.memory, self.changed = Memory(), (self.out, self.ends)
        arrays = [(data, "data"), (self.out, "out"), (self.ends, "ends")]
        bases = np.array([self.memory.add(*one) for one in arrays], np.uint64)
        starts: list[harness.ThreadStart] = []
        for number in range(THREADS):
            length = rng.choice([1, 7, 63, 64, 65, 300])
            begin = rng.choice([0, 0, 13])
            apart = length + rng.choice([0, 0, 9, 100]) if far else rng.randrange(length + 1)
            places = (np.arange(LANES) + 1) * apart + 400 * (1 + number % 2)
            if faults and number == THREADS - 1:
                places += rng.choice([ELEMENTS - 30 - places.max(), 20 - places.min(), 1 << 28])
            if rng.random() < 0.3:
                places = places[::-1].copy()
            registers = {
                "V40": bases,
                "V41": places.astype(np.int32),
                "V42": (places - 3 * np.arange(LANES)).astype(np.int32),
                "V44": np.array([begin, begin + length, begin + length // 2, 0], np.int32),
                "V43": np.arange(LANES, dtype=np.uint32),
            }
            starts.append(start_with(kernel, registers, some_channels(kernel, rng)))
        self.group = harness.GroupsAlike(tuple(starts))


def _agree(text: str, options: RunOptions | None = None) -> set[bool]:
    kernel = harness.assemble(text, "pvc")
    kinds = [(True, False), (False, False), (True, True), (False, True)]
    made = [
        Walks(kernel, f"{text} {number}", far=far, faults=faults)
        for far, faults in kinds
        for number in range(2)
    ]
    return agree(kernel, made, options)


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("index", INDICES)
def test_walks_do_what_all_channels_do_together(index: str, ends: str) -> None:
    text = whole_kernel(index, "another array", ends)
    assert ("abreast" in module_text(text)) == (ends != "each for itself")
    assert False in _agree(text)


@pytest.mark.parametrize("reads", READS)
def test_walks_read_what_they_write(reads: str) -> None:
    text = whole_kernel("a row and what all count", reads, "all together")
    assert "abreast" in module_text(text)
    assert False in _agree(text)


@pytest.mark.parametrize("index", INDICES)
def test_threads_of_16_channels_walk(index: str) -> None:
    text = whole_kernel(index, "another array", "all together")
    half = text.replace(", 32)", ", 16)").replace("SimdSize=32", "SimdSize=16")
    assert "abreast" in module_text(half)
    assert False in _agree(half)


def test_an_end_of_memory_is_met_in_the_turn_in_which_all_together_meet_it() -> None:
    assert _agree(whole_kernel("backwards", "another array", "all together")) == {False, True}


def test_a_budget_ends_at_the_same_instruction() -> None:
    text = whole_kernel("a row and what all count", "another array", "all together")
    for budget in (50, 333, 2000):
        _agree(text, RunOptions(budget=budget))
    assert "abreast" not in module_text(text, budgeted=True)


def test_numbers_that_wrap_around_on_the_way_to_an_address_are_seen() -> None:
    """Behind the end of D all channels come to one element."""
    reads = "the element that is written"
    text = whole_kernel("a row and what all count", reads, "all together")
    wraps = text.replace(
        f"mov (M1, 32) V51(0,0)<1> V50{ALL}",
        f"""add (M1, 32) V50(0,0)<1> V50{ALL} 0x7ffffe00:d
    max (M1, 32) V50(0,0)<1> V50{ALL} 0x7ffffe14:d
    mov (M1, 32) V51(0,0)<1> V50{ALL}
    add (M1, 32) V51(0,0)<1> V51{ALL} 0xffffffff80000200:q""",
        1,
    )
    assert wraps != text
    assert "abreast" in module_text(wraps)
    assert False in _agree(wraps)


def test_loops_with_addresses_that_data_make_are_no_walks() -> None:
    text = whole_kernel("a row and what all count", "another array", "all together")
    found = text.replace(f"V55(0,0)<1> V51{ALL} V40(0,1)", f"V55(0,0)<1> V53{ALL} V40(0,1)", 1)
    assert found != text
    assert "abreast" not in module_text(found)
    masked = text.replace("LOOP:", f"LOOP:\n    cmp.lt (M1, 32) P2 V43{ALL} 0x7fffffff:ud").replace(
        "    lsc_store.ugm", "    (P2) lsc_store.ugm", 1
    )
    assert "abreast" not in module_text(masked)


def _stepping(reads: str, step: str) -> str:
    """Return a kernel in which each channel adds to an unsigned number of its own."""
    text = whole_kernel("each channel counts", reads, "all together")
    text = text.replace(
        ".decl V50 ", ".decl V45 v_type=G type=uq num_elts=32 align=wordx32\n.decl V50 "
    )
    text = text.replace("LOOP:", f"    mov (M1, 32) V45(0,0)<1> V41{ALL}\nLOOP:")
    text = text.replace(
        f"add (M1, 32) V42(0,0)<1> V42{ALL} 0x2:w",
        f"add (M1, 32) V45(0,0)<1> V45{ALL} {step}:uq",
    )
    return text.replace(f"V51(0,0)<1> V42{ALL}", f"V51(0,0)<1> V45{ALL}")


@pytest.mark.parametrize("reads", READS)
def test_unsigned_numbers_fall_by_what_is_added(reads: str) -> None:
    text = _stepping(reads, "0xffffffffffffffff")
    assert "abreast" in module_text(text)
    assert False in _agree(text)


def test_steps_that_come_back_to_where_they_began_are_no_walks() -> None:
    """Four steps of a quarter of all numbers are none, but what lies between is no memory."""
    assert "abreast" in module_text(_stepping("another array", "0x100000"))
    assert "abreast" not in module_text(_stepping("another array", "0x4000000000000000"))


def test_counters_of_16_bits_and_their_copies_count() -> None:
    """The copy of a counter is one with it only where it begins like that."""
    text = whole_kernel("a row and what all count", "another array", "all together")
    counter = """.decl V63 v_type=G type=w num_elts=1 align=word
.decl V64 v_type=G type=uw num_elts=1 align=word alias=<V63,0>
.decl P1 """
    count = f"""add (M1_NM, 1) V63(0,0)<1> V63{ONE} 0x1:w
    mov (M1_NM, 1) V60(0,0)<1> V64{ONE}"""
    short = text.replace(".decl P1 ", counter).replace(
        f"add (M1_NM, 1) V60(0,0)<1> V60{ONE} 0x1:d", count
    )
    for begin in ("V44(0,0)", "V44(0,2)"):
        found = short.replace("k:\n", f"k:\n    mov (M1_NM, 1) V63(0,0)<1> {begin}<0;1,0>\n")
        assert found.count("V63") == 4 + 1
        assert "abreast" in module_text(found)
        assert False in _agree(found)


def test_channels_that_store_to_one_place_are_no_walks() -> None:
    text = whole_kernel("what all count, in 64 bits", "another array", "all together")
    one = text.replace(
        f"add (M1, 32) V51(0,0)<1> V51{ALL} V62{ONE}", f"mov (M1, 32) V51(0,0)<1> V62{ONE}"
    )
    assert one != text
    version = {"has_gathers": True, "has_scatters": True}
    for found in (
        one,
        one.replace(
            f"mov (M1, 32) V51(0,0)<1> V62{ONE}", f"min (M1, 32) V51(0,0)<1> V62{ONE} {CLAMP}"
        ),
    ):
        assert "abreast" not in module_text(found, **version)
        assert False in _agree(found)
