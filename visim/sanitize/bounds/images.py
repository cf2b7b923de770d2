"""Bounds of images: writes of texels that are not there, which languages leave undefined.

Reads outside of an image are defined, and so are blocks, of which the part inside is written.
"""

from __future__ import annotations

from visim.linker.program import LinkedKernel, LinkedUnit
from visim.sanitize.bounds.instrument import PREFIX, Reach, group_of_thread
from visim.sanitize.images.table import ImageTable
from visim.sanitize.images.texels import is_painted, requests, texels_of
from visim.sem.effects import Effect, Request, Watch
from visim.sem.expr import Expr, broadcast, constant, maximum, minimum
from visim.sem.requests import TexelAtomic, TexelStore
from visim.types import UQ, D, Q

IMAGE = f"{PREFIX}image "
"""What a `Watch` of texels outside is called; which message of the instruction follows."""
_AXES = (("u", 0, 28), ("v", 28, 16), ("r", 44, 12))
"""Where a number has coordinates, and how many bits of each."""
_INDEX_SHIFT = 56


class ImageBoundsInstrument:
    """Tells which texels that are written are not there.

    Args:
        kernel: the kernel without instruments.
        reach: what it reaches.
        images: where the shapes of images are.
    """

    def __init__(self, kernel: LinkedKernel, reach: Reach, images: ImageTable) -> None:
        self._images = images if is_painted(kernel) else None
        self._group = group_of_thread() if reach.has_groups else None
        self.name = f"bounds of images at {images.address:x}"

    def effects(
        self, kernel: LinkedKernel, unit: LinkedUnit, pc: int, effects: tuple[Effect, ...]
    ) -> tuple[Effect, ...]:
        """Return the effects of an instruction; notes come before its messages."""
        del kernel, unit, pc
        if self._images is None:
            return effects
        found = list[Effect]()
        for number, request in enumerate(requests(effects)):
            if isinstance(request.operation, TexelStore | TexelAtomic):
                found += self._told(request, number, self._images)
        return (*found, *effects)

    def _told(self, request: Request, number: int, images: ImageTable) -> tuple[Effect, ...]:
        texels = texels_of(request, images)
        if texels is None:
            return ()
        told = Watch(f"{IMAGE}{number}", _packed(request), texels.outside, self._group)
        return (*texels.words, told)


def _packed(request: Request) -> Expr:
    """Return numbers that have the surface and the coordinates of texels."""
    given = request.given
    lanes = given["u"].lanes
    found = broadcast((request.surface.to(UQ) & 0xFF) << _INDEX_SHIFT, lanes)
    for name, shift, bits in _AXES:
        if name in given:
            most = (1 << bits - 1) - 1
            low, high = constant(-most - 1, Q, lanes), constant(most, Q, lanes)
            at = minimum(maximum(given[name].bits_as(D).to(Q), low), high)
            found = found | (at.bits_as(UQ) & (1 << bits) - 1) << shift
    return found


def unpacked(number: int) -> tuple[int, tuple[int, int, int]]:
    """Return the surface and the coordinates that a number has."""
    u, v, r = (_signed(number >> shift, bits) for _, shift, bits in _AXES)
    return number >> _INDEX_SHIFT, (u, v, r)


def _signed(number: int, bits: int) -> int:
    half = 1 << bits - 1
    return ((number & (1 << bits) - 1) ^ half) - half


__all__ = ["IMAGE", "ImageBoundsInstrument", "unpacked"]
