"""FILE and LOC give source lines to instructions: in programs, faults and cancelled runs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import visim
from visim.cli.app import app
from visim.errors import Fault, FaultError

TEXT = """\
.version 4.1
.kernel "k"
.decl V32 v_type=G type=ud num_elts=8 align=GRF
.decl V33 v_type=G type=uq num_elts=1
.kernel_attr SimdSize=8
.input V33 offset=64 size=8
.function "k_main"
k_main:
.file "a.cl"
.loc 3
mov (M1, 8) V32(0,0)<1> 5:ud
.loc 7
lsc_store.ugm (M1_NM, 1) flat[V33+0x100]:a64 V32:d32
.file "b.cl"
mov (M1, 8) V32(0,0)<1> 6:ud
ret (M1, 1)
"""


def program(form: str) -> visim.Program:
    text = visim.assemble(TEXT, platform="pvc")
    return text if form == "text" else visim.load(text.to_object(), platform="pvc")


@pytest.mark.parametrize("form", ["text", "object"])
def test_a_program_knows_the_source_lines_of_its_instructions(form: str):
    (kernel,) = program(form).source_lines()
    assert kernel["name"] == "k"
    assert kernel["lines"] == [
        {"file": "a.cl", "line": 3, "first": 3, "last": 3},
        {"file": "a.cl", "line": 7, "first": 5, "last": 5},
    ]


@pytest.mark.parametrize("form", ["text", "object"])
def test_a_fault_names_the_source_line(form: str):
    with pytest.raises(FaultError) as raised:
        program(form)["k"].launch([np.zeros(4, np.uint32)])
    fault = raised.value.fault
    assert (fault.source_file, fault.source_line, fault.source) == ("a.cl", 7, "a.cl:7")
    assert (fault.line is None, fault.offset is None) == (form == "object", form == "text")
    assert "source a.cl:7" in fault.place
    assert "   = from a.cl:7" in fault.render()


def test_a_fault_of_an_object_names_the_byte():
    fault = Fault("undefined", "x", "wrong", file="k.isa", offset=12)
    assert "  --> k.isa, byte 12" in fault.render()
    assert fault.place == "byte 12"


def test_info_debug_shows_source_lines(tmp_path):
    file = tmp_path / "k.visaasm"
    file.write_text(TEXT)
    shown = CliRunner().invoke(app, ["info", "--debug", str(file), "--platform", "pvc"])
    assert "a.cl:7" in shown.output
    as_json = CliRunner().invoke(app, ["info", "--debug", "--json", str(file), "--platform", "pvc"])
    assert json.loads(as_json.output)["objects"][0]["lines"][1]["line"] == 7


def test_info_debug_shows_a_debug_file(pytestconfig):
    file = pytestconfig.rootpath / "tests" / "corpus" / "debug" / "rec_pvc.dbg"
    shown = CliRunner().invoke(app, ["info", "--debug", str(file)])
    assert "fib: Gen code from byte 784" in shown.output
    assert "r125.12 in 80-944" in shown.output
    as_json = CliRunner().invoke(app, ["info", "--debug", "--json", str(file)])
    assert json.loads(as_json.output)["objects"][1]["frame"]["size"] == 384
