"""What those who write one expression of an instruction need of the others: their values."""

from __future__ import annotations

from typing import Protocol

from visim.engine.jit.ir.text import Text
from visim.sem.expr import Expr


class Operands(Protocol):
    """The values of one instruction's expressions.

    `never` are the bits of predicates that are known to be off.
    """

    text: Text
    never: dict[str, int]

    def value(self, expr: Expr) -> str:
        """Return the vector that an expression stands for."""
        ...

    def scalar(self, expr: Expr) -> str:
        """Return lane 0 of an expression."""
        ...

    def know(self, expr: Expr, name: str) -> None:
        """Take a vector as the value of an expression."""
        ...

    def control(self) -> str:
        """Return the bits of %cr0 that say how floats are rounded, as i64."""
        ...


__all__ = ["Operands"]
