"""Symbols: numbers that stand for operations and their operands, the same for what is the same."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import cast

from visim.engine.rounding import Rounding
from visim.types import UD, DataType

Symbol = int

Elements = tuple[int, tuple[int, ...], int]
"""A variable's number, where the elements are in it (one, if it is repeated), and their size."""

_COMMUTES = {"fadd", "fmul", "ffma"}
WORD = 1 << 32
MINUS_ONE = WORD - 1
"""The factor of a term that is taken away."""


class Symbols:
    """The symbols that are known, by number."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Hashable, ...], Symbol] = {}
        self._parts: list[tuple[Hashable, ...]] = []

    def of(self, *parts: Hashable) -> Symbol:
        """Return the symbol that is made of these parts."""
        found = self._numbers.setdefault(parts, len(self._parts))
        if found == len(self._parts):
            self._parts.append(parts)
        return found

    def parts(self, symbol: Symbol) -> tuple[Hashable, ...]:
        """Return what a symbol is made of: a name first."""
        return self._parts[symbol]

    def floats(self, name: str, kind: DataType, rounding: Rounding, *args: Symbol) -> Symbol:
        """Return the symbol of an operation on floats, the same for factors in either order."""
        if name in _COMMUTES:
            return self.of(name, kind, rounding, frozenset(args[:2]), *args[2:])
        return self.of(name, kind, rounding, *args)

    def cut(self, value: Symbol) -> Symbol:
        """Return the symbol of a float that is cut off to UD."""
        return self.of("cut", value)

    def number(self, value: int) -> Symbol:
        """Return the symbol of an integer of 32 bits."""
        return self.of("number", UD, value % WORD)

    def product(self, a: Symbol, b: Symbol) -> Symbol:
        """Return the symbol of the low 32 bits of a product."""
        return self.of("mul", frozenset({a, b}))

    # Sums

    def sum(self, terms: Mapping[Symbol, int]) -> Symbol:
        """Return the symbol of a sum of terms, each with a factor, modulo 2**32."""
        found = {term: factor % WORD for term, factor in terms.items() if factor % WORD}
        if len(found) == 1 and set(found.values()) == {1}:
            return next(iter(found))
        return self.of("sum", frozenset(found.items()))

    def terms(self, symbol: Symbol) -> dict[Symbol, int]:
        """Return the terms of a sum with their factors; what is no sum is its only term."""
        name, *parts = self._parts[symbol]
        if name != "sum":
            return {symbol: 1}
        return dict(cast("frozenset[tuple[Symbol, int]]", parts[0]))

    def added(self, a: Symbol, b: Symbol, factor: int = 1) -> Symbol:
        """Return the symbol of a plus a multiple of b."""
        terms = self.terms(a)
        for term, times in self.terms(b).items():
            terms[term] = terms.get(term, 0) + times * factor
        return self.sum(terms)

    def converted(self, symbol: Symbol) -> list[Symbol]:
        """Return what below a symbol, outside sums, is converted from UD to floats, each once."""
        waiting, found = [symbol], dict[Symbol, None]()
        seen = {symbol}
        while waiting:
            match self._parts[waiting.pop()]:
                case ("convert", _, _, source, int(inner)) if source == UD:
                    found[inner] = None
                case (name, *parts) if name not in {"input", "number", "sum"}:
                    new = set(_below(parts)) - seen
                    seen |= new
                    waiting += sorted(new)
                case _:
                    pass
        return list(found)


def _below(parts: list[Hashable]) -> Iterator[Symbol]:
    """Return the symbols among the parts of another one, which is no sum."""
    for part in parts:
        if isinstance(part, frozenset):
            yield from cast("frozenset[Symbol]", part)
        elif type(part) is int:
            yield part
