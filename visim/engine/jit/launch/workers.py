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
from visim.engine.jit.launch.answers import Aim, Halt, Target, alive
from visim.engine.jit.launch.crew import CREW, Calls
from visim.engine.jit.launch.run import Runner
from visim.engine.jit.launch.tables import Contents
from visim.engine.jit.launch.trials import Trial
from visim.engine.jit.launch.work import CHUNKS, NativeWork, Task

_THREADS_BETWEEN_LOOKS = 1 << 16
"""So many threads each worker runs at first before somebody looks whether to stop."""
SMALL_STEPS = 64_000
"""Fewer instructions take less than waking other workers does, about 25 us: only those that are
awake are asked."""
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
        aim: what the workers are aimed at.
        trial: whether small launches of that form are run by all of the workers.
    """

    def __init__(
        self, runners: Sequence[Runner], halt: Halt, form: Hashable, aim: Aim, trial: Trial
    ) -> None:
        self.runners = runners
        self.trial = trial
        self._first, *others = runners
        self._others = tuple(others)
        self._helping: Sequence[Runner] = ()
        self._aim = aim
        self._target: ref[Target] | None = aim.targets[0]
        self._shown: Contents | None = None
        self.form = form
        self._halt = halt
        self._interrupts = _Interrupts(halt)
        self._task: Task | None = None
        self._task_of_all: Task | None = None
        self._works: list[NativeWork] = []
        shared = runners[0].shared
        self._is_native = shared is not None
        threads = len(shared.starts) if shared is not None else 0
        steps = threads * runners[0].first.weight if len(runners) > 1 else 0
        self._small = SMALL_STEPS // steps if steps else 0
        self._between_looks = max(1, _THREADS_BETWEEN_LOOKS * len(runners) // max(1, threads))

    def run(self, groups: Sequence[int], options: RunOptions) -> Exit:
        """Run groups; the first fault in their order is returned.

        Raises:
            KeyboardInterrupt: Ctrl-C ended the run; a note says where.
        """
        self._halt.wanted = False
        first, began, helping = self._first, 0.0, self._others
        if 0 < len(groups) < self._small:
            began = self.trial.begin()
            helping = helping if self.trial.together else ()
        first.begin(options)
        for runner in helping:
            runner.begin_again(options)
        self._helping = helping
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
            first.rest()
            for runner in helping:
                runner.rest()
        if self._interrupts.came:
            self._interrupts.raise_again(before, found)
        if began:
            self.trial.end(began, len(groups))
        return found

    def aim(self, targets: Sequence[ref[Target]]) -> None:
        """Take over a launch, with a target for each worker.

        Until all of it is done the team is aimed at nothing: a handler of Ctrl-C may end this.
        """
        self._target = None
        self._aim.targets = targets
        first = alive(targets[0])
        if first.shown is not self._shown or not first.is_plain:
            self._shown = None
            for runner in self.runners:
                runner.show()
            self._shown = first.shown if first.is_plain else None
        for work in self._works:
            work.aim()
        self._target = targets[0]

    def is_aimed_at(self, target: ref[Target]) -> bool:
        """Whether the first worker's target is the one that it was aimed at last."""
        return self._target is target

    def _abandon(self) -> None:
        self._halt.wanted = True

    # Threads that native code starts

    def _natively(self, groups: Sequence[int]) -> Exit:
        """Run groups whose threads native code starts.

        Between ranges of them somebody looks whether the launch was cancelled.
        """
        first, done, count, end = self._first, 0, len(groups), None
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
        total = first.exit
        if not self._helping:
            return total
        total.groups = done
        if end is not None:
            total.fault, total.stopped = end.fault, end.stopped
        if first.counts:
            for runner in self._helping:
                total.add_work(runner.exit)
        return total

    def _share(self, groups: Sequence[int]) -> tuple[int, Exit | None]:
        """Run groups; return how many ended well before the first fault, and that, if any.

        What has been done is added to the first worker's exit.
        """
        helping, works = self._helping, self._works
        task = self._task_of_all if helping else self._task
        if task is None or task.groups != groups:
            task = self._new_task(groups)
        if not works:
            works = self._make_works()
        task.begin()
        calls, total = self._calls, self._first.exit
        if not helping:
            work = works[0]
            work.begin(task)
            place = work.end(task, calls.make_first(), total)
            return (len(groups), None) if place is None else (place, total)
        for work in works:
            work.begin(task)
        calls.are_small(len(groups) < self._small)
        answers = CREW.run(calls, self._abandon)
        count, end = len(groups), None
        for work, answer in zip(works, answers, strict=True):
            place = work.end(task, answer, total)
            if place is not None and (end is None or place < count):
                count, end = place, work.runner.exit
        return count, end

    def _new_task(self, groups: Sequence[int]) -> Task:
        """Return a task for the workers at hand, and keep it."""
        task = Task.of(groups, 1 + len(self._helping))
        if self._helping:
            self._task_of_all = task
        else:
            self._task = task
        return task

    def _make_works(self) -> list[NativeWork]:
        """Make the workers' tables of threads, and the calls that run them."""
        works = [NativeWork(self._first)]
        works += [NativeWork(one, own, works[0]) for own, one in enumerate(self._others, start=1)]
        self._calls = Calls([work.call for work in works])
        self._works = works
        return works

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
