"""What this machine has of what visim can use, and what to do about the rest.

Looks only; installs and changes nothing. Knows the names of Debian's packages.
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from visim.errors import ToolMissing
from visim.runtime.compiling.compilers import Compiler, Unusable, survey
from visim.runtime.compiling.worker import INSTALL_HINT, CompilerDied, CompilerStuck
from visim.toolchain import installed

_PACKAGES = ("numpy", "llvmlite", "pyelftools", "PyYAML", "click", "rich")
_OPENCL = "OpenCL C and SPIR-V: visim cl, visim.opencl.build"
_ICD_FOLDER = Path("/etc/OpenCL/vendors")
_KERNEL = """\
.version 4.1
.kernel "add_one"
.decl numbers v_type=G type=uq num_elts=1 align=qword
.decl block v_type=G type=d num_elts=16 align=wordx32
.input numbers offset=64 size=8
.kernel_attr Target="cm"
.kernel_attr SimdSize=16
.function "add_one_0"

add_one_0:
    lsc_load.ugm (M1_NM, 1) block:d32x16t flat[numbers]:a64
    add (M1, 16) block(0,0)<1> block(0,0)<1;1,0> 0x1:d
    lsc_store.ugm (M1_NM, 1) flat[numbers]:a64 block:d32x16t
    ret (M1, 1)
"""


class State(StrEnum):
    """How a finding stands."""

    OK = "ok"
    MISSING = "missing"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked for.

    `missing` is something that visim does without, as far as `purpose` is not wanted; `broken`
    means that visim cannot work. `help` says what to do, None where there is nothing to do.
    """

    name: str
    state: State
    detail: str
    purpose: str
    help: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the finding in the form that `--json` prints."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Tool:
    name: str
    find: Callable[[], str | None]
    purpose: str
    debian: str


def examine() -> tuple[Finding, ...]:
    """Return all findings: Python, the packages, visim itself, then the outside tools."""
    return (
        _python(),
        *(_package(name) for name in _PACKAGES),
        _self_test(),
        *_compilers(),
        *(_outside(tool) for tool in _TOOLS),
    )


def _self_test() -> Finding:
    """Run a kernel whose result everybody knows: sixteen integers, each of them one more."""
    numbers = np.arange(16, dtype=np.int32)
    try:
        from visim.runtime.program import assemble

        assemble(_KERNEL, platform="pvc")["add_one"].launch([numbers])
    except Exception as error:
        detail = f"{type(error).__name__}: {error}"
        return Finding("visim", State.BROKEN, detail, "everything", "please report this")
    if not np.array_equal(numbers, np.arange(1, 17)):
        detail = f"0..15 and one is {numbers.tolist()}"
        return Finding("visim", State.BROKEN, detail, "everything", "please report this")
    return Finding("visim", State.OK, "the test kernel gives the right result", "everything")


def _python() -> Finding:
    detail = f"{platform.python_version()} on {platform.machine()}"
    return Finding("Python", State.OK, detail, "everything")


def _package(name: str) -> Finding:
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        help_text = f"pip install {name}"
        return Finding(name, State.BROKEN, "not installed", "everything", help_text)
    return Finding(name, State.OK, version, "everything")


def _compilers() -> tuple[Finding, ...]:
    """Return all compilers, the newest first, with the devices that each compiles for."""
    found = tuple(_compiler(entry) for entry in survey())
    damaged = tuple(
        _damaged(entry) for entry in installed.survey() if isinstance(entry, installed.Damaged)
    )
    if any(finding.state is State.OK for finding in found):
        return (*found, *damaged)
    return (
        *(found or (Finding("ocloc", State.MISSING, "no libocloc", _OPENCL, INSTALL_HINT),)),
        *damaged,
    )


def _compiler(entry: Compiler | Unusable) -> Finding:
    if isinstance(entry, Unusable):
        return Finding("ocloc", State.MISSING, entry.problem, _OPENCL, INSTALL_HINT)
    try:
        devices = ", ".join(entry.devices()) or "no device that visim knows"
        detail = f"{entry.version} ({entry.origin}) for {devices}; {entry.path}"
    except (ToolMissing, CompilerDied, CompilerStuck):
        detail = f"{entry.version} ({entry.origin}) does not answer"
        return Finding("ocloc", State.MISSING, detail, _OPENCL, INSTALL_HINT)
    return Finding("ocloc", State.OK, detail, _OPENCL)


def _damaged(entry: installed.Damaged) -> Finding:
    name = entry.folder.name
    help_text = f"visim toolchain remove {name}"
    return Finding(name, State.MISSING, f"damaged: {entry.problem}", _OPENCL, help_text)


def _outside(tool: _Tool) -> Finding:
    place = tool.find()
    if place is None:
        help_text = f"apt-get install {tool.debian}"
        return Finding(tool.name, State.MISSING, "not installed", tool.purpose, help_text)
    return Finding(tool.name, State.OK, place, tool.purpose)


def _program(name: str) -> Callable[[], str | None]:
    return lambda: shutil.which(name)


def _icd(word: str) -> Callable[[], str | None]:
    def find() -> str | None:
        files = sorted(_ICD_FOLDER.glob("*.icd")) if _ICD_FOLDER.is_dir() else []
        return next((str(file) for file in files if word in file.name.lower()), None)

    return find


_TOOLS = (
    _Tool("GenX_IR", _program("GenX_IR"), "tests: Intel's assembler", "libigc-tools"),
    _Tool("PoCL", _icd("pocl"), "tests: OpenCL on the CPU", "pocl-opencl-icd"),
    _Tool("oclgrind", _program("oclgrind"), "tests: an OpenCL simulator", "oclgrind"),
)
