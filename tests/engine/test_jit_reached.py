"""Variables that indirect operands reach, beside others that they do not, on both engines.

Programs are random: arithmetic in strips, conditions, moves from and to addresses, some of them out
of reach, in a loop, with channels that are off. What all variables hold in the end is stored.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from visim.engine import jit
from visim.engine.base import Exit, Machine, RunOptions
from visim.engine.jit.emit.module import ModuleWriter
from visim.engine.jit.launch import code
from visim.engine.jit.writing import functions, strips
from visim.engine.jit.writing.versions import Version
from visim.linker.places import MARGIN
from visim.machine.memory import Memory
from visim.machine.surfaces import Surfaces

from . import harness

LANES = 32
REACHED = ("V40", "V41", "V42")
PLAIN = ("V43", "V44", "V45")
ALL = (*REACHED, *PLAIN)
MASKS = (0xFFFFFFFF, 0xFFFFFFFF, 0x0000FFFF, 0x00A5005A, 0x80008001)
READ_OFFSETS = (0, 4, 64, -64, 508, -512)
WRITE_OFFSETS = (0, 0, 4, 60)

DECLARATIONS = """.version 4.1
.kernel "k"
.decl V40 v_type=G type=d num_elts=32 align=wordx32
.decl V41 v_type=G type=d num_elts=32 align=wordx32
.decl V42 v_type=G type=d num_elts=32 align=wordx32
.decl V43 v_type=G type=d num_elts=32 align=wordx32
.decl V44 v_type=G type=d num_elts=32 align=wordx32
.decl V45 v_type=G type=d num_elts=32 align=wordx32
.decl V46 v_type=G type=uw num_elts=32 align=wordx32
.decl V47 v_type=G type=uq num_elts=32 align=wordx32
.decl V48 v_type=G type=d num_elts=1 align=dword
.decl V49 v_type=G type=uw num_elts=64 alias=<V41, 0>
.decl A0 v_type=A num_elts=16
.decl A1 v_type=A num_elts=1
.decl P1 v_type=P num_elts=32
.decl P2 v_type=P num_elts=32
.decl P3 v_type=P num_elts=1
.kernel_attr SimdSize=32
.function "k"
k:
"""


def _arithmetic(rng: random.Random) -> Iterator[str]:
    for _ in range(rng.randint(1, 9)):
        name, a, b, c = rng.choice(("add", "mul", "xor")), *rng.choices(ALL, k=3)
        size = rng.choice(("(M1, 32)", "(M1, 32)", "(M1_NM, 32)"))
        start = rng.choice(("", "", "(P1) "))
        yield f"{start}{name} {size} {a}(0,0)<1> {b}(0,0)<1;1,0> {c}(0,0)<1;1,0>"


def _condition(rng: random.Random) -> Iterator[str]:
    a, b = rng.choices(ALL, k=2)
    yield f"cmp.lt (M1, 32) P1 {a}(0,0)<1;1,0> {b}(0,0)<1;1,0>"


def _halves(rng: random.Random) -> Iterator[str]:
    a = rng.choice(ALL)
    yield f"mov (M1, 32) V49(0,{rng.randint(0, 1)})<2> {a}(0,0)<1;1,0>"
    yield f"mov (M1, 32) {a}(0,0)<1> V49(0,{rng.randint(0, 1)})<32;16,2>"


def _set_addresses(rng: random.Random) -> Iterator[str]:
    a, b = rng.choices(REACHED, k=2)
    yield f"addr_add (M1, 16) A0(0)<1> &{a} V46(0,{rng.choice((0, 16))})<1;1,0>"
    yield f"addr_add (M1_NM, 1) A1(0)<1> &{b} 0x{rng.choice((0, 4, 32, 64)):x}:uw"


def _indirect_reads(rng: random.Random) -> Iterator[str]:
    for _ in range(rng.randint(1, 3)):
        size = rng.choice(("(M1, 16)", "(M5, 16)", "(M1_NM, 16)"))
        operand = rng.choice(("r[A0(0),{}]<1,0>:d", "r[A1(0),{}]<1;1,0>:d", "r[A1(0),{}]<0;1,0>:d"))
        part = rng.choice(("(0,0)", f"({LANES * 4 // 64 - 1},0)"))
        yield f"mov {size} {rng.choice(ALL)}{part}<1> {operand.format(rng.choice(READ_OFFSETS))}"


def _indirect_writes(rng: random.Random) -> Iterator[str]:
    constant = rng.choice((0x1, 0x20, 0xFFFF))
    yield f"setp (M1_NM, 32) P2 0x{constant:x}:ud"
    start = rng.choice(("", "(P1) ", "(!P1) ", "(P2) "))
    size = rng.choice(("(M1, 16)", "(M5, 16)", "(M1_NM, 16)"))
    offset = rng.choice(WRITE_OFFSETS)
    yield f"{start}mov {size} r[A1(0),{offset}]<1>:d {rng.choice(ALL)}(0,0)<1;1,0>"


def _elements(rng: random.Random) -> Iterator[str]:
    """Yield pairs as compilers write them where each channel has an index of its own."""
    group, first = rng.choice((("M1", 0), ("M1", 8), ("M5", 0)))
    value, step = rng.choice(ALL), rng.choice((0, 1, 1, 1))
    constant = rng.choice((None, None, "0x7:d"))
    kind, predicate = rng.choice(("", "", "_NM")), rng.choice(("P2", "P2", "P1"))
    for lane in range(first, rng.randint(first + 1, 16)):
        number = rng.choice((step * lane,) * 30 + (3,))
        read = constant or f"{value}({number // 16},{number % 16})<0;1,0>"
        yield f"setp ({group}_NM, {rng.choice((16, 16, 16, 32))}) {predicate} 0x{1 << lane:x}:ud"
        yield f"({predicate}) mov ({group}{kind}, 16) r[A0({lane}),0]<1>:d {read}"
        if not rng.randint(0, 40):
            yield f"({predicate}) mov (M1, 16) V44(0,0)<1> V45(0,0)<1;1,0>"


PARTS = (
    *(_arithmetic, _arithmetic, _condition, _halves),
    *(_set_addresses, _indirect_reads, _indirect_reads, _indirect_writes, _elements, _elements),
)


def _stores() -> str:
    lines = "\n".join(
        f"    lsc_store.ugm (M1_NM, 32)  flat[V47 + 0x{4 * LANES * number:x}]:a64  {name}:d32"
        for number, name in enumerate(ALL)
    )
    return f"{lines}\n    ret (M1, 1)\n"


def program(rng: random.Random) -> str:
    """Return a kernel: some parts, a loop around others, stores of all variables."""
    before = [line for _ in range(4) for line in rng.choice(PARTS)(rng)]
    inside = [line for _ in range(10) for line in rng.choice(PARTS)(rng)]
    lines = [*_set_addresses(rng), *_condition(rng), *before, "\nLOOP:", *inside]
    lines += ["add (M1_NM, 1) V48(0,0)<1> V48(0,0)<0;1,0> -0x1:d"]
    lines += ["cmp.gt (M1_NM, 1) P3 V48(0,0)<0;1,0> 0x0:d", "(P3) jmp (M1, 1) LOOP"]
    return (
        DECLARATIONS + "".join(f"    {line}\n" for line in lines).replace("    \n", "") + _stores()
    )


class Case:
    """A kernel on both engines, and memory for what it stores."""

    def __init__(self, text: str) -> None:
        self.kernel = harness.assemble(text, "pvc")
        self.out = np.zeros(len(ALL) * LANES, np.int32)
        self.memory = Memory()
        base = self.memory.add(self.out, "out")
        self._places = base + 4 * np.arange(LANES, dtype=np.uint64)
        self.native = jit.Prepared(self.kernel.linked)

    def differ(self, rng: random.Random, mask: int, **more: np.ndarray) -> str | None:
        """Run both engines with random variables; return what differs."""
        steps = [4 * rng.choice((*range(LANES), -3, 40, 90, 4000)) for _ in range(LANES)]
        values = {name: self._numbers(rng) for name in ALL}
        values["V46"] = np.array(steps, np.int64).astype(np.uint16)
        values |= {"V47": self._places, "V48": np.array([3], np.int32), **more}
        place = self.kernel.place
        start = harness.ThreadStart(
            tuple((place(name), data.tobytes()) for name, data in values.items()), mask
        )
        want, wanted = self._run(self.kernel.prepared, start)
        got, found = self._run(self.native, start)
        if (want.fault, want.executed) != (got.fault, got.executed):
            return f"{got.fault} {got.executed}, interpreter {want.fault} {want.executed}"
        wrong = np.flatnonzero(found != wanted)
        return None if not wrong.size else f"{ALL[wrong[0] // LANES]} lane {wrong[0] % LANES}"

    @staticmethod
    def _numbers(rng: random.Random) -> np.ndarray:
        return np.array([rng.randint(-9, 9) for _ in range(LANES)], np.int32)

    def _run(self, engine: Any, start: harness.ThreadStart) -> tuple[Exit, np.ndarray]:
        self.out[:] = 0
        machine = Machine(self.memory, Surfaces())
        ended = engine.run([0], harness.Group((start,), 0), machine, RunOptions())
        return ended, self.out.copy()


@pytest.mark.parametrize("seed", range(10))
def test_random_programs_store_what_the_interpreter_stores(seed: int) -> None:
    rng = random.Random(seed)
    case = Case(program(rng))
    for mask in MASKS:
        assert case.differ(rng, mask) is None, (seed, hex(mask))


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("seed", range(20, 23))
def test_random_programs_in_strips_store_what_the_interpreter_stores(
    monkeypatch: pytest.MonkeyPatch, seed: int, in_place: bool
) -> None:
    monkeypatch.setattr(code, "has_mask_registers", lambda: False)
    names = ("LEAST_STEPS", "LONG", "STEPS_A_ROW_IN_PLACE", "REGISTERS", "STEPS_A_ROW")
    for name, value in zip(names, (1, 1, 0, 0, 99 if in_place else 0), strict=True):
        monkeypatch.setattr(strips, name, value)
    monkeypatch.setenv("VISIM_CACHE_DIR", "")
    rng = random.Random(seed)
    case = Case(program(rng))
    for mask in MASKS:
        assert case.differ(rng, mask) is None, (seed, hex(mask))


@pytest.mark.parametrize("seed", range(40, 44))
def test_lanes_that_share_code_store_what_the_interpreter_stores(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(functions, "MOST_REACHING", 0)
    monkeypatch.setenv("VISIM_CACHE_DIR", "")
    rng = random.Random(seed)
    case = Case(program(rng))
    for mask in MASKS:
        assert case.differ(rng, mask) is None, (seed, hex(mask))


def _text(text: str) -> str:
    version = Version(full=False, slm_bytes=0)
    return ModuleWriter(harness.assemble(text, "pvc").linked, version).write().text


def test_only_what_is_reached_is_kept_together() -> None:
    text = _text(program(random.Random(0)))
    size = 3 * 4 * LANES + 2 * MARGIN
    assert f"alloca [{size} x i8]" in text
    assert text.count(f"alloca [{4 * LANES} x i8]") >= len(PLAIN)


BORDERS = f"""{DECLARATIONS}    addr_add (M1_NM, 1) A1(0)<1> &V40 V46(0,0)<0;1,0>
    mov (M1_NM, 32) V43(0,0)<1> r[A1(0),0]<1;1,0>:d
    mov (M1_NM, 16) V44(0,0)<1> r[A1(0),0]<2;1,0>:d
    mov (M1_NM, 16) V45(0,0)<1> r[A1(0),0]<4;4,1>:ud
{_stores()}"""


def test_what_is_out_of_reach_reads_as_zeros() -> None:
    """OpenCL's shuffles leave values of channels that do not exist undefined, and do not fault."""
    case, rng = Case(BORDERS), random.Random(1)
    for distance in (*range(-140, 141, 28), 380, 384, 388, 2000, -2000, 32764, -32768):
        step = np.full(LANES, distance % 2**16, np.uint16)
        assert case.differ(rng, 0xFFFFFFFF, V46=step) is None, distance
        if not -128 < distance < 384:
            assert not case.out[3 * LANES : 4 * LANES].any()
