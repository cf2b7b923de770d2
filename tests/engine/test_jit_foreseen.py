"""Foreseen loops: turns whose messages are in range, as is known before the first of them.

They vary in how turns are counted and when they end, in what is loaded and stored where, and in
where memory ends. Threads that come first fill what is remembered of allocations.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from visim.engine.base import RunOptions
from visim.engine.jit.emit.module import ModuleWriter
from visim.engine.jit.writing.versions import ModuleText
from visim.machine.memory import Memory

from . import harness
from .cases import Case, agree, between_gaps, some_channels, start_with

pytestmark = pytest.mark.usefixtures("each_hardware")

LANES, THREADS, SIZE = 32, 6, 4096

ALL = "(0,0)<1;1,0>"
ONE = "(0,0)<0;1,0>"
COUNTER = f"V60{ONE}"
STEP, BOUND, WIDTH, FIRST = (f"V44(0,{number})<0;1,0>" for number in range(4))

DECLARATIONS = f"""
.version 4.1
.kernel "k"
.decl V41 v_type=G type=d num_elts=32 align=wordx32
.decl V40 v_type=G type=uq num_elts=3 align=wordx32
.decl V42 v_type=G type=d num_elts=32 align=wordx32
.decl V43 v_type=G type=ud num_elts=32 align=wordx32
.decl V44 v_type=G type=d num_elts=6 align=wordx32
.decl V50 v_type=G type=d num_elts=32 align=wordx32
.decl V51 v_type=G type=q num_elts=32 align=wordx32
.decl V52 v_type=G type=uq num_elts=32 align=wordx32
.decl V53 v_type=G type=ud num_elts=32 align=wordx32
.decl V54 v_type=G type=ud num_elts=32 align=wordx32
.decl V55 v_type=G type=q num_elts=32 align=wordx32
.decl V56 v_type=G type=uq num_elts=32 align=wordx32
.decl V57 v_type=G type=uq num_elts=32 align=wordx32
.decl V58 v_type=G type=q num_elts=32 align=wordx32
.decl V59 v_type=G type=q num_elts=32 align=wordx32
.decl V63 v_type=G type=q num_elts=1 align=wordx32
.decl V60 v_type=G type=d num_elts=1 align=wordx32
.decl V61 v_type=G type=d num_elts=1 align=wordx32
.decl V62 v_type=G type=q num_elts=1 align=wordx32
.decl V65 v_type=G type=ud num_elts=16 align=wordx32
.decl P1 v_type=P num_elts=32
.decl P2 v_type=P num_elts=32
.input V41 offset=64 size=128
.kernel_attr SimdSize=32
.function "k"
k:
    mov (M1, 32) V43(0,0)<1> 0x0:ud
    mov (M1_NM, 1) V60(0,0)<1> V44(0,3)<0;1,0>
    add (M1, 32) V42(0,0)<1> V41{ALL} V44(0,4)<0;1,0>
    add (M1, 32) V42(0,0)<1> V42{ALL} V60{ONE}
    cmp.ne (M1_NM, 32) P2 V44(0,5)<0;1,0> 0x0:d
    (P2) goto (M1, 1) DONE
"""
ROW = f"""
    mul (M1_NM, 1) V61(0,0)<1> {COUNTER} {WIDTH}
    add (M1, 32) V50(0,0)<1> V41{ALL} V61{ONE}
    mov (M1, 32) V51(0,0)<1> V50{ALL}
    shl (M1, 32) V58(0,0)<1> V51{ALL} 0x2:q
    add (M1, 32) V52(0,0)<1> V58{ALL} V40(0,{{}})<0;1,0>"""
"""Makes the addresses of a row, in one of the arrays, that is further on in each turn."""
BODIES = {
    "rows at a distance": f"""{ROW.format(0)}
    lsc_load.ugm (M1, 32)  V53:d32  flat[V52]:a64
    mad (M1, 32) V43(0,0)<1> V43{ALL} 0x1f:ud V53{ALL}""",
    "one element and rows": f"""
    add (M1, 32) V50(0,0)<1> V41{ALL} {COUNTER}
    mov (M1, 32) V51(0,0)<1> V50{ALL}
    shl (M1, 32) V58(0,0)<1> V51{ALL} 0x2:q
    add (M1, 32) V52(0,0)<1> V58{ALL} V40(0,0)<0;1,0>
    lsc_load.ugm (M1, 32)  V53:d32  flat[V52]:a64
    mov (M1_NM, 1) V62(0,0)<1> {COUNTER}
    shl (M1_NM, 1) V63(0,0)<1> V62{ONE} 0x2:q
    add (M1, 32) V57(0,0)<1> V63{ONE} V40(0,1)<0;1,0>
    lsc_load.ugm (M1, 32)  V54:d32  flat[V57]:a64
    mul (M1, 32) V53(0,0)<1> V53{ALL} V54{ALL}
    add (M1, 32) V43(0,0)<1> V43{ALL} V53{ALL}""",
    "rows that are stored": f"""{ROW.format(1)}
    lsc_load.ugm (M1, 32)  V53:d32  flat[V52]:a64
    add (M1, 32) V43(0,0)<1> V43{ALL} V53{ALL}
    lsc_store.ugm (M1, 32)  flat[V52]:a64  V43:d32""",
    "a block, and a row of local memory": f"""
    mov (M1_NM, 1) V62(0,0)<1> {COUNTER}
    shl (M1_NM, 1) V63(0,0)<1> V62{ONE} 0x2:q
    add (M1_NM, 1) V62(0,0)<1> V63{ONE} V40(0,0)<0;1,0>
    lsc_load.ugm (M1_NM, 1)  V65:d32x4t  flat[V62]:a64
    add (M1, 32) V50(0,0)<1> V41{ALL} {COUNTER}
    shl (M1, 32) V54(0,0)<1> V50{ALL} 0x2:d
    lsc_load.slm (M1, 32)  V53:d32  flat[V54]:a32
    add3 (M1, 32) V43(0,0)<1> V43{ALL} V65(0,2)<0;1,0> V53{ALL}
    lsc_store.slm (M1, 32)  flat[V54]:a32  V43:d32""",
}
ENDS = {
    "at the end": """
    add (M1_NM, 1) V60(0,0)<1> {counter} {step}:w
    cmp.{test} (M1_NM, 32) P1 {counter} {bound}
    (P1) goto (M1, 1) LOOP""",
    "in the middle": """
    cmp.{test} (M1_NM, 32) P1 {counter} {bound}
    (!P1) goto (M1, 1) DONE
    add (M1_NM, 1) V60(0,0)<1> {counter} {step}:w
    goto (M1, 1) LOOP""",
    "for each channel": """
    add (M1, 32) V42(0,0)<1> V42(0,0)<1;1,0> {step}:w
    add (M1_NM, 1) V60(0,0)<1> {counter} {step}:w
    cmp.{test} (M1, 32) P1 V42(0,0)<1;1,0> {bound}
    (P1) goto (M1, 32) LOOP""",
    "for each channel in the middle": """
    add (M1, 32) V42(0,0)<1> V42(0,0)<1;1,0> {step}:w
    cmp.{test} (M1, 32) P1 V42(0,0)<1;1,0> {bound}
    (!P1) goto (M1, 32) DONE
    add (M1_NM, 1) V60(0,0)<1> {counter} {step}:w
    goto (M1, 1) LOOP""",
}
"""Where channels leave, all of them or each by itself."""
TESTS = {"lt": (1, 3), "le": (1, 4), "gt": (-1, -2), "ge": (-1,), "ne": (1, -1)}
"""Comparisons with which channels go on, and what turns add."""


def whole_kernel(
    body: str = "rows at a distance", test: str = "lt", step: int = 1, end: str = "at the end"
) -> str:
    """Return a kernel with a foreseen loop of these kinds."""
    leaves = ENDS[end].format(test=test, step=step, counter=COUNTER, bound=BOUND)
    return f"""{DECLARATIONS.strip()}
LOOP:{BODIES[body]}{leaves}
DONE:
    add (M1, 32) V43(0,0)<1> V43{ALL} {COUNTER}
    add (M1, 32) V50(0,0)<1> V41{ALL} V44(0,4)<0;1,0>
    mov (M1, 32) V55(0,0)<1> V50{ALL}
    shl (M1, 32) V59(0,0)<1> V55{ALL} 0x2:q
    add (M1, 32) V56(0,0)<1> V59{ALL} V40(0,2)<0;1,0>
    lsc_store.ugm (M1, 32)  flat[V56]:a64  V43:d32
    ret (M1, 1)
"""


class Loops(Case):
    """What a seed makes: how many turns there are, which way, and where rows are."""

    def __init__(self, kernel: harness.Kernel, seed: str, step: int, *, faults: bool) -> None:
        rng = random.Random(seed)
        fixed = np.frombuffer(rng.randbytes(4 * SIZE), np.uint32)
        changed, ends = between_gaps(fixed), np.zeros(LANES, np.uint32)
        self.memory, self.changed = Memory(), (changed, ends)
        arrays = [(between_gaps(fixed), "fixed"), (changed, "changed"), (ends, "ends")]
        bases = np.array([self.memory.add(*one) for one in arrays], np.uint64)
        starts: list[harness.ThreadStart] = []
        for number in range(THREADS):
            turns = rng.choice([1, 2, 7, 11, 12, 13, 33, 70])
            width = rng.choice([0, 1, 32, 47])
            begin = rng.choice([0, 3]) + (abs(step) * turns if step < 0 else 0)
            row = rng.randrange(16)
            if number == THREADS - 1 and faults:  # some turn leaves memory
                row = rng.choice([-1 - LANES, SIZE - 40, 1 << 28, (1 << 31) - 10])
                turns, width = 70, 47
            registers = {
                "V40": bases,
                "V41": np.arange(row, row + LANES).astype(np.int32),
                "V44": np.array([0, begin + step * turns, width, begin, -row, 0], np.int32),
            }
            starts.append(start_with(kernel, registers, some_channels(kernel, rng)))
        self.group = harness.GroupsAlike(tuple(starts), slm_bytes=4 * SIZE)


@pytest.fixture(autouse=True)
def texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts of the modules that a test has made."""
    made, write = list[str](), ModuleWriter.write

    def kept(self: ModuleWriter) -> ModuleText:
        found = write(self)
        made.append(found.text)
        return found

    monkeypatch.setattr(ModuleWriter, "write", kept)
    return made


def is_foreseen(texts: list[str]) -> bool:
    """Whether a loop has been written twice."""
    return any("foreseen" in text for text in texts)


def _agree(text: str, step: int = 1, options: RunOptions | None = None) -> set[bool]:
    kernel = harness.assemble(text, "pvc")
    made = [
        Loops(kernel, f"{text} {number}", step, faults=faults)
        for faults in (False, True)
        for number in range(3)
    ]
    return agree(kernel, made, options)


@pytest.mark.parametrize("body", BODIES)
def test_messages_of_all_kinds_do_what_they_do_one_by_one(body: str, texts: list[str]) -> None:
    assert _agree(whole_kernel(body)) == {False, True}
    assert is_foreseen(texts)


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("end", ENDS)
def test_channels_leave_together_or_each_by_itself(end: str, body: str, texts: list[str]) -> None:
    assert False in _agree(whole_kernel(body, end=end))
    assert is_foreseen(texts)


@pytest.mark.parametrize(
    ("test", "step"), [(test, step) for test, steps in TESTS.items() for step in steps]
)
def test_turns_are_counted_as_the_loop_counts(test: str, step: int, texts: list[str]) -> None:
    assert False in _agree(whole_kernel("one element and rows", test, step), step)
    assert is_foreseen(texts)


@pytest.mark.parametrize(("test", "step"), [("lt", -1), ("gt", 1), ("ne", 2), ("eq", 1)])
def test_a_loop_that_counts_away_from_its_end_ends_where_it_does(
    test: str, step: int, texts: list[str]
) -> None:
    assert False in _agree(whole_kernel("one element and rows", test, step), step)
    assert is_foreseen(texts)


def test_a_budget_ends_at_the_same_instruction(texts: list[str]) -> None:
    for budget in (50, 333, 2000):
        _agree(whole_kernel(), options=RunOptions(budget=budget))
    assert not is_foreseen(texts)


def test_a_counter_that_something_else_writes_is_not_foreseen(texts: list[str]) -> None:
    text, adds = whole_kernel(), f"    add (M1_NM, 1) V60(0,0)<1> {COUNTER} 1:w"
    other = text.replace(adds, f"    shl (M1_NM, 1) V60(0,0)<1> {COUNTER} 0x1:d\n{adds}")
    assert other != text
    assert False in _agree(other)
    assert not is_foreseen(texts)


def test_products_of_two_counters_are_not_foreseen(texts: list[str]) -> None:
    text = whole_kernel()
    square = text.replace(f"{COUNTER} {WIDTH}", f"{COUNTER} {COUNTER}")
    assert square != text
    assert False in _agree(square)
    assert not is_foreseen(texts)


def test_addresses_that_data_make_stay_checked(texts: list[str]) -> None:
    text = whole_kernel("one element and rows")
    mixed = text.replace(
        f"    mov (M1_NM, 1) V62(0,0)<1> {COUNTER}\n",
        "    and (M1_NM, 1) V62(0,0)<1> V53(0,0)<0;1,0> 0xfff:ud\n",
    )
    assert mixed != text
    assert _agree(mixed) == {False, True}
    assert is_foreseen(texts)


def test_loops_of_many_instructions_for_a_message_are_written_once(texts: list[str]) -> None:
    line = f"    xor (M1, 32) V43(0,0)<1> V43{ALL} V53{ALL}\n"
    _agree(whole_kernel().replace("    add (M1_NM, 1) V60", 40 * line + "    add (M1_NM, 1) V60"))
    assert not is_foreseen(texts)


class ChosenWidths(Case):
    """Threads of 100 turns that differ in what they have for `WIDTH`."""

    def __init__(self, kernel: harness.Kernel, widths: Sequence[int]) -> None:
        fixed = np.arange(SIZE, dtype=np.uint32)
        changed, ends = between_gaps(fixed), np.zeros(LANES, np.uint32)
        self.memory, self.changed = Memory(), (changed, ends)
        arrays = [(fixed, "fixed"), (changed, "changed"), (ends, "ends")]
        bases = np.array([self.memory.add(*one) for one in arrays], np.uint64)
        row = np.arange(LANES, dtype=np.int32)
        starts = [
            start_with(
                kernel,
                {"V40": bases, "V41": row, "V44": np.array([0, 100, width, 0, 0, 0], np.int32)},
                (1 << LANES) - 1,
            )
            for width in widths
        ]
        self.group = harness.GroupsAlike(tuple(starts), slm_bytes=4 * SIZE)


def _with_index(lines: str, declarations: str, before: str = "") -> str:
    """Return the loop of one element and rows; `lines` make the element's index, V62."""
    text = whole_kernel("one element and rows")
    found = text.replace(f"    mov (M1_NM, 1) V62(0,0)<1> {COUNTER}\n", lines)
    return found.replace(".decl V65", f"{declarations}\n.decl V65").replace("k:\n", f"k:\n{before}")


def test_numbers_that_are_written_as_two_halves_are_not_foreseen(texts: list[str]) -> None:
    halves = ".decl V90 v_type=G type=d num_elts=2 align=wordx32 alias=<V62,0>"
    kernel = harness.assemble(
        _with_index(f"    mov (M1_NM, 2) V90(0,0)<1> {WIDTH}\n", halves), "pvc"
    )
    assert agree(kernel, [ChosenWidths(kernel, [0, 0, 1])]) == {True}
    assert is_foreseen(texts)


@pytest.mark.parametrize("word", ["min", "max"])
def test_numbers_without_a_sign_are_compared_with_signed_ones(word: str, texts: list[str]) -> None:
    large = ".decl V91 v_type=G type=uq num_elts=1 align=wordx32"
    index = f"""    mov (M1_NM, 1) V62(0,0)<1> {WIDTH}
    {word} (M1_NM, 1) V62(0,0)<1> V91{ONE} V62{ONE}
"""
    text = _with_index(index, large, f"    add (M1_NM, 1) V91(0,0)<1> {WIDTH} -4:q\n")
    kernel = harness.assemble(text, "pvc")
    assert agree(kernel, [ChosenWidths(kernel, [5, 5, 3])]) == {word == "max"}
    assert is_foreseen(texts)
