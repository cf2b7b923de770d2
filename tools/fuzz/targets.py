"""What is fuzzed: functions that take any bytes and raise only for a bug.

Each hands the bytes to one part of visim and lets through nothing but `VisimError`, which is how
visim says that an input is not what it should be.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np

import visim
from visim.binary.debuginfo import is_debug_information, read_debug_information
from visim.binary.isafile import native_code, read_isa
from visim.binary.zebin import read_zebin
from visim.diag import Diagnostics, Source
from visim.errors import VisimError
from visim.runtime.building.loading import Contents, examine_data
from visim.runtime.files.arguments_text import ArgumentText, read_value
from visim.runtime.program import Program
from visim.target import PLATFORMS, Platform, platform
from visim.text import parse_text, show_module

Target = Callable[[bytes], None]

_BUDGET = 300
_SHOWN = 20


def read_as_text(data: bytes) -> None:
    """Read vISA text, and print what was read."""
    module, findings = parse_text(Source("fuzz.visaasm", data.decode("utf-8", "replace")))
    _render(findings)
    if not findings.errors:
        show_module(module)


def read_as_object(data: bytes) -> None:
    """Read an .isa object, and print what was read."""
    with suppress(VisimError):
        native_code(data, "fuzz.isa")
        show_module(read_isa(data, "fuzz.isa", platform=platform("pvc")))


def read_as_zebin(data: bytes) -> None:
    """Read the ELF file and the `.ze_info` of a zebin."""
    with suppress(VisimError):
        read_zebin(data, "fuzz.zebin")


def verify(data: bytes) -> None:
    """Verify whatever can be read; print it, describe it and write it as an object."""
    for device in (None, _device(data)):
        with suppress(VisimError):
            contents, findings = examine_data(data, "fuzz", device)
            _render(findings)
            if contents is not None and not findings.errors:
                _describe(Program(contents))


def run(data: bytes) -> None:
    """Launch each kernel of whatever can be read and is valid, for a few instructions."""
    contents = _runnable(data)
    if contents is None:
        return
    for loaded, kernel in zip(contents.kernels, Program(contents).kernels, strict=True):
        size = {} if loaded.metadata is None else {"global_size": (8,), "local_size": (8,)}
        with suppress(VisimError):
            arguments = [_argument(argument.kind, argument.size) for argument in kernel.args]
            kernel.launch(arguments, engine="interpreter", budget=_BUDGET, **size)


def link_archive(data: bytes) -> None:
    """Link the members of an archive, or the one file that `data` is."""
    with suppress(VisimError):
        visim.link([data], gc=True, strip=len(data) % 2 == 0).text()


def read_debug(data: bytes) -> None:
    """Read vISA debug information, or the source lines of what else `data` holds."""
    with suppress(VisimError):
        if is_debug_information(data):
            read_debug_information(data, "fuzz.dbg")
        else:
            visim.load(data).source_lines()


def read_argument(data: bytes) -> None:
    """Read the text of an argument."""
    text = data.decode("utf-8", "replace")
    with suppress(VisimError):
        read_value(ArgumentText("fuzz", text), name="fuzz", seed=(1,))


TARGETS: dict[str, Target] = {
    "text": read_as_text,
    "isa": read_as_object,
    "zebin": read_as_zebin,
    "verify": verify,
    "run": run,
    "archive": link_archive,
    "debug": read_debug,
    "argument": read_argument,
}


def _device(data: bytes) -> Platform:
    """Return a device, most often the newest one."""
    return PLATFORMS[-1 - max(0, len(data) % 16 - 16 + len(PLATFORMS))]


def _render(findings: Diagnostics) -> None:
    """Render the first findings in both forms; hundreds of them show nothing new."""
    for finding in list(findings)[:_SHOWN]:
        finding.render()
        finding.to_dict()


def _describe(program: Program) -> None:
    program.info()
    program.text()
    with suppress(VisimError):
        program.to_object()


def _runnable(data: bytes) -> Contents | None:
    """Return what `data` holds if it is valid, for its device or any."""
    with suppress(VisimError):
        contents, findings = examine_data(data, "fuzz", None)
        if contents is not None and contents.platform is None:
            contents, findings = examine_data(data, "fuzz", _device(data))
        return None if findings.errors else contents
    return None


def _argument(kind: str, size: int | None) -> object:
    """Return an argument that a parameter of this kind takes, more often than not."""
    match kind:
        case "buffer":
            return np.zeros(1 << 14, np.uint32)
        case "local":
            return visim.Local(64)
        case "image":
            return visim.Image(np.zeros((4, 4, 4), np.uint8))
        case "sampler":
            return visim.Sampler()
        case _:
            return bytes(size or 4)
