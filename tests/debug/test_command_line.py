"""`visim debug` as it is typed: options, scripts, JSON, exit codes."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import numpy as np
import pytest

from tests.debug.kernels import BARE
from visim.cli import main

LAUNCH = ["--groups", "4", "--arg", "data=zeros:u32:32", "--arg", "limit=10"]


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "count.visaasm"
    path.write_text(BARE)
    return ["debug", str(path), "--device", "pvc", *LAUNCH]


def test_commands_are_done_and_their_answers_printed(words, capsys):
    assert main([*words, "-c", "break 26", "-c", "continue", "-c", "print sum"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "breakpoint 1: count.visaasm:26"
    assert lines[-1] == "  channel 0: 45" or "45 45 45 45 45 45 45 45" in lines[-2]


def test_json_is_one_object(words, capsys):
    assert (
        main([*words, "--json", "-c", "break again if turn == 3", "-c", "c", "-c", "p turn"]) == 0
    )
    found = json.loads(capsys.readouterr().out)["commands"]
    assert [one["command"] for one in found] == ["break again if turn == 3", "c", "p turn"]
    assert found[1]["data"]["visa_line"] == 19
    assert found[2]["data"]["value"] == 3


def test_a_wrong_command_makes_the_exit_code_2_and_the_next_is_done(words, capsys):
    assert main([*words, "-c", "brake 3", "-c", "info group"]) == 2
    out = capsys.readouterr().out
    assert "did you mean 'break'?" in out
    assert "number 0 of 4" in out


def test_a_script_is_read_and_outputs_are_written(words, tmp_path, capsys):
    script = tmp_path / "commands"
    script.write_text("# to the end\ncontinue\n")
    out = tmp_path / "data.npy"
    assert main([*words, "--script", str(script), "--out", f"data={out}"]) == 0
    np.testing.assert_array_equal(np.load(out), [45] * 32)
    assert capsys.readouterr().out == "the launch has ended\n"


def test_without_a_terminal_lines_are_read_and_no_prompt_is_printed(words, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("stepi\n\nquit\nnot reached\n"))
    assert main(words) == 0
    captured = capsys.readouterr()
    assert "(visim)" not in captured.out + captured.err
    assert "count at count.visaasm:17" in captured.out


def test_a_run_that_is_not_debugged_loads_nothing_of_the_debugger(words):
    program = (
        "import sys; from visim.cli import main; assert main(sys.argv[1:]) == 0; "
        "print([one for one in sys.modules if one.startswith('visim.debug')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "run", *words[1:]],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_at_fault_stands_at_the_fault(words, capsys):
    words[words.index("--groups") + 1] = "6"
    assert (
        main([*words, "--at-fault", "-c", "print group_x", "-c", "backi 2", "-c", "info moment"])
        == 0
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("fault[undefined/memory-access]: flat store of 32 bytes")
    assert "group_x = 4" in lines
