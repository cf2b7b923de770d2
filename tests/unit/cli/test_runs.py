"""`visim run` on real programs: printf, thread spaces, interrupts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import visim
from visim.cli import main
from visim.runtime.files.png_reader import decode_png
from visim.runtime.launching import running
from visim.runtime.pictures import encode_png

CORPUS = Path(__file__).parents[2] / "corpus"
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


SAMPLING = """\
.version 4.1
.kernel "k"
.decl V32 v_type=G type=f num_elts=8 align=GRF
.decl V33 v_type=G type=f num_elts=32 align=GRF
.decl T6 v_type=T num_elts=1
.decl S0 v_type=S num_elts=1
.kernel_attr SimdSize=8
.function "k_0"

k_0:
    movs (M1_NM, 1) T6(0) 0x1:ud
    movs (M1_NM, 1) S0(0) 0x2:ud
    mov (M1_NM, 8) V32(0,0)<1> 0x40a00000:f
    sample_lz.RGBA (M1, 8)  0x0:uw S0 T6 V33.0 V32.0 V32.0
    movs (M1_NM, 1) T6(0) 0x3:ud
    oword_st (8) T6 0x0:ud V33.0
    ret (M1, 1)
"""
COUNTING = """\
.version 4.1
.kernel "k"
.decl V32 v_type=G type=ud num_elts=16 align=GRF
.kernel_attr SimdSize=16
.function "k_0"

k_0:
    mov (M1_NM, 16) V32(0,0)<1> 0x3:ud
    lsc_apndctr_atomic_add.ugm (M1, 16)  %null:d32  bti(0x5)  V32:d32
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


def test_samplers_by_index(tmp_path):
    file, out = tmp_path / "k.visaasm", tmp_path / "out.npy"
    file.write_text(SAMPLING)
    words = ["run", str(file), "--platform", "skl", "--surface", "1=image:ones:f32:2x2x4"]
    words += ["--surface", "3=zeros:f32:32", "--out", f"surface:3={out}"]
    border = "sampler:clamp,linear,normalized,border=0.25/0.5/0.75/2"
    assert main([*words, "--sampler", f"2={border}"]) == 0
    assert np.load(out).reshape(4, 8)[:, 0].tolist() == [0.25, 0.5, 0.75, 2]
    assert main(words) == 1
    assert main([*words, "--sampler", f"x={border}"]) == 2


def test_append_counters_are_in_the_report(tmp_path, capsys):
    file = tmp_path / "k.visaasm"
    file.write_text(COUNTING)
    words = ["run", str(file), "--platform", "dg2", "--groups", "2", "--surface", "5=zeros:u8:4"]
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["append_counters"] == {"5": 96}
    assert main(words) == 0
    assert "the append counter of surface 5 is 96" in capsys.readouterr().out


def test_append_counters_begin_at_0_in_every_launch():
    kernel = visim.assemble(COUNTING, platform="dg2")["k"]
    bound = kernel.bind([], thread_groups=2, surfaces={5: np.zeros(4, np.uint8)})
    assert [bound().append_counters for _ in range(2)] == [{5: 96}, {5: 96}]


def test_a_picture_goes_in_and_out(tmp_path):
    file, picture = tmp_path / "k.visaasm", tmp_path / "in.png"
    blue = np.zeros((2, 3, 4), np.uint8)
    blue[:, :, 2:] = 255
    picture.write_bytes(encode_png(blue))
    file.write_text(SAMPLING)
    words = ["run", str(file), "--platform", "skl", "--surface", f"1=image:{picture}"]
    out, data = tmp_path / "out.png", tmp_path / "out.npy"
    words += ["--surface", "3=zeros:f32:32", "--sampler", "2=sampler:"]
    outputs = ["--out", f"surface:1={out}"]
    assert main([*words, *outputs]) == 0
    assert np.array_equal(decode_png(out.read_bytes(), "out.png"), blue)
    assert main([*words, "--out", f"surface:3={data}"]) == 0
    assert np.load(data).reshape(4, 8)[:, 0].tolist() == [0, 0, 1, 1]


def test_a_platform_that_is_not_known_is_said_before_what_is_wrong_with_arguments(tmp_path, capsys):
    """Which inputs are arguments depends on the size of a register."""
    folder = Path(__file__).parents[3] / "examples" / "linking"
    linked = visim.link([folder / "kernel.visaasm", folder / "fib.visaasm"], platform="skl")
    linked.write(tmp_path / "k.isa")
    words = ["run", str(tmp_path / "k.isa"), "--groups", "1"]
    assert main([*words, "--arg", "OUT=zeros:u32:32", "--arg", "n=u32:20"]) == 2
    assert "does not say which device it is for: give --device" in capsys.readouterr().err


def test_a_platform_that_is_not_known_is_a_missing_option(tmp_path, capsys):
    path = tmp_path / "k.isa"
    path.write_bytes(visim.assemble(COUNTING, platform="dg2").to_object())
    assert main(["run", str(path), "--groups", "2", "--surface", "5=zeros:u8:4"]) == 2
    assert "does not say which device it is for: give --device" in capsys.readouterr().err


def test_a_size_of_many_digits_is_out_of_range(tmp_path, capsys):
    path = tmp_path / "k.visaasm"
    path.write_text(COUNTING)
    words = ["run", str(path), "--platform", "dg2", "--surface", "5=zeros:u8:4"]
    assert main([*words, "--groups", "9" * 30]) == 2
    assert f"{'9' * 30} is not in 1.." in capsys.readouterr().err
