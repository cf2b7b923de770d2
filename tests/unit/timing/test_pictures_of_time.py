"""The HTML report and the timeline for Perfetto."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
from html import escape, unescape
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
    assert names.count("svg") == 12


def test_the_first_row_of_hot_lines_is_the_hottest(timing):
    tags = Tags()
    tags.feed(page(timing.result, timing))
    (hottest,) = timing.result.hottest(1)
    assert hottest.text.strip() in tags.rows[1]
    assert str(hottest.cycles) in tags.rows[1]


def browsed(folder, text, *options):
    """Return what a headless browser makes of a page, as text."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium is installed")
    file = folder / "page.html"
    file.write_text(text, encoding="utf-8")
    words = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'user'}"]
    done = subprocess.run(
        [browser, *words, *options, "--dump-dom", file.as_uri()],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout


def test_a_browser_shows_the_report(timing, tmp_path):
    found = browsed(tmp_path, page(timing.result, timing))
    assert "Hot lines" in found
    assert found.count("<rect") > 50
    assert found.count("<svg") == 12


MEASURE = """
const frame = document.querySelector("iframe");
frame.onload = () => {
  const inner = frame.contentDocument;
  for (const one of inner.querySelectorAll("details")) one.open = true;
  const seen = (node) => node.getClientRects().length > 0;
  const pictures = [...inner.querySelectorAll("svg")].filter(seen);
  const words = pictures.map((svg) => [...svg.querySelectorAll("text")].map((text) => {
    const {left, top, right, bottom} = text.getBoundingClientRect();
    return [text.textContent, left, top, right, bottom];
  }));
  const canvas = inner.body.appendChild(inner.createElement("div"));
  canvas.style.background = "Canvas";
  const colours = [inner.defaultView.getComputedStyle(canvas).backgroundColor];
  for (const name of ["h1", ".note", "svg text", "code.native"])
    for (const node of [...inner.querySelectorAll(name)].slice(0, 1))
      colours.push(inner.defaultView.getComputedStyle(node).color);
  const width = inner.documentElement.scrollWidth;
  document.body.textContent = JSON.stringify({width, words, colours});
};
"""
"""Measures the page in the frame: how wide it is, where the words of its pictures are, colours."""


def measured(folder, text, width, *options):
    frame = f'<iframe style="width: {width}px; height: 900px; border: 0" srcdoc="{escape(text)}">'
    whole = f"<!doctype html><body>{frame}</iframe><script>{MEASURE}</script></body>"
    found = re.search(r"<body>(.*)</body>", browsed(folder, whole, *options), re.DOTALL)
    return json.loads(unescape(found[1]))


def luminance(colour):
    """Return the relative luminance as WCAG defines it."""
    parts = [int(number) / 255 for number in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(f * c for f, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.fixture(scope="module")
def report():
    """A report whose listing has long lines, and with large numbers in all of its pictures."""
    timing = Timing("bmg")
    body = [multiply(34, 35), "lsc_load.slm (M1, 8) V34:d32 flat[V35]:a32", *[HOT] * 6] * 4
    slm = [".kernel_attr SLMSize=1"]
    kernel(body, platform="pvc", declarations=slm).launch([], thread_groups=90, observers=[timing])
    slow = timing.on(timing.machine.with_facts({"memory": 200_000}))
    return page(slow, timing)


@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (400, "dark"), (1200, "light")])
def test_words_of_pictures_can_be_read_in_any_window(report, tmp_path, width, scheme):
    options = ["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []
    found = measured(tmp_path, report, width, *options)
    assert found["width"] <= width
    assert len(found["words"]) == 6
    for words in found["words"]:
        assert all(bottom - top >= 9 for _, _, top, _, bottom in words)
        assert all(left >= 0 and right <= width for _, left, _, right, _ in words)
        for (one, *first), (other, *second) in itertools.combinations(words, 2):
            apart = first[2] <= second[0] + 1 or second[2] <= first[0] + 1
            apart |= first[3] <= second[1] + 4 or second[3] <= first[1] + 4
            assert apart, (one, other)
    canvas, *colours = map(luminance, found["colours"])
    assert (canvas < 0.5) == (scheme == "dark")
    for colour in colours:
        assert (max(canvas, colour) + 0.05) / (min(canvas, colour) + 0.05) >= 4.5


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
