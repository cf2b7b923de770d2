"""One launch in ranges of its groups: the same arrays, or why its groups cannot run apart."""

from __future__ import annotations

import pytest

import visim
from tests.unit.campaign.files import ROOT
from tests.unit.campaign.test_presets import Here
from visim.campaign.matrix import matrix_of
from visim.campaign.outcomes import Outcome
from visim.campaign.running import run_campaign
from visim.campaign.store import Store
from visim.errors import ArgumentError

EXAMPLES = ROOT / "examples"


@pytest.fixture
def run(tmp_path):
    def ran(kind, example, **keys):
        table = {kind: [{"from": str(EXAMPLES / example / "launch.toml"), **keys}]}
        matrix = matrix_of(table, tmp_path, kind)
        with Store(tmp_path / kind) as store:
            summary = run_campaign(matrix, store, Here())
            return summary, list(store.lines())

    return ran


@pytest.mark.parametrize("example", ["matmul", "mandelbrot", "stencil"])
def test_ranges_of_groups_together_leave_what_the_whole_launch_leaves(run, tmp_path, example):
    _, [whole] = run("launch", example)
    summary, lines = run("split", example, parts=3)
    assert summary.outcomes == {Outcome.PASSED: 4}
    assert lines[-1]["facts"]["arrays"] == whole["facts"]["arrays"]
    ranges = [line["facts"]["groups"] for line in lines[:-1]]
    assert ranges[0][0] == 0
    assert [first for first, _ in ranges[1:]] == [last for _, last in ranges[:-1]]
    assert ranges[-1][1] == lines[0]["facts"]["of"]
    assert list((tmp_path / ".visim-split").iterdir()) == []


@pytest.mark.parametrize(
    ("example", "reason"),
    [
        ("saxpy", "y is read and written, maybe by different groups"),
        ("histogram", "groups update memory together, by atomics"),
    ],
)
def test_why_groups_cannot_run_apart_is_said(run, example, reason):
    summary, _ = run("split", example, parts=2)
    assert summary.outcomes == {Outcome.REFUSED: 2}
    assert reason in summary.failures[0][1].message


def test_what_is_known_is_put_together_only_once(run):
    run("split", "matmul", parts=2)
    summary, _ = run("split", "matmul", parts=2)
    assert (summary.ran, summary.outcomes) == (0, {Outcome.PASSED: 3})


def test_arguments_that_are_the_same_memory_are_refused(run, tmp_path):
    (tmp_path / "f.py").write_text(
        "import numpy as np\n"
        "def make(cell):\n"
        "    same = np.ones((64, 64), np.float32)\n"
        "    return {'c': same, 'a': same.view(np.float16)[:, :64]}\n"
    )
    summary, _ = run("split", "matmul", parts=2, inputs=str(tmp_path / "f.py") + ":make")
    assert Outcome.PASSED not in summary.outcomes


def test_a_kernel_says_what_its_groups_share():
    found = visim.load(EXAMPLES / "matmul" / "matmul.zebin").kernels[0].sharing()
    assert (found.reads, found.writes, found.reasons) == ({"a", "b"}, {"c"}, ())


@pytest.mark.parametrize("keys", [{"parts": 1}, {"parts": 10**6}, {"timing": "own"}])
def test_what_is_wrong_is_said(tmp_path, keys):
    table = {"from": str(EXAMPLES / "matmul" / "launch.toml"), **keys}
    with pytest.raises(ArgumentError, match=r"parts: expected|neither timed"):
        matrix_of({"split": [table]}, tmp_path, "test")
