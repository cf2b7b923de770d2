"""Floating-point modes: what CR0 says about rounding, denormals and infinities.

Follows the vISA specification, 2 (Floating Point Mode) and 4 (%cr0).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from visim.engine.rounding import Rounding
from visim.types import DF, HF, DataType, F

CR0_USED = 0x1000 | 0x4C0 | 0x30 | 0x1
_ALTERNATE = 0x1


@dataclass(frozen=True, slots=True)
class FloatMode:
    """Rounding, the types whose denormals count as zero, and the rounding of float to integer.

    `alternate` is the ALT mode, in which F has neither denormals nor infinite results. `bits` are
    those of CR0 that say so.
    """

    bits: int
    rounding: Rounding
    flushed: frozenset[DataType]
    to_integer: Rounding
    alternate: bool

    def flushes(self, kind: DataType) -> bool:
        """Whether denormals of `kind` are flushed to zero by arithmetic."""
        return kind in self.flushed

    def is_alternate(self, kind: DataType) -> bool:
        """Whether results of `kind` follow the rules of the ALT mode."""
        return self.alternate and kind == F


@cache
def float_mode(bits: int) -> FloatMode:
    """Return the mode that a value of CR0 selects; only the bits of `CR0_USED` matter."""
    rounding = Rounding(bits >> 4 & 3)
    keeps = ((DF, 1 << 6), (F, 1 << 7), (HF, 1 << 10))
    flushed = frozenset(kind for kind, bit in keeps if not bits & bit)
    to_integer = rounding if bits & 1 << 12 else Rounding.ZERO
    alternate = bool(bits & _ALTERNATE)
    if alternate:
        flushed |= {F}
    return FloatMode(bits & CR0_USED, rounding, flushed, to_integer, alternate)
