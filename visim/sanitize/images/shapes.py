"""The shapes of images: which bytes belong to a texel, and which texel to a byte."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Picture:
    """An image, or an array of two dimensions, as it is bound to a surface.

    Attributes:
        name: what messages call it.
        start: the address of its first byte.
        unit: the bytes of a texel.
        counts: how many texels it has along the axes of its kind, which stand close together.
        row_bytes: the bytes of a row, as messages of blocks see it.
        rows: how many rows it has then.
    """

    name: str
    start: int
    unit: int
    counts: tuple[int, ...]
    row_bytes: int
    rows: int

    @property
    def size(self) -> int:
        """The number of its bytes."""
        return self.row_bytes * self.rows

    def has(self, address: int) -> bool:
        """Whether a byte is of it."""
        return self.start <= address < self.start + self.size

    def texel(self, address: int) -> str:
        """Return what the texel of a byte is called."""
        number, found = (address - self.start) // self.unit, list[int]()
        for count in self.counts[:-1]:
            found.append(number % count)
            number //= count
        return f"{self.at((*found, number))} of {self.extent}"

    def at(self, coordinates: tuple[int, ...]) -> str:
        """Return what the texel at some coordinates is called; further ones do not count."""
        return f"{self.name}({', '.join(map(str, coordinates[: len(self.counts)]))})"

    @property
    def extent(self) -> str:
        """Its size in texels, as text."""
        return " x ".join(map(str, self.counts))


__all__ = ["Picture"]
