"""The report as one HTML file: pictures, hot lines, the annotated listing, where numbers come from.

It needs no script, no network and no other file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from html import escape

from visim.errors import UnsupportedError
from visim.timing import charts
from visim.timing.native import MRF_0
from visim.timing.observer import Timing
from visim.timing.result import CATEGORY_NAMES, LineTiming, TimingResult
from visim.timing.traces import LINE_BYTES
from visim.timing.traffic import CACHES, SLM

_HOT_LINES = 12
_MOST_INSTRUCTIONS_OF_A_CURVE = 200_000
_DWORD_FLOATS = ("alu.float", "mad.float", "lrp", "dp", "pln")

_STYLE = """
:root { color-scheme: light dark; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 2em auto; padding: 0 1em; max-width: 1100px; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; }
svg { width: 100%; height: auto; } svg.narrow { display: none; max-width: 480px; }
@media (max-width: 700px) { svg.wide { display: none; } svg.narrow { display: block; } }
svg text { font: 10px system-ui, sans-serif; fill: currentColor; paint-order: stroke;
stroke: Canvas; stroke-width: 3px; } svg .cell { fill: #222; stroke: none; }
.box { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; } td, th {
text-align: left; padding: 2px 8px; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
tr.hot td { font-weight: 600; } code { font: 12px ui-monospace, monospace;
white-space: pre-wrap; overflow-wrap: anywhere; display: block; min-width: 18em; }
.key { display: inline-block; margin-right: 1em; }
.key i { display: inline-block; width: 12px; height: 12px; margin-right: 4px; }
.note { color: #c55; color: light-dark(#a33, #f28b82); } details { margin-top: 1em; }
code.native { opacity: 0.7; padding-left: 2em; }
"""


def page(result: TimingResult, timing: Timing) -> str:
    """Return the report as the text of an HTML file.

    Args:
        result: the timing.
        timing: what has seen the launches; the curve of thread scaling times them again.
    """
    name = escape(result.program.kernel.name)
    title = f"{name} on {escape(result.machine.title)}"
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
        f"<style>{_STYLE}</style></head><body>",
        f"<h1>{title}: {result.cycles} cycles</h1>",
        *_summary(result),
        "<h2>Hot lines</h2>",
        _hot_lines(result),
        "<h2>Where the time of threads goes</h2>",
        f"<p>{charts.legend()}</p>",
        _drawn(partial(charts.stall_stack, _stack_rows(result))),
        "<h2>Timeline</h2>",
        f"<p>All {result.cycles} cycles, {result.timeline.part_cycles} in each part.</p>",
        _drawn(partial(charts.timeline, result)),
        _stretches(result),
        "<h2>Roofline</h2>",
        _roofline(result),
        "<h2>Scaling with the threads of a core</h2>",
        _scaling(result, timing),
        "<h2>Register banks</h2>",
        _drawn(partial(charts.bank_map, result, _register_uses(result))),
        "<h2>Listing</h2>",
        _listing(result),
        _provenance(result),
        "</body></html>",
    ]
    return "\n".join(parts)


def _drawn(draw: Callable[..., str]) -> str:
    """Return a picture for wide windows and one for narrow ones, of which a browser shows one."""
    return "".join(draw(sheet=sheet) for sheet in (charts.WIDE, charts.NARROW))


def _boxed(rows: Iterable[str]) -> str:
    """Return a table in a box that scrolls by itself where it is too wide."""
    return f'<div class="box">{"".join(rows)}</div>'


def _summary(result: TimingResult) -> list[str]:
    cache = result.icache
    lines = [
        f"<p>Costs of preset {result.machine.preset}: {escape(result.machine.preset_source)}.</p>",
        f"<p>{result.threads} hardware threads on {result.slots} slots, occupancy "
        f"{result.occupancy:.1%}; {result.visa} vISA and {result.native} native instructions, "
        f"{result.coissued} started together with another one; {result.bank_conflicts} bank "
        f"conflicts; instruction lines: {cache['l1_hits']} hits and {cache['l1_misses']} misses in "
        f"the first cache, {cache['l2_hits']} and {cache['l2_misses']} in the second.</p>",
    ]
    return lines + [f'<p class="note">{escape(note)}</p>' for note in result.notes]


def _stretches(result: TimingResult) -> str:
    begin, end = charts.stretches_window(result)
    return (
        f"<details><summary>Cycles {begin} to {end} of {result.cycles}, instruction by instruction"
        f"</summary>{_drawn(partial(charts.stretches, result))}"
        "<p>visim time --window BEGIN:END shows others.</p>"
        "</details>"
    )


def _place(line: LineTiming) -> str:
    text = f"line {line.line}" if line.line else f"{line.unit} {line.pc}"
    return text if line.source is None else f"{text}, {line.source[0]}:{line.source[1]}"


def _hot_lines(result: TimingResult) -> str:
    rows = [
        '<table id="hot"><tr><th class="n">share</th><th class="n">cycle-slots</th>'
        '<th class="n">ran</th><th>most of it</th><th>where</th><th>instruction</th></tr>'
    ]
    for number, line in enumerate(result.hottest(_HOT_LINES)):
        share = line.cycles / result.occupied
        worst = max(line.stalls, key=lambda name: line.stalls[name])
        style = f"background: rgba(198, 40, 40, {min(0.6, share):.3f})"
        rows.append(
            f'<tr class="{"hot" if number == 0 else ""}" style="{style}"><td class="n">{share:.1%}'
            f'</td><td class="n">{line.cycles}</td><td class="n">{line.executions}</td>'
            f"<td>{worst}</td><td>{escape(_place(line))}</td>"
            f"<td><code>{escape(line.text.strip())}</code></td></tr>"
        )
    return _boxed([*rows, "</table>"])


def _stack_rows(result: TimingResult) -> list[tuple[str, dict[str, int]]]:
    rows = [("kernel", dict(result.thread_stalls))]
    rows += [(f"line {line.line or line.pc}", dict(line.stalls)) for line in result.hottest(6)]
    return rows


def _operations(result: TimingResult) -> int:
    """Return the floating-point operations, a multiply-add counting as two."""
    return sum(
        item.size * (2 if "mad" in item.opcode else 1) * line.executions
        for line in result.lines
        for item in line.native
        if item.kind in _DWORD_FLOATS and item.opcode != "mov"
    )


_RATES = {"SLM": "slm_rate", "L1": "data_l1_rate", "L3": "l3_rate", "memory": "dram_rate"}
"""Which number of the table each roof has."""


def roofs(result: TimingResult) -> list[charts.Roof]:
    """Return the memories that a kernel uses: bytes a cycle of the whole GPU, and bytes moved."""
    number = result.machine.number
    subslices = -(-number("eus") // number("cores_per_subslice"))
    found = result.data
    known = [charts.Roof("SLM", number("slm_rate") * subslices, result.moved[SLM], "#6a1b9a")]
    if found is None:
        known.append(charts.Roof("L3", number("l3_rate"), result.moved[CACHES], "#c62828"))
    else:
        lines = found.l1_hits + found.l1_misses
        beyond = LINE_BYTES * (found.l3_hits + found.l3_misses)
        bus = number("dram_rate") * number("dram_share") // 100 // number("clock")
        l1 = number("data_l1_rate") * subslices
        known += [
            charts.Roof("L1", l1, LINE_BYTES * lines, "#ef6c00"),
            charts.Roof("L3", number("l3_rate"), beyond, "#c62828"),
            charts.Roof("memory", bus, found.memory_bytes, "#2e7d32"),
        ]
    return [roof for roof in known if roof.moved and roof.bandwidth]


def _roofline(result: TimingResult) -> str:
    facts = result.machine.facts
    peak = result.machine.number("flops") * result.machine.number("eus")
    drawn = roofs(result)
    operations = _operations(result)
    picture = _drawn(partial(charts.roofline, operations, result.cycles, peak, drawn))
    assumed = " if all channels are on"
    said = [
        f"{roof.name}: {roof.bandwidth} bytes a cycle ({facts[name].origin}: "
        f"{facts[name].source}), {roof.moved} bytes moved"
        f"{assumed if roof.name == 'SLM' or result.data is None else ' in whole lines'}."
        for roof in drawn
        for name in [_RATES[roof.name]]
    ]
    if result.data is None:
        said.append("Messages have fixed latencies: there is no roof of memory behind the L3.")
    return picture + "".join(f"<p>{escape(text)}</p>" for text in said)


def _scaling(result: TimingResult, timing: Timing) -> str:
    if result.native > _MOST_INSTRUCTIONS_OF_A_CURVE:
        return "<p>Not drawn: the kernel is too long to be timed several times.</p>"
    points: list[tuple[int, float]] = []
    for slots in range(1, result.machine.number("slots") + 1):
        try:
            found = timing.on(result.machine.with_facts({"slots": slots}))
        except UnsupportedError:
            continue  # a group needs more slots than that
        points.append((slots, found.native / max(1, found.cycles)))
    return _drawn(partial(charts.scaling, points))


def _register_uses(result: TimingResult) -> Counter[int]:
    uses: Counter[int] = Counter()
    for line in result.lines:
        for item in line.native:
            touched = {*item.writes, *(r for source in item.sources for r in source)}
            for register in touched:
                if register < MRF_0:
                    uses[register] += line.executions
    return uses


def _listing(result: TimingResult) -> str:
    rows = ['<table id="listing">']
    for line in result.lines:
        share = line.cycles / result.occupied
        stalls = ", ".join(
            f"{name} {line.stalls[name]}" for name in CATEGORY_NAMES if line.stalls[name]
        )
        rows.append(
            f'<tr style="background: rgba(198, 40, 40, {min(0.6, share):.3f})" '
            f'title="{escape(stalls)}"><td class="n">{share:.1%}</td>'
            f'<td class="n">{line.executions}</td><td>{escape(_place(line))}</td>'
            f"<td><code>{escape(line.text.strip())}</code></td></tr>"
        )
        natives = "\n".join(str(item) for item in line.native)
        rows.append(
            f'<tr><td colspan="3"></td><td><code class="native">{escape(natives)}</code></td></tr>'
        )
    return _boxed([*rows, "</table>"])


def _provenance(result: TimingResult) -> str:
    rows = [
        f"<tr><td>{escape(str(item['name']))}</td><td>{escape(str(item['value']))}</td>"
        f"<td>{escape(str(item['from']))}</td><td>{escape(str(item['source']))}</td></tr>"
        for item in result.provenance
    ]
    head = "<tr><th>number</th><th>value</th><th>from</th><th>source</th></tr>"
    return (
        "<details><summary>Where the numbers come from</summary>"
        f'<div class="box"><table>{head}{"".join(rows)}</table></div></details>'
    )


__all__ = ["page", "roofs"]
