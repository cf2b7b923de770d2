"""Families of indices: those that differ by a number which is the same for all channels.

What reaches two elements at a distance, as exchanges and transforms do, has two vectors of indices.
How lanes are arranged is the same in both, so that it need not be looked at twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from visim.engine.jit.analysis.blocks import Step
from visim.engine.jit.analysis.lanes import LEAST_LANES, channel_of
from visim.engine.jit.analysis.symbols import ValueFollower
from visim.engine.jit.analysis.terms import Symbol, Symbols
from visim.engine.modes import FloatMode
from visim.sem.effects import (
    Effect,
    Load,
    Store,
    WriteIndirect,
    WritePredicate,
    WriteRegister,
    expressions,
)
from visim.sem.expr import Expr

Family = tuple[int | None, frozenset[tuple[Symbol, int]]]
"""What indices are sums of, with factors, but for what is the same in all lanes.

In front of that is the channel of lane 0, None for all channels: only where the same ones are on
have lanes that are off in one vector of indices no part in another.
"""


@dataclass
class FamilyFinder:
    """Finds the families of indices in successive instructions that run with the same channels."""

    _values: ValueFollower = field(default_factory=lambda: ValueFollower(keeps_sums=True))

    def next(self, step: Step, mode: FloatMode) -> dict[Expr, Family]:
        """Return the families of what the next instruction has as indices."""
        values, found = self._values, dict[Expr, Family]()
        for effect in step.effects:
            channel = channel_of(getattr(effect, "mask", None))
            for index in _indices(effect):
                symbol = values.symbol(index, mode, channel)
                if symbol is not None:
                    found[index] = channel, _terms(values.symbols, symbol)
        writes = [one for one in step.effects if isinstance(one, WriteRegister | WritePredicate)]
        known = [self._symbol(one, mode) for one in writes]
        for write, symbol in zip(writes, known, strict=True):
            values.note(write, symbol)
        if any(isinstance(effect, WriteIndirect) for effect in step.effects):
            values.forget()
        return found

    def _symbol(self, write: WriteRegister | WritePredicate, mode: FloatMode) -> Symbol | None:
        """Return what is written, if indices can be made of it."""
        kind = write.value.type
        if isinstance(write, WritePredicate) or kind.is_float or kind.bits != 32:
            return None
        return self._values.symbol(write.value, mode, channel_of(write.mask))


def _indices(effect: Effect) -> Iterator[Expr]:
    """Return what an effect makes addresses of: numbers of 32 bits, which it may extend."""
    if isinstance(effect, Load | Store) and effect.addresses.type.bits == 32:
        yield effect.addresses
    if not isinstance(effect, WriteRegister):
        return
    for expr in expressions([effect]):
        if expr.uop.name == "convert" and expr.type.bits == 64 and expr.lanes >= LEAST_LANES:
            yield from (source for source in expr.args if source.type.bits == 32)


def _terms(symbols: Symbols, symbol: Symbol) -> frozenset[tuple[Symbol, int]]:
    terms = symbols.terms(symbol).items()
    return frozenset(term for term in terms if not symbols.is_uniform(term[0]))
