"""Contents of variables that tests of the engines give and look at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .harness import Outcome, Threads


def d(*values: int) -> np.ndarray:
    """Return elements of type D."""
    return np.array(values, np.int32)


def zeros(count: int, kind: str = "int32") -> np.ndarray:
    """Return so many zeros."""
    return np.zeros(count, kind)


def octets(count: int, seed: int) -> np.ndarray:
    """Return random bytes."""
    return np.random.default_rng(seed).integers(0, 256, count, np.uint8)


def slot(values: Sequence[int]) -> Threads:
    """Return a variable of one UD whose value differs between threads."""
    return Threads([np.array([value], np.uint32) for value in values])


def ones_at(outcome: Outcome, name: str) -> list[int]:
    """Return the numbers of the elements that are not zero."""
    return [int(place) for place in np.flatnonzero(outcome[name])]
