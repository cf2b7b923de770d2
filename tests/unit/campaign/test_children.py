"""A cell in a process of its own: whatever it does is an outcome here."""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.unit.children import is_gone
from visim.campaign.children import Limits, OtherSideGoneError, run_forked

NO_RESERVE = 0x4000  # MAP_NORESERVE, which older Pythons do not name
LIMITS = Limits(10.0, 300 << 20)
SHORT = Limits(0.3, 300 << 20)


@pytest.fixture
def asker():
    """The descriptor at which nothing is to be read while somebody asks, and its other end."""
    reading, writing = os.pipe()
    yield reading, writing
    for descriptor in (reading, writing):
        with suppress(OSError):
            os.close(descriptor)


def outcome(work, asker, limits=LIMITS):
    return run_forked(work, limits, asker[0])


def test_an_answer_comes_whole_however_long(asker):
    assert outcome(lambda: {"outcome": "passed", "text": "x" * 1_000_000}, asker) == {
        "outcome": "passed",
        "text": "x" * 1_000_000,
    }


def test_seconds_in_which_others_have_the_processor_do_not_count(asker):
    """Three children share a processor; each takes as long as its limit allows."""

    def busy():
        end = time.process_time() + 0.8
        while time.process_time() < end:
            pass
        return {"outcome": "passed"}

    here = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(here)})
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        assert outcome(busy, asker, Limits(1.4, 300 << 20)) == {"outcome": "passed"}
    finally:
        os.sched_setaffinity(0, here)
        for one in others:
            one.kill()
            one.wait()


def crash():
    sys.stderr.write("the last words\n")
    sys.stderr.flush()
    ctypes.string_at(0)


def take_memory():
    kept = []
    while True:
        kept.append(bytearray(os.urandom(1 << 20)))


def reserve_memory():
    mmap.mmap(-1, 1 << 40, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE)
    return {"outcome": "passed", "message": "untouched"}


def fail():
    raise ZeroDivisionError


@pytest.mark.parametrize(
    ("work", "limits", "expected", "message"),
    [
        (crash, LIMITS, "crashed", "it ended with SIGSEGV: the last words"),
        (lambda: os._exit(7), LIMITS, "crashed", "exit code 7, without an answer"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), LIMITS, "lost", "SIGKILL"),
        (lambda: time.sleep(60), SHORT, "hung", "not done after 0.3 s"),
        (lambda: os.kill(os.getpid(), signal.SIGSTOP), SHORT, "hung", "not done"),
        (take_memory, LIMITS, "memory", "more than 300 MiB"),
        (reserve_memory, LIMITS, "passed", "untouched"),
        (fail, LIMITS, "bug", "ZeroDivisionError"),
    ],
)
def test_what_goes_wrong_is_an_outcome(asker, work, limits, expected, message):
    found = outcome(work, asker, limits)
    assert found["outcome"] == expected
    assert message in found["message"]


def test_an_answer_without_an_end_ends(asker):
    def flood():
        [open_one] = [one for one in range(3, 1000) if Path(f"/proc/self/fd/{one}").exists()]
        while True:
            os.write(open_one, b"x" * 65536)

    found = outcome(flood, asker)
    assert (found["outcome"], found["message"]) == ("crashed", "its answer does not end")


def test_what_a_cell_has_started_ends_with_it(asker, tmp_path):
    def leave_behind():
        process = subprocess.Popen(["sleep", "600"])
        (tmp_path / "pid").write_text(str(process.pid))
        return {"outcome": "passed"}

    assert outcome(leave_behind, asker)["outcome"] == "passed"
    assert is_gone(int((tmp_path / "pid").read_text()))


def test_a_child_ends_when_nobody_wants_its_answer(asker, tmp_path):
    def work():
        (tmp_path / "pid").write_text(str(os.getpid()))
        time.sleep(60)

    os.set_blocking(asker[0], False)
    child = os.fork()
    if not child:
        code = 1
        try:
            os.close(asker[1])
            run_forked(work, LIMITS, asker[0])
        except OtherSideGoneError:
            code = 0
        finally:
            os._exit(code)
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        time.sleep(0.01)
    os.close(asker[1])
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert is_gone(int((tmp_path / "pid").read_text()))


def test_a_cell_reads_nothing_and_prints_nowhere(asker, capfd):
    def talk():
        sys.stdout.write("to nobody\n")
        return {"outcome": "passed", "read": os.read(0, 1).decode()}

    assert outcome(talk, asker)["read"] == ""
    assert capfd.readouterr().out == ""


def test_the_memory_of_others_does_not_count(asker):
    kept = bytearray(os.urandom(1 << 20)) * 400
    assert outcome(lambda: {"outcome": "passed", "size": len(kept)}, asker)["size"] == 400 << 20
    assert Path("/proc/self/statm").exists()
