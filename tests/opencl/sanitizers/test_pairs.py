"""Each wrong kernel has the finding that it is for, at its lines; its mended twin has none."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from tests.opencl.building import built
from tests.opencl.sanitizers.pairs import LOCAL, PAIRS, SIZE, Pair

DEVICES = ("pvc", "tgllp")


def launched(pair: Pair, device: str, engine: str, *, mended: bool) -> tuple[visim.Finding, ...]:
    program = built(pair.text(mended=mended), device, f"-g {pair.options}".strip())
    x, y = np.arange(1024, dtype=np.int32) * 5 % 97, np.zeros(1024, np.int32)
    given = visim.Uninitialised(y) if pair.undefined else y
    arguments = [x, given, visim.Local(4 * LOCAL)]
    try:
        report = program["k"].launch(
            arguments, global_size=SIZE, local_size=LOCAL, engine=engine, sanitize="all"
        )
    except visim.FaultError as error:
        report = error.report
    return report.findings


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run pairs on one device and engine each, in turn; `--thorough` runs all of them on all."""
    every = [(device, engine) for device in DEVICES for engine in ("interpreter", "jit")]
    thorough = metafunc.config.getoption("thorough")
    runs = [
        pytest.param(pair, *run, id=f"{pair.name}-{'-'.join(run)}")
        for number, pair in enumerate(PAIRS)
        for run in (every if thorough else [every[number % len(every)]])
    ]
    metafunc.parametrize(("pair", "device", "engine"), runs)


def test_the_wrong_kernel_is_found_and_the_mended_one_is_well(
    pair: Pair, device: str, engine: str
) -> None:
    found = launched(pair, device, engine, mended=False)
    fitting = [one for one in found if one.kind == pair.kind]
    assert any({line for _, line in one.locations} >= pair.lines for one in fitting), found
    serious = [one for one in launched(pair, device, engine, mended=True) if one.counts]
    assert serious == []
