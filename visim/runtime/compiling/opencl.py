"""OpenCL C and SPIR-V to zebin through Intel's offline compiler, ocloc.

Owns the command line that keeps vISA text, where included files are looked for, and the
translation of the compiler's log into diagnostics that point into the user's source. The
compiler runs in a process of its own (`visim.runtime.compiling.ocloc`).

Facts: runtime_abi sections 1, 4 and 6.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from visim.binary.zebin import is_zebin
from visim.diag import Diagnostic, Diagnostics, Severity, Source, Span
from visim.errors import ArgumentError, InputError, ToolMissing
from visim.runtime.compiling import ocloc
from visim.runtime.compiling.spirv import whole_module
from visim.runtime.given import check_text
from visim.target import Platform, platform, product

__all__ = ["TIMEOUT_S", "ToolMissing", "build_zebin", "find_ocloc", "ocloc_version"]

TIMEOUT_S = 600.0
_FILE = "visim.cl"
_MODULE = "visim.spv"
_OUTPUT = "visim"
_NAMES = (_OUTPUT, f"{_OUTPUT}.bin")
"""What compilers call the zebin: those until 2022, those since."""
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_DEBUG = re.compile(r"(?<!\S)-g(?!\S)")
_INCLUDE_OPTION = re.compile(r'(?<!\S)-I\s*(?:"([^"]*)"|(\S+))')
_INCLUDE = re.compile(r"^\s*#\s*include\b", re.MULTILINE)
_PLACED = re.compile(r"(.+?):(\d+):(\d+): (fatal error|error|warning|note): (.*)")
_UNPLACED = re.compile(r"(?:fatal )?error: (.*)")
_KERNEL = re.compile(r"in (?:kernel|function): '(?:.*' called by kernel: ')?(.*)'")
_NO_PARTS = "library has failed"  # libigdfcl or libigc is missing
_INTERNAL = "-ze-emit-zebin-visa-sections"
_STANDARD = re.compile(r"(?<!\S)-cl-std=(\S+)")
_CL3 = re.compile(r"(?<!\S)-cl-std=CL3\.0(?!\S)")
_IMAGES = "-cl-ext=+__opencl_c_images,+__opencl_c_read_write_images"
"""What the compiler's own header for OpenCL C 3.0 uses on all devices, and pvc is said to lack:
without it no program compiles."""
_WITH_VALUE = frozenset({"-D", "-I"})
_NO_FILE = "source.cl"
"""What a text is called that is in no file."""
_NO_FOLDER = Path("/visim.opencl.build")
"""Where debug information says it is: the name of a folder that says where it came from."""
_SEVERITY = {"warning": Severity.WARNING, "note": Severity.NOTE}
_CODES = {
    Severity.ERROR: "opencl-build",
    Severity.WARNING: "opencl-warning",
    Severity.NOTE: "opencl-note",
}


def build_zebin(
    source: str | bytes, *, device: str, options: str = "", name: str = _NO_FILE
) -> bytes:
    """Compile OpenCL C, or SPIR-V, and return a zebin that has vISA text.

    Args:
        source: The program's text, or the bytes of a SPIR-V module, whose specialization
            constants keep the values that they have in it.
        device: The device to build for, by its name or one of ocloc's for it, in any case.
        options: Options of clBuildProgram, separated by spaces. Paths in `-I` are relative to
            the current directory. SPIR-V has no use for those of texts (-D, -I, -cl-std).
        name: The program's name in messages. If it is the path of a file, included files are
            looked for beside it too, and not only in the current directory.

    Raises:
        ArgumentError: The device is unknown, source is neither a str nor SPIR-V, options are no
            str, or they hold a NUL character or two language standards.
        InputError: The build failed, with the compiler's findings; the module is not whole; or
            the compiler crashed or took longer than `TIMEOUT_S` seconds.
        ToolMissing: libocloc is not installed.
    """
    target, sold = platform(device), product(device).names[0]
    for what, given in (("options", options), ("name", name)):
        check_text(what, given)
    if not name:
        raise ArgumentError("name: expected a name for the program in messages, found ''")
    if _NO_TEXT.search(options):
        raise ArgumentError("options: they contain a NUL character or half of a surrogate pair")
    if isinstance(source, (bytes, bytearray, memoryview)):
        module = whole_module(bytes(source), name)
        return _compile(_Job(_MODULE, module, name, sold), options.strip(), target)
    check_text("source", source, "OpenCL C as a str, or a SPIR-V module as bytes")
    _refuse_two_standards(options)
    _refuse_unfinished(options)
    text = source.removeprefix("\ufeff")
    if found := _NO_TEXT.search(text):
        raise _no_text(Source(name, _NO_TEXT.sub("\ufffd", text)), found.start())
    spelled = _spelled(name, options)
    # The length of a text has to count a NUL behind it, else later builds read beyond it.
    data = f'#line 1 "{_escaped(spelled)}"\n{text}\0'.encode()
    job = _Job(_FILE, data, name, sold, text, spelled)
    return _compile(job, _with_includes(options, text, name), target)


@dataclass(frozen=True, slots=True)
class _Job:
    """What is compiled: the file that ocloc sees and its bytes, and what its log speaks of."""

    file: str
    data: bytes
    name: str
    device: str
    text: str = ""
    spelled: str = ""


def _compile(job: _Job, options: str, target: Platform) -> bytes:
    words = ["ocloc", "compile", "-q", "-file", job.file, "-device", job.device]
    words += ["-spirv_input"] if job.file == _MODULE else []
    words += ["--format", "zebin", "-output", _OUTPUT, "-output_no_suffix"]
    words += ["-internal_options", _internal_options(target, options)]
    if options:
        words += ["-options", options]
    answer = _invoke(words, job, target)
    if answer.code == 0:
        return _zebin(answer, job.name)
    if _NO_PARTS in answer.log:
        raise ToolMissing(f"{' '.join(answer.log.split())} {ocloc.INSTALL_HINT}")
    source = Source(job.name, job.text)
    raise InputError(Diagnostics(list(_Log(answer.log, source, job.spelled).findings())))


def _zebin(answer: ocloc.Answer, name: str) -> bytes:
    """Return the zebin among the outputs: each version of ocloc has its own names for them.

    Raises:
        InputError: there is none.
    """
    found = {key: data for key, data in answer.outputs.items() if is_zebin(data)}
    key = next((key for key in _NAMES if key in found), next(iter(found), None))
    if key is not None:
        return found[key]
    written = [f"{key} ({len(data)} bytes)" for key, data in answer.outputs.items()]
    what = ", ".join([*written, *answer.files]) or "nothing"
    log = f"; its log: {answer.log.strip()}" if answer.log.strip() else ""
    message = f"the OpenCL build of {name} gave no zebin: ocloc ended well and wrote {what}{log}"
    raise InputError(message, code="opencl-build")


def ocloc_version() -> str | None:
    """Return the compiler's version (such as `22.43.24595`), or None if it is not installed."""
    what = "OCL_DRIVER_VERSION"
    try:
        answer = ocloc.invoke(["ocloc", "query", what], None, TIMEOUT_S)
    except (ToolMissing, ocloc.CompilerDied, ocloc.CompilerStuck):
        return None
    return answer.outputs.get(what, b"").rstrip(b"\0").decode("ascii", "replace").strip() or None


def find_ocloc() -> Path | None:
    """Return the libocloc that builds use, or None if there is none that can be loaded."""
    try:
        return ocloc.library()
    except (ToolMissing, ocloc.CompilerStuck):
        return None


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


def _invoke(words: list[str], job: _Job, target: Platform) -> ocloc.Answer:
    name = job.name
    try:
        return ocloc.invoke(words, (job.file, job.data), TIMEOUT_S)
    except ocloc.CompilerDied as death:
        words_said = f"; it said: {death.words}" if death.words else ""
        message = f"the OpenCL compiler crashed ({death.how}) on {name} for {target.name}"
        help_text = _cure(death, job, target)
        raise InputError(message + words_said, code="opencl-crash", help=help_text) from None
    except ocloc.CompilerStuck:
        message = f"the OpenCL compiler did not finish {name} within {TIMEOUT_S:.0f} seconds"
        raise InputError(message, code="opencl-timeout") from None


def _cure(death: ocloc.CompilerDied, job: _Job, target: Platform) -> str | None:
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


def _no_text(source: Source, index: int) -> InputError:
    before = source.text[:index]
    place = Span(source, before.count("\n") + 1, index - before.rfind("\n"))
    message = "a NUL character or half a character is in the source"
    return InputError(message, place, code="opencl-source")


def _spelled(name: str, options: str) -> str:
    """Return the file name that the compiler is told, absolute where a debugger will need it.

    A text that is in no file would be looked for where somebody happens to be.
    """
    name = name if name.isprintable() else _NO_FILE
    if not _DEBUG.search(options):
        return name
    path = Path(name)
    return str(_NO_FOLDER / name if name == _NO_FILE and not path.is_file() else path.absolute())


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"')


def _with_includes(options: str, text: str, name: str) -> str:
    """Make the folders of included files absolute: the compiler runs in a folder of its own."""

    def absolute(match: re.Match[str]) -> str:
        return f'-I "{Path(match[1] or match[2]).absolute()}"'

    words = [_INCLUDE_OPTION.sub(absolute, options.strip())]
    if _INCLUDE.search(text):
        beside = (
            [Path(name).absolute().parent] if name.isprintable() and Path(name).is_file() else []
        )
        words += [f'-I "{folder}"' for folder in dict.fromkeys([*beside, Path.cwd()])]
    return " ".join(word for word in words if word)


class _Log:
    """Turns the log of a failed build into findings."""

    def __init__(self, log: str, source: Source, spelled: str) -> None:
        self._log = log
        self._sources: dict[str, Source | None] = {spelled: source}
        self._name = source.name

    def findings(self) -> Iterator[Diagnostic]:
        """Yield the compiler's findings; where it names none, one finding with the whole log."""
        found = [finding for line in self._log.splitlines() if (finding := self._placed(line))]
        found += self._unplaced()
        if any(finding.severity is Severity.ERROR for finding in found):
            yield from found
            return
        log = self._log.strip() or "it says nothing about why"
        message = f"the OpenCL build of {self._name} failed: {log}"
        yield Diagnostic("opencl-build", Severity.ERROR, message)
        yield from found

    def _placed(self, line: str) -> Diagnostic | None:
        match = _PLACED.fullmatch(line)
        if match is None:
            return None
        file, row, column, kind, message = match.groups()
        severity = _SEVERITY.get(kind, Severity.ERROR)
        code = _CODES[severity]
        source = self._source(file)
        if source is None:
            return Diagnostic(code, severity, f"{message} ({file}:{row}:{column})")
        span = Span(source, int(row), _characters(source.line(int(row)), int(column)))
        return Diagnostic(code, severity, message, span)

    def _unplaced(self) -> list[Diagnostic]:
        """Return what the code generator complains of; it knows kernels and no lines.

        Of inline vISA assembly it says what is wrong in a line of its own.
        """
        complaints: list[str] = []
        for line in self._log.splitlines():
            if match := _UNPLACED.fullmatch(line):
                complaints.append(match[1])
            elif complaints and (match := _KERNEL.fullmatch(line)):
                complaints[-1] += f" (kernel {match[1]!r})"
            elif complaints and complaints[-1].endswith(":"):
                complaints[-1] += f" {line.strip()}"
        telling = [text for text in complaints if text != "backend compiler failed build."]
        return [
            Diagnostic("opencl-build", Severity.ERROR, f"{self._name}: {text}")
            for text in dict.fromkeys(telling)
        ]

    def _source(self, file: str) -> Source | None:
        """Return the text of a file that the log names, or None where it cannot be read."""
        if file not in self._sources:
            try:
                text = (
                    Path(file).read_text("utf-8", "replace") if Path(file).is_absolute() else None
                )
            except (OSError, ValueError):
                text = None
            self._sources[file] = Source(file, text) if text is not None else None
        return self._sources[file]


def _characters(line: str, column: int) -> int:
    """Turn the compiler's column, which counts bytes, into one that counts characters."""
    before = line.encode()[: column - 1]
    return len(before.decode("utf-8", "ignore")) + 1
