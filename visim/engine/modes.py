"""Floating-point modes: what CR0 says about rounding and denormals (runtime facts, CR0 bits)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from visim.engine.rounding import Rounding
from visim.types import DF, HF, DataType, F

CR0_USED = 0x1000 | 0x4C0 | 0x30


@dataclass(frozen=True, slots=True)
class FloatMode:
    """Rounding, the types whose denormals count as zero, and the rounding of float to integer.

    `bits` are those of CR0 that say so.
    """

    bits: int
    rounding: Rounding
    flushed: frozenset[DataType]
    to_integer: Rounding

    def flushes(self, kind: DataType) -> bool:
        """Whether denormals of `kind` are flushed to zero by arithmetic."""
        return kind in self.flushed


@cache
def float_mode(bits: int) -> FloatMode:
    """Return the mode that a value of CR0 selects; only the bits of `CR0_USED` matter."""
    rounding = Rounding(bits >> 4 & 3)
    keeps = ((DF, 1 << 6), (F, 1 << 7), (HF, 1 << 10))
    flushed = frozenset(kind for kind, bit in keeps if not bits & bit)
    return FloatMode(
        bits & CR0_USED, rounding, flushed, rounding if bits & 1 << 12 else Rounding.ZERO
    )
