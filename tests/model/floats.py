"""A scalar model of binary floating point, in integers and exact rationals.

Numbers are bit patterns. A pattern is decoded into an exact value, the operation is done on
`Fraction`, and the one rounding at the end picks between the two neighbours of the exact value.
Nothing here uses the host's floating point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from math import isqrt

NEAREST_EVEN, UP, DOWN, ZERO = range(4)
MODES = (NEAREST_EVEN, UP, DOWN, ZERO)


@dataclass(frozen=True, eq=False)
class Format:
    """A binary interchange format: sign, exponent, fraction."""

    name: str
    exponent_bits: int
    fraction_bits: int

    @cached_property
    def bits(self) -> int:
        return 1 + self.exponent_bits + self.fraction_bits

    @cached_property
    def bias(self) -> int:
        return (1 << (self.exponent_bits - 1)) - 1

    @cached_property
    def least_exponent(self) -> int:
        """Exponent of the least normal number."""
        return 1 - self.bias

    @cached_property
    def sign_bit(self) -> int:
        return 1 << (self.bits - 1)

    @cached_property
    def infinity(self) -> int:
        return ((1 << self.exponent_bits) - 1) << self.fraction_bits

    @cached_property
    def quiet(self) -> int:
        """The bit that makes a not-a-number quiet."""
        return 1 << (self.fraction_bits - 1)

    @cached_property
    def nan(self) -> int:
        return self.infinity | self.quiet

    @cached_property
    def greatest(self) -> int:
        return self.infinity - 1

    @cached_property
    def least_normal(self) -> int:
        return 1 << self.fraction_bits

    @cached_property
    def one(self) -> int:
        return self.bias << self.fraction_bits


F16 = Format("float16", 5, 10)
F32 = Format("float32", 8, 23)
F64 = Format("float64", 11, 52)
BF16 = Format("bfloat16", 8, 7)
FORMATS = (F16, F32, F64)


def is_negative(f: Format, bits: int) -> bool:
    return bool(bits & f.sign_bit)


def magnitude(f: Format, bits: int) -> int:
    return bits & ~f.sign_bit


def is_nan(f: Format, bits: int) -> bool:
    return magnitude(f, bits) > f.infinity


def is_infinite(f: Format, bits: int) -> bool:
    return magnitude(f, bits) == f.infinity


def is_zero(f: Format, bits: int) -> bool:
    return magnitude(f, bits) == 0


def with_sign(f: Format, bits: int, negative: bool) -> int:
    return magnitude(f, bits) | (f.sign_bit if negative else 0)


def negate(f: Format, bits: int) -> int:
    return bits ^ f.sign_bit


@cache
def power_of_two(exponent: int) -> Fraction:
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


@cache
def value(f: Format, bits: int) -> Fraction:
    """Return the exact value of a finite number."""
    exponent, fraction = divmod(magnitude(f, bits), 1 << f.fraction_bits)
    if exponent == 0:
        units, exponent = fraction, 1
    else:
        units = fraction + (1 << f.fraction_bits)
    scale = power_of_two(exponent - f.bias - f.fraction_bits)
    return -units * scale if is_negative(f, bits) else units * scale


def binary_exponent(x: Fraction) -> int:
    """Return e with 2**e <= x < 2**(e + 1)."""
    guess = x.numerator.bit_length() - x.denominator.bit_length()
    return guess if power_of_two(guess) <= x else guess - 1


def nearby_integer(x: Fraction, negative: bool, mode: int) -> int:
    """Round the magnitude `x` of a number of the given sign to an integer."""
    units, rest = divmod(x.numerator, x.denominator)
    if rest == 0:
        return units
    if mode == NEAREST_EVEN:
        twice = 2 * rest
        up = twice > x.denominator or (twice == x.denominator and units % 2 == 1)
    else:
        up = (mode == UP and not negative) or (mode == DOWN and negative)
    return units + up


def rounded(f: Format, x: Fraction, mode: int, zero: int = 0) -> int:
    """Round an exact value; `zero` is the pattern for an exact zero."""
    if x == 0:
        return zero
    negative, size = x < 0, abs(x)
    exponent = max(binary_exponent(size), f.least_exponent)
    units = nearby_integer(size * power_of_two(f.fraction_bits - exponent), negative, mode)
    bits = ((exponent - f.least_exponent) << f.fraction_bits) + units
    if bits >= f.infinity:
        finite = mode == ZERO or (mode == UP and negative) or (mode == DOWN and not negative)
        bits = f.greatest if finite else f.infinity
    return with_sign(f, bits, negative)


def zero_sum(f: Format, first_negative: bool, second_negative: bool, mode: int) -> int:
    if first_negative == second_negative:
        return with_sign(f, 0, first_negative)
    return with_sign(f, 0, mode == DOWN)


def add(f: Format, a: int, b: int, mode: int) -> int:
    if is_nan(f, a) or is_nan(f, b):
        return f.nan
    if is_infinite(f, a) and is_infinite(f, b):
        return a if a == b else f.nan
    if is_infinite(f, a) or is_infinite(f, b):
        return a if is_infinite(f, a) else b
    zero = zero_sum(f, is_negative(f, a), is_negative(f, b), mode)
    return rounded(f, value(f, a) + value(f, b), mode, zero)


def sub(f: Format, a: int, b: int, mode: int) -> int:
    return add(f, a, negate(f, b), mode)


def mul(f: Format, a: int, b: int, mode: int) -> int:
    if is_nan(f, a) or is_nan(f, b):
        return f.nan
    negative = is_negative(f, a) != is_negative(f, b)
    if is_infinite(f, a) or is_infinite(f, b):
        if is_zero(f, a) or is_zero(f, b):
            return f.nan
        return with_sign(f, f.infinity, negative)
    return rounded(f, value(f, a) * value(f, b), mode, with_sign(f, 0, negative))


def div(f: Format, a: int, b: int, mode: int) -> int:
    if is_nan(f, a) or is_nan(f, b):
        return f.nan
    if (is_zero(f, a) and is_zero(f, b)) or (is_infinite(f, a) and is_infinite(f, b)):
        return f.nan
    negative = is_negative(f, a) != is_negative(f, b)
    if is_infinite(f, a) or is_zero(f, b):
        return with_sign(f, f.infinity, negative)
    if is_infinite(f, b):
        return with_sign(f, 0, negative)
    return rounded(f, value(f, a) / value(f, b), mode, with_sign(f, 0, negative))


def sqrt(f: Format, a: int, mode: int) -> int:
    if is_nan(f, a):
        return f.nan
    if is_zero(f, a):
        return a
    if is_negative(f, a):
        return f.nan
    if is_infinite(f, a):
        return a
    # Scaled so far that one half stands for all that the integer root has lost.
    shift = f.bias + 2 * f.fraction_bits
    scaled = value(f, a) * 4**shift
    assert scaled.denominator == 1
    root = isqrt(scaled.numerator)
    lost = Fraction(root * root != scaled.numerator, 2)
    return rounded(f, (root + lost) / 2**shift, mode)


def fma(f: Format, a: int, b: int, c: int, mode: int) -> int:
    if is_nan(f, a) or is_nan(f, b) or is_nan(f, c):
        return f.nan
    product_negative = is_negative(f, a) != is_negative(f, b)
    if is_infinite(f, a) or is_infinite(f, b):
        if is_zero(f, a) or is_zero(f, b):
            return f.nan
        return add(f, with_sign(f, f.infinity, product_negative), c, mode)
    if is_infinite(f, c):
        return c
    zero = zero_sum(f, product_negative, is_negative(f, c), mode)
    return rounded(f, value(f, a) * value(f, b) + value(f, c), mode, zero)


def fmin(f: Format, a: int, b: int) -> int:
    """Return the lesser number; of equal ones the second, of not-a-numbers neither if possible."""
    if is_nan(f, a) or is_nan(f, b):
        return b if is_nan(f, a) else a
    return a if key(f, a) < key(f, b) else b


def fmax(f: Format, a: int, b: int) -> int:
    """Return the greater number; of equal ones the first, of not-a-numbers neither if possible."""
    if is_nan(f, a) or is_nan(f, b):
        return b if is_nan(f, a) else a
    return a if key(f, a) >= key(f, b) else b


def key(f: Format, bits: int) -> int:
    """Return an integer that orders numbers, infinities too; both zeros have 0."""
    return -magnitude(f, bits) if is_negative(f, bits) else bits


def saturate(f: Format, a: int) -> int:
    if is_nan(f, a) or is_negative(f, a):
        return 0
    return min(a, f.one)


def flush(f: Format, a: int) -> int:
    return a & f.sign_bit if magnitude(f, a) < f.least_normal else a


def integral_part(x: Fraction, mode: int) -> int:
    """Round an exact value to an integer."""
    units = nearby_integer(abs(x), x < 0, mode)
    return -units if x < 0 else units


def round_to_integral(f: Format, a: int, mode: int) -> int:
    if is_nan(f, a):
        return f.nan
    if is_infinite(f, a):
        return a
    whole = Fraction(integral_part(value(f, a), mode))
    return rounded(f, whole, NEAREST_EVEN, a & f.sign_bit)


def frac(f: Format, a: int) -> int:
    if is_nan(f, a) or is_infinite(f, a):
        return f.nan
    x = value(f, a)
    return min(rounded(f, x - math.floor(x), NEAREST_EVEN), f.one - 1)


def convert(source: Format, target: Format, a: int, mode: int) -> int:
    if is_nan(source, a):
        return target.nan
    negative = is_negative(source, a)
    if is_infinite(source, a):
        return with_sign(target, target.infinity, negative)
    return rounded(target, value(source, a), mode, with_sign(target, 0, negative))


def to_integer(f: Format, a: int, bits: int, signed: bool, mode: int) -> int:
    """Convert to an integer of `bits` bits, clamped."""
    least, greatest = (
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    )
    if is_nan(f, a):
        return 0
    if is_infinite(f, a):
        return least if is_negative(f, a) else greatest
    return min(max(integral_part(value(f, a), mode), least), greatest)


def from_integer(f: Format, number: int, mode: int) -> int:
    return rounded(f, Fraction(number), mode)
