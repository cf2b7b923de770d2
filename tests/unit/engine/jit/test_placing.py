"""Where and how soon threads that wait for calls get a processor."""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Callable
from threading import Barrier, get_native_id

import pytest

from visim.engine.jit.common import placing
from visim.engine.jit.common.entries import FUNCTION
from visim.engine.jit.common.native import NativeCode, any_processor, object_code
from visim.engine.jit.launch.crew import Crew
from visim.engine.jit.targets import machine_named

PATIENCE_S = 20
HERE = machine_named(platform.machine())
PROCESSORS = os.sched_getaffinity(0)
several = pytest.mark.skipif(len(PROCESSORS) < 2, reason="there is one processor")


class Attributes(ctypes.Structure):
    """What Linux says of how a thread is scheduled."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("slice", ctypes.c_uint64),
        ("deadline", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
    )


def attributes() -> Attributes:
    """Return those of the thread that asks."""
    number = int(placing.placing_numbers(HERE)["GET_ATTRIBUTES"])
    found = Attributes()
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    if syscall(number, 0, ctypes.byref(found), ctypes.sizeof(found), 0):
        pytest.skip("this host does not say how threads are scheduled")
    return found


def leaving() -> str:
    """Return the module of a function that leaves the processor of its last argument."""
    text = placing.PLACING
    for name, value in placing.placing_numbers(HERE).items():
        text = text.replace(f"${name}$", value)
    return f"""
declare i64 @syscall(i64, ...)
{text}
define i64 @leave_it(ptr %a, ptr %b, i64 %taken) #0 {{
  call void @leave(i64 %taken)
  ret i64 0
}}
attributes #0 = {{ nounwind }}
"""


def nothing() -> None:
    pass


def on_a_worker(crew: Crew, job: Callable[[], None]) -> None:
    """Do a job on a thread of a crew, which begins it while this one waits."""
    begun = Barrier(2)

    def first() -> None:
        begun.wait(PATIENCE_S)

    def second() -> None:
        begun.wait(PATIENCE_S)
        job()

    crew.run_jobs([first, second], nothing)


def test_a_worker_runs_for_short_times_with_the_nice_value_of_the_process() -> None:
    found, mine = list[Attributes](), attributes()
    on_a_worker(Crew(), lambda: found.append(attributes()))
    if not mine.slice:
        pytest.skip("this Linux has no slices of threads")
    assert found[0].slice == placing.SLICE_NS
    assert (found[0].policy, found[0].nice) == (mine.policy, mine.nice)
    assert attributes().slice == mine.slice


@several
def test_a_thread_leaves_a_processor_and_may_return_to_it() -> None:
    code = NativeCode(object_code(leaving(), any_processor()), ["leave_it"])
    leave, taken, gone = FUNCTION(code.addresses["leave_it"]), min(PROCESSORS), 0
    getcpu = ctypes.CDLL(None).sched_getcpu
    try:
        for _ in range(20):
            os.sched_setaffinity(0, {taken})
            os.sched_setaffinity(0, PROCESSORS)
            leave(0, 0, taken)
            gone += getcpu() != taken
            assert os.sched_getaffinity(0) == PROCESSORS
    finally:
        os.sched_setaffinity(0, PROCESSORS)
    # Linux may move threads when it likes to.
    assert gone > 10


@several
def test_a_worker_may_run_everywhere_when_it_has_left_the_processor_of_who_asks() -> None:
    crew, worker, allowed = Crew(), list[int](), list[set[int]]()
    on_a_worker(crew, lambda: worker.append(get_native_id()))
    asking = min(PROCESSORS)
    try:
        for _ in range(20):
            for thread in (worker[0], 0):
                os.sched_setaffinity(thread, {asking})
                os.sched_setaffinity(thread, PROCESSORS)
            on_a_worker(crew, lambda: allowed.append(os.sched_getaffinity(worker[0])))
    finally:
        os.sched_setaffinity(0, PROCESSORS)
    assert allowed == [PROCESSORS] * 20


def test_a_worker_with_the_same_only_processor_as_who_asks_does_its_job() -> None:
    crew, worker, allowed = Crew(), list[int](), list[set[int]]()
    on_a_worker(crew, lambda: worker.append(get_native_id()))
    only = {max(PROCESSORS)}
    os.sched_setaffinity(0, only)
    try:
        on_a_worker(crew, lambda: allowed.append(os.sched_getaffinity(worker[0])))
    finally:
        os.sched_setaffinity(0, PROCESSORS)
    assert allowed == [only]


@several
def test_workers_run_where_who_asks_may_run_and_not_where_who_started_them_could() -> None:
    crew, allowed = Crew(), list[set[int]]()
    try:
        for processors in ({min(PROCESSORS)}, PROCESSORS, {max(PROCESSORS)}):
            os.sched_setaffinity(0, processors)
            on_a_worker(crew, lambda: allowed.append(os.sched_getaffinity(get_native_id())))
    finally:
        os.sched_setaffinity(0, PROCESSORS)
    assert allowed == [{min(PROCESSORS)}, PROCESSORS, {max(PROCESSORS)}]
