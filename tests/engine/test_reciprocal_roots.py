"""Reciprocal square roots: every kind of number in every mode, and how exact the usual ones are."""

from __future__ import annotations

import numpy as np
import pytest

from visim.engine.jit.emit.module import ModuleWriter
from visim.engine.jit.writing.versions import Version

from . import harness

LANES = 32
UNSIGNED = {np.float32: np.uint32, np.float16: np.uint16}
KEEPS = {np.float32: 0x80, np.float16: 0x400}
MODES = 0x4F1
"""The bits of %cr0 that choose how floats are rounded, and whether in the ALT mode."""

TEXT = """.version 4.1
.kernel "k"
.decl V40 v_type=G type=f num_elts=32 align=wordx32
.kernel_attr SimdSize=32
.function "k"
k:
    rsqrt (M1, 32) V40(0,0)<1> V40(0,0)<1;1,0>
    ret (M1, 1)
"""

SIGN = {np.float32: 0x80000000, np.float16: 0x8000}
KINDS = {
    np.float32: (
        *(0x3F800000, 0x40800000, 0x00800000, 0x00800001, 0x7E7FFFFF, 0x7E800000, 0x7F7FFFFF),
        *(0x00000000, 0x00000001, 0x00400000, 0x007FFFFF, 0x7F800000, 0x7FC00000, 0x7F800001),
    ),
    np.float16: (
        *(0x3C00, 0x4400, 0x0400, 0x0401, 0x6C00, 0x7BFF, 0x1234),
        *(0x0000, 0x0001, 0x0200, 0x03FF, 0x7C00, 0x7E00, 0x7C01),
    ),
}
"""Numbers, then zero, denormals, infinity and NaN: bits without the sign."""


def control(bits: int) -> str:
    return (
        f"and (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> {~MODES & 0xFFFFFFFF:#x}:ud\n"
        f"or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> {bits:#x}:ud\n"
    )


def all_kinds(kind: type) -> np.ndarray:
    """Return every kind of number with both signs, and some more, for all lanes."""
    bits = np.array(KINDS[kind], np.uint32)
    more = np.array(KINDS[kind][: LANES - 2 * len(bits)], np.uint32)
    return np.concatenate([bits, bits | SIGN[kind], more]).astype(UNSIGNED[kind]).view(kind)


def exact(source: np.ndarray, *, flushes: bool, is_alternate: bool) -> np.ndarray:
    """Return the exact results as doubles."""
    kind = source.dtype.type
    with np.errstate(all="ignore"):
        x = source.astype(np.float64)
        if flushes:
            x = np.where(np.abs(x) < np.finfo(kind).tiny, np.copysign(0.0, x), x)
        if is_alternate:
            x = np.abs(x)
        found = 1.0 / np.sqrt(x)
    return np.minimum(found, float(np.finfo(kind).max)) if is_alternate else found


def check(found: np.ndarray, wanted: np.ndarray) -> None:
    """Check that results are within 0.51 ULP of exact ones, and others the same."""
    usual = np.isfinite(wanted) & (wanted > 0)
    _, exponent = np.frexp(wanted[usual])
    unit = np.ldexp(1.0, exponent - np.finfo(found.dtype).nmant - 1)
    assert np.all(np.abs(found[usual].astype(np.float64) - wanted[usual]) <= 0.51 * unit)
    unsigned = UNSIGNED[found.dtype.type]
    others = np.where(np.isnan(wanted), np.nan, wanted)[~usual].astype(found.dtype)
    assert found[~usual].view(unsigned).tolist() == others.view(unsigned).tolist()


@pytest.mark.parametrize("rounding", range(4))
@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("alternate", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_number_in_every_mode(
    kind: type, alternate: bool, keeps: bool, rounding: int
) -> None:
    source = all_kinds(kind)
    predicate, mask = 0x5A5AF3C9, 0x7FFFFFFF
    found = harness.run(
        control(alternate | rounding << 4 | keeps * KEEPS[kind])
        + "rsqrt (M1, 32) V40(0,0)<1> V41(0,0)<1;1,0>\n"
        "(P1) rsqrt (M1, 32) V42(0,0)<1> V41(0,0)<1;1,0>",
        {"V40": np.ones(LANES, kind), "V41": source, "V42": np.full(LANES, 7, kind)},
        {"P1": predicate},
        simd=LANES,
        platform="pvc",
        mask=mask,
    )
    is_alternate = alternate and kind is np.float32
    wanted = exact(source, flushes=is_alternate or not keeps, is_alternate=is_alternate)
    on = np.array([mask >> lane & 1 for lane in range(LANES)], bool)
    check(found["V40"][on], wanted[on])
    assert np.all(found["V40"][~on] == 1)
    chosen = on & np.array([predicate >> lane & 1 for lane in range(LANES)], bool)
    check(found["V42"][chosen], wanted[chosen])
    assert np.all(found["V42"][~chosen] == 7)


def test_the_bound_holds_for_many_numbers() -> None:
    """Those of two binades tell all: results are alike but for their exponents."""
    rng = np.random.default_rng(11)
    bits = np.concatenate(
        [
            np.linspace(0x3F800000, 0x407FFFFF, 1024).astype(np.uint32),
            rng.integers(0x7E000000, 0x7F800000, 256, dtype=np.uint32),
            rng.integers(0x00000001, 0x00800000, 256, dtype=np.uint32),
            rng.integers(0x00780000, 0x01000000, 256, dtype=np.uint32),
            rng.integers(0x00800000, 0x7F800000, 256, dtype=np.uint32),
        ]
    )
    source = bits.view(np.float32)
    rows = [2 * number for number in range(source.size // LANES)]
    found = harness.run(
        control(KEEPS[np.float32])
        + "\n".join(f"rsqrt (M1, 32) V40({row},0)<1> V41({row},0)<1;1,0>" for row in rows),
        {"V40": np.zeros(source.size, np.float32), "V41": source},
        simd=LANES,
        platform="pvc",
    )["V40"]
    check(found, exact(source, flushes=False, is_alternate=False))


def test_roots_and_quotients_stand_behind_a_branch() -> None:
    kernel = harness.assemble(TEXT, "pvc")
    text = ModuleWriter(kernel.linked, Version(full=True, slm_bytes=0)).write().text
    before, _, behind = text.partition("\nrare.")
    assert "@llvm.sqrt" not in before.partition("define")[2]
    assert "@llvm.sqrt" in behind
