"""A campaign on a Dask cluster of this machine: the same results, also when a worker is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.unit.campaign.files import make, outcomes, results
from visim.campaign.cluster import result_of
from visim.campaign.outcomes import Outcome, Result
from visim.campaign.pools import PoolGoneError
from visim.cli import main

DASK = [sys.executable, "-m", "dask"]
WAIT_S = 120


def until(condition):
    """Wait for something, but not for ever."""
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture
def cluster(tmp_path):
    """The address of a scheduler with two workers."""
    file = tmp_path / "scheduler.json"
    common = ["--no-dashboard", "--scheduler-file", str(file)]
    worker = ["worker", *common, "--nthreads", "1", "--local-directory", str(tmp_path / "dask")]
    commands = [["scheduler", "--port", "0", *common], worker, worker]
    with (tmp_path / "log").open("w") as log:
        running = [subprocess.Popen([*DASK, *words], stdout=log, stderr=log) for words in commands]
        try:
            until(lambda: file.exists() and file.read_text().endswith("}"))
            until(lambda: (tmp_path / "log").read_text().count("Registered to") == 2)
            yield json.loads(file.read_text())["address"]
        finally:
            for one in running:
                one.terminate()
            for one in running:
                one.wait(WAIT_S)


def test_results_are_those_of_local_processes_whichever_worker_is_killed(cluster, tmp_path):
    make(tmp_path, seeds="from = 100, count = 8")
    (tmp_path / "slow").write_text("")
    words = [sys.executable, "-m", "visim", "campaign", "some.toml", "--out"]
    there = subprocess.Popen(
        [*words, "there", "--scheduler", cluster], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    file = tmp_path / "there" / "results.jsonl"
    until(lambda: file.exists() and file.read_bytes().count(b"\n") >= 3)
    visims = {int(one["took"]["worker"].rpartition(":")[2]) for one in results(tmp_path, "there")}
    os.kill(parent_of(min(visims)), signal.SIGKILL)
    text, _ = there.communicate(timeout=WAIT_S)
    assert there.returncode == 0, text
    (tmp_path / "slow").unlink()
    here = subprocess.run([*words, "here"], cwd=tmp_path, timeout=WAIT_S, check=False)
    assert here.returncode == 0
    assert lasting(tmp_path, "there") == lasting(tmp_path, "here")
    assert len(results(tmp_path, "there")) == 16
    assert set(outcomes(tmp_path, "there").values()) == {"passed"}


def parent_of(process):
    """Return the process that has started one: of a worker of visim, that of the cluster."""
    stat = Path(f"/proc/{process}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])


def lasting(folder, name):
    """Return the results without what they took."""
    found = {}
    for line in results(folder, name):
        del line["took"]
        found[line["key"]] = line
    return found


class Future:
    """A future of distributed whose worker went away with the answer, or whose scheduler did."""

    def __init__(self, status, answer=None):
        self.status = status
        self._answer = answer

    def result(self):
        """Wait until the answer is there again."""
        if self._answer is None:
            raise RuntimeError(self.status)
        return self._answer

    def cancelled(self):
        """Return whether nobody works at it."""
        return self.status == "cancelled"


def test_an_answer_that_a_worker_took_away_is_waited_for():
    answer = Result(Outcome.PASSED)
    assert result_of(Future("lost", answer.to_dict()), "tcp://a:1") == answer
    gone = result_of(Future("cancelled"), "tcp://a:1")
    assert isinstance(gone, PoolGoneError)
    assert str(gone) == "the scheduler tcp://a:1 has gone; start again to go on"
    failed = result_of(Future("error"), "tcp://a:1")
    assert isinstance(failed, Result)
    assert failed.outcome is Outcome.LOST


def test_what_is_no_scheduler_is_said(tmp_path, monkeypatch, capsys):
    make(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["campaign", "some.toml", "--scheduler", "nonsense://"]) == 2
    assert "no scheduler answers" in capsys.readouterr().err
    assert main(["campaign", "some.toml", "--scheduler", "tcp://a:1", "--jobs", "2"]) == 2
    assert "exclude each other" in capsys.readouterr().err
