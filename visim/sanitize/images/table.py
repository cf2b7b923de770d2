"""Where the shapes of images stand while a launch runs, so that instrumented code sees them.

The process has one table at one address, which is in the code; launches that need it take turns.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from enum import IntEnum, auto
from functools import cache

import numpy as np
from numpy.typing import NDArray

from visim.machine.allocations import aligned_zeros
from visim.sanitize.images.shapes import Picture

ENTRY_SHIFT, WORD_BYTES = 7, 8
_ENTRY = 1 << ENTRY_SHIFT
_SURFACES = 256
_AXES = 3
_ANY = 1 << 63
"""As many texels an image has along an axis that is none of its kind's."""


class Word(IntEnum):
    """The numbers of an entry, of 64 bits: strides are bytes, 0 along axes that do not count."""

    START = 0
    STRIDE_U = auto()
    STRIDE_V = auto()
    STRIDE_R = auto()
    COUNT_U = auto()
    COUNT_V = auto()
    COUNT_R = auto()
    ROW_BYTES = auto()
    ROWS = auto()


class ImageTable:
    """The shapes of images by binding table index; what is no image has no texels and no rows."""

    def __init__(self) -> None:
        self.bytes: NDArray[np.uint8] = aligned_zeros(_ENTRY * _SURFACES)
        self.address = int(self.bytes.ctypes.data)
        self.lock = threading.RLock()
        self._entries = self.bytes.view(np.uint64).reshape(_SURFACES, _ENTRY // WORD_BYTES)

    def fill(self, pictures: Mapping[int, Picture]) -> None:
        """Let the table have the images of a launch."""
        self._entries[:] = 0
        for index, picture in pictures.items():
            self._entries[index, : len(Word)] = _words(picture)


def _words(picture: Picture) -> list[int]:
    strides, step = list[int](), picture.unit
    for count in picture.counts:
        strides.append(step)
        step *= count
    missing = _AXES - len(picture.counts)
    counts = [*picture.counts, *[_ANY] * missing]
    return [picture.start, *strides, *[0] * missing, *counts, picture.row_bytes, picture.rows]


@cache
def image_table() -> ImageTable:
    """Return the table of this process."""
    return ImageTable()


__all__ = ["ENTRY_SHIFT", "WORD_BYTES", "ImageTable", "Word", "image_table"]
