"""Memory as a launch names it: what arguments are of flat and of local memory."""

from __future__ import annotations

from visim.records import record


@record
class Extent:
    """Memory that a launch gives a kernel: its name, where it starts, and its bytes.

    `is_local` is what stands in local memory. `whole` is where the buffer starts, and its bytes,
    that a sub-buffer is part of. `element` are the bytes of what its pointer points to, if known.
    """

    name: str
    start: int
    size: int
    is_local: bool = False
    whole: tuple[int, int] | None = None
    element: int | None = None

    @property
    def end(self) -> int:
        """The address behind the last byte."""
        return self.start + self.size

    def distance(self, address: int) -> int:
        """Return how many bytes an address is away."""
        return max(self.start - address, address - self.end + 1, 0)


__all__ = ["Extent"]
