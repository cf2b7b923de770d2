"""Which cells of a matrix run, how they are counted, and what several together show."""

from __future__ import annotations

from dataclasses import replace

import pytest

from visim.campaign.cells import Cell, digest_of
from visim.campaign.children import Limits
from visim.campaign.matrix import Matrix
from visim.campaign.outcomes import Outcome, Result
from visim.campaign.running import run_campaign
from visim.campaign.settings import Settings
from visim.campaign.store import Store

SETTINGS = Settings("test", Limits(1, 1 << 20), frozenset({Outcome.PASSED}))


def cell(content, agree=(), slower=(), **name):
    return Cell("launch", name, {"content": content}, digest_of(content), agree, slower)


class Pool:
    """Runs each cell when it comes, but `held` only when that many have come, last first."""

    size = 1

    def __init__(self, result=lambda cell: Result(Outcome.PASSED), held=1):
        self.ran = []
        self._result = result
        self._held = held
        self._waiting = []

    def submit(self, cell, limits, done):
        assert limits == SETTINGS.limits
        self.ran.append(dict(cell.name))
        self._waiting.append((done, cell, self._result(cell)))
        if len(self._waiting) == self._held:
            while self._waiting:
                done, one, result = self._waiting.pop()
                done(one, result)

    def close(self):
        pass


@pytest.fixture
def run(tmp_path):
    def ran(cells, pool=None, **options):
        matrix = Matrix(SETTINGS, len(cells), lambda: iter(cells))
        with Store(tmp_path / "results") as store:
            return run_campaign(matrix, store, pool or Pool(), **options)

    return ran


def test_each_content_runs_once(run):
    pool = Pool()
    cells = [cell("a", n=1), cell("b", n=2), cell("a", n=3)]
    summary = run(cells, pool)
    assert pool.ran == [{"n": 1}, {"n": 2}]
    assert (summary.cells, summary.ran, summary.outcomes) == (3, 2, {Outcome.PASSED: 3})
    assert summary.is_fine


def test_what_is_known_does_not_run_again_and_still_counts(run):
    pool = Pool(lambda one: Result(Outcome(one.work["content"])))
    cells = [cell("passed", n=1), cell("fault", n=2), cell("hung", n=3)]
    run(cells, pool)
    again = Pool()
    summary = run(cells, again)
    assert again.ran == []
    assert summary.outcomes == {Outcome.PASSED: 1, Outcome.FAULT: 1, Outcome.HUNG: 1}
    assert [name for name, _ in summary.failures] == ["n=2", "n=3"]
    assert not summary.is_fine
    run(cells, again, again=lambda outcome: outcome is Outcome.HUNG)
    assert again.ran == [{"n": 3}]
    assert run(cells).outcomes == {Outcome.PASSED: 2, Outcome.FAULT: 1}


def test_outcomes_that_are_accepted_are_fine(tmp_path):
    settings = replace(SETTINGS, accept=SETTINGS.accept | {Outcome.REFUSED})
    for number, accepting in enumerate((SETTINGS, settings)):
        matrix = Matrix(accepting, 1, lambda: iter([cell("a", n=1)]))
        with Store(tmp_path / str(number)) as store:
            summary = run_campaign(matrix, store, Pool(lambda _: Result(Outcome.REFUSED)))
        assert summary.is_fine == (accepting is settings)


def bytes_of(one):
    return Result(Outcome.PASSED, facts={"arrays": {"y": one.work["content"][:1]}})


def test_cells_that_have_to_agree_are_compared_with_the_first_of_the_matrix(run):
    cells = [
        cell("a1", agree=("engine",), engine="jit", seed=1),
        cell("a2", agree=("engine",), engine="jit", seed=2),
        cell("a3", agree=("engine",), engine="interpreter", seed=1),
        cell("b4", agree=("engine",), engine="interpreter", seed=2),
    ]
    [verdict] = run(cells, Pool(bytes_of, held=4)).verdicts
    assert (verdict.kind, verdict.first, verdict.other) == (
        "disagree",
        "engine=jit seed=2",
        "engine=interpreter seed=2",
    )
    assert verdict.message == "other bytes in y"
    assert not run(cells).is_fine  # nothing ran, and they still disagree


def test_a_cell_that_ends_otherwise_disagrees(run):
    pool = Pool(lambda one: Result(Outcome(one.work["content"])))
    cells = [cell("passed", agree=("n",), n=1), cell("fault", agree=("n",), n=2)]
    [verdict] = run(cells, pool).verdicts
    assert verdict.message == "it ended with fault, the other passed"


@pytest.mark.parametrize(("cycles", "count"), [(100, 0), (101, 0), (103, 1), (50, 0)])
def test_more_cycles_than_the_first_are_slower(run, cycles, count):
    def result(one):
        facts = {"cycles": {"xe2": one.work["content"]}, "code": {"spill": 0}}
        return Result(Outcome.PASSED, facts=facts)

    old = cell(100, slower=("compiler",), compiler="old")
    cells = [old, cell(cycles, slower=("compiler",), compiler="new")]
    verdicts = run(cells, Pool(result)).verdicts
    assert len(verdicts) == (count if cycles != 100 else 0)
    for verdict in verdicts:
        assert verdict.message == "103 cycles on xe2, 100 before (+3.0 %)"


def test_progress_is_told_after_each_cell(run):
    heard = []
    run([cell("a", n=1), cell("b", n=2), cell("a", n=3)], told=heard.append)
    assert [one.done for one in heard][-1] == 3
    assert {one.of for one in heard} == {3}
