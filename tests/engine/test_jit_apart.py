"""Loops whose ends data decide do on the JIT what they do on the interpreter.

Each channel goes through elements of its own: an index is loaded, and what it points to added up.
Loops vary in what else happens in a turn. Threads that come first fill what is remembered of
allocations.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from visim.engine.base import RunOptions
from visim.machine.memory import Memory

from . import harness
from .cases import Case, agree, module_text, start_with

pytestmark = pytest.mark.usefixtures("each_hardware")

LANES = 32
ELEMENTS = 4096
THREADS = 4

DECLARATIONS = """
.version 4.1
.kernel "k"
.decl V40 v_type=G type=uq num_elts=3 align=wordx32
.decl V41 v_type=G type=d num_elts=32 align=wordx32
.decl V42 v_type=G type=d num_elts=32 align=wordx32
.decl V43 v_type=G type=ud num_elts=32 align=wordx32
.decl V44 v_type=G type=d num_elts=32 align=wordx32
.decl V50 v_type=G type=q num_elts=32 align=wordx32
.decl V51 v_type=G type=q num_elts=32 align=wordx32
.decl V52 v_type=G type=uq num_elts=32 align=wordx32
.decl V53 v_type=G type=ud num_elts=32 align=wordx32
.decl V54 v_type=G type=ud num_elts=32 align=wordx32
.decl V55 v_type=G type=ud num_elts=32 align=wordx32
.decl V56 v_type=G type=ud num_elts=1 align=wordx32
.decl V57 v_type=G type=ud num_elts=32 align=wordx32
.decl V58 v_type=G type=uq num_elts=32 align=wordx32
.decl V70 v_type=G type=f num_elts=32 align=wordx32
.decl P1 v_type=P num_elts=32
.decl P2 v_type=P num_elts=32
.decl P3 v_type=P num_elts=32
.decl P4 v_type=P num_elts=32
.kernel_attr SimdSize=32
.function "k"
k:
"""


ALL = "(0,0)<1;1,0>"
ONE = "(0,0)<0;1,0>"

EXTRAS = {
    "a channel leaves where it finds what it looks for": f"""
    cmp.eq (M1, 32) P2 V54{ALL} 0x11:ud
    (P2) goto (M1, 32) FOUND""",
    "some channels do something else": f"""
    cmp.lt (M1, 32) P3 V54{ALL} 0x20000000:ud
    (P3) goto (M1, 32) SKIP
    xor (M1, 32) V57(0,0)<1> V57{ALL} V54{ALL}
    add (M1, 32) V52(0,0)<1> V51{ALL} V40(0,1)<0;1,0>
    lsc_load.ugm (M1, 32)  V55:d32  flat[V52]:a64
SKIP:
    add (M1, 32) V43(0,0)<1> V43{ALL} V55{ALL}""",
    "turns are counted once for all": f"""
    add (M1_NM, 1) V56(0,0)<1> V56{ONE} 0x3:ud
    add (M1, 32) V57(0,0)<1> V57{ALL} V56{ONE}""",
    "a predicate stays until a later turn": f"""
    (P4) sel (M1, 32) V55(0,0)<1> V54{ALL} V57{ALL}
    add (M1, 32) V43(0,0)<1> V43{ALL} V55{ALL}
    cmp.gt (M1, 32) P4 V54{ALL} 0x40000000:ud""",
    "writes have masks of their own": f"""
    cmp.lt (M1, 32) P3 V54{ALL} 0x50000000:ud
    (P3) add (M1, 32) V57(0,0)<1> V57{ALL} V54{ALL}""",
}


def _load(target: str, index: str, base: int) -> str:
    return f"""
    mov (M1, 32) V50(0,0)<1> {index}{ALL}
    shl (M1, 32) V51(0,0)<1> V50{ALL} 0x2:q
    add (M1, 32) V52(0,0)<1> V51{ALL} V40(0,{base})<0;1,0>
    lsc_load.ugm (M1, 32)  {target}:d32  flat[V52]:a64"""


def _store(source: str) -> str:
    return f"""
    lsc_store.ugm (M1, 32)  flat[V58]:a64  {source}:d32
    add (M1, 32) V58(0,0)<1> V58{ALL} {4 * LANES:#x}:ud"""


def whole_kernel(extras: tuple[str, ...]) -> str:
    """Return a kernel with a loop that does these things beside its loads."""
    return f"""{DECLARATIONS.strip()}
    cmp.lt (M1, 32) P1 V41{ALL} V42{ALL}
    (!P1) goto (M1, 32) DONE
LOOP:{_load("V53", "V41", 0)}{_load("V54", "V53", 1)}
    add (M1, 32) V43(0,0)<1> V43{ALL} V54{ALL}{"".join(EXTRAS[name] for name in extras)}
    add (M1, 32) V41(0,0)<1> V41{ALL} 0x1:w
    cmp.lt (M1, 32) P1 V41{ALL} V42{ALL}
    (P1) goto (M1, 32) LOOP
    add (M1, 32) V43(0,0)<1> V43{ALL} 0x7:ud
    goto (M1, 1) DONE
FOUND:
    add (M1, 32) V43(0,0)<1> V43{ALL} 0x100:ud
DONE:
    mov (M1, 32) V50(0,0)<1> V44{ALL}
    shl (M1, 32) V51(0,0)<1> V50{ALL} 0x2:q
    add (M1, 32) V58(0,0)<1> V51{ALL} V40(0,2)<0;1,0>{_store("V43")}{_store("V41")}
    add (M1, 32) V57(0,0)<1> V57{ALL} V56{ONE}{_store("V57")}
    ret (M1, 1)
"""


class Loops(Case):
    """What a seed makes: where channels begin and end, and what they find there."""

    def __init__(self, kernel: harness.Kernel, seed: str, longest: int, faults: int) -> None:
        rng = random.Random(seed)
        index = np.array([rng.randrange(ELEMENTS) for _ in range(ELEMENTS)], np.int32)
        for _ in range(faults):
            index[rng.randrange(ELEMENTS)] = rng.choice([-1, ELEMENTS, 1 << 29])
        values = np.array([rng.choice([0x11, rng.getrandbits(32)]) for _ in range(ELEMENTS)])
        if rng.random() < 0.5:
            values[values == 0x11] = 0x12
        values[:: ELEMENTS // 64] = 0
        self.out = np.zeros(THREADS * 3 * LANES, np.uint32)
        self.memory, self.changed = Memory(), (self.out,)
        data = [(index, "index"), (values.astype(np.uint32), "values"), (self.out, "out")]
        bases = np.array([self.memory.add(*one) for one in data], np.uint64)
        starts = [self._start(kernel, rng, bases, longest, n) for n in range(THREADS)]
        self.group = harness.GroupsAlike(tuple(starts))

    @staticmethod
    def _start(
        kernel: harness.Kernel, rng: random.Random, bases: Any, longest: int, number: int
    ) -> harness.ThreadStart:
        begins = [rng.randrange(ELEMENTS - longest) for _ in range(LANES)]
        ends = [begin + rng.randrange(-2, longest) for begin in begins]
        places = np.arange(LANES) + number * 3 * LANES
        registers = {
            "V40": bases,
            "V41": np.array(begins, np.int32),
            "V42": np.array(ends, np.int32),
            "V44": places.astype(np.int32),
            "V55": np.arange(LANES, dtype=np.uint32),
        }
        mask = rng.choice([0xFFFFFFFF, 0xFFFFFFFF, rng.getrandbits(LANES) | 1, 0xFFF0, 1 << 31])
        return start_with(kernel, registers, mask)


def _agree(extras: tuple[str, ...], cases: list[tuple[int, int]], options: RunOptions) -> set[bool]:
    """Compare both engines on cases of longest loops and numbers of faults; which had faults."""
    kernel = harness.assemble(whole_kernel(extras), "pvc")
    made = [Loops(kernel, f"{extras} {number}", *case) for number, case in enumerate(cases)]
    return agree(kernel, made, options)


ROOTS = f"""
    mov (M1, 32) V70(0,0)<1> V54{ALL}
    rsqrt (M1, 32) V70(0,0)<1> V70{ALL}
    mul (M1, 32) V70(0,0)<1> V70{ALL} 0x4f000000:f
    mov (M1, 32) V57(0,0)<1> V70{ALL}"""
"""Those of zeros, which some channels find, need more than others."""


def test_what_is_seldom_needed_is_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(EXTRAS, "roots", ROOTS)
    assert _agree(("roots",), [(8, 0), (30, 3), (90, 0), (20, 400)], RunOptions()) == {False, True}


CHOICES = [
    (),
    *((name,) for name in EXTRAS),
    tuple(EXTRAS),
]


@pytest.mark.parametrize("extras", CHOICES, ids=lambda extras: f"{len(extras)}")
def test_loops_of_data_give_the_same(extras: tuple[str, ...]) -> None:
    cases = [(8, 0), (30, 3), (90, 0), (20, 400)]
    assert _agree(extras, cases, RunOptions()) == {False, True}


def test_long_loops_let_other_threads_run_at_the_same_instructions() -> None:
    assert _agree((), [(2000, 0), (2500, 1)], RunOptions()) <= {False, True}


@pytest.mark.parametrize("budget", [50, 333, 2000])
def test_a_budget_ends_at_the_same_instruction(budget: int) -> None:
    _agree(tuple(EXTRAS), [(60, 0), (8, 3)], RunOptions(budget=budget))


AROUND = f"""{DECLARATIONS.strip()}
LOOP:{_load("V53", "V41", 0)}{_load("V54", "V53", 1)}
    add (M1, 32) V43(0,0)<1> V43{ALL} V57{ALL}
    add (M1, 32) V57(0,0)<1> V54{ALL} 0x5:ud
    add (M1, 32) V41(0,0)<1> V41{ALL} 0x1:w
    cmp.lt (M1, 32) P1 V41{ALL} V42{ALL}
    (P1) goto (M1, 32) LOOP
    add (M1, 32) V41(0,0)<1> V41{ALL} -0x3:w
    add (M1_NM, 1) V56(0,0)<1> V56{ONE} 0x1:ud
    cmp.lt (M1_NM, 1) P2 V56{ONE} 0x3:ud
    (P2) goto (M1, 1) LOOP
    mov (M1, 32) V50(0,0)<1> V44{ALL}
    shl (M1, 32) V51(0,0)<1> V50{ALL} 0x2:q
    add (M1, 32) V58(0,0)<1> V51{ALL} V40(0,2)<0;1,0>{_store("V43")}{_store("V41")}
    ret (M1, 1)
"""
"""A loop in a loop: what is remembered from the last turn goes to the first turn of the next."""

LEAVING = f"""{DECLARATIONS.strip()}
LOOP:{_load("V53", "V41", 0)}{_load("V54", "V53", 1)}
    cmp.lt (M1, 32) P2 V54{ALL} 0x20000000:ud
    (P2) goto (M1, 32) OUT
    add (M1, 32) V43(0,0)<1> V43{ALL} V54{ALL}
    goto (M1, 1) ON
OUT:
    add (M1, 32) V43(0,0)<1> V43{ALL} 0x1:ud
    goto (M1, 1) DONE
ON:
    add (M1, 32) V41(0,0)<1> V41{ALL} 0x1:w
    cmp.lt (M1, 32) P1 V41{ALL} V42{ALL}
    (P1) goto (M1, 32) LOOP
DONE:
    mov (M1, 32) V50(0,0)<1> V44{ALL}
    shl (M1, 32) V51(0,0)<1> V50{ALL} 0x2:q
    add (M1, 32) V58(0,0)<1> V51{ALL} V40(0,2)<0;1,0>{_store("V43")}{_store("V41")}
    ret (M1, 1)
"""
"""Channels that leave pass by a block that all others pass."""


def _agree_on(text: str, cases: Sequence[Case], kernel: harness.Kernel) -> None:
    agree(kernel, cases)


ADDRESSED = (
    whole_kernel(())
    .replace('.kernel "k"', '.kernel "k"\n.decl A0 v_type=A num_elts=1')
    .replace(f"    add (M1, 32) V43(0,0)<1> V43{ALL} 0x7:ud\n", "")
    .replace(
        _store("V43"),
        f"""
    addr_add (M1_NM, 1) A0(0)<1> &V43 0x0:uw
    mov (M1_NM, 16) V55(0,0)<1> r[A0(0),0]<1;1,0>:ud
    mov (M1_NM, 16) V55(1,0)<1> r[A0(0),64]<1;1,0>:ud{_store("V55")}""",
    )
)
"""What the loop leaves is read by its address only."""


@pytest.mark.parametrize("text", [AROUND, LEAVING, ADDRESSED])
def test_loops_of_other_forms_give_the_same(text: str) -> None:
    kernel = harness.assemble(text, "pvc")
    cases = [(8, 0), (30, 3), (90, 0)]
    _agree_on(text, [Loops(kernel, str(n), *case) for n, case in enumerate(cases)], kernel)


class OfTwo(Loops):
    """A case whose indices lead to two allocations, so that an attempt may end at any turn."""

    def __init__(self, kernel: harness.Kernel, seed: str, longest: int, others: int) -> None:
        super().__init__(kernel, seed, longest, 0)
        rng, self.memory = random.Random(seed), Memory()
        index = np.array([rng.randrange(ELEMENTS) for _ in range(ELEMENTS)], np.int32)
        self.kept = [np.arange(ELEMENTS, dtype=np.uint32) * factor for factor in (3, 5)]
        one, other = (self.memory.add(data, f"values {n}") for n, data in enumerate(self.kept))
        for _ in range(others):
            index[rng.randrange(ELEMENTS)] = rng.randrange(ELEMENTS) + (other - one) // 4
        places = [self.memory.add(index, "index"), one, self.memory.add(self.out, "out")]
        bases = np.array(places, np.uint64)
        starts = [self._start(kernel, rng, bases, longest, n) for n in range(THREADS)]
        self.group = harness.GroupsAlike(tuple(starts))


def test_what_all_channels_share_is_as_before_where_an_attempt_ends() -> None:
    extras = ("turns are counted once for all",)
    kernel = harness.assemble(whole_kernel(extras), "pvc")
    cases = [(8, 200), (90, 10), (30, 40), (30, 400), (90, 10)]
    found = [OfTwo(kernel, str(n), *case) for n, case in enumerate(cases)]
    _agree_on(whole_kernel(extras), found, kernel)


WEIGHED = f"""
    add (M1, 32) V52(0,0)<1> V51{ALL} V40(0,3)<0;1,0>
    lsc_load.ugm (M1, 32)  V55:d32  flat[V52]:a64
    add (M1, 32) V43(0,0)<1> V43{ALL} V55{ALL}"""
AT_HAND = f"""
    add (M1, 32) V51(0,0)<1> V51{ALL} V40(0,3)<0;1,0>
    lsc_load.ugm (M1, 32)  V55:d32  flat[V59]:a64
    add (M1, 32) V43(0,0)<1> V43{ALL} V55{ALL}"""
FURTHER = f"""
    add (M1, 32) V51(0,0)<1> V51{ALL} 0x4:uw"""
BACK = f"""
    add (M1, 32) V51(0,0)<1> V51{ALL} (-)V40(0,3)<0;1,0>"""
SOME = f"""
    cmp.lt (M1, 32) P3 V41{ALL} V57{ALL}{{}}"""
BESIDE = {
    "one number": WEIGHED,
    "one number, twice": WEIGHED + WEIGHED,
    "a number that changes": WEIGHED + FURTHER + WEIGHED,
    "a number that becomes the address": AT_HAND + BACK + WEIGHED,
    "an address that becomes the number": AT_HAND + BACK + AT_HAND,
    "some channels": SOME.format(WEIGHED.replace("lsc_load", "(P3) lsc_load")),
}
"""What else a turn loads by the number that leads to its index."""


def beside_kernel(beside: str) -> str:
    """Return the kernel with this beside its first load, and addresses as compilers sum them."""
    follows = f"\n    mov (M1, 32) V50(0,0)<1> V53{ALL}"
    text = whole_kernel(()).replace(follows, f"{BESIDE[beside]}{follows}")
    text = text.replace("V40 v_type=G type=uq num_elts=3", "V40 v_type=G type=uq num_elts=4")
    aliases = ("V59 32 V51 uq", "V60 4 V40 q", "V61 32 V52 q")
    lines = [
        f".decl {name} v_type=G type={kind} num_elts={count} align=wordx32 alias=<{of}, 0>"
        for name, count, of, kind in map(str.split, aliases)
    ]
    text = text.replace(".decl P1 ", "\n".join([*lines, ".decl P1 "]), 1)
    text = text.replace(f"V52(0,0)<1> V51{ALL} V40(", f"V61(0,0)<1> V51{ALL} V60(")
    return text.replace(f"V51{ALL} V40(0,3)", f"V51{ALL} V60(0,3)").replace("(-)V40", "(-)V60")


class OfEnds(Loops):
    """A case whose channels reach the ends of two arrays, of which one is shorter."""

    def __init__(self, kernel: harness.Kernel, seed: str, beyond: int, lengths: list[int]) -> None:
        super().__init__(kernel, seed, 8, 0)
        rng, self.memory = random.Random(seed), Memory()
        some = [np.arange(length, dtype=np.int32) * 7 % min(lengths) for length in lengths]
        self.kept = some[0], np.arange(ELEMENTS, dtype=np.uint32) * 3, some[1]
        index, values, weights = (self.memory.add(one, "an array") for one in self.kept)
        out = self.memory.add(self.out, "out")
        bases, last = np.array([index, values, out, weights], np.uint64), min(lengths)
        starts: list[harness.ThreadStart] = []
        for number in range(THREADS):
            ends = [last - rng.choice([0, 0, 3]) for _ in range(LANES)]
            begins = [end - rng.randrange(20) for end in ends]
            if number == THREADS - 1:
                ends[5] += max(0, beyond)
                begins[7] = beyond if beyond < 0 else begins[7]
            places = (np.arange(LANES) + number * 3 * LANES).astype(np.int32)
            given = {
                "V40": bases,
                "V41": np.array(begins, np.int32),
                "V42": np.array(ends, np.int32),
                "V44": places,
                "V57": np.full(LANES, last - 1, np.uint32),
            }
            registers = tuple((kernel.place(name), one.tobytes()) for name, one in given.items())
            starts.append(harness.ThreadStart(registers, 0xFFFFFFFF))
        self.group = harness.GroupsAlike(tuple(starts))


@pytest.mark.parametrize("beside", BESIDE)
def test_loads_by_one_number_end_where_each_array_ends(beside: str) -> None:
    text = beside_kernel(beside)
    kernel = harness.assemble(text, "pvc")
    lengths = [[600, 600], [600, 500], [500, 600]]
    choices = [(beyond, one) for beyond in (0, 1, 2, -1) for one in lengths]
    cases = [OfEnds(kernel, str(n), *choice) for n, choice in enumerate(choices)]
    _agree_on(text, cases, kernel)


MADE = f"    mov (M1, 32) V50(0,0)<1> V41{ALL}"
GROWN = f"    add (M1, 32) V41(0,0)<1> V41{ALL} 0x1:w"
BEGUN = "LOOP:"
WIDE = f"    mov (M1, 32) V62(0,0)<1> V41{ALL}\nLOOP:"
COUNTERS: dict[str, dict[str, str]] = {
    "by one": {},
    "by three": {GROWN: GROWN.replace("0x1", "0x3")},
    "unsigned": {MADE: MADE.replace("V41", "V63")},
    "64 bits": {BEGUN: WIDE, MADE: "", GROWN: f"{GROWN}\n{GROWN.replace('V41', 'V62')}"},
    "in front of its load": {GROWN: "", MADE: f"{GROWN}\n{MADE}"},
    "twice": {GROWN: f"{GROWN}\n{GROWN}"},
    "down": {GROWN: GROWN.replace("0x1", "0xFFFF")},
    "by what differs": {GROWN: GROWN.replace("0x1:w", f"V57{ALL}")},
}
"""How the number grows that leads to an index."""


def counter_kernel(changes: dict[str, str]) -> str:
    """Return the kernel whose number grows in another way."""
    text = beside_kernel("one number")
    for old, new in changes.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    if "V62" in text:
        text = text.replace(f"V51(0,0)<1> V50{ALL} 0x2:q", f"V51(0,0)<1> V62{ALL} 0x2:q", 1)
    more = [
        ".decl V62 v_type=G type=q num_elts=32 align=wordx32",
        ".decl V63 v_type=G type=ud num_elts=32 align=wordx32 alias=<V41, 0>",
    ]
    return text.replace(".decl P1 ", "\n".join([*more, ".decl P1 "]), 1)


@pytest.mark.parametrize("name", COUNTERS)
def test_loads_by_a_number_that_grows_end_where_each_array_ends(name: str) -> None:
    text = counter_kernel(COUNTERS[name])
    kernel = harness.assemble(text, "pvc")
    lengths = [[600, 600], [600, 500], [500, 600]]
    choices = [(beyond, one) for beyond in (0, 1, 2, -1) for one in lengths]
    cases = [OfEnds(kernel, str(n), *choice) for n, choice in enumerate(choices)]
    _agree_on(text, cases, kernel)


def test_lanes_that_data_scatter_are_gathered_without_looking_for_butterflies() -> None:
    """Looking takes as long as the host's gathers; nothing else in the kernel loads by indices."""
    text = module_text(
        whole_kernel(()), has_mask_registers=True, has_gathers=True, has_scatters=True
    )
    assert "vpermi2var" not in text
    gathers = re.findall(r"call <16 x i32> @llvm\.x86\.avx512\.mask\.gather\.dpi\.512", text)
    assert len(gathers) == 2 * LANES // 16
