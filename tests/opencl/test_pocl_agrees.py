"""Each program's NumPy reference holds on PoCL, an implementation that is not ours."""

from __future__ import annotations

from functools import cache

import pytest

from tests.opencl import pocl
from tests.opencl.case import Case
from tests.opencl.cases import CASES

pytestmark = pytest.mark.skipif(pocl.missing() is not None, reason=f"PoCL: {pocl.missing()}")


@cache
def _device() -> pocl.Pocl:
    return pocl.Pocl()


@cache
def _program(text: str, options: str) -> pocl.PoclProgram:
    return _device().build(text, options)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reference_holds_on_pocl(case: Case) -> None:
    if not case.pocl:
        pytest.skip(case.pocl_why)
    options = case.options if case.pocl_options is None else case.pocl_options
    program = _program(case.text, options)
    outputs = program.run(case.values(), case.launches)
    assert case.mismatches(outputs) == []
