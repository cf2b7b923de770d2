"""Code that is compiled between `bind` and the first call."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import weakref
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread, current_thread, main_thread
from time import perf_counter, sleep

import numpy as np
import pytest

import visim
from tests.unit.engine.jit.storing import (
    FLAT,
    GROUPS,
    array,
    bound,
    check,
    expected,
    kernel,
)
from tests.unit.runtime.launching.numbering import MEETING
from visim.engine.jit.common import ahead
from visim.engine.jit.common.ahead import AHEAD, Ahead
from visim.engine.jit.emit.module import ModuleWriter
from visim.engine.jit.writing.versions import ModuleText
from visim.errors import ToolMissing, UnsupportedError
from visim.forks import WRITING_LOCK

CORPUS = Path(__file__).parents[3] / "corpus"
PATIENCE_S = 20
WAITING_S = 0.02
BINDING = """
import os
from threading import Event, Thread
from tests.unit.engine.jit.storing import FLAT, LONG, array, bound, check, kernel
from visim.engine.jit.common import native
from visim.engine.jit.common.ahead import AHEAD

os.sched_getaffinity = lambda process: {0, 1}
begun, compiled = Event(), native._compiled

def noted(*given):
    begun.set()
    return compiled(*given)

native._compiled = noted
out = array()
launch = bound(kernel(LONG + FLAT), out)
begun.wait()
"""
RAISING = "raise SystemExit(3)"
ENDLESS = "AHEAD.begin(Event().wait)"
ANOTHER_THREAD = """
launch()
begun.clear()
Thread(target=bound(kernel(LONG * 2 + FLAT), array(), seed=1)).start()
begun.wait()
"""
IN_A_HANDLER = """
import os, signal
from threading import Event
from time import sleep
from tests.unit.engine.jit.storing import array, bound, check, kernel
from visim.engine.jit.common import native
from visim.engine.jit.common.ahead import AHEAD
from visim.engine.jit.emit.module import ModuleWriter

os.sched_getaffinity = lambda process: {0, 1}
held, child, out = Event(), None, array()

def fork(*_):
    global child
    child = os.fork()

signal.signal(signal.SIGUSR1, fork)

def interrupted(function):
    def called(*given):
        if not held.is_set():
            held.set()
            sleep(0.1)  # Meanwhile the code that was expected is asked for in the background.
            signal.raise_signal(signal.SIGUSR1)
        return function(*given)
    return called

AHEAD.begin(held.wait)
launch = bound(kernel(), out)
"""
WRITES = "ModuleWriter.write = interrupted(ModuleWriter.write)"
COMPILES = "native._compiled = interrupted(native._compiled)"
OF_ANOTHER = """
expected, launch = launch, bound(kernel(), out)
"""
FORKED = """
launch()
check(bound(kernel(), out), out)
if child:
    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
FORKING = """
child = os.fork()
launch()
check(bound(kernel(), out), out)
if child:
    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is compiled yet, and there are two processors."""
    monkeypatch.setenv("VISIM_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1})


class Writing:
    """Whether modules are written in other threads; this waits while `open` is not set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.elsewhere: list[bool] = []
        self.begun, self.open = Event(), Event()
        self.open.set()
        self.takes_s = 0.0
        self.error: Exception | None = None
        write = ModuleWriter.write

        def noted(module: ModuleWriter) -> ModuleText:
            self.elsewhere.append(current_thread() is not main_thread())
            self.begun.set()
            assert self.open.wait(PATIENCE_S)
            sleep(self.takes_s)
            if self.error is not None:
                raise self.error
            return write(module)

        monkeypatch.setattr(ModuleWriter, "write", noted)


@pytest.fixture
def writing(nothing_to_compile: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Writing]:
    found = Writing(monkeypatch)
    yield found
    found.open.set()
    wait()


def wait() -> None:
    """Wait until nothing is left to compile."""
    done = Event()
    AHEAD.begin(done.set)
    assert done.wait(PATIENCE_S)


@pytest.mark.parametrize("options", [{}, {"workers": 1}, {"budget": 1000}, {"checks": "off"}])
def test_the_call_asks_for_the_code_that_was_compiled_ahead(
    writing: Writing, options: dict[str, object]
) -> None:
    out = array()
    launch = bound(kernel(), out, **options)
    wait()
    check(launch, out)
    assert writing.elsewhere == [True]


@pytest.mark.parametrize(
    ("file", "name", "arguments", "expected"),
    [
        ("call_dg2", "first", [np.array([0, 5, 6], np.int32)], [120, 5, 6]),
        ("call_dg2", "second", [np.array([0, 5, 6], np.int32)], [721, 5, 6]),
        ("data_tgllp", "look_up", [np.zeros(3, np.int32), 1], [7, 8, 7]),
    ],
)
@pytest.mark.parametrize("local_size", [1, 2])
def test_so_does_the_call_of_compiled_programs(
    writing: Writing,
    file: str,
    name: str,
    arguments: list[object],
    expected: list[int],
    local_size: int,
) -> None:
    data, *others = arguments
    data = np.array(data)
    one = visim.load(CORPUS / f"{file}.zebin")[name]
    size = len(data) if others else 1
    launch = one.bind([data, *others], global_size=size, local_size=local_size, engine="jit")
    wait()
    launch()
    assert data.tolist() == expected
    assert writing.elsewhere == [True] * len(writing.elsewhere)


def test_a_launch_compiles_in_the_thread_that_asks(writing: Writing) -> None:
    kernel().launch([array(), 1], global_size=32, engine="jit")
    assert writing.elsewhere == [False]


def test_nothing_is_compiled_ahead_for_the_interpreter(writing: Writing) -> None:
    out = array()
    launch = bound(kernel(), out, engine="interpreter")
    check(launch, out)
    wait()
    assert not writing.elsewhere


def test_code_for_threads_that_python_starts_is_compiled_when_they_are(writing: Writing) -> None:
    out = array()
    launch = bound(kernel(), out, seed=1)
    wait()
    assert not writing.elsewhere
    check(launch, out)


def test_code_for_threads_that_meet_at_split_barriers_is_compiled_ahead(writing: Writing) -> None:
    out = array()
    launch = bound(kernel(MEETING + FLAT), out)
    wait()
    check(launch, out)
    assert writing.elsewhere == [True]


def test_two_launches_that_are_bound_share_what_is_compiled(writing: Writing) -> None:
    one, out = kernel(), array()
    launches = [bound(one, out) for _ in range(2)]
    for launch in launches:
        check(launch, out)
    wait()
    assert len(writing.elsewhere) == 1


def test_a_call_waits_for_code_that_is_being_made(writing: Writing) -> None:
    writing.open.clear()
    out = array()
    launch = bound(kernel(), out)
    assert writing.begun.wait(PATIENCE_S)
    caller = Thread(target=launch)
    caller.start()
    assert not out.any()
    writing.open.set()
    caller.join(PATIENCE_S)
    assert np.array_equal(out, expected(1))
    assert writing.elsewhere == [True]


def test_a_call_does_not_wait_for_code_of_others(writing: Writing) -> None:
    held, out = Event(), array()
    AHEAD.begin(lambda: held.wait(PATIENCE_S))
    check(bound(kernel(), out), out)
    held.set()
    assert writing.elsewhere == [False]


@pytest.mark.parametrize("options", [{}, {"seed": 1, "workers": 2}])
def test_reports_count_waiting_for_code_as_preparing(
    writing: Writing, options: dict[str, object]
) -> None:
    writing.takes_s, began = WAITING_S, perf_counter()
    launch = bound(kernel(), array(), **options)
    bound_s, began = perf_counter() - began, perf_counter()
    report = launch()
    spent = perf_counter() - began
    assert launch.compile_s <= bound_s
    assert report.wall_s <= spent - (report.compile_s - launch.compile_s)
    assert launch().compile_s == launch.compile_s


def test_a_launch_that_compiles_says_how_long(writing: Writing) -> None:
    writing.takes_s, began = WAITING_S, perf_counter()
    report = kernel().launch([array(), 1], global_size=32, engine="jit")
    assert report.compile_s >= WAITING_S
    assert report.wall_s + report.compile_s <= perf_counter() - began


def test_reports_do_not_tell_who_compiled(writing: Writing) -> None:
    def facts(ahead: bool) -> dict[str, object]:
        launch = bound(kernel(), array(), collect=["instructions", "fidelity"])
        if ahead:
            wait()
        found = launch().to_dict()
        return {name: value for name, value in found.items() if name not in {"wall_s", "compile_s"}}

    assert facts(ahead=True) == facts(ahead=False)


def test_what_is_refused_is_refused_at_each_call(writing: Writing) -> None:
    writing.error = UnsupportedError("not this one")
    launch = bound(kernel(), array())
    wait()
    for _ in range(2):
        with pytest.raises(UnsupportedError, match="not this one"):
            launch()


def test_that_llvm_is_missing_is_said_at_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> int:
        raise ToolMissing("no llvmlite")

    monkeypatch.setattr("visim.engine.jit.launch.code.vector_lanes", missing)
    launch = bound(kernel(), array())
    wait()
    with pytest.raises(ToolMissing):
        launch()


def test_faults_are_those_of_the_call() -> None:
    launch = bound(kernel(), array()[:4])
    wait()
    for _ in range(2):
        with pytest.raises(visim.FaultError) as error:
            launch()
        assert error.value.fault.group == (2, 0, 0)


def test_a_launch_that_is_thrown_away_lets_go_of_its_memory(writing: Writing) -> None:
    writing.open.clear()
    out = array()
    gone = weakref.ref(out)
    launch = bound(kernel(), out)
    assert writing.begun.wait(PATIENCE_S)
    del launch, out
    assert gone() is None


def test_kernels_that_are_thrown_away_before_their_turn_are_not_compiled(writing: Writing) -> None:
    held = Event()
    AHEAD.begin(lambda: held.wait(PATIENCE_S))
    bound(kernel(), array())
    gc.collect()
    held.set()
    wait()
    assert not writing.elsewhere


@pytest.mark.parametrize(
    ("script", "code"),
    [(RAISING, 3), (ENDLESS, 0), (FORKING, 0), (ANOTHER_THREAD + FORKING, 0)],
    ids=["fails", "ends before an endless job", "forks", "forks while another thread compiles"],
)
def test_a_process_goes_on_while_code_is_made(script: str, code: int) -> None:
    command = [sys.executable, "-c", BINDING + script]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (code, "")


@pytest.mark.parametrize("step", [WRITES, COMPILES], ids=["writes", "compiles"])
@pytest.mark.parametrize("other", ["", OF_ANOTHER], ids=["the same code", "other code"])
def test_a_handler_forks_while_its_thread_makes_code(step: str, other: str) -> None:
    command = [sys.executable, "-c", IN_A_HANDLER + other + step + FORKED]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_launches_at_the_same_time_share_their_code(writing: Writing) -> None:
    writing.open.clear()
    one, outs = kernel(), [array() for _ in range(4)]
    sizes = {"global_size": 32 * GROUPS, "local_size": 32}
    threads = [
        Thread(target=one.launch, args=([out, 1],), kwargs={"engine": "jit"} | sizes)
        for out in outs
    ]
    for thread in threads:
        thread.start()
    assert writing.begun.wait(PATIENCE_S)
    writing.open.set()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert len(writing.elsewhere) == 1
    assert all(np.array_equal(out, expected(1)) for out in outs)


@pytest.mark.usefixtures("interrupted_by_default")
def test_ctrl_c_ends_a_call_that_waits_for_its_code(writing: Writing) -> None:
    writing.open.clear()
    out = array()
    launch = bound(kernel(), out)
    assert writing.begun.wait(PATIENCE_S)

    caller = current_thread().ident

    def interrupt() -> None:
        while signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            sleep(0.001)
        signal.pthread_kill(caller, signal.SIGINT)
        writing.open.set()

    Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        launch()
    check(launch, out)
    assert writing.elsewhere == [True]


def test_jobs_are_done_in_order_also_after_one_that_raised() -> None:
    crew, done, end = Ahead(), list[int](), Event()
    for job in (lambda: done.append(1), lambda: 1 // 0, lambda: done.append(2), end.set):
        crew.begin(job)
    assert end.wait(PATIENCE_S)
    assert done == [1, 2]


def test_no_code_is_written_while_a_process_forks(writing: Writing) -> None:
    with WRITING_LOCK:
        bound(kernel(), array())
        assert not writing.begun.wait(WAITING_S)
    assert writing.begun.wait(PATIENCE_S)


def test_nothing_is_done_ahead_where_no_processor_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    crew, done, end = Ahead(), list[int](), Event()
    with monkeypatch.context() as patch:
        patch.setattr(os, "sched_getaffinity", lambda process: {0})
        crew.begin(lambda: done.append(1))
    crew.begin(end.set)
    assert end.wait(PATIENCE_S)
    assert not done


def test_what_pays_alone_is_done_on_one_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0})
    crew, end = Ahead(pays_alone=True), Event()
    crew.begin(end.set)
    assert end.wait(PATIENCE_S)


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), KeyboardInterrupt()])
def test_what_no_thread_could_be_had_for_is_done_by_the_next_one(
    monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def refused(*_: object) -> None:
        raise error

    crew, done, end = Ahead(), list[int](), Event()
    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(ahead, "start_new_thread", refused)
        crew.begin(lambda: done.append(1))
    crew.begin(end.set)
    assert end.wait(PATIENCE_S)
    assert done == [1]
