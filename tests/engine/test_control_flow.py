"""Unstructured divergent control flow equals running every channel alone.

Programs without calls also execute as many instructions as a model in which the channels with the
lowest program counter go first, together: channels meet again wherever they can.

`VISIM_CONTROL_FLOW_PROGRAMS=5000 pytest tests/engine/test_control_flow.py` runs more programs;
`VISIM_CONTROL_FLOW_FIRST` is the number of the first one.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

from . import harness
from .generator import CHANGING, generate, inputs, text_of
from .scalar import Call, Channel, FunctionCall, Program, TooLong, passes

PROGRAMS = int(os.environ.get("VISIM_CONTROL_FLOW_PROGRAMS", "400"))
FIRST = int(os.environ.get("VISIM_CONTROL_FLOW_FIRST", "0"))
BATCH = 50
STEPS = 600


def calls(program: Program) -> bool:
    return any(isinstance(s, Call | FunctionCall) for unit in program.units for s in unit.body)


def mismatch(seed: int) -> str | None:
    """Compare one program's channels with running each alone; return what differs.

    Raises:
        TooLong: a channel of the program runs for longer than tests want.
    """
    program = generate(seed)
    given, mask = inputs(seed, program.simd)
    expected = {name: found.copy() for name, found in given.items()}
    bits = dict.fromkeys(CHANGING, 0)
    numbers = [number for number in range(program.simd) if mask >> number & 1]
    alone = [{name: int(found[number]) for name, found in given.items()} for number in numbers]
    for number, values in zip(numbers, alone, strict=True):
        ended = Channel(program, number, values, STEPS).run()
        for name in given:
            expected[name][number] = ended[name]
        for name in bits:
            bits[name] |= ended[name]
    kernel = harness.assemble(text_of(program), program.platform)
    found = kernel.run(given, dict.fromkeys(CHANGING, 0), mask=mask)
    if found.exit.fault is not None:
        return found.exit.fault.render()
    for name, want in expected.items():
        if not np.array_equal(found[name], want):
            return f"{name} is {found[name]}, alone {want}, mask {mask:#x}"
    if found.predicates != bits:
        return f"predicates {found.predicates}, alone {bits}"
    if calls(program):
        return None
    together = [Channel(program, n, v, STEPS) for n, v in zip(numbers, alone, strict=True)]
    executed = passes(together)
    if found.exit.executed == executed:
        return None
    return f"{found.exit.executed} instructions, lowest program counter first: {executed}"


@pytest.mark.parametrize("first", range(FIRST, FIRST + PROGRAMS, BATCH))
def test_every_channel_computes_what_it_computes_alone(first: int):
    compared = 0
    for seed in range(first, first + BATCH):
        try:
            found = mismatch(seed)
        except TooLong:
            continue
        compared += 1
        assert found is None, f"program {seed}: {found}\n{text_of(generate(seed))}"
    assert compared > BATCH // 2
