"""Compound meanings: what is not one micro-operation but a short, exact graph of them."""

from __future__ import annotations

from typing import Any

from visim.operands import GeneralDestination, PredicateOperand, VectorDestination
from visim.sem.exactness import Exactness
from visim.sem.expr import Expr, absolute, constant, node, select
from visim.sem.functions import canonical, reciprocal_of_root
from visim.sem.nearest import Nearest
from visim.sem.tracer import Tracer, Unexecutable, source_type
from visim.sem.uops import Role
from visim.target import Platform
from visim.types import UD, D, DataType, F
from visim.types import Q as _WIDE

APPROXIMATION = Exactness(None, "a first approximation: the nearest value", "Macros")


def next_register_block(
    destination: VectorDestination, lanes: int, platform: Platform
) -> VectorDestination:
    """Return the destination of the second block of `lanes` dwords, in the next registers."""
    if not isinstance(destination, GeneralDestination):
        raise Unexecutable("an indirect destination of two blocks")
    rows = -(-lanes * 4 // platform.grf_bytes)
    return GeneralDestination(
        destination.variable, destination.row + rows, destination.col, destination.stride
    )


def one_where(condition: Expr, kind: DataType) -> Expr:
    """Return 1 where the condition is true, else 0."""
    lanes = condition.lanes
    return select(condition, constant(1, kind, lanes), constant(0, kind, lanes))


def dot_product_4(t: Tracer, i: Any) -> None:
    """Record src0 + the dot product of the four bytes of src1 and src2."""
    total = t.modified(i.src0, D if source_type(i.src0).is_signed else UD)
    products = node("dot", D, *_dwords(t, i.src1, i.src2), constant(0, D, total.lanes))
    t.write(i.dst, total.to(_WIDE) + products.to(_WIDE), t.mask())


def _dwords(t: Tracer, *sources: Any) -> list[Expr]:
    """Return operands as dwords that are signed as their bytes."""
    kinds = [D if source_type(source).is_signed else UD for source in sources]
    return [t.read(one).bits_as(kind) for one, kind in zip(sources, kinds, strict=True)]


def reciprocal(a: Expr) -> Expr:
    """Return 1 / a, correctly rounded to nearest."""
    return quotient(constant(1, a.type, a.lanes), a)


def quotient(a: Expr, b: Expr) -> Expr:
    """Return a / b, correctly rounded to nearest."""
    return canonical((Nearest(canonical(a)) / Nearest(canonical(b))).expr, Role.RESULT)


def square_root(a: Expr) -> Expr:
    """Return the square root, correctly rounded to nearest."""
    return canonical(Nearest(canonical(a, Role.MAGNITUDE)).root().expr, Role.RESULT)


def reciprocal_root(a: Expr) -> Expr:
    """Return 1 / sqrt(a): F to the nearest, DF rounded twice."""
    value = Nearest(canonical(a))
    if a.type == F:
        return canonical(reciprocal_of_root(value).expr, Role.RESULT)
    return canonical((1.0 / value.root()).expr, Role.RESULT)


def macro(t: Tracer, i: Any, value: Expr) -> None:
    """Record a macro's result and the predicate of results that are zero, infinite or NaN.

    Raises:
        Unexecutable: the second destination is no predicate.
    """
    if not isinstance(i.special, PredicateOperand):
        raise Unexecutable("a second destination that is not a predicate")
    infinity = constant(float("inf"), value.type, value.lanes)
    ordinary = absolute(value).lt(infinity) & value.ne(0.0)
    t.write(i.dst, value, t.mask())
    t.write(i.special, ~ordinary, t.mask())
