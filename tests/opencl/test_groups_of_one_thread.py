"""Groups of one hardware thread meet at barriers as others do, and wait for nobody."""

from __future__ import annotations

import time
from concurrent.futures import CancelledError
from copy import copy
from typing import Any

import numpy as np
import pytest

import visim
import visim.opencl
from tests.engine.recorder import Recorder
from tests.opencl.building import built

SOURCE = """
kernel void sums(global int *out, global const int *in, local int *part, int turns) {
    int x = get_local_id(0), n = get_local_size(0), i = get_global_id(0), before = part[x];
    for (int k = 0; k < turns; ++k) {
        part[x] = in[i] + k;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int s = 1; s < n; s *= 2) {
            int other = x >= s ? part[x - s] : 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            part[x] += other;
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        }
        before += part[n - 1];
    }
    out[i + get_global_size(0) * get_group_id(1)] = before + (int)get_group_id(0);
}
kernel void endless(global volatile int *out, local int *part) {
    for (int k = 0; out[0] == 0; ++k) {
        part[get_local_id(0)] = out[1] = k;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
kernel void late(global int *out, local int *part, int far) {
    part[get_local_id(0)] = (int)get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0) + (get_group_id(0) >= 3 ? far : 0)] = part[0] + 1;
}
"""
SIZES = [1, 16, 20, 32, 40, 64]


def program(device: str) -> visim.Program:
    return built(SOURCE, device)


def given(size: int, turns: int = 3) -> list[Any]:
    n = 6 * size
    values = np.arange(n, dtype=np.int32)
    return [np.zeros(2 * n, np.int32), values, visim.Local(4 * size), np.int32(turns)]


def run(size: int, given: list[Any], device: str = "pvc", **options: Any) -> visim.Report:
    sizes: dict[str, Any] = {"global_size": (6 * size, 2), "local_size": (size, 1)}
    return program(device)["sums"].launch(given, **sizes, **options)


def sums(size: int, device: str = "pvc", **options: Any) -> tuple[Any, visim.Report]:
    arguments = given(size)
    report = run(size, arguments, device, **options)
    return arguments[0], report


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("device", ["pvc", "tgllp"])
def test_memory_and_counts_are_the_interpreters(device: str, size: int) -> None:
    theirs, report = sums(size, device=device, engine="interpreter", collect="fidelity")
    for workers in (1, 2):
        ours, _ = sums(size, device=device, engine="jit", workers=workers)
        np.testing.assert_array_equal(ours, theirs)
    ours, other = sums(size, device=device, engine="jit", collect="fidelity")
    assert (other.groups, other.threads) == (report.groups, report.threads)
    assert (other.instructions, other.fidelity) == (report.instructions, report.fidelity)


@pytest.mark.parametrize("size", [16, 32, 40])
def test_observers_hear_the_same(size: int) -> None:
    heard: list[Any] = []
    arguments = given(size, turns=1)
    for engine in ("interpreter", "jit"):
        recorder: Any = Recorder()
        run(size, arguments, engine=engine, observers=[recorder])
        heard.append((recorder.events, recorder.counts))
    assert heard[0] == heard[1]


@pytest.mark.parametrize("size", [32, 64])
@pytest.mark.parametrize("budget", [1, 60, 100_000])
def test_budgets_end_at_the_same_instruction(size: int, budget: int) -> None:
    faults: list[visim.Fault | None] = []
    for engine in ("interpreter", "jit"):
        try:
            sums(size, engine=engine, budget=budget)
            faults.append(None)
        except visim.FaultError as error:
            faults.append(error.fault)
    assert faults[0] == faults[1]
    assert (faults[0] is None) == (budget > 60)


@pytest.mark.parametrize("size", [32, 64])
def test_a_fault_behind_a_barrier_is_that_of_the_first_group(size: int) -> None:
    found: list[Any] = []
    for engine in ("interpreter", "jit"):
        out = np.zeros(6 * size, np.int32)
        with pytest.raises(visim.FaultError) as raised:
            program("pvc")["late"].launch(
                [out, visim.Local(4 * size), np.int32(1 << 20)],
                global_size=6 * size,
                local_size=size,
                engine=engine,
            )
        found.append((raised.value.fault.group, raised.value.fault.thread, copy(out[: 3 * size])))
    assert found[0][:2] == found[1][:2] == ((3, 0, 0), 0)
    np.testing.assert_array_equal(found[0][2], found[1][2])


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("size", [32, 64])
def test_a_loop_of_barriers_can_be_cancelled(size: int, seed: int) -> None:
    out = np.zeros(2, np.int32)
    arguments = [out, visim.Local(4 * size)]
    options: dict[str, Any] = {"seed": seed} if seed else {}
    handle = program("pvc")["endless"].launch(
        arguments, global_size=size, local_size=size, engine="jit", wait=False, **options
    )
    while out[1] == 0:
        time.sleep(0.001)
    assert handle.cancel()
    with pytest.raises(CancelledError):
        handle.result()


def test_a_launch_of_other_groups_runs_on_the_same_kernel() -> None:
    for size in (32, 64, 16, 32):
        ours, _ = sums(size, engine="jit")
        theirs, _ = sums(size, engine="interpreter")
        np.testing.assert_array_equal(ours, theirs)
