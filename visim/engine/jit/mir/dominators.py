"""Which blocks come first on every path to others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from visim.engine.jit.mir.values import Function


class Dominators:
    """The tree of dominators of a graph, after Cooper, Harvey and Kennedy.

    Args:
        order: the blocks that can be reached, in reverse postorder, the first one first.
        sources: from where control comes to each.
    """

    def __init__(self, order: Sequence[int], sources: Mapping[int, Sequence[int]]) -> None:
        self.order = order
        self._sources = sources
        self._number = {block: number for number, block in enumerate(order)}
        self.parent = self._find()

    @staticmethod
    def of(function: Function) -> Dominators:
        """Return the tree of a function's blocks."""
        sources = {
            number: [block.number for block, _ in edges]
            for number, edges in function.sources.items()
        }
        return Dominators(reverse_postorder(function), sources)

    def _find(self) -> dict[int, int]:
        """Return the immediate dominator of each block; the first has itself."""
        first = self.order[0]
        parent = {first: first}
        changed = True
        while changed:
            changed = False
            for block in self.order[1:]:
                known = [source for source in self._sources[block] if source in parent]
                new = known[0]
                for other in known[1:]:
                    new = self._meet(parent, new, other)
                if parent.get(block) != new:
                    parent[block] = new
                    changed = True
        return parent

    @cached_property
    def frontiers(self) -> dict[int, list[int]]:
        """For each block those next behind it that it does not dominate alone."""
        found: dict[int, list[int]] = {}
        for block in self.order:
            sources = [one for one in self._sources.get(block, ()) if one in self.parent]
            if len(sources) < 2:
                continue
            for source in sources:
                above = source
                while above != self.parent[block]:
                    known = found.setdefault(above, [])
                    if block not in known:
                        known.append(block)
                    above = self.parent[above]
        return found

    def joins(self, blocks: Iterable[int]) -> set[int]:
        """Return where what is defined in some blocks meets what others define."""
        found, waiting = set[int](), list(blocks)
        while waiting:
            new = set(self.frontiers.get(waiting.pop(), ())) - found
            found |= new
            waiting += new
        return found

    def _meet(self, parent: dict[int, int], one: int, other: int) -> int:
        number = self._number
        while one != other:
            while number[one] > number[other]:
                one = parent[one]
            while number[other] > number[one]:
                other = parent[other]
        return one

    @cached_property
    def _spans(self) -> dict[int, tuple[int, int]]:
        """When a walk of the tree comes to each block, and when it has left it."""
        found, clock = dict[int, tuple[int, int]](), 0
        waiting, entered = [(self.order[0], False)], dict[int, int]()
        while waiting:
            block, left = waiting.pop()
            clock += 1
            if left:
                found[block] = entered[block], clock
                continue
            entered[block] = clock
            waiting.append((block, True))
            waiting += [(child, False) for child in self.children.get(block, ())]
        return found

    @cached_property
    def children(self) -> dict[int, list[int]]:
        """The blocks that each immediately dominates, in order."""
        found: dict[int, list[int]] = {}
        for block in self.order[1:]:
            found.setdefault(self.parent[block], []).append(block)
        return found

    def reaches(self, block: int) -> bool:
        """Whether control can come to a block."""
        return block in self.parent

    def dominates(self, one: int, other: int) -> bool:
        """Whether a block is on every path to another one; control has to reach both."""
        first, second = self._spans[one], self._spans[other]
        return first[0] <= second[0] and second[1] <= first[1]

    def above(self, block: int) -> Iterator[int]:
        """Yield the blocks that dominate another one, from it to the first."""
        while True:
            yield block
            if self.parent[block] == block:
                return
            block = self.parent[block]


def reverse_postorder(function: Function) -> list[int]:
    """Return the blocks that control can reach, each behind those that dominate it."""
    blocks, seen, found = function.by_number, set[int](), list[int]()
    waiting = [(function.entry.number, False)]
    while waiting:
        block, left = waiting.pop()
        if left:
            found.append(block)
        elif block not in seen:
            seen.add(block)
            waiting.append((block, True))
            edges = reversed(blocks[block].end.edges)
            waiting += [(edge.block, False) for edge in edges if edge.block not in seen]
    return found[::-1]


__all__ = ["Dominators", "reverse_postorder"]
