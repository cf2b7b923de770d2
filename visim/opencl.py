"""`visim.opencl`: programs from OpenCL C and SPIR-V, through Intel's offline compiler."""

from __future__ import annotations

from functools import partial

from visim.errors import InputError, ToolMissing
from visim.runtime.building import loading
from visim.runtime.compiling.opencl import build_zebin
from visim.runtime.program import Program
from visim.target import platform

__all__ = ["ToolMissing", "build"]


def build(
    source: str | bytes, *, device: str, options: str = "", name: str = "source.cl"
) -> Program:
    """Compile OpenCL C, or SPIR-V, and return the program.

    Args:
        source: the program's text, or the bytes of a SPIR-V module, whose specialization
            constants keep the values that they have in it.
        device: the device to compile for (docs/devices.md), in any case.
        options: options of clBuildProgram, separated by spaces; SPIR-V has no use for those of
            texts (-D, -I, -cl-std).
        name: what messages call the program.

    Raises:
        ArgumentError: there is no such device, or the source is neither.
        InputError: the build failed, `.diagnostics` are the compiler's findings; or the module
            is not whole, or is for 32-bit addresses.
        LinkError: it calls functions that it does not have.
        ToolMissing: the compiler is not installed.
    """
    zebin = build_zebin(source, device=device, options=options, name=name)
    return Program(_contents(zebin, name, device))


def _contents(zebin: bytes, name: str, device: str) -> loading.Contents:
    contents, findings = loading.examine_data(zebin, name, platform(device))
    if contents is None or findings.errors:
        raise InputError(findings)
    return loading.complete(contents, partial(_contents, zebin, name, device))
