"""Integer division as Intel's compiler writes it with F, for devices without DF.

For unsigned n and d all sums are rounded towards zero, and integers are taken apart: n = a + a',
d = b + b', where a and b are n and d in F, cut off to 24 bits, so that a' and b' are below 2**8.
With r = 1/b * (1 - 3 * 2**-23), p = cut off a * r and q = cut off r * s, where s is the sum of
`a - b * p` and `a' - b' * p`, the compiler has Q = p + q, R = n - Q * d, and adds 1 to Q, or takes
d from R, where R >= d. That gives the quotient, since Q is it or one less:

- r * b lies between 1 - 9.5 * 2**-24 and 1 - 5 * 2**-24, and d < b * (1 + 2**-23), so r < 1/d and
  p <= n/d; and p > n/d * (1 - 13.5 * 2**-24) - 1. p has 24 bits, so F holds it.
- b' * p <= n * 2**-23 < 512: `a' - b' * p` is exact. So is `a - b * p`, unless it is 2**24 or
  more, and it is never negative, as a * r < a / b. So 0 <= s <= n - p * d, and s is less by
  at most 2**-21 of it.
- Hence r * s <= (n - p * d) / d, and p + q is at most the quotient. What is missing of
  (n - p * d) / d, which is below 3500 by the first of these, is less than 20 * 2**-24 of it and
  so below 1: q is at most one too small.
- R, which is n mod d or d more, is no more than n, as Q is not negative: it does not wrap.

By zero r is no number, so p and q are 0: the quotient is 1, the remainder n. Where the compiler
has d - 1 at hand it compares d - 1 < R in place of d <= R. By zero d - 1 wraps: the quotient is 0.

What stands in between can be one less than the quotient, so only the end of it all is replaced.
"""

from __future__ import annotations

from typing import cast

from visim.engine.jit.analysis.symbols import ValueFollower
from visim.engine.jit.analysis.terms import MINUS_ONE, Symbol, Symbols
from visim.engine.jit.ir.division import divided
from visim.engine.rounding import Rounding
from visim.sem.expr import Expr, node, unary
from visim.types import UD, F

_LESS = 0xB4C00000
"""The bits of -3 * 2**-23 in F."""


class SingleQuotients:
    """Finds where quotients and remainders that were computed with F are corrected.

    `channel` is that of lane 0 of what is written, None for all channels.
    """

    def __init__(self, values: ValueFollower, channel: int | None) -> None:
        self.values = values
        self.channel = channel
        self.symbols = values.symbols

    def found(self, symbol: Symbol, value: Expr) -> Expr | None:
        """Return what is written, made of a division, if it corrects one."""
        for term, factor in self.symbols.terms(symbol).items():
            if factor == MINUS_ONE:
                found = self._corrected(symbol, term, value)
                if found is not None:
                    return found
        return None

    def _corrected(self, symbol: Symbol, term: Symbol, value: Expr) -> Expr | None:
        """Return the value of a sum from which the correction `term` is taken away.

        That is -1 where the rest is not less than d, or d there.
        """
        symbols = self.symbols
        match symbols.parts(term):
            case ("select", int(condition), int(taken), int(kept)) if kept == symbols.number(0):
                compared = self._compared(condition, reaches=True)
            case ("select", int(condition), int(kept), int(taken)) if kept == symbols.number(0):
                compared = self._compared(condition, reaches=False)
            case _:
                return None
        if compared is None:
            return None
        rest, d, as_sum, by_zero = compared
        is_quotient = taken == symbols.number(MINUS_ONE)
        raw = self._raw(rest, d) if is_quotient or taken == d else None
        if raw is None:
            return None
        n = symbols.added(rest, symbols.product(raw, d))
        if raw not in {raw_quotient(symbols, n, d, form) for form in (d, as_sum)}:
            return None
        others = symbols.added(symbols.added(symbol, term), raw if is_quotient else rest, -1)
        whole, part = (self._expression(one, value) for one in (n, d))
        if whole is None or part is None:
            return None
        found = divided(whole, part, by_zero=by_zero)
        if not is_quotient:
            found = node("add", UD, whole, unary("neg", node("mul", UD, found, part)))
        return self._sum(found, others, value)

    def _compared(
        self, condition: Symbol, *, reaches: bool
    ) -> tuple[Symbol, Symbol, Symbol, int] | None:
        """Return R, d, d as the sum that it may be, and the quotient by zero of a comparison.

        Args:
            condition: the comparison.
            reaches: whether it holds where R reaches d, or else where R is below d.
        """
        match self.symbols.parts(condition):
            case ("le", kind, int(d), int(rest)) if kind == UD and reaches:
                return rest, d, d, 1
            case ("lt", kind, int(less), int(rest)) if kind == UD and reaches:
                return rest, *self._one_more(less, rest), 0
            case ("lt", kind, int(rest), int(d)) if kind == UD:
                return rest, d, d, 1
            case ("le", kind, int(rest), int(less)) if kind == UD:
                return rest, *self._one_more(less, rest), 0
            case _:
                return None

    def _one_more(self, less: Symbol, rest: Symbol) -> tuple[Symbol, Symbol]:
        """Return d and the sum that it is, of d - 1 and of R: variables may hold both."""
        sums, one = self.values.sum, self.symbols.number(1)
        as_sum = self.symbols.added(less, one)
        found = self.symbols.added(sums(less), one)
        return next((d for d in sorted(self._factors(rest)) if sums(d) == found), as_sum), as_sum

    def _raw(self, rest: Symbol, d: Symbol) -> Symbol | None:
        """Return Q of `n - Q * d`."""
        factors = self._factors(rest)
        return next(iter(factors - {d}), d) if factors else None

    def _factors(self, rest: Symbol) -> frozenset[Symbol]:
        """Return Q and d of `n - Q * d`."""
        for term, factor in self.symbols.terms(rest).items():
            match self.symbols.parts(term):
                case ("mul", factors) if factor == MINUS_ONE:
                    return cast("frozenset[Symbol]", factors)
                case _:
                    pass
        return frozenset()

    def _expression(self, symbol: Symbol, value: Expr) -> Expr | None:
        return self.values.expression(symbol, value.lanes, self.channel)

    def _sum(self, found: Expr, others: Symbol, value: Expr) -> Expr | None:
        """Return a result and what the compiler adds to it besides."""
        known = self._expression(others, value)
        if known is not None:
            return node("add", UD, found, known).bits_as(value.type)
        for term, factor in self.symbols.terms(others).items():
            more = self._expression(term, value)
            if more is None or factor not in {1, MINUS_ONE}:
                return None
            found = node("add", UD, found, more if factor == 1 else unary("neg", more))
        return found.bits_as(value.type)


def raw_quotient(symbols: Symbols, n: Symbol, d: Symbol, as_sum: Symbol) -> Symbol:
    """Return the symbol of Q, which the compiler corrects; d may be known as a sum, too."""
    near, zero = Rounding.NEAREST_EVEN, Rounding.ZERO

    def single(value: Symbol) -> Symbol:
        return symbols.of("convert", F, zero, UD, value)

    def apart(value: Symbol, as_sum: Symbol) -> tuple[Symbol, Symbol]:
        high = single(value)
        return high, single(symbols.added(as_sum, symbols.cut(high), -1))

    (a, a_low), (b, b_low) = apart(n, n), apart(d, as_sum)
    reciprocal = symbols.floats("fdiv", F, near, symbols.of("number", F, 1), b)
    less = symbols.of("bitcast", F, symbols.number(_LESS))
    factor = symbols.floats("ffma", F, zero, reciprocal, less, reciprocal)
    first = symbols.cut(symbols.floats("fmul", F, zero, a, factor))
    rests = [
        symbols.floats("ffma", F, zero, symbols.floats("fneg", F, near, y), single(first), x)
        for x, y in ((a, b), (a_low, b_low))
    ]
    rest = symbols.floats("fadd", F, zero, *rests)
    return symbols.added(first, symbols.cut(symbols.floats("fmul", F, zero, factor, rest)))
