"""Several workers: groups on all cores, with Python's lock released in native code."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Lock, Thread, current_thread, main_thread
from types import FrameType
from typing import Self

from visim.engine.base import Exit, RunOptions
from visim.engine.jit.endings import CANCELLED
from visim.engine.jit.run import CHUNKS, Runner, Task

LEAST_GROUPS = 8
"""A worker is worth its start for no fewer groups."""

_THREADS_BETWEEN_LOOKS = 1 << 16


def available_workers(options: RunOptions) -> int:
    """Return how many workers a run may have."""
    return options.workers or len(os.sched_getaffinity(0))


class Crew:
    """Threads of this process that wait for work; they start when they are first needed.

    Launches that run at the same time have different ones, so that none waits for another.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._idle: list[SimpleQueue[Callable[[], None]]] = []

    def run(self, jobs: Sequence[Callable[[], None]], abandon: Callable[[], None]) -> None:
        """Run jobs at the same time, the first one here; an exception of one is raised again.

        Args:
            jobs: what to run.
            abandon: makes all jobs end soon; called when one has raised an exception.
        """
        with self._lock:
            queues = [self._idle.pop() if self._idle else _start() for _ in jobs[1:]]
        done: SimpleQueue[BaseException | None] = SimpleQueue()
        for queue, job in zip(queues, jobs[1:], strict=True):
            queue.put(lambda job=job: done.put(_outcome(job, abandon)))
        errors = [_outcome(jobs[0], abandon), *(done.get() for _ in queues)]
        with self._lock:
            self._idle += queues
        for error in errors:
            if error is not None:
                raise error


def _outcome(job: Callable[[], None], abandon: Callable[[], None]) -> BaseException | None:
    try:
        job()
    except BaseException as error:
        abandon()
        return error
    return None


def _start() -> SimpleQueue[Callable[[], None]]:
    queue: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def work() -> None:
        while True:
            queue.get()()

    Thread(target=work, name="visim worker", daemon=True).start()
    return queue


_CREW = Crew()


def run_groups(runners: Sequence[Runner], groups: Sequence[int]) -> Exit:
    """Run groups on one or more runners; the first fault in their order is returned.

    Raises:
        KeyboardInterrupt: Ctrl-C ended the run; a note says where.
    """
    with _Interrupts(runners) as interrupts:
        found = _run(runners, groups)
    interrupts.raise_again(found)
    return found


class _Interrupts:
    """Makes Ctrl-C end a run at the next look of its threads.

    Python's own way would raise an exception in the middle of a call-out, where nobody gets it.
    """

    def __init__(self, runners: Sequence[Runner]) -> None:
        self._runners = runners
        self._came: list[FrameType | None] = []
        self._before: Callable[[int, FrameType | None], object] | None = None

    def __enter__(self) -> Self:
        if current_thread() is main_thread():
            before = signal.getsignal(signal.SIGINT)
            if callable(before):
                self._before = before
                signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        del number
        self._came.append(frame)
        _abandon(self._runners)

    def raise_again(self, found: Exit) -> None:
        """Let the program's own handler do what it does, now that nothing runs."""
        if not self._came or self._before is None:
            return
        try:
            self._before(signal.SIGINT, self._came[0])
        except KeyboardInterrupt as interrupt:
            if found.stopped is not None:
                interrupt.add_note(f"interrupted at {found.stopped.place}")
            raise


def _run(runners: Sequence[Runner], groups: Sequence[int]) -> Exit:
    first = runners[0]
    if first.shared is None:
        return _singly(runners, groups)
    step = max(1, _THREADS_BETWEEN_LOOKS * len(runners) // max(1, len(first.shared.starts)))
    done, end = 0, Exit()
    while done < len(groups) and end.fault is None and end.stopped is None:
        if first.is_stopped:
            first.end(CANCELLED, groups[done])
            end = first.exit
            break
        count, end = _share(runners, groups[done : done + step])
        done += count
    total = Exit(groups=done, fault=end.fault, stopped=end.stopped)
    for runner in runners:
        _add(total, runner.exit)
    return total


def _share(runners: Sequence[Runner], groups: Sequence[int]) -> tuple[int, Exit]:
    """Run groups on all runners; return how many ended well before the first fault, and it."""
    task = Task.of(groups, len(runners))
    ends: list[tuple[int, Exit]] = []

    def job(runner: Runner) -> None:
        place = runner.share(task)
        if place is not None:
            ends.append((place, runner.exit))

    def abandon() -> None:
        task.stop()
        _abandon(runners)

    _CREW.run([lambda runner=runner: job(runner) for runner in runners], abandon)
    return min(ends, key=lambda found: found[0], default=(len(groups), Exit()))


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


def _singly(runners: Sequence[Runner], groups: Sequence[int]) -> Exit:
    """Run groups whose threads Python starts."""
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
        _abandon(runners)

    _CREW.run([lambda runner=runner: job(runner) for runner in runners], abandon)
    total = Exit()
    for _, found in sorted(ends, key=lambda end: end[0]):
        total.groups += found.groups
        _add(total, found)
        total.fault, total.stopped = found.fault, found.stopped
        if found.fault is not None or found.stopped is not None:
            break
    return total


def _abandon(runners: Sequence[Runner]) -> None:
    for runner in runners:
        runner.abandoned = True


def _add(total: Exit, found: Exit) -> None:
    total.threads += found.threads
    total.executed += found.executed
    for form, count in found.forms.items():
        total.forms[form] = total.forms.get(form, 0) + count
