"""A scalar model of every micro-operation: one lane at a time, in Python integers and rationals.

A lane's value is an integer for integer types, a bit pattern for float types, and a bool for
booleans. Floating point is the business of `floats`. Shapes work on lists of lanes. Nothing here
uses NumPy or the host's floating point.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.model import floats
from visim.sem.uops import UOPS, Group
from visim.types import BF, BOOL, DF, HF, DataType, F

FORMATS = {HF: floats.F16, F: floats.F32, DF: floats.F64, BF: floats.BF16}
RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
}
ROUNDINGS = {
    "floor": floats.DOWN,
    "ceil": floats.UP,
    "trunc": floats.ZERO,
    "rint": floats.NEAREST_EVEN,
}


@dataclass(frozen=True)
class Mode:
    """Rounding of arithmetic and of float to integer, the types with flushed denormals, ALT."""

    rounding: int = floats.NEAREST_EVEN
    to_integer: int = floats.ZERO
    flushed: frozenset[DataType] = frozenset()
    alternate: bool = False

    def finished(self, kind: DataType, bits: int) -> int:
        """Return a result without its infinity where the ALT mode asks for that."""
        form = FORMATS[kind]
        if self.alternate and kind == F and floats.is_infinite(form, bits):
            return floats.with_sign(form, form.greatest, floats.is_negative(form, bits))
        return bits


def limits(kind: DataType) -> tuple[int, int]:
    """Return the least and the greatest integer of a type."""
    low = -(1 << (kind.bits - 1)) if kind.is_signed else 0
    return low, low + (1 << kind.bits) - 1


def wrap(value: int, kind: DataType) -> int:
    """Return the integer of a type that is congruent to `value`."""
    low, _ = limits(kind)
    return (value - low) % (1 << kind.bits) + low


def clamp(value: int, kind: DataType) -> int:
    low, high = limits(kind)
    return min(max(value, low), high)


# Integers. Results are exact here; `evaluate` wraps them.


def quotient(a: int, b: int) -> int:
    """Return the quotient rounded to zero; -1, all ones, for a divisor of zero."""
    if b == 0:
        return -1
    size = abs(a) // abs(b)
    return size if (a < 0) == (b < 0) else -size


def remainder(a: int, b: int) -> int:
    """Return the rest with the sign of `a`; -1, all ones, for a divisor of zero."""
    return a - b * quotient(a, b) if b else -1


INTEGERS: dict[str, Callable[..., int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": quotient,
    "rem": remainder,
    "neg": operator.neg,
    "abs": abs,
    "min": min,
    "max": max,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "not": operator.invert,
    "shl": operator.lshift,
    "shr": operator.rshift,
}


def bits_of(value: int, kind: DataType) -> list[int]:
    """Return the bits of an integer, the lowest first."""
    return [value >> place & 1 for place in range(kind.bits)]


def popcount(value: int, kind: DataType) -> int:
    return sum(bits_of(value, kind))


def leading_zeros(value: int, kind: DataType) -> int:
    high_first = bits_of(value, kind)[::-1]
    return high_first.index(1) if 1 in high_first else kind.bits


def reverse(value: int, kind: DataType) -> int:
    return sum(bit << place for place, bit in enumerate(bits_of(value, kind)[::-1]))


def dot(kinds: Sequence[DataType], a: int, b: int, total: int) -> int:
    """Return a number and the products of the bytes of two dwords, signed as their types."""
    left, right = (
        [
            int.from_bytes(octet.to_bytes(), signed=kind.is_signed)
            for octet in (value % 2**32).to_bytes(4, "little")
        ]
        for kind, value in zip(kinds, (a, b), strict=False)
    )
    return total + sum(x * y for x, y in zip(left, right, strict=True))


COUNTS = {"popcount": popcount, "clz": leading_zeros, "reverse": reverse}


# Comparison and conversion


def compare(name: str, kind: DataType, a: int, b: int) -> bool:
    """Return the relation; of floats with a not-a-number only `ne` holds."""
    if kind.is_float:
        form = FORMATS[kind]
        if floats.is_nan(form, a) or floats.is_nan(form, b):
            return name == "ne"
        a, b = floats.key(form, a), floats.key(form, b)
    return RELATIONS[name](a, b)


def convert(source: DataType, target: DataType, value: int, mode: Mode) -> int:
    """Convert between numbers (specification 2, Type Conversion)."""
    if source.is_float and target.is_float:
        found = floats.convert(FORMATS[source], FORMATS[target], value, mode.rounding)
        return mode.finished(target, found)
    if source.is_float:
        form = FORMATS[source]
        return floats.to_integer(form, value, target.bits, target.is_signed, mode.to_integer)
    if target.is_float:
        return floats.from_integer(FORMATS[target], value, mode.rounding)
    return wrap(value, target)


def bitcast(source: DataType, target: DataType, value: int) -> int:
    bits = value & ((1 << source.bits) - 1)
    return wrap(bits, target) if target.is_integer else bits


# Floats

ARITHMETIC = {"fadd": "add", "fsub": "sub", "fmul": "mul", "fdiv": "div", "fsqrt": "sqrt"}
CHOICES: dict[str, Callable[..., int]] = {
    "fmin": floats.fmin,
    "fmax": floats.fmax,
}


def multiply_and_add(form: floats.Format, a: int, b: int, c: int) -> int:
    product = floats.mul(form, a, b, floats.NEAREST_EVEN)
    return floats.add(form, product, c, floats.NEAREST_EVEN)


WITHOUT_MODE: dict[str, Callable[..., int]] = {
    "fneg": floats.negate,
    "fabs": floats.magnitude,
    "saturate": floats.saturate,
    "fmuladd": multiply_and_add,
}


def float_operation(name: str, kind: DataType, args: Sequence[int], mode: Mode) -> int:
    """Return an operation on floats, with denormals flushed where the mode says so."""
    form = FORMATS[kind]
    if name in WITHOUT_MODE:
        return WITHOUT_MODE[name](form, *args)
    flushes = kind in mode.flushed
    operands = [floats.flush(form, arg) if flushes else arg for arg in args]
    if name in ARITHMETIC:
        found = getattr(floats, ARITHMETIC[name])(form, *operands, mode.rounding)
    elif name == "ffma":
        found = floats.fma(form, operands[0], operands[1], operands[2], mode.rounding)
    elif name in ROUNDINGS:
        found = floats.round_to_integral(form, operands[0], ROUNDINGS[name])
    elif name == "frac":
        found = floats.frac(form, operands[0])
    else:
        found = CHOICES[name](form, *operands)
    return mode.finished(kind, floats.flush(form, found) if flushes else found)


def evaluate(
    name: str, kind: DataType, sources: Sequence[DataType], args: Sequence[int], mode: Mode
) -> int:
    """Return one lane of a micro-operation.

    Args:
        name: the micro-operation.
        kind: the type of its result.
        sources: the types of its operands.
        args: the operands' values in this lane.
        mode: rounding and denormals.
    """
    if name in RELATIONS:
        if sources[0].is_float and sources[0] in mode.flushed:
            args = [floats.flush(FORMATS[sources[0]], arg) for arg in args]
        return compare(name, sources[0], args[0], args[1])
    if name == "convert":
        return convert(sources[0], kind, args[0], mode)
    if name == "clamp":
        return clamp(args[0], kind)
    if name == "bitcast":
        return bitcast(sources[0], kind, args[0])
    if name == "dot":
        return wrap(dot(sources, args[0], args[1], args[2]), kind)
    if name in COUNTS:
        return COUNTS[name](args[0], kind)
    if name in INTEGERS:
        if kind is BOOL:
            return INTEGERS[name](*args) & 1
        return wrap(INTEGERS[name](*args), kind)
    if name == "select":
        return args[1] if args[0] else args[2]
    if name == "canonical":
        return floats.flush(FORMATS[kind], args[0]) if kind in mode.flushed else args[0]
    return float_operation(name, kind, args, mode)


# Shapes: from lists of lanes to a list of lanes

SHAPES: dict[str, Callable[..., list[Any]]] = {
    "any": lambda a: [any(a)] * len(a),
    "all": lambda a: [all(a)] * len(a),
    "broadcast": lambda a, lanes: list(a) * lanes,
    "take": lambda a, numbers: [a[number] for number in numbers],
    "concat": lambda a, b: [*a, *b],
    "mask_bits": lambda a: [sum(bit << lane for lane, bit in enumerate(a))],
}

PER_LANE = {
    *INTEGERS, *COUNTS, *RELATIONS, *ROUNDINGS, *ARITHMETIC, *CHOICES, *WITHOUT_MODE,
    "convert", "clamp", "bitcast", "select", "ffma", "frac", "canonical", "dot",
}  # fmt: skip


def unmodelled() -> set[str]:
    """Return the micro-operations that compute something and are not modelled here."""
    computing = {name for name, uop in UOPS.items() if uop.group is not Group.LEAF}
    return computing - PER_LANE - set(SHAPES)
