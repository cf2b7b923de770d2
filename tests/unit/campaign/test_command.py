"""`visim campaign` with real workers: crashes, hangs, killed workers, and going on after a kill."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

from tests.unit.campaign.files import OUTCOMES, ROOT, SAXPY, make, outcomes, results
from tests.unit.children import is_gone
from visim.campaign.outcomes import Outcome
from visim.cli import main


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A folder in which a campaign has run, its exit code, and what it printed."""
    folder = tmp_path_factory.mktemp("campaign")
    make(folder)
    words = [sys.executable, "-m", "visim", "campaign", "some.toml", "--jobs", "2"]
    found = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    return folder, found


def test_every_cell_has_its_outcome_whatever_happens_to_workers(ran):
    folder, found = ran
    assert outcomes(folder) == {
        (seed, engine): outcome
        for seed, outcome in OUTCOMES.items()
        for engine in ("jit", "interpreter")
    }
    assert len(results(folder)) == 16
    assert found.returncode == 1


def test_what_did_not_pass_is_told(ran):
    _, found = ran
    assert "16 cells" in found.stdout
    assert "6 passed" in found.stdout
    assert "hung: launch=saxpy seed=3 engine=jit: it is not done after 6 s" in found.stdout
    assert "functions.py:right raised ValueError: six" in found.stdout
    assert "y differs from functions.py:right in 64 of 64 elements" in found.stdout
    assert found.stderr == ""


def test_the_cell_of_the_killed_worker_has_run_again(ran):
    folder, _ = ran
    attempts = [line["took"]["attempts"] for line in results(folder) if line["name"]["seed"] == 5]
    assert sorted(attempts) == [1, 2]


def test_facts_are_those_of_the_launch(ran):
    folder, _ = ran
    line = next(line for line in results(folder) if line["outcome"] == "passed")
    assert line["facts"]["device"] == "pvc"
    assert set(line["facts"]["arrays"]) == {"x", "y"}
    assert line["facts"]["compared"][0]["differing"] == 0
    assert line["facts"]["code"]["instructions"] > 10


def test_nothing_runs_again_and_the_exit_code_stays(ran, monkeypatch, capsys):
    folder, _ = ran
    monkeypatch.chdir(folder)
    before = (folder / "some.campaign" / "results.jsonl").read_bytes()
    assert main(["campaign", "some.toml", "--json"]) == 1
    form = json.loads(capsys.readouterr().out)
    assert (form["cells"], form["ran"], form["fine"]) == (16, 0, False)
    assert form["outcomes"]["crashed"] == 2
    assert len(form["failures"]) == 10
    assert (folder / "some.campaign" / "results.jsonl").read_bytes() == before


def test_a_campaign_goes_on_where_it_was_killed(tmp_path):
    make(tmp_path, seeds="from = 100, count = 12")
    (tmp_path / "slow").write_text("")
    words = [sys.executable, "-m", "visim", "campaign", "some.toml", "--jobs", "2"]
    first = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL)
    file = tmp_path / "some.campaign" / "results.jsonl"
    end = time.monotonic() + 120
    while time.monotonic() < end and (not file.exists() or file.read_bytes().count(b"\n") < 3):
        time.sleep(0.01)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    done = len(results(tmp_path))
    assert 3 <= done < 24
    workers = {int(line["took"]["worker"].rpartition(":")[2]) for line in results(tmp_path)}
    assert all(is_gone(worker) for worker in workers)
    file.write_bytes(file.read_bytes()[:-10])
    (tmp_path / "slow").unlink()
    second = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert second.returncode == 0, second.stdout
    assert f"{24 - done + 1} ran" in second.stdout
    assert len(results(tmp_path)) == 24
    assert set(outcomes(tmp_path).values()) == {"passed"}
    assert {line["campaign"] for line in results(tmp_path)} == {1}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.toml"], "there is no file"),
        (["some.toml", "--jobs", "0"], "--jobs: expected 1 to"),
        (["some.toml", "--seconds", "-1"], "seconds: expected a number above 0"),
        (["some.toml", "--memory", "lots"], "memory: expected a text such as"),
        (["functions.py"], "not a TOML file"),
    ],
)
def test_wrong_use_is_said(tmp_path, monkeypatch, capsys, words, message):
    make(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["campaign", *words]) == 2
    assert message in capsys.readouterr().err


def test_the_campaign_of_the_page_passes(tmp_path, monkeypatch, capsys):
    page = (ROOT / "docs" / "campaign.md").read_text(encoding="utf-8")
    found = re.findall(r"^```(toml|python)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    blocks = dict(reversed(found))  # the first of each
    (tmp_path / "saxpy.toml").write_text(blocks["toml"])
    (tmp_path / "saxpy.py").write_text(blocks["python"])
    shutil.copy(SAXPY, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["campaign", "saxpy.toml", "--jobs", "1"]) == 0
    assert "saxpy: 8 cells: 8 passed" in capsys.readouterr().out


def test_the_page_has_all_outcomes_with_their_meanings():
    page = (ROOT / "docs" / "campaign.md").read_text(encoding="utf-8")
    for outcome in Outcome:
        assert f"| `{outcome}` | {outcome.meaning} |" in page
