"""The conformance tool takes each file through its steps and says which failed and why."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tools import conformance
from visim.campaign import conforming
from visim.runtime.compiling.compilers import compilers

CORPUS = Path(__file__).parents[2] / "corpus"
KERNEL = """.version 4.1
.kernel "k"
.decl p v_type=G type=uq num_elts=1 align=qword
.decl a v_type=G type=uq num_elts=8 align=GRF
.decl x v_type=G type=f num_elts=8 align=GRF
.input p offset=32 size=8
mov (M1, 8) a(0,0)<1> 0x76543210:uv
shl (M1, 8) a(0,0)<1> a(0,0)<1;1,0> 0x2:uq
add (M1, 8) a(0,0)<1> a(0,0)<1;1,0> p(0,0)<0;1,0>
svm_scatter.4.1 (M1, 8) a.0 x.0
ret (M1, 1)
"""


def test_programs_pass_all_steps_and_others_say_where_they_stop(tmp_path, capsys):
    shutil.copy(CORPUS / "scale_skl.zebin", tmp_path)
    shutil.copy(CORPUS / "scale_bdw_without_visa.zebin", tmp_path)
    (tmp_path / "text.visaasm").write_text(KERNEL)
    (tmp_path / "broken.visaasm").write_text(KERNEL.replace("ret", "return"))
    assert conformance.main([str(tmp_path), "--device", "skl", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    files = {entry["file"]: entry for entry in found["files"]}
    for name in ("scale_skl.zebin", "text.visaasm"):
        assert files[name]["failed"] == {}
        assert files[name]["passed"] == list(conformance.STEPS[1:])
    assert "zebin-without-visa" in files["scale_bdw_without_visa.zebin"]["failed"]["read"]
    assert "return" in files["broken.visaasm"]["failed"]["read"]
    assert found["score"]["read"] == {"passed": 2, "failed": 2}
    assert found["score"]["agree"] == {"passed": 2, "failed": 0}


def test_a_source_is_built_and_taken_through_the_others(tmp_path, capsys):
    if not compilers():
        pytest.skip("libocloc is not installed")
    (tmp_path / "twice.cl").write_text("kernel void twice(global int *x) { x[0] *= 2; }\n")
    assert conformance.main([str(tmp_path), "--device", "pvc", "--json"]) == 0
    [file] = json.loads(capsys.readouterr().out)["files"]
    assert file["failed"] == {}
    assert file["passed"] == list(conformance.STEPS)


def test_a_folder_without_failures_is_fine(tmp_path, capsys):
    (tmp_path / "text.visaasm").write_text(KERNEL)
    assert conformance.main([str(tmp_path), "--device", "skl"]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == ["1 files", "  read        1 of 1"]


def test_what_does_not_end_is_stopped(tmp_path):
    file = tmp_path / "text.visaasm"
    file.write_text(KERNEL)
    outcome = conformance._apart(file, "text.visaasm", "skl", 0)
    assert outcome.failed == {"run": "not done after 0 seconds"}


@pytest.mark.parametrize(
    ("line", "build"),
    [
        ("// nothing", ("pvc", "")),
        ("// RUN: ocloc compile -file %s -device dg2 | FileCheck %s", ("dg2", "")),
        (
            '// RUN: ocloc compile -file %s -options "-cl-std=CL2.0" -device skl',
            ("skl", "-cl-std=CL2.0"),
        ),
        ("// RUN: ocloc compile -file %s \\\n// RUN: -device skl", ("skl", "")),
        (
            "// RUN: ocloc compile -file %s -device pvc -options "
            "\"-cl-fast-relaxed-math -igc_opts 'PrintToConsole=1 X=2'\" 2>&1",
            ("pvc", "-cl-fast-relaxed-math"),
        ),
    ],
)
def test_a_comment_says_how_to_build(line, build):
    found = conforming.wanted_build(f"{line}\nkernel void k() {{}}", "pvc")
    assert (found.device, found.options) == build
    assert found.remark is None


def test_an_unknown_device_is_replaced_and_told():
    found = conforming.wanted_build("// RUN: ocloc compile -file %s -device dg9", "pvc")
    assert (found.device, found.remark) == ("pvc", "built for pvc instead of dg9")
