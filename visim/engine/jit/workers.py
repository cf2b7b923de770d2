"""Several workers: ranges of groups on all cores, with Python's lock released in native code."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from visim.engine.base import Exit, RunOptions, SharedStarts
from visim.engine.jit.run import Runner

LEAST_GROUPS = 8
"""A worker is worth its start for no fewer groups."""

_CHUNKS = 16


def available_workers(options: RunOptions) -> int:
    """Return how many workers a run may have."""
    wanted = getattr(options, "workers", None)
    return wanted or len(os.sched_getaffinity(0))


def can_share(shared: SharedStarts | None) -> bool:
    """Whether groups of a dispatch may run at the same time.

    They may not where they have nothing in common that native code could start from (a seed asks
    for an order), or where the threads of all groups use the same private memory.
    """
    return shared is not None and shared.private is None


class _Ranges:
    """Deals ranges of groups in order, until one of them ends early."""

    def __init__(self, groups: Sequence[int], workers: int) -> None:
        self._groups = groups
        self._step = max(1, -(-len(groups) // (workers * _CHUNKS)))
        self._next = 0
        self._lock = Lock()
        self.ended = False

    def take(self) -> tuple[int, Sequence[int]] | None:
        """Return the next range and where it begins, or None."""
        with self._lock:
            start = self._next
            if self.ended or start >= len(self._groups):
                return None
            self._next = start + self._step
            return start, self._groups[start : self._next]


def run_groups(runners: Sequence[Runner], groups: Sequence[int]) -> Exit:
    """Run groups on one or more runners; the first fault in their order is returned."""
    if len(runners) == 1:
        runners[0].groups(groups)
        return runners[0].exit
    ranges = _Ranges(groups, len(runners))
    with ThreadPoolExecutor(len(runners)) as pool:
        work = [pool.submit(_drain, runner, ranges) for runner in runners]
        ends = [end for job in work for end in job.result()]
    total = Exit()
    for _, found in sorted(ends, key=lambda end: end[0]):
        total.groups += found.groups
        total.threads += found.threads
        total.executed += found.executed
        for form, count in found.forms.items():
            total.forms[form] = total.forms.get(form, 0) + count
        total.fault, total.stopped = found.fault, found.stopped
        if found.fault is not None or found.stopped is not None:
            break
    return total


def _drain(runner: Runner, ranges: _Ranges) -> list[tuple[int, Exit]]:
    """Run ranges until there are no more; return how each ended."""
    ends: list[tuple[int, Exit]] = []
    while (part := ranges.take()) is not None:
        start, groups = part
        runner.exit = Exit()
        runner.groups(groups)
        ends.append((start, runner.exit))
        if runner.exit.fault is not None or runner.exit.stopped is not None:
            ranges.ended = True
            break
    return ends
