"""`div` and `mod` of integers are exact for all operands; division by zero gives all ones."""

from __future__ import annotations

import numpy as np
import pytest

from . import harness

LANES, ROWS = 32, 16
COUNT = LANES * ROWS
"""How many quotients a kernel computes."""


def numbers_of(bits: int, *, signed: bool) -> np.ndarray:
    """Return numbers near powers of two and thirds of them, pairs of which fill whole vectors."""
    near = {0, 1, 2, 3, 5, 7, 10, 100, 1000}
    for power in range(bits + 1):
        for number in (1 << power, (1 << power) // 3, 5 * (1 << power) // 7):
            near |= {number - 1, number, number + 1}
    numbers = np.array(sorted(near), np.int64).astype(f"u{bits // 8}")
    return np.unique(numbers.view(f"i{bits // 8}") if signed else numbers)


def pairs(bits: int, *, signed: bool) -> tuple[np.ndarray, np.ndarray]:
    numbers, kind = (
        numbers_of(bits, signed=signed),
        np.dtype(f"{'i' if signed else 'u'}{bits // 8}"),
    )
    rng = np.random.default_rng(bits)
    n, d = (one.ravel() for one in np.meshgrid(numbers, numbers))
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    k = rng.integers(low, high, n.size, kind, endpoint=True)
    near = k * (d | 1) - rng.integers(0, 2, n.size).astype(kind)
    n, d = np.concatenate([n, k, near]), np.concatenate([d, d, d | 1])
    rest = -n.size % COUNT
    return np.append(n, n[:rest]).reshape(-1, COUNT), np.append(d, d[:rest]).reshape(-1, COUNT)


def divisions(bits: int, region: str, *, signed: bool) -> harness.Kernel:
    """Return a kernel that divides V40 by V41, of which it reads regions of a kind."""
    kind = ("" if signed else "u") + {8: "b", 16: "w", 32: "d"}[bits]
    lines = [".version 4.1", '.kernel "k"']
    lines += [
        f".decl V{number} v_type=G type={kind} num_elts={COUNT} align=wordx32"
        for number in (40, 41, 42, 43)
    ]
    lines += [f".kernel_attr SimdSize={LANES}", '.function "k"', "k:"]
    for row in range(ROWS):
        at = f"({row * bits // 8},0)"
        for name, place in (("div", "V42"), ("mod", "V43")):
            operands = f"V40{at}<1;1,0> V41{at}{region}"
            lines.append(f"    {name} (M1, {LANES}) {place}{at}<1> {operands}")
    return harness.assemble("\n".join([*lines, "    ret (M1, 1)", ""]), "tgllp")


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("signed", [False, True])
def test_quotients_and_remainders_are_exact(
    bits: int, *, signed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness.CHOSEN, "engine", harness.ENGINES["jit"])
    kernel = divisions(bits, "<1;1,0>", signed=signed)
    for n, d in zip(*pairs(bits, signed=signed), strict=True):
        check(kernel, n, d)


@pytest.mark.parametrize("signed", [False, True])
def test_one_divisor_for_all_divides_exactly(
    *, signed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness.CHOSEN, "engine", harness.ENGINES["jit"])
    kernel = divisions(32, "<0;1,0>", signed=signed)
    for n, d in zip(*pairs(32, signed=signed), strict=True):
        one = d[0]
        with np.errstate(over="ignore"):
            near = np.where(np.arange(COUNT) % 2, n, n // (one or 1) * one - (n & 1))
        check(kernel, near, np.full_like(d, one))


def check(kernel: harness.Kernel, n: np.ndarray, d: np.ndarray) -> None:
    """Compare what a kernel makes of numbers with Python's integers."""
    nothing = np.zeros_like(n)
    found = kernel.run({"V40": n, "V41": d, "V42": nothing, "V43": nothing})
    wide, divisor = n.astype(np.int64), np.where(d == 0, 1, d).astype(np.int64)
    q = np.sign(wide) * np.sign(divisor) * (np.abs(wide) // np.abs(divisor))
    r = wide - q * divisor
    for place, wanted in (("V42", q), ("V43", r)):
        whole = np.where(d == 0, -1, wanted).astype(np.int64).astype(n.dtype)
        assert np.array_equal(found[place], whole), (n, d)
