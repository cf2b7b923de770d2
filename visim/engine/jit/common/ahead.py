"""Compiling before a launch asks for the code: one thread, and what it has still to do.

LLVM runs with Python's lock released, so a program can go on meanwhile. Nobody waits for this
thread as such: who needs code that is being made waits for the lock of its kernel, and who needs
code whose turn has not come makes it. The thread ends when there is nothing left to do, and does
not keep the process alive.
"""

from __future__ import annotations

import os
from _thread import start_new_thread
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import RLock

Job = Callable[[], object]


class Ahead:
    """Does jobs in their order, beside the threads that ask for them.

    Args:
        pays_alone: whether jobs pay where a process has one processor, which they take from those
            who ask for them.
    """

    def __init__(self, *, pays_alone: bool = False) -> None:
        self._pays_alone = pays_alone
        self.forget()

    def forget(self) -> None:
        """Know no thread and no jobs, as after a fork, which takes no threads along."""
        self._jobs: deque[Job] = deque()
        self._has_thread = False
        self._changing = RLock()

    @property
    def is_busy(self) -> bool:
        """Whether there is a job that has not ended."""
        return self._has_thread

    def begin(self, job: Job) -> None:
        """Do a job soon, where that pays; what it raises is not told.

        Whoever depends on the job has to do it again if it was not done.
        """
        if not self._pays_alone and len(os.sched_getaffinity(0)) == 1:
            return
        with self._changing:
            self._jobs.append(job)
            if not self._has_thread:
                # Where no thread is to be had, the job waits for one that comes later.
                with suppress(RuntimeError):
                    # A `Thread` would wait here until it runs, which may be long.
                    start_new_thread(self._work, ())
                    self._has_thread = True

    def _work(self) -> None:
        while (job := self._next()) is not None:
            with suppress(Exception):
                job()

    def _next(self) -> Job | None:
        """Return the next job; without one the thread has ended for all others."""
        with self._changing:
            if self._jobs:
                return self._jobs.popleft()
            self._has_thread = False
            return None


AHEAD = Ahead()
RENEWING = Ahead(pays_alone=True)
"""Makes code again that was made quickly, which takes long: not in the way of what is asked for.

It pays on one processor, too: such code runs four to seven times as fast, see `tiers`."""
for _one in (AHEAD, RENEWING):
    os.register_at_fork(after_in_child=_one.forget)
