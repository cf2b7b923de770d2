"""Sanitizers find nothing that counts in programs that are right: the OpenCL suite's."""

from __future__ import annotations

import pytest

import visim
from tests.opencl.building import built, built_anew, skip_where_compilers_crash
from tests.opencl.case import Case
from tests.opencl.cases import CASES
from tests.opencl.test_opencl_programs import run
from tests.shares import share
from visim.runtime.launching.defaults import watched

DEVICES = ("pvc", "tgllp", "bmg")
RUNS = [
    (case, device, engine)
    for case in CASES
    for device in DEVICES
    for engine in ("interpreter", "jit")
    if device in case.devices or device == "bmg"
]
SHARE = 4
COMPILERS_OWN = {"work_group": {"race-same-value", "race-local"}}
"""What is found in code that the compiler adds: docs/sanitizers.md, `work_group_any`."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a share of the programs; `--thorough` runs all on all devices and engines."""
    thorough = metafunc.config.getoption("thorough")
    runs = RUNS if thorough else share("right programs", RUNS, SHARE)
    named = [pytest.param(*run, id=f"{run[0].name}-{run[1]}-{run[2]}") for run in runs]
    metafunc.parametrize(("case", "device", "engine"), named)


def findings_of(case: Case, device: str, engine: str) -> list[visim.Finding]:
    """Return what counts of what is found in a case's launches."""
    build = built_anew if case.keeps_state else built
    reports: list[visim.Report] = []
    with watched("all", reports.append), visim.printf_to(list[str]().append):
        run(case, build(case.text, device, case.options), engine)
    return [one for report in reports for one in report.findings if one.counts]


def test_nothing_is_found_that_counts(case: Case, device: str, engine: str) -> None:
    try:
        found = findings_of(case, device, engine)
    except visim.InputError as error:
        if "unsupported on this platform" in str(error):  # Such as sub-groups of 8 on bmg.
            pytest.skip(str(error))
        skip_where_compilers_crash(error)
        return
    assert [one for one in found if one.kind not in COMPILERS_OWN.get(case.name, ())] == []
