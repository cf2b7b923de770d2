"""Compiled programs that have lost code: findings, notes in reports, and what they compute."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import visim
from visim.diag import Severity

CORPUS = Path(__file__).parents[3] / "corpus"
CODE = "unwritten-variable"


def without(file: str, line: str) -> bytes:
    """Return a zebin one of whose instructions is a comment, as if the compiler had lost it."""
    data = (CORPUS / file).read_bytes()
    lost = b"//" + b" " * (len(line) - 2)
    assert data.count(line.encode()) == 1
    return data.replace(line.encode(), lost)


def messages(data: bytes) -> list[tuple[str, Severity]]:
    return [(one.message, one.severity) for one in visim.verify(data) if one.code == CODE]


LOAD = "lsc_load.ugm (M1, 32)  V0054:d32  flat[V0053]:a64"
IN_FUNCTION = "svm_gather.4.1 (M1, 8) V0057.0 V0073.0"


@pytest.mark.parametrize("file", sorted(path.name for path in CORPUS.glob("*.zebin")))
def test_what_is_whole_has_no_findings(file: str):
    assert not messages((CORPUS / file).read_bytes())


def test_a_kernel_that_reads_what_nothing_writes_is_warned_of():
    text = "reads V0054, which nothing writes; its value is 0"
    assert messages(without("scale_pvc.zebin", LOAD)) == [(text, Severity.WARNING)]


@pytest.mark.parametrize("engine", ["interpreter", "jit"])
def test_the_report_notes_it_and_the_value_is_0(engine: str):
    values = np.full(40, 3, np.float32)
    kernel = visim.load(without("scale_pvc.zebin", LOAD))["scale"]
    report = kernel.launch([values, 2.0, 32], global_size=32, engine=engine)
    assert values.tolist() == [0.0] * 32 + [3.0] * 8
    (note,) = report.notes
    assert re.match("the kernel reads V0054, which nothing writes: 0 here, anything on", note)
    assert f"  note: {note}" in str(report)


def test_a_whole_kernel_has_no_note():
    kernel = visim.load(CORPUS / "scale_pvc.zebin")["scale"]
    assert kernel.launch([np.zeros(32, np.float32), 2.0, 32], global_size=32).notes == ()


def test_a_function_is_warned_of_and_noted_by_the_kernels_that_call():
    data = without("call_dg2.zebin", IN_FUNCTION)
    assert messages(data) == [("reads V0073, which nothing writes; its value is 0", "warning")]
    values = np.array([7, 3], np.int32)
    report = visim.load(data)["first"].launch([values], global_size=1)
    assert values.tolist() == [0, 3]
    assert [note.split(",")[0] for note in report.notes] == ["function 'factorial' reads V0073"]


def test_a_text_has_the_note_too():
    """Compilers write texts as well, which drivers and users keep."""
    text = (
        '.version 4.1\n.kernel "k"\n'
        + "".join(f".decl {name} v_type=G type=d num_elts=8\n" for name in "DXYZ")
        + "add (M1, 8) D(0,0)<1> X(0,0)<1;1,0> Y(0,0)<1;1,0>\n"
        + "add (M1, 8) D(0,0)<1> Z(0,0)<1;1,0> Y(0,0)<1;1,0>\nret (M1, 1)\n"
    )
    (note,) = visim.assemble(text, platform="skl")["k"].launch([]).notes
    assert note.startswith("the kernel reads X (and 2 more), which nothing writes")
