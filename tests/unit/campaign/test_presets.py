"""Tables for usual needs: which cells they give, and what they say in the end."""

from __future__ import annotations

import shutil
import threading

import pytest

from tests.unit.campaign.files import ROOT, SAXPY
from visim.campaign import jobs
from visim.campaign.matrix import matrix_of
from visim.campaign.outcomes import Outcome, Result
from visim.campaign.running import run_campaign
from visim.campaign.store import Store
from visim.errors import ArgumentError

ARGUMENTS = {"x": "rand:64", "y": "rand:64", "a": 2, "n": 64}
PASSED = Result(Outcome.PASSED)
LAUNCH = {"file": str(SAXPY), "global": 64, "arg": ARGUMENTS}


class Here:
    """Runs cells in this process, when they come."""

    size = 1

    def __init__(self, result=None):
        self.ran = []
        self._result = result

    def submit(self, cell, limits, done):
        self.ran.append(cell)
        if self._result is not None:
            done(cell, self._result(cell))
            return
        form = {**jobs.run(cell.to_dict()), "took": {"seconds": 0, "attempts": 1, "worker": ""}}
        done(cell, Result.of(form))

    def close(self):
        pass


@pytest.fixture
def run(tmp_path):
    def ran(kind, table, result=None):
        pool = Here(result)
        matrix = matrix_of({kind: [table]}, tmp_path, "test")
        with Store(tmp_path / "results") as store:
            summary = run_campaign(matrix, store, pool)
        return summary, pool.ran

    return ran


def test_sanitize_takes_launches_and_programs_that_no_launch_names(run, tmp_path):
    shutil.copytree(SAXPY.parent, tmp_path / "folder" / "saxpy")
    (tmp_path / "folder" / "saxpy" / "saxpy.cl").unlink()
    (tmp_path / "folder" / "k.visaasm").write_text(UNWRITTEN)
    summary, ran = run("sanitize", {"path": "folder", "device": "pvc"})
    assert [cell.kind for cell in ran] == ["launch", "sanitize"]
    assert ran[0].work["table"]["sanitize"] == "all"
    assert summary.outcomes == {Outcome.PASSED: 1, Outcome.FINDING: 1}
    assert "uninit" in summary.failures[0][1].message


UNWRITTEN = """.version 4.1
.kernel "unwritten"
.decl x v_type=G type=d num_elts=8 align=GRF
.decl P1 v_type=P num_elts=1
cmp.eq (M1, 1) P1 x(0,0)<0;1,0> 0x0:d
(P1) jmp (M1, 1) end
end:
ret (M1, 1)
"""


def test_conform_takes_each_program_through_its_steps(run, tmp_path):
    (tmp_path / "folder").mkdir()
    shutil.copy(SAXPY, tmp_path / "folder")
    (tmp_path / "folder" / "broken.visaasm").write_text(".version 4.1\nnonsense\n")
    summary, _ = run("conform", {"path": "folder"})
    assert summary.outcomes == {Outcome.PASSED: 1, Outcome.BROKEN: 1}
    [(name, result)] = summary.failures
    assert name == "part=conform file=broken.visaasm device=pvc"
    assert result.message.startswith("read: ")


def test_compilers_are_compared_along_what_is_listed(tmp_path):
    table = {
        **LAUNCH,
        "file": str(ROOT / "examples" / "saxpy" / "saxpy.cl"),
        "device": "pvc",
        "options": ["", "-cl-opt-disable"],
        "vary": {"seed": [1, 2]},
    }
    made = matrix_of({"compilers": [table]}, tmp_path, "test").cells()
    cells = [cell for cell in made if cell is not None]
    assert len(cells) == 4
    assert {(cell.agree, cell.slower) for cell in cells} == {(("options",), ("options",))}
    assert cells[0].work["timing"] == ["own"]
    with pytest.raises(ArgumentError, match="at least two compilers"):
        matrix_of({"compilers": [{**table, "options": [""]}]}, tmp_path, "test")


def cycles_of(cell):
    """Time an arm: the more tiles the fewer cycles, but the last one fails."""
    tile, seed = cell.name["local"], cell.name["seed"]
    if tile == 64:
        return Result(Outcome.FAULT)
    return Result(Outcome.PASSED, facts={"cycles": {"pvc": 1000 // tile + seed}})


SWEEP = {**LAUNCH, "vary": {"local": [1, 2, 4, 8, 16, 32, 64], "seed": {"count": 8}}}


@pytest.mark.parametrize(("method", "ran"), [("grid", 56), ("bandit", 7 + 4 + 2 * 2 + 4)])
def test_a_bandit_finds_what_a_grid_finds_in_fewer_launches(run, method, ran):
    summary, cells = run("sweep", {**SWEEP, "method": method}, cycles_of)
    assert len(cells) == summary.cells == ran
    [note] = summary.notes
    assert note.startswith("best: launch=saxpy local=32: ")
    assert note.endswith(f"{ran} of 56 cells")


def test_sweeps_of_the_same_content_all_find_the_best(tmp_path):
    summary, pool = both(tmp_path, {"sweep": [{**SWEEP, "method": "grid"}, {**SWEEP, "name": "b"}]})
    assert len(pool.ran) == 56
    assert [note.partition(" cycles")[0] for note in summary.notes] == [
        "best: launch=saxpy local=32: 34",
        "best: launch=b local=32: 34",
    ]


def test_a_sweep_hears_of_cells_that_are_under_way_for_others(tmp_path):
    launch = {**SWEEP, "name": "same", "timing": "own"}
    summary, pool = both(tmp_path, {"launch": [launch], "sweep": [SWEEP]})
    assert len(pool.ran) == 56
    assert [note.partition(" cycles")[0] for note in summary.notes] == [
        "best: launch=saxpy local=32: 34"
    ]


class Late(Here):
    """Ends cells only when three are under way, or a second has passed."""

    def __init__(self, result):
        super().__init__(result)
        self._end_with = result
        self._under_way = []

    def submit(self, cell, limits, done):
        self.ran.append(cell)
        self._under_way.append((cell, done))
        timer = threading.Timer(0.0 if len(self._under_way) >= 3 else 0.3, self._end)
        timer.start()

    def _end(self):
        while self._under_way:
            cell, done = self._under_way.pop()
            done(cell, self._end_with(cell))


def both(tmp_path, tables):
    """Run tables together."""
    pool = Late(cycles_of)
    with Store(tmp_path / "results") as store:
        return run_campaign(matrix_of(tables, tmp_path, "test"), store, pool), pool


def test_a_sweep_that_is_known_says_the_same(run):
    first, _ = run("sweep", SWEEP, cycles_of)
    second, ran = run("sweep", SWEEP, cycles_of)
    assert ran == []
    assert second.notes == first.notes


def test_each_device_has_a_best_arm(run):
    vary = {"local": [16, 32], "device": ["pvc", "PVC"], "seed": [0]}
    summary, _ = run("sweep", {**SWEEP, "vary": vary}, cycles_of)
    assert [note.partition(" cycles")[0] for note in summary.notes] == [
        "best: launch=saxpy local=32 device=PVC: 31",
        "best: launch=saxpy local=32 device=pvc: 31",
    ]


def test_programs_on_which_engines_agree_pass(run):
    summary, ran = run("fuzz", {"count": 2, "device": "skl", "statements": 4})
    assert [cell.name["seed"] for cell in ran] == [0, 1]
    assert summary.outcomes == {Outcome.PASSED: 2}


def test_a_program_on_which_they_differ_is_reduced(run, monkeypatch):
    def wrong(text, seed, device):
        from visim.smith.compare import Comparison

        return Comparison(seed, difference="jit differs at byte 1" if "ret" in text else None)

    monkeypatch.setattr("visim.campaign.smithing.compare_text", wrong)
    summary, ran = run("fuzz", {"count": 1, "device": "skl", "statements": 2})
    assert [cell.kind for cell in ran] == ["smith", "reduce"]
    assert summary.outcomes == {Outcome.DIFFERS: 2}
    [note] = summary.notes
    assert "1 lines are left: jit differs" in note


def test_opencl_programs_are_cells_of_their_own(run):
    table = {"language": "visa, opencl", "count": 1, "statements": 4, "pocl": False}
    summary, ran = run("fuzz", table)
    assert [cell.name.get("language", "visa") for cell in ran] == ["visa", "opencl"]
    assert summary.outcomes == {Outcome.PASSED: 2}
    assert not summary.notes


def test_a_campaign_without_pocl_says_so(run, monkeypatch, tmp_path):
    monkeypatch.setenv("OCL_ICD_VENDORS", str(tmp_path))
    table = {"language": "opencl", "count": 1, "statements": 4}
    summary, [cell] = run("fuzz", table, lambda _: Result(Outcome.PASSED))
    assert cell.work["pocl"] is None
    [note] = summary.notes
    assert note.startswith("interpreter and JIT are compared without PoCL: ")


def test_an_opencl_program_on_which_they_differ_is_reduced(run, monkeypatch):
    def wrong(text, *_, **__):
        message = "jit and interpreter differ at u0 of work-item 1"
        return Result(Outcome.DIFFERS, message) if "{" in text.partition("{")[2] else PASSED

    monkeypatch.setattr("visim.campaign.smithing.crosscheck", wrong)
    table = {"language": "opencl", "count": 1, "statements": 60, "pocl": False}
    summary, ran = run("fuzz", table)
    assert [cell.kind for cell in ran] == ["smith", "reduce"]
    assert ran[1].name == {**ran[0].name, "reduced": True}
    [note] = summary.notes
    assert note.endswith("jit and interpreter differ")
    assert int(note.partition(": ")[2].split()[0]) < 16


@pytest.mark.parametrize(
    ("kind", "table", "message"),
    [
        ("sanitize", {}, "path: expected a folder"),
        ("sanitize", {"path": "none"}, "is no folder"),
        ("conform", {"path": "."}, "has no programs"),
        ("fuzz", {"cuont": 1}, "did you mean 'count'?"),
        ("fuzz", {"device": "skk"}, "skk"),
        ("fuzz", {"count": 0}, "expected an integer from 1"),
        ("fuzz", {"language": "visa,cuda"}, "one or more of visa, opencl, found 'cuda'"),
        ("sweep", {**SWEEP, "method": "guess"}, "expected grid or bandit"),
        ("sweep", {**LAUNCH, "vary": {"seed": [1]}}, "there is no axis of arms"),
        ("sweep", {**SWEEP, "over": ["seeds"]}, "'seeds' is no axis"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, kind, table, message):
    with pytest.raises(ArgumentError) as caught:
        matrix_of({kind: [table]}, tmp_path, "test")
    assert message in str(caught.value)
