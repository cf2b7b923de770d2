"""Pairs of instructions that others timed on Ivy Bridge and Haswell, against preset `measured`.

The cycles are those of an instruction alone, and with a move that waits for it (Mesa's notes on
scheduling; docs/timing-accuracy.md). Moves take 2 cycles. Bank conflicts are made by the
registers given.
"""

from __future__ import annotations

from dataclasses import replace

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


def message(kind, target, source):
    return Native(
        f"send.{kind}", 8, 0, f"message.{kind}", 0, ((source,),), (source,), (target,), (source,),
        sd=1, sx=1, ss=1,
    )  # fmt: skip


@pytest.mark.parametrize("arch", ["ivb", "hsw"])
@pytest.mark.parametrize(
    ("kind", "measured", "tolerance"),
    [
        ("sample", 697, 0.1),
        ("image.query", 420, 0.1),
        ("surface.block_load", 480, 0.1),
        ("surface.load", 583, 0.1),
        ("scratch.load", 44, 0.14),
        ("surface.atomic", 13867, 0.1),
    ],
)
def test_a_message_takes_what_was_measured_until_its_result_is_used(
    arch, kind, measured, tolerance
):
    """Cold ones, but for scratch memory, which was timed between 38 and 50 cycles."""
    machine = find_machine(arch, "measured")
    move = instruction("mov", "alu", ((20,),), machine)
    cycles = thread_cycles([message(kind, 20, 2), move], machine)
    assert cycles == pytest.approx(measured, rel=tolerance)


@pytest.mark.parametrize(("kind", "measured"), [("sample", 683), ("image.query", 535)])
def test_two_messages_at_once_take_what_was_measured(kind, measured):
    machine = find_machine("ivb", "measured")
    uses = [
        instruction("mov", "alu", ((20,),), machine),
        instruction("mov", "alu", ((21,),), machine),
    ]
    pair = [message(kind, 20, 2), message(kind, 21, 4)]
    assert thread_cycles([*pair, *uses], machine) == pytest.approx(measured, rel=0.1)


def test_a_sample_and_the_moves_of_its_payload_issue_in_the_cycles_measured():
    machine = find_machine("ivb", "measured")
    move = instruction("mov", "alu", ((9,),), machine)
    moves = [replace(move, writes=(19,)), move]
    cycles = thread_cycles([*moves, message("sample", 22, 20)], machine)
    assert cycles == pytest.approx(18, abs=ALU_TOLERANCE)
