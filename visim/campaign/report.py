"""What came of a campaign as one HTML file: a table with filters, its past, and what has changed.

The page holds its data and needs nothing else. It has all cells up to a number; of more it has
those first that did not pass or have changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from html import escape
from operator import itemgetter
from pathlib import Path
from typing import Any

from visim.campaign.running import Summary
from visim.campaign.store import Store, read_lines

Line = Mapping[str, Any]
REPORT = "report.html"
MOST_ROWS = 20_000
_MOST_PAST = 16
_MOST_TEXT = 400
_PAGE = Path(__file__).with_name("report.html")


@dataclass(frozen=True, slots=True)
class Report:
    """What a page shows: the summary, the axes, and the rows; `of` is how many there would be."""

    summary: Summary
    axes: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    of: int


def report_of(summary: Summary, store: Store, earlier: Path | None = None) -> Report:
    """Return the report of a campaign.

    Args:
        summary: what came of it.
        store: the results of its folder.
        earlier: the results that changes are told against; None: those of earlier campaigns of
            the same folder.
    """
    before = _Before(summary, store, earlier)
    rows = ((_order(row), row["number"], row) for row in before.rows())
    count = 0

    def counted() -> Iterator[tuple[int, int, dict[str, Any]]]:
        nonlocal count
        for row in rows:
            count += 1
            yield row

    chosen = nsmallest(MOST_ROWS, counted(), key=itemgetter(0, 1))
    found = sorted((row for _, _, row in chosen), key=itemgetter("number"))
    axes = dict.fromkeys(axis for row in found for axis in row["name"])
    return Report(summary, tuple(axes), tuple(found), count)


def _order(row: Mapping[str, Any]) -> int:
    return 2 - (row["outcome"] != "passed") - bool(row["change"])


class _Before:
    """The results of a campaign beside those of the same cells before it."""

    def __init__(self, summary: Summary, store: Store, earlier: Path | None) -> None:
        self._summary = summary
        self._store = store
        self._past: dict[str, list[dict[str, Any]]] = {}
        for line in _earlier(summary, store) if earlier is None else _readable(earlier):
            past = self._past.setdefault(line["cell"], [])
            past.append(_brief(line))
            del past[:-_MOST_PAST]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield what the page has of each cell."""
        places = self._summary.places
        for line in self._store.last(places):
            past = self._past.get(line["cell"], [])
            brief = _brief(line)
            is_old = line["campaign"] < self._summary.number
            yield {
                **brief,
                "number": places[bytes.fromhex(line["key"])].number,
                "name": line["name"],
                "message": line["message"][:_MOST_TEXT],
                "change": "" if is_old else _change(past[-1] if past else None, brief),
                "past": [one["cycles"] or one["seconds"] for one in past],
            }


def _earlier(summary: Summary, store: Store) -> Iterable[Line]:
    """Return the results of the campaigns of a folder before one; the first has none."""
    lines = () if summary.number == 1 else store.lines()
    return (line for line in lines if line["campaign"] < summary.number)


def _readable(file: Path) -> Iterable[Line]:
    return (line for _, line in read_lines(file) if line is not None)


def _brief(line: Line) -> dict[str, Any]:
    facts = line["facts"]
    cycles: Mapping[str, int] = facts.get("cycles", {})
    return {
        "outcome": line["outcome"],
        "cycles": min(cycles.values(), default=0),
        "seconds": line["took"]["seconds"],
        "arrays": facts.get("arrays", {}),
    }


def _change(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> str:
    """Return what has changed of a cell since it ran the last time."""
    if before is None:
        return ""
    changes: list[str] = []
    if before["outcome"] != now["outcome"]:
        changes.append(f"{before['outcome']} → {now['outcome']}")
    elif before["arrays"] != now["arrays"]:
        changes.append("other bytes")
    if before["cycles"] and now["cycles"] and before["cycles"] != now["cycles"]:
        share = 100 * (now["cycles"] / before["cycles"] - 1)
        changes.append(f"{share:+.1f} % cycles")
    return ", ".join(changes)


def page(report: Report) -> str:
    """Return a report as the text of an HTML file."""
    summary = report.summary
    rows = [{key: row[key] for key in row if key != "arrays"} for row in report.rows]
    data = {
        "axes": report.axes,
        "rows": rows,
        "of": report.of,
        "outcomes": {str(outcome): count for outcome, count in summary.outcomes.items()},
        "verdicts": [str(one) for one in summary.verdicts],
        "notes": list(summary.notes),
    }
    text = json.dumps(data, separators=(",", ":")).replace("</", "<\\/").replace("<!", "<\\!")
    title = f"{summary.settings.name}: campaign {summary.number}"
    found = _PAGE.read_text(encoding="utf-8")
    return found.replace("{{title}}", escape(title)).replace("{{data}}", text)
