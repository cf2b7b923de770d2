"""Messages of the JIT that are checked together do what they do one after another.

Kernels have several loads in rows, what computes their addresses between them, and stores. Where
one of them is out of range, those in front of it have been done, and the fault names it.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from visim.engine import jit
from visim.engine.base import Machine, RunOptions
from visim.machine.memory import Memory
from visim.machine.surfaces import Surfaces

from . import harness
from .cases import Case, agree
from .hardware import HARDWARE, use_hardware

LANES = 32
ELEMENTS = 256
LOADS, STORES = 3, 2
CASES = 30

DECLARATIONS = f"""
.version 4.1
.kernel "k"
.decl V40 v_type=G type=uq num_elts=2 align=wordx32
.decl V41 v_type=G type=d num_elts={LOADS + STORES} align=wordx32
.decl V42 v_type=G type=uw num_elts={LANES} align=wordx32
"""


def whole_kernel(form: str, wide: int, stride: int, shift: int = 2) -> str:
    """Return a kernel whose rows begin at the elements in V41, with `stride` from lane to lane.

    Elements have `1 << shift` bytes, of which a lane may move several.

    The lanes' numbers come from V42, an input whose rows the launch knows.
    """
    lines = DECLARATIONS.strip().splitlines()
    registers = range(50, 50 + LOADS + STORES)
    for kind, first, elements in (
        ("d", 0, LANES),
        ("uq", 10, LANES),
        ("ud", 20, LANES * wide),
        ("d", 30, LANES),
        ("q", 40, LANES),
        ("q", 50, LANES),
    ):
        lines += [
            f".decl V{n + first} v_type=G type={kind} num_elts={elements} align=wordx32"
            for n in registers
        ]
    lines.append(f".input V42 offset=64 size={2 * LANES}")
    lines += [f".kernel_attr SimdSize={LANES}", '.function "k"', "k:"]
    for number, n in enumerate(registers):
        row, base = "(0,0)<1;1,0>", f"V40(0,{int(number >= LOADS)})<0;1,0>"
        lines += [
            f"    mul (M1, 32) V{n}(0,0)<1> V42{row} {stride:#x}:d",
            f"    add (M1, 32) V{n + 30}(0,0)<1> V{n}{row} V41(0,{number})<0;1,0>",
            f"    mov (M1, 32) V{n + 40}(0,0)<1> V{n + 30}{row}",
            f"    shl (M1, 32) V{n + 50}(0,0)<1> V{n + 40}{row} {shift:#x}:q",
            f"    add (M1, 32) V{n + 10}(0,0)<1> V{n + 50}{row} {base}",
        ]
        if number < LOADS:
            lines.append(f"    lsc_load.ugm (M1, 32)  V{n + 20}:{form}  flat[V{n + 10}]:a64")
    for number in range(STORES):
        target, source = 50 + LOADS + number, 70 + number
        for part in range(wide):
            at = f"({2 * part},0)"
            lines.append(
                f"    add (M1, 32) V{target + 20}{at}<1> "
                f"V{source}{at}<1;1,0> V{source + 1}{at}<1;1,0>"
            )
    for number in range(STORES):
        n = 50 + LOADS + number
        lines.append(f"    lsc_store.ugm (M1, 32)  flat[V{n + 10}]:a64  V{n + 20}:{form}")
    return "\n".join([*lines, "    ret (M1, 1)", ""])


class Rows(Case):
    """What a seed makes: where rows begin, mostly in range, and the channels that are on."""

    def __init__(
        self, kernel: harness.Kernel, seed: str, wide: int, stride: int, ids: np.ndarray
    ) -> None:
        rng = random.Random(seed)
        data = np.frombuffer(rng.randbytes(4 * ELEMENTS), np.uint32).copy()
        out = np.zeros_like(data)
        self.memory, self.changed = Memory(), (data, out)
        bases = [self.memory.add(data, "data"), self.memory.add(out, "out")]
        room = ELEMENTS - (LANES - 1) * abs(stride) - wide
        starts = [rng.randrange(room + 1) for _ in range(LOADS + STORES)]
        if stride < 0:
            starts = [start + (LANES - 1) * -stride for start in starts]
        for _ in range(rng.choice([0, 0, 1, 2])):
            beyond = rng.choice([-1, -ELEMENTS, ELEMENTS - LANES // 2, ELEMENTS, 1 << 29])
            starts[rng.randrange(len(starts))] = beyond
        mask = rng.choice([0xFFFFFFFF, 0xFFFFFFFF, rng.getrandbits(LANES) | 1, 0xFFF0, 0x80000000])
        registers = (
            (kernel.place("V40"), np.array(bases, np.uint64).tobytes()),
            (kernel.place("V41"), np.array(starts, np.int32).tobytes()),
            (kernel.place("V42"), ids.tobytes()),
        )
        # The first thread finds out where the arrays are, the second one reaches them directly.
        self.group = harness.GroupsAlike((harness.ThreadStart(registers, mask),) * 2)


FORMS = [
    ("d32", 1, 1),
    ("d32", 1, 0),
    ("d32", 1, -1),
    ("d32x2", 2, 2),
    ("d32x4", 4, 0),
    ("d32x4", 4, 4),
    ("d32", 1, 2),
    ("d32", 1, 3),
    ("d32", 1, -5),
    ("d32x2", 2, 3),
]


@pytest.mark.parametrize("name", HARDWARE)
@pytest.mark.parametrize(("form", "wide", "stride"), FORMS)
def test_lanes_at_equal_distances_are_moved_by_hardware_as_one_by_one(
    form: str, wide: int, stride: int, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_hardware(name, monkeypatch)
    compare(whole_kernel(form, wide, stride), form, wide, stride, 32)


@pytest.mark.parametrize("width", [32, 8])
@pytest.mark.parametrize(("form", "wide", "stride"), FORMS)
def test_joint_messages_do_what_single_ones_do(
    form: str, wide: int, stride: int, width: int
) -> None:
    compare(whole_kernel(form, wide, stride), form, wide, stride, width)


@pytest.mark.parametrize(
    ("form", "wide", "shift"), [("d16u32", 1, 0), ("d32", 1, 1), ("d32", 1, 0), ("d64", 2, 2)]
)
def test_rows_may_have_elements_that_overlap(form: str, wide: int, shift: int) -> None:
    compare(whole_kernel(form, wide, 1, shift), form, wide, 1, LANES)


def compare(text: str, form: str, wide: int, stride: int, width: int) -> None:
    """Run cases of a kernel on both engines, in groups so wide; some of them fault."""
    ids = np.arange(LANES, dtype=np.uint16) % np.uint16(width)
    kernel = harness.assemble(text, "pvc")
    seeds = (f"{form} {stride} {number}" for number in range(CASES))
    cases = [Rows(kernel, seed, wide, stride, ids) for seed in seeds]
    assert agree(kernel, cases) == {False, True}


SURFACES = """.version 4.1
.kernel "k"
.decl V40 v_type=G type=ud num_elts=16 align=wordx32
.decl V41 v_type=G type=ud num_elts=16 align=wordx32
.decl V42 v_type=G type=ud num_elts=16 align=wordx32
.decl V43 v_type=G type=ud num_elts=16 align=wordx32
.decl T6 v_type=T num_elts=1
.kernel_attr SimdSize=16
.function "k"
k:
    mov (M1, 16) V40(0,0)<1> 0x40:ud
    mov (M1, 16) V41(0,0)<1> 0x8:ud
    movs (M1_NM, 1) T6(0) 0x0:ud
    gather4_scaled.R (M1, 16) T6 0x0:ud V40.0 V42.0
    movs (M1_NM, 1) T6(0) 0x1:ud
    gather4_scaled.R (M1, 16) T6 0x0:ud V41.0 V43.0
    add (M1, 16) V43(0,0)<1> V43(0,0)<1;1,0> V42(0,0)<1;1,0>
    movs (M1_NM, 1) T6(0) 0x2:ud
    scatter4_scaled.R (M1, 16) T6 0x0:ud V41.0 V43.0
    ret (M1, 1)
"""


def test_a_load_that_waits_is_from_the_surface_that_was_chosen_for_it() -> None:
    kernel, found = harness.assemble(SURFACES, "tgllp"), list[tuple[int, list[int]]]()
    group = harness.Group((harness.ThreadStart((), 0xFFFF),))
    for engine in (kernel.prepared, jit.Prepared(kernel.linked)):
        surfaces, out = Surfaces(), np.zeros(4, np.uint32)
        small, large = np.full(4, 100, np.uint32), np.full(64, 500, np.uint32)
        for index, memory in enumerate((small, large, out)):
            surfaces.bind(index, memory, f"surface {index}")
        ended = engine.run([0], group, Machine(Memory(), surfaces), RunOptions())
        assert ended.fault is None
        found.append((surfaces.dropped_reads, out.tolist()))
    assert found == [(16, [0, 0, 500, 0])] * 2
