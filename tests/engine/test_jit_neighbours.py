"""Loads whose lanes are near to one another, in any order, get what each of them asks for.

Indices are quotients, resampled places, permutations of a few elements, and now and then far
apart; they begin and end where arrays do, wrap, and are out of range in some lane.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from numpy.typing import NDArray

from visim.engine.jit.emit.module import ModuleWriter
from visim.engine.jit.writing.versions import Version
from visim.machine.memory import Memory

from . import harness
from .cases import Case, agree, between_gaps, some_channels, start_with

LANES = 32
BYTES = 1 << 10
CASES = 60

ALL = "(0,0)<1;1,0>"
LOADS = {"d32": (4, 4), "d32x2": (4, 8), "d64": (8, 8)}
"""How channels load: by how many bytes indices count, how many bytes one loads."""
SHIFTS = {4: 2, 8: 3}
WIDEN = {"signed": "V41", "unsigned": "V42"}


def text(load: str, widen: str = "signed", *, shifted: bool = True) -> str:
    """Return a kernel that loads at indices, and stores what it has found in rows.

    Unless `shifted`, indices are numbers of bytes.
    """
    scale, size = LOADS[load]
    shift = f"shl (M1, 32) V51(0,0)<1> V51{ALL} 0x{SHIFTS[scale] if shifted else 0:x}:q"
    parts = size // 4
    return f"""
.version 4.1
.kernel "k"
.decl V40 v_type=G type=uq num_elts=2 align=wordx32
.decl V41 v_type=G type=d num_elts=32 align=wordx32
.decl V42 v_type=G type=ud num_elts=32 align=wordx32 alias=<V41, 0>
.decl V50 v_type=G type=q num_elts=32 align=wordx32
.decl V51 v_type=G type=q num_elts=32 align=wordx32
.decl V52 v_type=G type=uq num_elts=32 align=wordx32
.decl V53 v_type=G type=ud num_elts=64 align=wordx32
.decl V54 v_type=G type=uq num_elts=32 align=wordx32
.decl V55 v_type=G type=d num_elts=32 align=wordx32
.kernel_attr SimdSize=32
.function "k"
k:
    mov (M1, 32) V51(0,0)<1> {WIDEN[widen]}{ALL}
    {shift}
    add (M1, 32) V52(0,0)<1> V51{ALL} V40(0,0)<0;1,0>
    lsc_load.ugm (M1, 32)  V53:{load}  flat[V52]:a64
    mov (M1, 32) V50(0,0)<1> V55{ALL}
    mul (M1, 32) V54(0,0)<1> V50{ALL} 0x{4 * parts:x}:q
    add (M1, 32) V54(0,0)<1> V54{ALL} V40(0,1)<0;1,0>
    lsc_store.ugm (M1, 32)  flat[V54]:a64  V53:{load}
    ret (M1, 1)
"""


def _near(rng: random.Random, count: int) -> NDArray[np.int64]:
    """Return indices of lanes into an array of `count` elements, mostly near to one another."""
    run = np.arange(LANES)
    match rng.randrange(7):
        case 0:
            found = run // rng.randrange(1, 40)
        case 1:
            found = (run * rng.uniform(0.1, 2.1)).astype(np.int64)
        case 2:
            found = np.array([rng.randrange(32) for _ in run])
        case 3:
            found = np.repeat([rng.randrange(count) for _ in range(2)], 16) + run % 16
        case 4:
            found = np.array([rng.randrange(rng.choice([30, 34, 36])) for _ in run])
            found[[0, 15, 16, 31]] = 0
        case 5:
            found = run[::-1] % rng.randrange(1, 33)
        case _:
            found = np.array([rng.randrange(count) for _ in run])
    first = rng.choice([0, 0, count - 1 - int(found.max()), rng.randrange(count)])
    return found + max(first, 0)


class Near(Case):
    """What a seed makes: an array, indices, and where what was loaded is stored."""

    def __init__(
        self, kernel: harness.Kernel, seed: str, load: str, *, widen: str, shifted: bool
    ) -> None:
        rng = random.Random(seed)
        scale, size = LOADS[load]
        few = rng.choice([48, 33, 200, 1024])
        data = np.array([rng.getrandbits(8) for _ in range(scale * few)], np.uint8)
        out = np.zeros(LANES * size, np.uint8)
        self.memory, self.changed = Memory(), (out,)
        base = self.memory.add(between_gaps(data)[:], "data")
        indices = np.minimum(_near(rng, few), few - 1 - (size > scale))
        match rng.randrange(8):
            case 0:
                indices[rng.randrange(LANES)] += rng.choice([few, 1 << 29, -(1 << 20)])
            case 1 | 2:
                indices += rng.choice([-3, -1, 1, 5])
            case _:
                pass
        offset = 0
        if not rng.randrange(3):  # The array stands where indices wrap, or where they are negative.
            offset = rng.choice([0x7FFFFFF0, 0xFFFFFFF0, 0x80000000])
        if not shifted:
            indices *= scale
            if not rng.randrange(6):
                indices[rng.randrange(LANES)] += 1
        wrapped = (indices + offset).astype(np.uint64).astype(np.uint32)
        unit = scale if shifted else 1
        own = offset if widen == "unsigned" else (offset + (1 << 31)) % (1 << 32) - (1 << 31)
        bases = [(base - unit * own) % (1 << 64), self.memory.add(out, "out")]
        registers = {
            "V40": np.array(bases, np.uint64),
            "V41": wrapped,
            "V55": np.arange(LANES, dtype=np.int32),
        }
        mask = rng.choice([0xFFFFFFFF, 0xFFFFFFFF, some_channels(kernel, rng)])
        # The second thread knows where the array is, and reaches it directly.
        first = registers | {"V41": np.full(LANES, offset, np.uint32)}
        self.group = harness.Group(
            (start_with(kernel, first, mask), start_with(kernel, registers, mask))
        )


@pytest.mark.parametrize("shifted", [True, False])
@pytest.mark.parametrize("widen", WIDEN)
@pytest.mark.parametrize("load", LOADS)
def test_lanes_get_what_their_own_indices_say(load: str, widen: str, shifted: bool) -> None:
    kernel = harness.assemble(text(load, widen, shifted=shifted), "pvc")
    cases = [
        Near(kernel, f"{load} {widen} {number}", load, widen=widen, shifted=shifted)
        for number in range(CASES)
    ]
    assert agree(kernel, cases) == {False, True}


@pytest.mark.parametrize(("widen", "offset"), [("signed", 0x7FFFFFF0), ("unsigned", 0xFFFFFFF0)])
def test_lanes_whose_indices_wrap_are_not_near(widen: str, offset: int) -> None:
    kernel = harness.assemble(text("d32", widen), "pvc")
    run = np.arange(LANES)
    for indices in (run // 3, 20 * (run % 2), 3 * (run % 8), 15 * (run % 2), run):
        case = Near(kernel, "wraps", "d32", widen=widen, shifted=True)
        data, out = np.arange(64, dtype=np.uint32), np.zeros(LANES, np.uint32)
        case.memory, case.changed = Memory(), (out,)
        base = case.memory.add(between_gaps(data), "data") - 4 * offset
        given = {
            "V40": np.array([base % (1 << 64), case.memory.add(out, "out")], np.uint64),
            "V55": run.astype(np.int32),
        }
        threads = [given | {"V41": (own + offset).astype(np.uint32)} for own in (0 * run, indices)]
        case.group = harness.Group(tuple(start_with(kernel, one, 0xFFFFFFFF) for one in threads))
        assert agree(kernel, [case]) == {indices.max() > 15}


@pytest.mark.parametrize("load", LOADS)
def test_what_may_be_near_is_looked_at(load: str) -> None:
    linked = harness.assemble(text(load), "pvc").linked
    version = Version(full=True, slm_bytes=0, has_mask_registers=True)
    assert "vpermi2var" in ModuleWriter(linked, version).write().text
