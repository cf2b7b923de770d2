"""Programs that come from the standard input, which messages call `<stdin>`."""

from __future__ import annotations

import io
import json
import sys
from types import SimpleNamespace

import pytest

import visim
from visim.cli import main
from visim.diag import Diagnostic, Diagnostics, Severity, Source, Span
from visim.errors import InputError

TEXT = b'.version 4.1\n.kernel "k"\nret (M1, 1)\n'
WRONG = b'.version 4.1\n.kernel "k"\nrett (M1, 1)\n'


@pytest.fixture
def given(monkeypatch):
    """Sets what the standard input has."""

    def give(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))

    return give


@pytest.mark.parametrize(
    "words",
    [
        ["check", "-"],
        ["dis", "-"],
        ["info", "-"],
        ["info", "-", "--debug"],
        ["run", "-", "--groups", "1"],
        ["asm", "-", "--platform", "pvc", "-o", "OUT"],
        ["link", "-", "-o", "OUT"],
        ["extract", "-", "-o", "OUT"],
    ],
    ids=" ".join,
)
def test_a_mistake_in_it_is_named(words, given, tmp_path, capsys):
    given(WRONG)
    assert main([str(tmp_path / "out") if word == "OUT" else word for word in words]) == 1
    out, err = capsys.readouterr()
    assert " --> <stdin>:3:1\n" in out + err


def test_it_is_read_once_where_it_is_named_twice(given, capsys):
    given(TEXT)
    assert main(["check", "-", "-"]) == 0
    assert capsys.readouterr().out == "<stdin>: fine\n"


def test_its_findings_are_named_in_json(given, capsys):
    given(TEXT)
    assert main(["check", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["files"][0]["file"] == "<stdin>"


def test_what_has_no_gen_code_is_read_once(given, tmp_path, capsys):
    given(TEXT)
    assert main(["extract", "-", "-o", str(tmp_path)]) == 1
    assert "<stdin>: there is no Gen code in it" in capsys.readouterr().err


def test_a_program_for_no_device_is_named(given, capsys):
    given(TEXT)
    assert main(["run", "-", "--groups", "1"]) == 2
    assert "<stdin> does not say which device it is for" in capsys.readouterr().err


def test_a_mistake_in_opencl_c_is_named(given, monkeypatch, tmp_path, capsys):
    def build(source, *, name, **options):
        place = Span(Source(name, source), 1, 1)
        raise InputError(Diagnostics([Diagnostic("opencl-build", Severity.ERROR, "no", place)]))

    given(b"mistake")
    monkeypatch.setattr(visim.opencl, "build_zebin", build)
    assert main(["cl", "-", "--device", "pvc", "-o", str(tmp_path / "k.zebin")]) == 1
    assert " --> <stdin>:1:1\n" in capsys.readouterr().err
