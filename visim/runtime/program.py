"""Programs and kernels as users hold them (DESIGN 2.1 and 2.2)."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, Unpack

from visim.diag import Diagnostics, Source
from visim.errors import ArgumentError, InputError, LinkError, UnsupportedError
from visim.isa import Unexecutable, trace
from visim.isa.forms import FileMark, LabelMark, LineMark, SubroutineMark
from visim.isa.registry import Instruction
from visim.lex import nearest
from visim.linker import LinkedKernel
from visim.module import Module, Unit
from visim.runtime import abi, bare, geometry, loading
from visim.runtime import parameters as metadata_parameters
from visim.runtime.launch import Launch, LaunchKeywords, LaunchOptions, make_engine
from visim.runtime.loading import Contents, LoadedKernel, ProgramSource
from visim.runtime.payload import PayloadLayout
from visim.runtime.report import Report
from visim.runtime.running import ExecutablePool
from visim.runtime.threads import LaunchPlan, Tables
from visim.runtime.values import Parameter, arrange
from visim.target import PLATFORMS, Platform
from visim.target import platform as find_platform
from visim.text import show_module, show_unit

_MARKS = (LabelMark, SubroutineMark, FileMark, LineMark)
_BARRIERS = frozenset({"barrier", "sbarrier", "nbarrier"})

Arguments = Sequence[object] | Mapping[str, object]


def load(source: ProgramSource, *, platform: str | None = None) -> Program:
    """Load a program and check it.

    Args:
        source: a path (a `str` is always a path), or the bytes of a file. vISA text and zebins
            are told apart by what they hold.
        platform: bdw, skl, icllp, tgllp, dg2 or pvc in any case; None takes what the file says.

    Raises:
        InputError: the file is broken or violates the specification.
        LinkError: it calls functions that it does not have.
        ArgumentError: there is no such platform, or the file is for another one.
        UnsupportedError: the format is not read yet.
        FileNotFoundError: there is no such file.
    """
    return Program(loading.read_program(source, platform))


def assemble(text: str, *, platform: str) -> Program:
    """Return the program that a vISA text in a string describes.

    Raises:
        InputError: the text is wrong.
        LinkError: it calls functions that it does not have.
        ArgumentError: there is no such platform.
    """
    contents, findings = loading.examine_text(Source("<text>", text), find_platform(platform))
    if findings.errors:
        raise InputError(findings)
    return _linked(contents)


def link(sources: Sequence[ProgramSource], *, platform: str | None = None) -> Program:
    """Return one program made of several vISA texts.

    Args:
        sources: what `load` takes; kernels and functions of all are put together.
        platform: as for `load`.

    Raises:
        InputError: a file is wrong by itself.
        LinkError: a name is defined twice, or a called function nowhere.
        UnsupportedError: a source is no vISA text.
    """
    if isinstance(sources, (str, bytes, os.PathLike)) or not sources:
        raise ArgumentError("sources: expected a list of one or more paths or files' bytes")
    findings = Diagnostics()
    parts: list[Contents] = []
    for source in sources:
        part, found = loading.examine(source, platform)
        findings.extend(found)
        if part is not None:
            parts.append(part)
    if findings.errors:
        raise InputError(findings)
    return _linked(loading.merge(parts, parts[0].platform))


def verify(source: ProgramSource, *, platform: str | None = None) -> Diagnostics:
    """Return everything that is wrong with a program; findings are never raised.

    Raises:
        ArgumentError: there is no such platform, or the file is for another one.
        UnsupportedError: the format is not read yet.
        FileNotFoundError: there is no such file.
    """
    try:
        contents, findings = loading.examine(source, platform)
    except LinkError as error:
        return error.diagnostics
    if contents is not None and not findings.errors:
        findings.extend(loading.check_links(contents))
    return findings


def _linked(contents: Contents) -> Program:
    findings = loading.check_links(contents)
    if findings.errors:
        raise LinkError(findings)
    return Program(contents)


class Program:
    """Kernels, and the functions and variables that they share.

    `program["name"]` is a kernel. What kernels store in variables of the program stays for later
    launches of this object. `kernels` are in the order of the file.
    """

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self.kernels: tuple[Kernel, ...] = tuple(
            Kernel(contents, kernel) for kernel in contents.kernels
        )

    def __repr__(self) -> str:
        names = ", ".join(kernel.name for kernel in self.kernels)
        return f"<Program {self._contents.name}: {names or 'no kernels'}>"

    def __getitem__(self, name: str) -> Kernel:
        """Return the kernel called `name`; KeyError names the nearest."""
        for kernel in self.kernels:
            if kernel.name == name:
                return kernel
        raise _unknown("kernel", name, [kernel.name for kernel in self.kernels])

    @property
    def functions(self) -> tuple[str, ...]:
        """Names of the functions that kernels can call."""
        return tuple(function.name for function in self._contents.functions)

    def text(self, unit: str | None = None) -> str:
        """Return the program as canonical vISA text.

        Args:
            unit: the name of a kernel or function; None gives all, kernels first.

        Raises:
            KeyError: there is no such unit; it names the nearest.
        """
        contents = self._contents
        units = [*(kernel.unit for kernel in contents.kernels), *contents.functions]
        if unit is None:
            return show_module(Module(contents.isa_version, tuple(units)))
        for known in units:
            if known.name == unit:
                return show_unit(known, contents.isa_version)
        raise _unknown("unit", unit, [known.name for known in units])

    def info(self) -> dict[str, Any]:
        """Return the facts about the program in the form that `visim info --json` prints."""
        contents = self._contents
        return {
            "format": contents.format,
            "platform": None if contents.platform is None else contents.platform.name,
            "version": contents.version,
            "kernels": [kernel.info() for kernel in self.kernels],
            "functions": [
                {"name": function.name, **_body_facts(function, contents.platform)}
                for function in contents.functions
            ],
        }

    def to_object(self) -> bytes:
        """Return the program as an .isa object of version 4.1.

        Raises:
            ArgumentError: the platform is not known.
            InputError: something in the program has no place in an object.
        """
        return self._contents.to_object()

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the program to a file.

        Args:
            path: a name that ends in .visaasm for vISA text, in .isa for an object of version
                4.1, or in .zebin for the very bytes of the zebin that was loaded.

        Raises:
            UnsupportedError: the program cannot be written in this format.
            InputError: something in it has no place in an object.
            ArgumentError: the name ends in something else, or the platform is not known.
        """
        target = Path(path)
        match target.suffix.lower():
            case ".visaasm":
                target.write_text(self.text(), encoding="utf-8")
            case ".zebin" if self._contents.raw is not None:
                target.write_bytes(self._contents.raw)
            case ".zebin":
                raise UnsupportedError(f"{target}: visim writes only zebins that it has loaded")
            case ".isa":
                target.write_bytes(self.to_object())
            case suffix:
                raise ArgumentError(
                    f"path: expected a name that ends in .visaasm, .isa or .zebin, found {suffix!r}"
                )


class Kernel:
    """A kernel of a program: what it takes, and launching it.

    `args` are its arguments in order, `simd_size` the channels of its threads.
    """

    def __init__(self, contents: Contents, kernel: LoadedKernel) -> None:
        self._contents = contents
        self._kernel = kernel
        self._executables: dict[str, ExecutablePool] = {}
        self._lock = Lock()

    def __repr__(self) -> str:
        listed = ", ".join(f"{arg.type_name} {arg.name}" for arg in self.args)
        return f"<Kernel {self.name}({listed})>"

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self._kernel.unit.name

    @cached_property
    def args(self) -> tuple[Parameter, ...]:
        """The kernel's arguments in order."""
        if self._kernel.metadata is not None:
            return metadata_parameters.parameters(self._kernel.metadata)
        grf = (self._contents.platform or PLATFORMS[-1]).grf_bytes
        return bare.parameters(self._kernel.unit, grf)

    @property
    def simd_size(self) -> int:
        """How many channels a thread of the kernel has."""
        if self._kernel.metadata is not None:
            return self._kernel.metadata.execution_env.simd_size
        stated = self._kernel.unit.simd_size
        return stated or self._contents.link(self._kernel, PLATFORMS[-1]).simd_size

    @property
    def source(self) -> str:
        """The kernel's canonical vISA text."""
        return show_unit(self._kernel.unit, self._contents.isa_version)

    def launch(self, args: Arguments, **options: Unpack[LaunchKeywords]) -> Any:
        """Launch the kernel and wait for its end.

        What it prints with printf goes to `sys.stdout` (or where `visim.printf_to` says) while it
        runs, and is in the report.

        Args:
            args: the arguments as a list in order or a dict by name.
            **options: the geometry (`global_size`, `local_size`, `global_offset` for kernels with
                metadata; `thread_groups`, `group_size`, or `thread_space`, `dependency` for bare
                ones), `surfaces` by binding table index, `engine`, `workers`, `seed`, `budget`
                (instructions a hardware thread may execute), `checks`, `collect`,
                `require_exact`, `wait`.

        Returns:
            The `Report`; with `wait=False` a `LaunchHandle`.

        Raises:
            ArgumentError: an argument, a size or an option is wrong.
            UnsupportedError: the launch needs what this build of visim does not have.
            FaultError: the kernel stopped; `.fault` says where and why.
            InputError: the platform is not known.
        """
        return self.bind(args, **options)()

    def bind(self, args: Arguments, **options: Unpack[LaunchKeywords]) -> Launch:
        """Check and prepare a launch once; what is returned launches at each call.

        Takes and raises what `launch` does, but for the faults of the run.
        """
        chosen = LaunchOptions(**options).check()
        began = time.perf_counter()
        engine = make_engine(chosen.engine)
        given = arrange(args, self.args)
        plan = self._plan(given, chosen)
        with self._lock:
            executables = self._executables.get(engine.name)
            if executables is None:
                executables = ExecutablePool(lambda: engine.prepare(self._linked))
                self._executables[engine.name] = executables
        compile_s = time.perf_counter() - began
        platform = self._linked.platform.name
        return Launch(self.name, platform, engine.name, executables, plan, chosen, compile_s)

    def info(self) -> dict[str, Any]:
        """Return the facts about the kernel in the form that `visim info --json` prints."""
        unit, metadata = self._kernel.unit, self._kernel.metadata
        slm = bare.slm_bytes(unit) if metadata is None else metadata.execution_env.slm_size
        return {
            "name": self.name,
            "simd_size": self.simd_size,
            "args": [
                {"name": a.name, "kind": a.kind, "size": a.size, "type_name": a.type_name}
                for a in self.args
            ],
            "slm_size": slm,
            "barriers": sum(item.op.mnemonic in _BARRIERS for item in unit.body),
            **_body_facts(unit, self._contents.platform),
        }

    @cached_property
    def _linked(self) -> LinkedKernel:
        return self._contents.link(self._kernel, self._platform())

    def _platform(self) -> Platform:
        if self._contents.platform is None:
            findings = Diagnostics()
            known = ", ".join(platform.name for platform in PLATFORMS)
            findings.error(
                "unknown-platform",
                f"{self._contents.name} does not say which platform it is for",
                help=f"load it with platform=..., one of {known}",
            )
            raise InputError(findings)
        return self._contents.platform

    @cached_property
    def _payload(self) -> PayloadLayout | bare.BareLayout:
        if self._kernel.metadata is None:
            return bare.BareLayout(self._linked)
        abi.check_supported(self._kernel.metadata)
        return PayloadLayout(self._kernel.metadata, self._linked)

    def _plan(self, given: Sequence[object], options: LaunchOptions) -> LaunchPlan:
        layout = self._payload
        tables = Tables(options.surfaces or {}, options.samplers or {})
        if isinstance(layout, bare.BareLayout):
            groups = geometry.bare_geometry(options.sizes, self._linked.platform)
            return bare.prepare(layout, given, groups, tables)
        required = metadata_parameters.required_local_size(layout.kernel)
        extent = geometry.nd_range(options.sizes, required)
        segments = self._contents.segments
        return abi.prepare(layout, self.args, given, extent, tables, segments)


def _unknown(what: str, name: str, known: Sequence[str]) -> KeyError:
    near = nearest(name, known)
    hint = f"did you mean {near!r}?" if near else f"it has: {', '.join(known) or 'none'}"
    return KeyError(f"the program has no {what} {name!r}; {hint}")


def _body_facts(unit: Unit, platform: Platform | None) -> dict[str, Any]:
    """Return how many instructions of which kind a unit has, and which cannot be executed."""
    body = [item for item in unit.body if not isinstance(item, _MARKS)]
    opcodes = Counter(item.op.mnemonic for item in body)
    return {
        "instructions": len(body),
        "opcodes": dict(sorted(opcodes.items())),
        "not_executable": _not_executable(body, platform),
        "called_out": _called_out(body, platform),
    }


def _not_executable(body: Sequence[Instruction], platform: Platform | None) -> list[dict[str, Any]]:
    """Return the instructions that visim cannot execute, each kind once with its first line.

    Where the platform is not known, that is the case on any of them.
    """
    platforms = PLATFORMS if platform is None else (platform,)
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for item in body:
        for target in platforms:
            try:
                trace(item, target)
            except Unexecutable as error:
                reason = str(error)
                line = getattr(item.origin, "line", None)
                entry = {"mnemonic": item.op.mnemonic, "reason": reason, "line": line}
                found.setdefault((item.op.mnemonic, reason), entry)
    return list(found.values())


def _called_out(body: Sequence[Instruction], platform: Platform | None) -> list[dict[str, Any]]:
    """Return the instructions that the JIT leaves to the interpreter's code, as they are above."""
    from visim.engine.jit.callouts import reasons

    platforms = PLATFORMS if platform is None else (platform,)
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for item in body:
        for target in platforms:
            try:
                effects = trace(item, target)
            except Unexecutable:
                continue
            for reason in reasons(effects):
                line = getattr(item.origin, "line", None)
                entry = {"mnemonic": item.op.mnemonic, "reason": reason, "line": line}
                found.setdefault((item.op.mnemonic, reason), entry)
    return list(found.values())


__all__ = ["Kernel", "Program", "Report", "assemble", "link", "load", "verify"]
