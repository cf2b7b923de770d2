"""Jumps that all channels take together, though they are written for channels of their own.

Code for SIMD16 compares what is the same for all channels in two halves, and jumps by the predicate
of both. Where a block shows that all its bits are equal, one of them decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from visim.engine.jit.ir.places import is_repeated
from visim.sem.effects import (
    Call,
    CallFunction,
    Effect,
    FunctionReturn,
    Goto,
    Place,
    Return,
    WritePredicate,
    WriteRegister,
)
from visim.sem.expr import Expr, broadcast
from visim.sem.uops import Group

Variable = tuple[int, str]
"""The index and the name of a variable; those of file scope differ by their names only."""

Branching = Goto | Call | CallFunction | Return | FunctionReturn
"""Transfers of active channels, chosen by a mask."""

_LANE_WISE = {Group.INTEGER, Group.BITS, Group.COMPARE, Group.FLOAT, Group.ROUND, Group.CONVERT}


def decided_by_one(goto: Goto, before: Sequence[Sequence[Effect]], channels: int) -> Goto:
    """Return a jump of `channels` channels by one bit.

    `before` are the effects of the instructions in front of it in its block. Where one bit would
    not be exact, the jump is returned as it is.
    """
    mask = goto.mask
    if mask is None or goto.offset or mask.lanes < channels or mask.uop.name != "and":
        return goto
    execution, condition = mask.args
    if execution.uop.name != "execution":
        return goto
    flipped = condition.uop.name == "not"
    leaf = condition.args[0] if flipped else condition
    if leaf.uop.name != "predicate" or not _is_uniform(leaf, before):
        return goto
    one = Expr(leaf.uop, leaf.type, 1, (), leaf.attribute)
    return replace(goto, mask=broadcast(~one if flipped else one, mask.lanes))


def of_all(transfer: Branching, channels: int) -> Branching:
    """Return a transfer of `channels` channels without its mask, if that is just who is active.

    Then nobody goes on behind it: code there is not the end of another subroutine.
    """
    mask = transfer.mask
    if mask is None or mask.uop.name != "execution" or mask.attribute or mask.lanes < channels:
        return transfer
    return replace(transfer, mask=None)


def _is_uniform(leaf: Expr, before: Sequence[Sequence[Effect]]) -> bool:
    """Whether instructions leave the same bit in all lanes of a predicate."""
    variable, offset = leaf.attribute
    missing = set(range(offset, offset + leaf.lanes))
    value, sources = None, set[Variable]()
    for effects in reversed(before):
        if value is not None and any(_changes(effect, sources) for effect in effects):
            return False
        for effect in effects:
            if not isinstance(effect, WritePredicate) or effect.variable is not variable:
                continue
            found = _same(effect.value, sources)
            if effect.mask is not None or found is None or found != (value or found):
                return False
            value = found
            missing -= set(range(effect.offset, effect.offset + effect.value.lanes))
        if not missing:
            return True
    return False


def _changes(effect: Effect, sources: set[Variable]) -> bool:
    """Whether an effect may change one of some variables."""
    if isinstance(effect, WriteRegister):
        return _variable(effect.place) in sources
    return not isinstance(effect, WritePredicate)


def _variable(place: Place) -> Variable:
    return place.variable.index, place.variable.name


def _same(expr: Expr, read: set[Variable]) -> tuple[object, ...] | None:
    """Return what all lanes of an expression are, None where they may differ.

    The variables that it reads are added to `read`.
    """
    match expr.uop.name:
        case "constant":
            return ("constant", expr.type, repr(expr.attribute))
        case "read" if is_repeated(expr.attribute):
            place = expr.attribute
            read.add(_variable(place))
            return ("read", _variable(place), place.offset, place.type)
        case "broadcast" if expr.args[0].lanes == 1:
            return _same(expr.args[0], read)
        case name if expr.uop.group in _LANE_WISE:
            args = [_same(arg, read) for arg in expr.args]
            return None if None in args else (name, expr.type, expr.attribute, *args)
        case _:
            return None
