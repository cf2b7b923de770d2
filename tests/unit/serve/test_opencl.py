"""OpenCL C through the oracle: compiled in a host of its own, with errors at their lines."""

from __future__ import annotations

import json

import pytest

from tests.unit.serve.requests import SAXPY_SOURCE, case
from visim.serve.shapes import RequestError

PROGRAM = {"source": SAXPY_SOURCE, "device": "dg2"}
RACE = """__kernel void sum(__global int *out, __global const int *in)
{
    __local int part[64];
    int l = get_local_id(0);
    part[l] = in[get_global_id(0)];
    if (l == 0)
        out[get_group_id(0)] = part[l] + part[l + 32];
}
"""
SUMS = {"global_size": [64], "local_size": [64], "args": {"out": "zeros:1", "in": "ones:64"}}


@pytest.fixture(autouse=True)
def _compiler(oracle):
    if not oracle.facts()["compilers"]:
        pytest.skip("no ocloc is installed")


def test_a_program_is_compiled_run_and_judged(ask):
    assert ask("compile", program=PROGRAM)["kernels"][0]["name"] == "saxpy"
    assert ask("check", program=PROGRAM)["verdict"] == "fine"
    found = ask("run", program=PROGRAM, cases=[case(64), case(256), case(1000)])
    assert found["verdict"] == "fine"
    assert found["compiler"].startswith("ocloc ")


def test_errors_are_at_their_lines(ask):
    wrong = {"source": SAXPY_SOURCE.replace("a * x[i]", "b * x[i]"), "device": "dg2"}
    found = ask("compile", program=wrong)
    assert found["verdict"] == "broken"
    [first] = found["diagnostics"]
    assert first["line"] == 5
    assert first["source"][2].startswith("> 5 |         y[i] += b * x[i];")


def test_warnings_come_with_the_answer(ask):
    odd = SAXPY_SOURCE.replace("int i", "char narrow = 300; int i")
    found = ask("compile", program={"source": odd, "device": "dg2"})
    assert found["verdict"] == "fine"
    assert found["warnings"][0]["line"] == 3
    quiet = ask("compile", program={"source": odd, "device": "dg2", "options": "-w"})
    assert "warnings" not in quiet


def test_headers_come_with_the_request(ask):
    text = '#include "lib/scale.h"\n' + SAXPY_SOURCE.replace("a * x[i]", "SCALE * x[i]")
    program = {"source": text, "device": "dg2", "headers": {"lib/scale.h": "#define SCALE 2\n"}}
    assert ask("run", program=program, cases=[case(64)])["verdict"] == "fine"


def test_a_race_has_both_its_places(ask):
    program = {"source": RACE, "device": "dg2"}
    found = ask("sanitize", program=program, cases=[SUMS])
    assert found["verdict"] == "findings"
    [race] = [one for one in found["cases"][0]["findings"] if one["kind"] == "race-local"]
    assert [place["line"] for place in race["places"]] == [5, 7]
    assert "barrier(CLK_LOCAL_MEM_FENCE)" in found["next"]


def test_time_names_lines_of_the_source(ask):
    found = ask("time", program=PROGRAM, case=case(256))
    hottest = found["results"][0]["hottest"]
    assert any("> 5 |" in line["source"][0] for line in hottest if "source" in line)


def test_diff_of_devices_and_options(ask):
    right = {"device": "pvc", "options": "-cl-opt-disable"}
    found = ask("diff", left={"program": PROGRAM}, right=right, case=case(100))
    assert found["verdict"] == "fine"
    assert [found[side]["device"] for side in ("left", "right")] == ["dg2", "pvc"]


def test_a_program_is_compiled_once_for_all_tools(oracle):
    program = {"source": SAXPY_SOURCE + "// compiled once\n", "device": "dg2"}
    first = oracle.call("compile", {"program": program})
    again = oracle.call("compile", {"program": program, "want": ["zebin"]})
    assert not again.is_cached
    known = {**json.loads(again.data)}
    del known["zebin"]
    assert known == json.loads(first.data)


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"device": None}, "program.device"),
        ({"device": "r600"}, "program"),
        ({"options": "-include /etc/passwd"}, "program.options"),
        ({"options": "-cl-std=CL1.2 -cl-std=CL2.0"}, "program"),
        ({"headers": {"../h": ""}}, "program.headers"),
        ({"compiler": "/tmp/libocloc.so"}, "program.compiler"),
        ({"compiler": "1.2.3"}, "program"),
        ({"source": '#include "/etc/passwd"\n' + SAXPY_SOURCE}, "program.source"),
    ],
)
def test_what_a_program_may_not_ask_for(oracle, change, path):
    with pytest.raises(RequestError) as raised:
        oracle.call("compile", {"program": PROGRAM | change})
    assert raised.value.path == path


def test_line_directives_show_no_files(ask):
    text = '#line 1 "/etc/passwd"\nint wrong = ;\n' + SAXPY_SOURCE
    found = ask("compile", program={"source": text, "device": "dg2"})
    assert found["verdict"] == "broken"
    assert "root:" not in json.dumps(found)


def test_a_compiler_that_takes_too_long_is_ended(oracle, ask):
    lines = "".join(f"#define A{n} A{n - 1} A{n - 1} A{n - 1} A{n - 1}\n" for n in range(1, 14))
    text = "#define A0 y[0]++;\n" + lines + "__kernel void k(__global int *y) { A13 }\n"
    found = ask("compile", program={"source": text, "device": "dg2"})
    assert found["verdict"] in {"limit", "broken"}
    assert ask("compile", program=PROGRAM)["verdict"] == "fine"
