"""What lies on the paths of a control-flow graph: which nodes come first, which can come again.

All of it takes time that grows with the number of nodes, not with its square: units may have
twenty thousand of them. Questions about single nodes share an allowance; when it is used up, the
answer is the one that is right in any case.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from visim.engine.jit.analysis.flow import Flow, Key
from visim.engine.jit.graphs import DominatorTree, reverse_postorder

MOST_STEPS = 2_000_000
"""How many nodes are looked at for all questions about a unit together: a second in Python."""

Spans = Sequence[tuple[int, int]]
"""Numbers of nodes, from each first one to before each second one, in order."""


class Paths:
    """Answers about the paths of a unit's graph."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._before = _turned(flow)
        order = reverse_postorder(flow.start, lambda key: flow.edges.get(key, ()))
        tree = DominatorTree(order, self._before)
        self.dominates = tree.dominates
        self._parent, self._spans = tree.parent, tree.spans
        self._left = MOST_STEPS
        self._known: dict[tuple[frozenset[Key], Key], bool] = {}
        self._reached: dict[frozenset[Key], frozenset[Key]] = {}
        self._left_to_reach = MOST_STEPS

    def above(self, key: Key) -> Key | None:
        """Return the last node that every path to a node goes through; None for the first."""
        found = self._parent[key]
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

    def goes_through(self, sources: frozenset[Key], spans: Spans, key: Key) -> bool:
        """Whether every path to a node goes through another one of some that have these spans."""
        number = self._spans[key][0]
        place = bisect_left(spans, (number,))
        if place > 0 and number < spans[place - 1][1]:
            return True
        if len(sources) == 1 or (self._left_to_reach <= 0 and sources not in self._reached):
            return False
        return key not in self._reached_without(sources)

    def _reached_without(self, sources: frozenset[Key]) -> frozenset[Key]:
        """Return the nodes to which a path leads on which none of `sources` comes before them."""
        found = self._reached.get(sources)
        if found is None:
            start = self._flow.start
            seen, work = {start}, [start]
            while work:
                one = work.pop()
                behind = () if one in sources else self._flow.edges.get(one, ())
                new = set(behind) - seen
                seen |= new
                work += new
            found = self._reached[sources] = frozenset(seen)
            self._left_to_reach -= len(seen)
        return found

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


__all__ = ["Paths", "Spans"]
