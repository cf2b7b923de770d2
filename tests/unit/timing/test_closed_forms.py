"""The core's behaviour where algebra says what it must be (docs/timing-accuracy.md)."""

from __future__ import annotations

import pytest

from tests.unit.timing.programs import FREE_FETCH, chain, kernel, multiply_add, timed
from visim.timing import ARCHITECTURES, find_machine
from visim.timing.machine import UNITS

LENGTH = 160
_EDGE = 60
"""Cycles at the start and the end in which not all threads run."""

FPUS = [UNITS.index("fpu0"), UNITS.index("fpu1")]


def peak_share(result):
    return sum(result.busy[unit] for unit in FPUS) / result.cycles


@pytest.mark.parametrize(
    ("arch", "simd", "threads", "latency", "occupied", "fpus"),
    [
        ("snb", 8, 1, 12, 2, 1),
        ("snb", 8, 4, 12, 2, 1),
        ("snb", 8, 5, 12, 2, 1),
        ("snb", 8, 7, 12, 2, 1),
        ("snb", 16, 3, 12, 4, 1),
        ("snb", 16, 4, 12, 4, 1),
        ("snb", 16, 5, 12, 4, 1),
        ("ivb", 8, 8, 14, 2, 2),
        ("ivb", 16, 8, 14, 4, 2),
        ("skl", 8, 7, 8, 2, 2),
        ("skl", 16, 7, 8, 4, 2),
    ],
)
def test_dependent_chains_reach_the_share_of_peak_that_threads_can_hide(
    arch, simd, threads, latency, occupied, fpus
):
    result = timed(chain(LENGTH, simd=simd), arch, threads, slots=threads, **FREE_FETCH)
    expected = min(fpus, threads * occupied / (latency + occupied))
    steady = sum(result.busy[unit] for unit in FPUS) / expected
    assert abs(result.cycles - steady) <= _EDGE


def test_one_chain_takes_its_latencies_exactly():
    result = timed(chain(10), "snb", 1, **FREE_FETCH)
    products, copy, end = 10 * (2 + 12) - 12, 2, 12 + 2
    assert result.cycles == products + copy + end


@pytest.mark.parametrize("arch", [name for name in ARCHITECTURES if name != "ilk"])
def test_independent_multiply_adds_reach_the_published_peak(arch):
    """Within one percent of the floating-point operations a cycle that the table states."""
    machine = find_machine(arch)
    second = 33 if machine.again else 32
    body = [multiply_add(41 + i % 7, 32, second, 41 + i % 7, simd=16) for i in range(30 * 7)]
    platform = "pvc" if machine.native.grf_bytes == 64 else "skl"
    result = timed(
        kernel(body, simd=16, platform=platform), arch, machine.number("slots"), **FREE_FETCH
    )
    assert result.bank_conflicts == 0
    begin_and_end = 16
    rate = 2 * 16 * len(body) * result.threads / (result.cycles - begin_and_end)
    assert rate == pytest.approx(machine.number("flops"), rel=0.01)


def test_sandy_bridge_runs_math_beside_other_instructions():
    """An FPU and a math instruction start together only in different threads."""
    body = []
    for i in range(40):
        body.append(f"inv (M1, 8) V{40 + i % 5}(0,0)<1> V32(0,0)<1;1,0>")
        body.append(f"mul (M1, 8) V{45 + i % 5}(0,0)<1> V33(0,0)<1;1,0> V33(0,0)<1;1,0>")
    alone = timed(kernel(body), "snb", 1, **FREE_FETCH)
    several = timed(kernel(body), "snb", 4, slots=4, **FREE_FETCH)
    assert alone.coissued == 0
    assert several.coissued > 0
    assert several.cycles < 4 * alone.cycles * 0.6


@pytest.mark.parametrize(("arch", "factor"), [("dg2", 2), ("bmg", 1)])
def test_reading_a_register_twice_halves_the_rate_of_xe_hpg(arch, factor):
    """As measured on Arc A380 (clpeak issue 202): x*x+c at 0.496, a*y+b at 0.984 of the peak."""
    rates = []
    for second in (35, 34):
        body = [multiply_add(40 + i % 7, 34, second, 40 + i % 7, simd=16) for i in range(140)]
        program = kernel(body, simd=16, platform="pvc" if arch == "bmg" else "skl")
        rates.append(timed(program, arch, threads=8).cycles)
    assert rates[1] / rates[0] == pytest.approx(factor, rel=0.05)
