"""Each form of an instruction that Intel's compiler of 2026 writes, and wrong ones beside it.

`forms_2026.txt` has a line for each form that it wrote for ten devices, with other names
(tests/corpus/PROVENANCE.md); `forms_of_igc.txt` has those that are only in its grammar or printer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from visim.binary.isafile import read_isa, write_isa
from visim.check import verify_module
from visim.diag import Source, Span
from visim.errors import InputError
from visim.target import platform
from visim.text.parser import parse_text

FILES = ("forms_2026.txt", "forms_of_igc.txt")
LINES = [line for name in FILES for line in Path(__file__).with_name(name).read_text().splitlines()]
VERSION = (4, 2)
_BYTES = {"ud": 4, "d": 4, "uw": 2, "w": 2, "ub": 1, "b": 1, "uq": 8, "q": 8} | {
    "f": 4, "hf": 2, "df": 8, "bf": 2
}  # fmt: skip
_HEAD = re.compile(r"((?:\([^)]*\) )?\S+(?: \((?:M\d(?:_NM)?, )?\d+\))?)(.*)")
_GAP = re.compile(r" +(?![^\[(]*[\])])")
_CALL = re.compile(r"\bcall ")
#: What follows is a list of parameters, of which trailing ones may be left out.
_LISTED = re.compile(r"(.*\b(?:sample\w*|load_lz|load_l)\b.* %null\.0)( .*)")
#: Three cache controls, options, pointers to states, constants added to a block's place.
_TEXT_ONLY = re.compile(
    r"\.\w\w\.\w\w\.\w\w[ .]|\.ov|\.msaa|\.reset"
    r"|uw \(?VU?Q\d|resinfo\S+ \S+ \S+  VUQ|block2d.*[+-]\d"
)
CRI = platform("cri")
FORMS = pytest.mark.parametrize("line", LINES)


def _declarations() -> Iterator[str]:
    for name, size in _BYTES.items():
        for number in range(1, 9):
            count = 2048 // size
            yield f".decl V{name.upper()}{number} v_type=G type={name} num_elts={count} align=GRF"
    yield from (f".decl {one} v_type=P num_elts=32" for one in ("P1", "P2"))
    yield from (f".decl {one} v_type=A num_elts=16" for one in ("A0", "A1"))
    yield ".decl S0 v_type=S num_elts=1 v_name=S0"
    yield ".decl T6 v_type=T num_elts=1 v_name=T6"


TEXT = "\n".join(['.version 4.2\n.kernel "k"\n.funcdecl "f"', *_declarations(), ""])


def read(line: str):
    """Return the module that has one line, and what is wrong with it."""
    end = '\nret (M1, 1)\n.function "L1"\nL1:\n' if _CALL.search(line) else "\nL1:\n"
    return parse_text(Source("k", f"{TEXT}{line}{end}ret (M1, 1)\n"))


def findings_of(line: str):
    """Return what one line is read as, and the errors about it."""
    module, findings = read(line)
    if not findings.errors:
        findings.extend(verify_module(module, None))
    return module.units[0].body[0], list(findings.errors)


def is_refused(line: str) -> bool:
    """Return whether a line is an error; all errors about it say where in it they are."""
    _, errors = findings_of(line)
    for error in errors:
        assert isinstance(error.origin, Span)
        assert error.line == TEXT.count("\n") + 1
        assert 1 <= error.origin.column <= len(line) + 1
    return bool(errors)


def operands_of(line: str) -> tuple[str, list[str]]:
    """Return what a line begins with, and its operands."""
    match = _HEAD.fullmatch(line)
    assert match is not None
    return match.group(1), [part for part in _GAP.split(match.group(2)) if part]


@FORMS
def test_a_form_is_read_and_printed_as_it_was_written(line: str):
    item, errors = findings_of(line)
    assert not errors
    assert item.show(VERSION) == line


@FORMS
def test_a_form_comes_back_from_an_object_or_has_no_place_there(line: str):
    module, _ = read(line)
    if _TEXT_ONLY.search(line):
        with pytest.raises(InputError, match="no place for"):
            write_isa(module, platform=CRI, version=VERSION)
        return
    data = write_isa(module, platform=CRI, version=VERSION)
    stored = read_isa(data, "k.isa", platform=CRI)
    assert stored.version == VERSION
    assert stored.units[0].body[0].show(VERSION).replace("L1_0", "L1") == line
    assert write_isa(stored, platform=CRI, version=VERSION) == data


@FORMS
def test_an_operand_too_many_is_an_error(line: str):
    head, operands = operands_of(line)
    if _LISTED.fullmatch(line):
        operands += [operands[-1]] * 12
    for extra in (operands[-1] if operands else "VD8.0", "VD8.0", "VD8(0,0)<1;1,0>"):
        assert is_refused(" ".join([head, *operands, extra]))


@FORMS
def test_an_operand_too_few_is_an_error(line: str):
    head, operands = operands_of(line)
    listed = _LISTED.fullmatch(line)
    if listed:
        assert is_refused(listed.group(1))
        _, operands = operands_of(listed.group(1))
        operands.append(listed.group(2).strip())
    for left_out in range(len(operands)):
        rest = operands[:left_out] + operands[left_out + 1 :]
        assert is_refused(" ".join([head, *rest]))


@FORMS
def test_swapped_operands_are_an_error_or_mean_what_they_say(line: str):
    head, operands = operands_of(line)
    for left in range(len(operands) - 1):
        swapped = operands.copy()
        swapped[left : left + 2] = reversed(operands[left : left + 2])
        changed = " ".join([head, *swapped])
        if not is_refused(changed):
            item, _ = findings_of(changed)
            assert " ".join(item.show(VERSION).split()) == " ".join(changed.split())
