"""What is reported of files as wholes, of several together, and of compiling; explanations only.

Readers, the linker and the front end of the compiler find these things. No example in text breaks
them by itself: they are about bytes, about several files, or about how a file is read.
"""

from __future__ import annotations

from visim.check.rule import Rule, Scope
from visim.diag import Severity

_FORMATS = "What visim reads"
_ELF = "ELF and zebin specification"
_LINKAGE = "vISA 4, Virtual ISA Header"
_COMPILING = "OpenCL C and SPIR-V through ocloc"


def _rule(code: str, passage: str, explanation: str, severity: Severity = Severity.ERROR) -> Rule:
    return Rule(code, severity, passage, explanation, "", "", Scope.FILE)


RULES = (
    _rule(
        "unknown-format",
        _FORMATS,
        "A file is vISA text in UTF-8, an .isa object or a zebin. OpenCL C and SPIR-V are\n"
        "compiled first, with `visim cl`.",
    ),
    _rule(
        "no-version",
        _LINKAGE,
        "A vISA text begins with `.version`, and so is not empty.",
    ),
    _rule(
        "too-many-errors",
        "docs/robustness.md",
        "Reading a text ends after 500 errors: what follows is mostly their consequence.",
    ),
    _rule(
        "extension",
        "docs/objects.md",
        "Strict reading (`--strict`, `strict=True`) takes what Intel's assembler takes;\n"
        "directives that only visim has are refused.",
    ),
    _rule(
        "input",
        "vISA 4, Virtual ISA Header, and the instruction's page",
        "An .isa object or a debug file is laid out as its format says: tables and instructions\n"
        "end within the file, numbers are known ones, names are text. Where it is not, the file\n"
        "is damaged, cut off, or of a version that visim does not know.",
    ),
    _rule(
        "file-too-large",
        "docs/robustness.md",
        "A zebin has no more bytes than visim accepts; the message says how many.",
    ),
    _rule(
        "bad-elf",
        _ELF,
        "A zebin is an ELF file whose sections, names, symbols and notes lie within it.",
    ),
    _rule(
        "not-a-zebin",
        _ELF,
        "An ELF file is one for Intel's GPUs. `ocloc compile --format zebin` makes such files;\n"
        "older patch-token binaries and those for processors are something else.",
    ),
    _rule(
        "unknown-product",
        "zebin specification, .note.intelgt.compat",
        "The notes of a zebin name its device by product, graphics version or core family, and\n"
        "visim knows that device.",
    ),
    _rule(
        "zebin-without-visa",
        _ELF,
        "A zebin carries the vISA text of its kernels, which is what visim executes: compile\n"
        "with `visim cl`, or with ocloc's `-internal_options -ze-emit-zebin-visa-sections`.",
    ),
    _rule(
        "bad-ze-info",
        "zebin specification, .ze_info",
        "The metadata of a zebin is YAML with the keys, kinds of values and limits that its\n"
        "specification gives.",
    ),
    _rule(
        "no-unit",
        "zebin specification, .visaasm sections",
        "The vISA text that belongs to a kernel or function of a zebin has that kernel or\n"
        "function.",
    ),
    _rule(
        "unknown-platform",
        _FORMATS,
        "It is known for which device a kernel is before it is launched. vISA texts, and\n"
        "objects without Gen code, do not say it: `--platform P`, or `platform=` of\n"
        "`visim.load`.",
    ),
    _rule(
        "unknown-function",
        _LINKAGE,
        "What a kernel calls, or takes the address of, is part of the program once it is\nlinked.",
    ),
    _rule(
        "undeclared-function",
        _LINKAGE,
        "A file that needs others declares the functions that it takes from them: `.funcdecl`.",
    ),
    _rule(
        "duplicate-definition",
        _LINKAGE,
        "Of several files one defines a name that all see; others may have static ones.",
    ),
    _rule(
        "declaration-mismatch",
        _LINKAGE,
        "A variable that a file declares external has the type, the number of elements and the\n"
        "alignment that the file which defines it gives.",
    ),
    _rule(
        "opencl-source",
        _COMPILING,
        "What is given to the compiler is a whole text without NUL characters, or a whole\n"
        "SPIR-V module: all its instructions and functions, a memory model, and an entry point\n"
        "unless it is a library.",
    ),
    _rule(
        "opencl-build",
        _COMPILING,
        "Intel's compiler translates the program for the device. The message is the compiler's\n"
        "own.",
    ),
    _rule(
        "opencl-warning",
        _COMPILING,
        "What Intel's compiler warns of, shown where the build has failed. The message is its\n"
        "own.",
        Severity.WARNING,
    ),
    _rule(
        "opencl-note",
        _COMPILING,
        "What Intel's compiler adds to an error or a warning. The message is its own.",
        Severity.NOTE,
    ),
    _rule(
        "opencl-crash",
        _COMPILING,
        "Intel's compiler ends by itself. It runs in a process of its own, so that its crash\n"
        "ends one build and nothing else; where a cause is known, the help says so.",
    ),
    _rule(
        "opencl-timeout",
        _COMPILING,
        "Intel's compiler is done within ten minutes.",
    ),
)
