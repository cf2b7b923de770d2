"""How C's `*p` is read by Python's grammar, and how values that are not all known are combined."""

from __future__ import annotations

import re
from typing import Any, cast

import numpy as np

from visim.debug.naming.values import SourceValue

_TOKEN = re.compile(r"\s+|\w+|'[^']*'|\"[^\"]*\"|.", re.DOTALL)
_WORDS = frozenset({"and", "or", "not", "in", "is", "if", "else"})


def with_stars(text: str) -> tuple[str, frozenset[int]]:
    """Return a text in which each `*` before a pointer is a plus, and where these are.

    A plus binds as C's `*` does. The places are in bytes, as those of Python's trees are.
    """
    parts: list[str] = []
    stars: set[int] = set()
    is_operand, at = False, 0
    for token in _TOKEN.findall(text):
        part = cast("str", token)
        if part == "*" and not is_operand:
            stars.add(at)
            part = "+"
        parts.append(part)
        at += len(part.encode())
        if not part.isspace():
            is_operand = part not in _WORDS and (part[0].isalnum() or part[0] in "_'\")]")
    return "".join(parts), frozenset(stars)


def either(left: Any, right: Any, *, is_and: bool) -> Any:
    """Return two truths combined; what decides it alone does so where the other is not known."""
    combine = np.logical_and if is_and else np.logical_or
    if not np.ma.is_masked(left) and not np.ma.is_masked(right):
        return combine(left, right)
    values = [np.asarray(np.ma.filled(one, not is_and)).astype(np.bool_) for one in (left, right)]
    unknown = np.ma.getmaskarray(left) | np.ma.getmaskarray(right)
    decided = np.zeros_like(unknown)
    for one, value in zip((left, right), values, strict=True):
        decided |= ~np.ma.getmaskarray(one) & (value != is_and)
    numpy: Any = np
    return numpy.ma.masked_array(combine(*values), mask=unknown & ~decided)


def is_lost(value: Any) -> bool:
    """Whether pointers led nowhere in all channels."""
    if isinstance(value, SourceValue):
        return value.lost is not None and bool(value.lost.all())
    return np.ma.is_masked(value) and bool(np.ma.getmaskarray(value).all())


NOWHERE = "a pointer leads to no memory of the launch"

__all__ = ["NOWHERE", "either", "is_lost", "with_stars"]
