"""Whether small launches are done sooner by several workers or by the first alone: it is tried.

Launches of some 10 us gain from a second worker only if that is awake and has a processor, and if
what they work on is in the caches of both. What other programs do decides that, and how launches
follow each other. So every now and then some launches are run in the way that is not usual now,
and that is usual from then on which took less time.
"""

from __future__ import annotations

from time import perf_counter

_USUAL = 512
"""So many launches in the usual way are followed by a trial of the other one."""
_TRIED, _TIMED = 40, 32
"""So many launches are a trial, and the last ones of them are timed: those before wake workers."""
_WORST = 4.0
"""A launch that takes so many times as long as the best one was held up by something else."""


class Trial:
    """How launches of one form are run, and how long they have taken in both ways."""

    def __init__(self) -> None:
        self.together = False
        """Whether the next launch is run by all workers."""
        self._is_usual = True
        self._left = _TRIED
        self._means = [0.0, 0.0]
        self._times: list[float] = []

    def begin(self) -> float:
        """Count a launch that begins; return the time, or 0 if nobody wants to know it."""
        self._left -= 1
        return perf_counter() if self._left < _TIMED else 0.0

    def end(self, began: float, groups: int) -> None:
        """Note that a launch of some groups has ended, of which `begin` has returned the time."""
        self._times.append((perf_counter() - began) / groups)
        if self._left <= 0:
            self._decide()

    def _decide(self) -> None:
        """Go on in the other way if that is to be tried or was quicker."""
        most = _WORST * min(self._times)
        self._means[self.together] = sum(min(most, one) for one in self._times) / len(self._times)
        self._times.clear()
        if self._is_usual:
            self.together, self._left = not self.together, _TRIED
        else:
            alone, together = self._means
            self.together, self._left = together < alone, _USUAL
        self._is_usual = not self._is_usual
