"""What the command line does: verbs, exit codes, JSON (visim.cli).

Verbs are tried on small stand-ins for programs and kernels: what is under test is what the command
line passes on and what it makes of the answers.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import visim
from visim.binary.isafile import NativeCode, native_code, write_isa
from visim.cli import main
from visim.diag import Diagnostics, Source
from visim.errors import (
    ArgumentError,
    Fault,
    FaultError,
    InputError,
    InternalError,
    LinkError,
    ToolMissing,
    UnsupportedError,
)
from visim.runtime import ocloc, opencl
from visim.target import platform as find_platform
from visim.text import read_text

FAULT = Fault("undefined", "out-of-bounds", "store outside every buffer", kernel="scale", line=7)


@dataclass
class StandInReport:
    engine: str = "interpreter"

    def __str__(self):
        return "report of a stand-in"

    def to_dict(self):
        return {"engine": self.engine}


@dataclass
class StandInKernel:
    """A kernel that doubles its first argument in place."""

    name: str = "scale"
    args: tuple = (
        SimpleNamespace(name="x", kind="buffer", size=8, type_name="float*"),
        SimpleNamespace(name="n", kind="value", size=4, type_name="int"),
    )
    error: Exception | None = None
    launches: list = field(default_factory=list)

    def launch(self, args, **options):
        self.launches.append((args, options))
        if self.error is not None:
            raise self.error
        if isinstance(args[0], np.ndarray):
            args[0] *= args[0].dtype.type(2)
        return StandInReport()


@dataclass
class StandInProgram:
    kernels: tuple

    def __getitem__(self, name):
        return next(kernel for kernel in self.kernels if kernel.name == name)

    def text(self, unit=None):
        if unit == "nothing":
            raise KeyError("the program has no unit 'nothing'")
        return f".version 4.1\n{unit or 'everything'}\n"

    def info(self):
        return {
            "format": "zebin",
            "platform": "pvc",
            "version": "4.1",
            "kernels": [
                {
                    "name": "scale",
                    "simd_size": 16,
                    "args": [{"name": "x", "kind": "buffer", "size": 8, "type_name": "float*"}],
                    "slm_size": 64,
                    "barriers": 1,
                    "instructions": 5,
                    "opcodes": {"add": 1, "mov": 4},
                    "not_executable": [{"mnemonic": "dpas", "reason": "none yet", "line": 7}],
                }
            ],
            "functions": [{"name": "helper", "instructions": 1}],
        }


@pytest.fixture
def kernel():
    return StandInKernel()


@pytest.fixture
def loads():
    return []


@pytest.fixture
def file(tmp_path, monkeypatch, kernel, loads):
    """A file that loads as a program with the stand-in kernel."""

    def load(source, *, platform=None):
        loads.append((source, platform))
        return StandInProgram((kernel,))

    monkeypatch.setattr(visim, "load", load)
    path = tmp_path / "program.zebin"
    path.write_bytes(b"program")
    return str(path)


def fails_with(monkeypatch, error):
    def load(source, *, platform=None):
        raise error

    monkeypatch.setattr(visim, "load", load)


class TestRun:
    def test_arguments_and_options_reach_the_launch(self, file, kernel, loads):
        words = [
            "run",
            file,
            "-k",
            "scale",
            "--platform",
            "pvc",
            "--global",
            "64,32",
            "--local",
            "8",
        ]
        words += ["--offset", "1", "--arg", "x=iota:f32:4", "--arg", "1=i32:4", "--seed", "3"]
        words += ["--budget", "99", "--workers", "2", "--checks", "off", "--require-exact"]
        words += [
            "--collect",
            "instructions",
            "--engine",
            "interpreter",
            "--surface",
            "2=zeros:u8:8",
        ]
        assert main(words) == 0
        assert loads == [(file, "pvc")]
        [(args, options)] = kernel.launches
        np.testing.assert_array_equal(args[0], [0, 2, 4, 6])
        assert args[1] == np.int32(4)
        surfaces = options.pop("surfaces")
        assert list(surfaces) == [2]
        assert options == {
            "global_size": (64, 32),
            "local_size": (8,),
            "global_offset": (1,),
            "seed": 3,
            "budget": 99,
            "workers": 2,
            "checks": "off",
            "require_exact": True,
            "collect": ("instructions",),
            "engine": "interpreter",
        }

    def test_bare_and_media_geometry_reach_the_launch(self, file, kernel):
        arguments = ["--arg", "x=null", "--arg", "n=i32:0"]
        assert main(["run", file, *arguments, "--groups", "4x2", "--group-size", "2"]) == 0
        dependency = ["--dependency", "-1,0; 0,-1"]
        assert main(["run", file, *arguments, "--thread-space", "64,32", *dependency]) == 0
        assert [options for _, options in kernel.launches] == [
            {"thread_groups": (4, 2), "group_size": (2,)},
            {"thread_space": (64, 32), "dependency": [(-1, 0), (0, -1)]},
        ]

    def test_options_that_are_not_given_are_left_to_the_library(self, file, kernel):
        main(["run", file, "--arg", "x=null", "--arg", "n=i32:0"])
        assert kernel.launches == [([None, np.int32(0)], {})]

    def test_report_and_first_elements_are_printed(self, file, capsys):
        assert main(["run", file, "--arg", "x=iota:f32:10", "--arg", "n=i32:0"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines == [
            "report of a stand-in",
            "x  float32[10]  0.0 2.0 4.0 6.0 8.0 10.0 12.0 14.0 ...",
        ]

    def test_json_is_the_report(self, file, capsys):
        assert main(["run", file, "--arg", "x=null", "--arg", "n=i32:0", "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == {"engine": "interpreter"}

    def test_outputs_are_written(self, file, tmp_path, capsys):
        words = ["--arg", "x=ones:u8:2x3", "--arg", "n=i32:0", "--show"]
        outputs = ["--out", f"x={tmp_path / 'x.npy'}", "--out", f"0={tmp_path / 'x.png'}"]
        assert main(["run", file, *words, *outputs]) == 0
        np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), np.full((2, 3), 2, np.uint8))
        assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
        assert "\N{UPPER HALF BLOCK}" in capsys.readouterr().out

    def test_a_surface_can_be_written(self, file, tmp_path):
        words = ["--arg", "x=null", "--arg", "n=i32:0", "--surface", "1=iota:u8:4"]
        assert main(["run", file, *words, "--out", f"surface:1={tmp_path / 's.npy'}"]) == 0
        np.testing.assert_array_equal(np.load(tmp_path / "s.npy"), np.arange(4))

    def test_a_dash_writes_to_the_standard_output_alone(self, file, capfdbinary):
        words = ["run", file, "--arg", "x=ones:u8:2", "--arg", "n=i32:0", "--out", "x=-"]
        assert main(words) == 0
        out, err = capfdbinary.readouterr()
        np.testing.assert_array_equal(np.load(io.BytesIO(out)), [2, 2])
        assert b"report of a stand-in" in err

    def test_a_dash_reads_the_program_from_the_standard_input(self, file, loads, monkeypatch):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"bytes")))
        assert main(["run", "-", "--arg", "x=null", "--arg", "n=i32:0"]) == 0
        assert loads == [(b"bytes", None)]

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["-k", "scala"], "no kernel 'scala'; did you mean 'scale'"),
            (["--arg", "x=null"], "no value for n;"),
            (["--arg", "x"], "expected --arg KEY=VALUE"),
            (["--arg", "y=null"], "no argument 'y'"),
            (["--global", "big"], "global: expected 1 to 3 integers"),
            (["--dependency", "1,2,3"], "dependency: expected a name"),
            (["--out", "x=/nowhere/a.npy"], "there is no folder for /nowhere/a.npy"),
            (["--out", "x=a.jpg"], "expected a file .npy or .png"),
            (["--arg", "x=null", "--arg", "n=i32:1", "--out", "n=a.npy"], "is no array"),
            (["--arg", "x=ones:f32:4x4", "--arg", "n=i32:1", "--out", "x=a.png"], "is no picture"),
            (["--arg", "x=null", "--arg", "n=i32:1", "--show"], "--show needs a picture"),
            (["--json", "--out", "x=-"], "the standard output can take only one"),
            (["--arg", "x=npy:-", "--arg", "n=npy:-"], "the standard input can be read only once"),
        ],
    )
    def test_wrong_use_is_2_and_nothing_runs(self, file, kernel, capsys, words, said):
        assert main(["run", file, *words]) == 2
        shown = capsys.readouterr()
        assert said in shown.err + shown.out
        assert kernel.launches == []

    def test_a_file_with_several_kernels_needs_a_name(self, file, monkeypatch, capsys):
        program = StandInProgram((StandInKernel("a"), StandInKernel("b")))
        monkeypatch.setattr(visim, "load", lambda source, *, platform=None: program)
        assert main(["run", file]) == 2
        assert "say which kernel to run with -k; the file has: a, b" in capsys.readouterr().err

    def test_a_fault_is_1_and_has_its_own_key(self, file, kernel, capsys):
        kernel.error = FaultError(FAULT, StandInReport())
        words = ["run", file, "--arg", "x=null", "--arg", "n=i32:0"]
        assert main(words) == 1
        assert "store outside every buffer" in capsys.readouterr().err
        assert main([*words, "--json"]) == 1
        form = json.loads(capsys.readouterr().out)
        assert form["engine"] == "interpreter"
        assert form["fault"] == FAULT.to_dict()
        assert form["error"]["kind"] == "FaultError"


class TestLaunchFile:
    LAUNCH = """
        file = "program.zebin"
        kernel = "scale"
        global = [64, 32]
        local = 8
        seed = 3
        require-exact = true
        collect = ["instructions"]

        [arg]
        x = "npy:x.npy"
        n = 4

        [out]
        x = "result.npy"
    """

    @pytest.fixture
    def launch(self, file, tmp_path):
        np.save(tmp_path / "x.npy", np.ones(2, np.float32))
        path = tmp_path / "launch.toml"
        path.write_text(self.LAUNCH)
        return str(path)

    def test_it_has_the_same_keys_as_the_options(self, launch, kernel, loads, tmp_path):
        assert main(["run", launch]) == 0
        assert loads == [(str(tmp_path / "program.zebin"), None)]
        [(args, options)] = kernel.launches
        assert args[1] == 4
        assert options == {
            "global_size": (64, 32),
            "local_size": (8,),
            "seed": 3,
            "require_exact": True,
            "collect": ("instructions",),
        }
        np.testing.assert_array_equal(np.load(tmp_path / "result.npy"), [2, 2])

    def test_options_of_the_command_line_win(self, launch, kernel):
        words = ["--local", "16", "--arg", "n=i32:5", "--seed", "4"]
        assert main(["run", launch, *words]) == 0
        [(args, options)] = kernel.launches
        assert args[1] == 5
        assert (options["global_size"], options["local_size"]) == ((64, 32), (16,))
        assert options["seed"] == 4

    def test_another_geometry_of_the_command_line_replaces_the_files(self, launch, kernel):
        assert main(["run", launch, "--groups", "2"]) == 0
        [(_, options)] = kernel.launches
        assert options["thread_groups"] == (2,)
        assert "global_size" not in options
        assert "local_size" not in options

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("kernel = 'x'", "the key 'file', the program to run, is missing"),
            ("file = 'x'\nglobl = 1", "unknown key 'globl'"),
            ("file = 'x'\nglobal = 'big'", "global: expected"),
            ("file = 'x'\nseed = -1", "seed: expected an integer from 0"),
            ("file = 'x'\nkernel = 1", "kernel: expected text"),
            ("file = ", "not a TOML file"),
        ],
    )
    def test_a_wrong_launch_file_is_2(self, tmp_path, capsys, text, said):
        path = tmp_path / "launch.toml"
        path.write_text(text)
        assert main(["run", str(path)]) == 2
        assert said in capsys.readouterr().err


class TestDis:
    def test_text_goes_to_the_standard_output(self, file, capsys):
        assert main(["dis", file]) == 0
        assert capsys.readouterr().out == ".version 4.1\neverything\n"

    def test_one_unit_goes_to_a_file(self, file, tmp_path):
        target = tmp_path / "out.visaasm"
        assert main(["dis", file, "--unit", "scale", "-o", str(target)]) == 0
        assert target.read_text() == ".version 4.1\nscale\n"

    def test_an_unknown_unit_is_2(self, file, capsys):
        assert main(["dis", file, "--unit", "nothing"]) == 2
        assert "--unit: the program has no unit 'nothing'" in capsys.readouterr().err

    def test_json_holds_the_text(self, file, capsys):
        assert main(["dis", file, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["text"] == ".version 4.1\neverything\n"


class TestInfo:
    def test_tables_show_arguments_and_opcodes(self, file, capsys):
        assert main(["info", file]) == 0
        out = capsys.readouterr().out
        assert "format zebin, version 4.1, platform pvc" in out
        assert "kernel scale: SIMD16, 64 bytes of SLM, 1 barriers, 5 instructions" in out
        assert "float*" in out
        assert "opcodes: mov 4, add 1" in out
        assert "not executable: dpas (line 7): none yet" in out
        assert "functions: helper" in out

    def test_json_is_what_the_program_says(self, file, capsys):
        assert main(["info", file, "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == StandInProgram(()).info()


class TestCheck:
    @pytest.fixture
    def findings(self, monkeypatch):
        findings = Diagnostics()
        monkeypatch.setattr(visim, "verify", lambda source, *, platform=None: findings)
        return findings

    def test_a_file_without_findings_is_fine(self, file, findings, capsys):
        assert main(["check", file]) == 0
        assert capsys.readouterr().out == f"{file}: fine\n"

    def test_an_error_is_1(self, file, findings, capsys):
        findings.error("bad-thing", "something is bad", help="do better")
        assert main(["check", file]) == 1
        assert "error[bad-thing]: something is bad" in capsys.readouterr().out

    def test_json_lists_the_findings_by_file(self, file, findings, capsys):
        findings.error("bad-thing", "something is bad", help="do better")
        assert main(["check", file, "--json"]) == 1
        assert json.loads(capsys.readouterr().out) == {
            "files": [
                {
                    "file": file,
                    "diagnostics": [
                        {
                            "code": "bad-thing",
                            "severity": "error",
                            "message": "something is bad",
                            "line": None,
                            "column": None,
                            "offset": None,
                            "help": "do better",
                            "rule": None,
                        }
                    ],
                }
            ]
        }


class TestCl:
    @pytest.fixture
    def builds(self, monkeypatch, kernel):
        builds = []

        def build(source, *, device, options, name):
            builds.append((source, device, options, name))
            return b"zebin"

        def load(source):
            assert source == b"zebin"
            return StandInProgram((kernel,))

        monkeypatch.setattr(opencl, "build_zebin", build)
        monkeypatch.setattr(visim, "load", load)
        return builds

    @pytest.fixture
    def source(self, tmp_path):
        path = tmp_path / "scale.cl"
        path.write_text("kernel void scale() {}")
        return str(path)

    def test_a_zebin_appears_beside_the_source(self, source, builds, tmp_path, capsys):
        assert main(["cl", source, "--device", "pvc", "--options", "-DX=1"]) == 0
        assert builds == [("kernel void scale() {}", "pvc", "-DX=1", source)]
        assert (tmp_path / "scale.zebin").read_bytes() == b"zebin"
        assert capsys.readouterr().out == f"{tmp_path / 'scale.zebin'}: scale\n"

    def test_a_dash_writes_the_zebin_to_the_standard_output(self, source, builds, capfdbinary):
        assert main(["cl", source, "--device", "pvc", "-o", "-"]) == 0
        assert capfdbinary.readouterr().out == b"zebin"

    def test_a_missing_compiler_is_3(self, source, monkeypatch, capsys):
        def build(source, *, device, options, name):
            raise ToolMissing("ocloc is not installed: apt-get install intel-opencl-icd")

        monkeypatch.setattr(opencl, "build_zebin", build)
        assert main(["cl", source, "--device", "pvc"]) == 3
        assert "apt-get install" in capsys.readouterr().err


class TestExitCodes:
    @pytest.mark.parametrize(
        ("error", "code"),
        [
            (InputError("broken"), 1),
            (LinkError("does not fit"), 1),
            (FaultError(FAULT), 1),
            (UnsupportedError("not there"), 1),
            (ArgumentError("wrong"), 2),
            (FileNotFoundError(2, "No such file", "x"), 2),
            (ToolMissing("no ocloc"), 3),
            (InternalError("oops"), 4),
            (ZeroDivisionError("oops"), 4),
            (KeyboardInterrupt(), 130),
        ],
    )
    def test_who_is_at_fault_decides(self, file, monkeypatch, capsys, error, code):
        fails_with(monkeypatch, error)
        assert main(["info", file]) == code
        shown = capsys.readouterr()
        assert shown.out == ""
        assert "Traceback" not in shown.err
        assert main(["info", file, "--json"]) == code
        form = json.loads(capsys.readouterr().out)
        assert form["error"]["kind"] == type(error).__name__
        assert form["error"]["exit_code"] == code

    def test_findings_of_an_input_error_are_part_of_the_json(self, file, monkeypatch, capsys):
        fails_with(monkeypatch, InputError("broken"))
        main(["info", file, "--json"])
        [finding] = json.loads(capsys.readouterr().out)["error"]["diagnostics"]
        assert (finding["severity"], finding["message"]) == ("error", "broken")

    def test_a_bug_asks_for_a_report_and_shows_the_traceback_on_request(
        self, file, monkeypatch, capsys
    ):
        fails_with(monkeypatch, ZeroDivisionError("oops"))
        main(["info", file])
        assert "please report it" in capsys.readouterr().err
        monkeypatch.setenv("VISIM_DEBUG", "1")
        main(["info", file])
        assert "Traceback" in capsys.readouterr().err

    @pytest.mark.parametrize(
        "words", [["nonsense"], ["run"], ["run", "/nowhere/x.zebin"], ["check"], ["dis", "--nope"]]
    )
    def test_wrong_use_is_2(self, words, capsys):
        assert main(words) == 2
        assert "Error" in capsys.readouterr().err
        assert main([*words, "--json"]) == 2
        assert json.loads(capsys.readouterr().out)["error"]["exit_code"] == 2

    def test_help_is_0(self, capsys):
        assert main(["--help"]) == 0
        assert "run" in capsys.readouterr().out


class TestProcess:
    def test_help_comes_without_numpy(self):
        code = (
            "import sys; from visim.cli import main; main(['--help']);"
            " sys.exit('numpy' in sys.modules)"
        )
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)

    def test_the_package_runs_as_a_module(self):
        words = [sys.executable, "-m", "visim", "--help"]
        shown = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        assert shown.startswith("Usage: visim ")

    def test_a_reader_that_goes_away_is_no_bug(self):
        reader, writer = os.pipe()
        os.close(reader)
        try:
            words = [sys.executable, "-m", "visim", "--help"]
            done = subprocess.run(words, stdout=writer, stderr=subprocess.PIPE, check=False)
        finally:
            os.close(writer)
        assert done.returncode == 1
        assert done.stderr == b""


class TestDoctor:
    def test_it_names_what_is_there_and_what_is_missing(self, capsys, monkeypatch):
        monkeypatch.setenv("PATH", "/nowhere")
        assert main(["doctor"]) == 0
        out = capsys.readouterr().out
        assert "numpy" in out
        assert "oclgrind: apt-get install oclgrind" in out

    def test_a_missing_compiler_is_no_failure(self, capsys, monkeypatch):
        monkeypatch.setattr(opencl, "find_ocloc", lambda: None)
        assert main(["doctor"]) == 0
        assert f"ocloc: {ocloc.INSTALL_HINT}" in capsys.readouterr().out

    def test_json_has_the_findings(self, capsys):
        main(["doctor", "--json"])
        findings = json.loads(capsys.readouterr().out)["findings"]
        assert {"name", "state", "detail", "purpose", "help"} == set(findings[0])


class TestObjects:
    TEXT = (
        '.version 4.1\n.kernel "k"\n.kernel_attr SimdSize=8\n.function "k_0"\n\nk_0:\n'
        "    ret (M1, 1)\n"
    )

    def test_a_text_becomes_an_object_and_a_text_again(self, tmp_path, capsys):
        (tmp_path / "k.visaasm").write_text(self.TEXT)
        assert main(["asm", str(tmp_path / "k.visaasm"), "--platform", "pvc"]) == 0
        assert (tmp_path / "k.isa").read_bytes()[:4] == b"CISA"
        capsys.readouterr()
        assert main(["dis", str(tmp_path / "k.isa")]) == 0
        assert "ret (M1, 1)" in capsys.readouterr().out

    def test_two_texts_become_one_object(self, tmp_path):
        for name in "ab":
            (tmp_path / f"{name}.visaasm").write_text(self.TEXT.replace('"k"', f'"{name}"'))
        files = [str(tmp_path / f"{name}.visaasm") for name in "ab"]
        target = str(tmp_path / "both.isa")
        assert main(["link", *files, "--platform", "pvc", "-o", target]) == 0
        assert [kernel.name for kernel in visim.load(target, platform="pvc").kernels] == ["a", "b"]

    def test_a_broken_text_leaves_no_object(self, tmp_path, capsys):
        (tmp_path / "k.visaasm").write_text(self.TEXT.replace("ret", "rett"))
        assert main(["asm", str(tmp_path / "k.visaasm"), "--platform", "pvc"]) == 1
        assert "rett" in capsys.readouterr().err
        assert not (tmp_path / "k.isa").exists()

    @pytest.mark.parametrize("version", ["3.0", "3.4", "4.0"])
    def test_an_object_has_the_version_that_is_asked_for(self, tmp_path, capsys, version):
        (tmp_path / "k.visaasm").write_text(self.TEXT)
        words = ["asm", str(tmp_path / "k.visaasm"), "--platform", "pvc"]
        assert main([*words, "--isa-version", version]) == 0
        written = (tmp_path / "k.isa").read_bytes()
        assert written[4:6] == bytes(int(number) for number in version.split("."))
        capsys.readouterr()
        assert main(["info", str(tmp_path / "k.isa"), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["version"] == version

    def test_an_unknown_version_is_refused(self, tmp_path, capsys):
        (tmp_path / "k.visaasm").write_text(self.TEXT)
        words = ["asm", str(tmp_path / "k.visaasm"), "--platform", "pvc"]
        assert main([*words, "--isa-version", "4.2"]) == 2
        assert "unknown version '4.2' of objects; known: 3.0, " in capsys.readouterr().err

    def test_what_a_version_has_no_place_for_is_refused(self, tmp_path, capsys):
        text = self.TEXT.replace("ret (M1, 1)", "wait 0x1:uw\n    ret (M1, 1)")
        (tmp_path / "k.visaasm").write_text(text)
        words = ["asm", str(tmp_path / "k.visaasm"), "--platform", "pvc"]
        assert main([*words, "--isa-version", "3.0"]) == 1
        assert "wait: version 3.0 has no place for a mask" in capsys.readouterr().err
        assert not (tmp_path / "k.isa").exists()

    def test_gen_code_is_extracted_byte_for_byte(self, tmp_path, capsys):
        module = read_text(Source("k", self.TEXT))
        native = {"k": (NativeCode(14, b"first"), NativeCode(99, b"second"))}
        data = write_isa(module, platform=find_platform("pvc"), native=native)
        (tmp_path / "fat.isa").write_bytes(data)
        folder = tmp_path / "gen"
        words = ["extract", str(tmp_path / "fat.isa"), "-o", str(folder)]
        assert main([*words, "--json"]) == 0
        written = json.loads(capsys.readouterr().out)["files"]
        assert [(entry["platform"], entry["code"]) for entry in written] == [
            ("pvc", 14),
            ("unknown", 99),
        ]
        assert (folder / "k.pvc-14.gen").read_bytes() == b"first"
        assert (folder / "k.unknown-99.gen").read_bytes() == b"second"
        assert main(words) == 0

    def test_gen_code_stays_in_an_object_that_is_written_again(self, tmp_path):
        module = read_text(Source("k", self.TEXT))
        native = {"k": (NativeCode(14, b"code"),)}
        data = write_isa(module, platform=find_platform("pvc"), native=native)
        visim.load(data).write(tmp_path / "k.isa")
        assert native_code((tmp_path / "k.isa").read_bytes(), "k.isa") == native

    def test_a_file_without_gen_code_is_refused(self, tmp_path, capsys):
        (tmp_path / "k.visaasm").write_text(self.TEXT)
        assert main(["extract", str(tmp_path / "k.visaasm"), "-o", str(tmp_path / "gen")]) == 1
        assert "there is no Gen code in it" in capsys.readouterr().err
        assert not (tmp_path / "gen").exists()


class TestLinkedFiles:
    EXAMPLE = Path(__file__).parents[2] / "examples" / "linking"

    def test_objects_become_a_program_that_runs(self, tmp_path, capsys):
        files = [str(tmp_path / f"{name}.isa") for name in ("fib", "kernel")]
        for file in files:
            source = str(self.EXAMPLE / f"{Path(file).stem}.visaasm")
            assert main(["asm", source, "--platform", "skl", "-o", file]) == 0
        target = str(tmp_path / "fibonacci.isa")
        assert main(["link", *files, "--platform", "skl", "--gc", "--strip", "-o", target]) == 0
        assert main(["check", target, "--platform", "skl"]) == 0
        capsys.readouterr()
        assert main(["info", target]) == 0
        shown = capsys.readouterr().out
        assert "functions: fib" in shown
        assert "variables of file scope: table" in shown
        words = ["run", target, "--platform", "skl", "--groups", "1", "--arg", "n=u32:9"]
        words = [word.replace("n=", "1=") for word in words]
        assert main([*words, "--arg", "0=zeros:u32:32", "--out", f"0={tmp_path / 'o.npy'}"]) == 0
        assert np.load(tmp_path / "o.npy")[:10].tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]

    def test_a_part_does_not_run(self, capsys):
        words = ["run", str(self.EXAMPLE / "kernel.visaasm"), "--platform", "skl"]
        words += ["--groups", "1", "--arg", "OUT=zeros:u32:32", "--arg", "n=u32:9"]
        assert main(words) == 1
        assert "function 'fib' is not part of the program" in capsys.readouterr().err

    def test_a_part_is_shown(self, capsys):
        assert main(["info", str(self.EXAMPLE / "kernel.visaasm")]) == 0
        shown = capsys.readouterr().out
        assert "external functions: fib" in shown
        assert "table (extern)" in shown

    @pytest.mark.parametrize("verb", ["asm", "check", "link"])
    def test_extensions_are_refused_with_strict(self, tmp_path, capsys, verb):
        words = [verb, str(self.EXAMPLE / "fib.visaasm"), "--platform", "skl", "--strict"]
        words += [] if verb == "check" else ["-o", str(tmp_path / "o.isa")]
        assert main(words) == 1
        captured = capsys.readouterr()
        assert ".global_variable is an extension of visim" in captured.out + captured.err

    def test_undefined_names_are_said(self, tmp_path, capsys):
        words = ["link", str(self.EXAMPLE / "kernel.visaasm"), "--platform", "skl"]
        assert main([*words, "-o", str(tmp_path / "o.isa")]) == 1
        shown = capsys.readouterr().err
        assert "kernel.visaasm needs the function 'fib', which none of the files defines" in shown
        assert "kernel.visaasm needs the variable 'table'" in shown
        assert not (tmp_path / "o.isa").exists()


class TestCheckOptions:
    def test_a_rule_is_explained_with_its_examples(self, capsys):
        assert main(["check", "--explain", "mask-unaligned"]) == 0
        said = capsys.readouterr().out
        assert "mov (M2, 16)" in said
        assert "vISA 3, Execution Mask" in said

    def test_an_unknown_rule_names_the_nearest(self, capsys):
        assert main(["check", "--explain", "mask-unalined"]) != 0
        assert "did you mean mask-unaligned?" in capsys.readouterr().err

    def test_files_are_needed_otherwise(self, capsys):
        assert main(["check"]) != 0
        assert "FILE" in capsys.readouterr().err

    def test_sarif_names_rule_file_and_line(self, tmp_path, capsys):
        file = tmp_path / "k.visaasm"
        file.write_text('.version 4.1\n.kernel "k"\nmov (M1, 1) X(0,0)<1> 0x1:d\nret (M1, 1)\n')
        assert main(["check", "--sarif", str(file)]) == 1
        (run,) = json.loads(capsys.readouterr().out)["runs"]
        (result,) = run["results"]
        place = result["locations"][0]["physicalLocation"]
        assert result["ruleId"] == "unknown-variable"
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "unknown-variable"
        assert place["artifactLocation"]["uri"] == str(file)
        assert place["region"]["startLine"] == 3


CORPUS = Path(__file__).parents[1] / "corpus"


class TestInfoFacts:
    def test_symbols_inputs_attributes_and_metadata_are_shown(self, capsys):
        assert main(["info", str(CORPUS / "scale_skl.zebin")]) == 0
        said = capsys.readouterr().out
        for part in ("symbols: generals 29", "V0039 12 at 276", "SimdSize=32", "grf_count 128"):
            assert part in said

    def test_json_has_the_payload(self, capsys):
        assert main(["info", "--json", str(CORPUS / "scale_skl.zebin")]) == 0
        (kernel,) = json.loads(capsys.readouterr().out)["kernels"]
        assert kernel["symbols"]["generals"] == 29
        assert kernel["abi"]["execution_env"]["simd_size"] == 32
        assert {"arg_byvalue", "local_size"} <= {p["arg_type"] for p in kernel["abi"]["payload"]}
        assert kernel["inputs"][0] == {
            "name": "V0040",
            "kind": "explicit",
            "offset": 32,
            "size": 32,
        }
