"""Rectangles of bytes: surfaces as rows, for media block messages (MEDIA_LD, MEDIA_ST, LSC_TYPED).

Knows neither texels nor binding tables.
"""

from __future__ import annotations

import numpy as np

from visim.machine.allocations import MISALIGNED, READ_ONLY, Bytes, image_violation
from visim.machine.dropped import Dropped
from visim.sem.requests import Rows


class BlockSurface:
    """Rows of bytes, read and written in rectangles (MEDIA_LD, MEDIA_ST).

    Outside of the surface a read repeats the nearest element, as the hardware does (the page
    leaves it to the format), and a write is dropped.

    Args:
        rows: Shape (height, bytes of a row), in place.
        unit: Bytes of an element: what is repeated at the left and right edge.
        name: What messages call it.
        dropped: Counts blocks that were out of range, at least in part.
    """

    def __init__(self, rows: Bytes, unit: int, name: str, dropped: Dropped) -> None:
        self._rows = rows
        self._unit = unit
        self._name = name
        self._dropped = dropped

    def of(self, rows: Rows) -> BlockSurface:
        """Return the surface itself, or one field of it: every second row."""
        if rows is Rows.ALL:
            return self
        first = 0 if rows is Rows.TOP else 1
        return BlockSurface(self._rows[first::2], self._unit, self._name, self._dropped)

    def load(self, x: int, y: int, width: int, height: int) -> Bytes:
        """Return `height` rows of `width` bytes, one after another.

        Args:
            x: Byte of the left edge, negative ones are outside.
            y: Row of the upper edge.
            width: Bytes of a row.
            height: Number of rows.
        """
        if not self._rows.size:
            self._dropped.reads += 1
            return np.zeros(width * height, np.uint8)
        rows, row_bytes = self._rows.shape
        columns, lines = x + np.arange(width), y + np.arange(height)
        if x < 0 or y < 0 or x + width > row_bytes or y + height > rows:
            self._dropped.reads += 1
            element = (columns // self._unit).clip(0, row_bytes // self._unit - 1)
            columns = element * self._unit + columns % self._unit
            lines = lines.clip(0, rows - 1)
        return self._rows[np.ix_(lines, columns)].reshape(-1)

    def store(self, x: int, y: int, width: int, data: Bytes) -> None:
        """Write rows of `width` bytes.

        Raises:
            MemoryViolation: The memory is read-only, or `x` is not a multiple of 4.
        """
        height = data.size // width
        rows, row_bytes = self._rows.shape
        if not self._rows.flags.writeable or x % 4:
            reason = MISALIGNED if x % 4 else READ_ONLY
            raise image_violation("store", max(0, y * row_bytes + x), width, 0, reason, self._name)
        top, left = max(0, -y), max(0, -x)
        bottom, right = min(height, rows - y), min(width, row_bytes - x)
        if top or left or bottom < height or right < width:
            self._dropped.writes += 1
        if top < bottom and left < right:
            block = data.reshape(height, width)[top:bottom, left:right]
            self._rows[y + top : y + bottom, x + left : x + right] = block
