"""Micro-operations on vectors of channels, in NumPy: what the reference interpreter computes.

One function per micro-operation whose NumPy counterpart is not obvious. Integers of 128 bits are
Python integers in object arrays: slow, rare, and obviously right.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.engine.conversions import (
    bf16_to_f32,
    convert_float,
    f32_to_bf16,
    float_to_int,
    int_to_float,
)
from visim.engine.rounding import Rounding
from visim.linker.places import MARGIN
from visim.sem.expr import WIDE
from visim.types import BF, DataType

Vector = NDArray[Any]


def quotient(a: Vector, b: Vector) -> Vector:
    """Return integer quotients rounded to zero; dividing by zero gives all ones."""
    if a.dtype == object:
        return np.array([_quotient_one(int(x), int(y)) for x, y in zip(a, b, strict=True)], object)
    zero = b == 0
    divisor = np.where(zero, a.dtype.type(1), b)
    found = a // divisor if a.dtype.kind == "u" else _signed_quotient(a, divisor)
    return np.where(zero, all_ones(a.dtype), found)


def remainder(a: Vector, b: Vector) -> Vector:
    """Return remainders with the dividend's sign; dividing by zero gives all ones."""
    if a.dtype == object:
        pairs = zip(a, b, strict=True)
        rests = [int(x) - int(y) * _quotient_one(int(x), int(y)) if y else -1 for x, y in pairs]
        return np.array(rests, object)
    zero = b == 0
    divisor = np.where(zero, a.dtype.type(1), b)
    found = a % divisor if a.dtype.kind == "u" else a - _signed_quotient(a, divisor) * divisor
    return np.where(zero, all_ones(a.dtype), found)


def _signed_quotient(a: Vector, b: Vector) -> Vector:
    """Divide magnitudes as unsigned numbers, so that the smallest integer by -1 wraps."""
    unsigned = np.dtype(f"u{a.dtype.itemsize}")
    magnitude = np.abs(a).view(unsigned) // np.abs(b).view(unsigned)
    found = magnitude.view(a.dtype)
    return np.where((a < 0) != (b < 0), -found, found)


def _quotient_one(a: int, b: int) -> int:
    if b == 0:
        return -1
    found = abs(a) // abs(b)
    return found if (a < 0) == (b < 0) else -found


def all_ones(dtype: np.dtype[Any]) -> Any:
    """Return the integer of `dtype` whose bits are all one."""
    return dtype.type(-1) if dtype.kind == "i" else np.iinfo(dtype).max


def dot(a: Vector, b: Vector, total: Vector) -> Vector:
    """Return a sum and the products of the bytes of dwords, which are signed as these are."""
    left, right = (
        np.ascontiguousarray(one).view(f"{one.dtype.kind}1").reshape(-1, 4).astype(np.int32)
        for one in (a, b)
    )
    return total + (left * right).sum(axis=1, dtype=np.int32)


def popcount(a: Vector) -> Vector:
    """Return the number of one bits."""
    return np.bitwise_count(a).astype(a.dtype)


def leading_zeros(a: Vector) -> Vector:
    """Return the number of leading zero bits of unsigned integers."""
    bits = a.dtype.itemsize * 8
    if bits == 64:
        high, low = (a >> np.uint64(32)), a & np.uint64(0xFFFFFFFF)
        found = np.where(high != 0, 64 - _bit_length(high) - 32, 64 - _bit_length(low))
        return found.astype(a.dtype)
    return (bits - _bit_length(a)).astype(a.dtype)


def _bit_length(a: Vector) -> Vector:
    """Return the position after the highest one bit; exact below 2**53."""
    return np.frexp(a.astype(np.float64))[1]


def reverse_bits(a: Vector) -> Vector:
    """Return the bits in reverse order."""
    octets = np.ascontiguousarray(a).view(np.uint8).reshape(a.size, a.dtype.itemsize)
    bits = np.unpackbits(octets, axis=1, bitorder="little")
    reverse = np.packbits(bits[:, ::-1], axis=1, bitorder="little")
    return reverse.view(a.dtype).reshape(a.size)


def convert(a: Vector, source: DataType, target: DataType, rounding: Rounding) -> Vector:
    """Convert between any two types (specification 2, Type Conversion)."""
    if source == BF:
        a = bf16_to_f32(a)
    if target == BF:
        single = a if a.dtype == np.float32 else _to_float(a, np.dtype(np.float32), rounding)
        return f32_to_bf16(single, rounding)
    if target.is_float:
        return _to_float(a, np.dtype(target.numpy), rounding)
    if target is WIDE:
        return a.astype(object)
    if a.dtype == object:
        return wrapped(a, target)
    return a.astype(target.numpy)


def _to_float(a: Vector, dtype: np.dtype[Any], rounding: Rounding) -> Vector:
    if a.dtype == object:
        return _wide_to_float(a, dtype, rounding)
    if a.dtype.kind == "f":
        return convert_float(a, dtype, rounding)
    return int_to_float(a, dtype, rounding)


def _wide_to_float(a: Vector, dtype: np.dtype[Any], rounding: Rounding) -> Vector:
    """Convert integers of up to 128 bits, rounding once.

    The highest 62 bits, rounded to odd, decide every rounding; the scale that is put back is
    exact, but for float16, where any number that has one is an overflow already.
    """
    numbers = [int(value) for value in a]
    scales = [max(0, number.bit_length() - 62) for number in numbers]
    odd = [
        number >> scale | (number & ((1 << scale) - 1) != 0)
        for number, scale in zip(numbers, scales, strict=True)
    ]
    found = int_to_float(np.array(odd, np.int64), dtype, rounding)
    return found if dtype.itemsize == 2 else np.ldexp(found, np.array(scales, np.int32))


def float_to_integer(a: Vector, source: DataType, target: DataType, rounding: Rounding) -> Vector:
    """Convert floats to integers, clamped; NaN gives 0."""
    if source == BF:
        a = bf16_to_f32(a)
    return float_to_int(a, np.dtype(target.numpy), rounding)


def wrapped(a: Vector, target: DataType) -> Vector:
    """Return Python integers modulo the target's width."""
    mask = (1 << target.bits) - 1
    unsigned = np.array([int(value) & mask for value in a], dtype=f"uint{target.bits}")
    return unsigned.view(target.numpy)


def clamp(a: Vector, source: DataType, target: DataType) -> Vector:
    """Return integers as the target type, clamped to its range."""
    low = -(1 << target.bits - 1) if target.is_signed else 0
    high = (1 << target.bits - target.is_signed) - 1
    if a.dtype == object:
        return wrapped(np.array([min(max(int(v), low), high) for v in a], object), target)
    least = -(1 << source.bits - 1) if source.is_signed else 0
    most = (1 << source.bits - source.is_signed) - 1
    return np.clip(a, max(low, least), min(high, most)).astype(target.numpy)


def mask_bits(mask: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Return booleans as the bits of one UD, lane 0 lowest."""
    return np.array([mask_integer(mask)], np.uint32)


def mask_integer(mask: NDArray[np.bool_]) -> int:
    """Return booleans as the bits of an integer, lane 0 lowest."""
    return int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little")


def concat(*parts: Vector) -> Vector:
    """Return the lanes of all parts one after another."""
    return np.concatenate(parts)


class RegisterRange(Exception):
    """An indirect operand writes what it cannot reach, or is not aligned to its type."""

    def __init__(self, address: int, channel: int) -> None:
        self.address = address
        self.channel = channel
        super().__init__(f"register address {address} of channel {channel}")


def gather(reached: NDArray[np.uint8], addresses: Vector, dtype: np.dtype[Any]) -> Vector:
    """Return the register elements at byte addresses; those out of reach are 0.

    `reached` is what indirect operands can reach with the margins around it.

    Raises:
        RegisterRange: an address is not aligned.
    """
    size = dtype.itemsize
    _check(addresses, addresses % np.uint32(size) != 0)
    near = np.minimum(addresses, np.uint32(reached.size - MARGIN))
    return reached.view(dtype)[near // np.uint32(size)]


def scatter(
    reached: NDArray[np.uint8], addresses: Vector, values: Vector, mask: NDArray[np.bool_] | None
) -> None:
    """Write register elements at byte addresses, in channel order.

    Raises:
        RegisterRange: the address of an enabled channel is out of reach or not aligned.
    """
    size = values.dtype.itemsize
    beyond = (addresses < MARGIN) | (addresses >= reached.size - MARGIN)
    wrong = beyond | (addresses % np.uint32(size) != 0)
    _check(addresses, wrong if mask is None else wrong & mask)
    if mask is not None:
        addresses, values = addresses[mask], values[mask]
    reached.view(values.dtype)[addresses // np.uint32(size)] = values


def _check(addresses: Vector, wrong: NDArray[np.bool_]) -> None:
    if wrong.any():
        channel = int(wrong.argmax())
        raise RegisterRange(int(addresses[channel]), channel)
