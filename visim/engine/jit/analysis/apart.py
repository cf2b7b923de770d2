"""Loops that channels can run apart: one channel after the other, each to its own end.

In vector form all channels go through a loop until the last has left it. Where loads are scattered,
so that they are done one by one, a channel that runs alone costs no more and leaves when it is
done. This module finds such loops: what happens in them is lane-wise or the same for all, memory is
only read, and jumps within a turn go forward, so that a turn of all channels passes each block at
most once. Then counts of instructions follow from the turns in which channels passed each block.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from visim.engine.jit.analysis.bindings import Bindings
from visim.engine.jit.analysis.blocks import Step, UnitCode
from visim.engine.jit.analysis.callouts import is_called_out
from visim.engine.jit.analysis.flow import LOST, Flow, Key, Node, is_dynamic, is_uniform
from visim.engine.jit.analysis.lanewise import Accesses, Bits, LaneWise, is_own, is_uniform_value
from visim.engine.jit.analysis.slots import Row, channel_of, channel_within, row_of
from visim.engine.jit.ir.places import place_span
from visim.sem.effects import (
    Effect,
    Goto,
    Load,
    Place,
    Space,
    WritePredicate,
    WriteRegister,
    WriteState,
    expressions,
)
from visim.sem.expr import Expr

_MOST_NODES = 12
"""Loops of more blocks are left in vector form: they hardly are a few loads."""

_Single = tuple[int, int, int]
"""A value that all channels share: its variable, its first byte and the byte behind it."""


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
        bits_entering: parts of predicates that channels bring.
        bits_leaving: those of them that the loop changes and others read, or its next turn.
        singles: places written that all channels share.
        loads: its loads, with their blocks and the numbers of their instructions there.
        bindings: what is known of surfaces where they are, by their identities.
    """

    nodes: list[Node]
    exits: list[int]
    beyond: list[int]
    steady: set[Key] = field(default_factory=set[Key])
    entering: dict[Row, Place] = field(default_factory=dict[Row, Place])
    leaving: dict[Row, Place] = field(default_factory=dict[Row, Place])
    staying: dict[Row, Place] = field(default_factory=dict[Row, Place])
    bits_entering: set[Bits] = field(default_factory=set[Bits])
    bits_leaving: set[Bits] = field(default_factory=set[Bits])
    singles: list[Place] = field(default_factory=list[Place])
    loads: list[tuple[Node, int, Load]] = field(default_factory=list[tuple[Node, int, Load]])
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
    def reaches_flat_memory(self) -> bool:
        """Whether one of its loads is not of a surface or of shared local memory."""
        return any(load.space is Space.FLAT for _, _, load in self.loads)

    def keys(self) -> set[Key]:
        """Return the keys of the blocks."""
        return {node.key for node in self.nodes}

    def steps(self) -> Iterator[tuple[Node, int, Step]]:
        """Return all instructions, with their blocks and their numbers there."""
        for node in self.nodes:
            for number, step in enumerate(node.block.steps):
                yield node, number, step


class RegionFinder:
    """Finds the loops of a unit that channels can run apart.

    Args:
        flow: the unit's graph.
        channels: how many channels a thread has.
    """

    def __init__(self, flow: Flow, channels: int) -> None:
        self._flow = flow
        self._channels = channels

    def regions(self) -> Iterator[Region]:
        """Return the loops, none of which has another one in it."""
        for tail in self._flow.nodes.values():
            region = self._around(tail)
            if region is not None and _Contents(region, self._flow, self._channels).fit():
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
        if not self._is_closed(region):
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
        if mask is None:
            return True
        return not is_uniform(mask) and not goto.offset and mask.lanes == self._channels

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
        for source, targets in flow.edges.items():
            if source not in keys and targets & keys - {region.header.key}:
                return False
        return all(
            (entry, place) in flow.slots and (entry, place, mode) in flow.nodes
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


class _Contents:
    """Looks at the instructions of a loop, and notes what they read and write."""

    def __init__(self, region: Region, flow: Flow, channels: int) -> None:
        self._region = region
        self._flow = flow
        self._channels = channels
        self._lane_wise = LaneWise(lambda _: False, dynamic=False)
        self._spans: dict[int, set[tuple[int, int, Row | _Single]]] = {}
        self._written = set[Row | _Single]()
        self._for_all = set[Row | Bits]()
        self._places: dict[Row, Place] = {}
        self._wanted = set[Row | Bits]()
        self._set = set[Row | Bits]()
        self._chooses = False

    def fit(self) -> bool:
        """Whether channels can run the loop apart; if so, the region is complete."""
        known: dict[int, set[Row | Bits]] = {self._region.header.key[1]: set()}
        for node in self._region.nodes:
            defined = set(known[node.key[1]])
            bindings = Bindings()
            for number, step in enumerate(node.block.steps):
                if not self._step(node, number, step, defined, bindings):
                    return False
            if not self._transfer(node, defined):
                return False
            for target in self._flow.edges[node.key]:
                known[target[1]] = known.get(target[1], defined) & defined
        return self._is_apart() and self._finish()

    # Instructions

    def _step(
        self,
        node: Node,
        number: int,
        step: Step,
        defined: set[Row | Bits],
        bindings: Bindings,
    ) -> bool:
        """Note an instruction, in front of which some rows are written in this turn."""
        if step.refusal is not None or not step.effects:
            return step.refusal is None
        if all(isinstance(effect, WriteState) for effect in step.effects):
            self._chooses = True
            for effect in step.effects:
                bindings.note(effect)
            return all(map(_chooses_known, step.effects))
        if all(_is_single(effect) for effect in step.effects):
            return node.key in self._region.steady and all(map(self._single, step.effects))
        found = self._lane_wise.accesses(step.effects, self._channels)
        if found is None:
            return False
        self._read(found, defined)
        return all(self._effect(node, number, e, defined, bindings) for e in step.effects)

    def _effect(
        self,
        node: Node,
        number: int,
        effect: Effect,
        defined: set[Row | Bits],
        bindings: Bindings,
    ) -> bool:
        """Whether channels may do an effect each for itself; note what it loads and writes."""
        match effect:
            case Load() as load:
                if is_called_out(load) or not _is_known(load.surface, bindings):
                    return False
                if channel_within(load.mask) is None:  # channels that have left load too
                    return False
                self._region.loads.append((node, number, load))
                self._region.bindings[id(load)] = replace(bindings, known=dict(bindings.known))
            case WriteRegister(place=place, mask=mask) if is_own(place.variable):
                row = row_of(place)
                if row is None:
                    return False
                self._note(place, row)
                self._written.add(row)
                self._write(row, mask, defined)
            case WritePredicate(variable=variable, offset=offset, mask=mask):
                self._write((variable.name, offset), mask, defined)
            case _:
                return False
        return True

    def _write(self, what: Row | Bits, mask: Expr | None, defined: set[Row | Bits]) -> None:
        self._set.add(what)
        if channel_within(mask) is None:
            self._for_all.add(what)
        if mask is not None and channel_of(mask) is None and what not in defined:
            self._wanted.add(what)
            return
        defined.add(what)

    def _read(self, found: Accesses, defined: set[Row | Bits]) -> None:
        for place, row in found.reads:
            self._note(place, row)
            if row is not None and row not in defined:
                self._wanted.add(row)
        self._wanted.update(bits for bits in found.read_bits if bits not in defined)

    def _single(self, effect: Effect) -> bool:
        if not isinstance(effect, WriteRegister) or not is_own(effect.place.variable):
            return False
        found, place = Accesses(), effect.place
        if not is_uniform_value(effect.value, found):
            return False
        self._read(found, set())
        single = self._note(place, None)
        self._written.add(single)
        if place not in self._region.singles:
            self._region.singles.append(place)
        return True

    def _transfer(self, node: Node, defined: set[Row | Bits]) -> bool:
        goto = node.block.transfer
        if not isinstance(goto, Goto) or goto.mask is None:
            return True
        found = Accesses()
        if not self._lane_wise.stays(goto.mask, self._channels, found, set()):
            return False
        self._read(found, defined)
        return True

    def _note(self, place: Place, row: Row | None) -> Row | _Single:
        """Note that a place is used, as a row or as what all channels share."""
        first, end = place_span(place)
        what = (place.variable.index, first, end) if row is None else row
        self._spans.setdefault(place.variable.index, set()).add((first, end, what))
        if row is not None:
            self._places.setdefault(row, place)
        return what

    # All together

    def _is_apart(self) -> bool:
        """Whether nothing that is written is a part of something else."""
        return not any(
            first < end and low < high and one != other
            for spans in self._spans.values()
            for low, end, one in spans
            if one in self._written
            for first, high, other in spans
        )

    def _finish(self) -> bool:
        """Note what comes in and what goes out; whether only channels that run are written."""
        region, inside = self._region, self._region.keys()
        behind = self._flow.behind(inside) - inside
        variables, names = _read_by((self._flow.nodes[key] for key in behind), self._flow.code)
        leaving = {what for what in self._set if _is_in(what, variables, names)}
        changed = leaving | self._set & self._wanted
        if any(self._flow.edges.get(key, set[Key]()) & inside for key in behind):
            leaving = changed  # channels come back, as from a loop around this one
        for what in changed | self._wanted:
            if isinstance(what, Row):
                region.entering[what] = self._places[what]
            else:
                region.bits_entering.add(what)
        region.bits_leaving = {bits for bits in changed if not isinstance(bits, Row)}
        rows = {row: place for row, place in region.entering.items() if row in changed}
        region.leaving = {row: place for row, place in rows.items() if row in leaving}
        region.staying = {row: place for row, place in rows.items() if row not in leaving}
        bits = {what for what in self._set | self._wanted if not isinstance(what, Row)}
        if changed & self._for_all or len({name for name, _ in bits}) < len(bits):
            return False
        return not self._chooses or _have_surfaces_at_hand(self._flow.nodes.values())


def _is_single(effect: Effect) -> bool:
    return isinstance(effect, WriteRegister) and effect.place.lanes == 1 and effect.mask is None


def _is_in(what: Row | Bits, variables: set[int], names: set[str]) -> bool:
    return what.variable in variables if isinstance(what, Row) else what[0] in names


def _chooses_known(effect: Effect) -> bool:
    """Whether an instruction chooses a surface whatever happens, by its number."""
    if not isinstance(effect, WriteState) or effect.mask is not None:
        return False
    return effect.value.lanes == 1 and effect.value.uop.name == "constant"


def _is_known(surface: Expr | None, bindings: Bindings) -> bool:
    """Whether a message goes to a surface that is known when code is made, or to none."""
    return surface is None or bindings.number(surface) is not None


def _read_by(nodes: Iterable[Node], code: UnitCode) -> tuple[set[int], set[str]]:
    """Return the variables and the predicates that blocks of a unit read."""
    variables, names = set[int](), set[str]()
    for node in nodes:
        found = [expr for step in node.block.steps for expr in step.expressions]
        if node.block.transfer is not None:
            found += expressions((node.block.transfer,))
        for expr in found:
            match expr.uop.name:
                case "read":
                    variables.add(expr.attribute.variable.index)
                case "fused":
                    variables.add(expr.attribute[1].variable.index)
                case "gather":
                    variables |= code.kernel.reached(code.unit)
                case "predicate":
                    names.add(expr.attribute[0].name)
                case _:
                    pass
    return variables, names


def _have_surfaces_at_hand(nodes: Iterable[Node]) -> bool:
    """Whether blocks choose surfaces themselves before they use them."""
    for node in nodes:
        chosen = set[tuple[str, int]]()
        for step in node.block.steps:
            for expr in step.expressions:
                if expr.uop.name == "state":
                    variable, element = expr.attribute
                    if any((variable.name, element + n) not in chosen for n in range(expr.lanes)):
                        return False
            for effect in step.effects:
                if isinstance(effect, WriteState):
                    first, lanes = effect.element, effect.value.lanes
                    chosen.update((effect.variable.name, first + n) for n in range(lanes))
    return True
