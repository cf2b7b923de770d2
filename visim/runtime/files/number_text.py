"""Numbers as the command line and launch.toml spell them: their types' names, and reading them.

What is wrong is a `ValueError` whose text says it; who knows the argument's name adds it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from visim.lex import shortened

# fmt: off
_ALIASES: Mapping[str, tuple[str, ...]] = {
    "int8":    ("i8",  "s8",  "char",   "b",  "schar"),
    "uint8":   ("u8",  "uchar",  "ub",  "byte"),
    "int16":   ("i16", "s16", "short",  "w"),
    "uint16":  ("u16", "ushort", "uw"),
    "int32":   ("i32", "s32", "int",    "d"),
    "uint32":  ("u32", "uint",   "ud",  "unsigned"),
    "int64":   ("i64", "s64", "long",   "q"),
    "uint64":  ("u64", "ulong",  "uq",  "size_t"),
    "float16": ("f16", "half",   "hf"),
    "float32": ("f32", "float",  "f"),
    "float64": ("f64", "double", "df"),
}
# fmt: on
DTYPES = {alias: np.dtype(name) for name, aliases in _ALIASES.items() for alias in (name, *aliases)}
INTEGER = re.compile(r"[+-]?(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|[0-9]+)")
NUMBERS = re.compile(r"\s*[+-]?(\d|\.\d|inf|nan)[^:/\\]*", re.IGNORECASE)
"""What begins as a number does and names no type and no file."""
_LONGEST_NUMBER = 100


def read_numbers(text: str, dtype: np.dtype[Any]) -> list[np.generic]:
    """Return the numbers in a text, separated by commas, as `dtype` has them.

    Raises:
        ValueError: one of them is no number, or is out of the range of the type.
    """
    return [read_number(part.strip(), dtype) for part in text.split(",")]


def read_number(text: str, dtype: np.dtype[Any]) -> np.generic:
    """Return the number that a text spells; raises as `read_numbers` does."""
    if dtype.kind == "f":
        return _float(text, dtype)
    if len(text) > _LONGEST_NUMBER or not INTEGER.fullmatch(text):
        raise ValueError(f"{shortened(text)!r} is not an integer")
    value = int(text, 0) if not text.lstrip("+-").isdecimal() else int(text)
    limits = np.iinfo(dtype)
    if not limits.min <= value <= limits.max:
        raise ValueError(f"{value} is out of the range {limits.min}..{limits.max} of {dtype}")
    return dtype.type(value)


def _float(text: str, dtype: np.dtype[Any]) -> np.generic:
    try:
        value = float.fromhex(text) if "0x" in text.lower() else float(text)
    except (ValueError, OverflowError):
        raise ValueError(f"{shortened(text)!r} is not a number") from None
    with np.errstate(over="ignore"):
        number = dtype.type(value)
    is_written_out = any(letter.isdigit() for letter in text)
    if np.isinf(number) and is_written_out:
        raise ValueError(f"{shortened(text)} is out of the range of {dtype}")
    return number
