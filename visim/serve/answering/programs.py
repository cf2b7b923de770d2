"""From a request's program to one that can be launched."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import visim
from visim.diag import Diagnostics
from visim.runtime import selection
from visim.runtime.building.loading import source_language
from visim.serve.answering.answers import at
from visim.serve.answering.policy import check_headers, check_options, check_source
from visim.serve.requests import Program as Asked
from visim.serve.requests import Side
from visim.serve.shapes import RequestError

if TYPE_CHECKING:
    from visim import Kernel, Program

_OPENCL_NAME, _SPIRV_NAME = "kernel.cl", "module.spv"
_VISA = re.compile(r"^[ \t]*\.(?:version|kernel|function)\b", re.MULTILINE)


def check_program(asked: Asked, path: str) -> None:
    """Refuse a program that is none, or that asks the compiler for what strangers may not.

    Raises:
        RequestError: it says which field is wrong.
    """
    if (asked.source is None) == (asked.binary is None):
        raise RequestError(path, "give one of source and binary")
    if asked.compiler is not None and os.sep in asked.compiler:
        raise RequestError(f"{path}.compiler", "expected a version or a name, found a path")
    check_options(asked.options, f"{path}.options")
    if asked.source is not None:
        check_source(asked.source, asked.headers, f"{path}.source")
    check_headers(asked.headers, f"{path}.headers")


def load(asked: Asked, path: str) -> Program:
    """Return the program; what has to be compiled is compiled.

    Raises:
        RequestError: the request is wrong.
        VisimError: what building or loading finds wrong.
    """
    check_program(asked, path)
    language = _language(asked)
    if language is None:
        _refuse_options(asked, path)
        with at(f"{path}.device"):
            return visim.load(_data(asked), platform=asked.device)
    if asked.device is None:
        raise RequestError(f"{path}.device", f"missing: {language} is compiled for a device")
    with at(path):
        if asked.binary is not None:
            return visim.opencl.build(
                asked.binary,
                device=asked.device,
                options=asked.options,
                name=_SPIRV_NAME,
                compiler=asked.compiler,
            )
        return visim.opencl.build(
            asked.source or "",
            device=asked.device,
            options=asked.options,
            name=_OPENCL_NAME,
            headers=asked.headers,
            compiler=asked.compiler,
        )


def verify(asked: Asked, path: str) -> Diagnostics:
    """Return everything that is wrong with a program.

    Raises:
        RequestError: the request is wrong.
        VisimError: what building finds wrong.
    """
    check_program(asked, path)
    if _language(asked) is None:
        _refuse_options(asked, path)
        with at(f"{path}.device"):
            return visim.verify(_data(asked), platform=asked.device)
    built = load(asked, path)
    findings = Diagnostics(list(built.warnings))
    findings.extend(visim.verify(built.to_zebin()))
    return findings


def side_program(side: Side, other: Asked | None, path: str) -> Asked:
    """Return the program of one side of a comparison.

    Raises:
        RequestError: neither side has one.
    """
    asked = side.program or other
    if asked is None:
        raise RequestError(f"{path}.program", "missing: a program")
    asked = asked if side.device is None else replace(asked, device=side.device)
    return asked if side.options is None else replace(asked, options=side.options)


def choose_kernel(program: Program, name: str | None, path: str) -> Kernel:
    """Return the kernel that is asked for, or the only one.

    Raises:
        RequestError: there is no such kernel, or none is named and there are several.
    """
    if name is None and len(program.kernels) > 1:
        listed = ", ".join(kernel.name for kernel in program.kernels)
        raise RequestError(path, f"missing: which kernel; the program has: {listed}")
    with at(path):
        return selection.choose_kernel(program, name)


def texts_of(asked: Asked, kernel: Kernel) -> Callable[[str], str | None]:
    """Return what knows the texts of the files that faults and findings of a kernel name."""

    def text(file: str) -> str | None:
        if file in asked.headers:
            return asked.headers[file]
        known = kernel.source_file(file)
        if known is None and asked.binary is None and not file.startswith("/"):
            return asked.source
        return known

    return text


def _language(asked: Asked) -> str | None:
    """Return what has to be compiled: OpenCL C or SPIR-V; None for vISA and zebins."""
    data = _data(asked)
    language = source_language(data)
    if language is None and asked.source is not None and not _VISA.search(asked.source):
        return "OpenCL C"
    return language


def _data(asked: Asked) -> bytes:
    return asked.binary if asked.binary is not None else (asked.source or "").encode()


def _refuse_options(asked: Asked, path: str) -> None:
    if asked.options:
        raise RequestError(f"{path}.options", "the program is compiled already: they do nothing")
    if asked.headers:
        raise RequestError(f"{path}.headers", "the program is compiled already: they do nothing")
    if asked.compiler is not None:
        raise RequestError(f"{path}.compiler", "the program is compiled already")
