"""How long something takes, where there is nothing to compare it with in turn."""

from __future__ import annotations

import time
from collections.abc import Callable


def least(run: Callable[[], object], samples: int) -> float:
    """Return the seconds of the best of some samples."""
    best = float("inf")
    for _ in range(samples):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best
