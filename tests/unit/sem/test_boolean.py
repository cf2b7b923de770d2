"""Bitwise functions of three values."""

from __future__ import annotations

from visim.sem.boolean import function_of_three
from visim.sem.expr import Expr, vector_constant
from visim.types import UB

A, B, C = (vector_constant((bits,), UB) for bits in (0b10101010, 0b11001100, 0b11110000))
"""Values whose bits are all combinations, in the order of a table's rows."""


def value(expr: Expr) -> int:
    """Compute an expression of bytes."""
    args = [value(arg) for arg in expr.args]
    match expr.uop.name:
        case "vector":
            return int(expr.attribute[0])
        case "constant":
            return int(expr.attribute) & 255
        case "and":
            return args[0] & args[1]
        case "or":
            return args[0] | args[1]
        case "xor":
            return args[0] ^ args[1]
        case _:
            return args[0] ^ 255


def operations(expr: Expr) -> int:
    return len(expr.args[:1]) + sum(map(operations, expr.args))


def test_every_function_is_the_one_of_its_table() -> None:
    for table in range(256):
        assert value(function_of_three(table, (A, B, C))) == table


def test_usual_functions_are_short() -> None:
    parity, choice, majority = 0x96, 0xCA, 0xE8
    found = [operations(function_of_three(one, (A, B, C))) for one in (parity, choice, majority)]
    assert found == [2, 3, 4]
