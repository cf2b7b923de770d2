"""OpenCL programs that tests build with ocloc; where it is not installed the tests are skipped.

The system's compiler builds for the devices that it knows, an installed toolchain for the others.
"""

from __future__ import annotations

from functools import cache
from typing import NoReturn

import pytest

import visim
import visim.opencl
from tests.toolchains import current_compiler


@cache
def _built(source: str, device: str, options: str) -> visim.Program | visim.ToolMissing:
    try:
        return visim.opencl.build(source, device=device, options=options)
    except visim.ToolMissing as missing:
        current = current_compiler()
        if current is None:
            return missing
    return visim.opencl.build(source, device=device, options=options, compiler=current)


def built(source: str, device: str, options: str = "") -> visim.Program:
    """Return a program that all tests share which ask for the same."""
    found = _built(source, device, options)
    if isinstance(found, visim.ToolMissing):
        pytest.skip(str(found))
    return found


def skip_where_compilers_crash(error: visim.InputError) -> NoReturn:
    """Skip a test whose program a compiler crashes on; raise other errors."""
    if "opencl-crash" not in str(error):
        raise error
    pytest.skip(str(error))


def built_anew(source: str, device: str, options: str = "") -> visim.Program:
    """Return a program of the test's own: one that keeps state, or that nobody else asks for."""
    try:
        return visim.opencl.build(source, device=device, options=options)
    except visim.ToolMissing as missing:
        pytest.skip(str(missing))


@cache
def _built_by_current(source: str, device: str, options: str) -> visim.Program | None:
    current = current_compiler()
    if current is None:
        return None
    return visim.opencl.build(source, device=device, options=options, compiler=current)


def built_by_current(source: str, device: str, options: str = "") -> visim.Program:
    """Return a program as the current compiler makes it; where it is not installed, skip."""
    found = _built_by_current(source, device, options)
    if found is None:
        pytest.skip("not installed: visim toolchain install compiler")
    return found
