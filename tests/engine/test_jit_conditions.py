"""Conditions that code keeps in registers give what they give when they are computed one by one.

Kernels compare a row of numbers with numbers, keep what comes out in registers or predicates, join
it by selection, change its sign and width, and compare it with zero.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from visim.engine.jit.analysis.truths import Truths
from visim.sem.effects import RegisterWrite

from . import harness

CASES = 12
LANES = 32
ROW = 42
"""An input that counts up, as local ids do."""
LIMITS = 41
KEPT = range(50, 58)
"""Registers with conditions; W and Q ones stand beside those of D."""

HEAD = f"""
.version 4.1
.kernel "k"
.decl V{LIMITS} v_type=G type=d num_elts=4 align=wordx32
.decl V{ROW} v_type=G type=uw num_elts={LANES} align=wordx32
.decl V43 v_type=G type=d num_elts={LANES} align=wordx32
"""


def declarations() -> str:
    lines = [HEAD.strip()]
    for number in KEPT:
        for kind, name in (("d", number), ("w", number + 10), ("ud", number + 20)):
            lines.append(f".decl V{name} v_type=G type={kind} num_elts={LANES} align=wordx32")
    lines += [f".decl P{number} v_type=P num_elts={LANES}" for number in (1, 2, 3)]
    lines += [f".input V{ROW} offset=64 size={2 * LANES}", f".input V{LIMITS} offset=128 size=16"]
    return "\n".join([*lines, f".kernel_attr SimdSize={LANES}", '.function "k"', "k:", ""])


def instruction(draw: random.Random, size: int, half: int) -> str:
    """Return a line for `size` channels from `half` on, in one of the ways to keep conditions."""
    place, channels = (
        f"({2 * half // size if size == 16 else 0},0)",
        f"(M{1 + 4 * half // 16}, {size})",
    )
    words = "(1,0)" if half else "(0,0)"
    a, b, c = (draw.choice(KEPT) for _ in range(3))
    predicate, row = draw.choice((1, 2, 3)), f"{place}<1;1,0>"
    sign, flip = draw.choice(("", "(-)")), draw.choice(("", "!"))
    relation = draw.choice(("eq", "ne", "lt", "le", "gt", "ge"))
    limit = f"V{LIMITS}(0,{draw.randrange(4)})<0;1,0>"
    number = draw.choice(("0x0:d", "0x1:d", "0x100:d", "0xffffffff:d"))
    return "    " + draw.choice(
        (
            f"cmp.{relation} {channels} V{a}{place}<1> V43{row} {limit}",
            f"cmp.{relation} {channels} V{a}{place}<1> V43{row} {limit}",
            f"cmp.{relation} {channels} P{predicate} V43{row} {limit}",
            f"cmp.{draw.choice(('eq', 'ne'))} {channels} P{predicate} V{b}{row} 0x0:d",
            f"cmp.{draw.choice(('eq', 'ne'))} {channels} V{a}{place}<1> 0x0:d V{b}{row}",
            f"({flip}P{predicate}) sel {channels} V{a}{place}<1> {sign}V{b}{row} V{c}{row}",
            f"({flip}P{predicate}) sel {channels} V{a}{place}<1> {sign}V{b}{row} {number}",
            f"({flip}P{predicate}) mov {channels} V{a}{place}<1> {sign}V{b}{row}",
            f"mov {channels} V{a + 10}{words}<1> {sign}V{b}{row}",
            f"mov {channels} V{a + 20}{place}<1> V{b + 10}{words}<1;1,0>",
            f"mov {channels} V{a}{place}<1> {sign}V{b + 20}{row}",
            f"({flip}P{predicate}) add {channels} V{a}{place}<1> V{b}{row} {number}",
        )
    )


def program(seed: int) -> str:
    draw = random.Random(seed)
    lines = [f"    mov (M1, {LANES}) V43(0,0)<1> V{ROW}(0,0)<1;1,0>"]
    for _ in range(40):
        size = draw.choice((16, 32))
        halves = (0, 16) if size == 16 else (0,)
        state = draw.getstate()
        for half in halves:
            if draw.random() < 0.8:
                draw.setstate(state)
            lines.append(instruction(draw, size, half))
    return declarations() + "\n".join([*lines, "    ret (M1, 1)", ""])


def inputs(draw: random.Random) -> dict[str, harness.Value]:
    """Return what a kernel starts with: a row, limits, and any numbers in other registers."""
    found: dict[str, harness.Value] = {
        f"V{ROW}": np.arange(LANES, dtype=np.uint16) + np.uint16(draw.choice((0, 5, 0xFFF0))),
        f"V{LIMITS}": np.array(draw.choices((0, 5, 11, -1, 70000), k=4), np.int32),
    }
    for number in KEPT:
        for kind, name in ((np.int32, number), (np.int16, number + 10), (np.uint32, number + 20)):
            values = draw.choices((0, 0, 1, 0x100, 0x7FFF), k=LANES)
            found[f"V{name}"] = np.array(values, kind)
    return found


@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0x7FFF0F01])
@pytest.mark.parametrize("seed", range(CASES))
def test_conditions_are_what_they_are_one_by_one(
    seed: int, mask: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(seed)
    kernel, given = harness.assemble(program(seed), "dg2"), inputs(draw)
    bits = {f"P{number}": draw.getrandbits(LANES) for number in (1, 2, 3)}
    wanted = kernel.run(given, bits, mask=mask)
    monkeypatch.setattr(harness.CHOSEN, "engine", harness.ENGINES_AND_STARTS[harness.NATIVELY])
    found = kernel.run(given, bits, mask=mask)
    assert found.predicates == wanted.predicates
    for name, value in wanted.values.items():
        assert np.array_equal(found[name], value), name


def test_the_jit_knows_such_conditions_as_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    known, note = list[RegisterWrite](), Truths.note

    def noted(truths: Truths, write: RegisterWrite, bits: str | None) -> None:
        if bits is not None:
            known.append(write)
        note(truths, write, bits)

    monkeypatch.setattr(Truths, "note", noted)
    monkeypatch.setattr(harness.CHOSEN, "engine", harness.ENGINES_AND_STARTS[harness.NATIVELY])
    lines = f"""
    mov (M1, 32) V43(0,0)<1> V{ROW}(0,0)<1;1,0>
    cmp.lt (M1, 32) V50(0,0)<1> V43(0,0)<1;1,0> V{LIMITS}(0,0)<0;1,0>
    cmp.gt (M1, 32) P1 V43(0,0)<1;1,0> V{LIMITS}(0,1)<0;1,0>
    (P1) sel (M1, 32) V51(0,0)<1> (-)V50(0,0)<1;1,0> 0x0:d
    cmp.ne (M1, 32) P2 V51(0,0)<1;1,0> 0x0:d
    ret (M1, 1)
"""
    given = {
        f"V{ROW}": np.arange(LANES, dtype=np.uint16),
        f"V{LIMITS}": np.array([20, 7, 0, 0], np.int32),
    }
    kernel = harness.assemble(declarations() + lines.lstrip("\n"), "dg2")
    assert kernel.run(given, {"P2": 0}).predicates["P2"] == 0x000FFF00
    assert len(known) == 4
