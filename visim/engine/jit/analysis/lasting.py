"""What variables hold from one chain of nodes on, for the divisions of others.

A chain knows what those have left that come first on every path, one after the other, as long as
nobody may have written it since and only channels run that have run there: sums, of which a divisor
may be one, and all else that divisions are made of. A few of them are looked at.

Some floats are known further on.

Compilers move out of loops what does not change there, and compute once what several blocks need.
Of a division those are any of the conversions and the reciprocal, but not the sums, around which
the rounding mode is switched. Such a variable has one instruction that writes it, which comes first
on every path and for every channel; what it holds is concluded from that, if it is so at any time
later:

- What is an integer converted to DF is one whenever the instruction has run.
- What a chain makes of the same inputs belongs together if it is written for the same lanes: each
  channel has all of it from the same time.

So each chain has inputs of its own here for each set of lanes, also where a variable never changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count

from visim.engine.jit.analysis.flow import Flow, Key, Node, is_dynamic, mode_of
from visim.engine.jit.analysis.lanes import channel_of
from visim.engine.jit.analysis.paths import Paths
from visim.engine.jit.analysis.slots import is_integer
from visim.engine.jit.analysis.symbols import Value, ValueFollower, elements_of
from visim.engine.jit.analysis.terms import Elements, Symbols
from visim.engine.jit.ir.places import place_span
from visim.linker.program import LinkedKernel
from visim.sem.effects import Goto, Jump, Place, Switch, WriteIndirect, WriteRegister

_STATES = 1 << 32
"""The distance between the first states of variables of two chains."""

_MOST_BEFORE = 4
"""What so many chains have left is known, of those that come first on every path: in front of an
integer division the divisor is looked at, and other divisions come first."""

_Lanes = tuple[int, int]
"""For which lanes a write is: the channel of the first one, and how many."""
_ALL = (0, 0)
"""All lanes, whatever channels are on."""


class LastingValues:
    """What variables of a unit hold that one instruction writes, found when it is asked for.

    Args:
        kernel: the program.
        flow: the unit's control flow.
        chains: its chains of nodes.
        paths: what is known of its paths.
    """

    def __init__(
        self, kernel: LinkedKernel, flow: Flow, chains: Sequence[Sequence[Node]], paths: Paths
    ) -> None:
        self._paths = paths
        self._symbols = Symbols()
        self._chains = {node.key: chain for chain in chains for node in chain}
        self._nodes = flow.nodes
        self._numbers = count()
        self._ends: dict[tuple[Key, int], ValueFollower | None] = {}
        self._made: dict[tuple[Key, _Lanes], dict[Elements, Value]] = {}
        self._writes: dict[int, list[tuple[Key, WriteRegister]]] = {}
        self._reached = kernel.reached(flow.code.unit)
        for key, node in flow.nodes.items():
            for step in node.block.steps:
                for effect in step.effects:
                    if isinstance(effect, WriteRegister):
                        index = effect.place.variable.index
                        self._writes.setdefault(index, []).append((key, effect))

    def follower(self, chain: Sequence[Node]) -> ValueFollower:
        """Return what follows the values of a chain, which knows what those before it have left."""
        return replace(self._begun(chain, _MOST_BEFORE), lasting=partial(self._of, chain))

    def _begun(self, chain: Sequence[Node], most: int) -> ValueFollower:
        """Return what is known where a chain begins, from so many others that come first."""
        key = chain[0].key
        above = self._paths.above(key) if most else None
        if above is None or not self._paths.keeps_channels(frozenset({above}), key):
            return self._follower(None)
        between = self._paths.between(above, key)
        written = None if between is None else self._written_in(between)
        ended = self._ended(self._chains[above], most - 1)
        if written is None or ended is None:
            return self._follower(None)
        return ended.behind(written, next(self._numbers) * _STATES)

    def _ended(self, chain: Sequence[Node], most: int) -> ValueFollower | None:
        """Return what is known where a chain ends, if the modes in it are."""
        place = chain[0].key, most
        if place not in self._ends:
            self._ends[place] = None
            if self._written_in(node.key for node in chain) is not None:
                self._ends[place] = ended = self._begun(chain, most)
                for node in chain:
                    for step in node.block.before:
                        ended.pass_by(step, ended.written(step, mode_of(node)))
        return self._ends[place]

    def _written_in(self, nodes: Iterable[Key]) -> set[int] | None:
        """Return the variables that nodes write; None if they write others than they say."""
        found = set[int]()
        for key in nodes:
            node = self._nodes[key]
            effects = [effect for step in node.block.steps for effect in step.effects]
            if is_dynamic(node) or any(isinstance(effect, WriteIndirect) for effect in effects):
                return None
            if not isinstance(node.block.transfer, Goto | Jump | Switch | None):
                return None
            found |= {e.place.variable.index for e in effects if isinstance(e, WriteRegister)}
        return found

    def _follower(self, lasting: partial[Value | None] | None) -> ValueFollower:
        return ValueFollower(
            symbols=self._symbols, lasting=lasting, first=next(self._numbers) * _STATES
        )

    def _of(self, chain: Sequence[Node], elements: Elements) -> Value | None:
        """Return what elements hold that only an instruction of another chain writes."""
        found = self._only_write(chain, elements)
        if found is None:
            return None
        key, write = found
        source, lanes = self._chains[key], _lanes(write)
        if lanes is None or not (lanes == _ALL or self._has_channels(source, chain)):
            return None
        known = self._made.get((source[0].key, lanes))
        if known is None:
            known = self._made[source[0].key, lanes] = self._follow(source, lanes)
        return known.get(elements)

    def constant(self, chain: Sequence[Node], place: Place) -> int | None:
        """Return the integer that a chain finds at a place, if another one has left it there."""
        variable, wanted, size = elements_of(place)
        found = self._only_write(chain, (variable, wanted, size))
        if found is None:
            return None
        _, write = found
        _, written, bytes_written = elements_of(write.place)
        if bytes_written != size or not set(wanted) <= set(written):
            return None
        constant = write.mask is None and write.value.uop.name == "constant"
        return int(write.value.attribute) if constant and is_integer(write.value.type) else None

    def _only_write(
        self, chain: Sequence[Node], elements: Elements
    ) -> tuple[Key, WriteRegister] | None:
        """Return the only instruction that writes elements, if its chain comes before another."""
        variable, places, size = elements
        if variable in self._reached:
            return None
        low, high = min(places), max(places) + size
        found = [
            (key, write)
            for key, write in self._writes.get(variable, ())
            if place_span(write.place)[0] < high and low < place_span(write.place)[1]
        ]
        if len(found) != 1:
            return None
        [(key, write)] = found
        source = self._chains[key]
        first = source is not chain and self._paths.dominates(source[0].key, chain[0].key)
        return (key, write) if first and not write.place.variable.is_shared else None

    def _has_channels(self, source: Sequence[Node], chain: Sequence[Node]) -> bool:
        """Whether the channels of a chain were active when another one ran last.

        Blocks that differ in modes only are several nodes: others may come from around the source
        to where it alone leads.
        """
        return self._paths.keeps_channels(frozenset({source[0].key}), chain[0].key)

    def _follow(self, chain: Sequence[Node], lanes: _Lanes) -> dict[Elements, Value]:
        """Return what a chain writes for some lanes."""
        values, found = self._follower(None), dict[Elements, Value]()
        steps = ((node, step) for node in chain for step in node.block.before)
        for node, step in steps:
            written = values.written(step, mode_of(node))
            values.pass_by(step, written)
            for write, symbol in () if is_dynamic(node) else written:
                if not isinstance(write, WriteRegister) or symbol is None:
                    continue
                if _lanes(write) == lanes:
                    value = Value(write.place.type, channel_of(write.mask), symbol)
                    found[elements_of(write.place)] = value
        return found


def _lanes(write: WriteRegister) -> _Lanes | None:
    """Return for which lanes a write is, if nothing else decides."""
    channel = channel_of(write.mask)
    if channel is None:
        return _ALL if write.mask is None else None
    return channel, write.value.lanes
