"""Images and samplers as the driver describes them: surface states, sampler states, texels.

Owns the fields of RENDER_SURFACE_STATE that images have, those of SAMPLER_STATE, and the numbers of
texel formats. Layouts: programmer's reference manuals, volume "Command Reference: Structures".
Engines want texels without gaps; where a row has some, the image is copied for the kernel.

Images in tiles are laid out in rows, too, as far apart as their pitch says: they take no more
memory so, and only kernels see inside them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from visim.device.commands import Field, bit
from visim.device.hostmemory import Bytes
from visim.errors import UnsupportedError
from visim.machine.formats import ORDERS, TYPES, TexelFormat
from visim.machine.images import ImageKind, ImageMemory
from visim.machine.sampling import Address, Filter, SamplerState

STATE_WORDS, SAMPLER_WORDS = 16, 4
BUFFER, NULL = 4, 7
RAW = 0x1FF
TYPE, FORMAT = Field(0, 31, 29), Field(0, 26, 18)
_IS_ARRAY, _QPITCH = bit(0, 28), Field(1, 14, 0)
_WIDTH, _HEIGHT = Field(2, 13, 0), Field(2, 29, 16)
_PITCH, _DEPTH, _FIRST_SLICE = Field(3, 17, 0), Field(3, 31, 21), Field(4, 28, 18)
_LEVELS, _Y_OFFSET, _X_OFFSET = Field(5, 3, 0), Field(5, 23, 21), Field(5, 31, 25)
_SELECTS = (Field(7, 27, 25), Field(7, 24, 22), Field(7, 21, 19), Field(7, 18, 16))
_KINDS = {
    (0, 0): ImageKind.IMAGE_1D,
    (0, 1): ImageKind.ARRAY_1D,
    (1, 0): ImageKind.IMAGE_2D,
    (1, 1): ImageKind.ARRAY_2D,
    (2, 0): ImageKind.IMAGE_3D,
}
_SELECTED: Mapping[int, int | str] = MappingProxyType(
    {0: "0", 1: "1", 4: 0, 5: 1, 6: 2, 7: 3},
)
"""What a selected number stands for: a constant, or a component of the format."""
_ADDRESS_BITS = (1 << 48) - 1
_QPITCH_UNIT, _ONE_DIMENSION = 4, 0
"""Slices are so many rows times QPitch apart, those of one dimension so many texels."""

_MIN_FILTER, _MAG_FILTER, _MIP_FILTER = Field(0, 16, 14), Field(0, 19, 17), Field(0, 21, 20)
_BORDER = Field(2, 23, 6)
_MODES, _TAKES_TEXELS = (Field(3, 8, 6), Field(3, 5, 3), Field(3, 2, 0)), bit(3, 10)
_ADDRESSES: Mapping[int, Address] = MappingProxyType(
    {0: Address.REPEAT, 1: Address.MIRRORED_REPEAT, 2: Address.CLAMP_TO_EDGE, 4: Address.CLAMP}
)
_FILTERS: Mapping[int, Filter] = MappingProxyType({0: Filter.NEAREST, 1: Filter.LINEAR})


def _formats() -> dict[int, TexelFormat]:
    """Return the texel formats by their numbers in surface states."""
    rows = {
        "rgba": {
            0x000: "float", 0x001: "int32", 0x002: "uint32", 0x080: "unorm16", 0x081: "snorm16",
            0x082: "int16", 0x083: "uint16", 0x084: "half", 0x0C7: "unorm8", 0x0C9: "snorm8",
            0x0CA: "int8", 0x0CB: "uint8",
        },
        "rg": {
            0x085: "float", 0x086: "int32", 0x087: "uint32", 0x0CC: "unorm16", 0x0CD: "snorm16",
            0x0CE: "int16", 0x0CF: "uint16", 0x0D0: "half", 0x106: "unorm8", 0x107: "snorm8",
            0x108: "int8", 0x109: "uint8",
        },
        "r": {
            0x0D6: "int32", 0x0D7: "uint32", 0x0D8: "float", 0x10A: "unorm16", 0x10B: "snorm16",
            0x10C: "int16", 0x10D: "uint16", 0x10E: "half", 0x140: "unorm8", 0x141: "snorm8",
            0x142: "int8", 0x143: "uint8",
        },
        "a": {0x0E5: "float", 0x113: "unorm16", 0x117: "half", 0x144: "unorm8"},
        "intensity": {0x0E3: "float", 0x111: "unorm16", 0x115: "half", 0x145: "unorm8"},
        "luminance": {0x0E4: "float", 0x112: "unorm16", 0x116: "half", 0x146: "unorm8"},
        "bgra": {0x0C0: "unorm8"},
        "sbgra": {0x0C1: "unorm8"},
        "srgba": {0x0C8: "unorm8"},
    }  # fmt: skip
    return {
        number: TexelFormat(ORDERS[order], TYPES[kind])
        for order, kinds in rows.items()
        for number, kind in kinds.items()
    }


FORMATS: Mapping[int, TexelFormat] = MappingProxyType(_formats())


@dataclass(frozen=True, slots=True)
class ImageState:
    """What a surface state says of an image.

    `size` is that in texels, from width on. `row_bytes` and `slice_bytes` say how far rows and
    slices are apart.
    """

    kind: ImageKind
    format: TexelFormat
    size: tuple[int, ...]
    row_bytes: int
    slice_bytes: int
    address: int

    @property
    def nbytes(self) -> int:
        """How many bytes there are from the first texel to the end of the last."""
        width, rows, slices = self._extents()
        before = (slices - 1) * self.slice_bytes + (rows - 1) * self.row_bytes
        return before + width * self.format.texel_bytes

    def _extents(self) -> tuple[int, int, int]:
        """Return width, rows of a slice, and slices."""
        width, second, third = (*self.size, 1, 1)[:3]
        return (width, 1, second) if self.kind is ImageKind.ARRAY_1D else (width, second, third)

    def rows_in(self, host: Bytes) -> Bytes:
        """Return the image's texels in memory: shape (slices, rows, bytes of a row)."""
        width, rows, slices = self._extents()
        return np.lib.stride_tricks.as_strided(
            host,
            (slices, rows, width * self.format.texel_bytes),
            (self.slice_bytes, self.row_bytes, 1),
        )


class BorrowedImage:
    """An image in the form that engines know: in place, or as a copy if there are gaps in it.

    Args:
        state: what the driver says of it.
        host: its bytes.
    """

    def __init__(self, state: ImageState, host: Bytes) -> None:
        self._rows = state.rows_in(host)
        texels = np.ascontiguousarray(self._rows)
        is_copy = not np.shares_memory(texels, host)
        self._copy = texels if is_copy else None
        self._before = texels.copy() if is_copy else None
        self.memory = ImageMemory(texels.reshape(-1), state.size, state.kind, state.format)

    def give_back(self) -> None:
        """Write back the texels that the kernel has changed, if it had a copy."""
        if self._copy is not None and self._before is not None:
            np.copyto(self._rows, self._copy, where=self._copy != self._before)


def read_image(words: Sequence[int], name: str) -> ImageState:
    """Return what a surface state says of an image.

    Raises:
        UnsupportedError: its layout or its format is not known here.
    """
    number = FORMAT.of(words)
    found = FORMATS.get(number)
    if found is None:
        raise UnsupportedError(f"{name}: texels of format 0x{number:x} are not known")
    address = (words[8] | words[9] << 32) & _ADDRESS_BITS
    if TYPE.of(words) == BUFFER:
        size = (_buffer_entries(words) + 1,)
        return ImageState(ImageKind.BUFFER_1D, found, size, size[0] * found.texel_bytes, 1, address)
    kind = _KINDS.get((TYPE.of(words), _IS_ARRAY.of(words)))
    if kind is None:
        raise UnsupportedError(f"{name}: surfaces of type {TYPE.of(words)} are not known")
    _refuse_rest(words, name)
    found = _as_selected(found, words, name)
    extents = _WIDTH.of(words) + 1, _HEIGHT.of(words) + 1, _DEPTH.of(words) + 1
    size = (extents[0], extents[2]) if kind is ImageKind.ARRAY_1D else extents[: kind.axes]
    row_bytes, is_flat = _PITCH.of(words) + 1, TYPE.of(words) == _ONE_DIMENSION
    slice_bytes = row_bytes * (1 if is_flat else extents[1])
    if _QPITCH.of(words):
        unit = found.texel_bytes if is_flat else row_bytes
        slice_bytes = _QPITCH.of(words) * _QPITCH_UNIT * unit
    return ImageState(kind, found, size, row_bytes, slice_bytes, address)


def _buffer_entries(words: Sequence[int]) -> int:
    """Return the number of a buffer's elements, less one."""
    return Field(2, 6, 0).of(words) | _HEIGHT.of(words) << 7 | _DEPTH.of(words) << 21


def _refuse_rest(words: Sequence[int], name: str) -> None:
    unknown = {
        "smaller levels": _LEVELS.of(words),
        f"slices from {_FIRST_SLICE.of(words)} on": _FIRST_SLICE.of(words),
        "an offset in its tile": _X_OFFSET.of(words) or _Y_OFFSET.of(words),
    }
    for what, is_there in unknown.items():
        if is_there:
            raise UnsupportedError(f"{name}: images with {what} are not supported")


def _as_selected(found: TexelFormat, words: Sequence[int], name: str) -> TexelFormat:
    """Return a format whose components are read from the channels that a state selects."""
    read: list[int | str] = []
    for channel, select in zip("RGBA", (field.of(words) for field in _SELECTS), strict=True):
        if select not in _SELECTED:
            raise UnsupportedError(f"{name}: {channel} is read from channel {select}")
        source = _SELECTED[select]
        read.append(found.order.read[source] if isinstance(source, int) else source)
    if tuple(read) == found.order.read:
        return found
    return replace(found, order=replace(found.order, read=tuple(read)))


def read_sampler(words: Sequence[int], name: str) -> tuple[SamplerState, int]:
    """Return what a sampler state says, and where its border colour is in the dynamic heap.

    Raises:
        UnsupportedError: it asks for what is not known here.
    """
    modes = {field.of(words) for field in _MODES}
    filters = {_MIN_FILTER.of(words), _MAG_FILTER.of(words)}
    if len(modes) > 1 or not modes <= set(_ADDRESSES):
        raise UnsupportedError(f"{name}: address modes {sorted(modes)} are not known")
    if len(filters) > 1 or not filters <= set(_FILTERS):
        raise UnsupportedError(f"{name}: filters {sorted(filters)} are not known")
    state = SamplerState(
        address=_ADDRESSES[modes.pop()],
        filter=_FILTERS[filters.pop()],
        normalized=not _TAKES_TEXELS.of(words),
    )
    return state, _BORDER.of(words) << 6
