"""Meanings are shown as lines that people can read."""

from __future__ import annotations

import pytest

from tests.unit.binary.objects import HEAD, PVC
from visim.diag import Source
from visim.isa import trace
from visim.sem.render import render
from visim.text import parse_text

LINES = [
    ("mov (M1_NM, 8) V40(0,0)<1> 0x7:ud", ["V40:ud = 7"]),
    (
        "(!P1) add (M1, 8) V40(0,0)<1> V41(0,0)<1;1,0> V42(1,0)<1;1,0>",
        ["V40:ud = (V41:ud + V42+64:ud)  where (active & ~predicate(P1, 0))"],
    ),
    (
        "addc (M1, 8) V40(0,0)<1> V41(0,0)<1> V42(0,0)<1;1,0> V43(0,0)<1;1,0>",
        [
            "t1 = (V42:ud + V43:ud)",
            "V40:ud = t1  where active",
            "V41:ud = ((t1 < V42:ud) ? 1 : 0)  where active",
        ],
    ),
    ("cmp.lt (M1, 8) P1 V40(0,0)<1;1,0> 0x2:ud", ["P1 = (V40:ud < 2)  where active"]),
    (
        "lsc_load.ugm (M1, 8) V40:d32 flat[V41+0x10]:a64",
        [
            "m1: Load(space=flat, addresses=(V41:uq + 16), type=ud, components=1)  where active",
            "V40:ud = m1.0  where active",
        ],
    ),
    ("barrier", ["m1: Barrier()"]),
]


@pytest.mark.parametrize(("line", "shown"), LINES)
def test_an_instruction_is_shown(line: str, shown: list[str]):
    module, _findings = parse_text(Source("line", f"{HEAD}\n{line}\n"))
    assert render(trace(module.units[0].body[0], PVC)) == shown
