"""Programs, kernels, launches and reports as users see them (visim.runtime.program)."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from concurrent.futures import CancelledError
from pathlib import Path

import numpy as np
import pytest

import visim
from visim.errors import (
    ArgumentError,
    FaultError,
    InputError,
    LinkError,
    UnsupportedError,
)

pytestmark = pytest.mark.usefixtures("each_engine")

CORPUS = Path(__file__).parents[2] / "corpus"

SCALE = """\
.version 4.1
.kernel "scale"
.decl data v_type=G type=uq num_elts=1 align=qword
.decl factor v_type=G type=f num_elts=1 align=dword
.decl bytes v_type=G type=ud num_elts=1 align=dword
.decl address v_type=G type=uq num_elts=1 align=qword
.decl block v_type=G type=f num_elts=16 align=wordx32
.input data offset=64 size=8
.input factor offset=72 size=4
.kernel_attr SimdSize=16
.function "scale_0"

scale_0:
    mul (M1_NM, 1) bytes(0,0)<1> %group_id_x(0,0)<0;1,0> 0x40:ud
    add (M1_NM, 1) address(0,0)<1> data(0,0)<0;1,0> bytes(0,0)<0;1,0>
    lsc_load.ugm (M1_NM, 1) block:d32x16t flat[address]:a64
    mul (M1, 16) block(0,0)<1> block(0,0)<1;1,0> factor(0,0)<0;1,0>
    lsc_store.ugm (M1_NM, 1) flat[address]:a64 block:d32x16t
    ret (M1, 1)
"""
POWER = """\
.version 4.1
.kernel "power"
.decl x v_type=G type=f num_elts=16 align=GRF
.input x offset=64 size=64
.kernel_attr SimdSize=16
.function "power_0"

power_0:
    exp (M1, 16) x(0,0)<1> x(0,0)<1;1,0>
    ret (M1, 1)
"""
LOOP = """\
.version 4.1
.kernel "endless"
.kernel_attr SimdSize=8
.function "endless_0"

endless_0:

again:
    goto (M1, 8) again
    ret (M1, 1)
"""
BLOCK = """
.version 3.6
.kernel "block"
.decl V32 v_type=G type=ud num_elts=16 align=GRF
.decl AT v_type=G type=ud num_elts=1 align=dword
.decl T6 v_type=T num_elts=1
.decl T7 v_type=T num_elts=1
.input AT offset=32 size=4
.input T6 offset=36 size=4
.input T7 offset=40 size=4
oword_ld_unaligned (4) T6 AT(0,0)<0;1,0> V32.0
oword_st (4) T7 0x0:ud V32.0
ret (M1, 1)
"""
SURFACE = """\
.version 4.1
.kernel "store"
.decl T6 v_type=T num_elts=1
.decl x v_type=G type=ud num_elts=8 align=GRF
.decl at v_type=G type=ud num_elts=8 align=GRF
.input T6 offset=64 size=4
.input at offset=96 size=32
.kernel_attr SimdSize=8
.function "store_0"

store_0:
    mov (M1, 8) x(0,0)<1> 0x7:ud
    scatter4_scaled.R (M1, 8) T6 0x0:ud at.0 x.0
    ret (M1, 1)
"""
CALLER = """\
.version 4.1
.kernel "caller"
.kernel_attr SimdSize=8
.function "caller_0"

caller_0:
    fcall (M1, 8) helper 0 0
    ret (M1, 1)
"""
HELPER = """\
.version 4.1
.global_function "helper"
.kernel_attr SimdSize=8
.function "helper_0"

helper_0:
    fret (M1, 8)
"""


@pytest.fixture
def scale():
    return visim.assemble(SCALE, platform="pvc")["scale"]


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
        with pytest.raises(ArgumentError, match="unknown platform None"):
            visim.assemble(SCALE, platform=None)

    @pytest.mark.parametrize(
        ("data", "said"),
        [
            (b"/* */\n  kernel void f(global int *a) {}\n", "this is OpenCL C; .*visim cl"),
            (b"__attribute__((x))\n__kernel\nvoid f() {}\n", "this is OpenCL C; .*visim cl"),
            (b"\x03\x02\x23\x07\0\0\1\0", "this is SPIR-V; .*-spirv_input"),
        ],
        ids=["kernel", "__kernel", "SPIR-V"],
    )
    def test_what_has_to_be_compiled_first_is_named(self, data, said):
        with pytest.raises(InputError, match=said):
            visim.load(data)

    def test_a_comment_of_a_text_may_be_opencl_c(self):
        assert not visim.load(b".version 4.1\n/*\nkernel void f() */\n").kernels

    def test_texts_and_names_are_strings(self):
        with pytest.raises(ArgumentError, match="text: expected vISA text in a str, found bytes"):
            visim.assemble(SCALE.encode(), platform="pvc")
        with pytest.raises(ArgumentError, match="expected a name, found 0"):
            list(visim.assemble(SCALE, platform="pvc"))

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

    def test_an_unknown_kernel_names_the_nearest(self, scale):
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
    .kernel_attr SimdSize=8
    sbarrier.signal
    sbarrier.wait
    ret (M1, 1)
    """
    entries = visim.assemble(text, platform="pvc").info()["kernels"][0]["called_out"]
    assert [entry["mnemonic"] for entry in entries] == ["sbarrier", "sbarrier"]
    assert "BarrierSignal" in entries[0]["reason"]
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


class TestLaunch:
    def test_results_are_in_the_callers_array(self, scale, data, each_engine):
        report = scale.launch({"factor": 2, "data": data}, thread_groups=4)
        assert data.tolist() == [2.0 * i for i in range(64)]
        assert (report.engine, report.groups, report.threads) == (each_engine, 4, 4)
        assert report.geometry["thread_groups"] == [4, 1, 1]
        assert report.instructions is None
        assert report.fidelity is None

    def test_a_bound_launch_uses_what_arrays_hold_then(self, scale, data):
        bound = scale.bind([data, 2.0], thread_groups=4)
        bound()
        data[:] = 1
        bound()
        assert data.tolist() == [2.0] * 64

    def test_a_kernel_is_prepared_once(self, scale, data):
        first, second = (scale.bind([data, 2.0]) for _ in range(2))
        assert first.executables is second.executables

    def test_zebin_kernels_run(self):
        program = visim.load(CORPUS / "call_dg2.zebin")
        data = np.array([0, 5, 6], np.int32)
        program["first"].launch([data], global_size=1)
        assert data[0] == 120
        program["second"].launch([data], global_size=1)
        assert data[0] == 721

    def test_variables_of_a_program_live_as_long_as_it(self):
        program = visim.load(CORPUS / "data_tgllp.zebin")
        out = np.zeros(16, np.int32)
        program["look_up"].launch([out, 1], global_size=16)
        assert out.tolist() == [7, 8] * 8
        program["look_up"].launch([out, 1], global_size=16)
        assert out.tolist() == [7 + (i & 1) + i for i in range(16)]
        fresh = visim.load(CORPUS / "data_tgllp.zebin")
        fresh["look_up"].launch([out, 1], global_size=16)
        assert out.tolist() == [7, 8] * 8

    def test_what_a_kernel_prints_is_in_the_report(self, capsys):
        kernel = visim.load(CORPUS / "data_tgllp.zebin")["rotate"]
        data = np.zeros(64, np.int32)
        args = [data, visim.Local(256), bytes(16)]
        bound = kernel.bind(args, global_size=(16, 4))
        for _ in range(2):
            report = bound()
            assert report.printf == "".join(f"turned {i}\n" for i in range(64))
            assert report.to_dict()["printf"] == capsys.readouterr().out == report.printf
            assert report.notes == ()

    def test_the_required_size_is_checked(self):
        kernel = visim.load(CORPUS / "data_tgllp.zebin")["rotate"]
        with pytest.raises(ArgumentError, match="local_size"):
            kernel.launch([None, visim.Local(256), bytes(16)], global_size=64, local_size=64)

    def test_the_seed_changes_the_order_and_not_the_result(self, scale, data):
        report = scale.launch([data, 3.0], thread_groups=4, seed=11)
        assert data.tolist() == [3.0 * i for i in range(64)]
        assert report.groups == 4

    def test_dropped_accesses_are_counted_for_each_launch(self):
        kernel = visim.assemble(SURFACE, platform="skl")["store"]
        surface = np.zeros(8, np.uint32)
        at = np.arange(0, 64, 8, dtype=np.uint32).tobytes()
        bound = kernel.bind([surface, at])
        assert [bound().dropped_accesses for _ in range(2)] == [4, 4]
        assert surface.tolist() == [7, 0] * 4

    @pytest.mark.parametrize(("first", "read"), [(0, 10), (40, 0), (4, 9), (4096, 0), (-16, 0)])
    def test_blocks_that_pass_the_end_of_a_surface_are_counted(self, first, read):
        kernel = visim.assemble(BLOCK, platform="skl")["block"]
        surface = np.arange(1, 11, dtype=np.uint32)
        found = np.full(16, 99, np.uint32)
        bound = kernel.bind([np.uint32(first % (1 << 32)), surface, found])
        assert [bound().dropped_accesses for _ in range(2)] == [1, 1]
        wanted = surface[first // 4 :][:read] if read else surface[:0]
        assert found.tolist() == [*wanted.tolist(), *[0] * (16 - read)]


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "name"),
        [
            ({"checks": "maybe"}, "checks"),
            ({"collect": ["everything"]}, "collect"),
            ({"seed": -1}, "seed"),
            ({"seed": 1.5}, "seed"),
            ({"workers": 0}, "workers"),
            ({"workers": True}, "workers"),
            ({"budget": 0}, "budget"),
            ({"wait": "no"}, "wait: expected True or False, found 'no'"),
            ({"wait": None}, "wait"),
            ({"require_exact": 1}, "require_exact"),
            ({"engine": 5}, "engine: expected 'interpreter' or 'jit', found 5"),
            ({"engine": ("jit",)}, "engine"),
            ({"surfaces": {"a": np.zeros(4)}}, "surfaces"),
            ({"surfaces": {256: np.zeros(4)}}, "256"),
            ({"global_size": 4}, "global_size"),
            ({"thread_groups": 0}, "thread_groups"),
            ({"dependency": "wavefront"}, "dependency"),
        ],
    )
    def test_wrong_ones_are_refused_by_name(self, scale, data, options, name):
        with pytest.raises(ArgumentError, match=name):
            scale.launch([data, 1.0], **options)

    def test_observers_are_objects_of_their_class(self, scale, data):
        with pytest.raises(ArgumentError, match="observers"):
            scale.launch([data, 1.0], observers=[object()])

    @pytest.mark.parametrize(
        "options",
        [
            {"observers": visim.Observer()},
            {"observers": iter([visim.Observer()])},
            {"collect": 5},
            {"surfaces": [5]},
            {"samplers": [5]},
        ],
    )
    def test_lists_and_tables_are_such(self, scale, data, options):
        with pytest.raises(ArgumentError, match=f"{next(iter(options))}: expected a "):
            scale.launch([data, 1.0], **options)

    def test_nothing_runs_after_an_error(self, scale, data):
        before = data.copy()
        with pytest.raises(ArgumentError):
            scale.launch([data, "2"], thread_groups=4)
        assert (data == before).all()

    @pytest.mark.parametrize(
        ("name", "hint"),
        [("thread_group", "did you mean 'thread_groups'"), ("colour", "there are: global_size")],
    )
    def test_unknown_options_are_refused_with_the_nearest_name(self, scale, data, name, hint):
        with pytest.raises(ArgumentError, match=f"^{name}: .*{hint}"):
            scale.launch([data, 1.0], **{name: 1})

    def test_who_changes_the_geometry_of_a_report_changes_no_other(self, scale, data):
        bound = scale.bind([data, 1.0], thread_groups=4)
        for _ in range(2):
            report = bound()
            for found in (report.geometry, report.to_dict()["geometry"]):
                assert found["thread_groups"] == [4, 1, 1]
                found["thread_groups"][0] = found["seen"] = 5

    def test_collected_figures_are_in_the_report(self, scale, data):
        report = scale.launch([data, 1.0], thread_groups=2, collect=("instructions", "fidelity"))
        assert report.instructions == 12
        counts = [use.count for use in report.fidelity if use.form.startswith("mul")]
        assert sum(counts) == 4
        assert scale.launch([data, 1.0], collect="instructions").instructions == 6

    def test_options_without_effect_are_noted(self, scale, data):
        report = scale.launch([data, 1.0], workers=2, checks="off", engine="interpreter")
        assert len(report.notes) == 2

    def test_require_exact_stops_after_inexact_instructions(self, scale, data):
        assert scale.launch([data, 1.0], require_exact=True).fidelity is not None
        kernel = visim.assemble(POWER, platform="pvc")["power"]
        with pytest.raises(FaultError, match="exp") as caught:
            kernel.launch([np.ones(16, np.float32).tobytes()], require_exact=True)
        assert caught.value.fault.category == "inexact"
        assert "exp" in str(caught.value.report)


class TestFaults:
    def test_a_fault_says_where_and_has_the_partial_report(self, scale, data):
        with pytest.raises(FaultError) as caught:
            scale.launch([data, 1.0], thread_groups=6)
        fault = caught.value.fault
        assert (fault.kernel, fault.group, fault.buffer) == ("scale", (4, 0, 0), "data")
        assert fault.distance == 0
        assert caught.value.report.groups == 4

    def test_a_store_to_a_read_only_array_is_a_fault(self, scale, data):
        data.flags.writeable = False
        with pytest.raises(FaultError, match="read-only"):
            scale.launch([data, 1.0])

    def test_the_budget_ends_endless_loops(self):
        kernel = visim.assemble(LOOP, platform="skl")["endless"]
        with pytest.raises(FaultError) as caught:
            kernel.launch([], budget=1000)
        assert caught.value.fault.line is not None


class TestBackground:
    def test_a_handle_gives_the_report(self, scale, data):
        handle = scale.launch([data, 2.0], thread_groups=4, wait=False)
        assert handle.result().groups == 4
        assert handle.done()
        assert not handle.cancel()
        assert data[1] == 2

    def test_a_handle_raises_the_fault(self, scale, data):
        handle = scale.launch([data, 2.0], thread_groups=6, wait=False)
        with pytest.raises(FaultError):
            handle.result()

    def test_a_cancelled_launch_stops_between_groups(self):
        begun, go_on = threading.Event(), threading.Event()

        def run(stop):
            begun.set()
            go_on.wait(10)
            if not stop.is_set():
                pytest.fail("not told to stop")
            raise CancelledError("stopped")

        handle = visim.LaunchHandle(run)
        begun.wait(10)
        with pytest.raises(TimeoutError):
            handle.result(timeout=0)
        assert not handle.done()
        assert handle.cancel()
        go_on.set()
        with pytest.raises(CancelledError, match="stopped"):
            handle.result(timeout=10)

    def test_a_launch_looks_at_the_event_between_groups(self, scale):
        bound = scale.bind([np.zeros(16 * 64, np.float32), 2.0], thread_groups=64, wait=False)
        stop = threading.Event()
        stop.set()
        with pytest.raises(CancelledError, match=r"cancelled at group \(0, 0, 0\)"):
            bound.run(stop)
        assert bound.run(threading.Event()).groups == 64


class TestReport:
    def test_it_is_readable_and_json(self, each_engine):
        kernel = visim.load(CORPUS / "scale_skl.zebin").kernels[0]
        values = {"buffer": np.ones(48, np.float32)}
        args = [values["buffer"] if a.kind == "buffer" else 2 for a in kernel.args]
        report = kernel.launch(args, global_size=48, collect=("instructions", "fidelity"))
        form = json.loads(json.dumps(report.to_dict()))
        assert form["geometry"]["local_size"] == [48, 1, 1]
        assert form["geometry"]["local_size_chosen"] is True
        assert form["fidelity"][0].keys() == {"form", "count", "exactness"}
        for part in ("skl", each_engine, "global size 48", "(chosen)", "instructions"):
            assert part in str(report)


class TestPackage:
    def test_importing_visim_imports_nothing_heavy(self):
        code = "import sys, visim; sys.exit('numpy' in sys.modules or 'visim.isa' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

    def test_public_names_are_there(self):
        for name in visim.__all__:
            assert getattr(visim, name) is not None
        assert set(visim.__all__) <= set(dir(visim))
        with pytest.raises(AttributeError, match="nothing_like_it"):
            _ = visim.nothing_like_it
