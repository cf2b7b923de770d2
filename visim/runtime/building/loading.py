"""From files and texts to what programs are made of: sniffing, reading, and checking.

Owns which formats there are, and which vISA text belongs to which kernel's metadata. Findings are
collected, so that one look finds everything that is wrong with a file.
"""

from __future__ import annotations

import hashlib
import os
import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from visim.binary.isafile import (
    NativeCode,
    is_isa,
    isa_platforms,
    native_code,
    read_isa,
    write_isa,
)
from visim.binary.zebin import Zebin, ZeFunction, ZeKernel, is_zebin, read_zebin
from visim.check import verify_module
from visim.diag import ByteSpan, Diagnostic, Diagnostics, Severity, Source
from visim.errors import ArgumentError, InputError, LinkError
from visim.forks import RenewedProperty
from visim.isa.flow import FunctionAddress, FunctionCall, IndirectFunctionCall
from visim.linker import LinkedKernel, link_kernel, undeclared_functions, unresolved
from visim.module import FileVariable, Linkage, Module, Unit, UnitKind
from visim.runtime.building.audit import audit
from visim.runtime.building.edited import EditedText, EditedUnits, edited_units
from visim.runtime.building.sourcefiles import named_files
from visim.runtime.compiling.spirv import is_spirv
from visim.runtime.given import StandardInput, check_flag, path_of, read_file
from visim.runtime.payload.segments import Segments
from visim.runtime.sourcetexts import SourceTexts
from visim.target import COMMON_OBJECT, Platform
from visim.target import platform as find_platform
from visim.text import parse_text

TEXT, OBJECT, ZEBIN, LINKED = "vISA text", "vISA object", "zebin", "linked program"

_BEGINNINGS = (".version", ".kernel", ".function", "_function")
"""What a vISA text has; without any of it each line would be an error of its own."""
_OPENCL = re.compile(r"^[ \t]*(?:__)?kernel[ \t\n]", re.MULTILINE)
_LOOKED_AT = 1 << 16
"""How many bytes of a file are looked at to tell what it is, if it is no program."""

ProgramSource = str | bytes | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class LoadedKernel:
    """A kernel under its real name; `metadata` is None for bare vISA kernels."""

    unit: Unit
    metadata: ZeKernel | None = None


@dataclass(frozen=True)
class Contents:
    """What a file holds, read and understood.

    `version` is the format's version as the file says it, `isa_version` that of its vISA text.
    `raw` are the bytes of a zebin, `native` the Gen code in an object by its kernels' names.
    `variables` and `externals` are those of a `Module`. `again` reads the same once more: copies
    and pickles are made by it, and share nothing that kernels write. `build_options` are those of
    a zebin that says how it was compiled, `edited` the text in place of its own. `compiler`
    compiled it in this process and gave `warnings`; `sources` are the texts that it was given, by
    the names that FILE has.
    """

    name: str
    format: str
    version: str
    isa_version: tuple[int, int]
    platform: Platform | None
    kernels: tuple[LoadedKernel, ...]
    functions: tuple[Unit, ...]
    segments: Segments | None = None
    raw: bytes | None = field(default=None, repr=False)
    native: Mapping[str, tuple[NativeCode, ...]] = field(
        default_factory=dict[str, tuple[NativeCode, ...]], repr=False
    )
    variables: tuple[FileVariable, ...] = ()
    externals: tuple[str, ...] = ()
    again: Callable[[], Contents] | None = field(default=None, repr=False, compare=False)
    build_options: str | None = None
    edited: EditedText | None = field(default=None, repr=False)
    compiler: str | None = None
    warnings: tuple[Diagnostic, ...] = field(default=(), compare=False, repr=False)
    sources: Mapping[str, Source] = field(
        default_factory=dict[str, Source], compare=False, repr=False
    )

    @property
    def texts(self) -> SourceTexts:
        """The lines of the sources that the program was compiled from."""
        path = Path(self.name)
        return SourceTexts(self.sources, path if self.raw is not None and path.is_file() else None)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle by what the program was read from."""
        if self.again is None:
            raise TypeError("a program that is still being loaded cannot be copied")
        return self.again, ()

    @property
    def module(self) -> Module:
        """All kernels and functions as one module."""
        kernels = tuple(kernel.unit for kernel in self.kernels)
        units = (*kernels, *self.functions)
        externals = (*self.externals, *self._named_data(units))
        return Module(self.isa_version, units, None, self.variables, externals)

    def _named_data(self, units: Sequence[Unit]) -> Iterator[str]:
        """Yield the variables of a zebin that units name: texts and objects cannot hold data."""
        symbols = self.segments.symbols if self.segments is not None else {}
        functions = {unit.name for unit in self.functions}
        items = (item for unit in units for item in unit.body)
        named = (item.function for item in items if isinstance(item, FunctionAddress))
        yield from dict.fromkeys(
            name for name in named if name in symbols and name not in functions
        )

    @property
    def needs_others(self) -> bool:
        """Whether something is external, so that the program is only a part of one."""
        external = any(entry.linkage is Linkage.EXTERNAL for entry in self.variables)
        return external or bool(self.externals)

    def to_object(self, version: tuple[int, int]) -> bytes:
        """Return the program as an .isa object; Gen code that it was read with stays in it.

        Raises:
            ArgumentError: its platform is not known.
            InputError: something in it has no place in an object.
        """
        if self.platform is None:
            raise ArgumentError(f"platform: say which device {self.name} is to be written for")
        return write_isa(self.module, platform=self.platform, native=self.native, version=version)

    def link(self, kernel: LoadedKernel, device: Platform) -> LinkedKernel:
        """Return a kernel linked with the functions that it can reach.

        Raises:
            LinkError: it calls a function that is not there.
        """
        functions = self.functions if _calls_functions(kernel.unit) else ()
        symbols = self.segments.symbols if self.segments is not None else {}
        module = Module(
            self.isa_version, (kernel.unit, *functions), None, self.variables, self.externals
        )
        linked = link_kernel(module, kernel.unit, device, symbols)
        return linked if self._digest is None else replace(linked, origin=self._digest)

    @RenewedProperty
    def _digest(self) -> str | None:
        if self.raw is None:
            return None
        edited = b"" if self.edited is None else self.edited.data
        return hashlib.sha256(self.raw + edited).hexdigest()


def read_program(
    source: ProgramSource,
    device: str | None,
    *,
    strict: bool = False,
    visa: ProgramSource | None = None,
) -> Contents:
    """Read and check a program.

    Args:
        source: a path (a `str` is always a path), or the bytes of a file.
        device: the name of the platform, None to take the file's.
        strict: refuse directives that only visim has.
        visa: a vISA text in place of that in a zebin, likewise.

    Raises:
        InputError: the file is not what it should be.
        LinkError: it calls functions that it neither has nor declares external.
        ArgumentError: there is no such platform, the file is for another one, or `visa` does not
            belong to it.
        UnsupportedError: its format is not read yet.
        FileNotFoundError: there is no such file.
    """
    check_flag("strict", strict)
    wanted_platform(device)
    edited = None if visa is None else EditedText(*file_bytes(visa))
    return _read(*file_bytes(source), device, edited, strict=strict)


def _read(
    data: bytes, name: str, device: str | None, edited: EditedText | None, *, strict: bool
) -> Contents:
    target = wanted_platform(device)
    if edited is None:
        contents, findings = examine_data(data, name, target, strict=strict)
    elif is_zebin(data):
        contents, findings = _examine_zebin(data, name, target, edited)
    else:
        message = f"visa: {name} is no zebin, it has no metadata: take {edited.name} by itself"
        raise ArgumentError(message)
    if contents is None or findings.errors:
        raise InputError(findings)
    return complete(contents, partial(_read, data, name, device, edited, strict=strict))


def read_text(text: str, device: str, *, strict: bool = False) -> Contents:
    """Read and check the program that a vISA text in a string describes.

    Raises:
        InputError: the text is wrong.
        LinkError: it calls functions that it neither has nor declares external.
        ArgumentError: there is no such platform.
    """
    check_flag("strict", strict)
    source, target = Source("<text>", text.removeprefix("\ufeff")), find_platform(device)
    contents, findings = examine_text(source, target, strict=strict)
    if findings.errors:
        raise InputError(findings)
    return complete(contents, partial(read_text, text, device, strict=strict))


def complete(contents: Contents, again: Callable[[], Contents]) -> Contents:
    """Return what makes a program, if what it calls is there, and how to read it `again`.

    Raises:
        LinkError: it calls functions that it neither has nor declares external.
    """
    missing = check_symbols(contents)
    if missing.errors:
        raise LinkError(missing)
    return replace(contents, again=again)


def examine(
    source: ProgramSource, device: str | None, *, strict: bool = False
) -> tuple[Contents | None, Diagnostics]:
    """Return what could be read of a program, and what is wrong with it by itself."""
    check_flag("strict", strict)
    target = wanted_platform(device)
    return examine_data(*file_bytes(source), target, strict=strict)


def wanted_platform(device: str | None) -> Platform | None:
    """Return the platform that a caller names, if any; ArgumentError if there is none such."""
    return None if device is None else find_platform(device)


def file_bytes(source: object) -> tuple[bytes, str]:
    """Return the bytes of a `ProgramSource`, and what messages call it.

    Raises:
        ArgumentError: it is none, a vISA text in the place of a path, or cannot be read.
        FileNotFoundError: there is no such file.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        name = StandardInput.NAME if isinstance(source, StandardInput) else "<bytes>"
        return bytes(cast("bytes", source)), name
    path = path_of("source", source, "a path or a file's bytes")
    if "\n" in str(path):
        raise ArgumentError("source: a str is a path, and this is a text; use visim.assemble")
    return read_file(path), str(path)


def examine_data(
    data: bytes, name: str, target: Platform | None, *, strict: bool = False
) -> tuple[Contents | None, Diagnostics]:
    """Do the same for the bytes of a file called `name`."""
    if is_isa(data):
        return _examine_object(data, name, target)
    if is_zebin(data):
        return _examine_zebin(data, name, target)
    findings = Diagnostics()
    language = source_language(data)
    if language is not None:
        cure = "compile it first, with visim cl or visim.opencl.build"
        findings.error("unknown-format", f"{name}: this is {language}; {cure}")
        return None, findings
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        findings.add(_no_utf8(data, name, error.start))
        return None, findings
    if text.strip() and not any(word in text for word in _BEGINNINGS):
        message = f"{name}: this is not a vISA text, a zebin or an .isa object"
        findings.error("unknown-format", message, help="a vISA text begins with '.version 4.1'")
        return None, findings
    return examine_text(Source(name, text), target, strict=strict)


def _no_utf8(data: bytes, name: str, start: int) -> Diagnostic:
    """Say what is wrong with a file that is neither binary nor text, from byte `start` on."""
    place = ByteSpan(name, start)
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        text = "the text is UTF-16, expected UTF-8"
    elif data.removeprefix(BOM_UTF8).lstrip().startswith(_BEGINNINGS[0].encode()):
        line = data.count(b"\n", 0, start) + 1
        text = f"the text is not UTF-8: byte 0x{data[start]:02x} in line {line}"
    else:
        text = f"{name}: this is not a vISA text, a zebin or an .isa object"
        text += f" (byte {start} is not UTF-8)"
        return Diagnostic("unknown-format", Severity.ERROR, text)
    return Diagnostic("unknown-format", Severity.ERROR, text, place, help="save it as UTF-8")


def source_language(data: bytes) -> str | None:
    """Return the language of a file that has to be compiled first, None for any other file."""
    if is_spirv(data):
        return "SPIR-V"
    head = data[:_LOOKED_AT].decode("utf-8", "replace")
    if ".version" not in head and _OPENCL.search(head):
        return "OpenCL C"
    return None


def examine_text(
    source: Source, target: Platform | None, *, strict: bool = False
) -> tuple[Contents, Diagnostics]:
    """Return what could be read of a vISA text, and what is wrong with it."""
    module, findings = _checked(source, target, strict=strict)
    kernels = tuple(LoadedKernel(unit) for unit in module.kernels)
    version = ".".join(str(number) for number in module.version)
    contents = Contents(
        source.name,
        TEXT,
        version,
        module.version,
        target,
        kernels,
        module.functions,
        variables=module.variables,
        externals=module.externals,
    )
    return contents, findings


def _examine_object(
    data: bytes, name: str, target: Platform | None
) -> tuple[Contents | None, Diagnostics]:
    try:
        device = _one_device(name, isa_platforms(data, name), target)
        module = read_isa(data, name, platform=device)
    except InputError as error:
        return None, error.diagnostics
    kernels = tuple(LoadedKernel(unit) for unit in module.kernels)
    version = ".".join(str(number) for number in module.version)
    contents = Contents(
        name,
        OBJECT,
        version,
        module.version,
        device,
        kernels,
        module.functions,
        native=native_code(data, name),
        variables=module.variables,
        externals=module.externals,
    )
    return contents, verify_module(module, device)


def check_symbols(contents: Contents) -> Diagnostics:
    """Return what is called and neither there nor declared to be external."""
    if not contents.needs_others:
        return check_links(contents)
    return undeclared_functions(contents.module)


def check_links(contents: Contents) -> Diagnostics:
    """Return which functions kernels and functions call that the program does not have."""
    findings = Diagnostics()
    units = [kernel.unit for kernel in contents.kernels]
    if any(_calls_functions(unit) for unit in units):
        units += contents.functions
    known = {function.name: None for function in contents.functions}
    symbols = contents.segments.symbols if contents.segments is not None else {}
    for unit in units:
        findings.extend(unresolved(unit, known, symbols))
    return findings


def _examine_zebin(
    data: bytes, name: str, target: Platform | None, edited: EditedText | None = None
) -> tuple[Contents | None, Diagnostics]:
    findings = Diagnostics()
    try:
        zebin = read_zebin(data, name)
    except InputError as error:
        return None, error.diagnostics
    device = _one_device(name, (zebin.platform,) if zebin.platform else (), target)
    units = None
    if edited is not None:
        units, found = _edited(edited, zebin, device)
        findings.extend(found)
        if findings.errors:
            return None, findings
    versions: list[tuple[int, int]] = []
    kernels: list[LoadedKernel] = []
    functions: list[Unit] = []
    for entry in (*zebin.kernels, *zebin.functions):
        module, unit, found = _unit_of(entry, name, device, units)
        findings.extend(found)
        if unit is None:
            continue
        versions.append(module.version)
        if isinstance(entry, ZeKernel):
            kernels.append(LoadedKernel(replace(unit, name=entry.name), entry))
        else:
            functions.append(unit)
    try:
        segments = Segments(zebin, [function.name for function in functions])
    except LinkError as error:
        findings.extend(error.diagnostics)
        return None, findings
    contents = Contents(
        name,
        ZEBIN,
        zebin.version,
        max(versions, default=COMMON_OBJECT),
        device,
        tuple(kernels),
        tuple(functions),
        segments,
        data,
        build_options=zebin.build_options,
        edited=edited,
    )
    return contents, findings


def _edited(
    edited: EditedText, zebin: Zebin, device: Platform | None
) -> tuple[EditedUnits | None, Diagnostics]:
    """Return the units of an edited text, and what is wrong with it."""
    module, findings = _checked(edited.source, device, compiled=True)
    if findings.errors:
        return None, findings
    return edited_units(module, edited.name, zebin), findings


def _unit_of(
    entry: ZeKernel | ZeFunction,
    name: str,
    device: Platform | None,
    edited: EditedUnits | None,
) -> tuple[Module, Unit | None, Diagnostics]:
    """Return the text of a zebin's kernel or function, its unit, and what is wrong with them."""
    kind = UnitKind.KERNEL if isinstance(entry, ZeKernel) else UnitKind.FUNCTION
    unit = None if edited is None else edited.of(entry)
    if edited is not None and unit is not None:
        module, findings = edited.module, Diagnostics()
    else:
        source = Source(f"{name}:{entry.name}", entry.visaasm)
        module, findings = _checked(source, device, compiled=True)
        unit = next((one for one in module.units if one.kind is kind), None)
    unit = None if unit is None else named_files(unit)
    if unit is None:
        findings.error("no-unit", f"{name}: the vISA text of {entry.name!r} has no {kind}")
        return module, unit, findings
    if isinstance(entry, ZeKernel) and device is not None and not findings.errors:
        findings.extend(audit(entry, unit, device))
    return module, unit, findings


def _one_device(name: str, found: Sequence[Platform], target: Platform | None) -> Platform | None:
    """Return the platform of a file, which is one of `found`.

    Raises:
        ArgumentError: the caller wants another one.
    """
    if target is not None and found and target not in found:
        listed = " or ".join(one.name for one in found)
        raise ArgumentError(
            f"platform: {name} is for {listed}, not for {target.name}; leave the device out, or "
            f"compile for {target.name}"
        )
    return target or (found[0] if found else None)


def _checked(
    source: Source, device: Platform | None, *, strict: bool = False, compiled: bool = False
) -> tuple[Module, Diagnostics]:
    """Read a vISA text and verify what was read, unless there was something unreadable."""
    module, findings = parse_text(source, device, strict=strict, compiled=compiled)
    if not findings.errors:
        findings.extend(verify_module(module, device))
    return module, findings


def _calls_functions(unit: Unit) -> bool:
    calls = (FunctionCall, FunctionAddress, IndirectFunctionCall)
    return any(isinstance(item, calls) for item in unit.body)
