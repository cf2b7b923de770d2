"""The table in which native code looks up images and samplers.

What is not in it, native code leaves to the host: images of several levels, cubes and sRGB,
samplers that choose levels or have a border colour of their own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from visim.engine.jit.common.images import ADDRESSES, FUNCTIONS, images_code
from visim.engine.jit.launch.records import words
from visim.engine.jit.layout import ImageEntry, ImageTable, SamplerBits
from visim.machine.formats import TexelFormat
from visim.machine.images import ImageSurface
from visim.machine.sampling import Filter, Mip, SamplerState
from visim.machine.surfaces import Surfaces

_COMPONENTS = "RGBA"
_ZERO, _ONE = 4, 5
"""What stands behind the four channels of a texel where components are chosen."""


class Images:
    """The images and samplers of one worker, filled for one launch after another.

    `address` is where native code finds them, 0 when a launch has no images.
    """

    def __init__(self) -> None:
        self._table: NDArray[np.uint64] | None = None
        self.address = 0

    def fill(self, surfaces: Surfaces) -> None:
        """Show native code the images and samplers of a launch, and no other."""
        self.address = 0
        if not surfaces.images:
            return
        count = max(surfaces.images) + 1
        table = self._table
        if table is None or table[ImageTable.COUNT] < count:
            table = self._table = _new_table(count)
        table[ImageTable.SAMPLERS :] = 0
        for index, image in surfaces.images.items():
            start = ImageTable.IMAGES + index * ImageEntry.SIZE
            if is_plain(image):
                table[start : start + ImageEntry.SIZE] = described(image)
        for index, sampler in surfaces.samplers.items():
            table[ImageTable.SAMPLERS + index] = sampler_number(sampler)
        self.address = int(table.ctypes.data)

    def note_missed(self, surfaces: Surfaces) -> None:
        """Tell the surfaces how often native code has missed their images since the last time."""
        if self._table is None:
            return
        counts = self._table[ImageTable.MISSED_READS : ImageTable.MISSED_WRITES + 1]
        if counts.any():
            reads, writes = counts.tolist()
            surfaces.note_dropped_reads(reads)
            surfaces.note_dropped_writes(writes)
            counts[:] = 0


def _new_table(count: int) -> NDArray[np.uint64]:
    table = words(ImageTable.IMAGES + count * ImageEntry.SIZE)
    code = images_code()
    for number, name in enumerate(FUNCTIONS):
        table[number] = code.addresses[name]
    table[ImageTable.COUNT] = count
    return table


def is_plain(image: ImageSurface) -> bool:
    """Whether native code knows an image of the kind and format."""
    return len(image.levels) == 1 and not image.kind.is_cube and not image.format.order.is_srgb


def described(image: ImageSurface) -> NDArray[np.uint64]:
    """Return the fields of a plain image."""
    found = np.zeros(ImageEntry.SIZE, np.uint64)
    level, texels = image.levels[0], image.format
    width, height, depth = (*level.size, 1, 1)[:3]
    values = {
        ImageEntry.BASE: int(level.texels.ctypes.data),
        ImageEntry.WIDTH: width,
        ImageEntry.HEIGHT: height,
        ImageEntry.DEPTH: depth,
        ImageEntry.AXES: image.kind.axes,
        ImageEntry.SMOOTH: image.kind.smooth_axes,
        ImageEntry.BYTES: texels.texel_bytes,
        ImageEntry.TYPE: texels.type.code,
        ImageEntry.READ: _packed(_sources(texels)),
        ImageEntry.ONE: texels.one,
        ImageEntry.STORED: _packed([_COMPONENTS.index(letter) for letter in texels.order.stored]),
        ImageEntry.WRITES: _bytes_of_components(texels),
        ImageEntry.WRITABLE: level.texels.flags.writeable,
        ImageEntry.INTEGER: texels.type.is_integer,
    }
    for field, value in values.items():
        found[field] = value
    border = found[ImageEntry.BORDER : ImageEntry.SIZE].view(np.uint32).reshape(2, 4)
    border[:] = texels.border
    border[1, 3] = texels.one
    return found


def sampler_number(sampler: SamplerState) -> int:
    """Return a sampler as the number that native code knows, 0 for one that it does not."""
    if sampler.mip is not Mip.NONE or sampler.border is not None:
        return 0
    found = SamplerBits.PRESENT | ADDRESSES[sampler.address]
    found |= SamplerBits.LINEAR if sampler.filter is Filter.LINEAR else 0
    return found | (SamplerBits.NORMALISED if sampler.normalized else 0)


def _sources(texels: TexelFormat) -> list[int]:
    """Return where each component comes from: a channel's number, `_ZERO` or `_ONE`."""
    constants = {"0": _ZERO, "1": _ONE}
    return [constants[one] if isinstance(one, str) else one for one in texels.order.read]


def _bytes_of_components(texels: TexelFormat) -> int:
    """Return, in 16 bits for each component, which bytes of a texel hold it."""
    size, found = texels.dtype.itemsize, 0
    for channel, letter in enumerate(texels.order.stored):
        octets = ((1 << size) - 1) << size * channel
        found |= octets << 16 * _COMPONENTS.index(letter)
    return found


def _packed(numbers: list[int]) -> int:
    """Return up to four numbers as the bytes of one; those that are missing are their places."""
    whole = [*numbers, *range(len(numbers), 4)]
    return sum(number << 8 * place for place, number in enumerate(whole))
