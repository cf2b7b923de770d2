"""Variables as webs: bytes that are accessed together, in elements as large as accesses allow.

Two accesses that have a byte in common are of one web. Its elements are as many bytes as divide all
of its accesses, so that reading is taking lanes, writing is inserting them, and what is always
accessed in the same way is one vector of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd

from visim.engine.jit.ir.places import place_offsets
from visim.engine.jit.mir.attributes import Bank, Home
from visim.sem.effects import Place
from visim.sem.expr import unsigned
from visim.types import BOOL, UD, DataType

Variable = tuple[Bank, str, int]
"""A variable's bank, its name and its number; those of file scope differ by their names only."""

Access = tuple[tuple[int, ...], int]
"""The offset of each lane, and the bytes of an element."""


@dataclass(frozen=True)
class Web:
    """Elements of a variable that become one value.

    `places` are where the elements are: bytes of a general variable, numbers of elements in other
    banks. `size` is what an element is, in the same units. `kind` is the type as which all access
    it, or an unsigned integer.
    """

    variable: Variable
    kind: DataType
    size: int
    places: tuple[int, ...]

    @cached_property
    def numbers(self) -> dict[int, int]:
        """The numbers of elements by where they are."""
        return {place: number for number, place in enumerate(self.places)}

    @property
    def lanes(self) -> int:
        """How many elements there are."""
        return len(self.places)

    @property
    def home(self) -> Home:
        """Where the elements are."""
        return Home(*self.variable, self.places)

    def picks(self, access: Access) -> tuple[int, ...]:
        """Return the elements that an access has, in the order of its lanes."""
        offsets, size = access
        numbers, step = self.numbers, self.size
        if size == step:
            return tuple(numbers[offset] for offset in offsets)
        parts = range(0, size, step)
        return tuple(numbers[offset + part] for offset in offsets for part in parts)


def variable_of(place: Place) -> Variable:
    """Return the variable of a place."""
    variable = place.variable
    return Bank.GENERAL, variable.name, variable.index


def access_of(place: Place) -> Access:
    """Return which bytes of its variable a place is."""
    return place_offsets(place), place.type.bytes


class Webs:
    """The webs of some variables, made of all accesses to them."""

    def __init__(self, places: Iterable[Place]) -> None:
        accesses: dict[Variable, dict[Access, int]] = {}
        kinds: dict[tuple[Variable, Access], DataType] = {}
        for place in places:
            access, variable = access_of(place), variable_of(place)
            known = accesses.setdefault(variable, {})
            if access not in known:
                known[access] = _bytes_of(access)
                kinds[variable, access] = place.type
            elif kinds[variable, access] is not place.type:
                kinds[variable, access] = unsigned(place.type.bits)
        self._of: dict[tuple[Variable, Access], Web] = {}
        for variable, known in accesses.items():
            for octets, members in _parted(known):
                found = {kinds[variable, access] for access in members}
                web = _web(variable, octets, members, found)
                for access in members:
                    self._of[variable, access] = web

    def of(self, place: Place) -> Web:
        """Return the web of a place."""
        return self._of[variable_of(place), access_of(place)]

    def every(self) -> list[Web]:
        """Return all webs, each once."""
        return list(dict.fromkeys(self._of.values()))


def whole(bank: Bank, name: str, count: int) -> Web:
    """Return the web that a variable of another bank is."""
    kind = BOOL if bank is Bank.PREDICATE else UD
    return Web((bank, name, 0), kind, 1, tuple(range(count)))


def _bytes_of(access: Access) -> int:
    """Return the bytes of an access as the bits of a number, from byte 0 on."""
    offsets, size = access
    ones, found = (1 << size) - 1, 0
    for offset in set(offsets):
        found |= ones << offset
    return found


def _parted(accesses: dict[Access, int]) -> list[tuple[int, list[Access]]]:
    """Return accesses to a variable by the bytes that they have, apart from all others."""
    groups: list[tuple[int, list[Access]]] = []
    for access, own in accesses.items():
        octets, members, others = own, [access], list[tuple[int, list[Access]]]()
        for group in groups:
            if group[0] & octets:
                octets |= group[0]
                members += group[1]
            else:
                others.append(group)
        groups = [*others, (octets, members)]
    return groups


def _web(variable: Variable, octets: int, members: Sequence[Access], kinds: set[DataType]) -> Web:
    """Return the web that some accesses have, of their type if they agree."""
    first = (octets & -octets).bit_length() - 1
    size = 8
    for offsets, bytes_each in members:
        size = gcd(size, bytes_each, *(offset - first for offset in set(offsets)))
    places = [at for at in range(first, octets.bit_length(), size) if octets >> at & 1]
    kind = unsigned(8 * size)
    if len(kinds) == 1 and next(iter(kinds)).bytes == size:
        [kind] = kinds
    return Web(variable, kind, size, tuple(places))


__all__ = ["Access", "Variable", "Web", "Webs", "access_of", "variable_of", "whole"]
