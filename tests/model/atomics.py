"""What atomic operations leave in memory, by the names of LSC messages and of the older ones."""

from __future__ import annotations

import operator

import numpy as np

INTEGERS = {
    "iinc": lambda old: old + old.dtype.type(1),
    "idec": lambda old: old - old.dtype.type(1),
    "load": lambda old: old,
    "store": lambda old, a: a,
    "iadd": operator.add,
    "isub": operator.sub,
    "umin": min,
    "umax": max,
    "icas": lambda old, a, b: b if old == a else old,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}
SIGNED = {"smin": min, "smax": max}
FLOATS = {
    "fadd": operator.add,
    "fsub": operator.sub,
    "fmin": min,
    "fmax": max,
    "fcas": lambda old, a, b: b if old == a else old,
}
OPERATIONS = {
    **{name: ("u", meaning) for name, meaning in INTEGERS.items()},
    **{name: ("i", meaning) for name, meaning in SIGNED.items()},
    **{name: ("f", meaning) for name, meaning in FLOATS.items()},
}


OLDER = {
    "add": OPERATIONS["iadd"],
    "sub": OPERATIONS["isub"],
    "inc": OPERATIONS["iinc"],
    "dec": OPERATIONS["idec"],
    "predec": OPERATIONS["idec"],
    "min": OPERATIONS["umin"],
    "max": OPERATIONS["umax"],
    "xchg": OPERATIONS["store"],
    "cmpxchg": ("u", lambda old, a, b: a if old == b else old),
    "and": OPERATIONS["and"],
    "or": OPERATIONS["or"],
    "xor": OPERATIONS["xor"],
    "minsint": OPERATIONS["smin"],
    "maxsint": OPERATIONS["smax"],
    "fmax": OPERATIONS["fmax"],
    "fmin": OPERATIONS["fmin"],
    "fcmpwr": OPERATIONS["fcas"],
    "fadd": OPERATIONS["fadd"],
    "fsub": OPERATIONS["fsub"],
}
"""DWORD_ATOMIC, TYPED_ATOMIC; the comparand of `cmpxchg` is the second operand. `predec` returns
the new value, all others the old one."""


def operand_count(name: str) -> int:
    """Return how many operands an operation has."""
    if name in {"iinc", "idec", "inc", "dec", "predec", "load"}:
        return 0
    return 2 if name in {"icas", "fcas", "cmpxchg", "fcmpwr"} else 1


def slots(values: np.ndarray, data: str) -> np.ndarray:
    """Return values as they stand in registers: 16-bit ones in the low half of dwords."""
    bits = values.view(f"u{values.itemsize}")
    return (bits.astype(np.uint32) if data == "d16u32" else bits).view(np.uint8)
