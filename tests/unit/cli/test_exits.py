"""Exit codes, and visim as a process (visim.cli.app, visim.cli.failures)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.stand_ins import FAULT, fails_with
from visim.cli import main
from visim.errors import (
    ArgumentError,
    FaultError,
    InputError,
    InternalError,
    LinkError,
    ToolMissing,
    UnsupportedError,
)

KERNEL = "\N{CYRILLIC SMALL LETTER YA}"
MANDELBROT = Path(__file__).parents[3] / "examples" / "mandelbrot" / "mandelbrot.zebin"


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
        assert capsys.readouterr().err.startswith("error: ")
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

    def _shell(self, command: str) -> subprocess.CompletedProcess[str]:
        words = ["sh", "-c", command.replace("visim", f"{sys.executable} -m visim")]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    @pytest.mark.parametrize("command", ["smith --json", "check --explain block-count --json"])
    def test_a_full_disk_behind_the_output_is_said_in_words(self, command):
        done = self._shell(f"visim {command} > /dev/full")
        assert done.returncode == 2
        assert done.stderr == "error: No space left on device\n"

    def test_an_output_need_not_have_all_characters(self, tmp_path):
        program = tmp_path / "k.visaasm"
        program.write_text(f'.version 4.1\n.kernel "{KERNEL}"\nret (M1, 1)\n', "utf-8")
        target = tmp_path / "k.isa"
        words = ["asm", str(program), "--platform", "pvc", "-o", str(target)]
        assert self._encoded("latin-1", *words).endswith(b"k.isa: \\u044f\n")
        assert b"kernel \\u044f:" in self._encoded("latin-1", "info", str(target))

    @pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
    def test_text_of_a_program_is_utf_8_wherever_it_goes(self, tmp_path, encoding):
        program = tmp_path / "k.visaasm"
        program.write_text(f'.version 4.1\n.kernel "{KERNEL}"\nret (M1, 1)\n', "utf-8")
        shown = self._encoded(encoding, "dis", str(program))
        assert f'.kernel "{KERNEL}"'.encode() in shown

    @pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
    def test_pictures_need_no_half_blocks(self, tmp_path, encoding):
        sizes = ["--global", "4,2", "--arg", "out=zeros:u8:2x4x4", "--arg", "limit=i32:4"]
        place = ["--arg", "x=f32:0", "--arg", "y=f32:0", "--arg", "width=f32:4"]
        shown = ["--out", f"out={tmp_path / 'm.png'}", "--show"]
        picture = self._encoded(encoding, "run", str(MANDELBROT), *sizes, *place, *shown)
        assert picture.count(b"m \x1b[48;2;") == 3

    def _encoded(self, encoding: str, *words: str) -> bytes:
        """Return what a verb prints where the standard output has an encoding."""
        environment = {**os.environ, "PYTHONIOENCODING": encoding}
        words = (sys.executable, "-m", "visim", *words)
        return subprocess.run(words, capture_output=True, check=True, env=environment).stdout

    def test_a_closed_output_is_wrong_use(self):
        done = self._shell("visim smith >&-")
        assert done.returncode == 2
        assert "the standard output is closed" in done.stderr

    def test_a_closed_input_is_wrong_use(self):
        done = self._shell("visim info - <&-")
        assert done.returncode == 2
        assert done.stderr == "error: -: the standard input is closed\n"

    def test_a_run_needs_nowhere_to_complain(self):
        arguments = "--arg out=zeros:u8:2x4x4 --arg limit=i32:4"
        place = "--arg x=f32:0 --arg y=f32:0 --arg width=f32:4"
        done = self._shell(f"visim run {MANDELBROT} --global 4,2 {arguments} {place} 2>&-")
        assert done.returncode == 0
        assert "mandelbrot on pvc" in done.stdout
        assert self._shell("visim nonsense 2>&-").returncode == 2

    def test_the_name_of_the_output_may_be_that_of_a_pipe(self, tmp_path):
        program = tmp_path / "k.visaasm"
        program.write_text(self._shell("visim smith").stdout)
        done = self._shell(f"visim dis {program} --platform pvc -o /dev/stdout | cat")
        assert done.stdout.startswith(".version")
        assert done.stderr == ""
