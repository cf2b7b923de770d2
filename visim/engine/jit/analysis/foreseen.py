"""Foreseen loops: it can be known before a number of turns that their messages are in range.

All channels go through such a loop together, as often as two numbers say that are compared at the
end of a turn. The addresses of some messages are ramps. A number that is linear in the turn, and in
the channel, lies between those of the first and the last of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from visim.engine.jit.analysis.affine import Affine, ShapeReader
from visim.engine.jit.analysis.apart import Region, RegionFinder
from visim.engine.jit.analysis.bindings import Bindings
from visim.engine.jit.analysis.blocks import Step
from visim.engine.jit.analysis.callouts import is_called_out
from visim.engine.jit.analysis.flow import Node, is_uniform
from visim.engine.jit.analysis.slots import Row, channel_of
from visim.engine.jit.analysis.walks import (
    Access,
    Ramp,
    TurnReader,
    Walk,
    access_bytes,
    address_of,
    rate,
)
from visim.engine.jit.ir.shapes import Shape
from visim.engine.jit.ir.storage import Storage
from visim.engine.jit.ir.text import Text
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
from visim.sem.uops import UOPS

_MOST_STEPS = 160
"""Loops of more instructions are not written twice."""

_MOST_FOR_EACH = 16
"""How many instructions for each foreseen message outweigh what a check takes."""

_PLAIN = (
    *(Load, LoadBlock, Store, StoreBlock, Atomic),
    *(WriteRegister, WritePredicate, WriteState),
)

_PIECE = 8

_Test = tuple[str, Ramp, Ramp]
"""A comparison and its sides."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Bits of a predicate that a comparison of what all channels share has set; None: no such."""

    first: int
    end: int
    test: _Test | None


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A foreseen loop.

    Attributes:
        region: the loop.
        walk: its foreseen messages; which way they go is not said.
        bindings: what is known of surfaces where these are, by their identities.
        test: the comparison with which channels go on, and its sides at the end of the first turn.
        nearer: by how much each turn brings the sides nearer to where the comparison fails.
    """

    region: Region
    walk: Walk
    bindings: dict[int, Bindings]
    test: _Test
    nearer: int


def foreseen_loops(affine: Affine) -> Iterator[Foreseen]:
    """Return the foreseen loops of a unit for which it pays."""
    flow = affine.slots.flow
    for region in RegionFinder(flow, affine.slots.kernel.simd_size).regions():
        steps = sum(len(node.block.steps) for node in region.nodes)
        forks = any(node.key not in region.steady for node in region.nodes)
        if forks or steps > _MOST_STEPS:
            continue
        found = _Reader(affine, region).foreseen()
        if found is not None and steps <= _MOST_FOR_EACH * len(found.walk.accesses):
            yield found


class _Reader(TurnReader):
    """Follows a turn of a loop."""

    def __init__(self, affine: Affine, region: Region) -> None:
        super().__init__()
        self._affine = affine
        self._region = region
        self._tests: dict[str, list[_Part]] = {}

    def foreseen(self) -> Foreseen | None:
        """Return the loop, if its turns can be counted and some of its messages are ramps."""
        messages: list[Access] = []
        bindings: dict[int, Bindings] = {}
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
        walk, test = Walk(), self._test()
        nearer = None if test is None else self._nearer(walk, test)
        if test is None or nearer is None:
            return None
        walk.accesses += [one for one in messages if self._is_known(walk, one.address)]
        if not walk.accesses or any(begin.is_own for begin, _ in walk.copies.values()):
            return None
        known = {id(one.effect): bindings[id(one.effect)] for one in walk.accesses}
        return Foreseen(self._region, walk, known, test, nearer)

    # How often

    def _compare(self, step: Step) -> None:
        """Note the comparisons of what all channels share, and what else sets predicates."""
        for effect in step.effects:
            if not isinstance(effect, WritePredicate):
                continue
            value, test = effect.value, None
            if effect.mask is None and value.uop.name in {"lt", "le", "ne"}:
                one, other = map(self.ramp, value.args)
                if one is not None and other is not None and not (one.is_own or other.is_own):
                    test = value.uop.name, one, other
            first, end = effect.offset, effect.offset + value.lanes
            known = self._tests.setdefault(effect.variable.name, [])
            known[:] = [part for part in known if part.end <= first or end <= part.first]
            known.append(_Part(first, end, test))

    def _test(self) -> _Test | None:
        """Return the comparison with which channels go on, if they leave only at the end."""
        *before, last = self._region.nodes
        goto = last.block.transfer
        inside = {one.key[1] for one in self._region.nodes}
        for one in before:
            transfer = one.block.transfer
            if transfer is not None or one.block.next not in inside:
                return None
        if not isinstance(goto, Goto) or goto.mask is None:
            return None
        bits = goto.mask.args[0] if is_uniform(goto.mask) else goto.mask
        if bits.uop.name != "predicate" or goto.offset:
            return None
        variable, first = bits.attribute
        parts = [
            part
            for part in sorted(self._tests.get(variable.name, []), key=lambda part: part.first)
            if part.first < first + bits.lanes and first < part.end
        ]
        if not parts or parts[0].first > first or parts[-1].end < first + bits.lanes:
            return None
        if any(one.end != other.first for one, other in pairwise(parts)):
            return None
        tests = [part.test for part in parts]
        return tests[0] if all(_are_same(tests[0], test) for test in tests) else None

    def _nearer(self, walk: Walk, test: _Test) -> int | None:
        """Return by how much a turn brings the sides of a test nearer to each other."""
        word, one, other = test
        for begin in (*one.begins(), *other.begins()):
            if not self.learn(walk, begin):
                return None
        rates = rate(one, walk.steps), rate(other, walk.steps)
        if rates[0] is None or rates[1] is None:
            return None
        nearer = rates[0] - rates[1]
        return nearer if nearer > 0 or (word == "ne" and nearer == -1) else None

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
        if not all(self._has_shape(begin, effect) for begin in own_begins(ramp)):
            return None
        return Access(owner, effect, ramp, 0)

    def _is_row(self, owner: Node, number: int, effect: Load | LoadBlock | Store) -> bool:
        if isinstance(effect, LoadBlock):
            return True
        shape = self._reader(owner, number).shape(effect.addresses, channel_of(effect.mask))
        if shape is None or shape.form.ragged:
            return False
        return isinstance(effect, Load) or abs(shape.form.stride) >= access_bytes(effect)

    def _has_shape(self, begin: Ramp, effect: Load | LoadBlock | Store) -> bool:
        """Whether it is known how a row's elements differ, of which each lane has one."""
        channel = channel_of(effect.mask)
        shape = shape_of(self._reader(self._region.header, 0), begin, channel)
        if shape is None or shape.form.ragged or shape.lanes != lanes_of(effect):
            return False
        return shape.form.piece >= least_piece(shape.lanes)

    def _reader(self, owner: Node, number: int) -> ShapeReader:
        slots = self._affine.slots
        storage = Storage(slots.kernel, slots.flow.code.unit, Text())
        return ShapeReader(storage.text, storage, self._affine, owner.key, number)

    def _is_known(self, walk: Walk, address: Ramp) -> bool:
        """Whether an address is linear in the turn, and in the channel."""
        known = all(self.learn(walk, begin) for begin in address.begins())
        return known and _is_linear(address, walk)


def _are_same(one: _Test | None, other: _Test | None) -> bool:
    """Whether two comparisons compare the same."""
    if one is None or other is None or one[0] != other[0]:
        return False
    return all(_is_same(*sides) for sides in zip(one[1:], other[1:], strict=True))


def _is_same(one: Ramp, other: Ramp) -> bool:
    pairs = [
        (ramp.word, ramp.type, ramp.number, ramp.what, len(ramp.args)) for ramp in (one, other)
    ]
    return pairs[0] == pairs[1] and all(map(_is_same, one.args, other.args))


def own_begins(ramp: Ramp) -> list[Ramp]:
    """Return the rows with which a ramp begins."""
    return [begin for begin in ramp.begins() if isinstance(begin.what, Row)]


def lanes_of(effect: Load | LoadBlock | Store) -> int:
    """Return of how many lanes a message is."""
    return address_of(effect).lanes


def least_piece(lanes: int) -> int:
    """Return of how many lanes the pieces of rows are at least."""
    return min(_PIECE, lanes)


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
    turns = [any(walk.steps[one.what] for one in arg.begins() if one.what) for arg in ramp.args]
    lanes = [arg.is_own for arg in ramp.args]
    match ramp.word:
        case "mul":
            return not (all(turns) or all(lanes))
        case "min" | "max":
            return not (any(turns) or any(lanes))
        case _:
            return True
