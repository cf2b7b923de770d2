"""Recursive functions on the JIT of devices that ordinary runs give to the interpreter alone."""

from __future__ import annotations

import pytest

from tests.opencl.building import built
from tests.opencl.cases import CASES
from tests.opencl.test_opencl_programs import run

RECURSIVE = [case for case in CASES if case.name.startswith("recursion")]


@pytest.mark.parametrize("device", ["dg2", "tgllp", "skl"])
@pytest.mark.parametrize("case", RECURSIVE, ids=lambda case: case.name)
def test_scratch_memory_has_a_name_of_its_own(case, device):
    """In LLVM's text the pointer to it had the name of a label once."""
    if device not in case.devices:
        pytest.skip(case.devices_why)
    program = built(case.text, device, case.options)
    assert case.mismatches(run(case, program, "jit")) == []
