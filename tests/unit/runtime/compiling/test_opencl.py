"""OpenCL C to zebin: what the compiler is asked, how its log reads, and how it may die."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import visim
from tests.unit.runtime.compiling.spirv_modules import module
from visim.binary.zebin import read_zebin
from visim.diag import Severity
from visim.errors import ArgumentError, InputError, LinkError
from visim.runtime.compiling import ocloc, opencl
from visim.runtime.compiling.compilers import Compiler, compiler_for, compilers
from visim.runtime.compiling.opencl import ToolMissing
from visim.runtime.compiling.worker import (
    LIBRARY_VARIABLE,
    Answer,
    CompilerDied,
    CompilerStuck,
)

SCALE = "__kernel void scale(__global float *v, float f)\n{\n    v[get_global_id(0)] *= f;\n}\n"
CRASH = """
__attribute__((noinline)) int f(int n)
{
    return n < 2 ? get_global_id(0) : n * f(n - 1) + f(n - 2);
}
__kernel void k(__global int *x) { x[0] = f(x[1]); }
"""
ZEBIN = b"\x7fELF and so on"
BUILT = Answer(0, "", {"visim.spv": b"module", "visim": ZEBIN})
NOBODY = Compiler("libocloc.so", "0.0", "nobody's")
GIVES_UP = "__kernel void k(__global int *x) { x[0] = bitfield_insert(x[0], x[1], 3u, 4u); }"


def build_zebin(source, *, lines=False, **options) -> bytes:
    return opencl.build_zebin(source, lines=lines, **options).zebin


@pytest.fixture
def answers(monkeypatch):
    """Let the compiler give the next answer of this list; what it is asked is in `asked`."""

    class Answers(list):
        asked: list

    answers = Answers()
    answers.asked = []

    def invoke(library, arguments, source, timeout, files, *, notes):
        answers.notes = notes
        answers.asked.append((arguments, source))
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(ocloc, "invoke", invoke)
    monkeypatch.setattr(opencl, "compiler_for", lambda device, wanted: NOBODY)
    return answers


@pytest.fixture
def no_library(monkeypatch):
    monkeypatch.setenv(LIBRARY_VARIABLE, "/nowhere/libocloc.so")
    yield
    ocloc.close()


def failure(answers, log: str, source: str = SCALE, **options) -> InputError:
    answers.append(Answer(-11, log, {}))
    with pytest.raises(InputError) as caught:
        build_zebin(source, device="pvc", **options)
    return caught.value


def option(answers, name: str) -> str:
    words = answers.asked[-1][0]
    return words[words.index(name) + 1]


class TestQuestions:
    def test_two_language_standards_are_refused(self, answers):
        twice = "-cl-std=CL3.0 -w -cl-std=CL1.2"
        with pytest.raises(ArgumentError, match=r"given as CL3\.0 and as CL1\.2; leave one"):
            build_zebin(SCALE, device="skl", options=twice)
        answers.append(BUILT)
        build_zebin(SCALE, device="skl", options="-cl-std=CL2.0 -cl-std=CL2.0")
        assert option(answers, "-options") == "-cl-std=CL2.0 -cl-std=CL2.0"

    @pytest.mark.parametrize("option", ["-D", "-I"])
    def test_an_option_that_ends_too_early_is_refused(self, option):
        """The compiler would take the next of visim's own options for its value."""
        with pytest.raises(ArgumentError, match=f"nothing follows {option}"):
            build_zebin(SCALE, device="pvc", options=f"-g {option} ")

    def test_visa_text_is_always_asked_for(self, answers):
        answers.append(BUILT)
        assert build_zebin(SCALE, device="DG2") == ZEBIN
        assert option(answers, "-device") == "dg2"
        assert option(answers, "--format") == "zebin"
        assert option(answers, "-internal_options") == "-ze-emit-zebin-visa-sections"

    @pytest.mark.parametrize(
        ("device", "options", "images"),
        [
            ("pvc", "-w -cl-std=CL3.0", True),
            ("pvc", "-cl-std=CL2.0", False),
            ("pvc", "", False),
            ("dg2", "-cl-std=CL3.0", False),
        ],
    )
    def test_the_header_of_opencl_3_needs_images(self, answers, device, options, images):
        answers.append(BUILT)
        build_zebin(SCALE, device=device, options=options)
        assert ("__opencl_c_images" in option(answers, "-internal_options")) is images

    def test_opencl_3_is_compiled_for_pvc(self, compiler):
        zebin = build_zebin(SCALE, device="pvc", options="-cl-std=CL3.0")
        assert [kernel.name for kernel in read_zebin(zebin, "scale").kernels] == ["scale"]

    def test_an_unknown_device_is_an_argument_error(self):
        with pytest.raises(ArgumentError, match="known: bdw, skl, icllp, tgllp, dg2, mtl"):
            build_zebin(SCALE, device="gen99")

    def test_the_compiler_is_told_the_name_and_no_byte_order_mark(self, answers):
        answers.append(BUILT)
        build_zebin("\ufeff" + SCALE, device="pvc", name='my "scale".cl')
        assert answers.asked[0][1][1].decode() == (
            '#line 1 "/visim.opencl.build/my \\"scale\\".cl"\n' + SCALE + "\0"
        )

    def test_spir_v_goes_to_the_compiler_as_it_is(self, answers):
        answers.append(BUILT)
        assert build_zebin(module(), device="pvc", options=" -cl-opt-disable") == ZEBIN
        words, (file, data) = answers.asked[0]
        assert data == module()
        assert "-spirv_input" in words
        assert file == words[words.index("-file") + 1]
        assert option(answers, "-options") == "-cl-opt-disable"

    def test_a_crash_on_spir_v_says_what_helps(self, answers):
        answers.append(CompilerDied("SIGABRT", ""))
        with pytest.raises(InputError, match=r"crashed \(SIGABRT\) on k\.spv(?s:.*)newer libocloc"):
            build_zebin(module(), device="skl", name="k.spv")

    @pytest.mark.parametrize("source", [b"", b"kernel void f() {}", None, [b"k.spv"]])
    def test_what_is_neither_text_nor_spir_v_is_an_argument_error(self, source):
        with pytest.raises(ArgumentError, match=r"expected OpenCL C as a str, .*a SPIR-V module"):
            build_zebin(source, device="pvc")

    @pytest.mark.parametrize("kind", [bytearray, memoryview])
    def test_spir_v_is_taken_as_all_that_load_takes_for_bytes(self, answers, kind):
        answers.append(BUILT)
        assert build_zebin(kind(module()), device="pvc") == ZEBIN
        assert answers.asked[0][1][1] == module()

    def test_the_name_of_a_file_is_a_whole_path(self, answers, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("scale.cl").touch()
        answers.append(BUILT)
        build_zebin(SCALE, device="pvc", name="scale.cl")
        assert answers.asked[0][1][1].startswith(f'#line 1 "{tmp_path}/scale.cl"'.encode())

    @pytest.mark.parametrize(
        ("options", "lines", "asked"),
        [
            ("-w", True, "-w -gline-tables-only"),
            ("", True, "-gline-tables-only"),
            ("-w", False, "-w"),
            ("-g -w", True, "-g -w"),
        ],
    )
    def test_lines_are_asked_for_once(self, answers, options, lines, asked):
        answers.append(BUILT)
        build_zebin(SCALE, device="pvc", options=options, lines=lines)
        assert option(answers, "-options") == asked
        assert answers.notes == ("-g" in options.split())

    @pytest.mark.parametrize("spelling", ["-I kernels", "-Ikernels", '-I "kernels"'])
    def test_folders_are_relative_to_the_current_directory(self, answers, spelling):
        answers.append(BUILT)
        build_zebin(SCALE, device="pvc", options=f"-DN=4 {spelling} -w")
        assert option(answers, "-options") == f'-DN=4 -I "{Path.cwd()}/kernels" -w'

    def test_included_files_may_be_beside_the_source(self, answers, tmp_path):
        file = tmp_path / "scale.cl"
        file.touch()
        answers.append(BUILT)
        build_zebin('#include "a.h"\n' + SCALE, device="pvc", name=str(file))
        assert option(answers, "-options") == f'-I "{tmp_path}" -I "{Path.cwd()}"'

    @pytest.mark.parametrize("bad", ["\0", "\udc80"])
    def test_what_is_no_text_is_refused_before_the_compiler_sees_it(self, answers, bad):
        with pytest.raises(ArgumentError, match="options"):
            build_zebin(SCALE, device="pvc", options=f"-D{bad}")
        with pytest.raises(InputError) as caught:
            build_zebin(f"int a;\nint {bad};", device="pvc")
        (finding,) = caught.value.diagnostics
        assert (finding.line, finding.column) == (2, 5)
        assert str(caught.value).encode()
        assert answers.asked == []


class TestLogs:
    def test_an_error_points_into_the_users_source(self, answers):
        log = "scale.cl:3:5: error: no v\n    v[get\n    ^\n\nBuild failed with error code: -11\n"
        error = failure(answers, log, name="scale.cl")
        (finding,) = error.diagnostics
        assert finding.code == "opencl-build"
        assert (finding.file, finding.line, finding.column) == ("scale.cl", 3, 5)
        assert finding.message == "no v"
        assert "3 |     v[get_global_id(0)] *= f;\n  |     ^" in str(error)

    def test_severities_are_kept_in_order(self, answers):
        log = (
            "s.cl:1:1: warning: w\ns.cl:2:1: fatal error: e\ns.cl:3:1: note: n\n"
            "Build failed with error code: -11\n"
        )
        found = [(f.severity, f.code) for f in failure(answers, log, name="s.cl").diagnostics]
        assert found == [
            (Severity.WARNING, "opencl-warning"),
            (Severity.ERROR, "opencl-build"),
            (Severity.NOTE, "opencl-note"),
        ]

    def test_columns_count_characters(self, answers):
        source = "/* é中 */ x;"
        column = len("/* é中 */ ".encode()) + 1
        (finding,) = failure(answers, f"s.cl:1:{column}: error: x", source, name="s.cl").diagnostics
        assert source[finding.column - 1] == "x"

    def test_an_error_in_another_file_shows_that_file(self, answers, tmp_path):
        header = tmp_path / "a.h"
        header.write_text("int y = z;\n")
        error = failure(answers, f"{header}:1:9: error: no z")
        (finding,) = error.diagnostics
        assert (finding.file, finding.column) == (str(header), 9)
        assert "int y = z;" in str(error)

    def test_a_place_in_a_file_that_is_not_there_is_text(self, answers):
        (finding,) = failure(answers, "./builtin.h:7:2: error: e").diagnostics
        assert finding.message == "e (./builtin.h:7:2)"
        assert finding.line is None

    @pytest.mark.parametrize(
        ("wrong", "where"),
        [
            ("Unsupported call to f", "in kernel: 'k'"),
            ("undefined reference to `f'", "in function: 'f' called by kernel: 'k'"),
        ],
    )
    def test_the_code_generator_names_kernels(self, answers, wrong, where):
        log = (
            f"\nerror: {wrong}\n{where}\n"
            "error: backend compiler failed build.\n\nBuild failed with error code: -11\n"
        )
        (finding,) = failure(answers, log, name="s.cl").diagnostics
        assert finding.message == f"s.cl: {wrong} (kernel 'k')"

    def test_what_is_wrong_in_inline_assembly_is_said(self, answers):
        log = (
            "\nerror: parsing vISA inline assembly failed:\nnear line 51: syntax error\n\n"
            "error: backend compiler failed build.\n\nBuild failed with error code: -11\n"
        )
        (finding,) = failure(answers, log).diagnostics
        assert finding.message.endswith("assembly failed: near line 51: syntax error")

    def test_a_log_without_findings_is_shown_whole(self, answers):
        log = "Unrecognized build options: -cl-std=CL9\nBuild failed with error code: -11\n"
        (finding,) = failure(answers, log).diagnostics
        assert "source.cl failed: Unrecognized build options: -cl-std=CL9" in finding.message

    @pytest.mark.parametrize("name", ["visim", "visim.bin", "visim_pvc.bin", "other"])
    def test_a_zebin_is_found_whatever_it_is_called(self, answers, name):
        written = {"visim.spv": b"module", name: ZEBIN, "kernel.visaasm": b".version 4.2"}
        answers.append(Answer(0, "", written))
        assert build_zebin(SCALE, device="pvc") == ZEBIN

    def test_of_several_that_with_the_asked_name_is_taken(self, answers):
        written = {"dump.elf": b"\x7fELF of something", "visim.bin": ZEBIN}
        answers.append(Answer(0, "", written))
        assert build_zebin(SCALE, device="pvc") == ZEBIN

    def test_success_without_a_zebin_names_what_was_written(self, answers):
        answers.append(Answer(0, "", {"visim.spv": b"module"}, ("kernel.visaasm",)))
        with pytest.raises(InputError, match=r"wrote visim\.spv \(6 bytes\), kernel\.visaasm"):
            build_zebin(SCALE, device="pvc")
        answers.append(Answer(0, "odd\n", {}))
        with pytest.raises(InputError, match=r"gave no zebin: .* wrote nothing; its log: odd"):
            build_zebin(SCALE, device="pvc")

    def test_a_missing_part_of_the_compiler_is_a_missing_tool(self, answers):
        log = "Error! Loading of FCL library has failed! Filename: libigdfcl.so.1\n"
        answers.append(Answer(-6, log, {}))
        with pytest.raises(ToolMissing, match=r"libigdfcl.so.1 visim toolchain install"):
            build_zebin(SCALE, device="pvc")

    def test_a_crash_is_said_to_be_the_compilers(self, answers):
        answers.append(CompilerDied("SIGABRT", "assertion failed"))
        with pytest.raises(InputError) as caught:
            build_zebin(SCALE, device="skl", name="s.cl")
        (finding,) = caught.value.diagnostics
        assert finding.code == "opencl-crash"
        assert "crashed (SIGABRT) on s.cl for skl; it said: assertion failed" in finding.message
        assert finding.help is not None
        assert "inline them" in finding.help

    def test_a_crash_has_no_cure_where_none_is_known(self, answers):
        answers.append(CompilerDied("SIGSEGV", ""))
        with pytest.raises(InputError) as caught:
            build_zebin(SCALE, device="pvc")
        (finding,) = caught.value.diagnostics
        assert finding.help is None

    def test_a_build_may_take_too_long(self, answers):
        answers.append(CompilerStuck())
        with pytest.raises(InputError, match=r"did not finish s\.cl within 600 seconds"):
            build_zebin(SCALE, device="pvc", name="s.cl")


@pytest.mark.usefixtures("no_library")
class TestWithoutCompiler:
    def test_a_build_says_what_to_install(self):
        with pytest.raises(ToolMissing, match="apt-get install intel-opencl-icd"):
            build_zebin(SCALE, device="pvc")

    def test_there_is_no_compiler(self):
        assert compilers() == ()

    def test_a_library_that_is_something_else_is_no_compiler(self, monkeypatch):
        monkeypatch.setenv(LIBRARY_VARIABLE, "libc.so.6")
        with pytest.raises(ToolMissing, match="oclocInvoke"):
            build_zebin(SCALE, device="pvc")


@pytest.mark.usefixtures("compiler")
class TestCompiler:
    @pytest.mark.parametrize("device", ["bdw", "skl", "icllp", "tgllp", "dg2", "PVC"])
    def test_each_platform_is_built_for(self, device):
        program = read_zebin(build_zebin(SCALE, device=device), "scale.zebin")
        assert program.platform is not None
        assert program.platform.name == device.lower()
        assert [kernel.name for kernel in program.kernels] == ["scale"]

    @pytest.mark.parametrize("device", ["skl", "pvc"])
    def test_spir_v_is_built_and_runs(self, device):
        build_zebin(SCALE, device=device)
        program = visim.opencl.build(module(), device=device)
        filled = np.zeros(3, np.uint32)
        program["fill"].launch([filled, np.int32(7)], global_size=1)
        assert filled.tolist() == [7, 0, 0]

    def test_spir_v_for_32_bit_addresses_is_refused_in_words(self):
        with pytest.raises(InputError, match="was compiled for 32-bit addresses"):
            visim.opencl.build(module(addressing=1), device="dg2")

    def test_a_function_that_nobody_has_is_refused_before_a_kernel_is_launched(self):
        source = "int lost(int x); kernel void k(global int *y) { *y = lost(3); }"
        with pytest.raises(LinkError, match="'lost' is not part of the program"):
            visim.opencl.build(source, device="pvc")

    def test_the_compiler_has_a_version_and_a_place(self):
        compiler = compiler_for("pvc")
        assert compiler.version.count(".") >= 2
        assert compiler.path.is_file()

    def test_builds_do_not_depend_on_earlier_builds(self):
        first = build_zebin(SCALE, device="pvc")
        build_zebin(SCALE.replace("scale", "a_much_longer_name") * 1, device="skl")
        assert build_zebin(SCALE, device="pvc") == first
        ocloc.close()
        assert build_zebin(SCALE, device="pvc") == first

    def test_a_mistake_is_shown_where_it_is(self):
        source = SCALE.replace("f;", "nothing;")
        with pytest.raises(InputError) as caught:
            build_zebin(source, device="skl", name="scale.cl")
        (finding,) = caught.value.diagnostics
        assert (finding.file, finding.line) == ("scale.cl", 3)
        assert "nothing" in source.splitlines()[2][finding.column - 1 :]
        assert "undeclared identifier 'nothing'" in str(caught.value)

    def test_nothing_is_printed(self, capfd):
        build_zebin(SCALE, device="skl")
        with pytest.raises(InputError):
            build_zebin("mistake", device="skl")
        assert capfd.readouterr() == ("", "")

    def test_no_file_is_left_behind(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        build_zebin(SCALE, device="skl")
        assert list(tmp_path.iterdir()) == []

    def test_included_files_are_found(self, tmp_path):
        folder = tmp_path / "with space"
        folder.mkdir()
        (folder / "factor.h").write_text("#define FACTOR 3\n")
        source = '#include "factor.h"\n' + SCALE.replace("f;", "FACTOR;")
        assert build_zebin(source, device="pvc", options=f'-I "{folder}"')
        file = folder / "scale.cl"
        file.write_text(source)
        assert build_zebin(source, device="pvc", name=str(file))

    def test_debug_lines_name_the_users_file(self, tmp_path):
        data = build_zebin(SCALE, device="pvc", options="-g", name=str(tmp_path / "scale.cl"))
        (kernel,) = read_zebin(data, "scale.zebin").kernels
        assert f'FILE "{tmp_path}/scale.cl"' in kernel.visaasm

    def test_debug_lines_of_a_text_in_no_file_name_no_folder_of_the_users(self, tmp_path):
        def text() -> str:
            (kernel,) = read_zebin(build_zebin(SCALE, device="pvc", options="-g"), "z").kernels
            return kernel.visaasm

        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path)
            assert 'FILE "/visim.opencl.build/source.cl"' in text()
            (tmp_path / "source.cl").write_text(SCALE)
            assert f'FILE "{tmp_path}/source.cl"' in text()

    def test_a_crash_of_the_compiler_ends_one_build(self):
        try:
            build_zebin(CRASH, device="skl")
        except InputError as error:
            codes = [finding.code for finding in error.diagnostics]
        else:
            pytest.skip("this version of the compiler does not crash here")
        assert codes == ["opencl-crash"]
        assert read_zebin(build_zebin(CRASH, device="dg2"), "k.zebin").functions

    def test_a_compiler_that_gives_up_is_told_from_one_that_crashes(self):
        try:
            build_zebin(GIVES_UP, device="pvc", options="-cl-std=CL3.0")
        except InputError as error:
            (finding,) = error.diagnostics
        else:
            pytest.skip("this version of the compiler has the built-in")
        assert finding.code == "opencl-crash"
        assert finding.help is not None
        assert "built-ins that it declares" in finding.help

    def test_after_a_build_that_took_too_long_another_works(self, monkeypatch):
        monkeypatch.setattr(opencl, "TIMEOUT_S", 0.0)
        with pytest.raises(InputError) as caught:
            build_zebin(SCALE, device="skl")
        assert [finding.code for finding in caught.value.diagnostics] == ["opencl-timeout"]
        monkeypatch.undo()
        assert build_zebin(SCALE, device="skl")

    def test_a_program_without_kernels_is_a_program(self):
        assert read_zebin(build_zebin("", device="pvc"), "empty.zebin").kernels == ()
