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
from visim.engine.jit.analysis.slots import Row, channel_of, row_of
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
    if region.parts or not (row is None or isinstance(row, Row)):
        return None
    if not _exchanges(region, atomic) or (load is not None and not _match(load, atomic)):
        return None
    reader = _TurnReader(atomic, load, row)
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

    def __init__(self, atomic: Atomic, load: Load | None, carried: Row | None) -> None:
        self._atomic = atomic
        self._load = load
        self._carried = carried
        self._held = {} if carried is None else {carried: _OLD}
        self._won: dict[tuple[str, int], bool] = {}

    def step(self, step: Step) -> bool:
        """Follow an instruction; whether it compares, if it does, with what was loaded."""
        if self._atomic in step.effects and self._what(self._atomic.operands[0]) != _OLD:
            return False
        writes = [one for one in step.effects if isinstance(one, WriteRegister | WritePredicate)]
        found = [
            self._what(write.value) if isinstance(write, WriteRegister) else self._test(write.value)
            for write in writes
        ]
        for write, what in zip(writes, found, strict=True):
            self._write(write, what)
        return True

    def _write(self, write: WriteRegister | WritePredicate, what: str | bool | None) -> None:
        if isinstance(write, WritePredicate):
            self._won.pop((write.variable.name, write.offset), None)
            if isinstance(what, bool) and channel_of(write.mask) == 0:
                self._won[write.variable.name, write.offset] = what
            return
        row = row_of(write.place)
        if row is not None:  # Rows of a loop overlap only with what is the same.
            self._held.pop(row, None)
            if isinstance(what, str) and channel_of(write.mask) == 0:
                self._held[row] = what

    def _what(self, expr: Expr) -> str | None:
        """Return which of both a value is."""
        if expr.uop.name == "loaded":
            return {id(self._load): _OLD, id(self._atomic): _SEEN}.get(id(expr.attribute[0]))
        row = _row(expr)
        return None if row is None else self._held.get(row)

    def _test(self, expr: Expr) -> bool | None:
        """Return what a condition is for channels that have won; None if it tells no more."""
        if expr.uop.name not in {"eq", "ne"}:
            return None
        both = {self._what(arg) for arg in expr.args}
        return expr.uop.name == "eq" if both == {_OLD, _SEEN} else None

    def ends(self, region: Region) -> bool:
        """Whether those channels make another turn that have not won, with what they have seen."""
        goto = region.header.block.transfer
        if not isinstance(goto, Goto) or goto.mask is None:
            return False
        if self._carried is not None and self._held.get(self._carried) != _SEEN:
            return False
        won = self._condition(goto.mask)
        if len(region.nodes) == 1:
            return won is False
        return won is True and len(region.nodes) == _MOST_BLOCKS and self._only_carries(region)

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

    def _condition(self, expr: Expr) -> bool | None:
        """Return what a jump's condition is for channels that have won."""
        match expr.uop.name:
            case "and":
                one, other = expr.args
                if channel_of(one) == 0:
                    return self._condition(other)
                return self._condition(one) if channel_of(other) == 0 else None
            case "not":
                found = self._condition(expr.args[0])
                return None if found is None else not found
            case "predicate":
                variable, offset = expr.attribute
                return self._won.get((variable.name, offset))
            case _:
                return None
