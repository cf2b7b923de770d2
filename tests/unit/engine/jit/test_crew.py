"""Threads that make calls for a launch beside the one that leads."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from threading import Barrier, Thread, current_thread

import numpy as np
import pytest

import visim
from tests.unit.runtime.launching.numbering import HEAD, STORE
from visim.engine.jit.common.entries import FUNCTION, Function, address_of
from visim.engine.jit.launch import workers
from visim.engine.jit.launch.crew import _SERVED, Calls, Crew
from visim.engine.jit.layout import Box, BoxState

PATIENCE_S = 20
FORKING = """
import os
import numpy as np
import visim
from tests.unit.runtime.launching.numbering import GROUPS, HEAD, STORE

kernel = visim.assemble(HEAD + STORE, platform="pvc")["k"]

def launch():
    out = np.zeros(GROUPS, np.uint32)
    launch = kernel.bind([out], thread_groups=GROUPS, group_size=2, workers=2, engine="jit")
    launch()
    assert np.array_equal(out, np.arange(GROUPS) + 1)

launch()
child = os.fork()
launch()
if child:
    os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def nothing() -> None:
    pass


def test_jobs_run_at_the_same_time() -> None:
    together, names = Barrier(3), set[str]()

    def job() -> None:
        together.wait(PATIENCE_S)
        names.add(current_thread().name)

    crew = Crew()
    for _ in range(3):
        crew.run_jobs([job] * 3, nothing)
    assert len(names) in {2, 3}


def test_threads_that_were_started_stay_when_one_does_not_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start, started = Thread.start, list[Thread]()

    def once(thread: Thread) -> None:
        if started:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    crew, together, ran = Crew(), Barrier(3), set[Thread]()

    def job() -> None:
        together.wait(PATIENCE_S)
        ran.add(current_thread())

    with monkeypatch.context() as patched:
        patched.setattr(Thread, "start", once)
        with pytest.raises(RuntimeError, match="can't start"):
            crew.run_jobs([nothing] * 3, nothing)
    crew.run_jobs([job] * 3, nothing)
    assert started[0] in ran


def test_an_exception_is_raised_again_when_all_have_ended() -> None:
    together, ended, abandoned = Barrier(2), list[int](), list[int]()

    def fails() -> None:
        together.wait(PATIENCE_S)
        raise ValueError("wrong")

    def ends() -> None:
        together.wait(PATIENCE_S)
        ended.append(1)

    for jobs in ([fails, ends], [ends, fails]):
        with pytest.raises(ValueError, match="wrong"):
            Crew().run_jobs(jobs, lambda: abandoned.append(1))
    assert (ended, abandoned) == ([1, 1], [1, 1])


class SmallCalls:
    """Two small calls of Python's functions, which note that they have been made."""

    def __init__(self, first_s: float = 0.0, second_s: float = 0.0) -> None:
        self.made = [0, 0]
        self.seconds = [first_s, second_s]
        self._callbacks = [FUNCTION(self._call(place)) for place in range(2)]
        self.calls = Calls([(address_of(callback), 0, 0) for callback in self._callbacks])
        self.calls.are_small(True)

    def _call(self, place: int) -> Function:
        def call(*_: int) -> int:
            self.made[place] += 1
            time.sleep(self.seconds[place])
            return 1

        return call

    def run_until_both_are_made(self, crew: Crew) -> None:
        """Run them until a helper was awake in time."""
        end = time.monotonic() + PATIENCE_S
        while not self.made[1] and time.monotonic() < end:
            crew.run(self.calls, nothing)


def asleep(crew: Crew) -> Crew:
    """Return a crew with one thread, when that sleeps."""
    crew.run_jobs([nothing] * 2, nothing)
    end = time.monotonic() + PATIENCE_S
    while _SERVED[-1].fields[Box.STATE] != BoxState.ASLEEP and time.monotonic() < end:
        time.sleep(0.001)
    return crew


def test_a_small_call_wakes_nobody() -> None:
    crew, small = asleep(Crew()), SmallCalls()
    assert crew.run(small.calls, nothing) == [1, 0]
    assert small.made == [1, 0]
    assert _SERVED[-1].fields[Box.STATE] == BoxState.ASLEEP


def test_small_calls_that_follow_each_other_quickly_wake_a_thread() -> None:
    crew, small = asleep(Crew()), SmallCalls(first_s=0.002)
    small.run_until_both_are_made(crew)
    assert small.made[1]


def test_a_thread_that_holds_small_calls_up_is_left_alone() -> None:
    crew, small = asleep(Crew()), SmallCalls(first_s=0.002, second_s=0.05)
    small.run_until_both_are_made(crew)
    assert small.made[1]
    quick = SmallCalls(first_s=0.001)
    for _ in range(50):
        crew.run(quick.calls, nothing)
    assert quick.made == [50, 0]


def test_launches_go_on_after_a_fork() -> None:
    subprocess.run([sys.executable, "-c", FORKING], check=True, timeout=60)


@pytest.mark.usefixtures("interrupted_by_default")
def test_ctrl_c_is_given_back_when_another_handler_raises_an_exception(monkeypatch):
    class Alarm(Exception):
        pass

    class Signals:
        """Raises an exception before the second change, as `signal` does when a signal waits."""

        getsignal = staticmethod(signal.getsignal)
        changes = 0

        def signal(self, number: int, handler: object) -> object:
            self.changes += 1
            if self.changes == 2:
                raise Alarm
            return signal.signal(number, handler)

    monkeypatch.setattr(workers, "_SIGNALS", Signals())
    kernel, out = visim.assemble(HEAD + STORE, platform="pvc")["k"], np.zeros(1, np.uint32)
    with pytest.raises(Alarm):
        kernel.launch([out], thread_groups=1, engine="jit")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert kernel.launch([out], thread_groups=1, engine="jit").groups == 1
