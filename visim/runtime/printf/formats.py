"""Formats of OpenCL C's printf: from a format and its values to bytes.

Knows neither buffers nor devices. Follows OpenCL C 6.13.13 (printf); what differs from C is the
vector specifier `v2`, `v3`, `v4`, `v8`, `v16` and the length modifier `hl` of vectors of 32 bits.
A conversion that is not defined there, such as `%n` or `%*d`, is printed as it stands.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

Number = int | float
Value = Number | bytes | tuple[Number, ...] | None
"""A value of a record: a vector is a tuple; None is a string that does not exist."""

_CONVERSION = re.compile(
    rb"%(?P<flags>[-+ #0]*)(?P<width>\d+)?(?:\.(?P<precision>\d*))?"
    rb"(?:v(?P<vector>2|3|4|8|16))?(?P<length>hh|hl|h|l)?(?P<letter>[diouxXcsfFeEgGaAp%])"
)
_BITS = {"hh": 8, "h": 16, "hl": 32, "l": 64}
_SCALAR_BITS = 32
_MANTISSA_DIGITS = 13


@dataclass(frozen=True, slots=True)
class Conversion:
    """One conversion of a format; `vector` is the number of elements, 0 for a scalar."""

    flags: str
    width: int
    precision: int | None
    vector: int
    length: str
    letter: str


@cache
def parse_format(text: bytes) -> tuple[bytes | Conversion, ...]:
    """Cut a format into texts, in which `%%` is one sign, and conversions."""
    pieces: list[bytes | Conversion] = []
    literal, position = bytearray(), 0
    for match in _CONVERSION.finditer(text):
        literal += text[position : match.start()]
        position = match.end()
        if match["letter"] == b"%":
            literal += b"%"
            continue
        if literal:
            pieces.append(bytes(literal))
            literal.clear()
        pieces.append(_conversion(match))
    literal += text[position:]
    return (*pieces, bytes(literal)) if literal else tuple(pieces)


def _conversion(match: re.Match[bytes]) -> Conversion:
    precision = match["precision"]
    return Conversion(
        flags=match["flags"].decode(),
        width=int(match["width"] or 0),
        precision=None if precision is None else int(precision or 0),
        vector=int(match["vector"] or 0),
        length=(match["length"] or b"").decode(),
        letter=match["letter"].decode(),
    )


def show_value(conversion: Conversion, value: Value) -> bytes:
    """Return `value` as `conversion` prints it.

    Elements of a vector are separated by commas. A value of another kind than the conversion is
    for is converted first, as undefined as that is.
    """
    if isinstance(value, tuple):
        return b",".join(_show(conversion, item) for item in value)
    return _show(conversion, value)


def _show(conversion: Conversion, value: Number | bytes | None) -> bytes:
    match conversion.letter:
        case "s":
            data = value if isinstance(value, bytes) else b"(null)"
            return _pad(conversion, data[: conversion.precision])
        case "c":
            return _pad(conversion, bytes([_integer(value) & 0xFF]))
        case "p":
            address = _integer(value)
            return _pad(conversion, f"{address:#x}".encode() if address else b"(nil)")
        case "d" | "i" | "o" | "u" | "x" | "X":
            return _show_integer(conversion, _integer(value))
        case _:
            number = 0.0 if isinstance(value, bytes) or value is None else float(value)
            return _show_float(conversion, number)


def _integer(value: Number | bytes | None) -> int:
    if isinstance(value, bytes) or value is None:
        return 0
    return int(value) if math.isfinite(value) else 0


def _show_integer(conversion: Conversion, value: int) -> bytes:
    bits = _BITS.get(conversion.length, _SCALAR_BITS)
    value &= (1 << bits) - 1
    sign, letter = "", conversion.letter
    if letter in "di":
        if value >> bits - 1:
            value -= 1 << bits
        sign = _sign(conversion, is_negative=value < 0)
    digits = f"{abs(value):{letter if letter in 'oxX' else 'd'}}"
    precision = conversion.precision
    if precision is not None:
        digits = digits.rjust(precision, "0") if precision or value else ""
    if "#" in conversion.flags:
        if letter == "o" and not digits.startswith("0"):
            digits = "0" + digits
        elif letter in "xX" and value:
            sign = "0" + letter
    return _fill(conversion, sign, digits, zeros=precision is None)


def _show_float(conversion: Conversion, value: float) -> bytes:
    letter = conversion.letter
    sign = _sign(conversion, is_negative=math.copysign(1, value) < 0)
    if not math.isfinite(value):
        digits = "nan" if math.isnan(value) else "inf"
        digits = digits.upper() if letter.isupper() else digits
        return _fill(conversion, sign, digits, zeros=False)
    if letter in "aA":
        digits = _hexadecimal(abs(value), conversion)
        if letter == "A":
            digits = digits.upper()
        return _fill(conversion, sign + digits[:2], digits[2:], zeros=True)
    precision = 6 if conversion.precision is None else conversion.precision
    mark = "#" if "#" in conversion.flags else ""
    digits = f"%{mark}.{precision}{letter}" % abs(value)
    return _fill(conversion, sign, digits, zeros=True)


def _hexadecimal(value: float, conversion: Conversion) -> str:
    """Return 0xH.HHHp+D with as many digits as `value` needs, or as the precision says."""
    mantissa, exponent = _mantissa(value)
    precision = conversion.precision
    if precision is not None and precision < _MANTISSA_DIGITS:
        dropped = 4 * (_MANTISSA_DIGITS - precision)
        mantissa = _round_half_even(mantissa, dropped) << dropped
    whole, fraction = mantissa >> 52, f"{mantissa & (1 << 52) - 1:013x}"
    if precision is None:
        fraction = fraction.rstrip("0")
    else:
        fraction = fraction[:precision].ljust(precision, "0")
    point = "." if fraction or "#" in conversion.flags else ""
    return f"0x{whole:x}{point}{fraction}p{exponent:+d}"


def _mantissa(value: float) -> tuple[int, int]:
    """Return integers m and e with value = m * 2^(e - 52); m has 53 bits if value is normal."""
    if value == 0:
        return 0, 0
    fraction, exponent = math.frexp(value)
    exponent = max(exponent - 1, -1022)
    return int(math.ldexp(value, 52 - exponent)) if fraction else 0, exponent


def _round_half_even(value: int, bits: int) -> int:
    kept, rest = value >> bits, value & (1 << bits) - 1
    half = 1 << bits - 1
    return kept + (rest > half or (rest == half and kept & 1))


def _sign(conversion: Conversion, *, is_negative: bool) -> str:
    if is_negative:
        return "-"
    if "+" in conversion.flags:
        return "+"
    return " " if " " in conversion.flags else ""


def _fill(conversion: Conversion, prefix: str, digits: str, *, zeros: bool) -> bytes:
    """Return prefix and digits, with zeros between them where the flags and `zeros` say so."""
    if zeros and "0" in conversion.flags and "-" not in conversion.flags:
        digits = digits.rjust(conversion.width - len(prefix), "0")
    return _pad(conversion, (prefix + digits).encode())


def _pad(conversion: Conversion, text: bytes) -> bytes:
    if "-" in conversion.flags:
        return text.ljust(conversion.width)
    return text.rjust(conversion.width)


def show_record(pieces: Sequence[bytes | Conversion], values: Sequence[Value]) -> bytes:
    """Return what one call prints; a conversion without a value prints nothing."""
    remaining = iter(values)
    parts: list[bytes] = []
    for piece in pieces:
        if isinstance(piece, bytes):
            parts.append(piece)
            continue
        for value in remaining:
            parts.append(show_value(piece, value))
            break
    return b"".join(parts)
