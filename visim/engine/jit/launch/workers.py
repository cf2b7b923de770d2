"""Several workers: groups on all cores, with Python's lock released in native code."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Hashable, Sequence
from importlib import import_module
from threading import Lock, get_ident, main_thread
from types import FrameType
from weakref import ref

from visim.engine.base import Exit, RunOptions
from visim.engine.faults import CANCELLED
from visim.engine.jit.launch.answers import Halt, Target
from visim.engine.jit.launch.crew import CREW, Calls
from visim.engine.jit.launch.run import Runner
from visim.engine.jit.launch.work import CHUNKS, NativeWork, Task

_THREADS_BETWEEN_LOOKS = 1 << 16
"""So many threads each worker runs at first before somebody looks whether to stop."""
_QUICK_S = 0.01
"""Where they take less there are twice as many before the next look: ends and beginnings of ranges
take a tenth of a millisecond, in which workers wait for each other."""

_Handler = Callable[[int, FrameType | None], object]
_SIGNALS = import_module("_signal")
"""What `signal` is made of: before Python 3.12 the enumerations around it take microseconds."""


_MAIN = [main_thread().ident]
"""The thread that gets signals: after a fork, the one that forked."""


def _renew_main() -> None:
    _MAIN[0] = get_ident()


os.register_at_fork(after_in_child=_renew_main)


def available_workers(options: RunOptions) -> int:
    """Return how many workers a run may have."""
    return options.workers or len(os.sched_getaffinity(0))


class Team:
    """The workers of a dispatch, kept for when it is launched again.

    Args:
        runners: one for each worker.
        halt: makes all of them stop soon.
        form: what dispatches have in common that the team can be aimed at; None: only the first.
        target: what the first of the workers is aimed at.
    """

    def __init__(
        self, runners: Sequence[Runner], halt: Halt, form: Hashable, target: Target
    ) -> None:
        self.runners = runners
        self._target: ref[Target] | None = ref(target)
        self.form = form
        self._halt = halt
        self._interrupts = _Interrupts(halt)
        self._task: Task | None = None
        self._works: list[NativeWork] = []
        shared = runners[0].shared
        self._is_native = shared is not None
        threads = len(shared.starts) if shared is not None else 0
        self._between_looks = max(1, _THREADS_BETWEEN_LOOKS * len(runners) // max(1, threads))

    def run(self, groups: Sequence[int], options: RunOptions) -> Exit:
        """Run groups; the first fault in their order is returned.

        Raises:
            KeyboardInterrupt: Ctrl-C ended the run; a note says where.
        """
        self._halt.wanted = False
        for runner in self.runners:
            runner.begin(options)
        before = self._interrupts.before()
        try:
            if before is not None:
                _SIGNALS.signal(signal.SIGINT, self._interrupts.note)
            found = self._natively(groups) if self._is_native else self._singly(groups)
        finally:
            # First, and not in a function of Python's, at whose beginning another signal's handler
            # may raise an exception; in `signal` it does so before anything is changed.
            if before is not None:
                try:
                    _SIGNALS.signal(signal.SIGINT, before)
                except BaseException:
                    _SIGNALS.signal(signal.SIGINT, before)
                    raise
            for runner in self.runners:
                runner.rest()
        if self._interrupts.came:
            self._interrupts.raise_again(before, found)
        return found

    def aim(self, targets: Sequence[Target]) -> None:
        """Take over a launch, with a target for each worker.

        Until all of it is done the team is aimed at nothing: a handler of Ctrl-C may end this.
        """
        self._target = None
        for runner, target in zip(self.runners, targets, strict=True):
            runner.aim(target)
        for work in self._works:
            work.aim()
        self._target = ref(targets[0])

    def is_aimed_at(self, target: Target) -> bool:
        """Whether the first worker's target is the one that it was aimed at last."""
        return self._target is not None and self._target() is target

    def _abandon(self) -> None:
        self._halt.wanted = True

    # Threads that native code starts

    def _natively(self, groups: Sequence[int]) -> Exit:
        """Run groups whose threads native code starts.

        Between ranges of them somebody looks whether the launch was cancelled.
        """
        first, done, count, end = self.runners[0], 0, len(groups), None
        if count <= self._between_looks and not first.is_stopped:
            done, end = self._share(groups)
        while done < count and end is None:
            if first.is_stopped:
                first.end(CANCELLED.unplaced(), groups[done])
                end = first.exit
                break
            step, began = self._between_looks, time.perf_counter()
            ended, end = self._share(groups[done : done + step])
            done += ended
            if ended == step and time.perf_counter() - began < _QUICK_S:
                self._between_looks *= 2
        if len(self.runners) == 1:
            return first.exit
        total = Exit(done)
        if end is not None:
            total.fault, total.stopped = end.fault, end.stopped
        for runner in self.runners:
            total.add_work(runner.exit)
        return total

    def _share(self, groups: Sequence[int]) -> tuple[int, Exit | None]:
        """Run groups; return how many ended well before the first fault, and that, if any."""
        task, works = self._task, self._works
        if task is None or task.groups != groups:
            task = self._task = Task.of(groups, len(self.runners))
        if not works:
            works = [NativeWork(runner) for runner in self.runners]
            self._calls = Calls([work.call for work in works])
            self._works = works
        task.begin()
        if len(works) == 1:
            work = works[0]
            work.begin(task)
            place = work.end(task, self._calls.make_first())
            return (len(groups), None) if place is None else (place, work.runner.exit)
        for work in works:
            work.begin(task)
        answers = CREW.run(self._calls, self._abandon)
        count, end = len(groups), None
        for work, answer in zip(works, answers, strict=True):
            place = work.end(task, answer)
            if place is not None and (end is None or place < count):
                count, end = place, work.runner.exit
        return count, end

    # Threads that Python starts

    def _singly(self, groups: Sequence[int]) -> Exit:
        """Run groups whose threads Python starts.

        Of several ends that of the first range counts.
        """
        runners = self.runners
        if len(runners) == 1:
            runners[0].singly(groups)
            return runners[0].exit
        ranges, ends = _Ranges(groups, len(runners)), list[tuple[int, Exit]]()

        def job(runner: Runner) -> None:
            while (part := ranges.take()) is not None:
                runner.exit = Exit()
                runner.singly(part[1])
                ends.append((part[0], runner.exit))
                if runner.exit.fault is not None or runner.exit.stopped is not None:
                    ranges.ended = True

        def abandon() -> None:
            ranges.ended = True
            self._abandon()

        CREW.run_jobs([lambda runner=runner: job(runner) for runner in runners], abandon)
        total = Exit()
        for _, found in sorted(ends, key=lambda end: end[0]):
            total.groups += found.groups
            total.add_work(found)
            total.fault, total.stopped = found.fault, found.stopped
            if found.fault is not None or found.stopped is not None:
                break
        return total


class _Ranges:
    """Deals ranges of groups in order, until one of them ends early."""

    def __init__(self, groups: Sequence[int], workers: int) -> None:
        self._groups = groups
        self._step = max(1, len(groups) // (workers * CHUNKS))
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


class _Interrupts:
    """Makes Ctrl-C end a run at the next look of its threads.

    Python's own way would raise an exception in the middle of a call-out, where nobody gets it.
    """

    def __init__(self, halt: Halt) -> None:
        self._halt = halt
        self.came: list[FrameType | None] = []

    def before(self) -> _Handler | None:
        """Forget the run before; return the program's handler, if there is one to replace."""
        self.came.clear()
        if get_ident() != _MAIN[0]:
            return None
        before = _SIGNALS.getsignal(signal.SIGINT)
        return before if callable(before) else None

    def note(self, number: int, frame: FrameType | None) -> None:
        """Handle the signal while the run lasts."""
        del number
        self.came.append(frame)
        self._halt.wanted = True

    def raise_again(self, before: _Handler | None, found: Exit) -> None:
        """Let the program's own handler do what it does, now that nothing runs."""
        if before is None:
            return
        try:
            before(signal.SIGINT, self.came[0])
        except KeyboardInterrupt as interrupt:
            if found.stopped is not None:
                interrupt.add_note(f"interrupted at {found.stopped.place}")
            raise
