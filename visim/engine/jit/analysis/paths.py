"""What lies on the paths of a control-flow graph: which nodes come first, which can come again.

All of it takes time that grows with the number of nodes, not with its square: units may have
twenty thousand of them. Questions about single nodes share an allowance; when it is used up, the
answer is the one that is right in any case.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from visim.engine.jit.analysis.flow import Flow, Key

MOST_STEPS = 2_000_000
"""How many nodes are looked at for all questions about a unit together: a second in Python."""

Spans = Sequence[tuple[int, int]]
"""Numbers of nodes, from each first one to before each second one, in order."""

_Edges = Mapping[Key, Iterable[Key]]


class Paths:
    """Answers about the paths of a unit's graph."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._before = _turned(flow)
        self._above, self._spans = _dominated(flow, self._before)
        self._left = MOST_STEPS
        self._known: dict[tuple[frozenset[Key], Key], bool] = {}

    def dominates(self, first: Key, key: Key) -> bool:
        """Whether every path from the start to a node goes through another one, or is it."""
        low, high = self._spans[first]
        return low <= self._spans[key][0] < high

    def above(self, key: Key) -> Key | None:
        """Return the last node that every path to a node goes through; None for the first."""
        found = self._above[key]
        return None if found == key else found

    def between(self, source: Key, key: Key) -> set[Key] | None:
        """Return which nodes may run between the last run of a source and a node; None: any.

        Every path to the node has to go through the source. The node itself may have run, too.
        """
        region, _ = self._between(frozenset({source}), key)
        if self._left <= 0:
            return None
        comes_back = not region.isdisjoint(self._flow.edges.get(key, ()))
        return region if comes_back else region - {key}

    def spans(self, keys: Iterable[Key]) -> Spans:
        """Return which nodes are behind one of some on every path, as spans of their numbers."""
        found: list[tuple[int, int]] = []
        for low, high in sorted(self._spans[key] for key in keys):
            if not found or low >= found[-1][1]:
                found.append((low, high))
        return found

    def goes_through(self, spans: Spans, key: Key) -> bool:
        """Whether every path to a node goes through another one of those that have these spans."""
        number = self._spans[key][0]
        place = bisect_left(spans, (number,))
        return place > 0 and number < spans[place - 1][1]

    def keeps_channels(self, sources: frozenset[Key], key: Key) -> bool:
        """Whether only channels can be active at a node that were so at the last of `sources`.

        Every path to the node has to go through one of them. Not so are subroutines, and places
        where channels wait while the source runs.
        """
        known = self._known.get((sources, key))
        if known is None:
            known = self._known[sources, key] = self._keeps_channels(sources, key)
        return known

    def _keeps_channels(self, sources: frozenset[Key], key: Key) -> bool:
        region, last = self._between(sources, key)
        if self._left <= 0:
            return False
        return not any(self._meets_others(source, region) for source in last)

    def _between(self, sources: frozenset[Key], key: Key) -> tuple[set[Key], set[Key]]:
        """Return the nodes from which a path leads to a node without one of `sources`, itself too.

        The second set are those of `sources` where such paths begin.
        """
        region, last, work = {key}, set[Key](), [key]
        while work and self._left > 0:
            before = self._before[work.pop()]
            self._left -= 1 + len(before)
            for one in before:
                if one in sources:
                    last.add(one)
                elif one not in region:
                    region.add(one)
                    work.append(one)
        return region, last

    def _meets_others(self, source: Key, region: set[Key]) -> bool:
        """Whether a path in a region on from a node leads where other channels may be active."""
        entry, waiting = source[0], self._flow.nodes[source].waiting
        seen, work = set[Key](), [source]
        while work and self._left > 0:
            behind = self._flow.edges.get(work.pop(), ())
            self._left -= 1 + len(behind)
            for one in behind:
                if one in region and one not in seen:
                    if one[0] != entry or one[1] in waiting:
                        return True
                    seen.add(one)
                    work.append(one)
        return self._left <= 0


def _turned(flow: Flow) -> dict[Key, list[Key]]:
    """Return the nodes in front of each one."""
    before: dict[Key, list[Key]] = {key: [] for key in flow.nodes}
    for key, targets in flow.edges.items():
        for target in targets:
            before[target].append(key)
    return before


def _dominated(flow: Flow, before: _Edges) -> tuple[dict[Key, Key], dict[Key, tuple[int, int]]]:
    """Return the last node that dominates each one, the first itself, and ranges of numbers.

    Nodes are numbered so that each one and those that it dominates are a range.
    """
    order = _reverse_postorder(flow)
    place = {key: number for number, key in enumerate(order)}
    above: dict[Key, Key] = {flow.start: flow.start}
    changed = True
    while changed:
        changed = False
        for key in order[1:]:
            found = _common(above, place, [one for one in before[key] if one in above])
            if above.get(key) != found:
                above[key], changed = found, True
    sizes = dict.fromkeys(order, 1)
    for key in reversed(order[1:]):
        sizes[above[key]] += sizes[key]
    spans = {flow.start: (0, len(order))}
    free = dict[Key, int]()
    for key in order[1:]:
        owner = above[key]
        low = free.get(owner, spans[owner][0] + 1)
        free[owner] = low + sizes[key]
        spans[key] = (low, low + sizes[key])
    return above, spans


def _common(above: Mapping[Key, Key], place: Mapping[Key, int], some: Sequence[Key]) -> Key:
    """Return the last node that dominates some nodes.

    No node is passed twice on the way up: what is above one that has been passed is known to end
    where all before have met. So a place to which thousands jump takes no longer than these have
    nodes above them.
    """
    found, passed = some[0], set[Key]()
    for key in some[1:]:
        one = key
        while one != found and one not in passed:
            if place[one] > place[found]:
                passed.add(one)
                one = above[one]
            else:
                passed.add(found)
                found = above[found]
    return found


def _reverse_postorder(flow: Flow) -> list[Key]:
    """Return the nodes from the start on, each before those that only it leads to."""
    found: list[Key] = []
    seen = {flow.start}
    path = [(flow.start, iter(flow.edges.get(flow.start, ())))]
    while path:
        key, rest = path[-1]
        following = next((one for one in rest if one not in seen), None)
        if following is None:
            found.append(key)
            path.pop()
        else:
            seen.add(following)
            path.append((following, iter(flow.edges.get(following, ()))))
    return found[::-1]


__all__ = ["Paths", "Spans"]
