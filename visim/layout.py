"""Bytes in and out, little-endian and unpadded, with the place of every failure.

Knows widths, no instruction: kinds and container records ask for what comes next.
"""

from __future__ import annotations

from visim.diag import ByteSpan
from visim.errors import InputError


class Reader:
    """Reads integers from `data[position:end]`; running out raises `InputError`."""

    __slots__ = ("data", "end", "file", "position")

    def __init__(self, data: bytes, file: str, position: int = 0, end: int | None = None) -> None:
        self.data = data
        self.file = file
        self.position = position
        self.end = len(data) if end is None else end

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        stop = self.position + count
        if count < 0 or stop > self.end:
            raise InputError(
                f"{count} bytes expected, {self.end - self.position} left",
                ByteSpan(self.file, self.position, max(1, self.end - self.position)),
            )
        piece = self.data[self.position : stop]
        self.position = stop
        return piece

    def unsigned(self, width: int) -> int:
        """Return an unsigned integer of `width` bytes."""
        return int.from_bytes(self.take(width), "little")

    def signed(self, width: int) -> int:
        """Return a signed integer of `width` bytes."""
        return int.from_bytes(self.take(width), "little", signed=True)

    def failure(self, message: str, length: int = 1) -> InputError:
        """Return an error about the `length` bytes just read."""
        return InputError(message, ByteSpan(self.file, self.position - length, length))


class Writer:
    """Collects bytes."""

    __slots__ = ("data",)

    def __init__(self) -> None:
        self.data = bytearray()

    def unsigned(self, value: int, width: int) -> None:
        """Append the low `width` bytes of `value`."""
        self.data += (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
