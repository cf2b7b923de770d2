"""Findings as one HTML file: what was found, and the source with the lines marked.

It needs no script, no network and no other file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from visim.sanitize.findings import Finding, Place

_AROUND = 4
"""So many lines are shown before and behind a marked one."""
_MOST_WHOLE = 400
"""Sources of so many lines are shown as a whole."""

_STYLE = """
:root { color-scheme: light dark; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 2em auto; padding: 0 1em; max-width: 1100px; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; }
code, td.t { font: 12px ui-monospace, monospace; white-space: pre-wrap; }
section { border-left: 4px solid #888; padding: 0.2em 1em; margin: 1em 0; }
.error { border-color: #c33; } .warning { border-color: #c80; } .note { border-color: #58c; }
table { border-collapse: collapse; width: 100%; }
td { padding: 0 8px; vertical-align: top; } td.n { text-align: right; color: #888; width: 4em; }
tr.error td.t { background: #c333; } tr.warning td.t { background: #c803; }
tr.note td.t { background: #58c3; }
td.m { font-size: 12px; width: 35%; } td.m a { display: block; }
.help { font-weight: 600; }
"""


def page(kernel: str, findings: Sequence[Finding], sources: Mapping[str, Sequence[str]]) -> str:
    """Return findings as the text of an HTML file.

    Args:
        kernel: the kernel's name.
        findings: what was found in one launch or more.
        sources: the lines of source files, by the names that places give.
    """
    title = f"{escape(kernel)}: {_counted(findings)}"
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
        f"<style>{_STYLE}</style></head><body>",
        f"<h1>{title}</h1>",
        *(_finding(number, one) for number, one in enumerate(findings, 1)),
        *(_source(file, lines, findings) for file, lines in sorted(sources.items())),
        "</body></html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _counted(findings: Sequence[Finding]) -> str:
    if not findings:
        return "nothing found"
    names = [one.severity for one in findings]
    kinds = ((name, names.count(name)) for name in ("error", "warning", "note"))
    return ", ".join(f"{count} {name}{'s' * (count > 1)}" for name, count in kinds if count)


def _finding(number: int, finding: Finding) -> str:
    sides = [
        f"<li>{_link(place)}{_by(finding, side)}<br><code>{escape(_shown(place))}</code></li>"
        for side, place in enumerate(finding.places)
    ]
    often = f"<p>Found {finding.count} times; this is the first.</p>" if finding.count > 1 else ""
    return (
        f'<section class="{finding.severity}" id="f{number}">'
        f"<h2>{number}. {finding.severity}: {escape(finding.kind)}</h2>"
        f"<p>{escape(finding.message)}</p><ul>{''.join(sides)}</ul>{often}"
        f'<p class="help">{escape(finding.advice)}</p></section>'
    )


def _by(finding: Finding, side: int) -> str:
    return f" by {escape(str(finding.actors[side]))}" if side < len(finding.actors) else ""


def _link(place: Place) -> str:
    return f'<a href="#{escape(_anchor(place.file, place.line))}">{escape(str(place))}</a>'


def _anchor(file: str | None, line: int | None) -> str:
    return f"{file or ''}-{line or 0}"


def _shown(place: Place) -> str:
    return (place.text or place.instruction or "").strip()


def _source(file: str, lines: Sequence[str], findings: Sequence[Finding]) -> str:
    marked: dict[int, list[tuple[int, Finding]]] = {}
    for number, one in enumerate(findings, 1):
        for place in one.places:
            if place.file == file and place.line is not None:
                known = marked.setdefault(place.line, [])
                if (number, one) not in known:
                    known.append((number, one))
    if not marked:
        return ""
    rows: list[str] = []
    before = 0
    for number in _visible(len(lines), marked):
        if number != before + 1:
            rows.append('<tr><td class="n">...</td><td></td><td></td></tr>')
        rows.append(_row(file, number, lines[number - 1], marked.get(number, ())))
        before = number
    return f"<h2>{escape(file)}</h2><table>{''.join(rows)}</table>"


def _visible(count: int, marked: Iterable[int]) -> list[int]:
    """Return the numbers of the lines that are shown."""
    if count <= _MOST_WHOLE:
        return list(range(1, count + 1))
    near = {n for line in marked for n in range(line - _AROUND, line + _AROUND + 1)}
    return sorted(n for n in near if 1 <= n <= count)


def _row(file: str, number: int, text: str, found: Sequence[tuple[int, Finding]]) -> str:
    severities = {one.severity for _, one in found}
    worst = next((name for name in ("error", "warning", "note") if name in severities), "")
    notes = "".join(f'<a href="#f{place}">{place}. {escape(one.kind)}</a>' for place, one in found)
    return (
        f'<tr class="{worst}" id="{escape(_anchor(file, number))}"><td class="n">{number}</td>'
        f'<td class="t">{escape(text)}</td><td class="m">{notes}</td></tr>'
    )


__all__ = ["page"]
