"""The OpenCL programs on every device, built by each compiler that knows it, on both engines.

A run takes a share of the matrix; `--thorough` takes all of it. Compilers are those of Debian 12
and the current one, where they are installed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

import visim
from tests.opencl.case import ALL_DEVICES, FP64_DEVICES, Case
from tests.opencl.cases import CASES
from tests.opencl.compiler_bugs import is_unseen, known_bug
from tests.opencl.targets import TARGETS, Target, built_for
from tests.opencl.test_opencl_programs import run
from tests.shares import share
from tests.toolchains import current_version
from visim.target import Generation, Platform

SHARE = 24
NEEDED: dict[tuple[str, ...], Callable[[Platform], bool]] = {
    ALL_DEVICES: lambda device: True,
    FP64_DEVICES: lambda device: device.has_fp64,
    ("pvc",): lambda device: device.has_matrix and device.matrix_channels == 16,
    ("dg2",): lambda device: device.has_matrix and device.matrix_channels == 8,
    ("tgllp", "dg2", "pvc"): lambda device: device.generation >= Generation.XE_LP,
    ("pvc", "dg2"): lambda device: device.has_lsc,
}
"""What a device must have for the cases that are for some of four devices, by these."""


EVERY = tuple(
    (case, target) for case in CASES for target in TARGETS if NEEDED[case.devices](target.platform)
)


def _built(case: Case, target: Target) -> visim.Program:
    build = built_for if case.keeps_state else _built_once
    return build(target, case.text, case.options)


_built_once = cache(built_for)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Take a share of the programs and devices."""
    every = metafunc.config.getoption("thorough")
    chosen = EVERY if every else share("every device", EVERY, SHARE)
    metafunc.parametrize(
        ("case", "target", "engine"),
        [
            pytest.param(case, target, engine, id=f"{case.name}-{target}-{engine}")
            for case, target in chosen
            for engine in ("interpreter", "jit")
        ],
    )


def _outcome(case: Case, target: Target, engine: str) -> list[str]:
    """Return what is wrong with a program; what a build or a run ends with is wrong, too."""
    try:
        return case.mismatches(run(case, _built(case, target), engine))
    except visim.ToolMissing as missing:
        pytest.skip(str(missing))
    except visim.VisimError as error:
        return [str(error)]


def test_results_are_those_of_the_reference(case: Case, target: Target, engine: str) -> None:
    why = known_bug(case.name, target)
    found = _outcome(case, target, engine)
    if is_unseen(target):
        if bool(found) != bool(why):
            pytest.xfail(f"ocloc {current_version()}, which was not seen yet: {found or 'right'}")
    elif why:
        assert found, f"the compiler does it right now, not: {why}"
    else:
        assert found == []
