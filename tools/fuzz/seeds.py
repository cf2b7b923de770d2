"""The inputs that fuzzing starts from: small kept files, the corpus, and every example line."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

from tests.corpus.pairs import dumps
from tests.unit.binary.elf_files import Part, elf
from visim.binary.archive import MAGIC
from visim.binary.elf import ElfImage, SectionType
from visim.binary.isafile import write_isa
from visim.diag import Source
from visim.errors import InputError
from visim.isa import ISA, Instruction
from visim.isa.forms import LabelMark
from visim.module import Module
from visim.smith import Shape, smith
from visim.target import NEWEST_OBJECT, platform
from visim.text import parse_text, read_text

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "tests" / "robustness" / "seeds"
FINDINGS = ROOT / "tests" / "robustness" / "findings"

_LARGEST = 6_000
_FORM_VARIABLE = re.compile(r"\bV([A-Z]+)(\d)\b")
_HEAD = """\
.version 4.1
.kernel "k"
.decl V40 v_type=G type=ud num_elts=64 align=GRF
.decl V41 v_type=G type=f num_elts=64 align=GRF
.decl V42 v_type=G type=uq num_elts=64 align=GRF
.decl V43 v_type=G type=w num_elts=64 alias=<V40, 0>
.decl V44 v_type=G type=ud num_elts=64 align=GRF
.decl P1 v_type=P num_elts=16
.decl A0 v_type=A num_elts=8
.decl S0 v_type=S num_elts=1
.decl T6 v_type=T num_elts=1
.input V42 offset=64 size=8
.kernel_attr SimdSize=16
"""
_EXAMPLES_IN_ONE = 8
_PROGRAMS = 24


def seeds(target: str) -> tuple[bytes, ...]:
    """Return the inputs for one target: what is kept for it, and all that fits it."""
    kept = tuple(path.read_bytes() for path in sorted((KEPT / target).glob("*")))
    match target:
        case "text":
            return (*kept, *example_texts(), *newer_texts(), *_dumped_texts())
        case "isa":
            return (*kept, *example_objects(), *newer_objects(), *_dumped_objects())
        case "zebin":
            return (*kept, *_zebins())
        case "run":
            return (*kept, *valid_programs())
        case "archive":
            return (*kept, *archives(), *valid_programs()[:4])
        case "debug":
            return (*kept, *_debug_files(), *_dumped_texts()[:4])
        case "argument":
            return (*kept, *ARGUMENTS)
        case _:
            return (*kept, *valid_programs(), *example_texts(), *newer_texts(), *_zebins())


def dictionary() -> tuple[str, ...]:
    """Return the words of vISA text."""
    directives = (
        ".version 4.1",
        ".version 4.2",
        ".kernel",
        ".decl",
        ".input",
        ".kernel_attr",
        ".function",
    )
    properties = ("v_type=G", "type=ud", "num_elts=1", "align=GRF", "alias=<V40, 0>", "offset=")
    operands = ("(M1, 16)", "(M1_NM, 1)", "V40(0,0)<1>", "V41(0,0)<1;1,0>", "r[A0(0),0]<1>:d")
    return (*directives, *properties, *operands, *sorted(ISA.mnemonics()))


@cache
def example_texts() -> tuple[bytes, ...]:
    """Return kernels that have the example of each instruction, a few in each."""
    lines = [example for op in ISA.ops for example in op.examples]
    chunks = (lines[at : at + _EXAMPLES_IN_ONE] for at in range(0, len(lines), _EXAMPLES_IN_ONE))
    bodies = ("\n".join(chunk) for chunk in chunks)
    return tuple(f"{_HEAD}{body}\nret (M1, 1)\n".encode() for body in bodies)


@cache
def example_objects() -> tuple[bytes, ...]:
    """Return the same kernels as objects, those that can be one."""
    found: list[bytes] = []
    for text in example_texts():
        module, _findings = parse_text(Source("example", text.decode()))
        try:
            found.append(write_isa(module, platform=platform("pvc")))
        except InputError:
            continue
    return tuple(found)


@cache
def newer_texts() -> tuple[bytes, ...]:
    """Return kernels of version 4.2 with the forms that compilers write for it, a few in each."""
    forms = ROOT / "tests" / "unit" / "text"
    files = ("forms_2026.txt", "forms_of_igc.txt")
    lines = [line for name in files for line in (forms / name).read_text().splitlines()]
    # Neighbours in the alphabet are much alike; each kernel has some of all.
    step = -(-len(lines) // _EXAMPLES_IN_ONE)
    return tuple(_newer_text(lines[start::step]).encode() for start in range(step))


def _newer_text(lines: list[str]) -> str:
    names = sorted({found.groups() for line in lines for found in _FORM_VARIABLE.finditer(line)})
    declared = [
        f".decl V{kind}{number} v_type=G type={kind.lower()} num_elts=256 align=GRF"
        for kind, number in names
    ]
    head = _HEAD.replace(".version 4.1", ".version 4.2") + '.funcdecl "f"'
    address = ".decl A1 v_type=A num_elts=8"
    return "\n".join([head, *declared, address, *lines, "ret (M1, 1)", "L1:", "ret (M1, 1)", ""])


@cache
def newer_objects() -> tuple[bytes, ...]:
    """Return the same kernels as objects of version 4.2, with what these have a place for."""
    found: list[bytes] = []
    for text in newer_texts():
        module, _findings = parse_text(Source("forms", text.decode()))
        unit = module.units[0]
        ends = [item for item in unit.body if isinstance(item, LabelMark)]
        body = [item for item in unit.body if item in ends or _is_stored(module, [*ends, item])]
        found.append(_newer_object(module, body))
    return tuple(found)


def _is_stored(module: Module, body: list[Instruction]) -> bool:
    try:
        _newer_object(module, body)
    except InputError:
        return False
    return True


def _newer_object(module: Module, body: list[Instruction]) -> bytes:
    unit = replace(module.units[0], body=tuple(body))
    made = replace(module, units=(unit,))
    return write_isa(made, platform=platform("cri"), version=NEWEST_OBJECT)


@cache
def valid_programs() -> tuple[bytes, ...]:
    """Return random valid kernels, half of them as texts and half as objects."""
    texts = [smith(number, "pvc", Shape(statements=8)) for number in range(_PROGRAMS)]
    modules = [read_text(Source("smith", text)) for text in texts[::2]]
    objects = [write_isa(module, platform=platform("pvc")) for module in modules]
    return (*(text.encode() for text in texts[1::2]), *objects)


ARGUMENTS = (
    b"i32:7", b"f32:1.5,nan,-inf", b"hex:00 ff", b"zeros:u32:4x4", b"iota:i64:16", b"rand:f16:8",
    b"local:64", b"null", b"image:2d:rgba8:4x4:zeros", b"sampler:clamp,linear", b"npy:a.npy",
)  # fmt: skip
_CALLER = """\
.version 4.1
.extern_variable table type=ud num_elts=8 align=GRF
.kernel "k"
.funcdecl "f"
.decl T0_ v_type=G type=ud num_elts=8 alias=<table, 0>
mov (M1, 8) T0_(0,0)<1> 0x1:ud
fcall (M1, 8) f 1 1
ret (M1, 1)
"""
_LIBRARY = """\
.version 4.1
.global_variable table type=ud num_elts=8 align=GRF
.global_function "f"
.decl A v_type=G type=ud num_elts=8 alias=<V8, 0>
mov (M1, 8) A(0,0)<1> 0x2:ud
fret (M1, 8)
"""


def archives() -> tuple[bytes, ...]:
    """Return `ar` archives of two texts, with short, GNU's long and BSD's long names."""
    long = b"a_name_that_is_longer_than_sixteen.visaasm/\n"
    files = (_CALLER.encode(), _LIBRARY.encode())
    short = b"".join(member(f"m{n}.visaasm/", data) for n, data in enumerate(files))
    gnu = member("//", long) + member("/0", files[0]) + member("m.visaasm/", files[1])
    bsd = member("#1/20", b"long_name.visaasm\0\0\0" + files[0]) + member("f/", files[1])
    return tuple(MAGIC + body for body in (short, gnu, bsd))


def member(name: str, data: bytes) -> bytes:
    """Return a member of an `ar` archive; an odd one is filled up."""
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(data):<10}`\n".encode()
    return head + data + b"\n" * (len(data) % 2)


def _debug_files() -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in sorted((ROOT / "tests/corpus/debug").glob("*.dbg")))


def _dumped_texts() -> tuple[bytes, ...]:
    texts = sorted((dump.text.encode() for dump in dumps()), key=len)
    return tuple(text for text in texts if len(text) < _LARGEST)


def _dumped_objects() -> tuple[bytes, ...]:
    objects = sorted((dump.object for dump in dumps() if dump.object), key=len)
    return tuple(data for data in objects if len(data) < _LARGEST)


def _zebins() -> tuple[bytes, ...]:
    files = sorted((ROOT / "tests/corpus").glob("*.zebin"))
    return tuple(_without_code(path.read_bytes()) for path in files)


def _without_code(data: bytes) -> bytes:
    """Return a zebin without what visim does not read: it would only make mutants miss."""
    parts: list[Part] = []
    for section in ElfImage(data, "seed").sections[1:]:
        read = not section.name.startswith((".text", ".debug", ".gtpin", ".misc"))
        content = bytes(section.data) if read else b""
        size = section.size if section.type == SectionType.NOBITS else None
        parts.append(Part(section.name, section.type, content, section.link, section.info, size))
    return elf(*parts)
