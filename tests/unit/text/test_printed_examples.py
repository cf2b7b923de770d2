"""Every example line that the specification prints is read, and survives text and object.

The lines are in tests/model/spec_facts.json; tests/model/spec_errors.json lists those that no
assembler can read, each with the reason, and docs/spec-notes.md says the same to readers.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.model.opcodes import MODEL
from visim.binary.isafile import read_isa, write_isa
from visim.diag import Source
from visim.errors import InputError
from visim.isa.forms import SubroutineMark
from visim.module import Module
from visim.target import platform
from visim.text import read_text, show_module

FACTS: dict[str, Any] = json.loads((MODEL / "spec_facts.json").read_text(encoding="utf-8"))
WRONG: dict[str, str] = json.loads((MODEL / "spec_errors.json").read_text(encoding="utf-8"))[
    "examples"
]
LINES = [example["text"] for example in FACTS["examples"]]
PVC = platform("pvc")
#: What the lines use without declaring it. V1 to V14 are predefined variables of newer versions.
GENERALS = (
    *("VVAL", "VOFF", "VOLD", "VADDEND", "VCMP", "VIFEQ", "BSSO", "VDATA", "VSURF_BASE"),
    *("VSURF_W", "V_SURF_H", "SURF_P", "OFF_X", "OFF_Y", "rtvSurfaceStatePointer64"),
    *("UD42", "F40", "F41", "F42", "F43", "V55", "V58"),
    *("V0032", "V0033", "V0034", "V0035", "V0038", "V0048", "V0051"),
)
LABELS = ("ELSE1", "ENDIF1", "ENDIF2", "LOOP_START", "LOOP_END")
HEAD = [
    *(f".decl {name} v_type=G type=ud num_elts=512 align=GRF" for name in GENERALS),
    *(f".decl A{number} v_type=A num_elts=4" for number in range(12)),
    *(f".decl P{number} v_type=P num_elts=32" for number in range(1, 65)),
    *(f".decl S{number} v_type=S num_elts=1" for number in range(10)),
    ".decl SRFC v_type=T num_elts=77",
]
#: Where the lines that are no instructions stand.
PLACES = {
    "(M1, 4)": "mov {} V55(0,0)<1> V58(0,0)<1;1,0>",
    "!P64.all": "({}) mov (M1, 8) V55(0,0)<1> V58(0,0)<1;1,0>",
    "V58(0,0)<8;8,1>": "mov (M1, 8) V55(0,0)<1> {}",
    "A3(0)<1>": "addr_add (M1, 1) A1(0)<1> {} 0x10:uw",
    "r[A3(0),448]<8;8,1>:ud": "mov (M1, 8) V55(0,0)<1> {}",
    "P17": "mov (M1_NM, 1) V55(0,0)<1> {}",
    "0x100:uw": "addr_add (M1, 1) A1(0)<1> A3(0)<1> {}",
    "&V21+0": "addr_add (M1, 1) A1(0)<1> {} 0x10:uw",
    "V16.0": "lsc_store.ugm (M1, 32) flat[V55]:a64 {}:d32",
    "S9": "sample.R (8) {} SRFC V55.0 V55.0 V55.0 V58.0",
    "T2": "oword_ld (4) {} 0:ud V55.0",
    "V55(0,0)<1>": "mov (M1, 8) {} V58(0,0)<1;1,0>",
    "A11(0)": "addr_add (M1, 1) {} A3(0)<1> 0x10:uw",
    "P8": "cmp.eq (M1, 8) {} V58(0,0)<1;1,0> 0x0:ud",
    "r[A11(0),64]<1>:ud": "mov (M1, 8) {} V58(0,0)<1;1,0>",
}


def module_of(line: str) -> Module:
    """Return the kernel that `line` makes together with what it needs."""
    declared = {word.split()[1] for word in [line] if word.startswith(".decl")}
    head = [entry for entry in HEAD if entry.split()[1] not in declared]
    if line.startswith(".version"):
        return read_text(Source("line", f'{line}\n.kernel "k"\n'))
    start = [".version 4.1", *([] if line.startswith(".kernel ") else ['.kernel "k"']), ""]
    body = PLACES.get(line, "{}").format(line)
    marks = [f"{label}:" for label in LABELS if f"{label}:" != line]
    parts = [line, *head] if line.startswith(".kernel ") else [*head, body]
    return read_text(Source("line", "\n".join([*start, *parts, *marks]) + "\n"))


def instructions(module: Module) -> list[str]:
    """Return the body without marks of subroutines, which get numbers in objects."""
    body = module.units[0].body
    return [entry.show() for entry in body if not isinstance(entry, SubroutineMark)]


@pytest.mark.parametrize("line", [line for line in LINES if line not in WRONG])
def test_a_printed_example_is_assembled_and_disassembled(line: str):
    module = module_of(line)
    text = show_module(module)
    again = read_text(Source("again", text))
    assert show_module(again) == text
    read = read_isa(write_isa(module, platform=PVC), "k.isa", platform=PVC)
    assert instructions(read) == instructions(again)


@pytest.mark.parametrize("line", WRONG)
def test_a_printed_example_that_is_wrong_is_refused(line: str):
    assert line in LINES
    with pytest.raises(InputError):
        module_of(line)
