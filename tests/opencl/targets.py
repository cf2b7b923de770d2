"""Every device by each compiler that knows it: that of Debian 12, and the current one."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import visim
import visim.opencl
from tests.toolchains import current_compiler
from visim.target import PLATFORMS, Platform

SYSTEM, CURRENT = "system", "current"
SYSTEM_DEVICES = ("skl", "icllp", "tgllp", "dg2", "pvc")
BEFORE_CURRENT = ("bdw", "skl", "icllp")
"""Devices that the current compiler does not know any more."""


@dataclass(frozen=True)
class Target:
    """A device, and which compiler builds for it."""

    platform: Platform
    compiler: str

    def __str__(self) -> str:
        return f"{self.platform.name}-{self.compiler}"


TARGETS = tuple(
    Target(one, compiler)
    for compiler in (SYSTEM, CURRENT)
    for one in PLATFORMS
    if (one.name in SYSTEM_DEVICES if compiler == SYSTEM else one.name not in BEFORE_CURRENT)
)


def built_for(target: Target, source: str, options: str = "") -> visim.Program:
    """Return a program for a target; the test is skipped where its compiler is not installed."""
    compiler = SYSTEM if target.compiler == SYSTEM else current_compiler()
    if compiler is None:
        pytest.skip("not installed: visim toolchain install compiler")
    name = target.platform.name
    return visim.opencl.build(source, device=name, options=options, compiler=compiler)
