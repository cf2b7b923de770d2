"""Bitwise functions of two and three values as short expressions.

A function is a number with a bit for each row of its table: row `a + 2*b`, or `a + 2*b + 4*c`, is
the result where the values have the bits a, b and c.
"""

from __future__ import annotations

from visim.sem.expr import Expr, constant

ALL = 0b1111
"""The function of two values that is always one."""

_ORDERS = ((0, 1, 2), (0, 2, 1), (1, 2, 0))
"""Which two of three sources are the values, and which one chooses between functions of them."""


def function_of_three(table: int, sources: tuple[Expr, Expr, Expr]) -> Expr:
    """Return a function of three values of one integer type: the shortest form that is found."""
    found = (_chosen(table, sources, order) for order in _ORDERS)
    return min(found, key=_operations)


def function_of_two(table: int, a: Expr, b: Expr) -> Expr:
    """Return a function of two values of one integer type."""
    match table:
        case 0b0000:
            return constant(0, a.type, a.lanes)
        case 0b1000:
            return a & b
        case 0b0010:
            return a & ~b
        case 0b0100:
            return b & ~a
        case 0b0110:
            return a ^ b
        case 0b1010:
            return a
        case 0b1100:
            return b
        case 0b1110:
            return a | b
        case _:
            return ~function_of_two(table ^ ALL, a, b)


def _chosen(table: int, sources: tuple[Expr, Expr, Expr], order: tuple[int, int, int]) -> Expr:
    """Return a function of three values, where the last of `order` chooses one of the others."""
    a, b, c = (sources[place] for place in order)
    rows = [
        table >> sum(bit << place for bit, place in zip(bits, order, strict=True)) & 1
        for bits in ((row & 1, row >> 1 & 1, row >> 2) for row in range(8))
    ]
    zero, one = (sum(bit << row for row, bit in enumerate(half)) for half in (rows[:4], rows[4:]))
    differ = zero ^ one
    match zero, one:
        case _ if not differ:
            return function_of_two(zero, a, b)
        case 0, _:
            return c if one == ALL else c & function_of_two(one, a, b)
        case _, 0:
            return ~c if zero == ALL else function_of_two(zero, a, b) & ~c
        case _, 0b1111:
            return c | function_of_two(zero, a, b)
        case 0b1111, _:
            return ~(c & function_of_two(differ, a, b))
        case _ if differ == ALL:
            return c ^ function_of_two(zero, a, b)
        case _:
            return function_of_two(zero, a, b) ^ (c & function_of_two(differ, a, b))


def _operations(expr: Expr) -> int:
    """Return how many operations an expression needs; `x & ~y` counts as one."""
    if expr.uop.name not in {"and", "or", "xor", "not"}:
        return 0
    free = sum(expr.uop.name == "and" and arg.uop.name == "not" for arg in expr.args)
    return 1 - free + sum(_operations(arg) for arg in expr.args)
