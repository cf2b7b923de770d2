"""Real OpenCL C programs give on every device what NumPy gives."""

from __future__ import annotations

import re
from typing import Any

import pytest

import visim
import visim.opencl
from tests.opencl.building import built, built_anew
from tests.opencl.case import ALL_DEVICES, Case, LocalBytes, Values
from tests.opencl.cases import CASES

JIT_DEVICES = ("pvc",)
"""Devices whose programs run on the JIT, too; all do with `--thorough`."""
RUNS = [
    pytest.param(case, device, id=f"{case.name}-{device}")
    for case in CASES
    for device in ALL_DEVICES
]


def _program(case: Case, device: str) -> visim.Program:
    if device not in case.devices:
        pytest.skip(case.devices_why)
    build = built_anew if case.keeps_state else built
    return build(case.text, device, case.options)


def _argument(value: Any) -> Any:
    return visim.Local(value.nbytes) if isinstance(value, LocalBytes) else value


def run(case: Case, program: visim.Program, engine: str) -> Values:
    """Launch what the case says; return its arrays as they are then."""
    values = case.values()
    for launch in case.launches:
        program[launch.kernel].launch(
            [_argument(values[name]) for name in launch.names],
            global_size=launch.global_size,
            local_size=launch.local_size,
            global_offset=launch.global_offset,
            engine=engine,
        )
    return values


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every program on the interpreter, and those for some devices on the JIT."""
    if "engine" not in metafunc.fixturenames:
        return
    devices = ALL_DEVICES if metafunc.config.getoption("thorough") else JIT_DEVICES
    runs = [
        pytest.param(*run.values, engine, id=f"{run.id}-{engine}")
        for run in RUNS
        for engine in ("interpreter", "jit")
        if engine == "interpreter" or run.values[1] in devices
    ]
    metafunc.parametrize(("case", "device", "engine"), runs)


def test_results_are_those_of_the_reference(case: Case, device: str, engine: str) -> None:
    program = _program(case, device)
    assert case.mismatches(run(case, program, engine)) == []


@pytest.mark.parametrize(("case", "device"), [run for run in RUNS if run.values[0].features])
def test_program_holds_the_feature_it_is_for(case: Case, device: str) -> None:
    program = _program(case, device)
    text = program.text()
    patterns = (*case.features.get("*", ()), *case.features.get(device, ()))
    assert [pattern for pattern in patterns if not re.search(pattern, text)] == []
