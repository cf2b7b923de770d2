"""Foreseen loops: it can be known before a number of turns that their messages are in range.

All channels go through such a loop together until the first one leaves, as often as two numbers say
that are compared in each turn. The addresses of some messages are ramps. A number that is linear in
the turn, and in the channel, lies between those of the first and the last of both.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from visim.engine.jit.analysis.affine import Affine, ShapeReader
from visim.engine.jit.analysis.ages import Data
from visim.engine.jit.analysis.apart import Region, RegionFinder
from visim.engine.jit.analysis.bindings import Bindings
from visim.engine.jit.analysis.blocks import Step
from visim.engine.jit.analysis.callouts import is_called_out
from visim.engine.jit.analysis.flow import Key, Node, is_uniform
from visim.engine.jit.analysis.lanes import Row, channel_of
from visim.engine.jit.analysis.walks import (
    Access,
    Ramp,
    TurnReader,
    Walk,
    access_bytes,
    address_of,
    part_of,
    rate,
)
from visim.engine.jit.ir.shapes import Shape
from visim.sem.effects import (
    Atomic,
    Effect,
    Goto,
    Load,
    LoadBlock,
    Store,
    StoreBlock,
    WritePredicate,
    WriteRegister,
    WriteState,
)
from visim.sem.expr import Expr
from visim.sem.uops import UOPS, Group

_MOST_STEPS = 40
"""Loops of more instructions are not written twice."""

_MOST_FOR_EACH = 16
"""How many instructions for each foreseen message outweigh what a check takes; copies do not."""

_PLAIN = (
    *(Load, LoadBlock, Store, StoreBlock, Atomic),
    *(WriteRegister, WritePredicate, WriteState),
)

_LEAST_PIECE = 8
"""Rows have pieces of so many lanes at least."""


@dataclass(frozen=True, slots=True)
class Test:
    """A comparison with which channels go on.

    Attributes:
        word: "lt", "le" or "ne".
        sides: what is compared, in the first turn.
        channel: the first channel.
        lanes: how many channels there are.
        nearer: by how much each turn brings the sides nearer to where the comparison fails; 0:
            that is known only when the loop begins.
    """

    word: str
    sides: tuple[Ramp, Ramp]
    channel: int
    lanes: int
    nearer: int = 0


_OPPOSITES = {"lt": "le", "le": "lt", "eq": "ne", "ne": "eq"}


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A foreseen loop.

    Attributes:
        region: the loop.
        walk: its foreseen messages; which way they go is not said.
        bindings: what is known of surfaces where these are, by their identities.
        tests: the comparisons with which channels go on; none: nobody knows how often they do.
        at_end: whether they stand at the end of a turn, else somewhere else in it.
        pieces: for rows of so many lanes, from some channel on, in how long pieces they are linear.
    """

    region: Region
    walk: Walk
    bindings: dict[int, Bindings]
    tests: tuple[Test, ...]
    at_end: bool
    pieces: dict[tuple[int, int | None], int]


def foreseen_loops(affine: Affine, data: Data, others: Container[Key]) -> Iterator[Foreseen]:
    """Return the foreseen loops of a unit for which it pays, but none that begins in `others`."""
    flow = affine.slots.flow
    for region in RegionFinder(flow, affine.slots.kernel.simd_size, mixed=True).regions():
        if region.header.key in others or _work(region) > _MOST_STEPS:
            continue
        found = _Reader(affine, data, region).foreseen()
        if found is not None and _work(region) <= _MOST_FOR_EACH * len(found.walk.accesses):
            yield found


def _work(region: Region) -> int:
    """Return how many instructions of a turn do more than copy registers."""
    return sum(not all(map(_copies, step.effects)) for _, _, step in region.steps())


def _copies(effect: Effect) -> bool:
    return isinstance(effect, WriteRegister) and effect.value.uop.group is Group.LEAF


class _Reader(TurnReader):
    """Follows a turn of a loop."""

    def __init__(self, affine: Affine, data: Data, region: Region) -> None:
        super().__init__(strides=True)
        self._affine = affine
        self._data = data
        self._region = region
        self._tests: dict[str, list[tuple[int, int, Test | None]]] = {}
        self._pieces: dict[tuple[int, int | None], int] = {}

    def foreseen(self) -> Foreseen | None:
        """Return the loop, if some of its messages are ramps.

        How often channels go on is known, or how long the ramps stay in their arrays; data do not
        decide it.
        """
        if not self._leavers or self._data_decide(self._forks):
            return None
        messages: list[Access] = []
        bindings: dict[int, Bindings] = {}
        tests: list[list[Test]] = []
        for owner in self._region.nodes:
            known = Bindings()
            for number, step in enumerate(owner.block.steps):
                if not _is_plain(step):
                    return None
                for effect in step.effects:
                    known.note(effect)
                    access = self._access(owner, number, effect, known)
                    if access is not None:
                        messages.append(access)
                        bindings[id(effect)] = replace(known, known=dict(known.known))
                self._compare(step)
                self.write(step.effects)
            if owner in self._leavers:
                tests.append(self._leaving(owner) or [])
            if owner.key not in self._region.steady:
                self._forget(owner)
        walk = Walk()
        counted = [self._counted(walk, one) for one in tests]
        ends = list(zip(self._leavers, counted, strict=True))
        leaver, found = next((end for end in ends if end[1]), ends[0])
        walk.accesses += [one for one in messages if self._is_known(walk, one.address)]
        copies = any(begin.is_own for begin, _ in walk.copies.values())
        counts = found or any(advances(access.address, walk) for access in walk.accesses)
        others = (one for one, tests in ends if not tests)
        if not walk.accesses or copies or not counts or self._data_decide(others):
            return None
        if len({one.node.key in self._region.steady for one in walk.accesses}) > 1:
            return None  # some are left out in the first turn or the last one: they leave arrays
        known = {id(one.effect): bindings[id(one.effect)] for one in walk.accesses}
        at_end = leaver is self._region.nodes[-1]
        return Foreseen(self._region, walk, known, tuple(found), at_end, self._pieces)

    def _forget(self, owner: Node) -> None:
        """Forget what a block has written that some channels, or some turns, do not pass."""
        for step in owner.block.steps:
            for effect in step.effects:
                if isinstance(effect, WriteRegister):
                    self._write(part_of(effect.place), None)
                elif isinstance(effect, WritePredicate):
                    self._tests.pop(effect.variable.name, None)

    # How often

    @cached_property
    def _leavers(self) -> list[Node]:
        """The blocks that all channels pass and that end with a condition of which some leave."""
        places = {node.key[1] for node in self._region.nodes}
        return [
            node
            for node in self._region.nodes
            if node.key in self._region.steady
            and isinstance(goto := node.block.transfer, Goto)
            and goto.mask is not None
            and (node is self._region.nodes[-1] or self._target(goto) not in places)
        ]

    @property
    def _forks(self) -> list[Node]:
        """The other blocks, at whose ends channels may part within a turn."""
        return [node for node in self._region.nodes if node not in self._leavers]

    def _target(self, goto: Goto) -> int:
        return self._affine.slots.flow.label(goto.label)

    def _data_decide(self, nodes: Iterable[Node]) -> bool:
        """Whether data decide which way channels go at the end of a block: they soon part."""
        gotos = (node.block.transfer for node in nodes)
        masks = [one.mask for one in gotos if isinstance(one, Goto) and one.mask is not None]
        return any(map(self._data.decide, masks))

    def _compare(self, step: Step) -> None:
        """Note comparisons of ramps, and what else sets predicates."""
        for effect in step.effects:
            if not isinstance(effect, WritePredicate):
                continue
            value, test = effect.value, None
            first, end = effect.offset, effect.offset + value.lanes
            if effect.mask is None or channel_of(effect.mask) == first:
                test = self._test(value, first)
            known = self._tests.setdefault(effect.variable.name, [])
            known[:] = [one for one in known if one[1] <= first or end <= one[0]]
            known.append((first, end, test))

    def _test(self, value: Expr, first: int) -> Test | None:
        if value.uop.name not in _OPPOSITES:
            return None
        one, other = map(self.ramp, value.args)
        if one is None or other is None:
            return None
        return Test(value.uop.name, (one, other), first, value.lanes)

    def _leaving(self, owner: Node) -> list[Test] | None:
        """Return the comparisons that say, at the end of a block, whether channels go on."""
        goto = owner.block.transfer
        if not isinstance(goto, Goto) or goto.mask is None or goto.offset:
            return None
        bits, goes_on = goto.mask, owner is self._region.nodes[-1]
        if is_uniform(bits):
            bits = bits.args[0]
        if bits.uop.name == "and" and channel_of(bits.args[0]) == 0:  # all channels are on
            bits = bits.args[1]
        if bits.uop.name == "not":
            bits, goes_on = bits.args[0], not goes_on
        if bits.uop.name != "predicate":
            return None
        variable, at = bits.attribute
        end, tests = at + bits.lanes, list[Test]()
        for low, high, test in sorted(self._tests.get(variable.name, ()), key=lambda one: one[0]):
            if low <= at < high and at < end and test is not None:
                tests.append(test if goes_on else _opposite(test))
                at = high
        return tests if at >= end else None

    def _counted(self, walk: Walk, tests: Iterable[Test]) -> list[Test]:
        """Return comparisons with how fast they come to an end; none if that is not known."""
        found: list[Test] = []
        for test in tests:
            own = [begin for side in test.sides for begin in own_begins(side)]
            if not all(self._has_shape(begin, test.channel, test.lanes) for begin in own):
                return []
            if not all(self._is_known(walk, side) for side in test.sides):
                return []
            if test.word == "eq":
                return []
            if any(walk.strides_in(side) for side in test.sides):
                if not all(_has_rate(side, walk) for side in test.sides):
                    return []
                found.append(test)
                continue
            one, other = (rate(side, walk.steps) for side in test.sides)
            nearer = 0 if one is None or other is None else one - other
            if not (nearer > 0 or (test.word == "ne" and nearer == -1)):
                return []
            found.append(replace(test, nearer=nearer))
        return found

    # Messages

    def _access(self, owner: Node, number: int, effect: Effect, known: Bindings) -> Access | None:
        """Return a message whose address is a ramp, and whose lanes are in rows."""
        if not isinstance(effect, Load | LoadBlock | Store):
            return None
        if effect.mask is not None and channel_of(effect.mask) is None:
            return None
        if effect.surface is not None and known.number(effect.surface) is None:
            return None
        ramp = self.ramp(address_of(effect))
        if ramp is None or not self._is_row(owner, number, effect):
            return None
        channel, lanes = channel_of(effect.mask), lanes_of(effect)
        if not all(self._has_shape(begin, channel, lanes) for begin in own_begins(ramp)):
            return None
        return Access(owner, effect, ramp, 0)

    def _is_row(self, owner: Node, number: int, effect: Load | LoadBlock | Store) -> bool:
        if isinstance(effect, LoadBlock):
            return True
        reader = self._affine.reader(owner.key, number)
        shape = reader.shape(effect.addresses, channel_of(effect.mask))
        if shape is None or shape.form.ragged:
            return False
        return isinstance(effect, Load) or abs(shape.form.stride) >= access_bytes(effect)

    def _has_shape(self, begin: Ramp, channel: int | None, lanes: int) -> bool:
        """Whether it is known how a row's elements differ, of which each lane has one."""
        shape = shape_of(self._affine.reader(self._region.header.key, 0), begin, channel)
        if shape is None or shape.form.ragged or shape.lanes != lanes:
            return False
        self._pieces[lanes, channel] = min(
            self._pieces.get((lanes, channel), lanes), shape.form.piece
        )
        return shape.form.piece >= min(_LEAST_PIECE, lanes)

    def _is_known(self, walk: Walk, address: Ramp) -> bool:
        """Whether an address is linear in the turn, and in the channel."""
        known = all(self.learn(walk, begin) for begin in address.begins())
        return known and _is_linear(address, walk)


def _opposite(test: Test) -> Test:
    """Return the comparison that holds where another one does not."""
    sides = test.sides[::-1] if test.word in {"lt", "le"} else test.sides
    return replace(test, word=_OPPOSITES[test.word], sides=sides)


def own_begins(ramp: Ramp) -> list[Ramp]:
    """Return the rows with which a ramp begins."""
    return [begin for begin in ramp.begins() if isinstance(begin.what, Row)]


def lanes_of(effect: Load | LoadBlock | Store) -> int:
    """Return of how many lanes a message is."""
    return address_of(effect).lanes


def shape_of(reader: ShapeReader, begin: Ramp, channel: int | None) -> Shape | None:
    """Return the shape of a row with which a ramp begins, in lanes from `channel` on."""
    if begin.place is None:
        return None
    return reader.shape(Expr(UOPS["read"], begin.type, begin.place.lanes, (), begin.place), channel)


def _is_plain(step: Step) -> bool:
    """Whether an instruction is what loops are made of, done by the kernel's own code."""
    if step.refusal is not None:
        return False
    return all(isinstance(one, _PLAIN) and not is_called_out(one) for one in step.effects)


def _is_linear(ramp: Ramp, walk: Walk) -> bool:
    """Whether nothing in a ramp bends it: where it grows in two ways, each of them is linear."""
    if not all(_is_linear(arg, walk) for arg in ramp.args):
        return False
    turns = [walk.moves(arg) for arg in ramp.args]
    lanes = [arg.is_own for arg in ramp.args]
    match ramp.word:
        case "mul":
            return not (all(turns) or all(lanes))
        case "min" | "max":
            return not (any(turns) or any(lanes))
        case _:
            return True


def advances(ramp: Ramp, walk: Walk) -> bool:
    """Whether turns change a linear ramp, each by the same in all channels."""
    return walk.moves(ramp) and _has_rate(ramp, walk)


def _has_rate(ramp: Ramp, walk: Walk) -> bool:
    """Whether a turn adds the same to a linear ramp in all channels."""
    if not all(_has_rate(arg, walk) for arg in ramp.args):
        return False
    return ramp.word != "mul" or not (ramp.is_own and walk.moves(ramp))
