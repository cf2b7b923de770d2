"""Memory messages of the JIT at addresses of all kinds give what the interpreter gives.

Each kernel loads through one vector of indices or addresses and stores through another. What
the lanes reach is in rows, in short rows, strided, scattered, overlapping or out of range.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from visim.engine import jit
from visim.engine.base import Machine, RunOptions
from visim.engine.jit.writing import functions
from visim.isa.lsc_atomics import LSC_ATOMICS
from visim.machine.memory import Memory
from visim.machine.surfaces import Surfaces

from . import harness
from .cases import Case, agree
from .hardware import HARDWARE, use_hardware

LANES = 32
ELEMENTS = 512
CASES = 40
FORMS = {"d32": 4, "d32x2": 8, "d32x3": 12, "d32x4": 16, "d64": 8, "d8u32": 1, "d16u32": 2}
REGISTERS = {"d64": 2, "d32x2": 2, "d32x3": 3, "d32x4": 4}

READS = {
    "load": "lsc_load.ugm (M1, 32)  V45:{}  flat[V43]:a64",
    "atomic": "lsc_atomic_iadd.ugm (M1, 32)  V45:{}  flat[V43]:a64  V42  %null",
    "shared": (
        "lsc_store.slm (M1, 32)  flat[V41]:a32  V42:{0}\n"
        "lsc_atomic_umax.slm (M1, 32)  V45:{0}  flat[V42]:a32  V41  %null\n"
        "lsc_load.slm (M1, 32)  V45:{0}  flat[V41]:a32"
    ),
}

UNREAD = {
    name: (["V41", "V42"][: operation.operand_count] + ["%null"] * 2)[:2]
    for name, _, operation in LSC_ATOMICS
}
"""The operands of each atomic operation whose result nobody wants."""
for _name, (_first, _second) in UNREAD.items():
    READS[f"{_name}.ugm"] = (
        f"lsc_atomic_{_name}.ugm (M1, 32)  %null:{{0}}  flat[V43]:a64  {_first}  {_second}\n"
        "lsc_load.ugm (M1, 32)  V45:{0}  flat[V43]:a64"
    )
    READS[f"{_name}.slm"] = (
        "lsc_store.slm (M1, 32)  flat[V41]:a32  V42:{0}\n"
        f"lsc_atomic_{_name}.slm (M1, 32)  %null:{{0}}  flat[V42]:a32  {_first}  {_second}\n"
        "lsc_load.slm (M1, 32)  V45:{0}  flat[V42]:a32"
    )

Pattern = NDArray[np.int64]


def pattern(rng: random.Random, lanes: int, step: int) -> Pattern:
    """Return elements that lanes reach, in units of which `step` make an element."""
    start, count = rng.randrange(ELEMENTS - lanes), np.arange(lanes)
    match rng.randrange(11):
        case 0:
            found = start + count
        case 1:
            found = start + count[::-1]
        case 2:
            found = np.full(lanes, start)
        case 3:
            distance = rng.choice([2, 2, 3, 5])
            last = ELEMENTS - 1 - distance * (lanes - 1)
            found = distance * count + rng.choice([rng.randrange(lanes), last])
        case 4:
            size = rng.choice([2, 4, 8])
            pieces = [rng.randrange(ELEMENTS - 8) for _ in range(lanes // size)]
            found = np.concatenate([piece + np.arange(size) for piece in pieces])
        case 5:
            found = start + (count ^ rng.choice([1, 2, 4, 8, 16]))
        case 6:
            found = start + count // 2
        case 7:
            found = start + count
            found[rng.randrange(lanes)] = rng.randrange(ELEMENTS)
        case 8 | 9:
            found = butterfly(rng, lanes)
        case _:
            found = np.array([rng.randrange(ELEMENTS) for _ in range(lanes)])
    found = found * step
    match rng.randrange(6):
        case 0:
            found = found + rng.choice([-ELEMENTS, ELEMENTS - 7, -found[0] - 3]) * step
        case 1:
            found[rng.randrange(lanes)] = rng.choice([-1, ELEMENTS * step, -(1 << 31), 1 << 30])
        case _:
            pass
    return found.astype(np.int64)


def butterfly(rng: random.Random, lanes: int) -> Pattern:
    """Return elements in runs with gaps as long, the pieces of which may be anywhere."""
    run, count = rng.choice([1, 2, 4, 8, 16]), np.arange(lanes)
    found, last = count + (count & -run), ELEMENTS - 2 * lanes
    start = rng.choice([rng.randrange(last), 0, last + run, last + run + 1])
    if rng.randrange(3):
        return start + found
    size = rng.choice([8, 16])
    within = count % size + (count % size & -run)
    return np.repeat([rng.randrange(last) for _ in range(lanes // size)], size) + within


def mask_of(rng: random.Random) -> int:
    """Return channels that are on: mostly all."""
    some = rng.getrandbits(LANES) | 1 << rng.randrange(LANES)
    return rng.choice([0xFFFFFFFF, 0xFFFFFFFF, some, some & rng.getrandbits(LANES) | 1, 1 << 31])


@dataclass(frozen=True)
class Text:
    """A kernel: how it makes addresses of V41 and V42, and in which form it moves data.

    `verb` says what gets the data: a load, an atomic operation, or messages of shared memory.
    """

    form: str
    kind: str = "d"
    shift: int = 2
    loops: bool = False
    verb: str = "load"

    def __str__(self) -> str:
        """Return the text."""
        elements = LANES * REGISTERS.get(self.form, 1)
        lines = [".version 4.1", '.kernel "k"']
        for name, kind, count in (
            ("V40", "uq", 2),
            ("V41", self.kind, LANES),
            ("V42", self.kind, LANES),
            ("V43", "uq", LANES),
            ("V44", "uq", LANES),
            ("V45", "ud", elements),
            ("V46", "d", 1),
        ):
            lines.append(f".decl {name} v_type=G type={kind} num_elts={count} align=wordx32")
        lines += [".decl P1 v_type=P num_elts=1", f".kernel_attr SimdSize={LANES}"]
        lines += ['.function "k"', "k:", *self._body(), "    ret (M1, 1)"]
        return "\n".join(lines) + "\n"

    def _body(self) -> list[str]:
        sources = {"V43": "V41", "V44": "V42"}
        if self.kind == "uq":
            made = [f"    mov (M1, 32) {to}(0,0)<1> {of}(0,0)<1;1,0>" for to, of in sources.items()]
        else:
            made = [
                line
                for number, (to, of) in enumerate(sources.items())
                for line in (
                    f"    mov (M1, 32) {to}(0,0)<1> {of}(0,0)<1;1,0>",
                    f"    shl (M1, 32) {to}(0,0)<1> {to}(0,0)<1;1,0> {self.shift:#x}:ud",
                    f"    add (M1, 32) {to}(0,0)<1> {to}(0,0)<1;1,0> V40(0,{number})<0;1,0>",
                )
            ]
        moved = [
            *(f"    {line}" for line in READS[self.verb].format(self.form).splitlines()),
            f"    lsc_store.ugm (M1, 32)  flat[V44]:a64  V45:{self.form}",
        ]
        if not self.loops:
            return [*made, *moved]
        return [
            "again:",
            *made,
            *moved,
            "    add (M1_NM, 1) V46(0,0)<1> V46(0,0)<0;1,0> 0x1:d",
            "    cmp.lt (M1_NM, 1) P1 V46(0,0)<0;1,0> 0x2:d",
            "    (P1) goto (M1, 1) again",
        ]


class Indexing(Case):
    """What a seed makes: two buffers, indices into them, and the channels that are on."""

    def __init__(self, text: Text, kernel: harness.Kernel, seed: str, *, checked: bool) -> None:
        rng, size = random.Random(seed), FORMS[text.form]
        data = np.frombuffer(rng.randbytes(ELEMENTS * size), np.uint8).copy()
        out = np.zeros_like(data)
        self.memory, self.changed = Memory(), (data, out)
        bases = [self.memory.add(data, "data"), self.memory.add(out, "out")]
        indices = [pattern(rng, LANES, max(1, size >> text.shift)) for _ in bases]
        if not checked:
            most = (ELEMENTS - 1) * size >> text.shift
            indices = [np.clip(found, 0, most) for found in indices]
        if text.kind == "uq":
            indices = [found + base for found, base in zip(indices, bases, strict=True)]
        dtype = {"d": np.int32, "ud": np.uint32, "uq": np.uint64}[text.kind]
        registers = [(kernel.place("V40"), np.array(bases, np.uint64).tobytes())]
        for name, found in zip(("V41", "V42"), indices, strict=True):
            registers.append((kernel.place(name), found.astype(dtype).tobytes()))
        start = harness.ThreadStart(tuple(registers), mask_of(rng))
        # The first thread finds out where the buffers are, the second one reaches them directly.
        self.group = harness.Group((start,) * 2, slm_bytes=ELEMENTS * size)


def compare(text: Text, *, checked: bool = True, cases: int = CASES) -> None:
    """Run cases on both engines; some of them fault where anything is checked."""
    kernel, options = harness.assemble(str(text), "pvc"), RunOptions(checked=checked)
    seeds = (f"{text} {number}" for number in range(cases))
    found = [Indexing(text, kernel, seed, checked=checked) for seed in seeds]
    assert agree(kernel, found, options) == ({False, True} if checked else {False})


@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_indices_of_all_kinds_reach_the_same_memory(form: str, loops: bool) -> None:
    shift = min(2, FORMS[form].bit_length() - 1)
    compare(Text(form, shift=shift, loops=loops))


@pytest.mark.parametrize("run", [1, 4, LANES])
@pytest.mark.parametrize("name", ["V41", "V42"])
def test_lanes_whose_indices_wrap_are_out_of_range(name: str, run: int) -> None:
    """Their indices go on at -2**31, which is not behind the element of 2**31 - 1."""
    kernel, count = harness.assemble(str(Text("d32")), "pvc"), np.arange(LANES)
    least, lanes = (1 << 31) - 2 * LANES, count + (count & -run)
    data, out = np.arange(ELEMENTS, dtype=np.uint32), np.zeros(ELEMENTS, np.uint32)
    memory = Memory()
    bases = [memory.add(data, "data") - 4 * least, memory.add(out, "out") - 4 * least]

    def start(**firsts: int) -> harness.ThreadStart:
        """Return how a thread starts whose lanes reach elements from `least` on, or others."""
        found = [(kernel.place("V40"), np.array(bases, np.int64).tobytes())]
        for variable in ("V41", "V42"):
            indices = firsts.get(variable, least) + lanes
            found.append((kernel.place(variable), indices.astype(np.int32).tobytes()))
        return harness.ThreadStart(tuple(found), 0xFFFFFFFF)

    for first in (least + 1, least + LANES // 2 + 1, least + 2 * LANES - 1):
        group, machine = (
            harness.Group((start(), start(**{name: first}))),
            Machine(memory, Surfaces()),
        )
        engines = kernel.prepared, jit.Prepared(kernel.linked)
        want, got = (engine.run([0], group, machine, RunOptions()) for engine in engines)
        assert (want.fault is None) == (int(lanes[-1]) + first < 1 << 31)
        assert got.fault == want.fault


@pytest.mark.parametrize("text", [Text("d32", "ud", 2), Text("d64", "ud", 3), Text("d32", "d", 0)])
def test_unsigned_and_unscaled_indices_reach_the_same_memory(text: Text) -> None:
    compare(text)


@pytest.mark.parametrize("form", ["d32", "d32x2", "d64", "d16u32"])
def test_addresses_without_a_base_reach_the_same_memory(form: str) -> None:
    compare(Text(form, "uq", 0))


@pytest.mark.parametrize(
    "text",
    [
        Text("d32", verb="atomic"),
        Text("d32", "ud", 0, verb="atomic"),
        Text("d32", "uq", 0, verb="atomic"),
        Text("d32", "ud", 0, verb="shared"),
    ],
)
def test_atomics_and_shared_memory_give_the_same(text: Text) -> None:
    compare(text)


@pytest.mark.parametrize(
    "verb", [*(f"{name}.slm" for name in UNREAD), "iinc.ugm", "xor.ugm", "umin.ugm", "icas.ugm"]
)
def test_atomics_whose_results_nobody_reads_leave_the_same(verb: str) -> None:
    compare(Text("d32", "ud", 0, verb=verb), cases=CASES // 2)


@pytest.mark.parametrize("text", [Text("d32"), Text("d32", "ud", 2), Text("d32", "uq", 0)])
def test_lanes_in_range_are_the_same_without_checks(text: Text) -> None:
    compare(text, checked=False, cases=12)


@pytest.mark.parametrize("name", HARDWARE)
@pytest.mark.parametrize("form", ["d32", "d64", "d32x2", "d32x3"])
def test_gathers_and_scatters_of_the_host_give_the_same(
    form: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_hardware(name, monkeypatch)
    for shift in (0, min(3, FORMS[form].bit_length() - 1)):
        compare(Text(form, shift=shift))
        compare(Text(form, shift=shift), checked=False, cases=12)


@pytest.mark.parametrize("name", HARDWARE)
@pytest.mark.parametrize("text", [*map(Text, FORMS), Text("d32", "ud", 2), Text("d32", "uq", 0)])
def test_code_that_messages_share_gives_the_same(
    text: Text, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_hardware(name, monkeypatch)
    monkeypatch.setattr(functions, "MOST_APART", 0)
    shift = min(text.shift, FORMS[text.form].bit_length() - 1)
    compare(replace(text, shift=shift), cases=CASES // 2)
    if name == "none":
        compare(replace(text, shift=shift), cases=12, checked=False)
