"""Inexact mathematics of F and HF: exponent, logarithm, sine, cosine, power, sigmoids.

Nearly all compute in double precision and round once, so that errors stay close to half a unit in
the last place; the reciprocal square root corrects first values instead. The polynomials are
minimax fits; the bounds were measured against exact values (docs/numerics.md). HF goes through F.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from visim.sem.exactness import Exactness
from visim.sem.expr import Expr, node, seldom
from visim.sem.nearest import Nearest, choose, fused, multiply_and_add, nearest, polynomial
from visim.sem.tracer import Unexecutable
from visim.sem.uops import Role
from visim.types import DF, HF, UD, D, DataType, F, Q

METHOD = "computed in double precision, rounded once"
EXP = LOG = SIN = COS = POW = TANH = SIGM = Exactness(0.51, METHOD)
RSQRT = Exactness(0.51, "computed in single precision, its error corrected twice")

_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
_BIASED = 1.5 * 2.0**52 + 1023
_TWO_OVER_PI = float.fromhex("0x1.45f306dc9c883p-1")
_RSQRT_START, _RSQRT_STEP = 0x5F0B8000, 1.8915
_RSQRT_KEPT = 0x7FFFE000
_RSQRT_OTHERS = 0xBFA80000 - 2**32
_LOG2_E = float.fromhex("0x1.71547652b82fep+0")
_HALF_PI = tuple(map(float.fromhex, ("0x1.921fb5p+0", "0x1.110b46p-26", "0x1.1a62633145c07p-54")))


def canonical(a: Expr, role: Role = Role.SOURCE) -> Expr:
    """Return floats as CR0 lets sources or results be (specification 2, Floating Point Mode).

    Denormals are kept or flushed to zero. In the ALT mode infinite results become the greatest
    number of their sign, and a magnitude loses its sign.
    """
    return node("canonical", a.type, a, attribute=role)


def single_precision(
    function: Callable[..., Nearest], *sources: Expr, role: Role = Role.SOURCE
) -> Expr:
    """Apply a function of F values to F or HF sources; where it is NaN, it is the same NaN.

    The sources have the given role.
    """
    values = [_single(source, role) for source in sources]
    return _result(function(*values), sources[0].type)


def _single(source: Expr, role: Role) -> Nearest:
    """Return F or HF values as F, in a role."""
    if source.type not in {F, HF}:
        raise Unexecutable(f"this function of {source.type!r} values")
    return Nearest(canonical(source, role)).single()


def _result(result: Nearest, kind: DataType) -> Expr:
    """Return F values as a function's results of type `kind`."""
    number = choose(result.equals(result), result, result.constant(math.nan))
    return canonical(number.to(kind), Role.RESULT)


def exp2(x: Nearest) -> Nearest:
    """Return two to the power of F values."""
    return _exp2_core(_bounded(x).double()).single()


def log2(x: Nearest) -> Nearest:
    """Return the logarithm to the base two; -inf at zero, NaN below."""
    y = choose(x < math.inf, _log2_core(x).single(), x)
    y = choose(x < 0.0, math.nan, y)
    return choose(x.equals(0.0), -math.inf, y)


def power(x: Nearest, y: Nearest) -> Nearest:
    """Return the magnitude of x to the power of y, as exp2(y * log2(x)) in double precision."""
    magnitude = x.magnitude()
    log = choose(magnitude < math.inf, _log2_core(magnitude, contracts=False), magnitude.double())
    log = choose(magnitude.equals(0.0), -math.inf, log)
    return _exp2_core(_bounded(y.double() * log), contracts=False).single()


def sine(x: Nearest) -> Nearest:
    """Return the sine of radians."""
    r, quarter = _reduced(x)
    square = r * r
    y = choose((quarter & 1).eq(0), _sine_core(r, square), _cosine_core(square))
    signed = choose((quarter & 2).eq(0), y, -y).single()
    return choose(x.equals(0.0), x, signed)


def cosine(x: Nearest) -> Nearest:
    """Return the cosine of radians."""
    r, quarter = _reduced(x)
    square = r * r
    y = choose((quarter & 1).eq(0), _cosine_core(square), _sine_core(r, square))
    return choose(((quarter + 1) & 2).eq(0), y, -y).single()


def hyperbolic_tangent(x: Nearest) -> Nearest:
    """Return the hyperbolic tangent.

    Up to a half it is Lambert's continued fraction, cut where that is off by 2**-42 at most;
    beyond, (e**2|x| - 1) / (e**2|x| + 1) loses no more than one bit.
    """
    wide = x.double()
    square, magnitude = wide * wide, wide.magnitude()
    small = magnitude < 0.5
    power_of_e = _exp2_core(_bounded(magnitude * (2 * _LOG2_E)))
    signed = choose(wide < 0.0, 1.0 - power_of_e, power_of_e - 1.0)
    numerator = choose(small, polynomial(square, 10395, 1260, 21) * wide, signed)
    denominator = choose(small, polynomial(square, 10395, 4725, 210, 1), power_of_e + 1.0)
    return (numerator / denominator).single()


def logistic(x: Nearest) -> Nearest:
    """Return 1 / (1 + e**-x)."""
    return (1.0 / (_exp2_core(_bounded(x.double() * -_LOG2_E)) + 1.0)).single()


def reciprocal_square_root(a: Expr, *, role: Role = Role.SOURCE) -> Expr:
    """Return 1 / sqrt(a) of F or HF values, which have the given role.

    Roots and quotients take the host long, so they are left to numbers that this does not do:
    zeros, most denormals, negative numbers, infinities and NaN. Half the bits of any other one make
    a root that is 3 % off, Newton's step leaves 0.1 %; what the step multiplies by lies between
    -1.31 and -1.21 then, and tells the others apart. Of the magnitude so few bits are kept that
    its square is exact, also where it is denormal. So the error is known, and its series corrects
    it: of all numbers one in 4000 is not rounded correctly, by 0.5018 ULP at most.
    """
    x = _single(a, role)
    bits = x.expr.bits_as(UD)
    start = Nearest((bits.like(_RSQRT_START) - (bits >> 1)).bits_as(F))
    step = fused(x * start, start, -_RSQRT_STEP)
    near = Nearest(((start * step).expr.bits_as(UD) & _RSQRT_KEPT).bits_as(F))
    error = fused(x, near * near, -1.0)
    series = fused(fused(error, -5 / 16, 3 / 8), error, -1 / 2)
    usual = fused(near * error, series, near)
    is_other = step.expr.bits_as(D).gt(_RSQRT_OTHERS)
    return seldom(is_other, _result(reciprocal_of_root(x), a.type), usual.to(a.type))


def reciprocal_of_root(x: Nearest) -> Nearest:
    """Return 1 / sqrt(x) of F values: the nearest one, except for 129 of all numbers.

    The error of what root and quotient give is found exactly and taken off.
    """
    first = 1.0 / x.root()
    product = x * first
    rest = fused(x, first, -product)
    error = fused(-rest, first, fused(-product, first, 1.0))
    better = fused(first * 0.5, error, first)
    return choose(error.equals(error), better, first)


def _bounded(t: Nearest) -> Nearest:
    """Return t, or +-200 beyond, where powers of two are as far out of the range of F."""
    t = choose(t < -200.0, -200.0, t)
    return choose(t > 200.0, 200.0, t)


def _exp2_core(t: Nearest, *, contracts: bool = True) -> Nearest:
    """Return 2**t in DF for |t| up to 200, with a relative error below 2**-34.

    The sum that the power of two is made of has the biased exponent in its lowest bits; what is
    above it is shifted out.
    """
    whole = t.rounded()
    r = t - whole
    above = polynomial(
        r,
        1.0,
        float.fromhex("0x1.62e42ff0e1ae6p-1"),
        float.fromhex("0x1.ebfbe07787a5ep-3"),
        float.fromhex("0x1.c6b08ac04f279p-5"),
        float.fromhex("0x1.3b29f39d28b63p-7"),
        float.fromhex("0x1.5d8a8613e2196p-10"),
        float.fromhex("0x1.445c83fdd9277p-13"),
        float.fromhex("0x1.fde5e8ff7098dp-17"),
        contracts=contracts,
    )
    scale = ((whole + _BIASED).expr.bits_as(Q) << 52).bits_as(DF)
    return above * Nearest(scale)


def _log2_core(x: Nearest, *, contracts: bool = True) -> Nearest:
    """Return log2 of positive finite F values in DF, with a relative error below 2**-44."""
    bits = x.double().expr.bits_as(Q)
    exponent = (bits - _SQRT_HALF_BITS) >> 52
    fraction = Nearest((bits - (exponent << 52)).bits_as(DF)) - 1.0
    s = fraction / (fraction + 2.0)
    p = polynomial(
        s * s,
        float.fromhex("0x1.71547652b8251p+1"),
        float.fromhex("0x1.ec709dc53c737p-1"),
        float.fromhex("0x1.2776c293306e2p-1"),
        float.fromhex("0x1.a61a2ed565c94p-2"),
        float.fromhex("0x1.479554420d89bp-2"),
        float.fromhex("0x1.21b107aa3ff9dp-2"),
        contracts=contracts,
    )
    return multiply_and_add(s, p, nearest(exponent), contracts=contracts)


def _reduced(x: Nearest) -> tuple[Nearest, Expr]:
    """Return x minus a whole number of quarter turns, in DF, and that number modulo 4.

    pi / 2 stands in three parts, so that every product with a number below 2**28 is exact; beyond
    |x| = 4e8 the remainder has no meaning and becomes 0.
    """
    wide = x.double()
    turns = (wide * _TWO_OVER_PI).rounded()
    r = wide
    for part in _HALF_PI:
        r = r - turns * part
    r = choose(r.magnitude() > 0.79, 0.0, r)
    quarter = turns - (turns * 0.25).rounded() * 4.0
    return r, quarter.to(D) & 3


def _sine_core(r: Nearest, square: Nearest) -> Nearest:
    return r + r * square * polynomial(
        square,
        float.fromhex("-0x1.5555554c60171p-3"),
        float.fromhex("0x1.1111085d6fbd4p-7"),
        float.fromhex("-0x1.a00f74b016f9cp-13"),
        float.fromhex("0x1.6ccf709c8d200p-19"),
        contracts=True,
    )


def _cosine_core(square: Nearest) -> Nearest:
    return (1.0 - square * 0.5) + square * square * polynomial(
        square,
        float.fromhex("0x1.5555554ecc5a0p-5"),
        float.fromhex("-0x1.6c16b81c04631p-10"),
        float.fromhex("0x1.a010d596d4e92p-16"),
        float.fromhex("-0x1.241cb6402a2acp-22"),
        contracts=True,
    )
