"""What only several cells together show: results that ought to agree and do not, and slower ones.

Results are read line by line; of each group of cells only the first of the matrix is kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from operator import itemgetter
from typing import Any

from visim.campaign.cells import named
from visim.campaign.outcomes import Outcome, Result
from visim.campaign.store import Store

_Group = tuple[str, str]
_AGREE, _SLOWER = "agree", "slower"
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
    key: bytes
    number: int
    name: str
    outcome: str
    facts: Mapping[str, Any]


def compare_peers(store: Store, places: Mapping[bytes, Place]) -> list[Verdict]:
    """Return what is wrong with cells beside their peers, in the order of the matrix.

    Args:
        store: the results.
        places: where the cells are that count, by their keys.
    """
    first_keys = _firsts(store, places)
    by_key = {one.key: one for one in _ones(store, places, first_keys.values())}
    firsts = {group: by_key[key] for group, key in first_keys.items()}
    grouped = [key for key, place in places.items() if _groups(place, store.known.get(key))]
    found: list[tuple[int, Verdict]] = []
    for one in _ones(store, places, grouped):
        for group in _groups(places[one.key], store.known[one.key]):
            judge = _disagreement if group[0] == _AGREE else _slower
            found += [(one.number, verdict) for verdict in judge(firsts[group], one)]
    return [verdict for _, verdict in sorted(found, key=itemgetter(0))]


def _firsts(store: Store, places: Mapping[bytes, Place]) -> dict[_Group, bytes]:
    """Return the first cell of the matrix in each group, of those that have a result."""
    firsts: dict[_Group, bytes] = {}
    for key, place in places.items():
        for group in _groups(place, store.known.get(key)):
            if group not in firsts or place.number < places[firsts[group]].number:
                firsts[group] = key
    return firsts


def _groups(place: Place, outcome: Outcome | None) -> list[_Group]:
    """Return the groups in which a cell is compared that has ended so; None: it has not."""
    found: list[_Group] = []
    if outcome is not None and place.agree is not None:
        found.append((_AGREE, place.agree))
    if outcome is Outcome.PASSED and place.slower is not None:
        found.append((_SLOWER, place.slower))
    return found


def _ones(store: Store, places: Mapping[bytes, Place], keys: Iterable[bytes]) -> Iterator[_One]:
    for line in store.last(keys):
        key = bytes.fromhex(line["key"])
        name = named(line["name"])
        yield _One(key, places[key].number, name, line["outcome"], line["facts"])


def failures(
    store: Store, places: Mapping[bytes, Place], accept: Collection[Outcome], most: int
) -> list[tuple[str, Result]]:
    """Return the first cells of the matrix that did not end as accepted, and how they ended."""
    failed = (key for key in places if store.known.get(key, Outcome.PASSED) not in accept)
    first = nsmallest(most, failed, key=lambda key: places[key].number)
    found = {bytes.fromhex(line["key"]): line for line in store.last(first)}
    lines = (found[key] for key in first)
    return [(named(line["name"]), Result.of(line)) for line in lines]


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
