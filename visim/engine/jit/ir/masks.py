"""Where masks of channels are kept: those of channels that wait at a place, and predicates.

Each is a variable of its own, which LLVM keeps in registers. What it does for that grows with the
blocks times the masks that it has to tell apart where these meet, so in units with many of both
all masks are in one array, which stays in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MOST_MEETING = 1 << 18
"""How many masks times blocks a unit may have whose masks are variables of their own."""

MOST_WAITING = 1 << 12
"""How many masks of channels that wait its blocks may have, all blocks together: LLVM tells those
apart wherever blocks meet."""

MOST_LOOKS = 4
"""At how many places the blocks of such a unit may look for channels by themselves, on average."""

MASKS = "%masks"
"""The array of all masks, if they are in one."""
_BYTES = 8


@dataclass
class Masks:
    """The masks of one function while its start is written.

    Args:
        together: whether all of them are in one array.
    """

    together: bool = False
    _count: int = 0

    def variable(self, name: str, bits: int) -> str:
        """Return the instruction that makes room for a mask of so many bits."""
        if not self.together:
            return f"  {name} = alloca i{bits}"
        self._count += 1
        return f"  {name} = getelementptr i8, ptr {MASKS}, i64 {_BYTES * (self._count - 1)}"

    def array(self) -> list[str]:
        """Return the instructions that make the array, in front of all others.

        Assembly gets its address, so that LLVM does not take it apart again.
        """
        if not self._count:
            return []
        size = _BYTES * self._count
        return [
            f"  {MASKS} = alloca [{size} x i8], align 64",
            f'  call void asm sideeffect "", "r"(ptr {MASKS})',
            f"  call void @llvm.memset.p0.i64(ptr {MASKS}, i8 0, i64 {size}, i1 false)",
        ]


def meets_too_many(waiting: Sequence[int], masks: int) -> bool:
    """Whether a unit's masks have to be in one array.

    Args:
        waiting: at how many places channels wait, for each block.
        masks: how many masks there are.
    """
    return len(waiting) * masks > MOST_MEETING or waits_often(waiting)


def waits_often(waiting: Sequence[int]) -> bool:
    """Whether channels wait at more places than LLVM can tell apart.

    Args:
        waiting: at how many places channels wait, for each block.
    """
    return sum(waiting) > MOST_WAITING


def looks_often(looks: Sequence[int], blocks: int) -> bool:
    """Whether blocks look for waiting channels at more places than each can by itself.

    Args:
        looks: at how many places those look that look at any.
        blocks: how many blocks there are.
    """
    return waits_often(looks) and sum(looks) > MOST_LOOKS * blocks


__all__ = ["MASKS", "Masks", "looks_often", "meets_too_many"]
