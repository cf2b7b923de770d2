"""What tools answer: a verdict, a sentence, the next step, and the facts behind them."""

from __future__ import annotations

import json

import pytest

from tests.unit.serve.requests import ENDLESS, SAXPY, SCALE, case
from visim.serve.shapes import RequestError

UNGUARDED = {"args": {"y": "ones:64", "x": "ones:64", "a": 2, "n": 128}, "global_size": [128]}
SCALED = {"args": {"V32": {"type": "f32", "data": list(range(16))}}}


def test_compile_lists_what_kernels_take(ask):
    found = ask("compile", program=SAXPY)
    assert found["verdict"] == "fine"
    [kernel] = found["kernels"]
    assert [one["name"] for one in kernel["args"]] == ["x", "y", "a", "n"]
    assert kernel["args"][0]["type"] == "float*"


def test_compile_gives_the_text_and_the_bytes(ask):
    found = ask("compile", program=SAXPY, want=["visa", "zebin"])
    assert found["visa"].startswith(".version")
    assert found["zebin"] == SAXPY["binary"]


def test_check_finds_nothing_in_a_right_program(ask):
    assert ask("check", program=SAXPY)["verdict"] == "fine"
    assert ask("check", program={"source": SCALE, "device": "pvc"})["verdict"] == "fine"


def test_check_shows_the_line_that_is_wrong(ask):
    wrong = SCALE.replace("mul (M1, 16)", "mull (M1, 16)")
    found = ask("check", program={"source": wrong, "device": "pvc"})
    assert found["verdict"] == "broken"
    [first, *_] = found["diagnostics"]
    assert first["line"] == 7
    assert first["source"][2].startswith("> 7 | mull")


def test_run_judges_each_case(ask):
    found = ask("run", program=SAXPY, cases=[case(64), case(1000), case(256, local_size=[32])])
    assert found["verdict"] == "fine"
    assert [one["verdict"] for one in found["cases"]] == ["fine"] * 3
    assert found["cases"][2]["local_size"] == [32, 1, 1]
    assert found["cases"][0]["changed"]["y"]["first"][:3] == [2.0, 3.0, 4.0]


def test_run_says_where_a_result_is_wrong(ask):
    wrong = case(64) | {"expect": {"y": {"formula": "where(i == 7, 0, y + a*x)"}}}
    found = ask("run", program=SAXPY, cases=[case(64), wrong])
    assert found["verdict"] == "differs"
    assert found["summary"].startswith("cases[1]: y[7] is 9.0, expected 0.0; 1 of 64")
    [judged] = found["cases"][1]["expected"]
    assert judged["first"] == {"index": [7], "found": "9.0", "expected": "0.0"}


def test_run_takes_arrays_and_tolerances(ask):
    expected = {"type": "f32", "data": [2.0 * n + 0.01 for n in range(16)]}
    program = {"source": SCALE, "device": "pvc"}
    near = SCALED | {"expect": {"V32": expected}}
    found = ask("run", program=program, cases=[near, near | {"atol": 0.1}])
    assert [one["verdict"] for one in found["cases"]] == ["differs", "fine"]


def test_a_fault_has_its_line_and_no_address_of_the_process(ask):
    found = ask("run", program=SAXPY, cases=[UNGUARDED])
    assert found["verdict"] == "fault"
    fault = found["cases"][0]["fault"]
    assert fault["code"] == "memory-access"
    assert fault["buffer"] in {"x", "y"}
    assert "0x" not in fault["message"]
    assert "address" not in fault
    assert "explain memory-access" in found["next"]


def test_both_engines_are_there(ask):
    for engine in ("jit", "interpreter"):
        found = ask("run", program=SAXPY, cases=[case(64)], engine=engine)
        assert found["cases"][0]["engine"] == engine
        assert found["verdict"] == "fine"


def test_an_endless_kernel_reaches_its_budget(ask):
    program = {"source": ENDLESS, "device": "pvc"}
    found = ask("run", program=program, cases=[{}], budget=10_000)
    assert found["verdict"] == "limit"
    assert found["cases"][0]["fault"]["code"] == "instruction-budget"


def test_sanitize_finds_accesses_out_of_bounds(ask):
    found = ask("sanitize", program=SAXPY, cases=[UNGUARDED])
    assert found["verdict"] == "findings"
    kinds = {one["kind"] for one in found["cases"][0]["findings"]}
    assert kinds >= {"oob-read", "oob-write"}
    assert found["next"].startswith("guard the access")


def test_sanitize_takes_what_is_never_written(ask):
    unwritten = case(64) | {"args": {"y": "uninit:64", "x": "ones:64", "a": 2, "n": 64}}
    found = ask("sanitize", program=SAXPY, cases=[unwritten], sanitizers=["uninit"])
    assert {one["kind"] for one in found["cases"][0]["findings"]} == {"uninit-global"}


def test_time_compares_generations(ask):
    found = ask("time", program=SAXPY, case=case(256), generations=["dg2", "pvc"], lines=3)
    assert found["verdict"] == "fine"
    assert [one["generation"] for one in found["results"]] == ["dg2", "pvc"]
    assert all(one["cycles"] > 0 for one in found["results"])
    assert len(found["results"][0]["hottest"]) == 3


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("race-local", "finding"),
        ("undefined/memory-access", "fault"),
        ("input-crosses-register", "rule"),
        ("opencl-build", "rule"),
        ("differs", "verdict"),
    ],
)
def test_explain_knows_every_kind_of_code(ask, code, kind):
    found = ask("explain", code=code)
    assert found["kind"] == kind
    assert found["means"]
    assert found["mend"]


def test_explain_shows_the_lines_around(ask):
    found = ask("explain", code="oob-read", source=SCALE, line=7)
    assert found["source"][2].startswith("> 7 | mul")


def test_diff_finds_the_first_write(ask):
    other = SCALE.replace("0x40000000:f", "0x40400000:f")
    left, right = ({"program": {"source": text, "device": "pvc"}} for text in (SCALE, other))
    found = ask("diff", left=left, right=right, case=SCALED)
    assert found["verdict"] == "differs"
    assert found["arrays"][0]["index"] == [1]
    assert found["first_write"]["left"]["value"] == 2.0
    assert found["first_write"]["right"]["value"] == 3.0


def test_diff_with_what_another_device_wrote(ask):
    left = {"program": {"source": SCALE, "device": "pvc"}}
    wrote = [2.0 * n for n in range(16)]
    same = {"arrays": {"V32": {"type": "f32", "data": [*wrote]}}}
    assert ask("diff", left=left, right=same, case=SCALED)["verdict"] == "fine"
    wrote[9] = 0.0
    other = {"arrays": {"V32": {"type": "f32", "data": wrote}}}
    found = ask("diff", left=left, right=other, case=SCALED)
    assert found["summary"] == "V32[9] is 18.0 on the left, 0.0 on the right"
    assert ask("diff", left=same, right=other)["arrays"][0]["differing"] == 1


def test_diff_tells_large_integers_apart(ask):
    sides = [{"arrays": {"n": {"type": "i64", "data": [2**60 + n]}}} for n in range(2)]
    assert ask("diff", left=sides[0], right=sides[1])["verdict"] == "differs"


def test_diff_of_engines_finds_none(ask):
    left = {"program": SAXPY, "engine": "jit"}
    found = ask("diff", left=left, right={"engine": "interpreter"}, case=case(100))
    assert found["verdict"] == "fine"
    assert {found["left"]["engine"], found["right"]["engine"]} == {"jit", "interpreter"}


def test_the_same_request_is_answered_alike_and_from_what_is_kept(oracle):
    request = {"program": SAXPY, "cases": [case(96) | {"args": {**UNGUARDED["args"], "n": 96}}]}
    first = oracle.call("run", request)
    again = oracle.call("run", json.loads(json.dumps(request)))
    assert again.is_cached
    assert again.data == first.data


def test_answers_are_the_same_in_each_process(oracle):
    """The second request says what is so anyway, and is therefore not answered from memory."""
    for tool in ("run", "sanitize"):
        first = oracle.call(tool, {"program": SAXPY, "cases": [UNGUARDED, case(80)]})
        again = oracle.call(tool, {"program": SAXPY, "cases": [{"show": 8} | UNGUARDED, case(80)]})
        assert not again.is_cached
        assert again.data == first.data


@pytest.mark.parametrize(
    ("tool", "request_", "path"),
    [
        ("run", {"program": SAXPY}, "cases"),
        ("run", {"program": SAXPY, "cases": [{"globl_size": [1]}]}, "cases[0].globl_size"),
        ("run", {"program": SAXPY, "cases": [case(0)]}, "cases[0].global_size[0]"),
        ("run", {"program": SAXPY, "cases": [{"args": {}}]}, "cases[0].args.x"),
        ("run", {"program": SAXPY, "cases": [case(8), {"args": {"q": 1}}]}, "cases[1].args.q"),
        ("run", {"program": SAXPY, "cases": [case(8)], "kernel": "saxpi"}, "kernel"),
        ("run", {"program": {}, "cases": [{}]}, "program"),
        ("run", {"program": {"source": SCALE, "device": "pvx"}, "cases": [{}]}, "program.device"),
        ("explain", {"code": "race-locul"}, "code"),
        ("explain", [], ""),
        ("time", {"program": SAXPY, "case": case(8), "generations": ["r600"]}, "generations[0]"),
        ("diff", {"left": {"program": SAXPY}, "right": {}}, "case"),
        ("diff", {"left": {"arrays": {"a": {"type": "f32"}}}, "right": {}}, "left.arrays.a"),
        ("judge", {}, "tool"),
    ],
)
def test_what_is_wrong_with_a_request_is_named_by_its_path(oracle, tool, request_, path):
    with pytest.raises(RequestError) as raised:
        oracle.call(tool, request_)
    assert raised.value.path == path
