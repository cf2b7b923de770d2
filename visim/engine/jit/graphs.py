"""Graphs of control flow, whatever their nodes are: an order of them, and which dominate others."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Generic, TypeVar

Node = TypeVar("Node", bound=Hashable)


def reverse_postorder(start: Node, targets: Callable[[Node], Iterable[Node]]) -> list[Node]:
    """Return the nodes that can be reached, each in front of those that only it leads to."""
    found: list[Node] = []
    seen = {start}
    path = [(start, iter(targets(start)))]
    while path:
        node, rest = path[-1]
        following = next((one for one in rest if one not in seen), None)
        if following is None:
            found.append(node)
            path.pop()
        else:
            seen.add(following)
            path.append((following, iter(targets(following))))
    return found[::-1]


class DominatorTree(Generic[Node]):
    """Which nodes are on every path from the first one to others, after Cooper, Harvey and Kennedy.

    Args:
        order: the nodes that can be reached, in reverse postorder, the first one first.
        sources: from where control comes to each; nodes that cannot be reached do not count.

    Attributes:
        parent: the immediate dominator of each node; the first has itself.
    """

    def __init__(self, order: Sequence[Node], sources: Mapping[Node, Iterable[Node]]) -> None:
        self.order = order
        self._sources = sources
        self._place = {node: number for number, node in enumerate(order)}
        self.parent = self._find()

    def _find(self) -> dict[Node, Node]:
        parent = {self.order[0]: self.order[0]}
        changed = True
        while changed:
            changed = False
            for node in self.order[1:]:
                found = self._meet(parent, [one for one in self._sources[node] if one in parent])
                if parent.get(node) != found:
                    parent[node], changed = found, True
        return parent

    def _meet(self, parent: Mapping[Node, Node], some: Sequence[Node]) -> Node:
        """Return the last node that dominates some nodes.

        No node is passed twice on the way up: what is above one that has been passed is known to
        end where all before have met. So a place to which thousands jump takes no longer than these
        have nodes above them.
        """
        place = self._place
        found, passed = some[0], set[Node]()
        for node in some[1:]:
            one = node
            while one != found and one not in passed:
                if place[one] > place[found]:
                    passed.add(one)
                    one = parent[one]
                else:
                    passed.add(found)
                    found = parent[found]
        return found

    @cached_property
    def spans(self) -> dict[Node, tuple[int, int]]:
        """Numbers of each node and those that it dominates: the first, and one behind the last."""
        sizes = dict.fromkeys(self.order, 1)
        for node in reversed(self.order[1:]):
            sizes[self.parent[node]] += sizes[node]
        found = {self.order[0]: (0, len(self.order))}
        free = dict[Node, int]()
        for node in self.order[1:]:
            above = self.parent[node]
            low = free.get(above, found[above][0] + 1)
            free[above] = low + sizes[node]
            found[node] = low, low + sizes[node]
        return found

    @cached_property
    def children(self) -> dict[Node, list[Node]]:
        """The nodes that each immediately dominates, in order."""
        found: dict[Node, list[Node]] = {}
        for node in self.order[1:]:
            found.setdefault(self.parent[node], []).append(node)
        return found

    @cached_property
    def frontiers(self) -> dict[Node, list[Node]]:
        """For each node those next behind it that it does not dominate alone."""
        found: dict[Node, list[Node]] = {}
        for node in self.order:
            sources = [one for one in self._sources.get(node, ()) if one in self.parent]
            if len(sources) < 2:
                continue
            for source in sources:
                above = source
                while above != self.parent[node]:
                    known = found.setdefault(above, [])
                    if node not in known:
                        known.append(node)
                    above = self.parent[above]
        return found

    def joins(self, nodes: Iterable[Node]) -> set[Node]:
        """Return where what is defined in some nodes meets what others define."""
        found, waiting = set[Node](), list(nodes)
        while waiting:
            new = set(self.frontiers.get(waiting.pop(), ())) - found
            found |= new
            waiting += new
        return found

    def reaches(self, node: Node) -> bool:
        """Whether control can come to a node."""
        return node in self.parent

    def dominates(self, one: Node, other: Node) -> bool:
        """Whether a node is on every path to another one, or is it; control has to reach both."""
        low, high = self.spans[one]
        return low <= self.spans[other][0] < high

    def above(self, node: Node) -> Iterator[Node]:
        """Yield the nodes that dominate another one, from it to the first."""
        while True:
            yield node
            if self.parent[node] == node:
                return
            node = self.parent[node]


__all__ = ["DominatorTree", "reverse_postorder"]
