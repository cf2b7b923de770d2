"""Launches and reports as users see them (visim.runtime.kernel)."""

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
from tests.unit.runtime.texts import BLOCK, LOOP, POWER, SCALE, SURFACE
from visim.errors import (
    ArgumentError,
    FaultError,
)

pytestmark = pytest.mark.usefixtures("each_engine")

CORPUS = Path(__file__).parents[2] / "corpus"


@pytest.fixture
def scale():
    return visim.assemble(SCALE, platform="pvc")["scale"]


@pytest.fixture
def data():
    return np.arange(64, dtype=np.float32)


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
        args = [data, visim.Local(1024), bytes(16)]
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

    @pytest.mark.parametrize(
        ("sizes", "noted"),
        [
            ({"global_size": 257}, True),
            ({"global_size": 257, "local_size": 1}, False),
            ({"global_size": 514}, False),
            ({"global_size": (1, 257)}, False),
        ],
    )
    def test_groups_of_one_work_item_that_nobody_asked_for_are_noted(self, sizes, noted):
        kernel = visim.load(CORPUS / "data_tgllp.zebin")["look_up"]
        report = kernel.launch([np.zeros(600, np.int32), 1], **sizes)
        assert any("1 divides 257" in note for note in report.notes) == noted

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
            ({"require_exact": 2}, "require_exact"),
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
        [
            ("thread_group", "did you mean 'thread_groups'"),
            ("groups", "did you mean 'thread_groups'"),
            ("colour", "there are: global_size"),
        ],
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

    def test_what_is_bound_by_index_too_has_the_name_of_its_argument(self, scale, data):
        with pytest.raises(FaultError) as caught:
            scale.launch([data, 1.0], thread_groups=6, surfaces={5: data})
        assert caught.value.fault.buffer == "data"

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
