"""Every declared instruction is what the specification numbers and tests cover."""

from __future__ import annotations

import pytest

from tests.model.opcodes import DATA, MODEL, numbers
from visim.diag import Source
from visim.isa import ISA, Op, Unexecutable, trace
from visim.isa.forms import ExternalCall
from visim.isa.registry import Category
from visim.sem.effects import Effect
from visim.target import platform
from visim.text import parse_text

DEVICE = "pvc"
FLOAT_FUNCTIONS = {"rsqrt", "exp", "log", "sin", "cos", "pow", "tanh", "sigm"}
MIXED = {"fcvt": {"V40": "hf", "V41": "ub"}, "srnd": {"V40": "hf", "V41": "f"}}
DECLARATIONS = "\n".join(
    [
        ".version 4.1",
        '.kernel "k"',
        *(f".decl V{i} v_type=G type={{V{i}}} num_elts=64 align=GRF" for i in range(32, 80)),
        *(f".decl P{i} v_type=P num_elts=32" for i in range(1, 4)),
        ".decl A0 v_type=A num_elts=16",
        ".decl S0 v_type=S num_elts=1",
        ".decl T6 v_type=T num_elts=1",
        ".decl T7 v_type=T num_elts=1",
    ]
)
# What no file in tests/files/run is named after, and where it is tested.
MESSAGES = {Category.MEMORY, Category.SYNCHRONIZATION, Category.SAMPLER}
ELSEWHERE = {
    "label": "goto",
    "subroutine": "call",
    "FILE": "marks",
    "LOC": "marks",
    "ret": "call",
    "fret": "fcall",
    "ifcall": "fcall",
    "faddr": "fcall",
    "dpasw": "dpas",
}
OPS = pytest.mark.parametrize("op", ISA.ops, ids=lambda op: op.mnemonic)


def effects_of(op: Op, example: str) -> tuple[Effect, ...]:
    """Return what the example of an instruction does."""
    kind = "f" if op.mnemonic in FLOAT_FUNCTIONS else "ud"
    kinds = {f"V{i}": kind for i in range(32, 80)} | MIXED.get(op.mnemonic, {})
    declarations = DECLARATIONS.format(**kinds)
    module, _ = parse_text(Source(op.mnemonic, f"{declarations}\n{example}\n"))
    (instruction,) = module.units[0].body
    assert instruction.op is op
    return trace(instruction, platform("dg2" if op.mnemonic == "dpasw" else DEVICE))


@OPS
def test_an_instruction_does_something_or_says_why_not(op: Op):
    if op.meaning is None:
        assert op.reason
        with pytest.raises(Unexecutable, match=op.reason):
            effects_of(op, op.examples[0])
        return
    assert op.reason is None
    if op.mnemonic.startswith("raw_send"):
        with pytest.raises(Unexecutable, match="shared function"):
            effects_of(op, op.examples[0])
        return
    marks = {ISA.label, ISA.subroutine, ISA.file, ISA.loc, ISA.by_mnemonic("lifetime")}
    assert all(bool(effects_of(op, example)) is (op not in marks) for example in op.examples)


@OPS
def test_an_instruction_has_the_number_of_the_object_format(op: Op):
    assert (op.code, op.sub) == numbers()[op.mnemonic]


@OPS
def test_no_two_instructions_of_one_number_differ_in_form(op: Op):
    if op.form is ExternalCall:
        return  # the kind of its label tells it from `call`
    twins = [other for other in ISA.ops if (other.code, other.sub) == (op.code, op.sub)]
    assert {other.form for other in twins} - {ExternalCall} == {op.form}


@OPS
def test_an_instruction_names_a_page_and_has_one_sentence(op: Op):
    assert op.page == op.page.upper()
    assert op.doc.endswith(".")


@pytest.mark.parametrize("mnemonic", DATA["ocloc"])
def test_what_the_offline_compiler_emits_is_declared(mnemonic: str):
    assert ISA.by_mnemonic(mnemonic) is not None


@OPS
def test_an_instruction_with_a_meaning_has_a_hand_worked_file(op: Op):
    if op.meaning is None or op.category in MESSAGES:
        return
    name = ELSEWHERE.get(op.mnemonic, op.mnemonic)
    file = MODEL.parent / "files" / "run" / f"{name}.visaasm"
    assert file.exists()
    if name == op.mnemonic:
        words = file.read_text(encoding="utf-8").replace(".", " ").split()
        assert op.mnemonic in words


def test_every_hand_worked_file_belongs_to_an_instruction():
    for file in (MODEL.parent / "files" / "run").glob("*.visaasm"):
        known = ISA.by_mnemonic(file.stem) or file.stem.startswith(("operands-", "marks"))
        assert known, file
