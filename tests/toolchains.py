"""The current compiler and the legacy one, where the developer has installed them.

Tests do not see what `visim toolchain install` has installed unless they ask here, so that they
give the same result on all machines.
"""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from visim.device.driver import I915, find_driver
from visim.errors import ToolMissing
from visim.toolchain.components import COMPILER, DRIVER, LEGACY, Component
from visim.toolchain.installed import newest

_INSTALLED = {component: newest(component) for component in (COMPILER, LEGACY, DRIVER)}


def current_compiler() -> str | None:
    """Return the library of the current compiler, None where it is not installed."""
    found = _INSTALLED[COMPILER]
    return None if found is None else str(found.library)


def current_version() -> str:
    """Return the version of the current compiler, empty where it is not installed."""
    found = _INSTALLED[COMPILER]
    return "" if found is None else found.version


def installed_compiler(component: Component = COMPILER) -> str:
    """Return the library of an installed compiler, or skip the test."""
    found = _INSTALLED[component]
    if found is None:
        pytest.skip(f"not installed: visim toolchain install {component.name}")
    return str(found.library)


def installed_ocloc() -> Path:
    """Return the program of the current compiler, or skip the test."""
    installed_compiler()
    found = _INSTALLED[COMPILER]
    assert found is not None
    return found.folder / "bin" / "ocloc"


def installed_driver() -> str:
    """Return the folder of the installed driver, or skip the test."""
    found = _INSTALLED[DRIVER]
    if found is None:
        pytest.skip("not installed: visim toolchain install driver")
    return str(found.folder)


@functools.cache
def old_driver() -> str | None:
    """Return the folder of the system's driver if that is one for i915, None without one."""
    try:
        found = find_driver("/usr/lib/x86_64-linux-gnu")
    except ToolMissing:
        return None
    is_old = found.opencl is not None and found.kernel == I915
    return str(found.folder) if is_old else None
