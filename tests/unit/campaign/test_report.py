"""The page and the Parquet file of a campaign."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pyarrow.parquet
import pytest

from visim.campaign.cells import Cell, digest_of
from visim.campaign.children import Limits
from visim.campaign.matrix import Matrix
from visim.campaign.outcomes import Outcome, Result, Took
from visim.campaign.parquet import write_parquet
from visim.campaign.report import page, report_of
from visim.campaign.running import run_campaign
from visim.campaign.settings import Settings
from visim.campaign.store import Store

SETTINGS = Settings("</script><b>", Limits(1, 1 << 20), frozenset({Outcome.PASSED}))


class Pool:
    size = 1

    def __init__(self, cycles):
        self._cycles = cycles

    def submit(self, cell, limits, done):
        seed = cell.name["seed"]
        facts = {"arrays": {"y": "1"}, "cycles": {"pvc": self._cycles + seed}, "code": {"grf": 128}}
        is_bad = seed == 2
        outcome = Outcome.FAULT if is_bad else Outcome.PASSED
        message = "</script><script>alert(1)</script>" if is_bad else ""
        done(cell, Result(outcome, message, facts, Took(0.5, 1, "here:1")))

    def close(self):
        pass


def ran(store, version, cycles, count=4):
    names = [{"launch": "k", "seed": seed} for seed in range(count)]
    cells = [Cell("launch", name, {}, digest_of(version, name)) for name in names]
    return run_campaign(Matrix(SETTINGS, count, lambda: iter(cells)), store, Pool(cycles))


@pytest.fixture
def twice(tmp_path):
    """A folder with two campaigns, of which the second takes more cycles, and its report."""
    with Store(tmp_path / "results") as store:
        ran(store, "old", 100)
        summary = ran(store, "new", 110)
        return store, report_of(summary, store)


def data_of(text):
    return json.loads(re.search(r'type="application/json">(.*?)</script>', text, re.DOTALL)[1])


def test_rows_have_their_past_and_what_has_changed(twice):
    _, report = twice
    assert [row["change"] for row in report.rows] == [
        "+10.0 % cycles",
        "+9.9 % cycles",
        "+9.8 % cycles",
        "+9.7 % cycles",
    ]
    assert report.rows[0]["past"] == [100]
    assert report.axes == ("launch", "seed")


def test_what_has_not_run_again_has_not_changed(tmp_path):
    with Store(tmp_path / "results") as store:
        ran(store, "old", 100)
        report = report_of(ran(store, "old", 110), store)
    assert {row["change"] for row in report.rows} == {""}


def test_differences_to_another_folder(tmp_path):
    with Store(tmp_path / "one") as store:
        ran(store, "old", 200)
    with Store(tmp_path / "two") as store:
        report = report_of(ran(store, "new", 100), store, tmp_path / "one" / "results.jsonl")
    assert report.rows[0]["change"] == "-50.0 % cycles"


def test_of_too_many_rows_those_that_failed_stay(tmp_path, monkeypatch):
    monkeypatch.setattr("visim.campaign.report.MOST_ROWS", 2)
    with Store(tmp_path / "results") as store:
        report = report_of(ran(store, "old", 100, count=6), store)
    assert [row["name"]["seed"] for row in report.rows] == [0, 2]
    assert report.of == 6


def test_the_page_holds_its_data_and_asks_nobody_for_anything(twice):
    text = page(twice[1])
    data = data_of(text)
    assert [row["outcome"] for row in data["rows"]] == ["passed", "passed", "fault", "passed"]
    assert data["rows"][2]["message"] == "</script><script>alert(1)</script>"
    assert "<b>" not in text
    assert "src=" not in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_a_browser_shows_the_page(twice, tmp_path):
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium is installed")
    file = tmp_path / "report.html"
    script = (
        'document.getElementById("outcome").value = "fault"; show();'
        'document.title = document.getElementById("shown").textContent;'
    )
    text = page(twice[1]).replace("\nshow();\n</script>", f"\nshow();\n{script}\n</script>")
    file.write_text(text, encoding="utf-8")
    words = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'user'}"]
    found = subprocess.run(
        [browser, *words, "--dump-dom", file.as_uri()],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout
    assert "<title>1 of 4 cells</title>" in found
    rows = found[found.index('<tbody id="rows">') :]
    assert rows.count("<tr>") == 1
    assert rows.count("<polyline") == 1
    assert "+9.8 % cycles" in rows
    assert "&lt;script&gt;alert(1)" in rows


def test_parquet_has_all_results(twice, tmp_path):
    store, _ = twice
    file = tmp_path / "results.parquet"
    write_parquet(file, store.lines)
    table = pyarrow.parquet.read_table(file)
    assert table.num_rows == 8
    assert table.column("outcome").to_pylist().count("fault") == 2
    row = table.to_pylist()[0]
    assert dict(row["name"]) == {"launch": "k", "seed": "0"}
    assert dict(row["cycles"]) == {"pvc": 100}
    assert json.loads(row["facts"])["arrays"] == {"y": "1"}
    assert row["seconds"] == 0.5
    assert [one.name for one in tmp_path.iterdir() if "parquet" in one.name] == ["results.parquet"]
