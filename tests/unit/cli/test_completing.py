"""What the shell offers, and the script that asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.shell_completion import BashComplete

from visim.cli import main
from visim.cli.app import app

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def offers(monkeypatch):
    """Return what the shell offers at the end of a command line."""
    monkeypatch.chdir(EXAMPLES / "reduction")

    def offers(*words):
        complete = BashComplete(app, {}, "visim", "_VISIM_COMPLETE")
        *before, incomplete = words
        return [item.value for item in complete.get_completions(list(before), incomplete)]

    return offers


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["ru"], ["run"]),
        (["run", "reduction.zebin", "-k", "reduce_"], ["reduce_quickly"]),
        (["run", "reduction.zebin", "--arg", ""], ["x=", "sums="]),
        (["run", "reduction.zebin", "--arg", "x=1", "--arg", ""], ["sums="]),
        (["run", "reduction.zebin", "-k", "reduce", "--out", "s"], ["sums="]),
        (["run", "example:saxpy", "--arg", ""], ["x=", "y=", "a=", "n="]),
        (["run", "nothing.zebin", "--arg", ""], []),
        (["run", "reduction.cl", "--arg", ""], []),
        (["check", "k.visaasm", "--device", "b"], ["bdw", "bmg"]),
        (["run", "reduction.zebin", "--engine", "j"], ["jit"]),
        (["run", "reduction.zebin", "--sanitize", "ra"], ["races"]),
        (["run", "reduction.zebin", "--json"], ["--json", "--json-arrays"]),
        (["examples", "copy", "m"], ["mandelbrot", "matmul"]),
    ],
)
def test_a_command_is_completed(offers, words, offered):
    assert offers(*words) == offered


def test_files_are_left_to_the_shell(offers):
    complete = BashComplete(app, {}, "visim", "_VISIM_COMPLETE")
    [item] = complete.get_completions(["run"], "red")
    assert item.type == "file"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_script(capsys, shell):
    assert main(["completion", shell]) == 0
    assert f"_VISIM_COMPLETE={shell}_complete" in capsys.readouterr().out


def test_other_shells_are_refused(capsys):
    assert main(["completion", "tcsh"]) == 2
    assert "expected one of 'bash', 'zsh', 'fish', found 'tcsh'" in capsys.readouterr().err
