"""Rows of the JIT at known distances from each other are where they would be by themselves.

Kernels compute one row and others at constant distances from it, load all of them in a loop and
store their sum near other rows. Some begin in front of memory or behind it, or where sums wrap.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from visim.engine import jit
from visim.engine.base import Exit, Machine, RunOptions
from visim.machine.memory import Memory
from visim.machine.surfaces import Surfaces

from . import harness

LANES = 32
ELEMENTS = 512
LOADS, STORES = 5, 2
CASES = 60
DISTANCES = (0, 1, -1, 2, 8, 16, -16, 32, 64, 65, -64, 96, 200, 1 << 24, -(1 << 29), (1 << 30) - 7)

DECLARATIONS = f"""
.version 4.1
.kernel "k"
.decl V40 v_type=G type=uq num_elts=2 align=wordx32
.decl V41 v_type=G type=d num_elts=2 align=wordx32
.decl V42 v_type=G type=uw num_elts={LANES} align=wordx32
.decl V43 v_type=G type=d num_elts=1 align=dword
.decl P1 v_type=P num_elts=1
"""


def addresses(space: str, row: int, number: int, distance: int) -> list[str]:
    """Return the lines that compute row `number` of a base row (50 or 51) and a distance."""
    source, found = f"V{row}(0,0)<1;1,0>", f"V{60 + number}(0,0)<1>"
    again, wide = f"V{60 + number}(0,0)<1;1,0>", f"V{80 + number}(0,0)"
    base = f"V40(0,{row - 50})<0;1,0>"
    if space == "slm":
        return [f"    add (M1, 32) {found} {source} {4 * distance & 0xFFFFFFFF:#x}:d"]
    if space == "slm with a tag":
        at = (4 * distance & 0xFFFFFFF) + 0x10000000
        return [f"    add (M1, 32) {found} {source} {at:#x}:d"]
    if space == "index":
        return [
            f"    add (M1, 32) {found} {source} {distance & 0xFFFFFFFF:#x}:d",
            f"    mov (M1, 32) {wide}<1> {again}",
            f"    shl (M1, 32) {wide}<1> {wide}<1;1,0> 0x2:q",
            f"    add (M1, 32) {wide}<1> {wide}<1;1,0> {base}",
        ]
    return [
        f"    mov (M1, 32) {wide}<1> {source}",
        f"    shl (M1, 32) {wide}<1> {wide}<1;1,0> 0x2:q",
        f"    add (M1, 32) {wide}<1> {wide}<1;1,0> {base}",
        f"    add (M1, 32) {wide}<1> {wide}<1;1,0> {4 * distance}:q",
    ]


def kernel_of(space: str, stride: int, distances: list[int], moves: int) -> str:
    """Return a kernel with rows at these distances; `stride` is in elements from lane to lane.

    In each turn of the loop they begin so many elements further on.
    """
    slm, lines = space.startswith("slm"), DECLARATIONS.strip().splitlines()
    for first, count, kind in (
        (50, 2, "d"),
        (60, 7, "d"),
        (70, 7, "d"),
        (80, 7, "q"),
        (90, 1, "q"),
    ):
        lines += [
            f".decl V{n} v_type=G type={kind} num_elts={LANES} align=wordx32"
            for n in range(first, first + count)
        ]
    lines += [f".input V42 offset=64 size={2 * LANES}", f".kernel_attr SimdSize={LANES}"]
    lines += ['.function "k"', "k:"]
    for row in (50, 51):
        lines += [
            f"    mul (M1, 32) V{row}(0,0)<1> V42(0,0)<1;1,0> {stride:#x}:d",
            f"    add (M1, 32) V{row}(0,0)<1> V{row}(0,0)<1;1,0> V41(0,{row - 50})<0;1,0>",
        ]
        if slm:
            lines.append(f"    shl (M1, 32) V{row}(0,0)<1> V{row}(0,0)<1;1,0> 0x2:d")
    rows = [
        line
        for number, distance in enumerate(distances)
        for line in addresses(space, 50 if number < LOADS else 51, number, distance)
    ]
    lines += [] if moves else rows
    where = "slm (M1, 32)" if slm else "ugm (M1, 32)"

    def place(number: int) -> str:
        return f"flat[V{60 + number}]:a32" if slm else f"flat[V{80 + number}]:a64"

    lines += [
        "    mov (M1, 32) V90(0,0)<1> V42(0,0)<1;1,0>",
        "    shl (M1, 32) V90(0,0)<1> V90(0,0)<1;1,0> 0x2:q",
        "    add (M1, 32) V90(0,0)<1> V90(0,0)<1;1,0> V40(0,1)<0;1,0>",
    ]
    for number in range(LOADS) if slm and not moves else ():
        lines += [
            f"    mul (M1, 32) V75(0,0)<1> V42(0,0)<1;1,0> {5 * number + 3:#x}:d",
            f"    lsc_store.{where}  {place(number)}  V75:d32",
        ]
    lines += ["    mov (M1_NM, 1) V43(0,0)<1> 0x0:d", "again:"]
    if moves:
        away = (4 * moves if slm else moves) & 0xFFFFFFFF
        lines.append(f"    add (M1, 32) V50(0,0)<1> V50(0,0)<1;1,0> {away:#x}:d")
        lines += rows
    lines += [f"    lsc_load.{where}  V{70 + n}:d32  {place(n)}" for n in range(LOADS)]
    for number in range(1, LOADS):
        one = f"V{70 + number}(0,0)<1;1,0>"
        lines += [
            f"    mul (M1, 32) V75(0,0)<1> {one} {2 * number + 1:#x}:d",
            "    add (M1, 32) V70(0,0)<1> V70(0,0)<1;1,0> V75(0,0)<1;1,0>",
        ]
    lines += [f"    lsc_store.{where}  {place(LOADS + n)}  V70:d32" for n in range(STORES)]
    lines += [
        "    add (M1_NM, 1) V43(0,0)<1> V43(0,0)<0;1,0> 0x1:d",
        "    cmp.lt (M1_NM, 1) P1 V43(0,0)<0;1,0> 0x4:d",
        "    (P1) jmp (M1, 1) again",
        "    lsc_store.ugm (M1, 32)  flat[V90]:a64  V70:d32",
        "    ret (M1, 1)",
    ]
    return "\n".join([*lines, ""])


class Case:
    """What a seed makes: where the two base rows begin, and which channels are on.

    Indices may be near to where they wrap, in arrays that begin as far away.
    """

    def __init__(self, kernel: harness.Kernel, seed: str, *, slm: bool) -> None:
        rng = random.Random(seed)
        self.given = np.frombuffer(rng.randbytes(4 * ELEMENTS), np.uint32)
        self.data, self.out = self.given.copy(), np.zeros(ELEMENTS, np.uint32)
        self.memory = Memory()
        bases = [self.memory.add(self.data, "data"), self.memory.add(self.out, "out")]
        edges = (-80, -1, ELEMENTS - 33, ELEMENTS - 20, 1 << 26, (1 << 26) - 70, (1 << 31) - 90)
        starts = [rng.randrange(64, ELEMENTS - 150) for _ in range(2)]
        if rng.random() < 0.4:
            starts[rng.randrange(2)] = rng.choice(edges) + rng.randrange(-3, 4)
        if not slm and rng.random() < 0.4:
            near = rng.randrange(64)
            away = rng.choice([(1 << 31) - LANES - near, near - (1 << 31)]) - starts[0]
            starts[0] += away
            bases[0] -= 4 * away
        ids = np.arange(LANES, dtype=np.uint16)
        registers = (
            (kernel.place("V40"), b"".join((base % 2**64).to_bytes(8, "little") for base in bases)),
            (kernel.place("V41"), np.array(starts, np.int64).astype(np.int32).tobytes()),
            (kernel.place("V42"), ids.tobytes()),
        )
        mask = rng.choice([0xFFFFFFFF, 0xFFFFFFFF, rng.getrandbits(LANES) | 1])
        starts_alike = (harness.ThreadStart(registers, mask),)
        self.group = harness.GroupsAlike(starts_alike, 4 * ELEMENTS if slm else 0)

    def run(self, engine: Any) -> tuple[Exit, bytes]:
        """Run it; return how it ended and what was stored."""
        self.data[:], self.out[:] = self.given, 0
        ended = engine.run([0], self.group, Machine(self.memory, Surfaces()), RunOptions())
        return ended, self.data.tobytes() + self.out.tobytes()


@pytest.mark.parametrize("stride", [1, 0])
@pytest.mark.parametrize("space", ["slm", "slm with a tag", "index", "address"])
def test_rows_near_others_are_where_they_would_be_alone(space: str, stride: int) -> None:
    slm, faults = space.startswith("slm"), set[bool]()
    for variant, moves in enumerate((0, 16, -16, 0)):
        rng = random.Random(f"{space} {stride} {variant}")
        picks = DISTANCES[:7] if variant < 3 else DISTANCES  # mostly in range, or anywhere
        distances = [rng.choice(picks) for _ in range(LOADS + STORES)]
        if moves:
            distances[:2] = 0, moves
        kernel = harness.assemble(kernel_of(space, stride, distances, moves), "pvc")
        engines = (kernel.prepared, jit.Prepared(kernel.linked))
        for number in range(CASES):
            case = Case(kernel, f"{space} {stride} {variant} {number}", slm=slm)
            (want, wanted), (got, found) = (case.run(engine) for engine in engines)
            assert got.fault == want.fault, (variant, number)
            assert found == wanted, (variant, number)
            faults.add(want.fault is not None)
    assert faults == {False, True}


def words_of(sums: list[tuple[int, int]]) -> str:
    """Return a kernel that loads local memory at a word and numbers; channels have the same.

    Sums are a number that is added to the word, and one that is added to what extends it.
    """
    lines = [*DECLARATIONS.strip().splitlines(), ".decl V44 v_type=G type=uw num_elts=2"]
    for first, element in ((50, "uw"), (60, "ud"), (70, "ud")):
        lines += [
            f".decl V{n} v_type=G type={element} num_elts={LANES} align=wordx32"
            for n in range(first, first + len(sums))
        ]
    lines += [
        f".decl V90 v_type=G type=uq num_elts={LANES} align=wordx32",
        f".input V42 offset=64 size={2 * LANES}",
        f".kernel_attr SimdSize={LANES}",
        '.function "k"',
        "k:",
        "    mov (M1, 32) V90(0,0)<1> V42(0,0)<1;1,0>",
        "    shl (M1, 32) V90(0,0)<1> V90(0,0)<1;1,0> 0x2:uq",
        "    add (M1, 32) V90(0,0)<1> V90(0,0)<1;1,0> V40(0,1)<0;1,0>",
    ]
    for number, (before, behind) in enumerate(sums):
        lines += [
            f"    add (M1, 32) V{50 + number}(0,0)<1> V44(0,0)<0;1,0> {before:#x}:uw",
            f"    mov (M1, 32) V{60 + number}(0,0)<1> V{50 + number}(0,0)<1;1,0>",
            f"    add (M1, 32) V{60 + number}(0,0)<1> V{60 + number}(0,0)<1;1,0> {behind:#x}:ud",
        ]
    lines += [
        f"    lsc_load.slm (M1, 32)  V{70 + n}:d8u32  flat[V{60 + n}]:a32" for n in range(len(sums))
    ]
    lines += ["    lsc_store.ugm (M1, 32)  flat[V90]:a64  V70:d32", "    ret (M1, 1)"]
    return "\n".join([*lines, ""])


SUMS = (
    [(4, 0), (0x20, 0)],
    [(0x20, 0), (4, 0)],
    [(4, 0), (4, 0x100), (0x104, 0)],
    [(0x104, 0), (4, 0x100), (4, 0)],
    [(0, 0), (0xFFF0, 0), (0, 0xFFF0)],
)


@pytest.mark.parametrize("sums", SUMS)
def test_words_that_wrap_are_not_taken_for_numbers_that_do_not(sums: list[tuple[int, int]]) -> None:
    kernel = harness.assemble(words_of(sums), "pvc")
    engines = (kernel.prepared, jit.Prepared(kernel.linked))
    faults = set[bool]()
    for word in (0, 0x10, 0x8000, 0xFEF0, 0xFEFC, 0xFFF0, 0xFFFC):
        out, memory = np.zeros(LANES, np.uint32), Memory()
        registers = (
            (kernel.place("V40"), np.array([0, memory.add(out, "out")], np.uint64).tobytes()),
            (kernel.place("V42"), np.arange(LANES, dtype=np.uint16).tobytes()),
            (kernel.place("V44"), np.array([word, 0], np.uint16).tobytes()),
        )
        starts = (harness.ThreadStart(registers, 0xFFFFFFFF),)
        group, machine = harness.GroupsAlike(starts, 1 << 16), Machine(memory, Surfaces())
        want, got = (engine.run([0], group, machine, RunOptions()) for engine in engines)
        assert got.fault == want.fault, hex(word)
        faults.add(want.fault is not None)
    assert False in faults
