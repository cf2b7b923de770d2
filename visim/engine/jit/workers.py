"""Several workers: groups on all cores, with Python's lock released in native code."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Lock, Thread

from visim.engine.base import Exit, RunOptions, SharedStarts
from visim.engine.jit.run import Runner, Task
from visim.errors import Fault

LEAST_GROUPS = 8
"""A worker is worth its start for no fewer groups."""

_THREADS_BETWEEN_LOOKS = 1 << 16


def available_workers(options: RunOptions) -> int:
    """Return how many workers a run may have."""
    return options.workers or len(os.sched_getaffinity(0))


def can_share(shared: SharedStarts | None) -> bool:
    """Whether groups of a dispatch may run at the same time.

    They may not where they have nothing in common that native code could start from (a seed asks
    for an order), or where the threads of all groups use the same private memory.
    """
    return shared is not None and shared.private is None


class Crew:
    """Threads of this process that wait for work; they start when they are first needed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._queues: list[SimpleQueue[Callable[[], None]]] = []

    def run(self, jobs: Sequence[Callable[[], None]]) -> None:
        """Run jobs at the same time, the first one here; an exception of one is raised again."""
        if len(jobs) == 1:
            jobs[0]()
            return
        with self._lock:
            while len(self._queues) < len(jobs) - 1:
                self._queues.append(_start())
            done: SimpleQueue[BaseException | None] = SimpleQueue()
            for queue, job in zip(self._queues, jobs[1:], strict=False):
                queue.put(lambda job=job: done.put(_outcome(job)))
            outcomes = [_outcome(jobs[0]), *(done.get() for _ in jobs[1:])]
        for error in outcomes:
            if error is not None:
                raise error


def _outcome(job: Callable[[], None]) -> BaseException | None:
    try:
        job()
    except BaseException as error:
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
    """Run groups on one or more runners; the first fault in their order is returned."""
    first = runners[0]
    if first.shared is None:
        first.singly(groups)
        return first.exit
    step = max(1, _THREADS_BETWEEN_LOOKS * len(runners) // max(1, len(first.shared.starts)))
    stop, done, stopped = first.options.stop, 0, None
    fault: Fault | None = None
    while done < len(groups) and fault is None:
        if stop is not None and stop.is_set():
            stopped = Fault("cancelled", "cancelled", "the launch was cancelled")
            break
        count, fault = _share(runners, groups[done : done + step])
        done += count
    return _total(runners, done, fault, stopped)


def _share(runners: Sequence[Runner], groups: Sequence[int]) -> tuple[int, Fault | None]:
    """Run groups on all runners; return how many ended well before the first fault."""
    task = Task.of(groups, len(runners))
    faults: list[tuple[int, Fault]] = []

    def job(runner: Runner) -> None:
        place = runner.share(task)
        if place is not None and runner.exit.fault is not None:
            faults.append((place, runner.exit.fault))

    _CREW.run([lambda runner=runner: job(runner) for runner in runners])
    if faults:
        return min(faults, key=lambda found: found[0])
    return len(groups), None


def _total(
    runners: Sequence[Runner], groups: int, fault: Fault | None, stopped: Fault | None
) -> Exit:
    total = Exit(groups=groups, fault=fault, stopped=stopped)
    for found in (runner.exit for runner in runners):
        total.threads += found.threads
        total.executed += found.executed
        for form, count in found.forms.items():
            total.forms[form] = total.forms.get(form, 0) + count
    return total
