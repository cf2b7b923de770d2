"""Foreseen loops whose steps are known only when they run: positive, zero, negative, enormous.

What is a step for one thread makes another one's addresses leave memory, or wrap around.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from numpy.typing import NDArray

from visim.engine.base import RunOptions
from visim.engine.jit.emit.module import ModuleWriter
from visim.engine.jit.writing.versions import ModuleText
from visim.machine.memory import Memory

from . import harness
from .cases import Case, agree, between_gaps, some_channels, start_with
from .test_jit_foreseen import BODIES, BOUND, COUNTER, FIRST, LANES, SIZE, whole_kernel

pytestmark = pytest.mark.usefixtures("each_hardware")

THREADS = 5
STRIDE, OTHER = "V66(0,0)<0;1,0>", "V67(0,0)<0;1,0>"
LIMIT = 4000
"""Threads that execute more instructions are taken for endless."""

KINDS = {"d": np.int32, "ud": np.uint32, "w": np.int16, "q": np.int64}
ADDS = {
    "plus": f"    add (M1_NM, 1) V60(0,0)<1> {COUNTER} {STRIDE}",
    "minus": f"    add (M1_NM, 1) V60(0,0)<1> {COUNTER} (-){STRIDE}",
    "twice": f"    add3 (M1_NM, 1) V60(0,0)<1> {COUNTER} {STRIDE} {OTHER}",
    "a multiple": f"    mad (M1_NM, 1) V60(0,0)<1> {STRIDE} {OTHER} {COUNTER}",
}
"""What a turn adds to the counter of addresses."""
ENDS = {
    "the counter itself": f"""
{{adds}}
    cmp.{{test}} (M1_NM, 32) P1 {COUNTER} {BOUND}
    (P1) goto (M1, 1) LOOP""",
    "another counter": f"""
{{adds}}
    add (M1_NM, 1) V68(0,0)<1> V68(0,0)<0;1,0> {OTHER}
    cmp.{{test}} (M1_NM, 32) P1 V68(0,0)<0;1,0> {BOUND}
    (P1) goto (M1, 1) LOOP""",
    "two counters": f"""
{{adds}}
    add (M1_NM, 1) V68(0,0)<1> V68(0,0)<0;1,0> (-){OTHER}
    cmp.{{test}} (M1_NM, 32) P1 {COUNTER} V68(0,0)<0;1,0>
    (!P1) goto (M1, 1) DONE
    goto (M1, 1) LOOP""",
    "for each channel": f"""
    add (M1, 32) V42(0,0)<1> V42(0,0)<1;1,0> {OTHER}
{{adds}}
    cmp.{{test}} (M1, 32) P1 V42(0,0)<1;1,0> {BOUND}
    (P1) goto (M1, 32) LOOP""",
    "for each channel in the middle": f"""
    add (M1, 32) V42(0,0)<1> V42(0,0)<1;1,0> {OTHER}
    cmp.{{test}} (M1, 32) P1 V42(0,0)<1;1,0> {BOUND}
    (!P1) goto (M1, 32) DONE
{{adds}}
    goto (M1, 1) LOOP""",
    "two comparisons": f"""
{{adds}}
    add (M1_NM, 1) V68(0,0)<1> V68(0,0)<0;1,0> {OTHER}
    cmp.{{test}} (M1_NM, 32) P1 V68(0,0)<0;1,0> {BOUND}
    cmp.ne (M1_NM, 32) P3 V68(0,0)<0;1,0> 0x3ffffff:d
    and (M1_NM, 32) P1 P1 P3
    (P1) goto (M1, 1) LOOP""",
}
"""Where channels leave; the last one is no comparison of two numbers."""


def strided(body: str, end: str, adds: str = "plus", test: str = "lt", kind: str = "d") -> str:
    """Return a kernel whose loop has run-time steps of some type."""
    leaves = ENDS[end].format(adds=ADDS[adds], test=test)
    text = whole_kernel(body)
    old = text[text.index(f"    add (M1_NM, 1) V60(0,0)<1> {COUNTER} 1:w") : text.index("DONE:")]
    declarations = f"""
.decl V66 v_type=G type={kind} num_elts=1 align=wordx32
.decl V67 v_type=G type=d num_elts=1 align=wordx32
.decl V68 v_type=G type=d num_elts=1 align=wordx32
.decl P3 v_type=P num_elts=32"""
    text = text.replace(old, leaves.lstrip("\n") + "\n")
    text = text.replace("\n.decl P1", f"{declarations}\n.decl P1")
    begins = BOUND if end == "two counters" else FIRST
    return text.replace("\nLOOP:", f"\n    mov (M1_NM, 1) V68(0,0)<1> {begins}\nLOOP:")


class Strides(Case):
    """What a seed makes of a kernel: steps, bounds, widths, places of rows."""

    def __init__(
        self, kernel: harness.Kernel, rng: random.Random, kind: str, *, wild: bool
    ) -> None:
        fixed = np.frombuffer(rng.randbytes(4 * SIZE), np.uint32)
        changed, ends = between_gaps(fixed), np.zeros(LANES, np.uint32)
        self.memory, self.changed = Memory(), (changed, ends)
        arrays = [(between_gaps(fixed), "fixed"), (changed, "changed"), (ends, "ends")]
        bases = np.array([self.memory.add(*one) for one in arrays], np.uint64)
        starts = list[harness.ThreadStart]()
        for number in range(THREADS):
            stride, other = rng.choice([1, 1, 2, 3, 7]), rng.choice([1, 1, 2, 5])
            turns, first, row = rng.choice([2, 11, 12, 13, 40, 70]), rng.choice([0, 3]), 0
            width = rng.choice([0, 1, 32, 5])
            bound = first + turns * other
            far = (abs(stride) * abs(other) + 1) * turns
            width = width if width * far < SIZE - 2 * LANES else 1
            if wild and rng.random() < 0.3:
                row = (
                    SIZE - LANES - rng.choice([0, 1, stride * (turns - 1), stride * width * turns])
                )
            if number >= 2 and wild:
                ends_of = [0, -1, -2, -other, 1 << 30, (1 << 31) - 1, -(1 << 31), 1 << 28]
                stride = rng.choice([*ends_of, stride, -stride])
                other = rng.choice([1, 1, -1, 0, 1 << 29, other])
                first = rng.choice([0, 300, (1 << 31) - 20, first])
                bound = rng.choice([bound, -5, (1 << 31) - 1, 0])
            registers = {
                "V40": bases,
                "V41": np.arange(row, row + LANES).astype(np.int32),
                "V44": np.array([0, bound, width, first, -row, 0], np.int64).astype(np.int32),
                "V66": np.array([stride], np.int64).astype(KINDS[kind]),
                "V67": np.array([other], np.int32),
                **self.more(rng),
            }
            channels = (1 << LANES) - 1 if rng.random() < 0.7 else some_channels(kernel, rng)
            starts.append(start_with(kernel, registers, channels))
        self.group = harness.GroupsAlike(tuple(starts), slm_bytes=4 * SIZE)

    def more(self, rng: random.Random) -> dict[str, NDArray[np.int32]]:
        """Return what else a thread has in registers."""
        return {}


def compare(
    text: str, seed: str, kind: str = "d", least: int = 4, case_of: type[Strides] = Strides
) -> set[bool]:
    """Compare both engines where threads end; return whether some had faults, and some none."""
    kernel, rng = harness.assemble(text, "pvc"), random.Random(seed)
    found = list[Case]()
    while len(found) < least:
        case = case_of(kernel, rng, kind, wild=len(found) > 0)
        ended, _ = case.run(kernel.prepared, RunOptions(budget=LIMIT))
        if ended.fault is None or ended.fault.code != "instruction-budget":
            found.append(case)
    return agree(kernel, found)


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


def _is_foreseen(texts: list[str]) -> bool:
    return any("foreseen" in text for text in texts)


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("end", ENDS)
def test_steps_are_what_a_thread_has(end: str, body: str, texts: list[str]) -> None:
    assert False in compare(strided(body, end), f"{end} {body}")
    assert _is_foreseen(texts)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("adds", ADDS)
def test_steps_are_of_all_types_and_added_in_all_ways(
    adds: str, kind: str, texts: list[str]
) -> None:
    body = "rows that are stored"
    compare(strided(body, "another counter", adds, kind=kind), f"{adds} {kind}")
    assert _is_foreseen(texts)


@pytest.mark.parametrize("test", ["lt", "le", "gt", "ge", "ne"])
@pytest.mark.parametrize("end", ["the counter itself", "for each channel"])
def test_comparisons_of_all_kinds_count_turns(end: str, test: str, texts: list[str]) -> None:
    compare(strided("one element and rows", end, test=test), f"{end} {test}")
    assert _is_foreseen(texts)


@pytest.mark.parametrize(
    "line",
    ["add (M1_NM, 1) V66(0,0)<1> {0} 1:w", "mov (M1_NM, 1) V66(0,0)<1> V53(0,1)<0;1,0>"],
)
def test_steps_that_change_are_not_foreseen(line: str, texts: list[str]) -> None:
    text = strided("rows at a distance", "another counter")
    changing = text.replace("LOOP:", f"LOOP:\n    {line.format(STRIDE)}")
    compare(changing, line)
    assert not _is_foreseen(texts)


def test_steps_that_each_channel_has_for_itself_count_no_turns(texts: list[str]) -> None:
    text = strided("rows at a distance", "for each channel")
    own = text.replace(f"V42(0,0)<1;1,0> {OTHER}", "V42(0,0)<1;1,0> V41(0,0)<1;1,0>")
    assert own != text
    compare(own, "own")
    assert _is_foreseen(texts)


def test_turns_that_data_end_are_not_foreseen(texts: list[str]) -> None:
    text = strided("rows at a distance", "another counter")
    data = text.replace(f"P1 V68(0,0)<0;1,0> {BOUND}", f"P1 V53(0,1)<0;1,0> {BOUND}")
    assert data != text
    compare(data, "data", least=2)
    assert not _is_foreseen(texts)
