"""Verbs take OpenCL C as it is, and compile it (visim.cli.files)."""

from __future__ import annotations

from pathlib import Path

import pytest

import visim
from visim.cli import main

EXAMPLES = Path(__file__).parents[3] / "examples"
GIVEN = ["--global", "64", "--arg", "x=iota:64", "--arg", "y=ones:64", "--arg", "a=2"]


@pytest.fixture
def builds(monkeypatch, tmp_path):
    """A compiler that always makes the same zebin, and what it was asked for."""
    asked = []
    zebin = (EXAMPLES / "saxpy" / "saxpy.zebin").read_bytes()

    def build(source, *, device, options, name, variables):
        assert not variables
        asked.append((source, device, options, name))
        return visim.load(zebin)

    monkeypatch.setattr(visim.opencl, "build", build)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "saxpy.cl").write_bytes((EXAMPLES / "saxpy" / "saxpy.cl").read_bytes())
    return asked


def test_run_compiles_for_the_device(builds, capsys):
    words = ["run", "saxpy.cl", "--device", "pvc", "--options", "-DN=4", *GIVEN]
    assert main([*words, "--arg", "n=64"]) == 0
    [(source, *rest)] = builds
    assert "kernel" in source
    assert rest == ["pvc", "-DN=4", "saxpy.cl"]
    assert "y  float32[64]  1.0 3.0 5.0" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["info"], ["dis"], ["time", *GIVEN, "--arg", "n=64"]])
def test_others_do_so_too(builds, words, capsys):
    verb, *options = words
    assert main([verb, "saxpy.cl", "--device", "pvc", *options]) == 0
    assert len(builds) == 1
    assert "saxpy" in capsys.readouterr().out


def test_a_launch_file_may_name_a_source(builds, tmp_path, capsys):
    lines = ['file = "saxpy.cl"', 'platform = "pvc"', 'options = "-DN=2"', "global = 64", "[arg]"]
    lines += ['x = "iota:64"', 'y = "ones:64"', "a = 2", "n = 64"]
    (tmp_path / "launch.toml").write_text("\n".join(lines))
    assert main(["run", "launch.toml"]) == 0
    assert builds[0][1:3] == ("pvc", "-DN=2")


def test_a_name_that_ends_in_cl_is_a_source_whatever_it_begins_with(builds, tmp_path):
    (tmp_path / "k.cl").write_text("#define K kernel\nK void saxpy() {}\n")
    assert main(["info", "k.cl", "--arch", "skl"]) == 0
    assert builds[0][1] == "skl"
