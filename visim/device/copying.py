"""The copy engine: linear copies and fills, rectangles, and surfaces in tiles.

Owns the commands of the blitter. Layouts: programmer's reference manuals, volume "Blitter Engine".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from visim.device.address_space import AddressSpace
from visim.device.commands import Field, bit

_COPY_TYPE, _IS_PAGES = Field(0, 18, 17), bit(0, 19)
_WIDTH, _HEIGHT, _PITCH_1, _PITCH_2 = (
    Field(1, 23, 0),
    Field(2, 17, 0),
    Field(3, 17, 0),
    Field(4, 17, 0),
)
_FILL = Field(6, 31, 24)
_PAGE_UNIT = 256
_TEXEL_SIZE, _TEXEL_BYTES = Field(0, 21, 19), (1, 2, 4, 8, 12, 16)
_TARGET_PITCH, _TARGET_TILING = Field(1, 17, 0), Field(1, 31, 30)
_SOURCE_PITCH, _SOURCE_TILING = Field(8, 17, 0), Field(8, 31, 30)
_X_1, _Y_1, _X_2, _Y_2 = Field(2, 15, 0), Field(2, 31, 16), Field(3, 15, 0), Field(3, 31, 16)
_SOURCE_X, _SOURCE_Y = Field(7, 15, 0), Field(7, 31, 16)
_SURFACE_OFFSETS = (Field(6, 13, 0), Field(6, 29, 16), Field(11, 13, 0), Field(11, 29, 16))
_COLOUR, _COLOUR_BYTES = 7, (1, 2, 4, 8, 12, 16)
_COLOUR_X, _COLOUR_Y = Field(6, 13, 0), Field(6, 29, 16)
_ADDRESS_BITS = (1 << 48) - 1


class UnknownCopy(Exception):
    """The copy engine is asked for what it does not know; the message says what."""


class Copier:
    """Does the copy engine's commands on a VM's memory."""

    def __init__(self, space: AddressSpace) -> None:
        self._space = space

    def copy(self, words: Sequence[int]) -> None:
        """Do a MEM_COPY: bytes in a row, or rows of a rectangle."""
        source, target = _place(words, 5), _place(words, 7)
        width = _WIDTH.of(words) + 1
        if _COPY_TYPE.of(words) == 0:
            self._space.copy(target, source, width * (_PAGE_UNIT if _IS_PAGES.of(words) else 1))
            return
        rows = _HEIGHT.of(words) + 1
        source_pitch, target_pitch = _PITCH_1.of(words) + 1, _PITCH_2.of(words) + 1
        if source_pitch == width == target_pitch:
            self._space.copy(target, source, width * rows)
            return
        for row in range(rows):
            self._space.copy(target + row * target_pitch, source + row * source_pitch, width)

    def fill(self, words: Sequence[int]) -> None:
        """Do a MEM_SET: one byte's value in all bytes of a row, or of a rectangle's rows."""
        kind = _COPY_TYPE.of(words)
        if kind > 1:
            raise UnknownCopy(f"MEM_SET of fill type {kind}")
        width, target = _WIDTH.of(words) + 1, _place(words, 4)
        rows, pitch = (1, 0) if kind == 0 else (_HEIGHT.of(words) + 1, _PITCH_1.of(words) + 1)
        data = np.full(width, _FILL.of(words), np.uint8)
        for row in range(rows):
            self._space.write(target + row * pitch, data)

    def block_copy(self, words: Sequence[int]) -> None:
        """Do an XY_BLOCK_COPY_BLT: a rectangle of texels between two surfaces.

        Raises:
            UnknownCopy: a surface is in tiles, or texels have a size that is not known.
        """
        depth = _TEXEL_SIZE.of(words)
        if depth >= len(_TEXEL_BYTES):
            raise UnknownCopy(f"XY_BLOCK_COPY_BLT with texels of size code {depth}")
        if _TARGET_TILING.of(words) or _SOURCE_TILING.of(words):
            raise UnknownCopy("XY_BLOCK_COPY_BLT with a surface in tiles")
        texel = _TEXEL_BYTES[depth]
        left, top = _X_1.of(words), _Y_1.of(words)
        width, rows = (_X_2.of(words) - left) * texel, _Y_2.of(words) - top
        target_pitch, source_pitch = _TARGET_PITCH.of(words) + 1, _SOURCE_PITCH.of(words) + 1
        target = _place(words, 4) + top * target_pitch + left * texel
        source = _place(words, 9) + _SOURCE_Y.of(words) * source_pitch + _SOURCE_X.of(words) * texel
        if any(field.of(words) for field in _SURFACE_OFFSETS):
            raise UnknownCopy("XY_BLOCK_COPY_BLT with an offset of a surface")
        for row in range(rows if width > 0 else 0):
            self._space.copy(target + row * target_pitch, source + row * source_pitch, width)

    def fast_color(self, words: Sequence[int]) -> None:
        """Do an XY_FAST_COLOR_BLT: one texel's value in all texels of a rectangle.

        Raises:
            UnknownCopy: the surface is in tiles, or texels have a size that is not known.
        """
        depth = _TEXEL_SIZE.of(words)
        if depth >= len(_COLOUR_BYTES):
            raise UnknownCopy(f"XY_FAST_COLOR_BLT with texels of size code {depth}")
        if _TARGET_TILING.of(words) or _COLOUR_X.of(words) or _COLOUR_Y.of(words):
            raise UnknownCopy("XY_FAST_COLOR_BLT of a surface in tiles, or with an offset")
        texel, pitch = _COLOUR_BYTES[depth], _TARGET_PITCH.of(words) + 1
        left, top = _X_1.of(words), _Y_1.of(words)
        count, rows = _X_2.of(words) - left, _Y_2.of(words) - top
        colour = np.array(words[_COLOUR : _COLOUR + 4], np.uint32).view(np.uint8)[:texel]
        data = np.tile(colour, max(count, 0))
        target = _place(words, 4) + top * pitch + left * texel
        for row in range(rows if data.size else 0):
            self._space.write(target + row * pitch, data)


def _place(words: Sequence[int], at: int) -> int:
    return (words[at] | words[at + 1] << 32) & _ADDRESS_BITS
