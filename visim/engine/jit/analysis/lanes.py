"""Rows of elements in variables, one for each lane, and the channels to which lanes belong."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from visim.engine.jit.ir.places import Layout, layout
from visim.sem.effects import Place
from visim.sem.expr import Expr

LEAST_LANES = 4
"""Vectors of fewer lanes have no shapes."""


class Row(NamedTuple):
    """Elements of a variable at equal distances, all in bytes.

    A tuple, since rows are looked up more often than all else that is known of a unit.
    """

    variable: int
    offset: int
    stride: int
    lanes: int
    size: int

    @property
    def end(self) -> int:
        """The byte behind the last element."""
        return self.offset + (self.lanes - 1) * self.stride + self.size


def row_of(place: Place) -> Row | None:
    """Return a place as a row, if it is one."""
    if place.lanes < LEAST_LANES:
        return None
    return _row_of(place.variable.index, layout(place), place.lanes, place.type.bytes)


@lru_cache(maxsize=4096)
def _row_of(variable: int, found: Layout, lanes: int, size: int) -> Row | None:
    if found.step is None or found.step < size:
        return None
    return Row(variable, found.first, found.step, lanes, size)


def channel_of(mask: Expr | None) -> int | None:
    """Return the channel of lane 0 where a mask is exactly the active channels."""
    if mask is None or mask.uop.name != "execution":
        return None
    return int(mask.attribute)


def channel_within(mask: Expr | None) -> int | None:
    """Return the channel of lane 0 where a mask has active channels only, perhaps not all."""
    if mask is not None and mask.uop.name == "and":
        found = [channel_within(arg) for arg in mask.args]
        return next((one for one in found if one is not None), None)
    return channel_of(mask)


def is_between(row: Row, other: Row) -> bool:
    """Whether the elements of a row are in the gaps of another one, as are words of 64 bits."""
    away = (other.offset - row.offset) % row.stride
    return row.stride == other.stride and row.size <= away <= row.stride - other.size
