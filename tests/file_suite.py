"""The drop-a-file tests: a vISA text that says itself what must come of it.

A file is one or more sections split by lines `// -----`, each a module of its own. Comments say
what is tested; a RUN line counts for all sections.

    // RUN: print                 the canonical text equals FILE.print.out (--bless rewrites it)
    // RUN: roundtrip text        printing and reading again changes nothing
    // RUN: verify [platform=P]   each `// error[code]` matches a finding of its line, no others
    // RUN: exec engines=all      each `// run:` line holds on every engine

`// error[code]@column` also says where in the line; `warning` and `note` are spelled likewise.

    // run: [mask=0xff] [simd=8] [platform=pvc] [cr0=0x4c0] a=[1, 2*7] -> b=[3, ?*7], P1=0xff  why

starts the section's first kernel afresh: one hardware thread, the variables on the left hold
what is said and all else zero. Afterwards the variables on the right must hold what is said. A
line of `//` and four or more blanks continues a run line. Lists have a value for each element:
integers, fractions (rounded to the type), bit patterns 0x..., nan, inf, `?` for anything; `v*n`
repeats, `...` stands for zeros on the left and for anything on the right. Predicates are masks.
`-> fault[code]` expects the thread to stop. The rest of the line, never empty, says where in the
specification the values come from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.file_grammar import (
    SEPARATOR,
    Assignment,
    Mismatch,
    RunLine,
    Section,
    WrongTestFile,
    sections,
)
from tests.model import floats
from visim import predefined
from visim.check.verifier import verify_module
from visim.diag import Source
from visim.engine import jit
from visim.engine.base import Exit, Machine, RunOptions, ThreadStart
from visim.engine.interp import Prepared
from visim.linker import link_kernel
from visim.linker.program import LinkedKernel
from visim.machine.memory import Memory
from visim.machine.surfaces import Surfaces
from visim.operands import General, PredicateVariable
from visim.target import platform
from visim.text import parse_text, show_module
from visim.types import BF, DF, HF, UD, DataType, F

BUDGET = 100_000
CR0 = 14
FORMATS = {HF: floats.F16, F: floats.F32, DF: floats.F64, BF: floats.BF16}
_RUN = re.compile(r"\s*// RUN: (.+?)\s*$")


# Storage of variables


@dataclass(frozen=True)
class Storage:
    """Where the register image keeps a variable; `type` None for a predicate's bytes."""

    offset: int
    type: DataType | None
    count: int

    @property
    def bytes(self) -> int:
        return self.count * (self.type.bytes if self.type else 1)


def storage(kernel: LinkedKernel, name: str) -> Storage:
    """Return where `name` is kept."""
    unit = kernel.units[0]
    body = unit.unit
    variables = (
        *body.generals, *body.predicates, *body.addresses, *body.surfaces, *body.samplers,
    )  # fmt: skip
    variable = next((v for v in variables if v.name == name), predefined.BY_NAME.get(name))
    match variable:
        case None:
            raise WrongTestFile(f"no variable is called {name!r}")
        case General() if variable.is_predefined:
            count = predefined.elements(variable, kernel.platform.grf_bytes)
            return Storage(kernel.offset(unit, variable), variable.type, count)
        case General():
            return Storage(kernel.offset(unit, variable), variable.type, variable.count)
        case PredicateVariable():
            return Storage(unit.others[name], None, variable.count)
        case _:
            return Storage(unit.others[name], UD, variable.count)


def pattern(word: str, kind: DataType) -> int:
    """Return the bits of a value as a test file writes it."""
    if word.startswith("0x"):
        bits = int(word, 16)
    elif kind.is_float:
        return _float_pattern(word, kind)
    else:
        value = int(word)
        low = -(1 << kind.bits - 1) if kind.is_signed else 0
        if not low <= value < low + (1 << kind.bits):
            raise WrongTestFile(f"{word} is no {kind!r}")
        return value & ((1 << kind.bits) - 1)
    if bits >> kind.bits:
        raise WrongTestFile(f"{word} is wider than {kind!r}")
    return bits


def _float_pattern(word: str, kind: DataType) -> int:
    form, negative = FORMATS[kind], word.startswith("-")
    match word.lstrip("-"):
        case "nan":
            size = form.nan
        case "inf":
            size = form.infinity
        case digits:
            size = floats.rounded(form, Fraction(digits), floats.NEAREST_EVEN)
    return floats.with_sign(form, size, negative)


def shown(bits: int, kind: DataType) -> str:
    """Return an element as a reader wants to see it: its value and its bits."""
    hexadecimal = f"0x{bits:0{kind.bits // 4}x}"
    if not kind.is_float:
        signed = kind.is_signed and bits >> (kind.bits - 1)
        return f"{bits - (1 << kind.bits) if signed else bits} ({hexadecimal})"
    form = FORMATS[kind]
    if floats.is_nan(form, bits):
        return f"nan ({hexadecimal})"
    sign = "-" if floats.is_negative(form, bits) else ""
    if floats.is_infinite(form, bits):
        return f"{sign}inf ({hexadecimal})"
    return f"{sign}{float(abs(floats.value(form, bits)))!r} ({hexadecimal})"


def elements(assignment: Assignment, place: Storage) -> list[str | None]:
    """Return a word for each element of the variable, None for what `...` stands for."""
    words: list[str | None] = list(assignment.values)
    if words[-1] == "...":
        words = [*words[:-1], *[None] * (place.count - len(words) + 1)]
    if len(words) != place.count:
        raise WrongTestFile(f"{assignment.name} has {place.count} elements, not {len(words)}")
    return words


def image_bytes(assignment: Assignment, place: Storage) -> bytes:
    """Return what a variable's storage holds at the start."""
    if place.type is None:
        mask = _mask_of(assignment)
        return bytes(mask >> channel & 1 for channel in range(place.count))
    size = place.type.bytes
    return b"".join(
        pattern(word or "0", place.type).to_bytes(size, "little")
        for word in elements(assignment, place)
    )


def _mask_of(assignment: Assignment) -> int:
    if assignment.mask is None:
        raise WrongTestFile(f"{assignment.name} is a predicate: write its bits as 0x...")
    return assignment.mask


def differences(assignment: Assignment, place: Storage, data: bytes) -> Iterator[str]:
    """Yield a line for each element that is not what was wanted."""
    if place.type is None:
        got = sum(bit << channel for channel, bit in enumerate(data))
        if got != _mask_of(assignment):
            yield f"  {assignment.name}: expected {_mask_of(assignment):#x}, found {got:#x}"
        return
    size = place.type.bytes
    for index, word in enumerate(elements(assignment, place)):
        if word in {None, "?"}:
            continue
        wanted = pattern(word or "", place.type)
        got = int.from_bytes(data[index * size : (index + 1) * size], "little")
        if not same(wanted, got, place.type):
            name = f"{assignment.name}[{index}]"
            expected = shown(wanted, place.type)
            yield f"  {name}: expected {expected}, found {shown(got, place.type)}"


def same(wanted: int, got: int, kind: DataType) -> bool:
    """Return whether two elements are the same; any not-a-number is any other."""
    if kind.is_float and floats.is_nan(FORMATS[kind], wanted):
        return floats.is_nan(FORMATS[kind], got)
    return wanted == got


# Running


class OneThread:
    """A launch of one group of one hardware thread."""

    group_count = 1
    slm_bytes = 0

    def __init__(self, start: ThreadStart) -> None:
        self._start = start
        self.kept: object = None

    def threads(self, group: int) -> int:
        return 1

    def group_id(self, group: int) -> tuple[int, int, int]:
        return (group, 0, 0)

    def start(self, group: int, thread: int) -> ThreadStart:
        return self._start


def _interpreter(executable: Any) -> bytes:
    return executable.context.image.tobytes()


def _jit(executable: Any) -> bytes:
    return executable.last.records[0].image.tobytes()


def _prepare_for_jit(kernel: LinkedKernel) -> Any:
    return jit.Prepared(kernel, saving=True)


ENGINES: dict[str, tuple[Callable[[LinkedKernel], Any], Callable[[Any], bytes]]] = {
    "interpreter": (Prepared, _interpreter),
    "jit": (_prepare_for_jit, _jit),
}
"""For each engine how to prepare a kernel, and how to see the register image after a run."""


def check_run(section: Section, run: RunLine, engine: str) -> None:
    """Run a section's kernel as `run` says and compare."""
    kernel, executable = _prepared(section, run, engine)
    registers = [
        (place.offset, image_bytes(assignment, place))
        for assignment in run.given
        for place in [storage(kernel, assignment.name)]
    ]
    if "cr0" in run.settings:
        cr0 = int(run.settings["cr0"], 0).to_bytes(4, "little")
        registers.append((kernel.predefined[CR0], cr0))
    mask = int(run.settings.get("mask", hex((1 << kernel.simd_size) - 1)), 0)
    start = ThreadStart(tuple(registers), mask)
    machine = Machine(Memory(), Surfaces())
    ended = executable.run([0], OneThread(start), machine, RunOptions(budget=BUDGET))
    lines = list(_wrong(run, ended, kernel, ENGINES[engine][1](executable)))
    if lines:
        place = f"{section.source.name}:{run.line}"
        raise Mismatch("\n".join([f"{place}: on {engine}", *lines, f"  ({run.citation})"]))


_COMPILED: list[tuple[Section, tuple[str, str, str]]] = []
_MOST_COMPILED = 4
"""How many sections keep their native code, which takes much memory."""


def _prepared(section: Section, run: RunLine, engine: str) -> tuple[LinkedKernel, Any]:
    key = (engine, run.settings.get("platform", "skl"), run.settings.get("simd", ""))
    if key not in section.prepared:
        module = section.module()
        kernel = link_kernel(module, module.kernels[0], platform(key[1]))
        if key[2]:
            kernel = replace(kernel, simd_size=int(key[2], 0))
        section.prepared[key] = kernel, ENGINES[engine][0](kernel)
        if engine == "jit":
            _COMPILED.append((section, key))
            for old, other in _COMPILED[:-_MOST_COMPILED]:
                del old.prepared[other]
            del _COMPILED[:-_MOST_COMPILED]
    return section.prepared[key]


def _wrong(run: RunLine, ended: Exit, kernel: LinkedKernel, image: bytes) -> Iterator[str]:
    code = ended.fault.code if ended.fault else None
    if code != run.fault:
        yield ended.fault.render() if ended.fault else f"  expected fault[{run.fault}], found none"
        return
    for assignment in run.wanted:
        place = storage(kernel, assignment.name)
        data = image[place.offset : place.offset + place.bytes]
        yield from differences(assignment, place, data)


# Verifying, printing, reading again


def check_findings(section: Section, device: str | None) -> None:
    """Compare the findings about a section with what its lines announce."""
    module, findings = section.read()
    if not findings.errors:
        findings.extend(verify_module(module, platform(device) if device else None))
    wanted = list(section.expectations)
    lines: list[str] = []
    for finding in findings:
        match = next(
            (
                e
                for e in wanted
                if (e.line, e.severity, e.code) == (finding.line, finding.severity, finding.code)
                and e.column in {None, finding.column}
            ),
            None,
        )
        if match is None:
            lines.append(f"not announced:\n{finding.render()}")
        else:
            wanted.remove(match)
    for e in wanted:
        column = "" if e.column is None else f" at column {e.column}"
        lines.append(f"{section.source.name}:{e.line}: no {e.severity}[{e.code}]{column}")
    if lines:
        raise Mismatch("\n".join(lines))


def check_roundtrip(section: Section) -> None:
    """Print a section's module, read that, and compare."""
    text = show_module(section.module())
    again, findings = parse_text(Source(f"{section.source.name} (printed)", text))
    if findings.errors:
        raise Mismatch(findings.render())
    if show_module(again) != text:
        raise Mismatch(_diff(text, show_module(again), section.source.name))


def check_print(path: Path, all_sections: list[Section], bless: bool) -> None:
    """Compare the canonical text of all sections without errors with the expectation."""
    printed = f"{SEPARATOR}\n".join(
        show_module(section.module()) for section in all_sections if not section.expectations
    )
    expectation = path.with_name(f"{path.name}.print.out")
    if bless:
        expectation.write_text(printed, encoding="utf-8")
        return
    if not expectation.exists():
        raise Mismatch(f"{expectation} is missing; `pytest --bless` writes it, then look at it")
    wanted = expectation.read_text(encoding="utf-8")
    if printed != wanted:
        raise Mismatch(_diff(wanted, printed, str(expectation)))


def _diff(wanted: str, got: str, name: str) -> str:
    for number, pair in enumerate(
        zip([*wanted.split("\n"), "(end)"], [*got.split("\n"), "(end)"], strict=False), 1
    ):
        if pair[0] != pair[1]:
            return f"{name}:{number}:\n  expected {pair[0]!r}\n  found    {pair[1]!r}"
    return f"{name}: the lengths differ"


# Collection


class TestFile(pytest.File):
    """One file of `tests/files`."""

    __test__ = False

    def collect(self) -> Iterator[pytest.Item]:
        try:
            all_sections = list(sections(self.path))
        except WrongTestFile as wrong:
            raise self.CollectError(f"{self.path}: {wrong}") from None
        commands = [
            found[1]
            for line in self.path.read_text(encoding="utf-8").split("\n")
            if (found := _RUN.match(line))
        ]
        if not commands:
            raise self.CollectError(f"{self.path}: has no '// RUN:' line")
        for command in commands:
            yield from self._command(command, all_sections)
        if any(s.runs for s in all_sections) and not any(c.startswith("exec") for c in commands):
            raise self.CollectError(f"{self.path}: has '// run:' lines but no '// RUN: exec'")

    def _command(self, command: str, all_sections: list[Section]) -> Iterator[pytest.Item]:
        clean = [section for section in all_sections if not section.expectations]
        match command.split():
            case ["print"]:
                bless = self.config.getoption("--bless")
                yield self._item("print", 1, check_print, self.path, all_sections, bless)
            case ["verify", *given]:
                device = self._device(given)
                for number, section in enumerate(all_sections, 1):
                    yield self._item(f"verify-{number}", 1, check_findings, section, device)
            case ["roundtrip", "text"]:
                for number, section in enumerate(clean, 1):
                    yield self._item(f"roundtrip-text-{number}", 1, check_roundtrip, section)
            case ["exec", engines] if engines.startswith("engines="):
                for engine in self._engines(engines.removeprefix("engines=")):
                    for section in clean:
                        for run in section.runs:
                            name = f"run-{run.line}-{engine}"
                            yield self._item(name, run.line, check_run, section, run, engine)
            case _:
                raise self.CollectError(f"{self.path}: unknown command 'RUN: {command}'")

    def _device(self, given: list[str]) -> str | None:
        if not given:
            return None
        if len(given) > 1 or not given[0].startswith("platform="):
            raise self.CollectError(f"{self.path}: expected 'RUN: verify platform=P'")
        return given[0].removeprefix("platform=")

    def _engines(self, named: str) -> list[str]:
        asked = self.config.getoption("--engines").split(",")
        wanted = list(ENGINES) if named == "all" else named.split(",")
        unknown = {*asked, *wanted} - set(ENGINES)
        if unknown:
            raise self.CollectError(f"{self.path}: unknown engines {sorted(unknown)}")
        return [engine for engine in wanted if engine in asked]

    def _item(self, name: str, line: int, check: Callable[..., None], *given: Any) -> pytest.Item:
        return TestItem.from_parent(self, name=name, line=line, check=check, given=given)


class TestItem(pytest.Item):
    """One statement of a test file."""

    __test__ = False

    def __init__(self, *, line: int, check: Callable[..., None], given: tuple[Any, ...], **kw: Any):
        super().__init__(**kw)
        self.line, self.check, self.given = line, check, given

    def runtest(self) -> None:
        self.check(*self.given)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, Mismatch):
            return str(excinfo.value)
        if isinstance(excinfo.value, WrongTestFile):
            return f"{self.path}:{self.line}: {excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.line - 1, f"{self.path.name}: {self.name}"
