"""Random OpenCL C programs give on every device the bytes that PoCL gives.

`VISIM_GENERATED_SEEDS=100:300` runs the programs of other seeds than the usual ones. A mismatch is
a finding to be judged, not proof of a bug here: Intel's compiler and PoCL have bugs of their own.
"""

from __future__ import annotations

import os
from functools import cache

import numpy as np
import pytest

from tests.opencl import pocl
from tests.opencl.building import built_anew
from tests.opencl.case import ALL_DEVICES, Values
from tests.opencl.generator import Generated, generate

SEEDS_VARIABLE = "VISIM_GENERATED_SEEDS"
USUAL_SEEDS = (0, 1, 2, 3, 4, 5)
BUDGET = 3_000_000

pytestmark = pytest.mark.skipif(pocl.missing() is not None, reason=f"PoCL: {pocl.missing()}")


def _seeds() -> tuple[int, ...]:
    wanted = os.environ.get(SEEDS_VARIABLE)
    if not wanted:
        return USUAL_SEEDS
    first, _, end = wanted.partition(":")
    return tuple(range(int(first), int(end or int(first) + 1)))


@cache
def _device() -> pocl.Pocl:
    return pocl.Pocl()


@cache
def _reference(seed: int) -> Values:
    program = generate(seed)
    theirs = _device().build(program.source, program.options)
    return theirs.run(program.values(), [program.launch])


def _run(program: Generated, device: str) -> Values:
    values, launch = program.values(), program.launch
    ours = built_anew(program.source, device, program.options)
    ours[launch.kernel].launch(
        [values[name] for name in launch.names],
        global_size=launch.global_size,
        local_size=launch.local_size,
        global_offset=launch.global_offset,
        budget=BUDGET,
    )
    return values


@pytest.mark.parametrize("device", ALL_DEVICES)
@pytest.mark.parametrize("seed", _seeds())
def test_results_are_those_of_pocl(seed: int, device: str) -> None:
    want = _reference(seed)
    got = _run(generate(seed), device)
    assert [name for name in want if not np.array_equal(got[name], want[name])] == []


def test_program_of_a_seed_is_always_the_same() -> None:
    assert generate(7) == generate(7)
    assert generate(7).source != generate(8).source
