"""Threads of this process that wait in native code for calls to make, with Python's lock released.

They start when they are first needed and stay. Launches that run at the same time have different
ones, so that none waits for another.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from struct import Struct
from threading import Thread

import numpy as np
from numpy.typing import NDArray

from visim.engine.jit.entries import FUNCTION, Function, address_of, function_at, scheduler
from visim.engine.jit.layout import Box
from visim.engine.jit.records import octets_of, words

Call = tuple[int, int, int]
"""A call of a native function: its address and its first two arguments."""


_CALL = Struct("4Q")
"""The fields of a box from `Box.FUNCTION` to `Box.ANSWER`."""


class _Box:
    """A call that a thread is to make, as native code sees it."""

    def __init__(self) -> None:
        self.fields = words(int(Box.SIZE))
        self.address = int(self.fields.ctypes.data)
        self._octets = octets_of(self.fields)

    def fill(self, call: Call) -> None:
        _CALL.pack_into(self._octets, 8 * Box.FUNCTION, *call, 0)

    @property
    def answer(self) -> int:
        return int(self.fields[Box.ANSWER])


class _Gang:
    """A thread that leads, and others of which it asks as many as it needs."""

    def __init__(self) -> None:
        self.leader = _Box()
        self._others: list[_Box] = []
        self._table: NDArray[np.uint64] = np.zeros(0, np.uint64)

    def boxes(self, count: int) -> list[_Box]:
        """Return the boxes for so many calls, the leader's first."""
        while len(self._others) < count - 1:
            # One by one: a thread that waits needs its box, also if the next one does not start.
            self._others.append(_start())
        if self._table.size < len(self._others):
            self._table = np.array([box.address for box in self._others], np.uint64)
        return [self.leader, *self._others[: count - 1]]

    def run(self, calls: Sequence[Call], abandon: Callable[[], None]) -> list[int]:
        boxes = self.boxes(len(calls))
        for box, call in zip(boxes, calls, strict=True):
            box.fill(call)
        functions, place = scheduler().functions, int(self._table.ctypes.data)
        step, raised, left = functions["lead"], None, 1
        while left:
            try:
                left = step(place, self.leader.address, len(calls) - 1)
            except BaseException as error:
                raised = error
                abandon()
            step = functions["settle"]
        if raised is not None:
            raise raised
        return [box.answer for box in boxes]


class Crew:
    """All threads of a process that make calls for others."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Know no threads, as after a fork, which takes none along."""
        self._idle: list[_Gang] = []

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
            return [function_at(function)(context, work, 0)]
        idle = self._idle
        try:
            gang = idle.pop()
        except IndexError:
            gang = _Gang()
        try:
            return gang.run(calls, abandon)
        finally:
            idle.append(gang)

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


_SERVED: list[_Box] = []
"""Boxes that threads look at, as long as the process lives."""


def _start() -> _Box:
    """Start a thread; return its box."""
    box = _Box()
    _SERVED.append(box)
    serve = scheduler().functions["serve"]
    Thread(target=serve, args=(box.address, 0, 0), name="visim worker", daemon=True).start()
    return box


CREW = Crew()
os.register_at_fork(after_in_child=CREW.forget)
