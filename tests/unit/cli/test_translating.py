"""The verbs that make files of files (visim.cli.translating)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import visim
from tests.unit.cli.stand_ins import StandInProgram
from visim import opencl
from visim.binary.isafile import NativeCode, native_code, write_isa
from visim.cli import main
from visim.diag import Diagnostic, Severity, Source
from visim.errors import (
    ToolMissing,
)
from visim.runtime.compiling.compilers import Compiler
from visim.target import platform as find_platform
from visim.text import read_text

WITHOUT_TEXT = Path(__file__).parents[2] / "corpus/scale_bdw_without_visa.zebin"


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


class TestCl:
    @pytest.fixture
    def builds(self, monkeypatch, kernel):
        builds = []

        def build(source, *, device, options, name, **others):
            builds.append((source, device, options, name, others))
            odd = Diagnostic("opencl-warning", Severity.WARNING, "odd")
            return StandInProgram((kernel,), "ocloc of a stand-in", (odd,))

        monkeypatch.setattr(opencl, "build", build)
        return builds

    @pytest.fixture
    def source(self, tmp_path):
        path = tmp_path / "scale.cl"
        path.write_text("kernel void scale() {}")
        return str(path)

    def test_a_zebin_appears_beside_the_source(self, source, builds, tmp_path, capsys):
        assert main(["cl", source, "--device", "pvc", "--options", "-DX=1"]) == 0
        others = {"include": (), "lines": True, "compiler": None}
        assert builds == [(Path(source), "pvc", "-DX=1", source, others)]
        assert (tmp_path / "scale.zebin").read_bytes() == b"zebin"
        out = capsys.readouterr().out
        assert out == f"{tmp_path / 'scale.zebin'}: scale (by ocloc of a stand-in)\n"

    def test_several_files_are_one_program(self, source, builds, tmp_path):
        other = tmp_path / "other.cl"
        other.write_text("kernel void other() {}")
        words = ["cl", source, str(other), "--device", "pvc", "-I", str(tmp_path)]
        assert main([*words, "--no-lines", "--compiler", "26"]) == 0
        [(sources, _, _, name, others)] = builds
        assert (sources, name) == ([Path(source), other], source)
        assert others == {"include": (str(tmp_path),), "lines": False, "compiler": "26"}

    def test_warnings_are_shown_beside_what_is_made(self, source, builds, capsys):
        assert main(["cl", source, "--device", "pvc"]) == 0
        assert "warning[opencl-warning]: odd" in capsys.readouterr().err

    @pytest.mark.parametrize("magic", [b"\x03\x02\x23\x07", b"\x07\x23\x02\x03"])
    def test_spir_v_is_compiled_as_the_bytes_that_it_is(self, builds, tmp_path, magic):
        path = tmp_path / "scale.spv"
        path.write_bytes(magic + b"\0\0\1\0")
        assert main(["cl", str(path), "--device", "pvc"]) == 0
        assert [source for source, *_ in builds] == [path.read_bytes()]

    def test_a_dash_writes_the_zebin_to_the_standard_output(self, source, builds, capfdbinary):
        assert main(["cl", source, "--device", "pvc", "-o", "-"]) == 0
        assert capfdbinary.readouterr().out == b"zebin"

    def test_a_missing_compiler_is_3(self, source, monkeypatch, capsys):
        def build(source, **options):
            raise ToolMissing("ocloc is not installed: apt-get install intel-opencl-icd")

        monkeypatch.setattr(opencl, "build", build)
        assert main(["cl", source, "--device", "pvc"]) == 3
        assert "apt-get install" in capsys.readouterr().err

    def test_a_zebin_is_not_taken_for_a_source(self, builds, tmp_path, capsys):
        assert main(["cl", str(WITHOUT_TEXT), "--device", "bdw", "-o", str(tmp_path / "k")]) == 1
        assert f"{WITHOUT_TEXT}: this is compiled already" in capsys.readouterr().err
        assert builds == []

    @pytest.mark.parametrize("order", ["utf-16-le", "utf-16-be"])
    def test_a_source_in_utf_16_is_refused(self, builds, tmp_path, capsys, order):
        path = tmp_path / "k.cl"
        path.write_bytes("\ufeffkernel void k() {}".encode(order))
        assert main(["cl", str(path), "--device", "bdw"]) == 1
        assert "k.cl: the text is UTF-16, expected UTF-8" in capsys.readouterr().err
        assert builds == []

    def test_a_visa_text_is_not_taken_for_a_source(self, builds, tmp_path, capsys):
        path = tmp_path / "k.visaasm"
        path.write_text('.version 4.1\n.kernel "k"\n')
        assert main(["cl", str(path), "--device", "bdw"]) == 1
        assert "k.visaasm: this is vISA text; visim run takes it" in capsys.readouterr().err
        assert builds == []

    def test_what_visim_refuses_leaves_no_file(self, tmp_path, monkeypatch, capsys):
        def build_zebin(source, **options):
            compiler = Compiler("libocloc.so", "1.0", "nobody's")
            return opencl.Built(WITHOUT_TEXT.read_bytes(), str(source), compiler)

        monkeypatch.setattr(opencl, "build_zebin", build_zebin)
        path = tmp_path / "scale.cl"
        path.write_text("kernel void scale() {}")
        assert main(["cl", str(path), "--device", "bdw"]) == 1
        assert f"{path}: " in capsys.readouterr().err
        assert [file.name for file in tmp_path.iterdir()] == ["scale.cl"]


@pytest.mark.parametrize(
    "words",
    [
        ["cl", "FILE", "--device", "pvc", "-o", "FILE"],
        ["dis", "FILE", "-o", "FILE"],
        ["link", "FILE", "--platform", "pvc", "-o", "FILE"],
        ["asm", "FILE", "--platform", "pvc", "-o", "FILE"],
        ["reduce", "FILE", "--keep", "false", "-o", "FILE"],
        ["time", "FILE", "--platform", "pvc", "--arch", "pvc", "--html", "FILE"],
        ["time", "FILE", "--platform", "pvc", "--arch", "pvc", "--perfetto", "FILE"],
    ],
    ids=lambda words: words[0],
)
def test_what_is_written_does_not_replace_what_it_is_made_of(words, tmp_path, capsys):
    path = tmp_path / "k.visaasm"
    path.write_text(TestObjects.TEXT)
    assert main([str(path) if word == "FILE" else word for word in words]) == 2
    assert f"{path}: the output would replace what it is made of" in capsys.readouterr().err
    assert path.read_text() == TestObjects.TEXT


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
        assert main([*words, "--isa-version", "4.3"]) == 2
        assert "unknown version '4.3' of objects; known: 3.0, " in capsys.readouterr().err

    def test_what_a_version_has_no_place_for_is_refused(self, tmp_path, capsys):
        text = self.TEXT.replace("ret (M1, 1)", "wait 0x1:uw\n    ret (M1, 1)")
        (tmp_path / "k.visaasm").write_text(text)
        words = ["asm", str(tmp_path / "k.visaasm"), "--platform", "pvc"]
        assert main([*words, "--isa-version", "3.0"]) == 1
        assert "wait: version 3.0 has no place for a mask" in capsys.readouterr().err
        assert not (tmp_path / "k.isa").exists()

    def test_a_text_is_not_replaced_by_its_object(self, tmp_path, capsys):
        file = tmp_path / "k.isa"
        file.write_text(self.TEXT)
        for words in (["asm", str(file)], ["asm", str(file), "-o", str(tmp_path / "." / "k.isa")]):
            assert main([*words, "--platform", "pvc"]) == 2
            assert "the output would replace what it is made of" in capsys.readouterr().err
        assert file.read_text() == self.TEXT

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
        assert main([*words, "-o", str(tmp_path / "fat.isa")]) == 2
        assert "this is a file, give the name of a folder" in capsys.readouterr().err

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
    EXAMPLE = Path(__file__).parents[3] / "examples" / "linking"

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


class TestReduce:
    def test_what_is_no_text_is_refused(self, tmp_path, capsys):
        path = tmp_path / "program.isa"
        path.write_bytes(b"CISA\xff")
        assert main(["reduce", str(path), "--keep", "false"]) == 1
        assert "program.isa: not text: byte 4 is not UTF-8" in capsys.readouterr().err

    def test_a_command_with_half_a_quotation_is_refused(self, tmp_path, capsys):
        path = tmp_path / "program.visaasm"
        path.write_text(".version 4.1\n")
        assert main(["reduce", str(path), "--keep", "grep 'x"]) == 2
        assert "--keep: No closing quotation" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["--keep", ""], "--keep: expected a command"),
            (["--keep", "false", "--seconds", "nan"], "--seconds: expected a number above 0"),
            (["--keep", "false", "--seconds", "0"], "--seconds: expected a number above 0"),
        ],
    )
    def test_a_command_without_words_or_time_is_refused(self, tmp_path, capsys, words, message):
        path = tmp_path / "program.visaasm"
        path.write_text(".version 4.1\n")
        assert main(["reduce", str(path), *words]) == 2
        assert message in capsys.readouterr().err


def test_a_number_of_programs_is_one_to_compare(capsys):
    assert main(["smith", "--count", "2"]) == 2
    assert "how many programs to --compare" in capsys.readouterr().err
