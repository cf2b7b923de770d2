"""Sanitizers find nothing that counts in the benchmarks' kernels, which give what is expected.

What is found in some of them is what they do: `TRUE` says where, and why. The gate takes a share,
`--thorough` all kernels of all sets on all devices.
"""

from __future__ import annotations

import numpy as np
import pytest

import visim
from benchmarks.case import Benchmark
from benchmarks.pocl import copied, visim_argument
from benchmarks.sets import every
from tests.opencl.building import built, skip_where_compilers_crash
from tests.shares import share

DEVICES = ("pvc", "tgllp", "bmg")
SCALE = 1e-4
"""Small sizes: the precise look at races takes long."""
RUNS = [
    (bench, device)
    for bench in every().values()
    for device in DEVICES
    if device != "tgllp" or "double" not in bench.source  # it has none
]
SHARE = 6
TRUE: dict[str, set[str]] = {
    # Row and column k stay what they are in step k, but are written while others read them.
    "floyd": {"race-global"},
    # Several work-items find a vertex, and write its level while others look whether it has one.
    "levels": {"race-global", "race-same-value"},
}
"""Kinds that are found in kernels, and are there."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a share of the kernels; `--thorough` runs all on all devices."""
    thorough = metafunc.config.getoption("thorough")
    runs = RUNS if thorough else share("public kernels", RUNS, SHARE)
    named = [pytest.param(*run, id=f"{run[0].name}-{run[1]}") for run in runs]
    metafunc.parametrize(("bench", "device"), named)


def findings_of(bench: Benchmark, device: str, engine: str = "jit") -> list[visim.Finding]:
    """Return what is found in a benchmark's launches that counts."""
    program = built(bench.source, device, bench.options)
    values = copied(bench.make(np.random.default_rng(1), SCALE))
    reports = [
        program[one.kernel].launch(
            [visim_argument(values.get(name, name)) for name in one.args],
            global_size=one.global_size,
            local_size=one.local_size,
            engine=engine,
            sanitize="all",
        )
        for one in bench.launches(values)
    ]
    return [one for report in reports for one in report.findings if one.counts]


def test_nothing_is_found_that_counts(bench: Benchmark, device: str) -> None:
    try:
        found = findings_of(bench, device)
    except visim.InputError as error:
        skip_where_compilers_crash(error)
        return
    assert [one for one in found if one.kind not in TRUE.get(bench.name, ())] == []
