"""Faults put into random kernels are found, and nothing in the same kernels without."""

from __future__ import annotations

import pytest

from tests.opencl.sanitizers.faults import cases, missed
from tests.shares import share

RUNS = [
    (device, engine, seed)
    for device in ("pvc", "tgllp", "bmg")
    for engine in ("interpreter", "jit")
    for seed in range(10)
]
SHARE, AT_ONCE = 1, 3


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a share of the kernels; `--thorough` runs all of them."""
    thorough = metafunc.config.getoption("thorough")
    runs = RUNS if thorough else share("faults of sanitizers", RUNS, SHARE)
    metafunc.parametrize(("device", "engine", "seed"), runs)


def test_faults_that_can_show_are_found(device: str, engine: str, seed: int) -> None:
    assert missed(list(cases(seed, AT_ONCE)), device, engine) == []
