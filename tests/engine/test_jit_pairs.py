"""Pairs of halves: what instructions do for channels 0 to 15 and others for channels 16 to 31.

Compilers write such pairs for elements of 64 bits, and 64-bit numbers by their dwords. The JIT
takes them as one instruction where both are the same. Here they often are not quite: the second
half reads or writes what the first one writes, belongs to other elements, or has another predicate.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from visim.machine.memory import Memory

from . import harness
from .cases import Case, agree, module_text, some_channels, start_with

pytestmark = pytest.mark.usefixtures("each_hardware")

LANES = 32
THREADS = 4
VARIABLES = range(50, 56)
BYTES = 1 << 14
ALL = "(0,0)<1;1,0>"
ONE = "(0,0)<0;1,0>"
LOW, HIGH = "(0,0)<1;1,0>", "(2,0)<1;1,0>"

HEAD = """
.version 4.1
.kernel "k"
.decl V40 v_type=G type=uq num_elts=2 align=wordx32
.decl V41 v_type=G type=d num_elts=32 align=wordx32
.decl V42 v_type=G type=d num_elts=32 align=wordx32
.decl V43 v_type=G type=q num_elts=32 align=wordx32
.decl V44 v_type=G type=uq num_elts=32 align=wordx32
.decl V45 v_type=G type=d num_elts=4 align=wordx32
.decl V46 v_type=G type=d num_elts=1 align=wordx32
.decl V47 v_type=G type=ud num_elts=32 align=wordx32
.decl V48 v_type=G type=uq num_elts=32 align=wordx32
{variables}
.decl P1 v_type=P num_elts=32
.decl P2 v_type=P num_elts=32
.decl P3 v_type=P num_elts=32
.kernel_attr SimdSize=32
.function "k"
k:
    mov (M1_NM, 1) V46(0,0)<1> 0x0:d
    cmp.lt (M1, 32) P3 V41(0,0)<1;1,0> 0x0:d
"""
"""V40 has where the rows of channels and the results are, V41 which element they begin with."""


def _declarations() -> str:
    lines = list[str]()
    for n in VARIABLES:
        lines.append(f".decl V{n} v_type=G type=d num_elts=64 align=wordx32")
        for kind, add, count in (("q", 10, 32), ("f", 20, 64), ("uw", 30, 128), ("df", 40, 32)):
            lines.append(
                f".decl V{n + add} v_type=G type={kind} num_elts={count} align=wordx32 "
                f"alias=<V{n},0>"
            )
    for n in range(56, 60):
        lines.append(f".decl V{n} v_type=G type=d num_elts=64 align=wordx32")
        lines.append(f".decl V{n + 30} v_type=G type=ud num_elts=64 align=wordx32 alias=<V{n},0>")
    return "\n".join(lines)


CONSTANTS = {
    "3": "0x3:ud",
    "5": "0x5:q",
    "6": "1.5:f",
    "7": "0x3ff8000000000000:df",
    "c": "0x11:d",
}
"""Of two operands that are no numbers either may be what comes out."""

PLAIN = [("mov", "dd"), ("mov", "dd"), ("mov", "qq"), ("xor", "ddd"), ("add", "qqq")]


class Programs:
    """Writes random instructions, most of them pairs of halves.

    An operand is a row of a variable, as dwords one after another, as the low or high dwords of
    64-bit elements, or as these elements.
    """

    def __init__(self, rng: random.Random, *, plain: bool = False) -> None:
        self._rng = rng
        self._plain = plain

    def _row(self, kind: str) -> tuple[int, int, int, int]:
        """Return a row: its variable, its first byte, its step and the size of its elements."""
        rng, n = self._rng, self._rng.choice(VARIABLES)
        if kind in {"q", "df"}:
            return n + (10 if kind == "q" else 40), 0, 8, 8
        if kind == "uw":
            step = rng.choice([4, 8])
            return n + 30, rng.choice([0, 2]) if step == 4 else rng.choice([0, 2, 4, 6]), step, 2
        first = n + (20 if kind == "f" else 0)
        return (
            (first, rng.choice([0, 128]), 4, 4)
            if rng.random() < 0.4
            else (first, rng.choice([0, 4]), 8, 4)
        )

    @staticmethod
    def _operand(row: tuple[int, int, int, int], lane: int, *, source: bool) -> str:
        n, first, step, size = row
        byte = first + lane * step
        region = f"<{step // size};1,0>" if source else f"<{step // size}>"
        return f"V{n}({byte // 64},{byte % 64 // size}){region}"

    def pair(self) -> list[str]:
        """Return an instruction in halves, or in quarters, or what looks like that."""
        rng = self._rng
        word, kinds = rng.choice(
            PLAIN if self._plain else
            [("mov", "dd"), ("mov", "qd"), ("mov", "dq"), ("mov", "qq"), ("xor", "ddd"),
             ("add", "ddd"), ("add", "qqq"), ("mul", "ddd"), ("shl", "qq5"), ("shr", "dd3"),
             ("add", "ff6"), ("mul", "ff6"), ("mov", "df"), ("mov", "uw"), ("add", "DD7"),
             ("sel", "ddd"), ("cmp.lt", "Pdd"), ("cmp.eq", "Pqq"), ("cmp.ne", "Pdc")]
        )  # fmt: skip
        names = {"w": "uw", "u": "uw", "D": "df"}
        rows = [
            letter if letter in {"P", *CONSTANTS} else self._row(names.get(letter, letter))
            for letter in kinds
        ]
        lanes = rng.choice([16, 16, 16, 8])
        wild = rng.choice(["", "", "", "other", "shifted", "predicate", "mask"])
        predicate = rng.choice(["", "", "(P1) ", "(!P2) "])
        if word == "sel":
            predicate = predicate or "(P1) "
        if word.startswith("cmp"):
            predicate = ""
        nm = rng.choice(["", "", "", "_NM"])
        if self._plain:
            wild = predicate = nm = ""
        set_bits = rng.choice(["P1", "P2"])
        starts = list(range(0, LANES, lanes))
        found = list[str]()
        for start in starts:
            if start and wild == "other" and rng.random() < 0.5:
                at = rng.randrange(len(rows))
                if not isinstance(rows[at], str):
                    rows[at] = self._row(names.get(kinds[at], kinds[at]))
            if start and wild == "predicate" and predicate:
                predicate = rng.choice(["(P1) ", "(P2) ", "(!P1) "])
            channel = start if wild != "mask" else rng.choice(starts)
            lane = start if wild != "shifted" else rng.choice(starts)
            words = list[str]()
            for at, row in enumerate(rows):
                if isinstance(row, str):
                    words.append(CONSTANTS.get(row, set_bits))
                else:
                    here = lane if at else start
                    words.append(self._operand(row, here, source=at > 0))
            mask = f"(M{channel // 4 + 1}{nm}, {lanes})"
            found.append(f"{predicate}{word} {mask} {' '.join(words)}")
        if rng.random() < 0.15 and len(found) > 1 and not self._plain:
            found.insert(1, self.whole())
        return found

    def number(self) -> list[str]:
        """Return what computes a number of 64 bits by its dwords, or nearly.

        V56 to V59 hold dwords: the low ones in the first half of each, the high ones behind.
        """
        rng, wild = self._rng, self._rng.random() < 0.4
        found = list[str]()
        for at in (56, 57):
            n = rng.choice(VARIABLES)
            for half in (0, 1):
                away = half if not wild or rng.random() < 0.8 else 1 - half
                found += [
                    f"mov (M{4 * part + 1}, 16) V{at}({2 * half + part},0)<1> "
                    f"V{n}({2 * part},{away})<2;1,0>"
                    for part in (0, 1)
                ]
        found += self._computed(wild=wild)
        if wild and rng.random() < 0.5:
            found += self.pair() if rng.random() < 0.5 else [self.whole()]
        if rng.random() < 0.4:
            found += self._compared()
        if rng.random() < 0.15 and not self._plain:
            found.append(f"({rng.choice(['', '!'])}P2) goto (M1, 32) DONE")
        to, nm = rng.choice(VARIABLES), rng.choice(["", "", "", "_NM"]) if wild else ""
        for number, half in enumerate(rng.choice([(0, 1), (0, 1), (1, 0)])):
            if number and rng.random() < 0.4:
                found += self.pair() if rng.random() < 0.5 else [self.whole()]
            found += [
                f"mov (M{4 * part + 1}{nm}, 16) V{to}({2 * part},{half})<2> "
                f"V58({2 * half + part},0)<1;1,0>"
                for part in (0, 1)
            ]
        if rng.random() < 0.5:
            found.append(f"add (M1, 32) V{rng.choice(VARIABLES)}(0,0)<1> V58{HIGH} V58{LOW}")
        return found

    def _compared(self) -> list[str]:
        """Return what compares a number with another one, or a constant, by their dwords."""
        rng = self._rng
        if rng.random() < 0.4:
            return self._ordered()
        relation, both = rng.choice([("eq", "and"), ("ne", "or"), ("eq", "or"), ("lt", "and")])
        one, others = rng.choice([(56, 57), (58, 57), (58, None)]), rng.choice([0, 1, 0x12345])
        bits, found = rng.sample(["P1", "P2"], 2), list[str]()
        for name, half in zip(bits, rng.choice([(LOW, HIGH), (HIGH, LOW)]), strict=True):
            other = f"V{one[1]}{half}" if one[1] else f"{others if half == LOW else 0:#x}:d"
            mask = rng.choice(["(M1, 32)", "(M1, 32)", "(M1, 32)", "(M1_NM, 32)"])
            found.append(f"cmp.{relation} {mask} {name} V{one[0]}{half} {other}")
        if rng.random() < 0.2:
            found += self.pair()
        return [*found, f"{both} (M1, 32) {rng.choice(bits)} {bits[0]} {bits[1]}"]

    def _ordered(self) -> list[str]:
        """Return what says whether a number is less than another one, or nearly."""
        rng = self._rng
        word = rng.choice(["lt", "gt"])
        low, high = word if rng.random() < 0.5 else word[0] + "e", word
        if rng.random() < 0.2:
            low, high = rng.choice(["le", "ge", "eq"]), rng.choice(["lt", "gt", "le"])
        signs, one, other = rng.choice(["V5", "V5", "V8"]), rng.choice("68"), rng.choice("677")
        high_dwords = f"{signs}{one}{HIGH} {signs}{other}{HIGH}"
        equal = f"V5{one}{HIGH} V5{other}{HIGH}"
        if rng.random() < 0.2:
            equal = f"V5{other}{HIGH} V5{one}{HIGH}"
        return [
            f"cmp.{low} (M1, 32) P1 {rng.choice(['V8', 'V8', 'V5'])}{one}{LOW} V8{other}{LOW}",
            f"cmp.eq (M1, 32) P2 {equal}",
            f"{rng.choice(['and', 'and', 'or'])} (M1, 32) P2 P2 P1",
            f"cmp.{high} (M1, 32) P1 {high_dwords}",
            f"or (M1, 32) {rng.choice(['P1', 'P2'])} P1 P2",
        ]

    def _computed(self, *, wild: bool) -> list[str]:
        """Return what computes V58 of V56 and V57."""
        rng = self._rng
        word = rng.choice(["xor", "and", "or", "sel", "not", "mul", "mul", "mul", "sign", "zero"])
        second = rng.choice(["V57", "V56"])
        number = rng.choice([None, 0x1CE4E5B9BF58476D, 3])
        if word == "not":
            return [f"not (M1, 32) V58({row},0)<1> V56({row},0)<1;1,0>" for row in (0, 2)]
        if word == "mul":
            return self._product(second, number, wild=wild)
        if word in {"sign", "zero"}:
            shift = 31 if not wild else rng.choice([31, 30])
            made = f"asr (M1, 32) V58(2,0)<1> V56{LOW} {shift:#x}:d"
            other = "mov (M1, 32) V58(2,0)<1> 0x0:d"
            return [f"mov (M1, 32) V58(0,0)<1> V56{LOW}", made if word == "sign" else other]
        found = list[str]()
        for row, half in ((0, LOW), (2, HIGH)):
            other = f"{second}{half}"
            if number is not None and word != "sel":
                other = f"{number >> 16 * row & 0x7FFFFFFF:#x}:d"
            predicate = "(P1) " if word == "sel" else ""
            found.append(f"{predicate}{word} (M1, 32) V58({row},0)<1> V56{half} {other}")
        return found

    def _product(self, second: str, number: int | None, *, wild: bool) -> list[str]:
        rng, a = self._rng, f"V86{LOW}"
        b, b_high = f"{second.replace('V5', 'V8')}{LOW}", f"{second}{HIGH}"
        if number is not None:
            b, b_high = f"{number & 0xFFFFFFFF:#x}:ud", f"{number >> 32:#x}:d"
        terms = [f"V56{LOW} {b_high}", f"{b} V56{HIGH}"]
        if wild and rng.random() < 0.5:
            terms[1] = terms[0]
        rng.shuffle(terms)
        found = [f"mul (M1, 32) V88(0,0)<1> {a} {b}", f"mulh (M1, 32) V88(2,0)<1> {a} {b}"]
        for term in terms:
            found.append(f"mul (M1, 32) V59(0,0)<1> {term}")
            found.append(f"add (M1, 32) V58(2,0)<1> V58{HIGH} V59{LOW}")
        return found

    def whole(self) -> str:
        """Return an instruction for all channels."""
        rng = self._rng
        kind = rng.choice(["d", "q"])
        places = [self._operand(self._row(kind), 0, source=bool(at)) for at in range(3)]
        return (
            f"{rng.choice(['add', 'xor'] if kind == 'd' else ['add'])} (M1, 32) {' '.join(places)}"
        )

    def some(self, count: int) -> str:
        """Return some instructions."""
        lines = list[str]()
        while len(lines) < count:
            chosen = self._rng.random()
            if chosen < 0.2:
                lines += self.number()
            else:
                lines += self.pair() if chosen < 0.85 else [self.whole()]
        return "".join(f"    {line}\n" for line in lines)


def _address(shift: int = 2) -> str:
    return f"""    mov (M1, 32) V43(0,0)<1> V42{ALL}
    shl (M1, 32) V43(0,0)<1> V43{ALL} {shift}:q
    add (M1, 32) V44(0,0)<1> V43{ALL} V40(0,0)<0;1,0>
"""


END_OF_ROW = f"""    add (M1_NM, 1) V46(0,0)<1> V46{ONE} 0x1:w
    cmp.lt (M1_NM, 32) P3 V46{ONE} V45(0,1)<0;1,0>
    (P3) goto (M1, 1) LOOP
"""


def straight(programs: Programs, rng: random.Random) -> str:
    """Return instructions one after another, with messages in halves among them."""
    n = rng.choice(VARIABLES)
    return (
        programs.some(12)
        + f"    mov (M1, 32) V42(0,0)<1> V41{ALL}\n"
        + _address()
        + f"    lsc_load.ugm (M1, 16)  V{n}:d32  flat[V44]:a64\n"
        + programs.some(6)
        + "    mov (M1, 16) V44(0,0)<1> V44(2,0)<1;1,0>\n"
        + f"    lsc_load.ugm (M5, 16)  V{n}:d32  flat[V44]:a64\n"
        + programs.some(8)
    )


def along_rows(programs: Programs, rng: random.Random) -> str:
    """Return a loop in which each channel loads along its own row."""
    n, (load, shift) = rng.choice(VARIABLES), rng.choice([("d8c32", 0), ("d32", 2), ("d64", 3)])
    return (
        "LOOP:\n"
        + programs.some(rng.randrange(4))
        + f"    add (M1, 32) V42(0,0)<1> V41{ALL} V46{ONE}\n"
        + _address(shift)
        + f"    lsc_load.ugm (M1, 32)  V{n}:{load}  flat[V44]:a64\n"
        + programs.some(rng.randrange(2, 12))
        + END_OF_ROW
    )


def apart(programs: Programs, rng: random.Random) -> str:
    """Return a loop that channels leave when they are done, which load where data say."""
    n = rng.choice(VARIABLES)
    return (
        f"    mov (M1, 32) V42(0,0)<1> V41{ALL}\n"
        + "LOOP:\n"
        + programs.some(rng.randrange(3))
        + _address()
        + "    lsc_load.ugm (M1, 32)  V47:d32  flat[V44]:a64\n"
        + f"    and (M1, 32) V48(0,0)<1> V47{ALL} 0x3ff:ud\n"
        + "    shl (M1, 32) V48(0,0)<1> V48(0,0)<1;1,0> 0x2:uq\n"
        + "    add (M1, 32) V48(0,0)<1> V48(0,0)<1;1,0> V40(0,0)<0;1,0>\n"
        + f"    lsc_load.ugm (M1, 32)  V{n}:d32  flat[V48]:a64\n"
        + programs.some(rng.randrange(1, 6))
        + f"    add (M1, 32) V42(0,0)<1> V42{ALL} 0x1:d\n"
        + f"    add (M1, 32) V47(0,0)<1> V41{ALL} V45(0,1)<0;1,0>\n"
        + f"    cmp.lt (M1, 32) P3 V42{ALL} V47{ALL}\n"
        + "    (P3) goto (M1, 32) LOOP\n"
    )


def exchanging(programs: Programs, rng: random.Random) -> str:
    """Return a loop that compares and exchanges 64-bit elements, which compares their dwords."""
    test = rng.choice(
        [
            "cmp.eq (M1, 32) P1 V51(0,0)<1;1,0> V51(2,0)<1;1,0>\n"
            "    cmp.eq (M1, 32) P2 V52(0,0)<1;1,0> V52(2,0)<1;1,0>\n"
            "    and (M1, 32) P2 P2 P1\n    (!P2) goto (M1, 32) LOOP\n",
            "cmp.ne (M1, 32) P1 V51(0,0)<1;1,0> V51(2,0)<1;1,0>\n"
            "    cmp.ne (M1, 32) P2 V52(0,0)<1;1,0> V52(2,0)<1;1,0>\n"
            "    or (M1, 32) P2 P2 P1\n    (P2) goto (M1, 32) LOOP\n",
        ]
    )  # fmt: skip
    return (
        programs.some(4)
        + f"    and (M1, 32) V42(0,0)<1> V41{ALL} {rng.choice([1, 7, 31])}:d\n"
        + _address(3)
        + "    lsc_load.ugm (M1, 32)  V50:d64  flat[V44]:a64\n"
        + "LOOP:\n"
        + "    mov (M1, 16) V51(0,0)<1> V50(0,0)<2;1,0>\n"
        + "    mov (M5, 16) V51(1,0)<1> V50(2,0)<2;1,0>\n"
        + "    mov (M1, 16) V52(0,0)<1> V50(0,1)<2;1,0>\n"
        + "    mov (M5, 16) V52(1,0)<1> V50(2,1)<2;1,0>\n"
        + f"    add (M1, 32) V63(0,0)<1> V60{ALL} V43(0,0)<0;1,0>\n"
        + "    lsc_atomic_icas.ugm (M1, 32)  V64:d64  flat[V44]:a64  V60  V63\n"
        + f"    mov (M1, 32) V60(0,0)<1> V64{ALL}\n"
        + "    mov (M1, 16) V51(2,0)<1> V50(0,0)<2;1,0>\n"
        + "    mov (M5, 16) V51(3,0)<1> V50(2,0)<2;1,0>\n"
        + "    mov (M1, 16) V52(2,0)<1> V50(0,1)<2;1,0>\n"
        + "    mov (M5, 16) V52(3,0)<1> V50(2,1)<2;1,0>\n"
        + f"    {test}"
    )


KINDS: dict[str, Callable[[Programs, random.Random], str]] = {
    "straight": straight,
    "along rows": along_rows,
    "apart": apart,
    "exchanging": exchanging,
}


def kernel_of(body: str) -> str:
    """Return a kernel that stores all variables after what it does."""
    kept = [f"V{n}({row},0)" for n in VARIABLES for row in (0, 2)]
    stores = "".join(
        f"    mov (M1_NM, 32) V42(0,0)<1> {one}<1;1,0>\n"
        f"    lsc_store.ugm (M1_NM, 32)  flat[V49]:a64  V42:d32\n"
        f"    add (M1_NM, 32) V49(0,0)<1> V49{ALL} {4 * LANES:#x}:uq\n"
        for one in kept
    )
    head = HEAD.format(variables=_declarations()).replace(
        ".decl P1", ".decl V49 v_type=G type=uq num_elts=32 align=wordx32\n.decl P1", 1
    )
    return f"{head.strip()}\n{body}DONE:\n{stores}    ret (M1, 1)\n"


class Pairs(Case):
    """What a seed makes: what variables have, where rows begin, and how long they are."""

    def __init__(self, kernel: harness.Kernel, seed: str, *, faults: bool) -> None:
        rng = random.Random(seed)
        data = np.frombuffer(rng.randbytes(BYTES), np.uint8).copy()
        out = np.zeros(THREADS * 12 * LANES, np.uint32)
        self.memory, self.changed = Memory(), (data, out)
        bases = [self.memory.add(data, "data"), self.memory.add(out, "out")]
        starts: list[harness.ThreadStart] = []
        for number in range(THREADS):
            length = rng.choice([1, 5, 20, 70])
            places = np.arange(LANES) * rng.choice([1, 9, 33, 41])
            if faults and number == THREADS - 1:
                places[rng.randrange(LANES)] = BYTES // 4 - rng.choice([0, 1, 3])
            registers = {
                "V40": np.array(bases, np.uint64),
                "V41": places.astype(np.int32),
                "V45": np.array([0, length, 0, 0], np.int32),
                "V49": (bases[1] + np.arange(LANES) * 4 + number * 48 * LANES).astype(np.uint64),
            }
            for n in range(VARIABLES[0], 60):
                registers[f"V{n}"] = np.frombuffer(rng.randbytes(256), np.int32)
            starts.append(start_with(kernel, registers, some_channels(kernel, rng)))
        self.group = harness.GroupsAlike(tuple(starts), 64)


def program(kind: str, seed: int) -> str:
    """Return a random kernel of a kind."""
    rng = random.Random(f"{kind} {seed}")
    plain = kind != "straight" and rng.random() < 0.7
    return kernel_of(KINDS[kind](Programs(rng, plain=plain), rng))


def compare(kind: str, seed: int) -> set[bool]:
    """Compare the engines; return whether some runs had faults, and some had none."""
    kernel = harness.assemble(program(kind, seed), "pvc")
    cases = [Pairs(kernel, f"{kind} {seed} {one}", faults=faults)
             for one in range(2) for faults in (False, True)]  # fmt: skip
    return agree(kernel, cases)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", KINDS)
def test_pairs_do_what_both_halves_do(kind: str, seed: int) -> None:
    assert compare(kind, seed)


SUM = """
    lsc_load.ugm (M1, 32)  V50:d64  flat[V44]:a64
    mov (M1, 16) V51(0,0)<1> V50(0,0)<2;1,0>
    mov (M5, 16) V51(1,0)<1> V50({row},0)<2;1,0>
    mov (M1, 16) V52(0,1)<2> V51(0,0)<1;1,0>
    mov (M5, 16) V52(2,1)<2> V51(1,0)<1;1,0>
    mov (M1, 16) V52(0,0)<2> V50(0,1)<2;1,0>
    mov (M5, 16) V52(2,0)<2> V50(2,1)<2;1,0>
    add (M1, 32) V63(0,0)<1> V63(0,0)<1;1,0> V62(0,0)<1;1,0>
"""
"""Adds 64-bit elements whose dwords are exchanged, in a loop along rows."""


def sum_of_rows(row: int = 2) -> str:
    """Return a loop that adds such elements; their low dwords are those in the register `row`."""
    begin = f"LOOP:\n    add (M1, 32) V42(0,0)<1> V41{ALL} V46{ONE}\n" + _address(3)
    return kernel_of(begin + SUM.strip("\n").format(row=row) + "\n" + END_OF_ROW)


def test_halves_and_dwords_do_not_keep_a_loop_from_being_a_sweep() -> None:
    assert "sweep" in module_text(sum_of_rows())
    assert "sweep" not in module_text(sum_of_rows(1))


@pytest.mark.parametrize("row", [1, 2])
def test_sweeps_put_dwords_together(row: int) -> None:
    kernel = harness.assemble(sum_of_rows(row), "pvc")
    assert agree(kernel, [Pairs(kernel, f"{row} {one}", faults=False) for one in range(4)])


def _apart(to: str, source: int) -> str:
    """Return what writes the low and the high dwords of elements to the halves of a variable."""
    return "".join(
        f"    mov (M{4 * part + 1}, 16) {to}({2 * half + part},0)<1> V{source}({2 * part},{half})"
        "<2;1,0>\n"
        for half in (0, 1)
        for part in (0, 1)
    )


def _together(to: int) -> str:
    return "".join(
        f"    mov (M{4 * part + 1}, 16) V{to}({2 * part},{half})<2> V58({2 * half + part},0)"
        "<1;1,0>\n"
        for half in (0, 1)
        for part in (0, 1)
    )


XOR = f"""    xor (M1, 32) V58(0,0)<1> V56{LOW} V57{LOW}
    xor (M1, 32) V58(2,0)<1> V56{HIGH} V57{HIGH}
"""
PRODUCT = f"""    mul (M1, 32) V88(0,0)<1> V86{LOW} 0x1ce4e5b9:ud
    mulh (M1, 32) V88(2,0)<1> V86{LOW} 0x1ce4e5b9:ud
    mul (M1, 32) V59(0,0)<1> V56{LOW} 0x12345:d
    add (M1, 32) V58(2,0)<1> V58{HIGH} V59{LOW}
    mul (M1, 32) V59(0,0)<1> 0x1ce4e5b9:ud V56{HIGH}
    add (M1, 32) V58(2,0)<1> V58{HIGH} V59{LOW}
"""


@pytest.mark.parametrize(("word", "computed"), [("xor", XOR), ("mul", PRODUCT)])
@pytest.mark.parametrize("wrong", [False, True])
def test_numbers_are_computed_at_once(word: str, computed: str, *, wrong: bool) -> None:
    """If the high dword is not that of the same operation, both are computed apart."""
    if wrong:
        computed = computed.replace(f"V56{HIGH}", f"V56{LOW}")
    text = kernel_of(_apart("V56", 50) + _apart("V57", 51) + computed + _together(52))
    written = module_text(text)
    assert f"{word} <32 x i64>" in written or wrong
    kernel = harness.assemble(text, "pvc")
    assert agree(kernel, [Pairs(kernel, f"{word} {one}", faults=False) for one in range(2)])


BOTH = f"""    cmp.{{relation}} (M1, 32) P1 V58{LOW} 0x5:d
    cmp.{{relation}} (M1, 32) P2 V58{HIGH} 0x0:d
    {{both}} (M1, 32) P2 P2 P1
"""
LEAVE = "    (P2) goto (M1, 32) DONE\nSTAY:\n"


@pytest.mark.parametrize(
    ("relation", "both", "found"), [("eq", "and", True), ("ne", "or", True), ("eq", "or", False)]
)
def test_numbers_are_compared_at_once(relation: str, both: str, *, found: bool) -> None:
    """Two numbers are the same if both dwords are; else others are looked at."""
    compared = BOTH.format(relation=relation, both=both)
    text = kernel_of(_apart("V56", 50) + _apart("V57", 51) + XOR + compared + LEAVE + _together(52))
    written = module_text(text)
    assert (f"icmp {relation} <32 x i64>" in written) == found
    assert "xor <32 x i64>" in written
    kernel = harness.assemble(text, "pvc")
    assert agree(kernel, [Pairs(kernel, f"{both} {one}", faults=False) for one in range(4)])


@pytest.mark.parametrize("relation", ["lt", "le", "gt", "ge"])
@pytest.mark.parametrize(("kind", "predicate"), [("V5", "slt"), ("V8", "ult")])
def test_numbers_are_ordered_at_once(relation: str, kind: str, predicate: str) -> None:
    """The high dwords may have signs, the low ones have none."""
    compared = f"""    cmp.{relation} (M1, 32) P1 V88{LOW} V87{LOW}
    cmp.eq (M1, 32) P2 V58{HIGH} V57{HIGH}
    and (M1, 32) P2 P2 P1
    cmp.{relation[0]}t (M1, 32) P1 {kind}8{HIGH} {kind}7{HIGH}
    or (M1, 32) P1 P1 P2
    (P1) sel (M1, 32) V53(0,0)<1> 0x1:d 0x0:d
"""
    text = kernel_of(_apart("V56", 50) + _apart("V57", 51) + XOR + compared)
    found = predicate if relation.endswith("t") else predicate.replace("t", "e")
    assert f"icmp {found} <32 x i64>" in module_text(text)
    kernel = harness.assemble(text, "pvc")
    assert agree(kernel, [Pairs(kernel, f"{relation} {one}", faults=False) for one in range(4)])


@pytest.mark.parametrize("entered", [False, True])
def test_numbers_go_on_in_a_block_that_only_one_enters(*, entered: bool) -> None:
    """Where control comes from elsewhere, their dwords may be others."""
    again = "    (P2) goto (M1, 32) STAY\n" if entered else ""
    count = f"    add (M1_NM, 1) V46(0,0)<1> V46{ONE} 0x1:w\n" + (
        f"    cmp.lt (M1_NM, 32) P2 V46{ONE} 0x3:w\n"
    )
    body = _apart("V56", 50) + _apart("V57", 51) + XOR + LEAVE
    text = kernel_of(body + _together(52) + count + XOR.replace("V56", "V57") + again)
    assert ("xor <32 x i64>" in module_text(text)) != entered
    kernel = harness.assemble(text, "pvc")
    assert agree(kernel, [Pairs(kernel, f"{entered} {one}", faults=False) for one in range(4)])


@pytest.mark.parametrize(("between", "found"), [("V63", True), ("V62", False)])
def test_dwords_may_be_written_one_long_after_the_other(between: str, *, found: bool) -> None:
    """If nobody looks at what is written first before the other one is, both are at once."""
    low, high = (_together(52).splitlines(keepends=True)[2 * n : 2 * n + 2] for n in (0, 1))
    add = f"    add (M1, 32) V65(0,0)<1> {between}{ALL} V65{ALL}\n"
    text = kernel_of(_apart("V56", 50) + _apart("V57", 51) + XOR + "".join([*low, add, *high]))
    assert ("xor <32 x i64>" in module_text(text)) == found
    kernel = harness.assemble(text, "pvc")
    assert agree(kernel, [Pairs(kernel, f"{between} {one}", faults=False) for one in range(2)])


@pytest.mark.parametrize("changed", [50, 51, 55])
def test_numbers_are_what_they_were_when_their_dwords_were_read(changed: int) -> None:
    between = f"    add (M1, 32) V{changed + 10}(0,0)<1> V65{ALL} V65{ALL}\n"
    text = kernel_of(_apart("V56", 50) + _apart("V57", 51) + XOR + between + _together(52))
    assert ("xor <32 x i64>" in module_text(text)) == (changed == 55)
    kernel = harness.assemble(text, "pvc")
    assert agree(kernel, [Pairs(kernel, f"{changed} {one}", faults=False) for one in range(2)])


def _constant_dwords(lanes: int) -> str:
    return f"""    mov (M1, {lanes}) V53(0,0)<1> 0x5:d
    mov (M1, {lanes}) V55(0,0)<1> 0x6:d
    and (M1, {lanes}) V53(0,0)<1> V53(0,0)<1;1,0> V55(0,0)<1;1,0>
    mov (M1, {lanes}) V54(0,0)<2> V53(0,0)<1;1,0>
    mov (M1, {lanes}) V54(0,1)<2> 0x0:d
"""


LEFT_IN_FEWER_LANES = f"""    mov (M1, 8) V53(0,0)<1> 0x5:d
    mov (M1, 16) V52(0,0)<2> 0x5:d
    asr (M1, 16) V52(0,1)<2> 0x5:d 0x1f:d
{_constant_dwords(8).replace("V54", "V51")}{_constant_dwords(16)}"""


@pytest.mark.parametrize(
    "body", [LEFT_IN_FEWER_LANES, _constant_dwords(16) + _constant_dwords(8).replace("V54", "V51")]
)
def test_what_constants_make_may_stand_in_rows_of_other_lanes(body: str) -> None:
    kernel = harness.assemble(kernel_of(body), "pvc")
    assert agree(kernel, [Pairs(kernel, f"{one}", faults=False) for one in range(2)])
