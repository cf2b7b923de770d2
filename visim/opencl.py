"""`visim.opencl`: programs from OpenCL C and SPIR-V, through Intel's offline compiler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from visim.diag import Source
from visim.errors import InputError, ToolMissing
from visim.runtime.building import loading
from visim.runtime.compiling.opencl import Built, build_zebin
from visim.runtime.compiling.sources import NO_FILE, NO_FOLDER, Part
from visim.runtime.program import Program
from visim.target import platform

__all__ = ["ToolMissing", "build"]


def build(
    source: Part | bytes | Sequence[Part],
    *,
    device: str,
    options: str = "",
    name: str = NO_FILE,
    headers: Mapping[str, str] | None = None,
    include: Sequence[Part] = (),
    lines: bool = True,
    variables: bool = False,
    compiler: Part | None = None,
) -> Program:
    """Compile OpenCL C, or SPIR-V, and return the program.

    Args:
        source: the text of a program (a `str` is always a text), the path of its file (a `Path`),
            or several of these, which are one translation unit in this order, as the strings of
            clCreateProgramWithSource; or the bytes of a SPIR-V module, whose specialization
            constants keep the values that they have in it.
        device: the device to compile for (docs/devices.md), in any case.
        options: options of clBuildProgram, separated by spaces; SPIR-V has no use for those of
            texts (-D, -I, -cl-std).
        name: what messages call a text.
        headers: the texts of included files, by the names that `#include` has.
        include: folders in which included files are looked for, before those of the sources and
            the current one.
        lines: whether instructions get the lines of the source that they come from, which faults
            then name. Hardly any code differs for it (docs/toolchain.md).
        variables: whether the debugger is to know the source's variables, which `-g` among the
            options asks for, too; a compiler of 2022 gives lines only (docs/debug.md).
        compiler: the path of a `libocloc.so`, the name of an installed toolchain, `system`, or a
            version or its beginning, such as `26`; None takes the newest that knows the device.

    Raises:
        ArgumentError: there is no such device or compiler, or the source is none of these.
        InputError: the build failed, `.diagnostics` are the compiler's findings; or the module
            is not whole, or is for 32-bit addresses.
        LinkError: it calls functions that it does not have.
        FileNotFoundError: a source is not there.
        ToolMissing: no compiler is installed that knows the device.
    """
    built = build_zebin(
        source,
        device=device,
        options=options,
        name=name,
        headers=headers,
        include=include,
        lines=lines,
        variables=variables,
        compiler=compiler,
    )
    return Program(_contents(built, built.name, device))


def _contents(built: Built, name: str, device: str) -> loading.Contents:
    contents, findings = loading.examine_data(built.zebin, name, platform(device))
    if contents is None or findings.errors:
        raise InputError(findings)
    contents = replace(
        contents,
        compiler=str(built.compiler),
        warnings=built.warnings,
        sources=_named(built),
    )
    return loading.complete(contents, partial(_contents, built, name, device))


def _named(built: Built) -> dict[str, Source]:
    """Return the sources by the names that a loaded program has for their files."""
    folder = f"{NO_FOLDER}/"
    return {name.removeprefix(folder): source for name, source in built.sources.items()}
