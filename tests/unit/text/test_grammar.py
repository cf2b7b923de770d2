"""visim takes the texts that Intel's assembler takes, and prints them as it does.

`grammar.txt` has a small text for each production of the assembler's grammar and for the usual
slips, with what both say; where they differ, with the reason. The tests that run GenX_IR (a few
milliseconds a text) show that the list tells the truth about it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tools.genx import compile_file, is_installed
from visim.diag import Source
from visim.errors import InputError
from visim.module import Module
from visim.target import platform
from visim.text import read_text, show_module

HEAD = """\
.version 4.1
.kernel "k"
.kernel_attr OutputAsmPath="out"
.decl V32 v_type=G type=ud num_elts=64 align=GRF
.decl V33 v_type=G type=f num_elts=64 align=GRF
.decl V34 v_type=G type=w num_elts=64 align=GRF
.decl V35 v_type=G type=uq num_elts=32 align=GRF
.decl V36 v_type=G type=df num_elts=32 align=GRF
.decl V37 v_type=G type=hf num_elts=64 align=GRF
.decl V38 v_type=G type=d num_elts=64 align=GRF
.decl A0 v_type=A num_elts=8
.decl P1 v_type=P num_elts=16
.decl P2 v_type=P num_elts=16
.decl P3 v_type=P num_elts=16
.decl S0 v_type=S num_elts=1
.decl T6 v_type=T num_elts=1
"""
MAIN = '.function "main"\nmain:\n'
REASON = re.compile(r"#= ([\w-]+):")
IN_THE_BODY = re.compile(r"[a-z(/$@?\"9A-Z ]|\.file|\.loc|\{.*mov ")
#: Lines in which the two print different things for every text: names and the default target.
NOT_COMPARED = re.compile(r"main|\.function|\.kernel_attr Target")


@dataclass(frozen=True)
class Case:
    """A text, its device, the verdict on it, and where the two differ the reason."""

    device: str
    verdict: str
    reason: str
    lines: str

    @property
    def text(self) -> str:
        lines = self.lines.replace(" ;; ", "\n")
        if IN_THE_BODY.match(self.lines):
            return f"{HEAD}{MAIN}{lines}\nret (M1, 1)\n"
        main = "" if ".function" in lines else MAIN
        return f"{HEAD}{lines}\n{main}ret (M1, 1)\n"


def listed() -> Iterator[Case]:
    device = ""
    for line in (Path(__file__).parent / "grammar.txt").read_text().splitlines():
        if line.startswith("## "):
            device = line[3:]
        elif line and line[0] in "+-~<>":
            verdict, _, reason = line[:16].rstrip().partition(" ")
            yield Case(device, verdict, reason, line[17:])


CASES = tuple(listed())


def taken(case: Case) -> Module | None:
    """Return what visim reads, or None where it refuses the text."""
    try:
        return read_text(Source("t.visaasm", case.text), platform(case.device))
    except InputError:
        return None


def printed(text: str) -> list[str]:
    """Return the lines of a printed text that are compared, without their comments."""
    lines = (line.partition("///")[0].rstrip() for line in text.split("\n"))
    return [line for line in lines if not NOT_COMPARED.match(line.strip())]


def test_every_difference_has_a_reason():
    text = (Path(__file__).parent / "grammar.txt").read_text()
    assert {case.reason for case in CASES} - {""} == set(REASON.findall(text))
    assert all(bool(case.reason) == (case.verdict in "~<>") for case in CASES)
    assert len(CASES) > 700


@pytest.mark.parametrize("verdict", "+-~<>")
def test_visim_takes_what_the_list_says(verdict: str):
    cases = [case for case in CASES if case.verdict == verdict]
    wrong = [case.lines for case in cases if (taken(case) is not None) != (verdict in "+~>")]
    assert wrong == []


@pytest.mark.parametrize("verdict", "+~>")
def test_what_is_read_prints_as_a_text_that_reads_the_same(verdict: str):
    for case in CASES:
        module = taken(case) if case.verdict == verdict else None
        if module is not None and case.reason != "shadowed":
            once = show_module(module)
            again = read_text(Source("again", once), platform(case.device))
            assert show_module(again) == once, case.lines


@pytest.mark.skipif(not is_installed(), reason="GenX_IR is not installed")
@pytest.mark.parametrize("verdict", "+-~<>")
def test_genx_ir_takes_and_prints_what_the_list_says(verdict: str):
    for case in (case for case in CASES if case.verdict == verdict):
        dump = dumped_by_genx_ir(case)
        assert (dump is not None) == (verdict in "+~<"), case.lines
        module = taken(case)
        if dump is not None and module is not None:
            alike = printed(dump) == printed(show_module(module))
            assert alike == (verdict == "+"), case.lines


def dumped_by_genx_ir(case: Case) -> str | None:
    """Return how GenX_IR prints the text, or None where it refuses it.

    Its exit code is 0 for some errors; those of the text are reported "near line" or as
    "lexical error". It dies of others.
    """
    text = case.text.encode()
    made = compile_file(text, ".visaasm", case.device, options=("-dumpcommonisa",))
    is_refused = "near line" in made.output or "lexical error" in made.output
    return None if is_refused else made.dump
