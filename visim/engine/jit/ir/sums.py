"""Sums of integers in straight code: each is computed once, in whatever order its terms come.

Compilers of unrolled loops replace a number by its two terms where that lets them add three numbers
at once. Then the terms wait, in registers of their own, to be added up again beside the number that
is still there. Integers wrap around, so that their sums can be taken in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations

from visim.engine.jit.ir.text import Text
from visim.sem.expr import Expr

MOST_TERMS = 64
"""A sum of more terms is a term itself, so that code of any length is written in linear time."""

Form = frozenset[tuple[str, int]]
"""How often each term is in a sum, modulo 2**bits; that of "" is the constant."""


@dataclass
class Sums:
    """The sums that one piece of straight code has: vectors of `lanes` integers of `bits` bits."""

    text: Text
    lanes: int
    bits: int
    _forms: dict[str, Form] = field(default_factory=dict[str, Form])
    _known: dict[Form, str] = field(default_factory=dict[Form, str])

    def takes(self, expr: Expr) -> bool:
        """Whether an expression is a sum of such vectors."""
        size = (expr.lanes, expr.type.bits)
        return expr.uop.name == "add" and size == (self.lanes, self.bits)

    def write(self, expr: Expr, value: Callable[[Expr], str]) -> str:
        """Write what is new of a sum; return its name.

        Args:
            expr: the sum.
            value: what gives the names of other values.
        """
        names = [self._term(term, value) for term in self._terms(expr)]
        found = self._known.get(self._form(*names))
        if found is not None:
            return found
        while len(names) > 1:
            pair = next(filter(self._is_known, combinations(names, 2)), (names[0], names[1]))
            for name in pair:
                names.remove(name)
            names.insert(0, self._pair(*pair))
        return names[0]

    def _terms(self, expr: Expr) -> Iterator[Expr]:
        for arg in expr.args:
            if self.takes(arg):
                yield from self._terms(arg)
            else:
                yield arg

    def _term(self, expr: Expr, value: Callable[[Expr], str]) -> str:
        name = value(expr)
        if expr.uop.name == "constant":
            self._forms[name] = frozenset({("", expr.attribute % 2**self.bits)})
        return name

    def _is_known(self, pair: tuple[str, str]) -> bool:
        return self._form(*pair) in self._known

    def _pair(self, a: str, b: str) -> str:
        """Return the sum of two names."""
        form = self._form(a, b)
        found = self._known.get(form)
        if found is None:
            vector = f"<{self.lanes} x i{self.bits}>"
            found = self._known[form] = self.text.let(f"add {vector} {a}, {b}")
            if len(form) <= MOST_TERMS:
                self._forms[found] = form
        return found

    def _form(self, *names: str) -> Form:
        counts: dict[str, int] = {}
        for name in names:
            form = self._forms.get(name)
            if form is None:
                counts[name] = counts.get(name, 0) + 1
                continue
            for term, count in form:
                counts[term] = counts.get(term, 0) + count
        size = 2**self.bits
        return frozenset([(term, count % size) for term, count in counts.items() if count % size])
