"""`visim run` on real programs: printf, thread spaces, interrupts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from visim.cli import main
from visim.runtime import running

CORPUS = Path(__file__).parents[1] / "corpus"
TURNED = "".join(f"turned {i}\n" for i in range(64))
MEDIA = """\
.version 4.1
.kernel "k"
.decl P1 v_type=P num_elts=1
.kernel_attr SimdSize=8
.function "k_0"

k_0:
    wait 0x0:ub
    ret (M1, 1)
"""


@pytest.fixture
def rotate():
    """The words of a run that prints 64 lines."""
    sizes = ["-k", "rotate", "--global", "16,4", "--arg", "0=zeros:i32:64"]
    return ["run", str(CORPUS / "data_tgllp.zebin"), *sizes, *_arguments()]


def _arguments():
    return ["--arg", "1=local:256", "--arg", "2=hex:" + "00" * 16]


def test_what_a_kernel_prints_comes_before_the_report(rotate, capsys):
    assert main(rotate) == 0
    out = capsys.readouterr().out
    assert out.startswith(TURNED + "rotate on tgllp")


def test_json_has_it_as_a_key(rotate, capsys):
    assert main([*rotate, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["printf"] == TURNED


def test_it_leaves_the_standard_output_to_data(rotate, capfdbinary):
    assert main([*rotate, "--out", "0=-"]) == 0
    shown = capfdbinary.readouterr()
    assert shown.out.startswith(b"\x93NUMPY")
    assert TURNED.encode() in shown.err


def test_a_thread_space_with_its_dependency(tmp_path, capsys):
    file = tmp_path / "k.visaasm"
    file.write_text(MEDIA)
    words = ["run", str(file), "--platform", "skl", "--thread-space", "6,4"]
    assert main([*words, "--dependency", "wavefront", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["geometry"] == {"thread_space": [6, 4], "dependency": "wavefront"}
    assert report["threads"] == 24
    assert main([*words, "--dependency", "sideways"]) == 2


def test_an_interrupt_says_where_it_was(rotate, monkeypatch, capsys):
    def interrupted(*_):
        error = KeyboardInterrupt()
        error.add_note("interrupted at kernel rotate, group (0, 0, 0), thread 1")
        raise error

    monkeypatch.setattr(running.ExecutablePool, "borrow", interrupted)
    assert main(rotate) == 130
    assert "interrupted at kernel rotate, group (0, 0, 0), thread 1" in capsys.readouterr().err
