"""Reducing leaves what makes a command fail, and nothing else."""

from __future__ import annotations

import sys

import pytest

from visim.errors import ArgumentError
from visim.smith.reduce import reduce, shrink

FAILS_ON = f"""{sys.executable} -c "import sys; t = open(sys.argv[1]).read(); """


def test_what_is_needed_is_left():
    lines = [str(number) for number in range(100)]
    found = shrink(lines, lambda some: {"17", "63"} <= set(some))
    assert found == ["17", "63"]


def test_a_command_gets_the_candidate():
    command = FAILS_ON + "sys.exit('keep' in t)\""
    assert reduce("a\nb\nkeep\nc\n", command) == "keep\n"


def test_another_exit_code_is_another_failure():
    command = FAILS_ON + "sys.exit(2 if 'one' in t and 'two' in t else 1)\" {}"
    assert reduce("x\none\ny\ntwo\n", command) == "one\ntwo\n"


def test_a_command_that_does_not_fail_is_refused():
    with pytest.raises(ArgumentError, match="does not fail"):
        reduce("a\n", f"{sys.executable} -c pass")


def test_a_command_that_is_not_there_is_refused():
    with pytest.raises(ArgumentError, match="nothing-like-this"):
        reduce("a\n", "nothing-like-this")


def test_a_command_that_does_not_end_counts_as_a_failure():
    command = FAILS_ON + "import time; 'keep' in t and time.sleep(60)\""
    assert reduce("a\nkeep\n", command, seconds=2) == "keep\n"
