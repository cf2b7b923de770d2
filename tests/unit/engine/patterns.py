"""Bit patterns of floats, special ones above all."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from tests.model import floats as model


@cache
def special_patterns(f: model.Format) -> list[int]:
    """The numbers where formats change their behaviour, with both signs."""
    powers = [e << f.fraction_bits for e in range(1, (1 << f.exponent_bits) - 1)]
    around = [p + d for p in powers for d in (-1, 0, 1)]
    magnitudes = [
        0, 1, 2, 3, f.least_normal - 1, f.least_normal, f.least_normal + 1,
        f.greatest - 1, f.greatest, f.infinity, f.nan, f.nan | 1, f.infinity | 1,
        f.one, f.one - 1, f.one + 1, f.one | f.quiet, f.one + f.least_normal,
    ]  # fmt: skip
    return [s | m for s in (0, f.sign_bit) for m in magnitudes * 8 + around]


@cache
def patterns(f: model.Format) -> st.SearchStrategy[int]:
    """Bit patterns: special ones, ones with few significant bits, arbitrary ones."""
    bit = st.integers(0, f.fraction_bits)
    sparse = st.one_of(
        st.builds(lambda k: (1 << k) >> 1, bit),
        st.builds(lambda k: (1 << k) - 1, bit),
        st.builds(lambda k, m: ((1 << k) | (1 << m)) >> 1, bit, bit),
        st.builds(lambda k: (1 << f.fraction_bits) - (1 << k), bit),
    )
    exponent = st.integers(0, (1 << f.exponent_bits) - 2)
    few_bits = st.builds(
        lambda s, e, m: (s << (f.bits - 1)) | (e << f.fraction_bits) | m,
        st.integers(0, 1), exponent, sparse.filter(lambda m: m < (1 << f.fraction_bits)),
    )  # fmt: skip
    anything = st.integers(0, (1 << f.bits) - 1)
    return st.one_of(st.sampled_from(special_patterns(f)), few_bits, few_bits, anything)
