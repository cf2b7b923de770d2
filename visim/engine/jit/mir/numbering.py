"""Keys by which pure values are told to be the same."""

from __future__ import annotations

from collections.abc import Hashable

from visim.engine.jit.mir.attributes import Attribute
from visim.engine.jit.mir.ops import Op
from visim.engine.jit.mir.values import Value
from visim.types import DataType

Key = tuple[Hashable, ...]


def pure_key(
    op: Op,
    kind: DataType | None,
    lanes: int,
    args: tuple[Value, ...],
    attribute: Attribute,
    mode: int,
) -> Key:
    """Return what is the same for values that are the same: operands are, by identity.

    Zeros of both signs are equal numbers and other values, so floats count by their text.
    """
    if kind is not None and kind.is_float and isinstance(attribute, float | tuple):
        return op, kind, lanes, args, repr(attribute), mode
    return op, kind, lanes, args, attribute, mode


__all__ = ["Key", "pure_key"]
