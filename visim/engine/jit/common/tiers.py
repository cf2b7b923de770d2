"""How much LLVM does for a module: the usual, or the least, which takes long texts a fifth of it.

Making registers of memory (`sroa`) and choosing instructions for whole blocks take more than in
proportion: a kernel of 106,000 lines of vISA, 627,000 of LLVM's, takes 7 s at the least and had not
ended after minutes at the usual. Both give the same bits.
"""

from __future__ import annotations

from enum import Enum

LONG = 50_000
"""So many lines of LLVM's a module has that is made at the least first.

At the usual tier 20,000 lines take 0.7 to 1.4 s, and then run four to seven times as fast as at the
least (measured on an Intel server with AMX)."""
TOO_LONG = 200_000
"""Modules with more lines are never made at the usual: nobody would be there to see the end."""


class Tier(Enum):
    """A choice of LLVM's passes, and the level at which it makes code."""

    USUAL = (
        2,
        (
            "always_inliner",
            "simplify_cfg",
            "sroa",
            "instruction_combine",
            "simplify_cfg",
            "aggressive_dce",
            "simplify_cfg",
        ),
    )
    LEAST = (0, ("always_inliner", "simplify_cfg"))

    def __init__(self, level: int, passes: tuple[str, ...]) -> None:
        self.level = level
        self.passes = passes


def first_tier(lines: int) -> Tier:
    """Return at which tier a module of so many lines is made when somebody waits for it."""
    return Tier.LEAST if lines > LONG else Tier.USUAL


def has_second_tier(lines: int) -> bool:
    """Whether such a module, made at the least, is made again at the usual beside who uses it."""
    return LONG < lines <= TOO_LONG


__all__ = ["LONG", "TOO_LONG", "Tier", "first_tier", "has_second_tier"]
