"""The small float formats BF8, HF8 and TF32, in integers (specification FCVT and SRND).

No vISA type is one of them: BF8 (1 sign, 5 exponent and 2 mantissa bits) is the upper half of an
HF and stands in a UB, HF8 (1, 4, 3) stands in a B, TF32 (1, 8, 10) is an F whose lower 13 bits
are zero and stands in a UD. HF8 has no infinity and one pattern of NaN, as in the OCP's E4M3.
"""

from __future__ import annotations

from visim.sem.expr import Expr, constant, node, select
from visim.sem.nearest import RNE
from visim.types import HF, UB, UD, UW, F

TF32_LOST = 13
"""Bits of an F that TF32 does not have."""
_HF_INFINITY = 0x7C00
_F_INFINITY = 0x7F80_0000
_LEAST_NORMAL_HF_IN_F = 0x3880_0000
_LEAST_BEYOND_HF_IN_F = 0x4780_0000
_HF8_NAN = 0x7F
_HF8_LARGEST = 0x7E
_HF8_LOST = 7


def half_to_bf8(a: Expr) -> Expr:
    """Round HF to the nearest BF8, ties to even; denormals are kept."""
    bits = a.bits_as(UW).to(UD)
    return _narrowed_half(bits, _nearest(bits, 8))


def bf8_to_half(a: Expr) -> Expr:
    """Return the value of a BF8 as HF, exactly."""
    return (a.to(UW) << 8).bits_as(HF)


def half_to_bf8_stochastic(a: Expr, random: Expr) -> Expr:
    """Add the low 8 bits of a random number to the mantissa of an HF and cut it to BF8."""
    bits = a.bits_as(UW).to(UD)
    return _narrowed_half(bits, (bits + (random & 0xFF)) >> 8)


def _narrowed_half(bits: Expr, rounded: Expr) -> Expr:
    """Return BF8 `rounded`, but of infinities and NaN of the HF `bits` themselves."""
    kept = bits >> 8
    size = bits & 0x7FFF
    kept = select(size.gt(_HF_INFINITY), kept | 2, kept)
    return select(size.ge(_HF_INFINITY), kept, rounded).to(UB)


def half_to_hf8(a: Expr) -> Expr:
    """Round HF to the nearest HF8, ties to even; infinities and what is too large give NaN."""
    bits = a.bits_as(UW).to(UD)
    size = bits & 0x7FFF
    # Exponents differ by 8. Below the least normal HF8, 2**-6, the step is 2**-9.
    normal = _nearest(size, _HF8_LOST) - (8 << 3)
    scaled = node("fmul", F, _value(size), constant(2.0**9, F, a.lanes), attribute=RNE)
    whole = node("rint", F, scaled, attribute=RNE)
    small = node("convert", UD, whole, attribute=RNE)
    found = select(size.lt((15 - 6) << 10), small, normal)
    found = select(found.gt(_HF8_LARGEST), constant(_HF8_NAN, UD, a.lanes), found)
    found = select(size.ge(_HF_INFINITY), constant(_HF8_NAN, UD, a.lanes), found)
    return (found | ((bits >> 8) & 0x80)).to(UB)


def hf8_to_half(a: Expr) -> Expr:
    """Return the value of an HF8 as HF, exactly."""
    bits = a.bits_as(UB).to(UD)
    size = bits & 0x7F
    mantissa = node("convert", F, size, attribute=RNE)
    small = node("fmul", F, mantissa, constant(2.0**-9, F, a.lanes), attribute=RNE)
    small = node("convert", HF, small, attribute=RNE).bits_as(UW).to(UD)
    found = select(size.lt(8), small, (size + (8 << 3)) << _HF8_LOST)
    found = select(size.eq(_HF8_NAN), constant(0x7E00, UD, a.lanes), found)
    return (found | ((bits & 0x80) << 8)).to(UW).bits_as(HF)


def single_to_tf32(a: Expr) -> Expr:
    """Round F to the nearest TF32, ties to even; denormals become zeros of their sign."""
    bits = a.bits_as(UD)
    size = bits & 0x7FFF_FFFF
    sign = bits & 0x8000_0000
    rounded = _nearest(size, TF32_LOST) << TF32_LOST
    quiet = (size | 0x40_0000) & 0x7FFF_E000
    found = select(size.gt(_F_INFINITY), quiet, rounded)
    found = select(size.lt(0x80_0000), constant(0, UD, a.lanes), found)
    return found | sign


def single_to_half_stochastic(a: Expr, random: Expr) -> Expr:
    """Add the low 13 bits of a random number to the mantissa of an F and cut it to HF.

    Denormals are kept; what is too large gives infinity.
    """
    bits = a.bits_as(UD)
    size = bits & 0x7FFF_FFFF
    moved = size + (random & 0x1FFF)
    normal = (moved >> 13) - (112 << 10)
    # A denormal HF is a multiple of 2**-24; the conversion cuts.
    scale = constant(2.0**24, F, a.lanes)
    scaled = node("fmul", F, moved.bits_as(F), scale, attribute=RNE)
    small = node("convert", UD, scaled, attribute=RNE)
    found = select(moved.lt(_LEAST_NORMAL_HF_IN_F), small, normal)
    infinity = constant(_HF_INFINITY, UD, a.lanes)
    found = select(moved.ge(_LEAST_BEYOND_HF_IN_F), infinity, found)
    found = select(size.gt(_F_INFINITY), constant(0x7E00, UD, a.lanes), found)
    return (found | ((bits >> 16) & 0x8000)).to(UW).bits_as(HF)


def _nearest(bits: Expr, lost: int) -> Expr:
    """Return `bits` without the lowest `lost` ones, rounded to nearest, ties to even."""
    return (bits + ((bits >> lost) & 1) + ((1 << lost - 1) - 1)) >> lost


def _value(size: Expr) -> Expr:
    """Return the value of an HF's bits without sign as F."""
    return node("convert", F, size.to(UW).bits_as(HF), attribute=RNE)
