"""What only several cells together show: results that ought to agree and do not, and slower ones.

Results are read line by line; of each group of cells only the first of the matrix is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from operator import itemgetter
from typing import Any

from visim.campaign.cells import named
from visim.campaign.outcomes import Outcome, Result

Line = Mapping[str, Any]
Lines = Callable[[], Iterable[Line]]
SLOWER_BY = 0.02
"""Less than this part more counts as the same."""
_MEASURED = ("cycles", "native")
_FIGURES = ("instructions", "grf", "scratch", "spill")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Two cells that are not as they ought to be beside each other.

    `kind` is "disagree" or "slower"; the first cell is the one that the other is measured by.
    """

    kind: str
    first: str
    other: str
    message: str

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict in the form that `--json` prints."""
        return {
            "kind": self.kind,
            "first": self.first,
            "other": self.other,
            "message": self.message,
        }

    def __str__(self) -> str:
        return f"{self.kind}: {self.other}: {self.message} (beside {self.first})"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a cell is: its number in the matrix, and the groups in which it is compared."""

    number: int
    agree: str | None = None
    slower: str | None = None


@dataclass(frozen=True, slots=True)
class _One:
    number: int
    name: str
    outcome: str
    facts: Mapping[str, Any]


def compare_peers(lines: Lines, places: Mapping[bytes, Place]) -> list[Verdict]:
    """Return what is wrong with cells beside their peers, in the order of the matrix.

    Args:
        lines: reads the results, as the store has them.
        places: where the cells are that count, by their keys.
    """
    if not any(place.agree or place.slower for place in places.values()):
        return []
    firsts: dict[tuple[str, str], _One] = {}

    def grouped() -> Iterator[tuple[_One, tuple[str, str]]]:
        for place, line in current(lines, places):
            one = _One(place.number, named(line["name"]), line["outcome"], line["facts"])
            if place.agree is not None:
                yield one, ("agree", place.agree)
            if place.slower is not None and one.outcome == Outcome.PASSED:
                yield one, ("slower", place.slower)

    for one, group in grouped():
        if group not in firsts or one.number < firsts[group].number:
            firsts[group] = one
    found: list[tuple[int, Verdict]] = []
    for one, group in grouped():
        judge = _disagreement if group[0] == "agree" else _slower
        found += [(one.number, verdict) for verdict in judge(firsts[group], one)]
    return [verdict for _, verdict in sorted(found, key=itemgetter(0))]


def current(lines: Lines, places: Mapping[bytes, Place]) -> Iterator[tuple[Place, Line]]:
    """Yield the last result of each cell that counts, in the order of their ends."""
    last = {line["key"]: number for number, line in enumerate(lines())}
    for number, line in enumerate(lines()):
        place = places.get(bytes.fromhex(line["key"]))
        if place is not None and last[line["key"]] == number:
            yield place, line


def failures(
    lines: Lines, places: Mapping[bytes, Place], accept: Collection[Outcome], most: int
) -> list[tuple[str, Result]]:
    """Return the first cells of the matrix that did not end as accepted, and how they ended."""
    found = (
        (place.number, line)
        for place, line in current(lines, places)
        if line["outcome"] not in accept
    )
    first = nsmallest(most, found, key=itemgetter(0))
    return [(named(line["name"]), Result.of(line)) for _, line in first]


def _disagreement(first: _One, one: _One) -> Iterator[Verdict]:
    if first.outcome != one.outcome:
        message = f"it {_ended(one)}, the other {_ended(first)}"
        yield Verdict("disagree", first.name, one.name, message)
        return
    mine, theirs = one.facts.get("arrays", {}), first.facts.get("arrays", {})
    names = [name for name in sorted({*mine, *theirs}) if mine.get(name) != theirs.get(name)]
    if names:
        yield Verdict("disagree", first.name, one.name, f"other bytes in {', '.join(names)}")


def _ended(one: _One) -> str:
    return "passed" if one.outcome == Outcome.PASSED else f"ended with {one.outcome}"


def _slower(first: _One, one: _One) -> Iterator[Verdict]:
    """Yield what a cell needs more of than the first of its peers."""
    for what, generation, mine, theirs in _numbers(first, one):
        if mine > theirs * (1 + SLOWER_BY):
            where = f" on {generation}" if generation else ""
            share = f" (+{100 * (mine / theirs - 1):.1f} %)" if theirs else ""
            message = f"{mine} {what}{where}, {theirs} before{share}"
            yield Verdict("slower", first.name, one.name, message)


def _numbers(first: _One, one: _One) -> Iterator[tuple[str, str, int, int]]:
    for what in _MEASURED:
        for generation, mine in one.facts.get(what, {}).items():
            theirs = first.facts.get(what, {}).get(generation)
            if theirs is not None:
                yield what, generation, mine, theirs
    code, other = one.facts.get("code", {}), first.facts.get("code", {})
    for what in _FIGURES:
        if what in code and what in other:
            yield what, "", code[what], other[what]
