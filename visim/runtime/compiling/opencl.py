"""OpenCL C and SPIR-V to zebin through Intel's offline compiler, ocloc.

Owns the command line that keeps vISA text and the lines of sources, and the errors of a build that
fails. Which compiler is taken is said in `visim.runtime.compiling.compilers`; it runs in a process
of its own (`visim.runtime.compiling.ocloc`).

Facts: docs/kernel-abi.md, The file; docs/toolchain.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from visim.binary.notes import with_notes
from visim.binary.zebin import is_zebin
from visim.diag import Diagnostic, Diagnostics, Source
from visim.errors import ArgumentError, InputError, ToolMissing
from visim.runtime.compiling import ocloc
from visim.runtime.compiling.compilers import Compiler, compiler_for
from visim.runtime.compiling.log import Log
from visim.runtime.compiling.sources import NO_FILE, Part, Sources, quoted, read_sources
from visim.runtime.compiling.spirv import whole_module
from visim.runtime.compiling.worker import INSTALL_HINT, Answer, CompilerDied, CompilerStuck
from visim.runtime.given import check_text
from visim.target import Platform, platform, product
from visim.toolchain.installed import version_order

__all__ = ["TIMEOUT_S", "Built", "ToolMissing", "build_zebin"]

TIMEOUT_S = 600.0
_FILE = "visim.cl"
_MODULE = "visim.spv"
_OUTPUT = "visim"
_NAMES = (_OUTPUT, f"{_OUTPUT}.bin")
"""What compilers call the zebin: those until 2022, those since."""
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_LINES = "-gline-tables-only"
"""Line information that leaves the code as it is: `-g` changes it, and ocloc 22.43 was seen to
read registers in it that nothing writes."""
_VARIABLES = "-g"
_FIRST_WITH_VARIABLES = (23,)
_HAS_VARIABLES = re.compile(r"(?<!\S)-g(?!\S)")
_HAS_LINES = re.compile(r"(?<!\S)-g(line-tables-only)?(?!\S)")
_INCLUDE_OPTION = re.compile(r'(?<!\S)-I\s*(?:"([^"]*)"|(\S+))')
_NO_PARTS = "library has failed"  # libigdfcl or libigc is missing
_BY_TABLE = ("-stateful_address_mode", "bindful")
_INTERNAL = "-ze-emit-zebin-visa-sections"
_STANDARD = re.compile(r"(?<!\S)-cl-std=(\S+)")
_CL3 = re.compile(r"(?<!\S)-cl-std=CL3\.0(?!\S)")
_IMAGES = "-cl-ext=+__opencl_c_images,+__opencl_c_read_write_images"
"""What the compiler's own header for OpenCL C 3.0 uses on all devices, and pvc is said to lack:
without it no program compiles."""
_WITH_VALUE = frozenset({"-D", "-I"})


@dataclass(frozen=True, slots=True)
class Built:
    """What a build gives: the zebin, the program's name, the compiler, and what it warned of."""

    zebin: bytes
    name: str
    compiler: Compiler
    warnings: tuple[Diagnostic, ...] = ()
    sources: Mapping[str, Source] = field(default_factory=dict[str, Source])
    """The texts by the names that the zebin's line information has for them."""


@dataclass(frozen=True, slots=True)
class _Job:
    """What is compiled: what ocloc sees, and what its log speaks of."""

    file: str
    data: bytes
    name: str
    device: str
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    sources: Mapping[str, Source] = field(default_factory=dict[str, Source])


def build_zebin(
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
    surfaces_by_table: bool = False,
) -> Built:
    """Compile OpenCL C, or SPIR-V, to a zebin that has vISA text.

    Args:
        source: The text of a program, the path of its file, several of these, which are one
            translation unit in this order, or the bytes of a SPIR-V module, whose specialization
            constants keep the values that they have in it.
        device: The device to build for, by its name or one of ocloc's for it, in any case.
        options: Options of clBuildProgram, separated by spaces. Paths in `-I` are relative to
            the current directory. SPIR-V has no use for those of texts (-D, -I, -cl-std).
        name: What messages call a text. If it is the path of a file, included files are looked
            for beside it too, and not only in the current directory.
        headers: The texts of included files by the names that `#include` has.
        include: Folders in which included files are looked for.
        lines: Whether instructions get the lines of the source that they come from.
        variables: Whether the program also has the names, types and places of variables (`-g`);
            a compiler of 2022 gives lines only, since its code with `-g` may be wrong.
        compiler: The path of a libocloc, the name of an installed toolchain, `system`, or a
            version; None takes the newest that knows the device.
        surfaces_by_table: Whether images and samplers are found by a binding table on devices
            whose code would find them by their states' addresses.

    Raises:
        ArgumentError: The device is unknown, source is neither text nor SPIR-V, options are no
            str, or they hold a NUL character or two language standards.
        InputError: The build failed, with the compiler's findings; the module is not whole; or
            the compiler crashed or took longer than `TIMEOUT_S` seconds.
        FileNotFoundError: A source is not there.
        ToolMissing: There is no compiler for the device.
    """
    target, sold = platform(device), product(device).names[0]
    for what, given in (("options", options), ("name", name)):
        check_text(what, given)
    if not name:
        raise ArgumentError("name: expected a name for the program in messages, found ''")
    if _NO_TEXT.search(options):
        raise ArgumentError("options: they contain a NUL character or half of a surrogate pair")
    if isinstance(source, (bytes, bytearray, memoryview)):
        if headers or include:
            raise ArgumentError("headers: a SPIR-V module includes no files")
        job = _Job(_MODULE, whole_module(bytes(source), name), name, sold)
        words = options.strip()
    else:
        sources = read_sources(source, name, headers, include)
        _refuse_two_standards(options)
        _refuse_unfinished(options)
        unit, files = sources.unit(), sources.files()
        job = _Job(_FILE, unit, sources.name, sold, files, sources.by_spelling())
        words = _with_includes(options, sources)
    chosen = compiler_for(sold, compiler)
    if (lines or variables) and not _HAS_LINES.search(words):
        is_safe = version_order(chosen.version) >= _FIRST_WITH_VARIABLES
        words = f"{words} {_VARIABLES if variables and is_safe else _LINES}".strip()
    more = _BY_TABLE if surfaces_by_table else ()
    return _compile(job, words, target, chosen, more)


def _compile(
    job: _Job, options: str, target: Platform, compiler: Compiler, more: Sequence[str]
) -> Built:
    words = ["ocloc", "compile", "-file", job.file, "-device", job.device, *more]
    words += ["-spirv_input"] if job.file == _MODULE else []
    words += ["--format", "zebin", "-output", _OUTPUT, "-output_no_suffix"]
    words += ["-internal_options", _internal_options(target, options)]
    if options:
        words += ["-options", options]
    answer = _invoke(words, job, target, compiler, notes=_HAS_VARIABLES.search(options) is not None)
    log = Log(answer.log, job.name, job.sources)
    if answer.code == 0:
        return Built(
            _zebin(answer, job.name), job.name, compiler, tuple(log.warnings()), job.sources
        )
    if _NO_PARTS in answer.log:
        raise ToolMissing(f"{' '.join(answer.log.split())} {INSTALL_HINT}")
    raise InputError(Diagnostics(list(log.findings())))


def _zebin(answer: Answer, name: str) -> bytes:
    """Return the zebin among the outputs: each version of ocloc has its own names for them.

    Raises:
        InputError: there is none.
    """
    found = {key: data for key, data in answer.outputs.items() if is_zebin(data)}
    key = next((key for key in _NAMES if key in found), next(iter(found), None))
    if key is not None:
        return with_notes(found[key], answer.outputs.values())
    written = [f"{key} ({len(data)} bytes)" for key, data in answer.outputs.items()]
    what = ", ".join([*written, *answer.files]) or "nothing"
    log = f"; its log: {answer.log.strip()}" if answer.log.strip() else ""
    message = f"the OpenCL build of {name} gave no zebin: ocloc ended well and wrote {what}{log}"
    raise InputError(message, code="opencl-build")


def _refuse_two_standards(options: str) -> None:
    """Raise ArgumentError for two language standards: the compiler reads its headers by both."""
    stated = list(dict.fromkeys(_STANDARD.findall(options)))
    if len(stated) > 1:
        raise ArgumentError(f"options: -cl-std is given as {' and as '.join(stated)}; leave one")


def _refuse_unfinished(options: str) -> None:
    """Raise ArgumentError for an option that lacks what it is for: the compiler takes its own."""
    last = options.split()[-1:]
    if last and last[0] in _WITH_VALUE:
        raise ArgumentError(f"options: nothing follows {last[0]}")


def _internal_options(target: Platform, options: str) -> str:
    lacks_images = not target.has_samplers and _CL3.search(options)
    return f"{_INTERNAL} {_IMAGES}" if lacks_images else _INTERNAL


def _invoke(
    words: list[str], job: _Job, target: Platform, compiler: Compiler, *, notes: bool
) -> Answer:
    name = job.name
    try:
        source = (job.file, job.data)
        return ocloc.invoke(compiler.library, words, source, TIMEOUT_S, job.files, notes=notes)
    except CompilerDied as death:
        words_said = f"; it said: {death.words}" if death.words else ""
        message = f"the OpenCL compiler crashed ({death.how}) on {name} for {target.name}"
        help_text = _cure(death, job, target)
        raise InputError(message + words_said, code="opencl-crash", help=help_text) from None
    except CompilerStuck:
        message = f"the OpenCL compiler did not finish {name} within {TIMEOUT_S:.0f} seconds"
        raise InputError(message, code="opencl-timeout") from None


def _cure(death: CompilerDied, job: _Job, target: Platform) -> str | None:
    """Return what helps against the crashes that are known."""
    if job.file == _MODULE:
        return (
            "older compilers crash like this on SPIR-V of newer ones: at extensions that they do "
            "not know, and where one element of a built-in variable is loaded through an access "
            "chain; have it made for SPIR-V 1.2 without extensions, or take a newer libocloc"
        )
    if not death.by_signal:
        return (
            "the compiler gives up like this at built-ins that it declares and does not have, such "
            "as bitfield_insert() of cl_khr_extended_bit_ops: write them out"
        )
    if target.has_lsc:
        return None
    return (
        "before dg2, the compiler crashes on get_global_id() and its like in functions that "
        "are not inlined: inline them, or build for dg2 or pvc"
    )


def _with_includes(options: str, sources: Sources) -> str:
    """Make the folders of included files absolute: the compiler runs in a folder of its own."""

    def absolute(match: re.Match[str]) -> str:
        return f'-I "{Path(match[1] or match[2]).absolute()}"'

    words = [_INCLUDE_OPTION.sub(absolute, options.strip())]
    words += quoted(sources.include_folders())
    return " ".join(word for word in words if word)
