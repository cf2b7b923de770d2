"""Locks in processes that fork."""

from __future__ import annotations

import signal
import subprocess
import sys
from threading import Event, Thread

import numpy as np
import pytest

from tests.unit.children import in_child
from tests.unit.engine.jit.storing import array, bound, check, kernel
from visim.forks import LLVM_LOCK, LOADING_LOCK, WRITING_LOCK, RenewedLock, RenewedProperty

PATIENCE_S = 20


def is_open(lock) -> bool:
    """Whether another thread than this one can take a lock."""
    found: list[bool] = []

    def look() -> None:
        found.append(lock.acquire(blocking=False))
        if found[0]:
            lock.release()

    thread = Thread(target=look)
    thread.start()
    thread.join()
    return found[0]


def test_a_lock_that_another_thread_held_is_open_in_the_child() -> None:
    lock, held, end = RenewedLock(), Event(), Event()

    def hold() -> None:
        with lock.lock:
            held.set()
            end.wait(PATIENCE_S)

    thread = Thread(target=hold)
    thread.start()
    assert held.wait(PATIENCE_S)
    assert in_child(lambda: is_open(lock.lock))
    assert not is_open(lock.lock)
    end.set()
    thread.join()


def test_a_lock_that_the_thread_itself_held_is_held_in_the_child() -> None:
    lock = RenewedLock()

    def test() -> bool:
        before = is_open(lock.lock)
        lock.lock.release()
        return not before and is_open(lock.lock)

    with lock.lock:
        assert in_child(test)


@pytest.mark.parametrize(
    "lock", [LOADING_LOCK, WRITING_LOCK, LLVM_LOCK], ids=["loading", "writing", "LLVM"]
)
def test_who_forks_waits_until_nobody_else_makes_code(lock) -> None:
    held, end, forked = Event(), Event(), list[bool]()

    def hold() -> None:
        with lock:
            held.set()
            end.wait(PATIENCE_S)

    def fork() -> None:
        forked.append(in_child(lambda: is_open(lock)))

    threads = [Thread(target=hold), Thread(target=fork)]
    threads[0].start()
    assert held.wait(PATIENCE_S)
    threads[1].start()
    threads[1].join(0.02)
    assert not forked
    end.set()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert forked == [True]
    assert is_open(lock)


INTERRUPTED = """
import os, signal, sys, threading, time
from visim.forks import LLVM_LOCK, LOADING_LOCK, WRITING_LOCK

locks = LOADING_LOCK, WRITING_LOCK, LLVM_LOCK
held, forking = threading.Event(), threading.Event()
os.register_at_fork(before=forking.set)
waits_for, patience = locks[int(sys.argv[1])], int(sys.argv[2])
signal.signal(signal.SIGINT, signal.default_int_handler)

def hold():
    with waits_for:
        held.set()
        forking.wait()
        time.sleep(0.1)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        time.sleep(0.1)

def look(found):
    for lock in locks:
        found.append(lock.acquire(timeout=patience))
        if found[-1]:
            lock.release()

def all_open():
    # A child's first thread may have the number of one that held a lock here.
    found = []
    look(found)
    thread = threading.Thread(target=look, args=[found])
    thread.start()
    thread.join()
    return all(found)

thread = threading.Thread(target=hold)
thread.start()
held.wait()
child = os.fork()
if not child:
    os._exit(0 if all_open() else 1)
thread.join()
sys.exit(os.wait()[1] != 0 or not all_open())
"""


@pytest.mark.parametrize("place", [0, 1, 2], ids=["loading", "writing", "LLVM"])
def test_ctrl_c_while_a_fork_waits_leaves_no_lock_closed(place: int) -> None:
    words = [sys.executable, "-c", INTERRUPTED, str(place), str(PATIENCE_S)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr.endswith("\nKeyboardInterrupt: \n")


def test_a_child_launches_what_another_thread_was_launching() -> None:
    out = array()
    launch = bound(kernel(), out)
    launch()
    begun, end = Event(), Event()
    run = launch.executables.borrow

    def waiting() -> object:
        begun.set()
        end.wait(PATIENCE_S)
        return run()

    def in_the_child() -> bool:
        launch.executables.borrow = run
        check(launch, out)
        return bool(np.any(out))

    launch.executables.borrow = waiting
    thread = Thread(target=launch)
    thread.start()
    assert begun.wait(PATIENCE_S)
    assert in_child(in_the_child)
    end.set()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()


LOADING = """
import os, signal, sys, threading, time
import visim
from visim.runtime.launching.launch import make_engine

begun = threading.Event()

class Slow:
    def find_spec(self, name, path, target=None):
        if name == sys.argv[1] and not begun.is_set():
            begun.set()
            time.sleep(0.2)

sys.meta_path.insert(0, Slow())
load = (lambda: make_engine("jit")) if "engine" in sys.argv[1] else lambda: visim.opencl
thread = threading.Thread(target=load)
thread.start()
begun.wait()
child = os.fork()
if not child:
    signal.alarm(int(sys.argv[2]))
    load()
    os._exit(0)
thread.join()
sys.exit(os.waitpid(child, 0)[1] != 0)
"""


@pytest.mark.parametrize("module", ["visim.engine.jit", "visim.opencl"])
def test_a_child_loads_what_another_thread_was_loading(module: str) -> None:
    subprocess.run([sys.executable, "-c", LOADING, module, str(PATIENCE_S)], check=True)


class Slow:
    """Has a value that takes until an event to find."""

    def __init__(self) -> None:
        self.begun, self.end = Event(), Event()

    @RenewedProperty
    def value(self) -> int:
        self.begun.set()
        self.end.wait(PATIENCE_S)
        return 7


def test_a_child_finds_values_that_another_thread_was_finding() -> None:
    one, other = Slow(), Slow()
    other.end.set()
    thread = Thread(target=lambda: one.value)
    thread.start()
    assert one.begun.wait(PATIENCE_S)

    def found_in_time() -> bool:
        signal.alarm(PATIENCE_S)
        return other.value == 7

    assert in_child(found_in_time)
    one.end.set()
    thread.join()
    assert one.value == 7
