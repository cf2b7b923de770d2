"""Synchronization of a group's threads: split-phase and named barriers, yield, deadlocks."""

from __future__ import annotations

import numpy as np
import pytest

from visim.engine.base import TURN

from .harness import run
from .values import slot

PUT = """
    shl (M1_NM, 1) V60(0,0)<1> V40(0,0)<0;1,0> 0x2:ud
    lsc_store.slm (M1_NM, 1) flat[V60]:a32 V45:d32
"""
STORE = """
    add (M1_NM, 1) V61(0,0)<1> V41(0,0)<0;1,0> V60(0,0)<0;1,0>
    lsc_store.ugm (M1_NM, 1) flat[V61]:a64 V44:d32
"""


def launch(body: str, threads: int, *, seed: int = 0, budget: int | None = None):
    """Run `threads` threads; V40 is a thread's number, V41 the address of one word for each."""
    out = np.full(threads, 99, np.uint32)
    given = {name: np.zeros(1, np.uint32) for name in ("V42", "V43", "V44", "V60")}
    given |= {"V45": np.zeros(16, np.uint32)}
    given |= {"V61": np.zeros(1, np.uint64), "V40": slot(range(threads))}
    ended = run(
        body,
        given,
        {"P1": 0, "P2": 0},
        platform="pvc",
        buffers={"V41": out},
        slm_bytes=1024,
        seed=seed,
        budget=budget,
    )
    return ended, out


SEEDS = pytest.mark.parametrize("seed", range(5))


@SEEDS
def test_a_thread_goes_on_between_signal_and_wait(seed):
    """Page SBARRIER. Each thread reads its neighbour's word after the wait."""
    body = f"""
        add (M1_NM, 1) V45(0,0)<1> V40(0,0)<0;1,0> 0x64:ud
        {PUT}
        sbarrier.signal
        add (M1_NM, 1) V43(0,0)<1> V40(0,0)<0;1,0> 0x1:ud
        and (M1_NM, 1) V43(0,0)<1> V43(0,0)<0;1,0> 0x3:ud
        shl (M1_NM, 1) V43(0,0)<1> V43(0,0)<0;1,0> 0x2:ud
        sbarrier.wait
        lsc_load.slm (M1_NM, 1) V44:d32 flat[V43]:a32
        {STORE}
    """
    ended, out = launch(body, 4, seed=seed)
    assert ended.exit.fault is None
    assert out.tolist() == [101, 102, 103, 100]


def test_a_barrier_is_a_signal_and_a_wait():
    body = """
        cmp.eq (M1_NM, 1) P1 V40(0,0)<0;1,0> 0x0:ud
        (P1) jmp (M1, 1) split
        barrier
        jmp (M1, 1) end
        split:
        sbarrier.signal
        sbarrier.wait
        end:
        add (M1_NM, 1) V42(0,0)<1> V40(0,0)<0;1,0> 0x1:ud
    """
    ended, _ = launch(body, 3)
    assert ended.exit.fault is None


@SEEDS
@pytest.mark.parametrize("rounds", [1, 6])
def test_producers_and_consumers_meet_at_named_barriers(seed, rounds):
    """Page NBARRIER: two producers fill, two consumers read; barrier 2 hands the words back."""
    body = f"""
        mov (M1_NM, 1) V42(0,0)<1> 0x{rounds:x}:ud
        and (M1_NM, 1) V43(0,0)<1> V40(0,0)<0;1,0> 0x1:ud
        cmp.lt (M1_NM, 1) P1 V40(0,0)<0;1,0> 0x2:ud
        again:
        (!P1) jmp (M1, 1) consumer
        add (M1_NM, 1) V45(0,0)<1> V45(0,0)<0;1,0> V40(0,0)<0;1,0>
        add (M1_NM, 1) V45(0,0)<1> V45(0,0)<0;1,0> 0xa:ud
        {PUT}
        nbarrier.signal 0x1:ub 0x1:uw 0x2:ub 0x2:ub
        nbarrier.signal 0x2:ub 0x2:uw 0x2:ub 0x2:ub
        nbarrier.wait 0x2:ub
        jmp (M1, 1) next
        consumer:
        nbarrier.signal 0x1:ub 0x2:uw 0x2:ub 0x2:ub
        nbarrier.wait 0x1:ub
        shl (M1_NM, 1) V60(0,0)<1> V43(0,0)<0;1,0> 0x2:ud
        lsc_load.slm (M1_NM, 1) V45:d32 flat[V60]:a32
        add (M1_NM, 1) V44(0,0)<1> V44(0,0)<0;1,0> V45(0,0)<0;1,0>
        nbarrier.signal 0x2:ub 0x1:uw 0x2:ub 0x2:ub
        next:
        add (M1_NM, 1) V42(0,0)<1> V42(0,0)<0;1,0> 0xffffffff:ud
        cmp.gt (M1_NM, 1) P2 V42(0,0)<0;1,0> 0x0:ud
        (P2) jmp (M1, 1) again
        shl (M1_NM, 1) V60(0,0)<1> V40(0,0)<0;1,0> 0x2:ud
        {STORE}
    """
    ended, out = launch(body, 4, seed=seed)
    assert ended.exit.fault is None
    triangle = rounds * (rounds + 1) // 2
    assert out.tolist() == [0, 0, 10 * triangle, 11 * triangle]


RAW_SIGNAL = """
    mov (M1_NM, 1) V45(0,2)<1> 0x{word:x}:ud
    raw_sends.3.1.0.0 (M1, 1) 0x3:ud 0x2000004:ud V45.0 %null.0 %null.0
"""


@SEEDS
def test_a_raw_message_signals_as_the_instruction_does(seed):
    """A producer signals by message, the consumer by instruction; the counts have to agree."""

    def body(producers: int) -> str:
        return f"""
            mov (M1_NM, 1) V45(0,0)<1> 0x2a:ud
            cmp.eq (M1_NM, 1) P1 V40(0,0)<0;1,0> 0x0:ud
            (!P1) jmp (M1, 1) consumer
            mov (M1_NM, 1) V60(0,0)<1> 0x0:ud
            lsc_store.slm (M1_NM, 1) flat[V60]:a32 V45:d32
            {RAW_SIGNAL.format(word=5 | 1 << 14 | producers << 16 | 1 << 24)}
            jmp (M1, 1) end
            consumer:
            nbarrier.signal 0x5:ub 0x2:uw 0x1:ub 0x1:ub
            nbarrier.wait 0x5:ub
            mov (M1_NM, 1) V60(0,0)<1> 0x0:ud
            lsc_load.slm (M1_NM, 1) V44:d32 flat[V60]:a32
            end:
            shl (M1_NM, 1) V60(0,0)<1> V40(0,0)<0;1,0> 0x2:ud
            {STORE}
        """

    ended, out = launch(body(1), 2, seed=seed)
    assert ended.exit.fault is None, ended.exit.fault
    assert out[1] == 42
    other, _ = launch(body(3), 2, seed=seed)
    assert other.fault.category == "undefined"


def test_the_short_form_of_a_signal_has_one_number_of_threads():
    body = """
        mov (M1_NM, 1) V42(0,0)<1> 0x3:ud
        nbarrier.signal 0x7:ub V42(0,0)<0;1,0>
        nbarrier.wait 0x7:ub
    """
    assert launch(body, 3)[0].exit.fault is None


@SEEDS
@pytest.mark.parametrize("how", ["yield", "add (M1_NM, 1) V42(0,0)<1> V42(0,0)<0;1,0> 0x1:ud"])
def test_a_thread_that_polls_lets_others_run(how, seed):
    """Thread 0 waits in a loop for a word that the last thread writes; page YIELD."""
    body = f"""
        cmp.eq (M1_NM, 1) P1 V40(0,0)<0;1,0> 0x2:ud
        mov (M1_NM, 1) V45(0,0)<1> 0x2a:ud
        mov (M1_NM, 1) V60(0,0)<1> 0x0:ud
        (!P1) jmp (M1, 1) again
        lsc_store.slm (M1_NM, 1) flat[V60]:a32 V45:d32
        again:
        {how}
        lsc_load.slm (M1_NM, 1) V44:d32 flat[V60]:a32
        cmp.eq (M1_NM, 1) P1 V44(0,0)<0;1,0> 0x0:ud
        (P1) jmp (M1, 1) again
        shl (M1_NM, 1) V60(0,0)<1> V40(0,0)<0;1,0> 0x2:ud
        {STORE}
    """
    ended, out = launch(body, 3, seed=seed, budget=3 * TURN)
    assert ended.exit.fault is None
    assert out.tolist() == [42, 42, 42]


class TestDeadlocks:
    """What the specification leaves undefined stops the run and is explained."""

    def test_it_says_who_waits_where_for_whom(self):
        body = """
            cmp.eq (M1_NM, 1) P1 V40(0,0)<0;1,0> 0x0:ud
            (P1) jmp (M1, 1) other
            cmp.eq (M1_NM, 1) P1 V40(0,0)<0;1,0> 0x3:ud
            (P1) jmp (M1, 1) end
            barrier
            jmp (M1, 1) end
            other:
            nbarrier.signal 0x4:ub 0x2:uw 0x2:ub 0x1:ub
            nbarrier.wait 0x4:ub
            end:
        """
        ended, _ = launch(body, 4)
        fault = ended.fault
        assert (fault.category, fault.code) == ("undefined", "barrier-deadlock")
        named = next(i for i, s in enumerate(ended.text.splitlines(), 1) if "nbarrier.wait" in s)
        group = next(i for i, s in enumerate(ended.text.splitlines(), 1) if s == "    barrier")
        assert (
            f"threads [0] at k line {named} wait at named barrier 4 for 2 more producers"
            in fault.message
        )
        assert (
            f"threads [1, 2] at k line {group} wait at a barrier for threads [0]" in fault.message
        )
        assert "threads [3] ended" in fault.message
        assert ended.faulting_line == "nbarrier.wait 0x4:ub"

    @pytest.mark.parametrize(
        ("body", "match"),
        [
            ("sbarrier.wait", "has not signalled"),
            ("sbarrier.signal\nsbarrier.signal", "a second time"),
            ("nbarrier.signal 0x20:ub 0x1:ub", "does not exist"),
            ("nbarrier.signal 0x1:ub 0x9:ub", "9 producers"),
            ("nbarrier.signal 0x1:ub 0x1:uw 0x1:ub 0x1:ub\nnbarrier.wait 0x1:ub", "as a consumer"),
        ],
    )
    def test_misuse_is_a_fault(self, body, match):
        fault = launch(body, 2)[0].fault
        assert (fault.category, fault.code) == ("undefined", "barrier-misuse")
        assert match in fault.message
