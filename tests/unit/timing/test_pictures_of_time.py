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
from visim.timing import Timing, observer
from visim.timing.page import page
from visim.timing.perfetto import trace_events
from visim.timing.result import CATEGORY_NAMES

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
    assert names.count("svg") == 6


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
    assert found.stdout.count("<svg") == 6


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


def test_the_timeline_has_what_the_totals_say(timing):
    result = timing.result
    for number, name in enumerate(CATEGORY_NAMES):
        drawn = sum(part[number] for part in result.timeline.parts)
        assert drawn == result.stalls[name] - (result.idle if name == "other" else 0)
    assert (len(result.timeline.parts) - 1) * result.timeline.part_cycles < result.cycles
    assert len(result.timeline.parts) * result.timeline.part_cycles >= result.cycles


def test_a_long_run_is_drawn_to_its_end(timing):
    long = timing.on(timing.machine.with_facts({"memory": 100_000}))
    assert long.timeline.part_cycles > timing.result.timeline.part_cycles
    assert any(long.timeline.parts[-1])


def test_events_are_those_of_the_window(timing):
    begin, end = 20, 60
    found = timing.on(timing.machine, window=(begin, end))
    whole = timing.result
    expected = [event for event in whole.events if event[1] < end and event[2] > begin]
    assert list(found.events) == expected
    assert found.window == (begin, end)
    title = trace_events(found)["traceEvents"][0]
    assert title["name"] == f"cycles 20 to 60 of {whole.cycles}"


def test_events_that_are_too_many_shorten_the_window(timing, monkeypatch):
    monkeypatch.setattr(observer, "TIMELINE_EVENTS", 10)
    found = timing.on(timing.machine)
    assert len(found.events) == 10
    assert found.window == (0, max(event[1] for event in found.events))
    assert f"of {found.cycles}, instruction by instruction" in page(found, timing)
