"""Loads that come before the products in front of them give what they give in their turn."""

from __future__ import annotations

import numpy as np
import pytest

import visim.engine.jit as jit
from visim.engine.base import Machine, RunOptions
from visim.engine.jit.launch import code
from visim.engine.jit.writing import strips
from visim.machine.memory import Memory
from visim.machine.surfaces import Surfaces
from visim.sem.effects import Load

from . import harness

SUMS, TURNS, LOADS, ELEMENTS = 8, 3, 3, 1024


def product_kernel(between: str) -> str:
    """A loop that loads four elements for each channel, and adds their products to sums, thrice.

    Row `n` begins where V41 says. The lanes' numbers come from V42, an input whose rows the launch
    knows. `between` is what else happens in front of the last load.
    """
    lines = [
        ".version 4.1",
        '.kernel "k"',
        ".decl V40 v_type=G type=uq num_elts=2 align=wordx32",
        f".decl V41 v_type=G type=uq num_elts={LOADS} align=wordx32",
        ".decl V42 v_type=G type=uw num_elts=32 align=wordx32",
        ".decl V43 v_type=G type=d num_elts=1 align=wordx32",
        ".decl V44 v_type=G type=uq num_elts=32 align=wordx32",
        ".decl V45 v_type=G type=uq num_elts=32 align=wordx32",
        ".decl V46 v_type=G type=uq num_elts=32 align=wordx32",
        ".decl P1 v_type=P num_elts=32",
        ".decl P2 v_type=P num_elts=32",
    ]
    lines += [
        f".decl V{first + n} v_type=G type={kind} num_elts={count} align=wordx32"
        for first, kind, count, number in (
            (50, "d", 32, SUMS),
            (60, "d", 128, LOADS),
            (70, "uq", 32, LOADS),
            (80, "uq", 32, SUMS),
        )
        for n in range(number)
    ]
    lines += [".input V42 offset=64 size=64", ".kernel_attr SimdSize=32", '.function "k"', "k:"]
    lines += [
        "    mov (M1_NM, 1) V43(0,0)<1> 0x0:d",
        "    mov (M1, 32) V44(0,0)<1> V42(0,0)<1;1,0>",
        "    shl (M1, 32) V45(0,0)<1> V44(0,0)<1;1,0> 0x4:uq",
        "L1:",
    ]
    for load in range(LOADS):
        lines += [between] if load == LOADS - 1 else []
        lines += [
            f"    add (M1, 32) V{70 + load}(0,0)<1> V45(0,0)<1;1,0> V41(0,{load})<0;1,0>",
            f"    lsc_load.ugm (M1, 32)  V{60 + load}:d32x4  flat[V{70 + load}]:a64",
            f"    cmp.gt (M1, 32) P1 V50(0,0)<1;1,0> V{60 + load}(0,0)<1;1,0>",
        ]
        lines += [
            f"    {'(P1) ' if n == 5 else ''}mad (M1, 32) V{50 + n}(0,0)<1> "
            f"V{60 + load}({2 * (n % 4)},0)<1;1,0> V{60 + load}({2 * (n // 4)},0)<1;1,0> "
            f"V{50 + n}(0,0)<1;1,0>"
            for n in range(SUMS)
        ]
    lines += [
        "    add (M1_NM, 1) V43(0,0)<1> V43(0,0)<0;1,0> 0x1:d",
        f"    cmp.lt (M1_NM, 32) P2 V43(0,0)<0;1,0> {TURNS:#x}:d",
        "    (P2) goto (M1, 32) L1",
        "    shl (M1, 32) V46(0,0)<1> V44(0,0)<1;1,0> 0x2:uq",
        "    add (M1, 32) V46(0,0)<1> V46(0,0)<1;1,0> V40(0,0)<0;1,0>",
    ]
    for n in range(SUMS):
        lines += [
            f"    add (M1, 32) V{80 + n}(0,0)<1> V46(0,0)<1;1,0> {128 * n:#x}:uq",
            f"    lsc_store.ugm (M1, 32)  flat[V{80 + n}]:a64  V{50 + n}:d32",
        ]
    return "\n".join([*lines, "    ret (M1, 1)", ""])


STORES = "\n".join(
    [
        "    shl (M1, 32) V80(0,0)<1> V44(0,0)<1;1,0> 0x4:uq",
        f"    add (M1, 32) V80(0,0)<1> V80(0,0)<1;1,0> V41(0,{LOADS - 1})<0;1,0>",
        "    lsc_store.ugm (M1, 32)  flat[V80]:a64  V51:d32",
    ]
)
"""What the last load loads is what the sums are in front of it."""

REWRITES = "    add (M1, 32) V45(0,0)<1> V45(0,0)<1;1,0> 0x10:uq"
"""Rows begin elsewhere from here on; what came before read where they began."""

REPLACES = "    mov (M1, 32) V60(2,0)<1> V52(0,0)<1;1,0>"
"""What has been loaded is replaced by a sum."""


@pytest.fixture(autouse=True)
def _strips_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISIM_CACHE_DIR", "")
    monkeypatch.setattr(code, "vector_lanes", lambda: 8)
    names = ("LEAST_STEPS", "STEPS_A_ROW", "STEPS_A_ROW_IN_PLACE", "REGISTERS")
    for name, value in zip(names, (1, 0, 0, 4), strict=True):
        monkeypatch.setattr(strips, name, value)


def leading_loads(loop: strips.StripWriter) -> int:
    """Return how many loads come first in a loop over strips."""
    run = loop.run
    steps = [step for step, number in run.numbered() if number in run.leading]
    return sum(isinstance(effect, Load) for step in steps for effect in step.effects)


@pytest.mark.parametrize("wrong", [None, 0, LOADS - 1])
@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0x8001F00F])
@pytest.mark.parametrize(
    ("between", "leading"), [("", LOADS), (REWRITES, LOADS), (REPLACES, LOADS), (STORES, LOADS - 1)]
)
def test_results_faults_and_counts_are_those_of_the_interpreter(
    monkeypatch: pytest.MonkeyPatch, between: str, leading: int, mask: int, wrong: int | None
) -> None:
    loops: list[strips.StripWriter] = []
    write = strips.StripWriter.write

    def noted(self: strips.StripWriter) -> None:
        loops.append(self)
        write(self)

    monkeypatch.setattr(strips.StripWriter, "write", noted)
    kernel = harness.assemble(product_kernel(between), "pvc")
    given, out = np.arange(ELEMENTS, dtype=np.int32) * 7919, np.zeros(32 * SUMS, np.int32)
    data, memory = given.copy(), Memory()
    bases = [memory.add(out, "out"), memory.add(data, "data")]
    starts = [bases[1] + 1024 * load for load in range(LOADS)]
    if wrong is not None:
        starts[wrong] = bases[1] + 4 * ELEMENTS - 64
    values = {
        "V40": np.array(bases, np.uint64),
        "V41": np.array(starts, np.uint64),
        "V42": np.arange(32, dtype=np.uint16),
    }
    values |= {f"V{50 + n}": np.arange(32, dtype=np.int32) * n for n in range(SUMS)}
    registers = tuple((kernel.place(name), array.tobytes()) for name, array in values.items())
    group = harness.GroupsAlike((harness.ThreadStart(registers, mask),))
    found: list[tuple[object, int, bytes, bytes]] = []
    for engine in (kernel.prepared, jit.Prepared(kernel.linked)):
        out[:], data[:] = -1, given
        ended = engine.run([0], group, Machine(memory, Surfaces()), RunOptions())
        found.append((ended.fault, ended.executed, out.tobytes(), data.tobytes()))
    assert found[0] == found[1]
    assert (found[0][0] is None) == (wrong is None)
    assert max(leading_loads(loop) for loop in loops) == leading
