"""Reports of launches that stopped say the same on both engines: what ran up to the fault."""

from __future__ import annotations

import pytest

import visim

WAITS = """\
.version 4.1
.kernel "k"
.decl V40 v_type=G type=ud num_elts=16 align=wordx32
.kernel_attr Target="cm"
.kernel_attr SimdSize=16
.function "k"
k:
    add (M1, 16) V40(0,0)<1> V40(0,0)<1;1,0> 0x1:ud
    {wait}
    add (M1, 16) V40(0,0)<1> V40(0,0)<1;1,0> 0x1:ud
    add (M1, 16) V40(0,0)<1> V40(0,0)<1;1,0> 0x1:ud
    ret (M1, 1)
"""
"""A thread has executed two instructions when it gives way, and five when it is done."""


def _stopped(engine: str, wait: str, budget: int, seed: int) -> tuple[int, ...]:
    kernel = visim.assemble(WAITS.format(wait=wait), platform="pvc")["k"]
    with pytest.raises(visim.FaultError) as caught:
        kernel.launch(
            [],
            thread_groups=2,
            group_size=3,
            budget=budget,
            seed=seed,
            engine=engine,
            workers=1,
            collect="instructions",
        )
    report = caught.value.report
    return report.groups, report.threads, report.instructions


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("wait", ["barrier", "yield"])
@pytest.mark.parametrize("engine", ["interpreter", "jit"])
def test_threads_that_had_no_turn_before_a_fault_are_not_counted(
    engine: str, wait: str, seed: int
) -> None:
    assert _stopped(engine, wait, budget=1, seed=seed) == (0, 1, 2)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("wait", ["barrier", "yield"])
@pytest.mark.parametrize("engine", ["interpreter", "jit"])
def test_threads_that_wait_when_another_one_faults_are_counted(
    engine: str, wait: str, seed: int
) -> None:
    assert _stopped(engine, wait, budget=3, seed=seed) == (0, 3, 2 + 2 + 5)
