"""The facts of a function: what follows for each value, until nothing changes any more.

Blocks are followed as long as less is known of a parameter of theirs, or of what they use of other
blocks. Branches that are
decided lead to one block only. Ranges that still grow after some rounds become those of the type.
"""

from __future__ import annotations

from collections.abc import Mapping

from visim.engine.jit.mir.dominators import reverse_postorder
from visim.engine.jit.mir.facts import Fact, anything, joined, limits
from visim.engine.jit.mir.transfer import transfer
from visim.engine.jit.mir.values import EndKind, Function, Value
from visim.types import BOOL

_MOST_ROUNDS = 4
"""A range that has grown so often is that of its type."""


class Facts:
    """The facts of all values of a function that control comes to.

    Args:
        function: the function.
        given: what is known of some values beforehand, such as those that threads start with.
    """

    def __init__(self, function: Function, given: Mapping[Value, Fact] | None = None) -> None:
        self._given = given or {}
        self.known: dict[Value, Fact] = {}
        self._rounds: dict[Value, int] = {}
        self._function = function
        self._users = _users(function)
        order = reverse_postorder(function)
        places = {block: number for number, block in enumerate(order)}
        entry = function.entry
        self._seen = {entry.number}
        for one in entry.params:
            self.known[one] = anything(BOOL, one.lanes)
        waiting = {entry.number}
        while waiting:
            number = min(waiting, key=places.__getitem__)
            waiting.discard(number)
            waiting |= self._pass(number)

    def of(self, value: Value) -> Fact:
        """Return what is known of a value."""
        found = self.known.get(value)
        if found is None:
            assert value.type is not None
            return anything(value.type, value.lanes)
        return found

    def _pass(self, number: int) -> set[int]:
        """Find the facts of a block; return the blocks behind it that know less than before."""
        block, known = self._function.by_number[number], self.known
        changed = set[int]()
        for value in block.body:
            if value.type is None:
                continue
            fact = self._given.get(value) or transfer(value, known)
            before = known.get(value)
            if before is not None and before != fact:
                fact = joined(before, fact)
            if fact != before:
                known[value] = fact
                changed |= self._users.get(value, _NONE) & self._seen
        end = block.end
        edges = end.edges
        if end.kind is EndKind.BRANCH:
            bit = known[end.args[0]].number
            edges = edges if bit is None else (edges[0] if bit else edges[1],)
        for edge in edges:
            target = self._function.by_number[edge.block]
            new = edge.block not in self._seen
            self._seen.add(edge.block)
            for one, given in zip(target.params, edge.args, strict=True):
                if self._give(one, known[given]):
                    new = True
                    changed |= self._users.get(one, _NONE) & self._seen
            if new:
                changed.add(edge.block)
        return changed

    def _give(self, one: Value, fact: Fact) -> bool:
        """Note what an edge gives a parameter; return whether less is known of it then."""
        before = self.known.get(one)
        if before is None:
            self.known[one] = fact
            return True
        after = joined(before, fact)
        if after == before:
            return False
        rounds = self._rounds[one] = self._rounds.get(one, 0) + 1
        if rounds > _MOST_ROUNDS and one.type is not None:
            low, high = limits(one.type)
            after = after._replace(
                low=low if after.low < before.low else after.low,
                high=high if after.high > before.high else after.high,
            )
        self.known[one] = after
        return True


_NONE = frozenset[int]()


def _users(function: Function) -> dict[Value, set[int]]:
    """Return the blocks that use each value, but for that in which it stands."""
    found: dict[Value, set[int]] = {}
    for block in function.blocks:
        own = {*block.params, *block.body}
        used = {arg for value in block.body for arg in value.args} | set(block.end.args)
        used |= {arg for edge in block.end.edges for arg in edge.args}
        for value in used - own:
            found.setdefault(value, set()).add(block.number)
    return found


__all__ = ["Facts"]
