"""Host and kernel at the same time: handles, cancelling, polling, interrupts."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import CancelledError

import numpy as np
import pytest

import visim
from tests.unit.children import in_child

pytestmark = pytest.mark.usefixtures("each_engine")

HEAD = """\
.version 4.1
.kernel "k"
.decl flag v_type=G type=uq num_elts=1 align=qword
.decl at v_type=G type=uq num_elts=1 align=qword
.decl old v_type=G type=ud num_elts=1 align=dword
.decl P1 v_type=P num_elts=1
.input flag offset=64 size=8
.kernel_attr SimdSize=8
.function "k_0"

k_0:
    add (M1_NM, 1) at(0,0)<1> flag(0,0)<0;1,0> 0x4:uq
"""
# Counts in flag[0] that it has begun, then waits until flag[1] is not 0 and counts in flag[2].
POLL = (
    HEAD
    + """\
    svm_atomic.inc (M1_NM, 1) flag.0 %null.0 %null.0 %null.0

again:
    svm_gather.4.1 (M1_NM, 1) at.0 old.0
    cmp.eq (M1_NM, 1) P1 old(0,0)<0;1,0> 0x0:ud
    (P1) goto (M1, 1) again
    add (M1_NM, 1) at(0,0)<1> flag(0,0)<0;1,0> 0x8:uq
    svm_atomic.inc (M1_NM, 1) at.0 %null.0 %null.0 %null.0
    ret (M1, 1)
"""
)
# Thread 0 of the kernel sets flag[1].
SET = (
    HEAD
    + """\
    mov (M1_NM, 1) old(0,0)<1> 0x1:ud
    svm_scatter.4.1 (M1_NM, 1) at.0 old.0
    ret (M1, 1)
"""
)
INTERRUPTED = """\
import os, signal, sys, threading, time
sys.path[:0] = {path!r}
import numpy as np, visim
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells have those behind them ignore it
kernel = visim.assemble({text!r}, platform="skl")["k"]
flag = np.zeros(3, np.uint32)
def watch():
    while not flag[0]:
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=watch).start()
try:
    kernel.launch([flag], engine={engine!r})
except KeyboardInterrupt as interrupt:
    print(interrupt.__notes__)
    flag[1] = 1
    print(kernel.launch([flag]).groups)
"""
PATIENCE_S = 60


@pytest.fixture
def poll():
    return visim.assemble(POLL, platform="skl")["k"]


def wait_for(flag, place, value):
    """Wait until the kernel has written `value`; a test that hangs is stopped by `result`."""
    end = time.monotonic() + PATIENCE_S
    while flag[place] != value and time.monotonic() < end:
        time.sleep(0.001)
    assert flag[place] == value


def test_a_kernel_sees_what_the_host_writes_while_it_runs(poll):
    flag = np.zeros(3, np.uint32)
    handle = poll.launch([flag], thread_groups=3, wait=False)
    wait_for(flag, 0, 1)
    assert not handle.done()
    flag[1] = 1
    assert handle.result(PATIENCE_S).groups == 3
    assert handle.done()
    assert flag.tolist() == [3, 1, 3]
    assert not handle.cancel()


def test_cancelling_stops_a_thread_in_its_loop_and_says_where(poll):
    flag = np.zeros(3, np.uint32)
    handle = poll.launch([flag], thread_groups=3, wait=False)
    wait_for(flag, 0, 1)
    with pytest.raises(TimeoutError):
        handle.result(0)
    assert handle.cancel()
    where = r"cancelled at kernel k, group \(0, 0, 0\), thread 0, line \d+: \(P1\) goto"
    with pytest.raises(CancelledError, match=where):
        handle.result(PATIENCE_S)
    assert flag.tolist() == [1, 0, 0]
    flag[1] = 1
    assert poll.launch([flag]).groups == 1


def test_two_launches_of_a_kernel_are_in_flight_together(poll):
    first, second = np.zeros(3, np.uint32), np.zeros(3, np.uint32)
    handles = [poll.launch([flag], wait=False) for flag in (first, second)]
    for flag in (first, second):
        wait_for(flag, 0, 1)
    second[1] = 1
    handles[1].result(PATIENCE_S)
    assert not handles[0].done()
    first[1] = 1
    handles[0].result(PATIENCE_S)


def test_one_kernel_waits_for_another(poll):
    flag = np.zeros(3, np.uint32)
    handle = poll.launch([flag], wait=False)
    wait_for(flag, 0, 1)
    visim.assemble(SET, platform="skl")["k"].launch([flag])
    handle.result(PATIENCE_S)
    assert flag.tolist() == [1, 1, 1]


def test_launches_of_one_bound_object_run_one_after_another(poll):
    flag = np.zeros(3, np.uint32)
    bound = poll.bind([flag], wait=False)
    first = bound()
    wait_for(flag, 0, 1)
    second = bound()
    assert second.cancel()
    with pytest.raises(CancelledError, match="before it began"):
        second.result(PATIENCE_S)
    flag[1] = 1
    first.result(PATIENCE_S)


def test_cancelling_under_load_ends_all_of_many(poll):
    flags = [np.zeros(3, np.uint32) for _ in range(8)]
    handles = [poll.launch([flag], thread_groups=100, wait=False) for flag in flags]
    for handle in handles:
        assert handle.cancel()
    for handle in handles:
        with pytest.raises(CancelledError):
            handle.result(PATIENCE_S)


def test_a_finished_launch_keeps_its_report(poll):
    flag = np.ones(3, np.uint32)
    handle = poll.launch([flag], wait=False)
    report = handle.result(PATIENCE_S)
    assert handle.result() is report
    handle.cancel()
    assert handle.result() is report


def test_a_child_that_is_forked_meanwhile_is_told_that_the_launch_is_not_there(poll):
    flag = np.zeros(3, np.uint32)
    handle = poll.launch([flag], wait=False)
    wait_for(flag, 0, 1)

    def refused() -> bool:
        with pytest.raises(visim.UnsupportedError, match="goes on in the process that began it"):
            handle.result(0)
        return True

    assert in_child(refused)
    flag[1] = 1
    report = handle.result(PATIENCE_S)
    assert in_child(lambda: handle.result() == report)


def test_what_a_launch_in_the_background_prints_goes_where_it_was_started():
    path = "tests/corpus/data_tgllp.zebin"
    kernel = visim.load(path)["rotate"]
    pieces = []
    with visim.printf_to(pieces.append):
        args = [np.zeros(64, np.int32), visim.Local(256), bytes(16)]
        handle = kernel.launch(args, global_size=(16, 4), wait=False)
    report = handle.result(PATIENCE_S)
    assert "".join(pieces) == report.printf != ""


def test_an_interrupt_stops_a_run_and_says_where_it_was(each_engine):
    program = INTERRUPTED.format(path=sys.path, text=POLL, engine=each_engine)
    found = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    ).stdout
    assert "interrupted at kernel k, group (0, 0, 0), thread 0" in found
    assert found.endswith("\n1\n")
