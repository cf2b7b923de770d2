"""What `visim run` passes on and shows (visim.cli.launching)."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import visim
from tests.unit.cli.stand_ins import FAULT, StandInKernel, StandInProgram, StandInReport
from visim.cli import main
from visim.errors import (
    FaultError,
)

THOUSANDS = "a number of thousands of digits"


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
        words += ["--timeout", "1.5", "--bounds", "hardware"]
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
            "timeout": 1.5,
            "bounds": "hardware",
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

    def test_zero_is_a_value(self, file, kernel):
        numbers = ["--seed", "0", "--budget", "0", "--workers", "0"]
        assert main(["run", file, "--arg", "x=null", "--arg", "n=i32:0", *numbers]) == 0
        [(_, options)] = kernel.launches
        assert options == {"seed": 0, "budget": 0, "workers": 0}

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
        form = json.loads(capsys.readouterr().out)
        assert form == {"schema_version": 1, "engine": "interpreter"}

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
            (["-k", "scala"], "no kernel 'scala' (did you mean 'scale'?)"),
            (["--arg", "x=null"], "no value for n (value int); give --arg"),
            (["--arg", "x"], "expected --arg KEY=VALUE"),
            (["--arg", "y=null"], "no argument 'y'"),
            (["--global", "big"], "global: expected 1 to 3 integers"),
            (["--dependency", "1,2,3"], "dependency: expected a name"),
            (["--engine", "gpu"], "engine: expected jit or interpreter, found 'gpu'"),
            (["--checks", "no"], "checks: expected on or off, found 'no'"),
            (["--bounds", "no"], "bounds: expected fault or hardware, found 'no'"),
            (["--out", "x=/nowhere/a.npy"], "there is no folder for /nowhere/a.npy"),
            (["--out", "x=a.jpg"], "expected a file .npy or .png"),
            (["--arg", "x=null", "--arg", "n=i32:1", "--out", "n=a.npy"], "is not an array"),
            (
                ["--arg", "x=ones:f32:4x4", "--arg", "n=i32:1", "--out", "x=a.png"],
                "is not a picture",
            ),
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

    @pytest.mark.parametrize("words", [[], ["-k", "k"]])
    def test_a_file_without_kernels_says_so(self, file, words, monkeypatch, capsys):
        monkeypatch.setattr(visim, "load", lambda source, *, platform=None: StandInProgram(()))
        assert main(["run", file, *words]) == 2
        assert "the file has no kernels to run" in capsys.readouterr().err

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

    def test_it_may_begin_with_a_mark_of_its_byte_order(self, launch, loads):
        path = Path(launch)
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
        assert main(["run", launch]) == 0
        assert len(loads) == 1

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
            ("file = 'x'\nglobl = 1", "unknown key 'globl'; did you mean 'global'?"),
            ("file = 'x'\nglobal_size = 1", "unknown key 'global_size'; did you mean 'global'?"),
            ("file = 'x'\nthread_groups = 1", "did you mean 'groups'?"),
            ("file = 'x'\ncolour = 1", "unknown key 'colour'; known: file, kernel"),
            ("file = 'x'\nglobal = 'big'", "global: expected"),
            ("file = 'x'\nseed = -1", "seed: expected an integer from 0"),
            ("file = 'x'\nkernel = 1", "kernel: expected text"),
            ("file = ", "not a TOML file"),
            ("[arg]\nx = 1e400", "launch.toml: 1e400 is too large for a floating-point number"),
            (f"seed = {'9' * 5000}", "launch.toml: one of its numbers has thousands of digits"),
            *(
                (f"file = 'x'\n{key} = 0x{'f' * 5000}", f"found {THOUSANDS}")
                for key in ("kernel", "require_exact", "engine", "collect", "dependency", "arg")
            ),
            (f"file = 'x'\nseed = '0x{'f' * 5000}'", "seed: expected an integer, found '0xfff"),
            (f"file = 'x'\n[arg]\nx = [0x{'f' * 5000}]", "arg x: expected text or a number"),
            (f"file = 'x'\n[out]\nx = 0x{'f' * 5000}", f"out x: expected text, found {THOUSANDS}"),
            (f"#{' ' * 20000}", "launch.toml: more than 16384 bytes"),
        ],
    )
    def test_a_wrong_launch_file_is_2(self, tmp_path, capsys, text, said):
        path = tmp_path / "launch.toml"
        path.write_text(text)
        assert main(["run", str(path)]) == 2
        assert said in capsys.readouterr().err
