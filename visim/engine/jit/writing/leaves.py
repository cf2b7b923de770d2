"""Leaves of expressions as LLVM IR: constants, registers, masks, what messages returned."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from visim.engine.jit.ir.places import check_place
from visim.engine.jit.ir.storage import bits_vector
from visim.engine.jit.ir.text import constant_text, splat
from visim.engine.jit.writing.registers import RegisterAccess
from visim.errors import InternalError
from visim.sem.expr import Expr
from visim.sem.uops import LEAVES, total

if TYPE_CHECKING:
    from visim.engine.jit.writing.values import Values


def _constant(values: Values, expr: Expr) -> str:
    return constant_text([expr.attribute] * expr.lanes, expr.type)


def _vector(values: Values, expr: Expr) -> str:
    return constant_text(expr.attribute, expr.type)


def _read(values: Values, expr: Expr) -> str:
    check_place(values.storage.kernel, values.storage.unit, expr.attribute)
    return values.storage.read(expr.attribute)


def _fused(values: Values, expr: Expr) -> str:
    raise InternalError(f"{expr.uop} has a value only in the call-out of a fused pair")


def _gather(values: Values, expr: Expr) -> str:
    return RegisterAccess(values.unit).gather(values, expr)


def _address(values: Values, expr: Expr) -> str:
    variable, offset = expr.attribute
    start = values.storage.kernel.offset(values.storage.unit, variable) + offset
    return splat("i32", expr.lanes, start % 2**32)


def _elements(values: Values, expr: Expr) -> str:
    variable, element = expr.attribute
    pointer = values.storage.element(variable.name, element, expr.lanes)
    return values.text.let(f"load <{expr.lanes} x i32>, ptr {pointer}, align 4")


def _predicate(values: Values, expr: Expr) -> str:
    variable, offset = expr.attribute
    known = values.fresh.get((variable.name, offset, expr.lanes))
    return known or bits_vector(values.text, values.bits(expr), 0, expr.lanes)


def _execution(values: Values, expr: Expr) -> str:
    """Return bits of the execution mask; channels from 32 on are never active."""
    text, offset, lanes = values.text, expr.attribute, expr.lanes
    if offset + lanes > 32:
        wide = text.let(f"zext i32 {values.active} to i64")
        return bits_vector(text, wide, offset, lanes)
    return text.shuffle("i1", 32, values.channels, range(offset, offset + lanes))


def _loaded(values: Values, expr: Expr) -> str:
    place: tuple[object, int] = expr.attribute
    return values.loaded[id(place[0])][place[1]]


def _clock(values: Values, expr: Expr) -> str:
    if expr.attribute:
        return "zeroinitializer"
    text = values.text
    low = text.let(f"trunc i64 {text.let(f'load i64, ptr {values.unit.clock}')} to i32")
    return text.spread("i32", expr.lanes, low)


def _function(values: Values, expr: Expr) -> str:
    return splat("i64", expr.lanes, values.storage.kernel.address(expr.attribute))


# fmt: off
_TABLE: dict[str, Callable[[Values, Expr], str]] = {
    "constant":  _constant,
    "vector":    _vector,
    "read":      _read,
    "fused":     _fused,
    "gather":    _gather,
    "address":   _address,
    "addresses": _elements,
    "state":     _elements,
    "predicate": _predicate,
    "execution": _execution,
    "loaded":    _loaded,
    "clock":     _clock,
    "function":  _function,
}
# fmt: on
LEAF_LOWERINGS = total("lowering in the JIT", _TABLE, LEAVES)

__all__ = ["LEAF_LOWERINGS"]
