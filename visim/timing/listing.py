"""Timing results as text: the annotated listing, and generations side by side."""

from __future__ import annotations

import html
from collections.abc import Mapping

from visim.errors import UnsupportedError
from visim.timing.result import CATEGORY_NAMES, LineTiming, TimingResult


def listing(result: TimingResult) -> str:
    """Return every executed vISA instruction with its cycles, and its native instructions.

    The share is that of the time in which slots have threads; the worst stall is named.
    """
    busy = max(1, result.cycles * result.slots - result.idle)
    lines = ["  share      cycles     ran  most of it     instruction"]
    unit, source = "", None
    for line in result.lines:
        if line.unit != unit:
            unit = line.unit
            lines.append(f"{unit}:")
        if line.source is not None and line.source != source:
            source = line.source
            lines.append(f"{'':36}// {source[0]}:{source[1]}")
        lines += _line(line, busy)
    return "\n".join(lines)


def _line(line: LineTiming, busy: int) -> list[str]:
    worst = max(line.stalls, key=lambda name: line.stalls[name])
    head = f"{line.cycles / busy:7.1%} {line.cycles:>11} {line.executions:>7}  {worst:<12}"
    found = [f"{head}  {line.text.strip()}"]
    found += [f"{'':44}{native}" for native in line.native]
    return found


def html_listing(result: TimingResult) -> str:
    """Return the summary and the executed instructions as HTML; the hotter, the redder."""
    busy = max(1, result.cycles * result.slots - result.idle)
    hottest = max((line.cycles for line in result.lines), default=0) or 1
    rows = [
        f'<tr style="background:rgba(230,60,30,{0.6 * line.cycles / hottest:.2f})">'
        f'<td style="text-align:right">{line.cycles / busy:.1%}</td>'
        f'<td style="text-align:right">{line.executions}</td>'
        f'<td style="text-align:left"><code>{html.escape(line.text.strip())}</code></td></tr>'
        for line in result.lines
    ]
    head = "<tr><th>share<th>ran<th>instruction</tr>"
    return f"<pre>{html.escape(str(result))}</pre><table>{head}{''.join(rows)}</table>"


def comparison(results: Mapping[str, TimingResult | UnsupportedError]) -> str:
    """Return a table of generations: cycles, instructions, and the stall stack of each."""
    width = max(len(name) for name in results)
    shown = [name for name in CATEGORY_NAMES if name != "other"]
    head = f"{'':<{width}} {'cycles':>10} {'native':>9} {'occupied':>9}"
    lines = [head + "".join(f" {name:>10}" for name in shown)]
    refused: list[str] = []
    for name, found in results.items():
        if isinstance(found, UnsupportedError):
            refused.append(f"{name:<{width}}  {found}")
            continue
        busy = max(1, found.cycles * found.slots - found.idle)
        shares = "".join(f" {found.stalls[category] / busy:>10.1%}" for category in shown)
        lines.append(
            f"{name:<{width}} {found.cycles:>10} {found.native:>9} {found.occupancy:>9.1%}{shares}"
        )
    return "\n".join(lines + refused)


__all__ = ["comparison", "html_listing", "listing"]
