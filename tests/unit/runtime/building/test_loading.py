"""Programs are loaded, assembled, linked, written and described (`visim.runtime.building`)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import visim
from tests.unit.runtime.texts import CALLER, HELPER, SCALE
from visim.errors import (
    ArgumentError,
    InputError,
    LinkError,
    UnsupportedError,
)

pytestmark = pytest.mark.usefixtures("each_engine")

CORPUS = Path(__file__).parents[3] / "corpus"


@pytest.fixture
def data():
    return np.arange(64, dtype=np.float32)


class TestLoading:
    def test_a_path_is_sniffed_by_what_it_holds(self, tmp_path):
        path = tmp_path / "program.bin"
        path.write_text(SCALE)
        for source in (str(path), path, SCALE.encode()):
            program = visim.load(source, platform="PVC")
            assert [kernel.name for kernel in program.kernels] == ["scale"]
        assert visim.load(CORPUS / "scale_skl.zebin").info()["format"] == "zebin"

    def test_a_missing_file_is_not_found(self):
        with pytest.raises(FileNotFoundError):
            visim.load("no such file.visaasm")

    def test_a_text_may_begin_with_a_byte_order_mark(self):
        marked = f"\ufeff{SCALE}"
        assert visim.load(marked.encode()).kernels[0].name == "scale"
        assert visim.assemble(marked, platform="pvc").kernels[0].name == "scale"

    @pytest.mark.parametrize(
        "verb", [visim.load, visim.verify, lambda source: visim.link([source])]
    )
    def test_what_is_neither_path_nor_bytes_is_refused(self, verb):
        with pytest.raises(ArgumentError, match="expected a path or a file's bytes, found int"):
            verb(5)
        with pytest.raises(ArgumentError, match=r"use visim\.assemble"):
            verb(SCALE)

    def test_a_text_of_something_else_is_one_error(self):
        [finding] = visim.verify(b"# A list\n\n- of things\n- and others\n")
        assert finding.code == "unknown-format"
        assert finding.help == "a vISA text begins with '.version 4.1'"

    @pytest.mark.parametrize(
        ("data", "message", "offset"),
        [
            ('.version 4.1\n.kernel "k"'.encode("utf-16"), "the text is UTF-16", 0),
            (b'.version 4.1\r\n.kernel "\xe9"', "byte 0xe9 in line 2", 23),
        ],
    )
    def test_a_text_in_another_encoding_says_where(self, data, message, offset):
        [finding] = visim.verify(data)
        assert (finding.code, finding.offset) == ("unknown-format", offset)
        assert message in finding.message
        assert finding.help == "save it as UTF-8"

    @pytest.mark.parametrize("data", [b"\xff\xfe\x00 no text", b"hello", b"", b"\x7fELF broken"])
    def test_other_files_are_input_errors(self, data):
        with pytest.raises(InputError):
            visim.load(data)

    def test_an_object_that_is_cut_off_is_an_input_error(self):
        with pytest.raises(InputError, match="bytes expected"):
            visim.load(b"CISA\4\1")

    def test_an_object_runs_like_its_text(self, data, tmp_path):
        text = visim.assemble(SCALE, platform="pvc")
        text.write(tmp_path / "scale.isa")
        loaded = visim.load(tmp_path / "scale.isa", platform="pvc")
        expected = data * 3
        loaded["scale"].launch([data, 3.0], thread_groups=4)
        assert np.array_equal(data, expected)

    def test_an_unknown_platform_is_refused(self):
        with pytest.raises(ArgumentError, match="gen42"):
            visim.load(SCALE.encode(), platform="gen42")
        with pytest.raises(ArgumentError, match="unknown device None"):
            visim.assemble(SCALE, platform=None)

    @pytest.mark.parametrize(
        ("data", "said"),
        [
            (b"/* */\n  kernel void f(global int *a) {}\n", "this is OpenCL C; .*visim cl"),
            (b"__attribute__((x))\n__kernel\nvoid f() {}\n", "this is OpenCL C; .*visim cl"),
            (b"\x03\x02\x23\x07\0\0\1\0", "this is SPIR-V; .*visim cl"),
            (b"\x07\x23\x02\x03\0\1\0\0", "this is SPIR-V; .*visim cl"),
        ],
        ids=["kernel", "__kernel", "SPIR-V", "big-endian SPIR-V"],
    )
    def test_what_has_to_be_compiled_first_is_named(self, data, said):
        with pytest.raises(InputError, match=said):
            visim.load(data)

    def test_a_comment_of_a_text_may_be_opencl_c(self):
        assert not visim.load(b".version 4.1\n/*\nkernel void f() */\n").kernels

    def test_texts_and_names_are_strings(self):
        with pytest.raises(ArgumentError, match="text: expected a str, found bytes"):
            visim.assemble(SCALE.encode(), platform="pvc")
        with pytest.raises(ArgumentError, match="expected a name, found 0"):
            visim.assemble(SCALE, platform="pvc")[0]

    def test_a_zebin_is_for_its_own_platform(self):
        with pytest.raises(ArgumentError, match="skl"):
            visim.load(CORPUS / "scale_skl.zebin", platform="pvc")

    def test_zebin_kernels_have_their_real_names(self):
        program = visim.load(CORPUS / "call_dg2.zebin")
        assert [kernel.name for kernel in program.kernels] == ["first", "second"]
        assert program.functions == ("factorial",)
        assert '.kernel "second"' in program["second"].source

    def test_a_file_without_kernels_is_fine(self):
        assert visim.load(CORPUS / "nothing_dg2.zebin").kernels == ()

    def test_the_text_of_a_zebin_without_kernels_can_be_read(self):
        text = visim.load(CORPUS / "nothing_dg2.zebin").text()
        assert text == ".version 4.1\n"
        assert visim.assemble(text, platform="dg2").kernels == ()

    def test_names_of_templates_may_be_long(self, data):
        name = "k" * 1100
        text = SCALE.replace('.kernel "scale"', f'.kernel "{name}"')
        program = visim.assemble(text, platform="pvc")
        [finding] = visim.verify(program.text().encode(), platform="pvc")
        assert (finding.code, finding.severity) == ("name-length", "note")
        again = visim.load(program.to_object(), platform="pvc")
        again[name].launch([data, np.float32(2)], thread_groups=4)
        np.testing.assert_array_equal(data, 2 * np.arange(64, dtype=np.float32))

    def test_an_unknown_kernel_names_the_nearest(self):
        program = visim.assemble(SCALE, platform="pvc")
        with pytest.raises(KeyError, match="scale"):
            program["scaled"]

    def test_the_platform_is_asked_for_where_it_is_needed(self, data):
        program = visim.load(SCALE.encode())
        assert program.info()["platform"] is None
        with pytest.raises(InputError, match="platform"):
            program["scale"].launch([data, 1.0])

    def test_verify_returns_findings(self):
        found = visim.verify(b'.version 4.1\n.kernel "k"\nnonsense\n')
        assert found.errors
        assert not visim.verify(SCALE.encode(), platform="pvc").errors
        assert visim.verify(b"\x7fELF").errors
        assert [f.code for f in visim.verify(CALLER.encode())] == ["unknown-function"]


class TestText:
    def test_the_text_of_a_program_assembles_to_it_again(self):
        program = visim.assemble(SCALE + HELPER.partition("\n")[2], platform="pvc")
        again = visim.assemble(program.text(), platform="pvc")
        assert again.text() == program.text()
        assert program.text(unit="helper").count(".global_function") == 1
        assert program["scale"].source == program.text(unit="scale")

    def test_texts_and_objects_of_a_zebin_with_variables_load_but_do_not_run(self):
        program = visim.load(CORPUS / "data_tgllp.zebin")
        again = visim.assemble(program.text(), platform="tgllp")
        assert again.text() == program.text()
        assert again.info()["externals"] == ["rows", "pointer", "zeros", ".str", ".str.1"]
        assert not visim.verify(program.text().encode(), platform="tgllp").errors
        assert again.to_object() == program.to_object()
        for reread in (again, visim.load(program.to_object(), platform="tgllp")):
            kernel = reread["look_up"]
            args = [bytes(entry.size or 0) for entry in kernel.args]
            with pytest.raises(LinkError, match="'rows' is not part") as stopped:
                kernel.launch(args)
            assert "variables of a program are in its zebin" in str(stopped.value)

    def test_a_text_of_a_zebin_with_variables_cannot_be_linked(self):
        text = visim.load(CORPUS / "data_tgllp.zebin").text().encode()
        with pytest.raises(LinkError) as stopped:
            visim.link([text], platform="tgllp")
        first = stopped.value.diagnostics.errors[0]
        assert first.message == "<bytes> needs 'rows', which none of the files defines"
        assert first.help is not None
        assert "variables of a program are in its zebin" in first.help

    def test_the_text_of_a_file_without_kernels_loads_again(self):
        program = visim.load(CORPUS / "nothing_dg2.zebin")
        again = visim.assemble(program.text(), platform="dg2")
        assert again.kernels == ()
        assert again.text() == program.text()

    def test_an_unknown_unit_names_the_nearest(self):
        with pytest.raises(KeyError, match="scale"):
            visim.assemble(SCALE, platform="pvc").text(unit="scael")

    def test_written_files_load_again(self, tmp_path):
        program = visim.load(CORPUS / "scale_pvc.zebin")
        program.write(tmp_path / "a.zebin")
        assert (tmp_path / "a.zebin").read_bytes() == (CORPUS / "scale_pvc.zebin").read_bytes()
        text = visim.assemble(SCALE, platform="pvc")
        text.write(tmp_path / "a.visaasm")
        assert visim.load(tmp_path / "a.visaasm").text() == text.text()

    @pytest.mark.parametrize(
        ("name", "error"),
        [("a.zebin", UnsupportedError), ("a.txt", ArgumentError)],
    )
    def test_other_formats_are_refused(self, tmp_path, name, error):
        with pytest.raises(error):
            visim.assemble(SCALE, platform="pvc").write(tmp_path / name)


class TestLink:
    def test_texts_become_one_program(self):
        program = visim.link([CALLER.encode(), HELPER.encode()], platform="skl")
        assert program.functions == ("helper",)
        assert program["caller"].launch([]).threads == 1

    def test_a_missing_function_is_a_link_error(self):
        with pytest.raises(LinkError, match="helper"):
            visim.load(CALLER.encode(), platform="skl")

    def test_names_are_defined_once(self, tmp_path):
        paths = [tmp_path / name for name in ("a.visaasm", "b.visaasm")]
        for path in paths:
            path.write_text(HELPER)
        with pytest.raises(LinkError, match="helper"):
            visim.link(paths)

    def test_only_texts_are_linked(self):
        with pytest.raises(UnsupportedError):
            visim.link([CORPUS / "scale_skl.zebin", HELPER.encode()])
        with pytest.raises(ArgumentError):
            visim.link("a.visaasm")

    def test_the_function_stays_callable_once_the_package_is_imported(self):
        import visim.linker.program

        assert callable(visim.link)


class TestInfo:
    def test_it_is_json_with_all_facts(self):
        info = json.loads(json.dumps(visim.load(CORPUS / "data_tgllp.zebin").info()))
        assert (info["format"], info["platform"]) == ("zebin", "tgllp")
        rotate = next(kernel for kernel in info["kernels"] if kernel["name"] == "rotate")
        assert rotate["barriers"] == 1
        assert rotate["instructions"] == sum(rotate["opcodes"].values())
        assert [arg["kind"] for arg in rotate["args"]] == ["buffer", "local", "value"]
        assert set(rotate["args"][0]) == {"name", "kind", "size", "type_name"}

    def test_what_cannot_be_executed_is_listed(self):
        text = """
        .version 3.6
        .kernel "k"
        .decl V32 v_type=G type=f num_elts=32 align=GRF
        .decl T6 v_type=T num_elts=1
        .decl S0 v_type=S num_elts=1
        load_mcs.R (M1, 8) 0x0:uw T6 V32.0 V32.0
        ret (M1, 1)
        """
        program = visim.assemble(text, platform="skl")
        (entry,) = program.info()["kernels"][0]["not_executable"]
        assert set(entry) == {"mnemonic", "reason", "line"}
        with pytest.raises(visim.FaultError, match="several samples"):
            program["k"].launch([])


def test_info_lists_what_the_jit_leaves_to_the_interpreters_code():
    text = """
    .version 4.1
    .kernel "k"
    .decl V32 v_type=G type=d num_elts=64 align=GRF
    .decl V33 v_type=G type=d num_elts=64 align=GRF
    .kernel_attr SimdSize=8
    sbarrier.signal
    sbarrier.wait
    dpasw.s8.s8.8.8 (M1, 8) V32.0 V32.0 V33.0 V33(0,0)
    ret (M1, 1)
    """
    entries = visim.assemble(text, platform="dg2").info()["kernels"][0]["called_out"]
    assert [entry["mnemonic"] for entry in entries] == ["dpasw"]
    assert "FusedExchange" in entries[0]["reason"]
    assert all(entry["line"] for entry in entries)


def test_info_does_not_list_messages_to_images_that_native_code_answers():
    text = """
    .version 4.1
    .kernel "k"
    .decl V32 v_type=G type=f num_elts=64 align=GRF
    .decl T6 v_type=T num_elts=1
    .decl S1 v_type=S num_elts=1
    .kernel_attr SimdSize=8
    sample_lz.R (M1, 8) 0x0:uw S1 T6 V32.32 V32.0
    sample4.R (M1, 8) 0x0:uw S1 T6 V32.32 V32.0 V32.0
    ret (M1, 1)
    """
    entries = visim.assemble(text, platform="tgllp").info()["kernels"][0]["called_out"]
    assert [entry["mnemonic"] for entry in entries] == ["sample4"]


@pytest.mark.parametrize("form", ["text", "object"])
def test_variables_that_nothing_writes_are_warned_of_in_texts_and_objects(form: str):
    text = (
        '.version 4.1\n.kernel "k"\n.decl X v_type=G type=d num_elts=8 align=GRF\n'
        ".decl D v_type=G type=d num_elts=8 align=GRF\n.input D offset=64 size=32\n"
        "add (M1, 8) D(0,0)<1> D(0,0)<1;1,0> X(0,0)<1;1,0>\nret (M1, 1)\n"
    )
    data = text.encode() if form == "text" else visim.assemble(text, platform="skl").to_object()
    (finding,) = visim.verify(data, platform="skl")
    assert (finding.code, str(finding.severity)) == ("unwritten-variable", "warning")
    assert finding.message == "reads X, which nothing writes; its value is 0"
