"""Sums are written once, in whatever order their terms come."""

from __future__ import annotations

import pytest

from visim.engine.jit.ir.sums import Sums
from visim.engine.jit.ir.text import Text, constant_text
from visim.sem.expr import Expr, constant
from visim.sem.uops import UOPS
from visim.types import UD, UQ, DataType

LANES = 8


class Writer:
    """Sums of a few terms."""

    def __init__(self) -> None:
        self.text = Text()
        self.sums = Sums(self.text, LANES, 32)
        self.names: dict[Expr, str] = {}

    def term(self, name: str, kind: DataType = UD) -> Expr:
        """Return a term with a name."""
        found = Expr(UOPS["loaded"], kind, LANES, (), name)
        self.names[found] = name
        return found

    def write(self, expr: Expr) -> str:
        """Write a sum."""
        return self.sums.write(expr, self._value)

    def _value(self, expr: Expr) -> str:
        if expr.uop.name == "constant":
            return constant_text([expr.attribute] * LANES, expr.type)
        return self.names[expr]


def test_the_order_of_terms_does_not_matter() -> None:
    writer = Writer()
    a, b, c = map(writer.term, ("%a", "%b", "%c"))
    found = writer.write(a + b + c)
    assert writer.write(c + (b + a)) == writer.write((a + c) + b) == found
    assert len(writer.text.lines) == 2


def test_a_sum_of_other_sums_is_found_by_its_terms() -> None:
    writer = Writer()
    a, b, c, d = map(writer.term, ("%a", "%b", "%c", "%d"))
    whole = writer.write(a + b + c + d)
    left, right = (writer.term(writer.write(pair)) for pair in (a + c, b + d))
    assert writer.write(left + right) == whole


def test_two_terms_that_are_a_sum_are_taken_first() -> None:
    writer = Writer()
    a, b, c = map(writer.term, ("%a", "%b", "%c"))
    known = writer.write(a + c)
    writer.write(a + b + c)
    assert writer.text.lines[-1].endswith(f"add <8 x i32> {known}, %b")
    assert len(writer.text.lines) == 2


def test_constants_are_one_term_and_wrap_around() -> None:
    writer = Writer()
    a = writer.term("%a")
    found = writer.write(a + constant(3, UD, LANES))
    five = writer.term(writer.write(a + constant(5, UD, LANES)))
    assert writer.write(five + constant(2**32 - 2, UD, LANES)) == found


def test_a_term_counts_as_often_as_it_is_there() -> None:
    writer = Writer()
    a, b = map(writer.term, ("%a", "%b"))
    assert writer.write(a + a + b) != writer.write(a + b)
    assert writer.write(a + (b + a)) == writer.write((a + a) + b)


def test_long_sums_are_terms_that_are_found_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("visim.engine.jit.ir.sums.MOST_TERMS", 2)
    writer = Writer()
    a, b, c, d = map(writer.term, ("%a", "%b", "%c", "%d"))
    long = writer.term(writer.write(a + b + c))
    assert writer.write(c + b + a) == writer.names[long]
    assert writer.write(long + d) == writer.write(a + b + d + c)
    assert len(writer.text.lines) == 3


def test_only_sums_of_its_vectors_are_taken() -> None:
    writer = Writer()
    a, wide = writer.term("%a"), writer.term("%w", UQ)
    assert writer.sums.takes(a + a)
    assert not writer.sums.takes(a - a)
    assert not writer.sums.takes(wide + wide)
