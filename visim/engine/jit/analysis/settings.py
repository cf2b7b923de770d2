"""Predicates in straight code: which comparison an instruction sees when it reads one.

Compilers set a predicate and select by it a few instructions later. As long as nobody writes what
was compared, the comparison can be made again where the predicate is read, from the scalars of
shapes: where all channels compare the same numbers, one comparison of scalars chooses for all.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from visim.engine.jit.analysis.flow import Flow, Key
from visim.sem.effects import WriteIndirect, WritePredicate, WriteRegister
from visim.sem.expr import Expr, leaves_below

Part = tuple[str, int, int]
"""A predicate's name, the first of some of its bits, and how many they are."""

COMPARISONS = frozenset({"eq", "ne", "lt", "le"})


@dataclass
class _Block:
    """What the instructions of a block write, by their numbers in order."""

    settings: dict[str, list[tuple[int, WritePredicate]]] = field(
        default_factory=dict[str, list[tuple[int, WritePredicate]]]
    )
    variables: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    indirect: list[int] = field(default_factory=list[int])


class Settings:
    """The comparisons that set the predicates of a unit."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._blocks: dict[Key, _Block] = {}

    def seen(self, predicate: Expr, key: Key, step: int) -> WritePredicate | None:
        """Return the setting that an instruction sees, if it can be computed there again.

        It has set the predicate, and no others beside, to a comparison in the same block, and what
        that has read has not been written since.
        """
        block = self._block(key)
        variable, offset = predicate.attribute
        settings = block.settings.get(variable.name, [])
        place = bisect_left(settings, step, key=lambda one: one[0])
        for before in range(place - 1, -1, -1):
            number, write = settings[before]
            part = write.variable.name, write.offset, write.value.lanes
            if part == (variable.name, offset, predicate.lanes):
                return write if _is_kept(block, write.value, number, step) else None
            if overlaps(part, variable.name, offset, predicate.lanes):
                return None
        return None

    def _block(self, key: Key) -> _Block:
        found = self._blocks.get(key)
        if found is not None:
            return found
        found = self._blocks[key] = _Block()
        for number, step in enumerate(self._flow.nodes[key].block.steps):
            for effect in step.effects:
                match effect:
                    case WritePredicate(variable=variable):
                        found.settings.setdefault(variable.name, []).append((number, effect))
                    case WriteRegister(place=place):
                        found.variables.setdefault(place.variable.index, []).append(number)
                    case WriteIndirect():
                        found.indirect.append(number)
                    case _:
                        pass
        return found


def overlaps(part: Part, name: str, first: int, lanes: int) -> bool:
    """Whether a part of a predicate has some bits of another part."""
    return part[0] == name and part[1] < first + lanes and first < part[1] + part[2]


def _is_kept(block: _Block, value: Expr, first: int, step: int) -> bool:
    """Whether a comparison gives the same at an instruction as where it was made."""
    if value.uop.name not in COMPARISONS or _writes(block.indirect, first, step):
        return False
    leaves = leaves_below(value)
    if any(leaf.uop.name not in {"read", "constant", "vector"} for leaf in leaves):
        return False
    read = {leaf.attribute.variable.index for leaf in leaves if leaf.uop.name == "read"}
    return not any(_writes(block.variables.get(one, []), first, step) for one in read)


def _writes(numbers: Sequence[int], first: int, step: int) -> bool:
    """Whether one of some instructions is from the first one on, but before the other one."""
    place = bisect_left(numbers, first)
    return place < len(numbers) and numbers[place] < step
