"""The HTML report and the timeline for Perfetto."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from tests.unit.timing.programs import ALONE, kernel, multiply
from visim.cli import main
from visim.timing import Timing
from visim.timing.page import page
from visim.timing.perfetto import trace_events

HOT = "sqrt (M1, 8) V33(0,0)<1> V33(0,0)<1;1,0>"


@pytest.fixture(scope="module")
def timing():
    """A kernel whose hottest line is known: a chain of roots after some products."""
    found = Timing("snb", parameters={**ALONE, "memory": 0})
    body = [multiply(34, 35), *[HOT] * 6, multiply(36, 37)]
    kernel(body).launch([], thread_groups=6, observers=[found])
    return found


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.rows, self.cell = [], [], None

    def handle_starttag(self, tag, attrs):
        self.open.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])

    def handle_data(self, data):
        if self.rows:
            self.rows[-1].append(data)


def test_the_report_needs_nothing_else(timing):
    text = page(timing.result, timing)
    tags = Tags()
    tags.feed(text)
    names = [name for name, _ in tags.open]
    assert "script" not in names
    assert "link" not in names
    assert not [a for _, a in tags.open if any(key in a for key in ("src", "href"))]
    assert names.count("svg") == 5


def test_the_first_row_of_hot_lines_is_the_hottest(timing):
    tags = Tags()
    tags.feed(page(timing.result, timing))
    (hottest,) = timing.result.hottest(1)
    assert hottest.text.strip() in tags.rows[1]
    assert str(hottest.cycles) in tags.rows[1]


def test_a_browser_shows_the_report(timing, tmp_path):
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium is installed")
    file = tmp_path / "report.html"
    file.write_text(page(timing.result, timing), encoding="utf-8")
    words = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'user'}"]
    found = subprocess.run(
        [browser, *words, "--dump-dom", file.as_uri()],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert "Hot lines" in found.stdout
    assert found.stdout.count("<rect") > 50
    assert found.stdout.count("<svg") == 5


def test_the_timeline_has_a_track_for_each_slot(timing):
    result = timing.result
    found = trace_events(result)
    tracks = {(e["pid"], e["tid"]) for e in found["traceEvents"] if e["ph"] == "X"}
    assert tracks == {(span.core, span.slot) for span in result.spans}
    by_track = {}
    for event in found["traceEvents"]:
        if event["ph"] == "X":
            by_track.setdefault((event["pid"], event["tid"]), []).append(event)
    for events in by_track.values():
        for before, after in itertools.pairwise(events):
            assert before["ts"] + before["dur"] <= after["ts"]
    assert (
        sum(e["dur"] for e in found["traceEvents"] if e["ph"] == "X")
        == sum(result.stalls.values()) - result.idle
    )


def test_the_command_writes_both(tmp_path):
    program = tmp_path / "k.visaasm"
    program.write_text(kernel([multiply(34, 35)]).source)
    html, trace = tmp_path / "k.html", tmp_path / "k.json"
    words = ["time", str(program), "--platform", "skl", "--groups", "2", "--arch", "snb"]
    assert main([*words, "--html", str(html), "--perfetto", str(trace)]) == 0
    assert html.read_text().startswith("<!doctype html>")
    assert json.loads(trace.read_text())["otherData"]["arch"] == "snb"


@pytest.mark.parametrize("option", ["--html", "--perfetto"])
def test_a_file_that_cannot_be_written_is_said_before_the_kernel_runs(
    tmp_path, capsys, monkeypatch, option
):
    program = tmp_path / "k.visaasm"
    program.write_text(kernel([multiply(34, 35)]).source)
    monkeypatch.setattr("visim.cli.time.launch", pytest.fail)
    words = ["time", str(program), "--platform", "skl", "--groups", "2", "--arch", "snb"]
    assert main([*words, option, str(tmp_path / "nowhere" / "k")]) == 2
    assert "make it first" in capsys.readouterr().err
