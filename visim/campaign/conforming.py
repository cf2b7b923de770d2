"""How far visim gets with a program of somebody else's: the job of `conform`.

OpenCL C files (.cl) are built by ocloc for the device and with the options that a `RUN:` line in
their comments names; vISA texts (.visaasm), objects (.isa) and zebins are read. Each program then
goes through the same steps: text and object are written and read again, it is verified, and its
kernels run on small made-up arguments, on the interpreter and on the JIT, which have to agree. A
kernel that such arguments lead astray (a fault of the program) counts as run.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import visim
from visim.campaign import madeup
from visim.errors import FaultError, InputError, UnsupportedError, VisimError
from visim.runtime.building.loading import examine_data
from visim.runtime.compiling.opencl import build_zebin
from visim.target import PLATFORMS, platform

STEPS = ("build", "read", "text", "object", "verify", "run", "agree")
SUFFIXES = (".cl", ".visaasm", ".isa", ".zebin", ".bin")
BUDGET = 100_000
OWN_FAULTS = {"undefined", "out-of-contract"}
"""Categories of faults that made-up arguments bring about in a correct program."""

_RUN_LINE = re.compile(r"RUN:.*?\bocloc\s+compile\s+(.*)")
_CONTINUED = re.compile(r"\\\s*\n\s*//\s*RUN:")
_FOREIGN = re.compile(r"-igc_opts\s+('[^']*'|\S+)")


T = TypeVar("T")


@dataclass
class Examination:
    """What came of one file: the steps that it passed, those that it failed and why, and remarks.

    A step that does not apply to the file is in neither.
    """

    file: str
    passed: list[str] = field(default_factory=list[str])
    failed: dict[str, str] = field(default_factory=dict[str, str])
    remarks: list[str] = field(default_factory=list[str])

    @property
    def line(self) -> str:
        """The file and what failed."""
        reasons = "; ".join(f"{step}: {reason}" for step, reason in self.failed.items())
        return f"{self.file}: {reasons or 'passed'}"

    def check(self, step: str, action: Callable[[], T]) -> T | None:
        """Do a step; return its result, None if it failed."""
        try:
            found = action()
        except VisimError as error:
            self.failed[step] = _first_line(error)
        except Exception as error:  # a failing step is what this tool reports
            self.failed[step] = f"{type(error).__name__}: {_first_line(error)}"
        else:
            self.passed.append(step)
            return found
        return None


@dataclass(frozen=True)
class Build:
    """How a source asks to be built."""

    device: str
    options: str
    remark: str | None = None


def examine(path: Path, name: str, device: str) -> Examination:
    """Take one file through all steps."""
    outcome = Examination(name)
    loaded = _program(path, device, outcome)
    if loaded is None:
        return outcome
    data, stated = loaded
    program = outcome.check("read", lambda: visim.load(data, platform=stated))
    if program is None or not program.kernels:
        return outcome
    target = program.info()["platform"] or device
    outcome.check("text", lambda: _round_trip(program.text().encode(), target, _as_text))
    outcome.check("object", lambda: _round_trip(program.to_object(), target, _as_object))
    outcome.check("verify", lambda: _verify(data, stated))
    again = visim.load(data, platform=stated)
    with visim.printf_to(lambda _: None):
        _run_kernels(program, again, outcome)
    return outcome


def _program(path: Path, device: str, outcome: Examination) -> tuple[bytes, str | None] | None:
    """Return the bytes of a program, and its platform where they do not say it."""
    if path.suffix != ".cl":
        return path.read_bytes(), device if path.suffix in {".visaasm", ".isa"} else None
    source = path.read_text(encoding="utf-8", errors="replace")
    build = wanted_build(source, device)
    if build.remark:
        outcome.remarks.append(build.remark)
    built = outcome.check(
        "build",
        lambda: build_zebin(source, device=build.device, options=build.options, name=str(path)),
    )
    return None if built is None else (built.zebin, None)


def wanted_build(source: str, device: str) -> Build:
    """Return how the first `RUN:` line that builds asks for it; `device` where it is not known."""
    found = _RUN_LINE.search(_CONTINUED.sub(" ", source))
    if found is None:
        return Build(device, "")
    try:
        words = shlex.split(found.group(1).split("|")[0].rstrip("\\ "))
    except ValueError:
        words = []
    given = dict(itertools.pairwise(words))
    options = _FOREIGN.sub("", given.get("-options", "")).strip()
    named = given.get("-device", device)
    if named in {platform.name for platform in PLATFORMS}:
        return Build(named, options)
    return Build(device, options, f"built for {device} instead of {named}")


def _round_trip(data: bytes, device: str, written: Callable[[visim.Program], bytes]) -> None:
    contents, findings = examine_data(data, "again", platform(device))
    if contents is None:
        raise InputError(findings)
    if written(visim.Program(contents)) != data:
        raise ValueError("reading and writing again changes it")


def _as_text(program: visim.Program) -> bytes:
    return program.text().encode()


def _as_object(program: visim.Program) -> bytes:
    return program.to_object()


def _verify(data: bytes, device: str | None) -> None:
    findings = visim.verify(data, platform=device)
    if findings.errors:
        raise InputError(findings)


# Running


def _run_kernels(program: visim.Program, again: visim.Program, outcome: Examination) -> None:
    """Run all kernels on both engines; each engine has a program with variables of its own."""
    for kernel, twin in zip(program.kernels, again.kernels, strict=True):
        try:
            ends = [_launch(kernel, "interpreter"), _launch(twin, "jit")]
        except Exception as error:  # a failing step is what this tool reports
            outcome.failed["run"] = f"{kernel.name}: {type(error).__name__}: {_first_line(error)}"
            return
        unsupported = [end.fault for end in ends[:1] if end.is_unsupported]
        if unsupported:
            outcome.failed["run"] = f"{kernel.name}: {unsupported[0]}"
            return
        outcome.remarks += [f"{kernel.name}: {end.fault}" for end in ends[:1] if end.fault]
        difference = _difference(*ends)
        if difference:
            outcome.failed["agree"] = f"{kernel.name}: {difference}"
    if program.kernels:
        outcome.passed += [step for step in ("run", "agree") if step not in outcome.failed]


@dataclass(frozen=True)
class End:
    """How a launch ended: its memory, and the fault that stopped it."""

    memory: tuple[bytes, ...]
    fault: str | None = None
    is_unsupported: bool = False


def _launch(kernel: visim.Kernel, engine: str) -> End:
    arguments = [madeup.argument(parameter) for parameter in kernel.args]
    memory: list[NDArray[Any]] = [
        value for value in arguments if isinstance(value, np.ndarray) and value.ndim
    ]
    geometry = madeup.geometry(kernel)
    try:
        kernel.launch(arguments, engine=engine, budget=BUDGET, **geometry)
    except FaultError as stopped:
        fault = stopped.fault
        text = f"{fault.category}/{fault.code}: {fault.message}"
        return End((), text, fault.category not in OWN_FAULTS)
    except UnsupportedError as refused:
        if engine == "jit":
            return End((), f"jit refuses: {_first_line(refused)}", is_unsupported=True)
        raise
    return End(tuple(array.tobytes() for array in memory))


def _difference(first: End, second: End) -> str | None:
    if second.fault and second.is_unsupported:
        return second.fault
    if first.fault != second.fault:
        return f"{first.fault or 'ends'} on the interpreter, {second.fault or 'ends'} on the JIT"
    if first.memory != second.memory:
        return "the engines leave different memory"
    return None


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [""]
    return lines[0][:300]
