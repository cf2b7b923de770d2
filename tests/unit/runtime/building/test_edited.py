"""A zebin with an edited vISA text: its metadata, and the text as it is now."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import visim
from visim.cli import main
from visim.errors import ArgumentError, InputError, UnsupportedError

EXAMPLES = Path(__file__).parents[4] / "examples"
SAXPY = EXAMPLES / "saxpy" / "saxpy.zebin"
REDUCTION = EXAMPLES / "reduction" / "reduction.zebin"


def edited(source, old, new, unit=None):
    text = visim.load(source).text(unit)
    assert text.count(old) >= 1
    return text.replace(old, new).encode()


def saxpy(program):
    x, y = np.arange(64, dtype=np.float32), np.ones(64, np.float32)
    program["saxpy"](x, y, 2.0, 64, global_size=64)
    return y


NEGATED = ("mad (M1, 32) V0061(0,0)<1> V0036", "mad (M1, 32) V0061(0,0)<1> (-)V0036")


@pytest.mark.usefixtures("each_engine")
def test_one_instruction_is_changed():
    x = np.arange(64, dtype=np.float32)
    np.testing.assert_array_equal(saxpy(visim.load(SAXPY)), 1 + 2 * x)
    program = visim.load(SAXPY, visa=edited(SAXPY, *NEGATED))
    np.testing.assert_array_equal(saxpy(program), 1 - 2 * x)
    np.testing.assert_array_equal(saxpy(pickle.loads(pickle.dumps(program))), 1 - 2 * x)
    with pytest.raises(UnsupportedError, match="its text is <bytes>'s"):
        program.to_zebin()


def test_kernels_that_the_text_leaves_out_are_the_zebins():
    text = edited(REDUCTION, 'kernel "reduce"', 'kernel "reduce"', unit="reduce")
    program = visim.load(REDUCTION, visa=text)
    assert list(program) == ["reduce", "reduce_quickly"]
    assert program["reduce"].args == visim.load(REDUCTION)["reduce"].args


def test_a_kernel_alone_may_have_any_name():
    text = edited(SAXPY, '.kernel "saxpy"', '.kernel "kernel"')
    assert list(visim.load(SAXPY, visa=text)) == ["saxpy"]


@pytest.mark.parametrize(
    ("source", "text", "message"),
    [
        (REDUCTION, edited(REDUCTION, '"reduce"', '"reduse"'), "'reduse'.*did you mean 'reduce'"),
        (SAXPY, b".version 4.1\n", "neither a kernel nor a function"),
        (SAXPY, b"kernel void f() {}", "is no vISA text; visim dis prints"),
        (SAXPY, SAXPY.read_bytes(), "is no vISA text"),
        (b".version 4.1\n", edited(SAXPY, "", ""), "is no zebin, it has no metadata"),
    ],
)
def test_a_text_that_does_not_belong_to_the_file_is_refused(source, text, message):
    with pytest.raises(ArgumentError, match=message):
        visim.load(source, platform="pvc", visa=text)


def test_findings_and_faults_have_the_place_in_the_edited_text(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("wrong.visaasm").write_bytes(edited(SAXPY, "mad (M1, 32)", "mda (M1, 32)"))
    with pytest.raises(InputError, match=r"wrong\.visaasm:\d+") as caught:
        visim.load(SAXPY, visa="wrong.visaasm")
    assert "mda" in str(caught.value)
    Path("far.visaasm").write_bytes(edited(SAXPY, "flat[V0059", "flat[V0059+0x100000"))
    run = ["run", str(SAXPY), "--visa", "far.visaasm", "--global", "64", "--arg", "a=2"]
    given = ["--arg", "x=ones:64", "--arg", "y=ones:64", "--arg", "n=64"]
    assert main([*run, *given]) == 1
    assert "--> far.visaasm:" in capsys.readouterr().err


def test_the_command_line_corrects_names_and_refuses_sources(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("edited.visaasm").write_bytes(edited(SAXPY, *NEGATED))
    assert main(["run", str(SAXPY), "--visa", "edted.visaasm"]) == 2
    assert "did you mean edited.visaasm?" in capsys.readouterr().err
    assert main(["run", str(SAXPY.with_suffix(".cl")), "--visa", "edited.visaasm"]) == 2
    assert "compile it first, with visim cl" in capsys.readouterr().err
