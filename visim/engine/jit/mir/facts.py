"""What is known of values: numbers of lanes, ranges, and how lanes differ.

A fact has three parts. `lanes` are the integers of lanes that are known. `low` and `high` are the
range of all lanes, as numbers of the value's type. `step` is what each lane has more than
the one before it, modulo what the type holds: 0 for a value that is *uniform*, another number for
one that is *affine*, None for one that may vary. Floats have a step of 0 or None only.

Pure values are computed in all lanes, so facts hold in all lanes. They follow from those of
operands; parameters of blocks get what all edges give them, from below: what control has not
come to yet is not counted (`solver`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

from visim.engine.jit.mir.folding import wrapped
from visim.engine.jit.mir.values import Value
from visim.sem.expr import WIDE
from visim.types import BOOL, DataType

Lanes = tuple["int | None", ...]


class Fact(NamedTuple):
    """What is known of a value; `lanes` is empty where no lane is known."""

    lanes: Lanes
    low: int
    high: int
    step: int | None

    @property
    def is_uniform(self) -> bool:
        """Whether all lanes are the same."""
        return self.step == 0

    @property
    def number(self) -> int | None:
        """The integer that all lanes are, None if it is not known."""
        return self.low if self.low == self.high and self.low != _NOT_FINITE else None

    @property
    def natural(self) -> int | None:
        """The largest number that a lane may be, if none is negative."""
        return self.high if self.low >= 0 else None


_NOT_FINITE = -(1 << 200)
"""The ends of ranges of what is no integer."""


def limits(kind: DataType) -> tuple[int, int]:
    """Return the smallest and the largest integer of a type."""
    if kind is BOOL:
        return 0, 1
    if kind.is_float or kind is WIDE:
        return _NOT_FINITE, -_NOT_FINITE
    if kind.is_signed:
        return -(1 << kind.bits - 1), (1 << kind.bits - 1) - 1
    return 0, (1 << kind.bits) - 1


def anything(kind: DataType, lanes: int) -> Fact:
    """Return what is known of any value of a type."""
    return Fact((), *limits(kind), 0 if lanes == 1 else None)


def of_lanes(kind: DataType, lanes: Lanes, known: Fact) -> Fact:
    """Return what is known of a value some of whose lanes are known, besides another fact."""
    found = [one for one in lanes if one is not None]
    if not found:
        return known
    low, high, step = known.low, known.high, known.step
    if len(found) == len(lanes):
        low, high, step = max(low, min(found)), min(high, max(found)), step_of(kind, found)
    return Fact(lanes, low, high, step)


def step_of(kind: DataType, numbers: list[int]) -> int | None:
    """Return the distance of numbers from one to the next, if that is always the same."""
    if len(numbers) < 2:
        return 0
    first = wrapped(numbers[1] - numbers[0], kind)
    same = all(wrapped(b - a, kind) == first for a, b in pairwise(numbers))
    if kind is BOOL:
        return 0 if len(set(numbers)) == 1 else None
    return first if same else None


def joined(one: Fact, other: Fact) -> Fact:
    """Return what is known of a value that is one or the other."""
    if one == other:
        return one
    lanes: Lanes = ()
    if one.lanes and other.lanes:
        lanes = tuple(a if a == b else None for a, b in zip(one.lanes, other.lanes, strict=True))
        lanes = lanes if any(lane is not None for lane in lanes) else ()
    step = one.step if one.step == other.step else None
    return Fact(lanes, min(one.low, other.low), max(one.high, other.high), step)


def hull(facts: Iterable[Fact]) -> tuple[int, int]:
    """Return the range that has all of some ranges."""
    found = list(facts)
    return min(one.low for one in found), max(one.high for one in found)


Known = Mapping[Value, Fact]

__all__ = [
    "Fact",
    "Known",
    "Lanes",
    "anything",
    "hull",
    "joined",
    "limits",
    "of_lanes",
    "step_of",
]
