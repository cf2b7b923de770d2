"""Retries: loops in which channels compare and exchange one element until they have won.

Compilers know no other way to add floats, or to combine what atomic operations do not: a turn loads
an element, computes another from it, and stores that if the element is still the same. If all
channels go together, one of those that reach the same element wins in each turn, the lowest first.
So each may as well win at once, the lowest first, if nothing but the element tells its turns apart;
and the turns that they would have taken together are those in which the element has changed.
"""

from __future__ import annotations

from dataclasses import dataclass

from visim.engine.jit.analysis.apart import Region
from visim.engine.jit.analysis.blocks import Step
from visim.engine.jit.analysis.lanes import Row, channel_of, row_of
from visim.engine.jit.ir.places import is_repeated
from visim.sem.effects import (
    Atomic,
    AtomicOperation,
    Goto,
    Load,
    Place,
    Space,
    WritePredicate,
    WriteRegister,
)
from visim.sem.expr import Expr, below
from visim.sem.uops import Group

_MOST_BLOCKS = 2
"""One that ends where channels leave, and one for those that have not won."""

_OLD, _SEEN = "old", "seen"
"""What rows hold: what the turn has loaded, and what the comparison has found in its place."""


@dataclass(frozen=True, slots=True)
class _Bytes:
    """Successive bytes of an element that rows hold: `which` of both it is, and those bytes."""

    which: str
    first: int
    count: int


@dataclass(frozen=True, slots=True)
class _Condition:
    """Whether both elements have the same in some bytes, or, `negated`, whether they differ."""

    bytes: frozenset[int]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Retry:
    """What a loop compares with: what its load brings, or what the turn before has found.

    `load` is None and `carried` the place of that row, or the other way round.
    """

    atomic: Atomic
    load: Load | None
    carried: Place | None


def retry_of(region: Region) -> Retry | None:
    """Return a loop as a retry; None if it is not known to be one."""
    plain = not (region.together or region.stores or region.shared or region.singles)
    if (
        not plain
        or region.forks
        or len(region.atomics) != 1
        or len(region.loads) + len(region.carried) != 1
    ):
        return None
    if any(node is not region.header for node, _, _ in (*region.loads, *region.atomics)):
        return None
    atomic, load = region.atomics[0][2], region.loads[0][2] if region.loads else None
    row = next(iter(region.carried), None)
    if not (row is None or isinstance(row, Row)):
        return None
    if not _exchanges(region, atomic) or (load is not None and not _match(load, atomic)):
        return None
    reader = _TurnReader(region, atomic, load, row)
    if not all(reader.step(step) for _, _, step in region.steps()) or not reader.ends(region):
        return None
    return Retry(atomic, load, None if row is None else region.entering[row])


def _exchanges(region: Region, atomic: Atomic) -> bool:
    """Whether all channels that are in the loop exchange the same element in every turn."""
    exchanges = atomic.operation is AtomicOperation.CMPXCHG and channel_of(atomic.mask) == 0
    reached = atomic.space in {Space.FLAT, Space.SLM}
    return exchanges and reached and _stays(region, atomic.addresses)


def _match(load: Load, atomic: Atomic) -> bool:
    """Whether all of them load that element."""
    same = load.type.bits == atomic.type.bits and load.components == 1
    same = same and load.space is atomic.space
    return same and channel_of(load.mask) == 0 and _alike(load.addresses, atomic.addresses)


def _alike(one: Expr, other: Expr) -> bool:
    """Whether two expressions are the same, node by node."""
    if (one.uop, one.type, one.attribute) != (other.uop, other.type, other.attribute):
        return False
    return len(one.args) == len(other.args) and all(map(_alike, one.args, other.args))


def _stays(region: Region, addresses: Expr) -> bool:
    """Whether addresses are made of rows that the loop does not change, and of what all share."""
    leaves = [one for one in below((addresses,)) if one.uop.group is Group.LEAF]
    places = [one.attribute for one in leaves if one.uop.name == "read"]
    if any(one.uop.name not in {"read", "constant"} for one in leaves):
        return False
    rows = [row_of(place) for place in places if not is_repeated(place)]
    changed = {*region.leaving, *region.staying}
    return all(row in region.entering and row not in changed for row in rows)


def _row(expr: Expr) -> Row | None:
    """Return the row that an expression is, as integers."""
    read = expr.uop.name == "read" and not expr.type.is_float
    return row_of(expr.attribute) if read else None


class _TurnReader:
    """Follows what a turn compares with and what it sees."""

    def __init__(
        self, region: Region, atomic: Atomic, load: Load | None, carried: Row | None
    ) -> None:
        self._region = region
        self._atomic = atomic
        self._load = load
        self._carried = carried
        self._size = atomic.type.bytes
        self._old, self._seen = (_Bytes(which, 0, self._size) for which in (_OLD, _SEEN))
        self._held = {} if carried is None else {carried: self._old}
        self._known: dict[tuple[str, int], _Condition] = {}

    def step(self, step: Step) -> bool:
        """Follow an instruction; whether it compares, if it does, with what was loaded."""
        if self._atomic in step.effects and self._what(self._atomic.operands[0]) != self._old:
            return False
        writes = [one for one in step.effects if isinstance(one, WriteRegister | WritePredicate)]
        found = [
            self._what(one.value) if isinstance(one, WriteRegister) else self._condition(one.value)
            for one in writes
        ]
        for write, what in zip(writes, found, strict=True):
            self._write(write, what)
        return True

    def _write(
        self, write: WriteRegister | WritePredicate, what: _Bytes | _Condition | None
    ) -> None:
        if isinstance(write, WritePredicate):
            self._known.pop((write.variable.name, write.offset), None)
            if isinstance(what, _Condition) and channel_of(write.mask) == 0:
                self._known[write.variable.name, write.offset] = what
            return
        row = row_of(write.place)
        if row is None:
            return
        whole = self._region.whole  # Rows of a loop overlap only with their wholes.
        self._held = {one: held for one, held in self._held.items() if whole(one) != whole(row)}
        if isinstance(what, _Bytes) and channel_of(write.mask) == 0:
            self._held[row] = what

    def _what(self, expr: Expr) -> _Bytes | None:
        """Return which bytes of which of both a value is."""
        if expr.uop.name == "loaded":
            of = {id(self._load): self._old, id(self._atomic): self._seen}
            return of.get(id(expr.attribute[0]))
        row = _row(expr)
        if row is None:
            return None
        whole = self._region.whole(row)
        held = self._held.get(row)
        if held is None and whole in self._held:
            one = self._held[whole]
            held = _Bytes(one.which, one.first + row.offset - whole.offset, row.size)
        return held

    def _test(self, expr: Expr) -> _Condition | None:
        """Return what a comparison tells of both."""
        one, other = (self._what(arg) for arg in expr.args)
        if one is None or other is None or {one.which, other.which} != {_OLD, _SEEN}:
            return None
        if (one.first, one.count) != (other.first, other.count):
            return None
        found = frozenset(range(one.first, one.first + one.count))
        return _Condition(found, negated=expr.uop.name == "ne")

    def ends(self, region: Region) -> bool:
        """Whether those channels make another turn that have not won, with what they have seen."""
        goto = region.header.block.transfer
        if not isinstance(goto, Goto) or goto.mask is None:
            return False
        if self._carried is not None and self._held.get(self._carried) != self._seen:
            return False
        found, every = self._condition(goto.mask), frozenset(range(self._size))
        if len(region.nodes) == 1:
            return found == _Condition(every, negated=True)
        won = found == _Condition(every)
        return won and len(region.nodes) == _MOST_BLOCKS and self._only_carries(region)

    def _only_carries(self, region: Region) -> bool:
        """Whether nothing is left of the last block but what is carried, whatever happens."""
        block = region.nodes[-1].block
        effects = [effect for step in block.steps for effect in step.effects]
        return (
            isinstance(block.transfer, Goto)
            and block.transfer.mask is None
            and all(
                isinstance(effect, WriteRegister) and row_of(effect.place) == self._carried
                for effect in effects
            )
        )

    def _condition(self, expr: Expr) -> _Condition | None:
        """Return what a condition tells of both elements; None if it tells no more, or other."""
        match expr.uop.name:
            case "eq" | "ne":
                return self._test(expr)
            case "and" | "or":
                negated = expr.uop.name == "or"
                args = [arg for arg in expr.args if negated or channel_of(arg) != 0]
                found = [self._condition(arg) for arg in args]
                known = [one.bytes for one in found if one and one.negated == negated]
                if len(args) == 1:
                    return found[0]
                return _Condition(known[0] | known[1], negated) if len(known) > 1 else None
            case "not":
                found = self._condition(expr.args[0])
                return None if found is None else _Condition(found.bytes, not found.negated)
            case "predicate":
                variable, offset = expr.attribute
                return self._known.get((variable.name, offset))
            case _:
                return None
