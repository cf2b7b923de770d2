"""The pass `blends`: writes under a mask do not keep lanes at which nobody looks.

`select m, new, old` is `new` where every use counts lanes of m only. What a use counts is followed
backwards: a message counts the lanes of its mask, what is computed lane by lane counts those that
its result counts, and an effect without a mask counts all. A mask is within another one if it is
made of it by `and`, or if both are the same lanes of such masks.

A mask says which lanes count as it is when the use is executed. Along an edge a parameter's lanes
count for what the edge gives it: the mask has to be one that is the same on both sides, which is
computed in a block that strictly dominates the parameter's, or a parameter of the same block, for
which its own operand stands. All other masks count as all lanes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from visim.engine.jit.mir.attributes import Message
from visim.engine.jit.mir.cloning import Rewriter
from visim.engine.jit.mir.dominators import dominators
from visim.engine.jit.mir.numbering import Key, pure_key
from visim.engine.jit.mir.values import PARAM, Block, Function, Value
from visim.types import BOOL

Lanes = Value | None
"""The mask of the lanes that count; None: all of them."""


def blends(function: Function) -> Function:
    """Return a function whose masked writes keep only what somebody looks at."""
    counted = Counted(function)
    rewriter = Rewriter()
    blocks = [function.by_number[number] for number in counted.tree.order]
    made: dict[int, Block] = {}
    for block in blocks:
        body: list[Value] = []
        for value in block.body:
            if value.op.name == "select" and counted.drops_old(value):
                rewriter.replace(value, rewriter.find(value.args[1]))
                continue
            body.append(rewriter.value(value))
        made[block.number] = replace(block, body=tuple(body))
    return replace(
        function,
        blocks=tuple(
            replace(made[block.number], end=rewriter.end(block.end))
            for block in function.blocks
            if block.number in made
        ),
    )


class Counted:
    """Which lanes of each value count for somebody."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self.tree = dominators(function)
        self._places: dict[Value, tuple[int, int]] = {}
        self._homes: dict[Value, int] = {}
        for block in function.blocks:
            for number, one in enumerate(block.params):
                self._places[one] = block.number, number
            for value in (*block.params, *block.body):
                self._homes[value] = block.number
        self._same = _numbered(function, self.tree.order)
        self._parts = self._find_parts(function)
        self.lanes: dict[Value, Lanes] = {}
        self._waiting: list[Value] = []
        for block in function.blocks:
            if not self.tree.reaches(block.number):
                continue
            for value in block.body:
                if not value.op.is_pure:
                    self._effect(value)
            for arg in block.end.args:
                self._count(arg, None)
        while self._waiting:
            self._follow(self._waiting.pop())

    def drops_old(self, value: Value) -> bool:
        """Whether nobody looks at the lanes of a choice that its condition leaves out."""
        if value not in self.lanes:
            return False
        lanes = self.lanes[value]
        return lanes is not None and self._within(lanes, value.args[0])

    def _within(self, one: Value, other: Value) -> bool:
        """Whether all lanes of a mask are lanes of another one."""
        if self._is_made_of(one, other):
            return True
        (part, picks), (whole, others) = self._part(one), self._part(other)
        return picks == others and self._is_made_of(part, whole)

    def _is_made_of(self, one: Value, other: Value) -> bool:
        """Whether a mask is another one, or made of it and of others by `and`."""
        same, goal = self._same, self._same.get(other, other)
        waiting, seen = [one], set[Value]()
        while waiting:
            mask = waiting.pop()
            mask = same.get(mask, mask)
            if mask is goal:
                return True
            if mask not in seen and mask.op.name == "and":
                seen.add(mask)
                waiting += mask.args
        return False

    def _joined(self, one: Lanes, other: Lanes) -> Lanes:
        """Return a mask that has the lanes of both; None where none is known."""
        if one is None or other is None:
            return None
        if self._within(other, one):
            return one
        return other if self._within(one, other) else None

    def _count(self, value: Value, lanes: Lanes) -> None:
        """Note that lanes of a value count."""
        if lanes is not None and lanes.lanes != value.lanes:
            lanes = None
        if value not in self.lanes:
            self.lanes[value] = lanes
            self._waiting.append(value)
            return
        before = self.lanes[value]
        after = self._joined(before, lanes)
        if after is not before:
            self.lanes[value] = after
            self._waiting.append(value)

    def _effect(self, value: Value) -> None:
        """Count what an effect looks at: lanes of its mask where it has one."""
        mask = _mask_of(value)
        for arg in value.args:
            self._count(arg, None if arg is mask else mask)

    def _follow(self, value: Value) -> None:
        """Count the lanes of a value's operands that its own lanes are made of."""
        lanes = self.lanes[value]
        if value.op is PARAM:
            self._along_edges(value, lanes)
        elif value.op.name == "select":
            condition, yes, no = value.args
            self._count(condition, lanes)
            chosen = lanes is not None and self._within(lanes, condition)
            self._count(yes, lanes if chosen else condition)
            if not chosen:
                self._count(no, lanes)
        elif value.op.name == "take":
            self._count(value.args[0], self._before_take(value, lanes))
        elif value.op.is_pure and not _crosses(value):
            for arg in value.operands:
                self._count(arg, lanes)
            for arg in value.args[len(value.operands) :]:
                self._count(arg, None)
        elif value.op.is_pure:
            for arg in value.args:
                self._count(arg, None)

    def _find_parts(self, function: Function) -> dict[tuple[Value, int], list[Value]]:
        """Return the masks that are lanes of others, by these and how many lanes there are."""
        found: dict[tuple[Value, int], list[Value]] = {}
        for number in self.tree.order:
            for value in function.by_number[number].body:
                if value.type is BOOL and value.op.name == "take" and value not in self._same:
                    source, _ = self._part(value)
                    found.setdefault((source, value.lanes), []).append(value)
        return found

    def _part(self, mask: Value) -> tuple[Value, tuple[int, ...]]:
        """Return of which mask another one is lanes, and of which."""
        if mask.op.name == "take" and isinstance(mask.attribute, tuple):
            source = mask.args[0]
            return self._same.get(source, source), tuple(int(one) for one in mask.attribute)
        return self._same.get(mask, mask), tuple(range(mask.lanes))

    def _before_take(self, value: Value, lanes: Lanes) -> Lanes:
        """Return a mask of all lanes of an operand that says of those taken what theirs says."""
        if lanes is None or not isinstance(value.attribute, tuple):
            return None
        source, wanted = self._part(lanes)
        count = value.args[0].lanes
        if count == source.lanes and wanted == value.attribute:
            return source
        for mask in self._parts.get((source, count), ()):
            _, picks = self._part(mask)
            if all(
                picks[int(at)] == lane for at, lane in zip(value.attribute, wanted, strict=True)
            ):
                return mask
        return None

    def _along_edges(self, one: Value, lanes: Lanes) -> None:
        place = self._places.get(one)
        if place is None:
            return
        block, number = place
        for source, edge in self._function.sources[block]:
            if self.tree.reaches(source.number):
                self._count(edge.args[number], self._given(lanes, block, edge.args))

    def _given(self, lanes: Lanes, block: int, args: tuple[Value, ...]) -> Lanes:
        """Return the mask that says in front of an edge what a mask says behind it."""
        if lanes is None:
            return None
        home = self._homes[lanes]
        if home == block and lanes.op is PARAM:
            return args[self._places[lanes][1]]
        return lanes if home != block and self.tree.dominates(home, block) else None


def _numbered(function: Function, order: Iterable[int]) -> dict[Value, Value]:
    """Return the masks that are computed of the same in the same way as one before them."""
    known: dict[Key, Value] = {}
    found: dict[Value, Value] = {}
    for number in order:
        for value in function.by_number[number].body:
            if value.type is not BOOL or not value.op.is_pure:
                continue
            args = tuple(found.get(arg, arg) for arg in value.args)
            key = pure_key(value.op, BOOL, value.lanes, args, value.attribute, value.mode)
            first = known.setdefault(key, value)
            if first is not value:
                found[value] = first
    return found


def _mask_of(value: Value) -> Value | None:
    """Return the mask of a message's lanes, where each lane of its operands is one of them."""
    found = value.attribute
    if isinstance(found, Message) and found.masked and value.op.name in _BY_LANES:
        return value.args[-1]
    if value.op.name == "poke" and len(value.args) > 1:
        return value.args[-1]
    return None


_BY_LANES = {"load", "store", "atomic"}


def _crosses(value: Value) -> bool:
    uop = value.op.uop
    return uop is None or uop.crosses


__all__ = ["Counted", "blends"]
