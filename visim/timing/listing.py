"""Timing results as text: the annotated listing, and generations side by side."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence

from visim.errors import UnsupportedError
from visim.timing.result import CATEGORY_NAMES, LineTiming, TimingResult


def listing(result: TimingResult) -> str:
    """Return every executed vISA instruction with its cycles, and its native instructions.

    The share is that of the time in which slots have threads; the worst stall is named.
    """
    busy = result.occupied
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
    busy = result.occupied
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
    """Return a table of generations: cycles, instructions, the stall stack of each, and why.

    Each generation is compared with the fastest one, in a sentence.
    """
    width = max(len(name) for name in results)
    shown = [name for name in CATEGORY_NAMES if name != "other"]
    head = f"{'':<{width}} {'cycles':>10} {'native':>9} {'cores':>5} {'occupied':>9}"
    lines = [head + "".join(f" {name:>10}" for name in shown)]
    refused: list[str] = []
    for name, found in results.items():
        if isinstance(found, UnsupportedError):
            refused.append(f"{name:<{width}}  {found}")
            continue
        parts = [found.stalls[category] / found.occupied for category in shown]
        shares = "".join(f" {part:>10.1%}" for part in parts)
        counts = f"{found.cycles:>10} {found.native:>9} {found.machine.number('eus'):>5}"
        lines.append(f"{name:<{width}} {counts} {found.occupancy:>9.1%}{shares}")
    timed = [found for found in results.values() if isinstance(found, TimingResult)]
    return "\n".join([*lines, *refused, *_reasons(timed)])


def _reasons(timed: Sequence[TimingResult]) -> Iterator[str]:
    """Yield for each result how it differs from the fastest one."""
    fastest = min(timed, key=lambda found: found.cycles, default=None)
    for found in timed:
        if fastest is not None and found is not fastest:
            yield _reason(found, fastest)


def _reason(found: TimingResult, fastest: TimingResult) -> str:
    ratio = found.cycles / max(1, fastest.cycles)
    names = f"{found.machine.name} takes {ratio:.3g} times the cycles of {fastest.machine.name}"
    return f"{names}: {'; '.join(_differences(found, fastest))}"


def _differences(found: TimingResult, other: TimingResult) -> Iterator[str]:
    cores = [result.machine.number("eus") for result in (found, other)]
    slots = [result.machine.number("slots") for result in (found, other)]
    if cores[0] != cores[1] or slots[0] != slots[1]:
        yield f"{cores[0]} cores of {slots[0]} threads against {cores[1]} of {slots[1]}"
    widths = [result.machine.number("flops") for result in (found, other)]
    if widths[0] != widths[1]:
        yield f"{widths[0]} operations a cycle and core against {widths[1]}"
    if found.native != other.native:
        yield f"{found.native / max(1, other.native):.3g} times the native instructions"
    waits = _waits(found), _waits(other)
    name = max(CATEGORY_NAMES, key=lambda category: abs(waits[0][category] - waits[1][category]))
    yield f"a thread spends {waits[0][name]:.0f} cycles in {name} against {waits[1][name]:.0f}"
    if found.machine.preset != other.machine.preset:
        yield (
            f"the costs are of presets {found.machine.preset} and {other.machine.preset}, which "
            "come from different sources: --preset takes one for both"
        )


def _waits(result: TimingResult) -> Mapping[str, float]:
    """Return the cycles that a thread spends in each category, on average."""
    threads = max(1, result.threads)
    return {name: cycles / threads for name, cycles in result.thread_stalls.items()}


__all__ = ["comparison", "html_listing", "listing"]
