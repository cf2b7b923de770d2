"""Single mutations of vISA texts: one place is changed, as a mistaken author or compiler might."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass

from tests.corpus.pairs import Dump, dumps

LONGEST_BASE = 12_000
"""Characters of a text that is mutated: short ones are quick to assemble."""


@dataclass(frozen=True)
class Mutation:
    """Line `line` (1-based) of the dump `base` becomes `replacement`; None leaves it out."""

    base: str
    kind: str
    line: int
    replacement: str | None

    def apply(self, text: str) -> str:
        """Return the mutated text."""
        lines = text.split("\n")
        lines[self.line - 1 : self.line] = [] if self.replacement is None else [self.replacement]
        return "\n".join(lines)


Change = Callable[[random.Random, str], str | None]


def _swap(pattern: str, *choices: str) -> Change:
    """Return the change of one match of `pattern` into one of `choices`."""
    compiled = re.compile(pattern)

    def change(rng: random.Random, line: str) -> str | None:
        matches = list(compiled.finditer(line))
        if not matches:
            return None
        match = rng.choice(matches)
        return line[: match.start()] + match.expand(rng.choice(choices)) + line[match.end() :]

    return change


_ROWS = r"(V\d+)\(\d+,\d+\)"
_OPS_TWO = ("add", "mul", "and", "or", "xor", "shl", "shr", "asr", "avg", "min", "max", "mulh",
            "div", "mod", "rol", "pow", "dp2")  # fmt: skip
_OPS_ONE = ("mov", "not", "frc", "rndd", "inv", "sqrt", "lzd", "fbh", "bfrev", "cbit", "exp")
_OPS_THREE = ("mad", "bfe", "dp4a", "add3", "lrp", "sad2add")
CHANGES: dict[str, Change] = {
    "execution size": _swap(
        r"\((M\d(?:_NM)?), \d+\)", *(rf"(\1, {n})" for n in (1, 2, 4, 8, 16, 32))
    ),
    "mask offset": _swap(r"\(M\d(_NM)?, ", *(rf"(M{n}\1, " for n in range(1, 9))),
    "no mask": _swap(r"\((M\d)(_NM)?, ", r"(\1, ", r"(\1_NM, "),
    "source region": _swap(
        r"<\d+;\d+,\d+>", "<16;8,2>", "<8;8,1>", "<1;1,0>", "<32;16,4>", "<0;8,1>", "<4;4,1>",
        "<16;16,1>", "<2;1,0>", "<0;1,0>", "<8;4,2>",
    ),
    "destination stride": _swap(r"<1>(?= )", "<0>", "<2>", "<4>"),
    "row": _swap(_ROWS, *(rf"\1({n},0)" for n in (1, 2, 7, 63, 200))),
    "column": _swap(_ROWS, *(rf"\1(0,{n})" for n in (1, 3, 8, 15, 31))),
    "modifier": _swap(r"(?<= )(V\d+\()", r"(-)\1", r"(abs)\1", r"(~)\1", r"(-abs)\1"),
    "saturation": _swap(r"^( *(?:\([^)]*\) )?)([a-z]+)( \(M)", r"\1\2.sat\3"),
    "immediate's type": _swap(
        r"(0x[0-9a-f]+):\w+", *(rf"\1:{n}" for n in ("d", "ud", "w", "b", "f", "q", "v"))
    ),
    "instruction of one source": _swap(
        rf"\b({'|'.join(_OPS_ONE)})(?= \(M\d(?:_NM)?, \d+\) V)", *_OPS_ONE
    ),
    "instruction of two sources": _swap(
        rf"\b({'|'.join(_OPS_TWO)})(?= \(M\d(?:_NM)?, \d+\) V)", *_OPS_TWO
    ),
    "instruction of three sources": _swap(rf"\b({'|'.join(_OPS_THREE)})(?= \(M)", *_OPS_THREE),
    "predicate": _swap(r"\(!?P\d+\)", "(P200)", "(P1.any)", "(!P1)", "(P2)"),
    "element type": _swap(
        r"(v_type=G type=)\w+", *(rf"\1{n}" for n in ("ub", "w", "ud", "f", "q", "hf", "df", "bf"))
    ),
    "number of elements": _swap(r"num_elts=\d+", *(f"num_elts={n}" for n in (0, 1, 3, 5000, 8))),
    "alignment": _swap(r"align=\w+", "align=byte", "align=GRF", "align=word"),
    "alias offset": _swap(r"(alias=<[%\w]+, )\d+", r"\g<1>1", r"\g<1>3", r"\g<1>6000", r"\g<1>32"),
    "input offset": _swap(r"offset=\d+", "offset=33", "offset=64", "offset=9000", "offset=60"),
    "input size": _swap(r"(?<=\d )size=\d+", "size=1", "size=12", "size=64", "size=7"),
    "attribute": _swap(
        r"(\.kernel_attr )(\w+)=\w+", r"\1SimdSize=12", r"\1SLMSize=0", r"\1\2=255", r"\1Unknown=1"
    ),
    "label": _swap(r"(goto \(M\d, \d+\)) \w+", r"\1 nowhere", r"call (M1, 16) nowhere"),
    "branch": _swap(r"goto \(M\d, \d+\)", "jmp (M1_NM, 1)", "call (M1, 16)", "goto (M1, 1)"),
    "data of messages": _swap(r":d(8|16|32|64)(c32)?(x\d+)?t? ", ":d8 ", ":d64x8t ", ":d32x5 ",
                              ":d64 ", ":d16x2 ", ":d32x64t "),
    "address size": _swap(r":a(64|32)", ":a16", ":a32", ":a64"),
    "address model": _swap(r"flat\[", "bti(0x4)[", "ss(V32)[", "bss(V32)["),
    "cache controls": _swap(
        r"\.(df|ca|uc|wb)\.(df|ca|uc|wb)", ".ca.ca", ".wb.wb", ".ri.ca", ".uc.uc"
    ),
    "order of bytes": _swap(
        r"svm_(gather|scatter)(4scaled)?\.\d\.\d", r"svm_\1\2.4.8", r"svm_\1\2.1.4"
    ),
    "surface": _swap(r" T\d+ ", " T0 ", " T99 ", " %scratch "),
    "what is left out": _swap(r"^.*(ret|\.decl|\.input|mov|:$).*$", ""),
    "name": _swap(r"V00\d\d", "V9999", "mov", "A0"),
}  # fmt: skip


def bases() -> list[Dump]:
    """Return the dumps that are mutated: short kernels that need no functions."""
    return [
        dump
        for dump in dumps()
        if len(dump.text) < LONGEST_BASE and ".kernel " in dump.text and "funcdecl" not in dump.text
    ]


def mutations(seed: int, each: int) -> list[Mutation]:
    """Return at most `each` mutations of every kind; the same ones for the same seed."""
    rng = random.Random(seed)
    places = [
        (base.name, number, line)
        for base in bases()
        for number, line in enumerate(base.text.split("\n"), 1)
        if line.strip() and not line.startswith(("//", ".version", ".kernel "))
    ]
    rng.shuffle(places)
    found: list[Mutation] = []
    for kind, change in CHANGES.items():
        made: dict[str, Mutation] = {}
        for base, number, line in places:
            changed = change(rng, line)
            if changed is None or changed == line or changed in made:
                continue
            made[changed] = Mutation(base, kind, number, changed or None)
            if len(made) == each:
                break
        found += made.values()
    return found
