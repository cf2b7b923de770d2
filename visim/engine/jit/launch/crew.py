"""Threads of this process that wait in native code for calls to make, with Python's lock released.

They start when they are first needed and stay. Launches that run at the same time have different
ones, so that none waits for another.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from ctypes import c_int64, c_void_p
from functools import partial
from threading import Thread

import numpy as np
from numpy.typing import NDArray

from visim.engine.jit.common.entries import FUNCTION, Function, address_of, function_at, scheduler
from visim.engine.jit.launch.records import octets_of, words
from visim.engine.jit.layout import Box, Call, Gang


class Calls:
    """Calls to make at the same time, as native code sees them; they can be made again and again.

    Args:
        calls: for each call the address of a native function and its first two arguments. The
            first one is made by the thread that asks.
    """

    def __init__(self, calls: Sequence[tuple[int, int, int]]) -> None:
        self.count = len(calls)
        fields = words(int(Call.SIZE) * self.count)
        for number, call in enumerate(calls):
            start = number * Call.SIZE
            fields[start : start + len(call)] = call
        self.address = int(fields.ctypes.data)
        self._octets = octets_of(fields)
        function, *places = calls[0]
        # Where arguments have their types already, a call takes two thirds of the time.
        self.make_first = partial(function_at(function), *map(c_void_p, places), c_int64(0))
        """Makes the first call alone; returns what it returns."""

    def are_small(self, small: bool) -> None:
        """Say whether waking other threads would take as long as the calls."""
        self._octets[Call.SMALL] = small

    @property
    def answers(self) -> list[int]:
        """What all calls have returned."""
        return self._octets[int(Call.ANSWER) :: int(Call.SIZE)].tolist()


class _Box:
    """Where a thread that waits is told which call to make."""

    def __init__(self) -> None:
        self.fields = words(int(Box.SIZE))
        self.address = int(self.fields.ctypes.data)


class _Gang:
    """Threads that make calls beside a thread that leads; it asks as many as it needs."""

    def __init__(self) -> None:
        self._boxes: list[_Box] = []
        self._table: NDArray[np.uint64] = np.zeros(0, np.uint64)
        self._fields = words(int(Gang.SIZE))
        self._place = int(self._fields.ctypes.data)
        functions = scheduler().functions
        self._lead, self._settle = functions["lead"], functions["settle"]

    def _reserve(self, count: int) -> None:
        """Have so many threads."""
        while len(self._boxes) < count:
            # One by one: a thread that waits needs its box, also if the next one does not start.
            self._boxes.append(_start())
        self._table = np.array([box.address for box in self._boxes], np.uint64)
        fields = self._fields
        fields[Gang.BOXES], fields[Gang.COUNT] = self._table.ctypes.data, self._table.size
        # They are told where they may run, which may not be where those before may.
        fields[Gang.PROCESSORS :] = 0

    def run(self, calls: Calls, abandon: Callable[[], None]) -> list[int]:
        others = calls.count - 1
        if self._table.size < others:
            self._reserve(others)
        step, raised, left = self._lead, None, 1
        while left:
            try:
                left = step(self._place, calls.address, others)
            except BaseException as error:
                raised = error
                abandon()
            step = self._settle
        if raised is not None:
            raise raised
        return calls.answers


class Crew:
    """All threads of a process that make calls for others."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Know no threads, as after a fork, which takes none along."""
        self._idle: list[_Gang] = []

    def run(self, calls: Calls, abandon: Callable[[], None]) -> list[int]:
        """Make calls at the same time, the first one here; return what they return.

        A call that no other thread has begun when the first one ends is not made, and returns 0.
        An exception of a signal's handler is raised again when all have ended.

        Args:
            calls: what to do.
            abandon: makes all calls end soon.
        """
        if calls.count == 1:
            return [calls.make_first()]
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
        self.run(Calls([(address_of(callback), 0, 0) for callback in callbacks]), abandon)
        if errors:
            raise errors[0]


_SERVED: list[_Box] = []
"""Boxes that threads look at, as long as the process lives."""


def _start() -> _Box:
    """Start a thread; return its box."""
    box = _Box()
    _SERVED.append(box)
    serve = scheduler().functions["serve"]
    thread = Thread(target=serve, args=(box.address, 0, 0), name="visim worker", daemon=True)
    thread.start()
    box.fields[Box.THREAD] = thread.native_id or 0
    return box


CREW = Crew()
os.register_at_fork(after_in_child=CREW.forget)
