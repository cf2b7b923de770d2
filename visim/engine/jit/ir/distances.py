"""Which numbers are others and a constant, as names of LLVM IR: that spares checks and addresses.

Each name has a root and what is added to it, modulo a power of two: names of one root are at a
known distance. Roots are followed through variables that keep scalars of shapes.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

Place = tuple[Hashable, int]
"""A root, and what is added to it."""


@dataclass(frozen=True, slots=True)
class Extended:
    """The root of numbers of so many bits that zeros were put in front of.

    They are at their distance where sums of those bits do not wrap.
    """

    root: Hashable
    bits: int


@dataclass(frozen=True, slots=True)
class Behind:
    """The root of sums with one such number, which is at a distance from the root before it.

    What is added behind the extension does not wrap where the number does.
    """

    number: Extended
    distance: int


class Distances:
    """What is known of the numbers of one function."""

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}
        self._kept: dict[str, Place] = {}
        self._writes: dict[str, int] = {}

    def place(self, name: str) -> Place:
        """Return the root of a number and how far from there it is; that of literals is None."""
        if not name.startswith("%"):
            return None, int(name)
        return self._places.get(name, (name, 0))

    def number(self, name: str) -> int | None:
        """Return the number that a name stands for, if that is known."""
        root, distance = self.place(name)
        return distance if root is None else None

    def add(self, name: str, number: str, constant: int) -> None:
        """Note that a number is another one and a constant."""
        root, distance = self.place(number)
        if isinstance(root, Extended):
            root, distance = Behind(root, distance), 0
        self._places[name] = (root, distance + constant)

    def join(self, name: str, a: str, b: str) -> None:
        """Note that a number is the sum of two others, which others may be at a distance from."""
        (one, first), (other, second) = self.place(a), self.place(b)
        if not any(root is None or isinstance(root, Extended | Behind) for root in (one, other)):
            self._places[name] = (frozenset({one, other}), first + second)

    def cut(self, name: str, number: str, bits: int) -> None:
        """Note that a number has the low bits of another one."""
        root, distance = self.place(number)
        if isinstance(root, Behind) and bits <= root.number.bits:
            root, distance = root.number, root.distance + distance
        if not isinstance(root, Extended):
            root = root, bits
        elif bits <= root.bits:
            root = root.root if bits == root.bits else (root.root, bits)
        self._places[name] = (root, distance)

    def extend(self, name: str, number: str, bits: int) -> None:
        """Note that a number is another one of so many bits, with zeros in front."""
        root, distance = self.place(number)
        if root is not None:
            extended = root if isinstance(root, Extended) else Extended(root, bits)
            self._places[name] = (extended, distance)

    def keep(self, variable: str, number: str, *, once: bool) -> None:
        """Note what an instruction leaves in a variable; `once` says that no other one writes it.

        Two variables that one node writes from the same root stay at their distance wherever both
        have been written.
        """
        self._writes[variable] = self._writes.get(variable, 0) + 1
        self._kept.pop(variable, None)
        if once:
            self._kept[variable] = self.place(number)

    def load(self, name: str, variable: str, moment: Hashable) -> None:
        """Note that a number is what a variable has at a moment, in which only `keep` writes it."""
        now = (variable, moment, self._writes.get(variable, 0))
        self._places[name] = self._kept.get(variable, (now, 0))
