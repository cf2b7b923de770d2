"""What races need to know beside accesses: the values that are stored, and texels of images."""

from __future__ import annotations

from visim.linker.program import LinkedKernel, LinkedUnit
from visim.sanitize.images.table import ImageTable
from visim.sanitize.images.texels import TEXELS, is_painted, painted, requests, texels_of
from visim.sem.effects import Effect, Request, Space, Store, StoreBlock, Watch
from visim.sem.expr import Expr, broadcast, unsigned
from visim.types import UQ

VALUE = "value"
"""What a `Watch` of a stored value is called; the number of the element follows."""

_SHARED = frozenset({Space.FLAT, Space.SURFACE, Space.SLM})


class RaceInstrument:
    """Tells what is stored to memory that work-items share, and which texels are reached.

    Args:
        kernel: the kernel without instruments.
        images: where the shapes of images are.
    """

    def __init__(self, kernel: LinkedKernel, images: ImageTable) -> None:
        self._images = images if is_painted(kernel) else None
        self.name = "races" if self._images is None else f"races, images at {images.address:x}"

    def effects(
        self, kernel: LinkedKernel, unit: LinkedUnit, pc: int, effects: tuple[Effect, ...]
    ) -> tuple[Effect, ...]:
        """Return the effects of an instruction; notes of its values come behind a store."""
        del kernel, unit, pc
        found, asked = list[Effect](), requests(effects)
        for effect in effects:
            found.append(effect)
            if isinstance(effect, Request) and self._images is not None:
                found += _texels(effect, asked.index(effect), self._images)
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


def _texels(request: Request, number: int, images: ImageTable) -> tuple[Effect, ...]:
    """Return a note of the texels of a message, and one of what it writes there."""
    texels = texels_of(request, images)
    if texels is None:
        return ()
    told = Watch(f"{TEXELS}{number}", texels.addresses, texels.inside)
    written = painted(request)
    values = () if written is None else (Watch(f"{VALUE}0", written, texels.inside),)
    return (*texels.words, told, *values)


def _wide(value: Expr) -> Expr:
    return value.bits_as(unsigned(value.type.bits)).to(UQ)


__all__ = ["VALUE", "RaceInstrument"]
