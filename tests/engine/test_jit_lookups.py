"""Indices that data choose, into tables that one look at their ends covers."""

from __future__ import annotations

import random
import re
from itertools import product

import numpy as np
import pytest

from tests.opencl.fences import fenced, run_apart
from visim.engine.base import RunOptions
from visim.machine.memory import Memory

from . import harness
from .cases import Case, agree, between_gaps, module_text, some_channels, start_with

pytestmark = pytest.mark.usefixtures("each_hardware")

LANES, THREADS, DATA = 32, 4, 64

ALL = "(0,0)<1;1,0>"
_CALLS = (r"= call .* @llvm.x86.avx512.permvar", r"= call .* @llvm.x86.avx512.vpermi2var")

DECLARATIONS = """
.version 4.1
.kernel "k"
.decl V40 v_type=G type=uq num_elts=4 align=wordx32
.decl V41 v_type=G type=ud num_elts=32 align=wordx32
.decl V42 v_type=G type=ud num_elts=32 align=wordx32
.decl V43 v_type=G type=ud num_elts=32 align=wordx32
.decl V50 v_type=G type=d num_elts=32 align=wordx32
.decl V51 v_type=G type=q num_elts=32 align=wordx32
.decl V52 v_type=G type=uq num_elts=32 align=wordx32
.decl V53 v_type=G type=ud num_elts=32 align=wordx32
.decl V54 v_type=G type=ub num_elts=128 align=wordx32 alias=<V53,0>
.decl V55 v_type=G type=uw num_elts=64 align=wordx32 alias=<V53,0>
.decl V56 v_type=G type=ud num_elts=32 align=wordx32 alias=<V50,0>
.decl V57 v_type=G type=w num_elts=32 align=wordx32
.decl V58 v_type=G type=d num_elts=4 align=wordx32
.decl V59 v_type=G type=ud num_elts=32 align=wordx32
.decl V60 v_type=G type=d num_elts=1 align=dword
.decl V61 v_type=G type=q num_elts=32 align=wordx32
.decl V62 v_type=G type=q num_elts=32 align=wordx32
.decl V63 v_type=G type=uq num_elts=32 align=wordx32
.decl V64 v_type=G type=q num_elts=32 align=wordx32
.decl V65 v_type=G type=d num_elts=2 align=word alias=<V58,2>
.decl V70 v_type=G type=ud num_elts=64 align=wordx32
.decl P1 v_type=P num_elts=32
.kernel_attr SimdSize=32
.kernel_attr SLMSize=1
.function "k"
k:
"""
INDICES = {
    "low bits": f"and (M1, 32) V56(0,0)<1> V53{ALL} 0x3f:ud",
    "bits that are cut after a shift": f"""shl (M1, 32) V50(0,0)<1> V53{ALL} 0x2:d
    and (M1, 32) V50(0,0)<1> V50{ALL} 0x3c:d""",
    "high bits": f"shr (M1, 32) V56(0,0)<1> V53{ALL} 0x1a:ud",
    "bytes": "mov (M1, 32) V50(0,0)<1> V54(0,1)<4;1,0>",
    "words": f"""mov (M1, 32) V57(0,0)<1> V55(0,1)<2;1,0>
    and (M1, 32) V57(0,0)<1> V57{ALL} 0x3f:w
    mov (M1, 32) V50(0,0)<1> V57{ALL}""",
    "bits by a number that stays": f"and (M1, 32) V50(0,0)<1> V53{ALL} V58(0,0)<0;1,0>",
    "sums": f"""shr (M1, 32) V56(0,0)<1> V53{ALL} 0x1c:ud
    and (M1, 32) V59(0,0)<1> V53{ALL} 0x7:ud
    mad (M1, 32) V56(0,0)<1> V59{ALL} 0x5:ud V56{ALL}""",
    "other bits": f"""and (M1, 32) V59(0,0)<1> V53{ALL} 0x2f:ud
    xor (M1, 32) V56(0,0)<1> V59{ALL} 0x15:ud""",
    "the smaller ones": f"min (M1, 32) V56(0,0)<1> V53{ALL} 0x3e:ud",
    "a few": f"and (M1, 32) V56(0,0)<1> V53{ALL} 0x3:ud",
    "five bits": f"and (M1, 32) V56(0,0)<1> V53{ALL} 0x1f:ud",
    "the larger ones": f"min (M1, 32) V56(0,0)<1> V53{ALL} 0xd0:ud",
    "up to 38": f"min (M1, 32) V56(0,0)<1> V53{ALL} 0x26:ud",
}
"""What makes an index from what was loaded, none above 255."""
LOADS = {
    "d8c32": (1, ""),
    "d16c32": (2, "0x1"),
    "d32": (4, "0x2"),
    "d64": (8, "0x3"),
    "d32x2": (8, "0x3"),
    "d8c32 in a structure": (4, "0x2"),
}
"""Bytes from one element of a table to the next, and by how many bits an index is shifted."""


def whole_kernel(index: str = "low bits", load: str = "d32") -> str:
    """Return a kernel that loads from a table, with an index and elements of these kinds."""
    _, count = LOADS[load]
    scale = f"shl (M1, 32) V62(0,0)<1> V61{ALL} {count or '0x0'}:q"
    return f"""{DECLARATIONS.strip()}
    mov (M1_NM, 1) V58(0,0)<1> 0x3f:d
    mov (M1, 32) V51(0,0)<1> V41{ALL}
    shl (M1, 32) V51(0,0)<1> V51{ALL} 0x2:q
    add (M1, 32) V52(0,0)<1> V51{ALL} V40(0,0)<0;1,0>
    cmp.eq (M1, 32) P1 V43{ALL} 0x5:ud
    (P1) goto (M1, 32) DONE
LOOP:
    lsc_load.ugm (M1, 32)  V53:d32  flat[V52]:a64
    {INDICES[index]}
    mov (M1, 32) V61(0,0)<1> V50{ALL}
    {scale}
    add (M1, 32) V63(0,0)<1> V62{ALL} V40(0,1)<0;1,0>
    lsc_load.ugm (M1, 32)  V70:{load.split()[0]}  flat[V63]:a64
    mad (M1, 32) V43(0,0)<1> V43{ALL} 0x1f:ud V70{ALL}
    add (M1_NM, 1) V60(0,0)<1> V60(0,0)<0;1,0> 0x1:d
    cmp.lt (M1_NM, 32) P1 V60(0,0)<0;1,0> 0x3:d
    add (M1, 32) V52(0,0)<1> V52{ALL} 0x4:q
    (P1) goto (M1, 1) LOOP
DONE:
    mov (M1, 32) V64(0,0)<1> V42{ALL}
    shl (M1, 32) V64(0,0)<1> V64{ALL} 0x2:q
    add (M1, 32) V64(0,0)<1> V64{ALL} V40(0,2)<0;1,0>
    lsc_store.ugm (M1, 32)  flat[V64]:a64  V43:d32
    ret (M1, 1)
"""


class Lookups(Case):
    """What a seed makes: how long a table is, where it begins, and which indices there are."""

    def __init__(
        self,
        kernel: harness.Kernel,
        seed: str,
        size: int,
        *,
        faults: bool,
        at_fence: bool = False,
    ) -> None:
        rng = random.Random(seed)
        length = rng.choice([256, 256, 300] if not faults else [256, 64, 63, 40, 1])
        table = between_gaps(np.frombuffer(rng.randbytes(length * size), np.uint8))
        if at_fence:
            fence = fenced(np.uint8, table.size, at_end=rng.random() < 0.7)
            fence[:], table = table, fence
        first = rng.choice([0, 0, 7]) if faults else 0
        data = np.frombuffer(rng.randbytes(4 * DATA * THREADS), np.uint32).copy()
        if rng.random() < 0.5:  # short tables may do
            data &= np.uint32(0x0F0F0F0F)
        if first and rng.random() < 0.7:  # no index is before the table
            data |= np.uint32(0x1C1C1C1C)
        ends = np.zeros(LANES * THREADS, np.uint32)
        self.memory, self.changed = Memory(), (ends,)
        arrays = [(between_gaps(data), "data"), (table, "table"), (ends, "ends")]
        bases = np.array([self.memory.add(*one) for one in arrays] + [0], np.uint64)
        bases[1] -= np.uint64(first * size)
        starts: list[harness.ThreadStart] = []
        for number in range(THREADS):
            places = np.array([rng.randrange(DATA) for _ in range(LANES)]) + DATA * number
            registers = {
                "V40": bases,
                "V41": np.minimum(places, data.size - 3).astype(np.uint32),
                "V42": np.arange(LANES, dtype=np.uint32) + LANES * number,
                "V43": np.array([rng.randrange(9) for _ in range(LANES)], np.uint32),
                "V58": np.full(4, 0x0FFFFFFF, np.int32),
                "V60": np.zeros(1, np.int32),
            }
            starts.append(start_with(kernel, registers, some_channels(kernel, rng)))
        self.group = harness.GroupsAlike(tuple(starts), slm_bytes=rng.choice([256, 512, 100]))


def _agree(text: str, size: int = 4, options: RunOptions | None = None) -> set[bool]:
    kernel = harness.assemble(text, "pvc")
    made = [
        Lookups(kernel, f"{text} {number}", size, faults=faults)
        for faults in (False, True)
        for number in range(4)
    ]
    return agree(kernel, made, options)


def _looks_up(text: str) -> bool:
    return "table." in module_text(text)


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("index", INDICES)
def test_lanes_get_what_they_get_one_by_one(index: str, load: str) -> None:
    text = whole_kernel(index, load)
    assert _looks_up(text)
    assert False in _agree(text, LOADS[load][0])


@pytest.mark.parametrize(
    ("index", "load", "permutes", "pairs"),
    [
        ("a few", "d32", 2, 0),
        ("a few", "d8c32", 1, 0),
        ("five bits", "d32", 0, 2),
        ("five bits", "d64", 0, 8),
        ("low bits", "d32", 0, 4),
        ("up to 38", "d32", 2, 2),
        ("bytes", "d8c32", 0, 2),
        ("low bits", "d16c32", 0, 1),
        ("bytes", "d16c32", 0, 4),
        ("the larger ones", "d16c32", 1, 3),
        ("low bits", "d64", 0, 0),
        ("bytes", "d32", 0, 0),
        ("a few", "d32x2", 0, 0),
        ("a few", "d8c32 in a structure", 0, 0),
    ],
)
def test_small_tables_are_permuted(index: str, load: str, permutes: int, pairs: int) -> None:
    text = whole_kernel(index, load)
    assert _permutations(text) == (permutes, pairs)
    if load == "d8c32":
        assert _permutations(text, permuted_bytes=16) == (0, 0)


def _permutations(text: str, permuted_bytes: int = 64) -> tuple[int, int]:
    """Return how many permutations of one register, and of two, load from a kernel's table.

    What its other messages have, one that loads from a large table has as well.
    """
    host = {"has_mask_registers": True, "permuted_bytes": permuted_bytes}
    found, others = (module_text(one, **host) for one in (text, whole_kernel("bytes", "d32")))
    one, two = (len(re.findall(call, found)) - len(re.findall(call, others)) for call in _CALLS)
    return one, two


def test_tables_that_are_too_short_are_checked_lane_by_lane() -> None:
    assert _agree(whole_kernel("bytes", "d8c32"), 1) == {False, True}
    assert _agree(whole_kernel("bytes", "d32"), 4) == {False, True}


@pytest.mark.parametrize("load", ["d8c32", "d32"])
def test_threads_of_16_channels_look_up(load: str) -> None:
    text = whole_kernel("bytes", load).replace(", 32)", ", 16)")
    half = text.replace("SimdSize=32", "SimdSize=16")
    assert _looks_up(half)
    assert False in _agree(half, LOADS[load][0])


def look_up_at_fences() -> None:
    """Look up elements where nothing may be read behind, or in front of, tables."""
    for index, load in product(("bytes", "up to 38", "a few"), ("d8c32", "d16c32", "d32")):
        text = whole_kernel(index, load)
        kernel = harness.assemble(text, "pvc")
        made = [
            Lookups(kernel, f"{number}", LOADS[load][0], faults=number % 2 == 0, at_fence=True)
            for number in range(24)
        ]
        assert agree(kernel, made) >= {False}


def test_nothing_is_read_that_is_no_part_of_a_table() -> None:
    run_apart("tests.engine.test_jit_lookups", "look_up_at_fences()")


def look_up_far_apart() -> None:
    """Look up elements that are so far apart that the last one would be the first one again."""
    for load in ("d8c32", "d32"):
        text = whole_kernel("low bits", load)
        near = f"V62(0,0)<1> V61{ALL} {LOADS[load][1] or '0x0'}:q"
        far = text.replace(near, f"V62(0,0)<1> V61{ALL} 0x3e:q")
        more = f"""and (M1, 32) V56(0,0)<1> V53{ALL} 0x3c:ud
    add (M1, 32) V59(0,0)<1> V60(0,0)<0;1,0> 0x3:ud
    and (M1, 32) V59(0,0)<1> V59{ALL} 0x3:ud
    add (M1, 32) V59(0,0)<1> V59{ALL} 0x1:ud
    add (M1, 32) V56(0,0)<1> V56{ALL} V59{ALL}"""  # four times something in the first turn
        far = far.replace(INDICES["low bits"], more)
        assert far.count("0x3e:q") == far.count("0x3c:ud") == 1
        assert _agree(far, LOADS[load][0]) == {True}


def test_addresses_that_wrap_are_in_no_table() -> None:
    run_apart("tests.engine.test_jit_lookups", "look_up_far_apart()")


@pytest.mark.parametrize("load", ["d8c32", "d16c32", "d32"])
def test_tables_in_shared_local_memory(load: str) -> None:
    text = whole_kernel("low bits", load)
    shift = "" if load == "d8c32" else f"shl (M1, 32) V50(0,0)<1> V50{ALL} {LOADS[load][1]}:d"
    flat = f"    lsc_load.ugm (M1, 32)  V70:{load}  flat[V63]:a64"
    local = text.replace(flat, f"    {shift}\n    lsc_load.slm (M1, 32)  V70:{load}  flat[V50]:a32")
    assert local != text
    assert False in _agree(local)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("mov (M1_NM, 2) V58(0,0)<2> 0x3f:d", "V58(0,1)<0;1,0>"),  # between what is written
        ("mov (M1_NM, 1) V58(0,0)<1> 0x3f:d", "V65(0,1)<0;1,0>"),  # half of it is written
    ],
)
def test_a_number_stays_only_where_it_was_written(written: str, read: str) -> None:
    stays = "bits by a number that stays"
    text = whole_kernel(stays, "d8c32").replace("mov (M1_NM, 1) V58(0,0)<1> 0x3f:d", written)
    other = text.replace("V58(0,0)<0;1,0>", read)
    assert other != text
    assert not _looks_up(other)
    _agree(other, 1)


def look_up_through_others() -> None:
    """Write indices through a variable in front of them, behind whose end they begin."""
    text = whole_kernel("low bits")
    flat = "    lsc_load.ugm (M1, 32)  V70:d32  flat[V63]:a64"
    text = text.replace(flat, f"    shl (M1, 32) V50(0,0)<1> V50{ALL} 0x2:d\n{flat}")
    text = text.replace(flat, "    lsc_load.slm (M1, 32)  V70:d32  flat[V50]:a32")
    index = ".decl V50 v_type=G type=d num_elts=32 align=wordx32"
    before = ".decl V49 v_type=G type=ud num_elts=16 align=wordx32"
    load = "    lsc_load.slm"
    text = text.replace(index, f"{before}\n{index}")
    text = text.replace(load, f"    mov (M1_NM, 16) V49(1,0)<1> V53{ALL}\n{load}")
    kernel = harness.assemble(text, "pvc")
    assert kernel.place("V50") == kernel.place("V49") + 64
    assert agree(kernel, (Lookups(kernel, f"{n}", 4, faults=True) for n in range(4))) == {True}


def test_indices_that_are_written_through_other_variables_are_not_known() -> None:
    run_apart("tests.engine.test_jit_lookups", "look_up_through_others()")


def test_without_checks_lanes_that_are_off_load_nothing() -> None:
    text = whole_kernel("bytes", "d32")
    kernel = harness.assemble(text, "pvc")
    made = [Lookups(kernel, f"{number}", 4, faults=False) for number in range(4)]
    assert agree(kernel, made, RunOptions(checked=False)) == {False}


def test_a_budget_ends_at_the_same_instruction() -> None:
    for budget in (20, 33, 40):
        _agree(whole_kernel(), options=RunOptions(budget=budget))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("0x3f:ud", "0x8000003f:ud"),  # not small
        ("V53(0,0)<1;1,0> 0x3f:ud", "V41(0,0)<1;1,0> 0x3f:ud"),  # no data
    ],
)
def test_other_indices_go_into_no_table(before: str, after: str) -> None:
    text = whole_kernel()
    other = text.replace(before, after)
    assert other != text
    assert not _looks_up(other)
    _agree(other)


def test_what_is_written_for_some_channels_is_not_known() -> None:
    """A predicate leaves what other channels had."""
    text = whole_kernel("low bits")
    some = f"(P1) {INDICES['low bits']}"
    other = text.replace(INDICES["low bits"], f"mov (M1, 32) V56(0,0)<1> V53{ALL}\n    {some}")
    assert not _looks_up(other)
    _agree(other)
