"""Reducing leaves what makes a command find a bug, and nothing else."""

from __future__ import annotations

import sys

import pytest

from visim.errors import ArgumentError
from visim.smith.reduce import reduce, shrink

FAILS_ON = f"""{sys.executable} -c "import sys; t = open(sys.argv[1]).read(); """


def test_what_is_needed_is_left():
    lines = [str(number) for number in range(100)]
    for ahead in (1, 3, 8):
        assert shrink(lines, with_both, ahead=ahead) == ["17", "63"]


def with_both(candidates):
    return next((n for n, some in enumerate(candidates) if {"17", "63"} <= set(some)), None)


def test_a_command_gets_the_candidate():
    command = FAILS_ON + "sys.exit('keep' in t)\""
    assert reduce("a\nb\nkeep\nc\n", command).text == "keep\n"


def test_another_exit_code_is_another_failure():
    command = FAILS_ON + "sys.exit(2 if 'one' in t and 'two' in t else 1)\" {}"
    assert reduce("x\none\ny\ntwo\n", command).text == "one\ntwo\n"


def test_a_command_that_does_not_fail_is_refused():
    with pytest.raises(ArgumentError, match="does not fail"):
        reduce("a\n", f"{sys.executable} -c pass")


def test_a_command_that_is_not_there_is_refused():
    with pytest.raises(ArgumentError, match="nothing-like-this"):
        reduce("a\n", "nothing-like-this")


def test_a_command_that_does_not_end_counts_as_a_failure():
    command = FAILS_ON + "import time; 'keep' in t and time.sleep(60)\""
    assert reduce("a\nkeep\n", command, seconds=2).text == "keep\n"


BROKEN = """.version 4.1
.kernel "k"
.decl a v_type=G type=f num_elts=16 align=wordx32
.decl b v_type=G type=f num_elts=16 align=wordx32
.decl p v_type=G type=uq num_elts=1 align=qword
.input p offset=64 size=8
.kernel_attr SimdSize=16
mov (M1, 16) a(0,0)<1> 0x1:f
add (M1, 16) a(0,0)<1> a(0,0)<1;1,0> a(0,0)<1;1,0>
mul (M1, 16) b(0,0)<1> a(0,0)<1;1,0> 0x2:f
add (M1, 16) b(0,0)<1> b(0,0)<1;1,0> nowhere(0,0)<1;1,0>
mul (M1, 16) b(0,0)<1> a(0,0)<1;1,0> 0x3:f
ret (M1, 1)
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_finding_stays_with_its_line(jobs):
    """Without its code and line, one empty line would fail with the same exit code."""
    from visim.cli import main

    found = reduce(BROKEN, "visim check --platform pvc {}", main=main, jobs=jobs)
    assert "nowhere(0,0)" in found.text
    assert len(found.text.splitlines()) <= 4
    assert found.bug.bugs[0].place.startswith("add (M1, 16) b(0,0)<1>")
    assert found.progress.of == 13


def test_a_fault_stays_with_its_instruction():
    from visim.cli import main

    text = BROKEN.replace("nowhere(0,0)<1;1,0>", "a(0,0)<1;1,0>").replace(
        "ret (M1", "lsc_store.ugm (M1_NM, 1) flat[p]:a64 b:d32x16t\nret (M1"
    )
    command = "visim run {} --device pvc --groups 1 --arg p=zeros:f32:4"
    found = reduce(text, command, main=main)
    assert "lsc_store.ugm" in found.text
    assert "mul" not in found.text
    assert found.bug.bugs[0].code == "undefined/memory-access"


def test_a_program_other_than_visim_is_known_by_its_complaint():
    script = "import sys; t = open(sys.argv[1]).read(); "
    script += (
        "sys.exit('assert 12: x' if 'deep' in t else 'assert: no file' if 'a' not in t else 0)"
    )
    command = f'{sys.executable} -c "{script}"'
    assert reduce("a\nb\ndeep\nc\n", command).text == "deep\n"


def test_progress_is_told():
    told = []
    command = FAILS_ON + "sys.exit('keep' in t)\""
    reduce("a\nkeep\n", command, told=told.append)
    assert told[-1].candidates >= 2
    assert told[-1].of == 2


def test_a_number_of_jobs_is_one():
    with pytest.raises(ArgumentError, match="--jobs: expected 1 to 64, found 0"):
        reduce("a\n", "false", jobs=0)
