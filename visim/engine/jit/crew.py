"""Threads of this process that wait in native code for calls to make, with Python's lock released.

They start when they are first needed and stay. Launches that run at the same time have different
ones, so that none waits for another.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from threading import Lock, Thread

import numpy as np

from visim.engine.jit.entries import FUNCTION, Function, address_of, scheduler
from visim.engine.jit.layout import Box
from visim.engine.jit.records import words

Call = tuple[int, int, int]
"""A call of a native function: its address and its first two arguments."""


class _Box:
    """A call that a thread is to make, as native code sees it."""

    def __init__(self) -> None:
        self.fields = words(int(Box.SIZE))
        self.address = int(self.fields.ctypes.data)

    def fill(self, call: Call) -> None:
        self.fields[Box.FUNCTION : Box.ANSWER + 1] = (*call, 0)

    @property
    def answer(self) -> int:
        return int(self.fields[Box.ANSWER])


class Crew:
    """All threads of a process that make calls for others."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Know no threads, as after a fork, which takes none along."""
        self._lock = Lock()
        self._helpers: list[_Box] = []
        self._leaders: list[_Box] = []

    def run(self, calls: Sequence[Call], abandon: Callable[[], None]) -> list[int]:
        """Make calls at the same time, the first one here; return what they return.

        A call that no other thread has begun when the first one ends is not made, and returns 0.
        An exception of a signal's handler is raised again when all have ended.

        Args:
            calls: what to do.
            abandon: makes all calls end soon.
        """
        if len(calls) == 1:
            function, context, work = calls[0]
            return [FUNCTION(function)(context, work, 0)]
        with self._lock:
            leader = self._leaders.pop() if self._leaders else _Box()
            helpers = [self._helpers.pop() if self._helpers else _start() for _ in calls[1:]]
        try:
            return _run([leader, *helpers], calls, abandon)
        finally:
            with self._lock:
                self._leaders.append(leader)
                self._helpers += helpers

    def run_jobs(self, jobs: Sequence[Callable[[], None]], abandon: Callable[[], None]) -> None:
        """Run Python's functions at the same time; an exception of one is raised again."""
        errors: list[BaseException] = []

        def guarded(job: Callable[[], None]) -> Function:
            def call(*_: int) -> int:
                try:
                    job()
                except BaseException as error:
                    errors.append(error)
                    abandon()
                return 0

            return FUNCTION(call)

        callbacks = [guarded(job) for job in jobs]
        self.run([(address_of(callback), 0, 0) for callback in callbacks], abandon)
        if errors:
            raise errors[0]


def _run(boxes: Sequence[_Box], calls: Sequence[Call], abandon: Callable[[], None]) -> list[int]:
    for box, call in zip(boxes, calls, strict=True):
        box.fill(call)
    leader, helpers = boxes[0], boxes[1:]
    table = np.array([box.address for box in helpers], np.uint64)
    functions, place = scheduler().functions, int(table.ctypes.data)
    step, raised, left = functions["lead"], None, 1
    while left:
        try:
            left = step(place, leader.address, len(helpers))
        except BaseException as error:
            raised = error
            abandon()
        step = functions["settle"]
    if raised is not None:
        raise raised
    return [box.answer for box in boxes]


def _start() -> _Box:
    """Start a thread; return its box."""
    box = _Box()
    serve = scheduler().functions["serve"]
    Thread(target=serve, args=(box.address, 0, 0), name="visim worker", daemon=True).start()
    return box


CREW = Crew()
os.register_at_fork(after_in_child=CREW.forget)
