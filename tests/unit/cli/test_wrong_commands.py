"""What is said of commands that cannot work: a sentence or two, and the command that would."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from visim.cli import main
from visim.cli.colours import coloured
from visim.cli.corrections import corrected
from visim.cli.wording import in_options
from visim.errors import ArgumentError, Correction

EXAMPLES = Path(__file__).parents[3] / "examples"
GIVEN = ["--arg", "x=iota:64", "--arg", "y=ones:64", "--arg", "a=2", "--arg", "n=64"]
BARE = """.version 4.1
.kernel "twice"
.decl data v_type=G type=uq num_elts=1 align=qword
.input data offset=64 size=8
ret (M1, 1)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "saxpy.zebin").write_bytes((EXAMPLES / "saxpy/saxpy.zebin").read_bytes())
    (tmp_path / "saxpy.cl").write_bytes((EXAMPLES / "saxpy/saxpy.cl").read_bytes())
    (tmp_path / "bare.visaasm").write_text(BARE)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "launch.toml").write_text('file = "../saxpy.zebin"')
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "sentence", "command"),
    [
        (["rum", "saxpy.zebin"], "there is no verb 'rum'", "visim run saxpy.zebin"),
        (["saxpy.zebin"], "say what to do with it, such as visim run saxpy.zebin", None),
        (["nonsense"], "there is no verb 'nonsense'; visim --help lists all", None),
        (["run"], "visim run needs FILE; visim run --help says what it takes", None),
        (["run", "saxpy.zebin", "--seed", "x"], "--seed: expected an integer, found 'x'", None),
        (["run", "saxpy.zebin", "--arg"], "--arg needs a value", None),
        (["completion"], "visim completion needs SHELL", None),
        (["completion", "tcsh"], "expected one of 'bash', 'zsh', 'fish', found 'tcsh'", None),
        (["toolchain"], "visim toolchain needs one of: install, list, remove", None),
        (["info", "folder/"], "did you mean folder", "visim info folder*"),
        (["campaign", "fuz"], "did you mean the preset fuzz?", "visim campaign fuzz"),
        (["campaign", "sweep"], "sweep needs PATH: visim campaign sweep PATH", None),
        (["campaign", "fuzz", "nothing"], "there is no file or folder nothing", None),
        (["check", "--explain", "race"], "did you mean race-global or race-local", None),
        (["check", "--explain", "#"], "docs/rules.md lists all", None),
        (["time", "folder/launch.toml", "--arch", "skl", "--set", "eu=3"], "mean 'eus'?", None),
        (["serve", "--host", "::"], "--host is the address of a port", "* --port 8080"),
        (["serve", "--port", "99999"], "--port: expected 0 to 65535, found 99999", None),
        (["serve", "--socket", "no/s"], "--socket: no/s: there is no folder no", None),
        (["reduce", "bare.visaasm", "--keep", "false"], "in an empty file, too", None),
        (["run", "saxpy.zbin"], "did you mean saxpy.zebin?", "visim run saxpy.zebin"),
        (["run", "other"], "there is no file other", None),
        (["run", "saxpy.cl", *GIVEN], "--device: saxpy.cl is OpenCL C", "* --device pvc"),
        (["run", "bare.visaasm"], "give --device, one of bdw", "* --device pvc"),
        (["run", "saxpy.zebin", "--globl", "64"], "no option --globl; did you mean --global?",
         "visim run saxpy.zebin --global 64"),
        (["run", "saxpy.zebin", *GIVEN], "--global: say how many work-items", "* --global 64"),
        (["run", "saxpy.zebin", *GIVEN, "--groups", "4"], "give --global and --local", None),
        (["run", "bare.visaasm", "--device", "pvc", "--arg", "data=zeros:f32:4", "--global", "4"],
         "--global: bare vISA runs hardware threads: give --groups and --group-size", None),
        (["run", "saxpy.zebin", "--global", "64", *GIVEN[:6]], "no value for n (value int)",
         "* --arg n=1"),
        (["run", "saxpy.zebin", "--global", "64", *GIVEN[2:], "--arg", "x=5"],
         "a pointer needs an array, found a number: '5'; expected for example x=zeros:1024", None),
        (["run", "saxpy.zebin", "--global", "64", *GIVEN[:4], *GIVEN[6:], "--arg", "a=two"],
         "this is no number: 'two'; expected for example a=1", None),
        (["run", "saxpy.zebin", "--global", "64", *GIVEN, "--arg", "aa=2"],
         "no argument 'aa'; did you mean 'a'?", "* --arg a=2"),
        (["run", "saxpy.zebin", "--global", "64", *GIVEN[2:], "--arg", "x=in.npy"],
         "say what the file is: x=npy:in.npy", "* --arg x=npy:in.npy"),
        (["run", "saxpy.zebin", "-k", "saxpi", "--global", "64", *GIVEN], "did you mean 'saxpy'",
         "visim run saxpy.zebin -k saxpy *"),
        (["run", "saxpy.zebin", "--global", "10k"], "--global: expected 1 to 3 integers", None),
        (["run", "saxpy.zebin", "--global", "0", *GIVEN], "--global: 0 is not in 1..", None),
        (["run", "saxpy.zebin", "--global", "64", *GIVEN, "--budget", "0"],
         "--budget: expected an integer from 1, found 0", None),
        (["run", "saxpy.zebin", "--global", "64", *GIVEN, "--out", "y=y.txt"],
         "--out y: expected a file .npy or .png", None),
        (["run", "saxpy.zebin", "--global", "64", *GIVEN, "--device", "dg2"],
         "--device: saxpy.zebin is for pvc, not for dg2", None),
        (["run", "saxpy.zebin", "--options", "-DN=4"], "--options: saxpy.zebin is compiled", None),
        (["run", "saxpy.cl", "--device", "bmgg"], "did you mean 'bmg'?",
         "visim run saxpy.cl --device bmg"),
        (["run", "folder"], "did you mean folder/launch.toml?", "visim run folder/launch.toml"),
        (["run", "saxpy.zebin", "--visa", "saxpy.cl"], "--visa: saxpy.cl is no vISA text", None),
        (["run", "example:saxpi"], "did you mean 'saxpy'?", "visim run example:saxpy"),
        (["run", "saxpy.zebin", "--global", "64", *GIVEN, "--expect", "y=ref.txt"],
         "--expect y: expected a file .npy, found 'ref.txt'", None),
        (["run", "saxpy.zebin", "--global", "64", *GIVEN, "--sanitize", "race"],
         "--sanitize: there is no sanitizer 'race'; did you mean 'races'?", None),
        (["asm", "bare.visaasm"], "--device is missing", "visim asm bare.visaasm --device pvc"),
        (["reduce", "bare.visaasm"], "--keep is missing", "* --keep 'visim check {}'"),
    ],
)  # fmt: skip
def test_a_wrong_command_brings_the_next_step(folder, capsys, words, sentence, command):
    assert main(words) == 2
    message, *rest = capsys.readouterr().err.splitlines()
    assert message.startswith("error: ")
    assert sentence in message
    assert len(message) < 300
    if command is None:
        assert rest == []
        return
    [line] = rest
    start, _, end = command.partition("*")
    assert line.startswith(f"  try: {start}")
    assert line.endswith(end)


def test_json_has_the_corrected_command(folder, capsys):
    assert main(["run", "saxpy.zebin", *GIVEN, "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["correction"].endswith("--json --global 64")


def test_the_corrected_command_works(folder, capsys):
    assert main(["run", "saxpy.zebin", *GIVEN, "--global", "64"]) == 0
    assert "y  float32[64]  1.0 3.0 5.0" in capsys.readouterr().out


def test_devices_have_one_option_under_three_names(folder, capsys):
    for name in ("--device", "--platform", "--arch"):
        assert main(["check", "bare.visaasm", name, "pvc"]) == 0
        assert main(["info", "bare.visaasm", name, "skl", "--json"]) == 0
        assert '"platform": "skl"' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("said", "typed"),
    [
        ("global_size: 0 is not in 1..2", "--global: 0 is not in 1..2"),
        ("a local_size need not divide", "a --local need not divide"),
        ("argument 'global_size': is wrong", "argument 'global_size': is wrong"),
        ("seed: expected", "--seed: expected"),
        ("the seed: expected", "the seed: expected"),
        ("platform: x is for pvc", "--device: x is for pvc"),
        ("expected visim.Local(nbytes) for", "expected local:BYTES for"),
        ("checks='off': nobody looked", "--checks off: nobody looked"),
    ],
)
def test_options_have_their_own_names(said, typed):
    assert in_options(said) == typed


def test_only_what_is_evident_is_corrected():
    assert corrected(["run"], ArgumentError("wrong")) is None
    assert corrected(["run"], ArgumentError("x", Correction(misspelt=(("y", "z"),)))) is None
    long = ArgumentError("x", Correction(missing=(("arg", "x" * 500),)))
    assert corrected(["run"], long) is None


def test_colours_change_nothing_else(monkeypatch):
    text = "fault[undefined/x]: m\n  --> k.visaasm:3\n   | ret\n   = in kernel k\n   = help: do"
    shown = coloured(text)
    assert shown != text
    assert click.unstyle(shown) == text
    monkeypatch.setenv("NO_COLOR", "1")
    assert coloured(text) == text
