"""Loops that channels can run apart: one channel after the other, each to its own end.

In vector form all channels go through a loop until the last has left it. Where loads are scattered,
so that they are done one by one, a channel that runs alone costs no more and leaves when it is
done. This module finds such loops in the graph: jumps within a turn go forward, so that a turn of
all channels passes each block at most once. Then counts of instructions follow from the turns in
which channels passed each block. What may happen in them is up to `contents`, and to `walks` where
they store.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from visim.engine.jit.analysis.bindings import Bindings
from visim.engine.jit.analysis.blocks import Step
from visim.engine.jit.analysis.flow import LOST, Flow, Key, Node, is_dynamic, is_uniform
from visim.engine.jit.analysis.lanes import Row
from visim.engine.jit.analysis.lanewise import Bits
from visim.sem.effects import Goto, Load, LoadBlock, Place, Space, Store
from visim.sem.expr import Expr

SharedLoad = Load | LoadBlock
"""A load at one address."""

_MOST_NODES = 12
"""Loops of more blocks are left in vector form: they hardly are a few loads."""


@dataclass
class Region:
    """A loop that channels can run apart.

    Attributes:
        nodes: its blocks in order; the first is where a turn begins, the last where it ends.
        exits: where channels go from there.
        beyond: where channels may wait when all have left, in order.
        steady: the blocks that every channel passes that comes to a later one in the same turn.
        entering: rows that channels bring, with a place for each.
        leaving: those of them that the loop changes and others read.
        staying: those of them that the loop changes and only its next turn reads.
        parts: rows whose elements are parts of those of others, which have all that they have.
        bits_entering: parts of predicates that channels bring.
        singles: places written that all channels share.
        loads: its loads, with their blocks and the numbers of their instructions there.
        stores: its stores likewise.
        carried: what a turn leaves for the next one.
        shared: loads of what all channels have in common, likewise.
        together: whether all channels take a jump that has a condition, or none.
        bindings: what is known of surfaces where they are, by their identities.
    """

    nodes: list[Node]
    exits: list[int]
    beyond: list[int]
    steady: set[Key] = field(default_factory=set[Key])
    entering: dict[Row, Place] = field(default_factory=dict[Row, Place])
    leaving: dict[Row, Place] = field(default_factory=dict[Row, Place])
    staying: dict[Row, Place] = field(default_factory=dict[Row, Place])
    parts: dict[Row, Row] = field(default_factory=dict[Row, Row])
    bits_entering: set[Bits] = field(default_factory=set[Bits])
    singles: list[Place] = field(default_factory=list[Place])
    loads: list[tuple[Node, int, Load]] = field(default_factory=list[tuple[Node, int, Load]])
    stores: list[tuple[Node, int, Store]] = field(default_factory=list[tuple[Node, int, Store]])
    carried: set[Row | Bits] = field(default_factory=set[Row | Bits])
    shared: list[tuple[Node, int, SharedLoad]] = field(
        default_factory=list[tuple[Node, int, SharedLoad]]
    )
    together: bool = False
    bindings: dict[int, Bindings] = field(default_factory=dict[int, Bindings])

    @property
    def header(self) -> Node:
        """The block where a turn begins."""
        return self.nodes[0]

    @property
    def instructions(self) -> int:
        """How many instructions a turn counts at most."""
        return sum(len(node.block.forms) for node in self.nodes)

    @property
    def forks(self) -> bool:
        """Whether a block is passed by some channels, or in some turns, only."""
        return any(node.key not in self.steady for node in self.nodes)

    @property
    def reaches_flat_memory(self) -> bool:
        """Whether one of its messages is not of a surface or of shared local memory."""
        return any(
            one.space in {Space.FLAT, Space.SHADOW}
            for _, _, one in (*self.loads, *self.stores, *self.shared)
        )

    def whole(self, row: Row) -> Row:
        """Return the row of whose elements those of a row are parts, or that are all of them."""
        return self.parts.get(row, row)

    def keys(self) -> set[Key]:
        """Return the keys of the blocks."""
        return {node.key for node in self.nodes}

    def steps(self) -> Iterator[tuple[Node, int, Step]]:
        """Return all instructions, with their blocks and their numbers there."""
        for node in self.nodes:
            for number, step in enumerate(node.block.steps):
                yield node, number, step


class RegionFinder:
    """Finds the loops of a unit that channels can run apart, as far as their jumps go.

    Args:
        flow: the unit's graph.
        channels: how many channels a thread has.
        mixed: whether some jumps may be for all channels and others for some.
    """

    def __init__(self, flow: Flow, channels: int, *, mixed: bool = False) -> None:
        self._flow = flow
        self._channels = channels
        self._mixed = mixed

    def regions(self) -> Iterator[Region]:
        """Return the loops, none of which has another one in it."""
        for tail in self._flow.nodes.values():
            region = self._around(tail)
            if region is not None:
                yield region

    # Graph

    def _around(self, tail: Node) -> Region | None:
        """Return the loop that a block ends; None if its jumps are not as they have to be."""
        goto = tail.block.transfer
        if not isinstance(goto, Goto) or not self._is_plain(goto):
            return None
        begin, end = self._flow.label(goto.label), tail.block.next
        header = self._flow.nodes.get((tail.entry, begin, tail.after))
        if begin >= end or header is None:
            return None
        found = self._inside(header, tail)
        if found is None:
            return None
        nodes, exits = found
        if not exits:
            return None
        region = Region(nodes, exits, sorted((header.waiting | set(exits)) - {LOST}))
        masks = [mask for node in nodes if (mask := _jump_mask(node)) is not None]
        region.together = any(map(is_uniform, masks))
        alike = region.together == all(map(is_uniform, masks))
        if not (alike or self._mixed) or not self._is_closed(region):
            return None
        region.steady = {node.key for node in nodes if self._is_steady(region, node)}
        return region

    def _targets(self, node: Node) -> list[int] | None:
        """Return where channels of a block can go; None if not by themselves."""
        transfer, following = node.block.transfer, node.block.next
        if transfer is None:
            return [following]
        if not isinstance(transfer, Goto) or not self._is_plain(transfer):
            return None
        target = self._flow.label(transfer.label)
        return [target] if transfer.mask is None else [target, following]

    def _is_plain(self, goto: Goto) -> bool:
        mask = goto.mask
        if mask is None or is_uniform(mask):
            return True
        return not goto.offset and mask.lanes == self._channels

    def _inside(self, header: Node, tail: Node) -> tuple[list[Node], list[int]] | None:
        """Return the blocks that channels pass before they leave, and where they then go."""
        entry, begin, mode = header.key
        nodes, exits, waiting = {begin: header}, set[int](), [header]
        while waiting:
            node = waiting.pop()
            targets = self._targets(node)
            if targets is None or node.after != mode or is_dynamic(node):
                return None
            for target in targets:
                other = self._flow.nodes.get((entry, target, mode))
                backward = target < node.block.next
                if other is None or (backward and (target != begin or node is not tail)):
                    return None
                if target >= tail.block.next:
                    exits.add(target)
                elif target not in nodes:
                    nodes[target] = other
                    waiting.append(other)
        if tail.key[1] not in nodes or len(nodes) > _MOST_NODES:
            return None
        return [nodes[place] for place in sorted(nodes)], sorted(exits)

    def _is_closed(self, region: Region) -> bool:
        """Whether channels come in at the header only, and can wait wherever they go."""
        flow, keys, (entry, _, mode) = self._flow, region.keys(), region.header.key
        if region.header.waiting & {key[1] for key in keys}:
            return False
        inner = keys - {region.header.key}
        if any(flow.sources.get(key, set[Key]()) - keys for key in inner):
            return False
        return all(
            (entry, place, mode) in flow.nodes and ((entry, place) in flow.slots or region.together)
            for place in region.beyond
        )

    def _is_steady(self, region: Region, node: Node) -> bool:
        """Whether no channel comes to a later block of a turn without passing a block."""
        places = {one.key[1] for one in region.nodes} - {node.key[1]}
        seen, waiting = set[int](), [region.header.key[1]]
        entry, _, mode = region.header.key
        while waiting:
            place = waiting.pop()
            if place in places and place not in seen:
                seen.add(place)
                waiting += self._targets(self._flow.nodes[entry, place, mode]) or ()
        return max(seen, default=-1) < node.key[1]


def _jump_mask(node: Node) -> Expr | None:
    transfer = node.block.transfer
    return transfer.mask if isinstance(transfer, Goto) else None
