"""Pairs of instructions that others timed on Ivy Bridge and Haswell, against preset `measured`.

The cycles are those of an instruction alone, and with a move that waits for it (Mesa's notes on
scheduling; docs/timing.md). Moves take 2 cycles. Bank conflicts are made by the registers given.
"""

from __future__ import annotations

import pytest

from visim.timing import find_machine
from visim.timing.banks import conflicts
from visim.timing.native import Native
from visim.timing.single import thread_cycles

ALU_TOLERANCE = 2
CLEAR, CLASHING = ((2,), (3,), (4,)), ((2,), (4,), (6,))


def instruction(opcode, kind, sources, machine):
    reads = tuple(register for source in sources for register in source)
    clash = conflicts(sources, 1, machine.native.banks)
    return Native(opcode, 8, 0, kind, 0, sources, reads, (20,), sd=1, sx=1, ss=1, sc=clash)


@pytest.mark.parametrize(
    ("opcode", "kind", "sources", "ivb", "hsw"),
    [
        ("mul", "alu.float", ((2,), (3,)), (2, 16), (2, 16)),
        ("mad", "mad.float", CLEAR, (2, 18), (2, 16)),
        ("mad", "mad.float", CLASHING, (3, 20), (4, 18)),
        ("lrp", "lrp", CLEAR, (2, 16), (2, 14)),
        ("lrp", "lrp", CLASHING, (3, 16), (4, 16)),
        ("math.inv", "math.inv", ((2,),), (2, 18), (2, 16)),
        ("math.exp", "math.exp", ((2,),), (2, 18), (2, 16)),
        ("math.sin", "math.sin", ((2,),), (2, 18), (2, 16)),
        ("math.pow", "math.pow", ((2,), (3,)), (2, 26), (2, 24)),
    ],
)
def test_pairs_take_what_was_measured(opcode, kind, sources, ivb, hsw):
    for arch, (alone, pair) in (("ivb", ivb), ("hsw", hsw)):
        machine = find_machine(arch, "measured")
        first = instruction(opcode, kind, sources, machine)
        move = instruction("mov", "alu", ((20,),), machine)
        assert thread_cycles([first], machine) == alone
        assert thread_cycles([first, move], machine) == pytest.approx(pair, abs=ALU_TOLERANCE)


def test_a_sample_takes_what_was_measured():
    """697 cycles, give or take 49; two at once 683 give or take 49 for the pair in flight."""
    machine = find_machine("ivb", "measured")
    sample = Native(
        "send.sample", 8, 0, "message.sample", 0, ((2,),), (2,), (20,), (2,), sd=1, sx=1, ss=1
    )
    move = instruction("mov", "alu", ((20,),), machine)
    assert thread_cycles([sample, move], machine) == pytest.approx(697, rel=0.1)
