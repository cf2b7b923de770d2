"""Bits of two values, put together in some channels of one of them, are those that constants say.

LLVM 22 makes one masked instruction of AVX-512 of this, with the wrong operands, if the constant
is in memory; the JIT keeps it from that.
"""

from __future__ import annotations

import numpy as np
import pytest

from . import harness

MASKS = (0x7FFFFFFF, 0x0FF0FF0F, 0xFF, 0xFFFF0000, 0xF, 0xC0000000)
LANES = 16
CHOSEN = 0xA5C3
BODY = """
    mul (M1, 16) V42(0,0)<1> V41(0,0)<1;1,0> 0x3:ud
    and (M1, 16) V43(0,0)<1> {first}(0,0)<1;1,0> {mask:#x}:ud
    and (M1, 16) V44(0,0)<1> {second}(0,0)<1;1,0> {others:#x}:ud
    (P1) or (M1, 16) {target}(0,0)<1> {a}(0,0)<1;1,0> {b}(0,0)<1;1,0>
    mov (M1, 16) V43(0,0)<1> 0x0:ud
    mov (M1, 16) V44(0,0)<1> 0x0:ud
"""
FIELD = """
    mul (M1, 16) V42(0,0)<1> V41(0,0)<1;1,0> 0x3:ud
    (P1) bfi (M1, 16) {target}(0,0)<1> {width:#x}:ud {offset:#x}:ud V42(0,0)<1;1,0> V40(0,0)<1;1,0>
"""


def given() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    return {
        f"V{40 + n}": rng.integers(0, 1 << 32, LANES, dtype=np.uint64).astype(np.uint32)
        for n in range(5)
    }


def put(base: np.ndarray, value: np.ndarray, mask: int, before: np.ndarray) -> np.ndarray:
    """Return the bits of `value` that a mask chooses and the others of `base`, in some channels."""
    found = value & np.uint32(mask) | base & np.uint32(~mask & 0xFFFFFFFF)
    return np.where([CHOSEN >> n & 1 for n in range(LANES)], found, before)


@pytest.mark.parametrize("order", [("V43", "V44"), ("V44", "V43")])
@pytest.mark.parametrize("target", ["V40", "V42"])
@pytest.mark.parametrize("mask", MASKS)
def test_bits_that_constants_choose(mask: int, target: str, order: tuple[str, str]) -> None:
    values = given()
    value = values["V41"] * np.uint32(3)
    for first, second in (("V42", "V40"), ("V40", "V42")):
        sides = {"V40": values["V40"], "V42": value}
        body = BODY.format(
            first=first,
            second=second,
            mask=mask,
            others=~mask & 0xFFFFFFFF,
            target=target,
            a=order[0],
            b=order[1],
        )
        found = harness.run(body, values, {"P1": CHOSEN}, platform="pvc")
        expected = put(sides[second], sides[first], mask, sides[target])
        assert found[target].tolist() == expected.tolist()


@pytest.mark.parametrize("target", ["V40", "V42"])
@pytest.mark.parametrize(("width", "offset"), [(3, 0), (8, 4), (31, 0), (13, 9)])
def test_bits_of_a_field(width: int, offset: int, target: str) -> None:
    values = given()
    value = values["V41"] * np.uint32(3)
    body = FIELD.format(target=target, width=width, offset=offset)
    found = harness.run(body, values, {"P1": CHOSEN}, platform="pvc")
    mask = (1 << width) - 1 << offset
    before = values["V40"] if target == "V40" else value
    expected = put(values["V40"], value << np.uint32(offset), mask, before)
    assert found[target].tolist() == expected.tolist()


WIDE = """
    add (M1, {lanes}) V42(0,0)<1> V41(0,0)<1;1,0> 0x3:uq
    and (M1, {lanes}) V43(0,0)<1> V42(0,0)<1;1,0> 0x7fffffffffffffff:uq
    and (M1, {lanes}) V44(0,0)<1> V40(0,0)<1;1,0> 0x8000000000000000:uq
    (P1) or (M1, {lanes}) V42(0,0)<1> V44(0,0)<1;1,0> V43(0,0)<1;1,0>
    mov (M1, {lanes}) V43(0,0)<1> 0x0:uq
    mov (M1, {lanes}) V44(0,0)<1> 0x0:uq
"""


@pytest.mark.parametrize("lanes", [2, 4, 8, 16])
def test_signs_of_wide_numbers(lanes: int) -> None:
    rng = np.random.default_rng(lanes)
    values = {f"V{40 + n}": rng.integers(0, 1 << 63, lanes, dtype=np.uint64) * 2 for n in range(5)}
    value = values["V41"] + np.uint64(3)
    found = harness.run(WIDE.format(lanes=lanes), values, {"P1": CHOSEN}, platform="pvc")
    signs = np.uint64(1 << 63)
    mixed = value & ~signs | values["V40"] & signs
    expected = np.where([CHOSEN >> n & 1 for n in range(lanes)], mixed, value)
    assert found["V42"].tolist() == expected.tolist()
