"""The vISA data types (specification 2, Fundamental Data Types), one row each.

A row stores NumPy's name of the type and not the type, so that nothing below the engines needs
NumPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


class Kind(Enum):
    """What the bits of a type mean."""

    UNSIGNED = auto()
    SIGNED = auto()
    FLOAT = auto()
    BOOL = auto()
    PACKED = auto()


@dataclass(frozen=True, slots=True)
class DataType:
    """One vISA type: its binary code, its name in text, its width and its meaning.

    `numpy` names the type that holds the same bits; for BF that is uint16.
    """

    code: int
    name: str
    bits: int
    kind: Kind
    numpy: str

    def __hash__(self) -> int:
        return self.code

    @property
    def bytes(self) -> int:
        """Size of an element in bytes."""
        return self.bits // 8

    @property
    def is_float(self) -> bool:
        """Whether elements are floating-point numbers."""
        return self.kind is Kind.FLOAT

    @property
    def is_integer(self) -> bool:
        """Whether elements are integers."""
        return self.kind in {Kind.SIGNED, Kind.UNSIGNED}

    @property
    def is_signed(self) -> bool:
        """Whether elements are signed integers."""
        return self.kind is Kind.SIGNED

    def __repr__(self) -> str:
        return self.name.upper()


# fmt: off
UD   = DataType(0,  "ud",   32, Kind.UNSIGNED, "uint32")
D    = DataType(1,  "d",    32, Kind.SIGNED,   "int32")
UW   = DataType(2,  "uw",   16, Kind.UNSIGNED, "uint16")
W    = DataType(3,  "w",    16, Kind.SIGNED,   "int16")
UB   = DataType(4,  "ub",   8,  Kind.UNSIGNED, "uint8")
B    = DataType(5,  "b",    8,  Kind.SIGNED,   "int8")
DF   = DataType(6,  "df",   64, Kind.FLOAT,    "float64")
F    = DataType(7,  "f",    32, Kind.FLOAT,    "float32")
V    = DataType(8,  "v",    32, Kind.PACKED,   "uint32")
VF   = DataType(9,  "vf",   32, Kind.PACKED,   "uint32")
BOOL = DataType(10, "bool", 1,  Kind.BOOL,     "bool")
UQ   = DataType(11, "uq",   64, Kind.UNSIGNED, "uint64")
UV   = DataType(12, "uv",   32, Kind.PACKED,   "uint32")
Q    = DataType(13, "q",    64, Kind.SIGNED,   "int64")
HF   = DataType(14, "hf",   16, Kind.FLOAT,    "float16")
BF   = DataType(15, "bf",   16, Kind.FLOAT,    "uint16")
# fmt: on

TYPES = (UD, D, UW, W, UB, B, DF, F, V, VF, BOOL, UQ, UV, Q, HF, BF)
BY_NAME = {row.name: row for row in TYPES}
BY_CODE = {row.code: row for row in TYPES}
