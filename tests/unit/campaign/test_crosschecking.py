"""Random OpenCL programs on the interpreter, the JIT and PoCL; what fails is reduced."""

from __future__ import annotations

import re

import numpy as np
import pytest

from visim.campaign import crosschecking, pocl
from visim.campaign.crosschecking import crosscheck
from visim.campaign.outcomes import Outcome
from visim.campaign.pocl import Launched, pocl_version, run_on_pocl
from visim.campaign.smithing import reduce_smith, run_smith
from visim.errors import InputError, ToolMissing
from visim.smith.opencl import OUTPUT_WORDS, opencl_parts, source_of

STATEMENTS = 16
DOUBLED = "kernel void twice(global const uint *in, global uint *out) { out[0] = 2 * in[0]; }"
HAS_ATOMIC_IN_LOOP = re.compile(r"^(?!.*tile).*for \(.*atomic_", re.DOTALL)


@pytest.fixture
def with_pocl():
    try:
        pocl_version()
    except ToolMissing as error:
        pytest.skip(str(error))


def work_of(seed, statements=STATEMENTS):
    what = {"language": "opencl", "device": "pvc", "seed": seed, "statements": statements}
    return {**what, "compiler": ["", ""], "pocl": None}


@pytest.mark.parametrize("seed", range(10))
def test_interpreter_and_jit_agree(seed):
    result = run_smith(work_of(seed))
    assert result.outcome == Outcome.PASSED, result.message
    assert result.facts["compared"] == ["interpreter", "jit"]


def test_a_wrong_result_of_the_jit_is_found_and_reduced(monkeypatch):
    right = crosschecking.run_on_engine

    def wrong(kernel, seed, engine):
        words = right(kernel, seed, engine)
        if engine == "jit" and "atomic" in kernel.source:
            words[3] ^= 1
        return words

    monkeypatch.setattr(crosschecking, "run_on_engine", wrong)
    texts = [source_of(opencl_parts(seed, 6)) for seed in range(99)]
    seed = next(k for k, text in enumerate(texts) if HAS_ATOMIC_IN_LOOP.search(text))
    found = run_smith(work_of(seed, 6))
    assert found.outcome == Outcome.DIFFERS
    assert found.message.startswith("jit and interpreter differ at u0 of work-item 3: ")
    left = reduce_smith(work_of(seed, 6))
    assert (left.outcome, left.message) == (Outcome.DIFFERS, "jit and interpreter differ")
    statements = [line for line in left.facts["text"].splitlines() if "atomic" in line]
    assert len(statements) == 1
    assert left.facts["text"].count("\n") < left.facts["of"]
    assert not any(word in left.facts["text"] for word in ("for (", "if (", "barrier"))


def test_a_program_that_does_not_compile_is_refused():
    with pytest.raises(InputError):
        crosscheck("kernel void smith(", 0, "pvc")


def test_what_pocl_computes_is_compared(monkeypatch):
    monkeypatch.setattr(
        crosschecking, "run_on_pocl", lambda *_: Launched(np.full(OUTPUT_WORDS, 7, np.uint32))
    )
    result = crosscheck(source_of([]), 0, "pvc", with_pocl=True)
    assert result.outcome == Outcome.DIFFERS
    assert result.message == (
        "pocl and interpreter differ at u0 of work-item 0: interpreter 0x0, jit 0x0, pocl 0x7"
    )


def test_what_stops_pocl_is_a_difference(monkeypatch):
    monkeypatch.setattr(crosschecking, "run_on_pocl", lambda *_: Launched(problem="stops at x"))
    result = crosscheck(source_of([]), 0, "pvc", with_pocl=True)
    assert (result.outcome, result.message) == (Outcome.DIFFERS, "pocl: stops at x")


@pytest.mark.usefixtures("with_pocl")
@pytest.mark.parametrize("seed", range(3))
def test_pocl_agrees(seed):
    source = source_of(opencl_parts(seed, STATEMENTS))
    result = crosscheck(source, seed, "pvc", with_pocl=True)
    assert result.outcome == Outcome.PASSED, result.message
    assert result.facts["compared"] == ["interpreter", "jit", "pocl"]


def on_pocl(source):
    given, output = np.array([21], np.uint32), np.zeros(1, np.uint32)
    launched = run_on_pocl(source, "twice", given, output, 1, 1)
    assert output[0] == 0
    return launched


@pytest.mark.usefixtures("with_pocl")
def test_pocl_computes():
    assert on_pocl(DOUBLED).output.tolist() == [42]


@pytest.mark.usefixtures("with_pocl")
def test_pocl_says_why_it_does_not_compile():
    problem = on_pocl(DOUBLED.replace("in[0]", "nothing")).problem
    assert problem.startswith("clBuildProgram: error -11 at ")
    assert "nothing" in problem


@pytest.mark.usefixtures("with_pocl")
def test_a_crash_of_pocl_is_a_result():
    wild = DOUBLED.replace("out[0]", "*(global uint *)(size_t)in[0]")
    assert on_pocl(wild).problem.startswith("it ended with SIGSEGV")


@pytest.mark.usefixtures("with_pocl")
def test_what_never_ends_on_pocl_is_a_result(monkeypatch):
    monkeypatch.setattr(pocl, "_LONGEST_S", 1)
    endless = DOUBLED.replace("out[0] =", "while (in[0]) out[0] +=")
    assert on_pocl(endless).problem == "not done after 1 s"


def test_where_there_is_no_pocl_it_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("OCL_ICD_VENDORS", str(tmp_path))
    for ask in (pocl_version, lambda: on_pocl(DOUBLED)):
        with pytest.raises(ToolMissing, match=r"PoCL cannot be used .* pocl-opencl-icd"):
            ask()
