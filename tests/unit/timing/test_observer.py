"""Observers of launches, and `Timing` as one of them."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from tests.unit.timing.programs import chain, kernel, multiply, timed
from visim.errors import ArgumentError
from visim.timing import Timing, find_machine


class Recorder(visim.Observer):
    def __init__(self):
        self.groups, self.paths, self.faults = [], [], []

    def group_begin(self, group):
        self.groups.append((group.group, group.threads))

    def thread_end(self, path):
        self.paths.append((path.group, path.thread, [tuple(place) for place in path]))

    def fault(self, fault):
        self.faults.append(fault.code)


def test_an_observer_wants_the_events_that_it_overrides():
    class OnlyFaults(visim.Observer):
        def fault(self, fault):
            pass

    assert visim.Observer().wants == frozenset()
    assert OnlyFaults().wants == {"fault"}
    assert Recorder().wants == {"group_begin", "thread_end", "fault"}


def test_a_path_has_the_blocks_that_a_thread_executed():
    recorder = Recorder()
    body = [multiply(32, 33), "jmp (M1_NM, 1) over", multiply(34, 35), "over:", multiply(36, 37)]
    kernel(body).launch([], thread_groups=2, observers=[recorder])
    assert recorder.groups == [((0, 0, 0), 1), ((1, 0, 0), 1)]
    assert recorder.paths[0] == ((0, 0, 0), 0, [(0, 0, 2), (0, 3, 6)])


def test_observers_hear_of_faults():
    recorder = Recorder()
    declarations = [".decl V90 v_type=G type=uq num_elts=1 align=GRF"]
    body = ["mov (M1_NM, 1) V90(0,0)<1> 0x0:uq", "svm_block_ld (1) V90(0,0)<0;1,0> V40.0"]
    with pytest.raises(visim.FaultError):
        kernel(body, declarations=declarations).launch([], thread_groups=1, observers=[recorder])
    assert len(recorder.faults) == 1
    assert recorder.paths == []


def test_what_is_no_observer_is_refused():
    with pytest.raises(ArgumentError, match=r"expected objects of visim\.Observer"):
        chain(1).launch([], thread_groups=1, observers=[print])


def test_observed_launches_give_the_same_results():
    text = """.version 4.1
.kernel "store"
.decl V32 v_type=G type=uq num_elts=1 align=GRF
.decl V33 v_type=G type=ud num_elts=4 align=GRF
.input V32 offset=32 size=8
    mov (M1_NM, 4) V33(0,0)<1> 0x7:ud
    svm_block_st (1) V32(0,0)<0;1,0> V33.0
    ret (M1, 1)
"""
    array = np.zeros(4, np.uint32)
    timing = Timing("skl")
    program = visim.assemble(text, platform="skl")
    report = program.kernels[0].launch([array], thread_groups=1, observers=[timing])
    assert report.engine == "interpreter"
    assert array.tolist() == [7] * 4
    assert timing.result.threads == 1


def test_a_timing_without_a_launch_has_no_result():
    with pytest.raises(ArgumentError, match="nothing was launched"):
        _ = Timing("snb").result


def test_one_run_is_timed_on_several_machines():
    timing = Timing("snb")
    chain(20).launch([], thread_groups=3, observers=[timing])
    cycles = {name: timing.on(find_machine(name)).cycles for name in ("snb", "ivb", "skl")}
    assert timing.result.cycles == cycles["snb"]
    assert len(set(cycles.values())) == 3


def test_the_result_says_everything_that_json_needs():
    result = timed(chain(20), "snb", 3)
    found = result.to_dict()
    assert {
        "arch", "cycles", "threads", "slots", "instructions", "stalls", "icache",
        "bank_conflicts", "occupancy", "lines", "provenance",
    } <= found.keys()  # fmt: skip
    assert list(found["stalls"]) == [
        "active", "control", "pipe", "send", "dependency", "scoreboard", "sync", "ifetch", "other",
    ]  # fmt: skip
    assert sum(found["stalls"].values()) == found["cycles"] * found["slots"]
    assert found["instructions"] == {"visa": 3 * 21, "native": 3 * 22}
    assert found["threads"] == 3
    assert 0 < found["occupancy"] <= 1
    assert sum(line["cycles"] for line in found["lines"]) > 0
    assert "chain" not in str(result)
    assert "Sandy Bridge" in str(result)
