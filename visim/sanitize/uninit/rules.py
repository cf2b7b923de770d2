"""How micro-operations move shadows: for each of them a rule, and no engine knows any.

A shadow is None where everything is defined. Else it is an expression with the lanes of its value:
booleans where a lane is undefined as a whole, or unsigned integers of the value's size whose bits
are set where the value's are undefined. Rules may say that more is undefined than is, never less;
they are exact where compilers rely on it, as in masks, shifts and selections.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from visim.errors import InternalError
from visim.sem.expr import (
    Expr,
    bits_constant,
    concat,
    node,
    select,
    signed,
    take,
    unsigned,
)
from visim.sem.uops import UOPS, Group
from visim.types import BOOL, DataType

Shadow = Expr | None
Rule = Callable[[Expr, Sequence[Shadow]], Shadow]

_WIDEST = 64
"""Wider integers, which only instructions have inside, are defined as a whole or not at all."""


def whole(shadow: Expr) -> Expr:
    """Return in which lanes anything is undefined."""
    if shadow.type is BOOL:
        return shadow
    return shadow.ne(0)


def as_bits(shadow: Expr, kind: DataType) -> Expr:
    """Return a shadow of values of a type as bits; of booleans, as booleans."""
    if kind is BOOL:
        return whole(shadow)
    if shadow.type is not BOOL:
        return shadow
    return _filled(shadow, unsigned(kind.bits))


def any_of(shadows: Sequence[Shadow]) -> Shadow:
    """Return in which lanes any of some shadows has an undefined bit."""
    known = [whole(shadow) for shadow in shadows if shadow is not None]
    return reduce(lambda a, b: a | b, known) if known else None


def _filled(lanes: Expr, kind: DataType) -> Expr:
    ones = bits_constant((1 << kind.bits) - 1, kind, lanes.lanes)
    return select(lanes, ones, bits_constant(0, kind, lanes.lanes))


def _union(shadows: Sequence[Shadow]) -> Shadow:
    """Return the bits that are undefined in any of some values of one type."""
    known = [shadow for shadow in shadows if shadow is not None]
    if not known:
        return None
    if len({shadow.type for shadow in known}) > 1:
        return any_of(known)
    return reduce(lambda a, b: a | b, known)


def _whole(expr: Expr, shadows: Sequence[Shadow]) -> Shadow:
    """All of a result is undefined if anything is that it is computed from."""
    del expr
    return any_of(shadows)


def _same(expr: Expr, shadows: Sequence[Shadow]) -> Shadow:
    """The result has the undefined bits of its operand."""
    del expr
    return shadows[0]


def _carried(expr: Expr, shadows: Sequence[Shadow]) -> Shadow:
    """A sum or product is undefined from the lowest undefined bit on."""
    if expr.uop.name == "sub" and _reads_same(*expr.args):
        return None
    found = _union(shadows)
    if found is None or found.type is BOOL:
        return found
    return found | node("neg", found.type, found)


def _values(expr: Expr) -> tuple[Expr, ...] | None:
    """Return the operands of a bitwise operation as unsigned numbers, or as booleans."""
    if expr.type is BOOL:
        return expr.args
    if expr.type.is_float or expr.type.bits > _WIDEST:
        return None
    return tuple(arg.bits_as(unsigned(arg.type.bits)) for arg in expr.args)


def _masked(expr: Expr, shadows: Sequence[Shadow]) -> Shadow:
    """Of and, and of or, a defined bit of one operand may decide."""
    values = _values(expr)
    if values is None:
        return any_of(shadows)
    deciding = values if expr.uop.name == "and" else tuple(~value for value in values)
    terms: list[Expr] = []
    a, b = (None if one is None else as_bits(one, expr.type) for one in shadows)
    if a is not None and b is not None:
        terms.append(a & b)
    if b is not None:
        terms.append(deciding[0] & b)
    if a is not None:
        terms.append(a & deciding[1])
    return reduce(lambda one, other: one | other, terms) if terms else None


def _exclusive(expr: Expr, shadows: Sequence[Shadow]) -> Shadow:
    """What is combined with itself is zero, whatever it was."""
    return None if _reads_same(*expr.args) else _union(shadows)


def _shifted(expr: Expr, shadows: Sequence[Shadow]) -> Shadow:
    """Undefined bits move as the value's bits do; an undefined distance spoils everything."""
    value, distance = shadows
    if distance is not None:
        return any_of(shadows)
    if value is None or value.type is BOOL:
        return value
    by = expr.args[1]
    if expr.uop.name == "shl" or not expr.type.is_signed:
        return node(expr.uop.name, value.type, value, by.bits_as(value.type))
    wide = value.bits_as(signed(value.type.bits))
    return (wide >> by.bits_as(wide.type)).bits_as(value.type)


def _moved(expr: Expr, shadows: Sequence[Shadow]) -> Shadow:
    """Bits change places in one way, whatever the value."""
    (shadow,) = shadows
    if shadow is None or shadow.type is BOOL:
        return shadow
    return node(expr.uop.name, shadow.type, shadow)


def _equal(expr: Expr, shadows: Sequence[Shadow]) -> Shadow:
    """A comparison with itself is defined; so is one that a defined bit decides."""
    if _reads_same(*expr.args):
        return None
    found = _union(shadows)
    if found is None:
        return None
    a, b = expr.args
    if found.type is BOOL or a.type.is_float or a.type.bits > _WIDEST:
        return whole(found)
    kind = unsigned(a.type.bits)
    differing = (a.bits_as(kind) ^ b.bits_as(kind)) & ~found
    return whole(found) & differing.eq(0)


def _ordered(expr: Expr, shadows: Sequence[Shadow]) -> Shadow:
    """A comparison with itself is defined, whatever is compared."""
    return None if _reads_same(*expr.args) else any_of(shadows)


def _reads_same(one: Expr, other: Expr) -> bool:
    """Whether two expressions are the same register, converted in the same way."""
    if one is other:
        return True
    if one.uop is not other.uop or one.type != other.type or one.attribute != other.attribute:
        return False
    if one.uop.name == "read":
        return True
    return bool(one.args) and all(
        _reads_same(a, b) for a, b in zip(one.args, other.args, strict=True)
    )


def _converted(expr: Expr, shadows: Sequence[Shadow]) -> Shadow:
    """Integers that are widened or cut keep their undefined bits; others are new numbers."""
    (shadow,) = shadows
    source, target = expr.args[0].type, expr.type
    if shadow is None:
        return None
    plain = source.is_integer and target.is_integer and BOOL not in {source, target}
    if not plain or shadow.type is BOOL or max(source.bits, target.bits) > _WIDEST:
        return whole(shadow)
    if not source.is_signed:
        return shadow.to(unsigned(target.bits))
    wide = shadow.bits_as(signed(source.bits)).to(signed(target.bits))
    return wide.bits_as(unsigned(target.bits))


def _chosen(expr: Expr, shadows: Sequence[Shadow]) -> Shadow:
    """A chosen value has its own shadow; an undefined choice matters where the values differ."""
    choice, one, other = shadows
    condition, value, alternative = expr.args
    found: Shadow = None
    if one is not None or other is not None:
        if (one is None or one.type is BOOL) and (other is None or other.type is BOOL):
            first = condition & one if one is not None else None
            second = ~condition & other if other is not None else None
            found = _union([first, second])
        else:
            kind = unsigned(expr.type.bits)
            zeros = bits_constant(0, kind, expr.lanes)
            found = select(
                condition,
                zeros if one is None else as_bits(one, expr.type),
                zeros if other is None else as_bits(other, expr.type),
            )
    if choice is None:
        return found
    if expr.type is BOOL:
        differs = value ^ alternative
    elif expr.type.bits > _WIDEST:
        differs = value.ne(alternative)
    else:
        kind = unsigned(expr.type.bits)
        differs = value.bits_as(kind).ne(alternative.bits_as(kind))
    matters = any_of([differs, one, other])
    spoiled = whole(choice) if matters is None else whole(choice) & matters
    return any_of([found, spoiled])


def _across(expr: Expr, shadows: Sequence[Shadow]) -> Shadow:
    """Whether any or all lanes are true is defined where a defined lane decides."""
    (shadow,) = shadows
    if shadow is None:
        return None
    value = expr.args[0] if expr.uop.name == "any" else ~expr.args[0]
    decided = node("any", BOOL, value & ~whole(shadow))
    return node("any", BOOL, whole(shadow)) & ~decided


def _spread(expr: Expr, shadows: Sequence[Shadow]) -> Shadow:
    (shadow,) = shadows
    if shadow is None:
        return None
    return Expr(UOPS["broadcast"], shadow.type, expr.lanes, (shadow,))


def _taken(expr: Expr, shadows: Sequence[Shadow]) -> Shadow:
    (shadow,) = shadows
    return None if shadow is None else take(shadow, expr.attribute)


def _joined(expr: Expr, shadows: Sequence[Shadow]) -> Shadow:
    if all(shadow is None for shadow in shadows):
        return None
    parts = [_part(arg, shadow, expr.type) for arg, shadow in zip(expr.args, shadows, strict=True)]
    return concat(tuple(parts))


def _part(arg: Expr, shadow: Shadow, kind: DataType) -> Expr:
    target = BOOL if kind is BOOL else unsigned(kind.bits)
    return bits_constant(0, target, arg.lanes) if shadow is None else as_bits(shadow, kind)


def _packed(expr: Expr, shadows: Sequence[Shadow]) -> Shadow:
    (shadow,) = shadows
    return None if shadow is None else node_of_lanes(expr, whole(shadow))


def node_of_lanes(expr: Expr, lanes: Expr) -> Expr:
    """Return booleans as bits in the way of `expr`."""
    return Expr(expr.uop, expr.type, expr.lanes, (lanes,))


# fmt: off
RULES: dict[str, Rule] = {
    "add": _carried, "sub": _carried, "mul": _carried,
    "div": _whole, "rem": _whole, "dot": _whole,
    "neg": _carried, "abs": _whole, "min": _whole, "max": _whole,
    "and": _masked, "or": _masked, "xor": _exclusive, "not": _same,
    "shl": _shifted, "shr": _shifted,
    "popcount": _whole, "clz": _whole, "reverse": _moved,
    "fadd": _whole, "fsub": _whole, "fmul": _whole, "fdiv": _whole, "fsqrt": _whole,
    "ffma": _whole, "fmuladd": _whole, "fneg": _same, "fabs": _same, "fmin": _whole, "fmax": _whole,
    "canonical": _whole, "saturate": _whole,
    "floor": _whole, "ceil": _whole, "trunc": _whole, "rint": _whole, "frac": _whole,
    "eq": _equal, "ne": _equal, "lt": _ordered, "le": _ordered,
    "convert": _converted, "clamp": _whole, "bitcast": _same,
    "select": _chosen, "any": _across, "all": _across,
    "broadcast": _spread, "take": _taken, "concat": _joined, "mask_bits": _packed,
}
# fmt: on

_MISSING = {name for name, uop in UOPS.items() if uop.group is not Group.LEAF and name not in RULES}
if _MISSING:
    raise InternalError(f"micro-operations without a rule for shadows: {sorted(_MISSING)}")


class Shadows:
    """The shadows of the expressions of one instruction.

    Args:
        leaf: gives those of leaves.
    """

    def __init__(self, leaf: Callable[[Expr], Shadow]) -> None:
        self._leaf = leaf
        self._known: dict[Expr, Shadow] = {}

    def of(self, expr: Expr) -> Shadow:
        """Return the shadow of an expression."""
        if expr not in self._known:
            if expr.uop.group is Group.LEAF:
                self._known[expr] = self._leaf(expr)
            else:
                shadows = [self.of(arg) for arg in expr.args]
                self._known[expr] = RULES[expr.uop.name](expr, shadows)
        return self._known[expr]


__all__ = ["RULES", "Rule", "Shadow", "Shadows", "any_of", "as_bits", "whole"]
