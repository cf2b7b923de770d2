"""Jumps that all channels take together, though they are written for channels of their own.

Code for SIMD16 compares what is the same for all channels in two halves, and jumps by the predicate
of both. Where a block shows that all its bits are equal, one of them decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from visim.engine.jit.storage import is_repeated
from visim.sem.effects import Effect, Goto, WritePredicate, WriteRegister
from visim.sem.expr import Expr, broadcast
from visim.sem.uops import Group

_LANE_WISE = {Group.INTEGER, Group.BITS, Group.COMPARE, Group.FLOAT, Group.ROUND, Group.CONVERT}


def decided_by_one(goto: Goto, effects: Sequence[Effect], channels: int) -> Goto:
    """Return a jump of `channels` channels, behind some effects of its block, by one bit.

    Where that is not exact, it is the jump that was given.
    """
    mask = goto.mask
    if mask is None or goto.offset or mask.lanes < channels or mask.uop.name != "and":
        return goto
    execution, condition = mask.args
    if execution.uop.name != "execution":
        return goto
    flipped = condition.uop.name == "not"
    leaf = condition.args[0] if flipped else condition
    if leaf.uop.name != "predicate" or not _is_uniform(leaf, effects):
        return goto
    one = Expr(leaf.uop, leaf.type, 1, (), leaf.attribute)
    return replace(goto, mask=broadcast(~one if flipped else one, mask.lanes))


def _is_uniform(leaf: Expr, effects: Sequence[Effect]) -> bool:
    """Whether the effects leave the same bit in all lanes of a predicate."""
    variable, offset = leaf.attribute
    missing = set(range(offset, offset + leaf.lanes))
    value, sources = None, set[int]()
    for effect in reversed(effects):
        if isinstance(effect, WriteRegister) and effect.place.variable.index in sources:
            return False
        if not isinstance(effect, WritePredicate) or effect.variable is not variable:
            if value is not None and not isinstance(effect, WriteRegister | WritePredicate):
                return False
            continue
        read = set[int]()
        found = _same(effect.value, read)
        if effect.mask is not None or found is None or found != (value or found):
            return False
        value, sources = found, sources | read
        missing -= set(range(effect.offset, effect.offset + effect.value.lanes))
        if not missing:
            return True
    return False


def _same(expr: Expr, read: set[int]) -> tuple[object, ...] | None:
    """Return what all lanes of an expression are, None where they may differ.

    The variables that it reads are added to `read`.
    """
    match expr.uop.name:
        case "constant":
            return ("constant", expr.type, expr.attribute)
        case "read" if is_repeated(expr.attribute):
            place = expr.attribute
            read.add(place.variable.index)
            return ("read", place.variable.index, place.offset, place.type)
        case "broadcast" if expr.args[0].lanes == 1:
            return _same(expr.args[0], read)
        case name if expr.uop.group in _LANE_WISE:
            args = [_same(arg, read) for arg in expr.args]
            return None if None in args else (name, expr.type, expr.attribute, *args)
        case _:
            return None
