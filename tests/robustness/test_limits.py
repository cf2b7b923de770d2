"""A small file cannot ask for much memory, and what is too deep or too long is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.robustness.greedy import GREEDY
from tests.unit.binary.objects import PVC
from visim.binary.isafile import read_isa, write_isa
from visim.diag import Source
from visim.errors import ArgumentError, InputError
from visim.operands import MAX_ALIASES
from visim.runtime.files.arguments_text import ArgumentText, read_value
from visim.runtime.files.run_options import MAX_TOML_BYTES, read_options
from visim.text import read_text

HEAD = '.version 4.1\n.kernel "k"\n'
VARIABLE = "v_type=G type=ud num_elts=4"


def test_greedy_files_are_refused_with_little_memory():
    command = [sys.executable, "-m", "tests.robustness.greedy"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == len(GREEDY)


def refused(text: str) -> str:
    with pytest.raises(InputError) as caught:
        read_text(Source("t", HEAD + text))
    return caught.value.diagnostics.errors[0].code


def aliases(count: int) -> str:
    lines = [f".decl X0 {VARIABLE}"]
    lines += [f".decl X{n + 1} {VARIABLE} alias=<X{n}, 0>" for n in range(count)]
    return "\n".join([*lines, "ret (M1, 1)", ""])


def test_aliases_of_aliases_have_a_limit():
    module = read_text(Source("t", HEAD + aliases(MAX_ALIASES)))
    assert read_isa(write_isa(module, platform=PVC), "t.isa", platform=PVC) == module
    assert refused(aliases(MAX_ALIASES + 1)) == "limit"


@pytest.mark.parametrize(
    "line",
    [
        "{" * 1000,
        "{" + "}" * 1000,
        ".decl X v_type=G type=ud num_elts=" + "(" * 1000,
        ".decl X v_type=G type=ud num_elts=" + "-" * 1000 + "1",
        f".decl X {VARIABLE}\nswitchjmp (M1, 1) X(0,0)<0;1,0> ({', '.join(['L'] * 300)})",
        "mov (M1, 1) X(0,0)<1> " + "1" * 5000 + ":d",
    ],
    ids=["open", "close", "brackets", "signs", "labels", "digits"],
)
def test_what_is_too_deep_or_too_long_is_refused(line: str):
    assert refused(line + "\n") == "limit"


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 5000,
        "a = " + "9" * 5000,
        "#" * (MAX_TOML_BYTES + 1),
        f'file = "k.visaasm"\nglobal = "{"1" * 5000}"',
        'file = "k.visaasm"\ndependency = "' + "1" * 5000 + ',1"',
    ],
    ids=["nesting", "digits", "size", "sizes", "vectors"],
)
def test_a_hostile_launch_file_is_refused(text: str, tmp_path: Path):
    file = tmp_path / "launch.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ArgumentError):
        read_options(str(file), {})


@pytest.mark.parametrize(
    "header",
    [b"{'descr': '<)f4', ", b"{'descr': '<f4'}'", b"((((((", b"\0" * 20, b"{'shape': (-1,)}"],
)
def test_a_broken_array_file_is_refused(header: bytes, tmp_path: Path):
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x01\x00" + bytes((len(header), 0)) + header)
    with pytest.raises(ArgumentError):
        read_value(ArgumentText("x", "npy:a.npy", tmp_path), name="x", seed=(0,))


@pytest.mark.parametrize(
    "text", ["zeros:u8:0", "zeros:u8:٣", "local:" + "9" * 30, "i32:" + "1" * 9999]
)
def test_a_strange_number_is_refused(text: str):
    with pytest.raises(ArgumentError):
        read_value(ArgumentText("x", text), name="x", seed=(0,))
