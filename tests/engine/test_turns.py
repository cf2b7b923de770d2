"""The turns of a group's threads: who runs after whom, and what a thread still has afterwards."""

from __future__ import annotations

from threading import Event, Timer

import numpy as np
import pytest

from visim.engine.base import RunOptions

from . import harness
from .harness import assemble, run
from .tickets import TICKET
from .values import slot

LOOP = f"""
    again:
    {TICKET}
    mov (M1_NM, 1) V45(0,0)<1> V43(0,0)<0;1,0>
    work:
    add (M1_NM, 1) V45(0,0)<1> V45(0,0)<0;1,0> 0xffffffff:ud
    lsc_load.ugm (M1_NM, 1) V44:d32 flat[V41]:a64
    cmp.gt (M1_NM, 1) P1 V45(0,0)<0;1,0> 0x0:ud
    (P1) jmp (M1, 1) work
    barrier
    add (M1_NM, 1) V42(0,0)<1> V42(0,0)<0;1,0> 0xffffffff:ud
    cmp.gt (M1_NM, 1) P2 V42(0,0)<0;1,0> 0x0:ud
    (P2) jmp (M1, 1) again
    {TICKET}
"""
"""V42 rounds, in each of which a thread works for V43 turns of a loop before it waits."""

ENDLESS = """\
.version 4.1
.kernel "k"
.decl V40 v_type=G type=ud num_elts=1 align=dword
.kernel_attr SimdSize=16
"""

LONG = 2600
"""So many turns of the inner loop take longer than a thread's turn lasts."""
FAR = 1_000_000_000
"""A budget that ends threads only when nothing else does."""


def launch(body: str, rounds: list[int], work: list[int], **more):
    """Run a thread for each number of rounds; return how it ended and the order of tickets."""
    log = np.full(200, 99, np.uint32)
    log[0] = 0
    given = {name: np.zeros(1, np.uint32) for name in ("V44", "V45")}
    given |= {"V61": np.zeros(1, np.uint64), "V40": slot(range(len(rounds)))}
    given |= {"V42": slot(rounds), "V43": slot(work)}
    ended = run(body, given, {"P1": 0, "P2": 0}, platform="pvc", buffers={"V41": log}, **more)
    return ended, log[1 : 1 + int(log[0])].tolist()


def test_threads_go_on_in_their_order_after_each_barrier():
    ended, order = launch(LOOP, [3, 3, 3, 3], [1, 1, 1, 1])
    assert ended.exit.fault is None
    assert order == [0, 1, 2, 3] * 4


def test_a_group_of_one_thread_never_waits():
    ended, order = launch(LOOP, [3], [LONG])
    assert ended.exit.fault is None
    assert order == [0] * 4


def test_a_thread_that_runs_long_is_the_last_at_the_barrier_and_keeps_its_place():
    """Thread 1 gives way in its loop; then all go on in the order of their numbers."""
    ended, order = launch(LOOP, [2, 2, 2], [1, LONG, 1])
    assert ended.exit.fault is None
    assert order == [0, 1, 2] * 3


@pytest.mark.parametrize("work", [[1, 1, 1], [LONG, 1, 1], [1, 1, LONG], [LONG, LONG, LONG]])
def test_threads_that_wait_for_one_that_ended_are_named(work):
    ended, order = launch(LOOP, [3, 1, 2], work)
    assert ended.exit.fault is not None
    assert ended.exit.fault.code == "barrier-deadlock"
    assert "threads [0, 2]" in ended.exit.fault.message
    assert "threads [1] ended" in ended.exit.fault.message
    assert order[:6] == [0, 1, 2] * 2


@pytest.mark.parametrize("thread", range(3))
def test_a_fault_behind_a_barrier_ends_the_group_there(thread):
    body = f"""
    {LOOP}
    cmp.eq (M1_NM, 1) P1 V40(0,0)<0;1,0> {thread:#x}:ud
    (!P1) jmp (M1, 1) end
    mov (M1_NM, 1) V61(0,0)<1> 0x10:ud
    lsc_store.ugm (M1_NM, 1) flat[V61]:a64 V40:d32
    end:
    """
    ended, order = launch(body, [2, 2, 2], [1, 1, 1])
    assert ended.exit.fault is not None
    assert ended.exit.fault.thread == thread
    assert order == [0, 1, 2] * 2 + list(range(thread + 1))


def test_the_budget_of_a_thread_counts_across_barriers():
    ended, order = launch(LOOP, [3, 3, 3], [1, 10, 1], budget=120)
    assert ended.exit.fault is not None
    assert (ended.exit.fault.code, ended.exit.fault.thread) == ("instruction-budget", 1)
    assert order[:6] == [0, 1, 2] * 2


@pytest.mark.parametrize("how", ["barrier", "sbarrier.signal\nsbarrier.wait"])
@pytest.mark.parametrize("seed", [0, 1])
def test_threads_that_meet_for_ever_can_be_cancelled(how, seed):
    kernel = assemble(f"{ENDLESS}again:\n{how}\njmp (M1, 1) again\n", "pvc")
    threads = {"V40": slot([0, 1, 2])}
    # What is compiled here does not have to be when time counts.
    assert kernel.run(threads, options=RunOptions(seed=seed, budget=1000)).exit.fault is not None
    stop = Event()
    timer = Timer(0.1, stop.set)
    timer.start()
    options = RunOptions(stop=stop, seed=seed, budget=FAR)
    ended = kernel.run(threads, options=options)
    timer.join()
    assert ended.exit.stopped is not None
    assert ended.exit.stopped.category == "cancelled"


@pytest.mark.parametrize("seed", range(1, 4))
def test_shuffled_turns_are_those_of_the_interpreter(seed, monkeypatch):
    ended, order = launch(LOOP, [3, 3, 3, 3], [1, LONG, 1, 1], seed=seed)
    monkeypatch.setattr(harness.CHOSEN, "engine", harness.ENGINES["interpreter"])
    wanted = launch(LOOP, [3, 3, 3, 3], [1, LONG, 1, 1], seed=seed)
    assert ended.exit == wanted[0].exit
    assert order == wanted[1]


def test_channels_that_wait_at_a_label_still_do_after_barriers():
    """Half of the channels, others in each thread, meet a barrier; V50 and P3 live across it."""
    channels = np.arange(16, dtype=np.uint32)
    body = """
    mul (M1, 16) V50(0,0)<1> V46(0,0)<1;1,0> 0x3:ud
    cmp.lt (M1, 16) P3 V46(0,0)<1;1,0> V42(0,0)<0;1,0>
    (P3) goto (M1, 16) others
    barrier
    add (M1, 16) V50(0,0)<1> V50(0,0)<1;1,0> V40(0,0)<0;1,0>
    barrier
    add (M1, 16) V50(0,0)<1> V50(0,0)<1;1,0> V46(0,0)<1;1,0>
    others:
    (P3) add (M1, 16) V50(0,0)<1> V50(0,0)<1;1,0> 0x64:ud
    shl (M1, 16) V47(0,0)<1> V46(0,0)<1;1,0> 0x2:ud
    shl (M1_NM, 1) V44(0,0)<1> V40(0,0)<0;1,0> 0x6:ud
    add (M1, 16) V47(0,0)<1> V47(0,0)<1;1,0> V44(0,0)<0;1,0>
    add (M1, 16) V48(0,0)<1> V47(0,0)<1;1,0> V41(0,0)<0;1,0>
    lsc_store.ugm (M1, 16) flat[V48]:a64 V50:d32
    """
    out, firsts = np.zeros((3, 16), np.uint32), [4, 9, 0]
    given = {name: np.zeros(16, np.uint32) for name in ("V47", "V50")}
    given |= {"V44": np.zeros(1, np.uint32), "V48": np.zeros(16, np.uint64), "V46": channels}
    given |= {"V40": slot([0, 1, 2]), "V42": slot(firsts)}
    ended = run(body, given, {"P3": 0}, platform="pvc", buffers={"V41": out})
    assert ended.exit.fault is None
    for thread, first in enumerate(firsts):
        wanted = np.where(channels < first, 3 * channels + 100, 4 * channels + thread)
        assert out[thread].tolist() == wanted.tolist()
