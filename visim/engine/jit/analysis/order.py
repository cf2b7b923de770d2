"""In which order the lane-wise instructions of a run need few registers.

Products of matrices add to many sums one after the other, and begin again: each sum waits in memory
for its next turn. Channels of a run do not depend on each other, nor do most of its instructions.
So the next one is always one that needs few loads: mostly the next product of a sum that is there,
in a few sums by turns, since a product takes its time.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from visim.engine.jit.analysis.blocks import Step
from visim.engine.jit.analysis.lanes import Row
from visim.engine.jit.analysis.lanewise import Accesses, Bits
from visim.engine.jit.analysis.runs import Run

_Value = tuple[Row | Bits, int]
"""A row or bits of a predicate, and how often the run has written it before."""


_IN_FLIGHT = 3
"""So many results are not there yet when the next instruction begins."""


@dataclass(frozen=True, slots=True)
class Turn:
    """An instruction, by its number, where its turn is.

    Attributes:
        again: rows that it reads and that registers hold no more, as the run found them.
        written: rows that it is the last one to write.
    """

    number: int
    step: Step
    again: tuple[Row, ...] = ()
    written: tuple[Row, ...] = ()


@dataclass
class _Node:
    """An instruction: what it reads and writes, which ones wait for it, for how many it waits."""

    number: int
    step: Step
    reads: dict[_Value, None]
    writes: list[_Value]
    followers: set[int] = field(default_factory=set[int])
    waits: int = 0


def in_order(run: Run) -> Iterator[Turn]:
    """Return the lane-wise instructions of a run as they come."""
    steps = list(run.lane_wise())
    last = {row: number for number, _ in steps for row in _written(run.accesses[number])}
    for number, step in steps:
        rows = _written(run.accesses[number])
        yield Turn(number, step, (), tuple(row for row in rows if last[row] == number))


def thrifty(run: Run, registers: int) -> Iterator[Turn]:
    """Return them in an order in which few rows are loaded that `registers` do not hold."""
    return _Order(run, registers).turns()


def _written(accesses: Accesses) -> list[Row]:
    return [row for _, row in accesses.writes if row is not None]


class _Order:
    """An order while it is found."""

    def __init__(self, run: Run, registers: int) -> None:
        self._registers = registers
        self._writes: dict[Row | Bits, int] = {}
        self._users: dict[_Value, dict[int, None]] = {}
        self._makers: dict[_Value, int] = {}
        self._nodes: list[_Node] = []
        for number, step in run.lane_wise():
            self._add(number, step, run.accesses[number])
        self._held: OrderedDict[_Value, None] = OrderedDict()
        self._loaded: set[_Value] = set()
        self._recent: deque[_Value] = deque(maxlen=_IN_FLIGHT)

    def _add(self, number: int, step: Step, found: Accesses) -> None:
        """Add an instruction: it waits for what it reads, and for readers of what it replaces."""
        place, rows = len(self._nodes), (*found.reads, *found.kept)
        keys = [row for _, row in rows if row is not None] + found.read_bits + found.written_bits
        node = _Node(number, step, dict.fromkeys((key, self._times(key)) for key in keys), [])
        before = {self._makers[value] for value in node.reads if value in self._makers}
        for value in node.reads:
            self._users.setdefault(value, {})[place] = None
        for key in (*_written(found), *found.written_bits):
            old, new = (key, self._times(key)), (key, self._times(key) + 1)
            before |= {*self._users.get(old, ()), self._makers.get(old, place)}
            self._writes[key], self._makers[new] = new[1], place
            node.writes.append(new)
        before.discard(place)
        for other in before:
            self._nodes[other].followers.add(place)
        node.waits = len(before)
        self._nodes.append(node)

    def _times(self, key: Row | Bits) -> int:
        """Return how often a row or bits have been written so far."""
        return self._writes.get(key, 0)

    def turns(self) -> Iterator[Turn]:
        """Return the instructions in the order that is found."""
        ready = dict.fromkeys(place for place, node in enumerate(self._nodes) if not node.waits)
        while ready:
            place = self._cheapest(ready)
            del ready[place]
            node = self._nodes[place]
            again = [key for key, times in node.reads if self._is_gone((key, times))]
            self._take(place, node)
            for follower in sorted(node.followers):
                self._nodes[follower].waits -= 1
                if not self._nodes[follower].waits:
                    ready[follower] = None
            rows = [key for key, times in node.writes if times == self._writes[key]]
            yield Turn(node.number, node.step, _rows(again), _rows(rows))

    def _cheapest(self, ready: dict[int, None]) -> int:
        """Return the instruction that needs the fewest loads, of such that read what is held."""
        costs = [
            (*self._cost(self._nodes[place]), age, place)
            for age, value in enumerate(reversed(self._held))
            for place in self._users[value]
            if place in ready
        ]
        return min(costs)[-1] if costs else min(ready)

    def _cost(self, node: _Node) -> tuple[int, bool, bool]:
        """Return how many rows an instruction loads and leaves more than it found.

        Beside that whether it would wait for what is being computed, and whether it begins a sum.
        """
        loads = sum(value not in self._held for value in node.reads)
        ends = sum(len(self._users[value]) == 1 for value in node.reads)
        left = loads - ends + sum(value in self._users for value in node.writes)
        waits = any(value in self._recent for value in node.reads)
        return left, waits, not any(times for _, times in node.reads)

    def _is_gone(self, value: _Value) -> bool:
        """Whether registers held what the run found in a row, and do no more."""
        return value[1] == 0 and value in self._loaded and value not in self._held

    def _take(self, place: int, node: _Node) -> None:
        """Note what registers hold behind an instruction."""
        for value in node.reads:
            self._loaded.add(value)
            self._held.pop(value, None)
            del self._users[value][place]
        self._recent.extend(node.writes)
        for value in (*node.reads, *node.writes):
            if self._users.get(value):
                self._held[value] = None
        while len(self._held) > self._registers:
            self._held.popitem(last=False)


def _rows(keys: list[Row | Bits]) -> tuple[Row, ...]:
    return tuple(key for key in keys if isinstance(key, Row))
