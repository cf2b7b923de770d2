"""Shares of matrices that are too long for every run: another one each time, by a printed seed.

`VISIM_SHARE_SEED=N` takes the share of a run again, `--thorough` all of every matrix.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import TypeVar

VARIABLE = "VISIM_SHARE_SEED"
_T = TypeVar("_T")


def choose_seed() -> int:
    """Return the seed of this run: a given one, or a new one, which worker processes inherit."""
    given = os.environ.setdefault(VARIABLE, str(random.SystemRandom().randrange(1 << 32)))
    return int(given)


def share(name: str, items: Sequence[_T], count: int) -> list[_T]:
    """Return `count` of the items, in their order.

    Args:
        name: of the matrix; each has shares of its own.
        items: the whole of it, the same in every run.
        count: how many to take at most.
    """
    chosen = random.Random(f"{name} {choose_seed()}")
    numbers = chosen.sample(range(len(items)), min(count, len(items)))
    return [items[number] for number in sorted(numbers)]
