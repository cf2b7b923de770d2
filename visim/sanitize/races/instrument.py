"""What races need to know beside accesses: the values that are stored."""

from __future__ import annotations

from visim.linker.program import LinkedKernel, LinkedUnit
from visim.sem.effects import Effect, Space, Store, StoreBlock, Watch
from visim.sem.expr import Expr, broadcast, unsigned
from visim.types import UQ

VALUE = "value"
"""What a `Watch` of a stored value is called; the number of the element follows."""

_SHARED = frozenset({Space.FLAT, Space.SURFACE, Space.SLM})


class RaceInstrument:
    """Tells what is stored to memory that work-items share."""

    name = "races"

    def effects(
        self, kernel: LinkedKernel, unit: LinkedUnit, pc: int, effects: tuple[Effect, ...]
    ) -> tuple[Effect, ...]:
        """Return the effects of an instruction; notes of its values come behind a store."""
        del kernel, unit, pc
        found: list[Effect] = []
        for effect in effects:
            found.append(effect)
            if isinstance(effect, Store | StoreBlock) and effect.space in _SHARED:
                found += _values(effect)
        return tuple(found)


def _values(store: Store | StoreBlock) -> list[Watch]:
    """Return notes of the values of a store: one for each element of a channel, or for a block."""
    if isinstance(store, StoreBlock):
        mask = None if store.mask is None else broadcast(store.mask, store.value.lanes)
        return [Watch(f"{VALUE}0", _wide(store.value), mask)]
    return [
        Watch(f"{VALUE}{number}", _wide(value), store.mask)
        for number, value in enumerate(store.values)
    ]


def _wide(value: Expr) -> Expr:
    return value.bits_as(unsigned(value.type.bits)).to(UQ)


__all__ = ["VALUE", "RaceInstrument"]
