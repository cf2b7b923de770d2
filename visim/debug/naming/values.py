"""Values of source variables: bytes of each channel as arrays of the type that they have.

The last axis of an array is the channel: `v[2]` and `p.x` are rows of all channels, as `v` of a
scalar type is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from visim.binary.dwarf.types import Kind, SourceType
from visim.debug.engine.memory import HOST, SCRATCH, SLM

_COMPONENTS = {
    **{name: number for number, name in enumerate("xyzw")},
    **{f"s{digit}": number for number, digit in enumerate("0123456789abcdef")},
    **{f"s{digit}": number for number, digit in enumerate("ABCDEF", 10)},
}
"""How OpenCL C names the components of a vector (6.1.7)."""
_SCALARS = {Kind.SIGNED: "i", Kind.UNSIGNED: "u", Kind.FLOAT: "f", Kind.POINTER: "u"}
_numpy: Any = np
_SIZES = {"i": {1, 2, 4, 8}, "u": {1, 2, 4, 8}, "f": {2, 4, 8}}


REGISTERS = "registers"
"""The space of what stands in a thread's registers: addresses are offsets in its image."""
_SPACES = ("", REGISTERS, HOST, SCRATCH, SLM)


class Spot(NamedTuple):
    """Bytes side by side that have a part of a value: a space, and the first one's address."""

    space: str
    start: int
    size: int


class Spots:
    """Where the bytes of a value are: a space and an address for each [channel, byte].

    What is computed, a constant or not known is nowhere.
    """

    def __init__(self, spaces: NDArray[np.uint8], starts: NDArray[np.int64]) -> None:
        self._spaces = spaces
        self._starts = starts

    @classmethod
    def nowhere(cls, channels: int, size: int) -> Spots:
        """Return those of a value that is nowhere yet."""
        return cls(np.zeros((channels, size), np.uint8), np.zeros((channels, size), np.int64))

    def put(self, lane: int, byte: int, spot: Spot) -> None:
        """Say where some bytes of a channel are, from a byte of the value on."""
        end = byte + spot.size
        self._spaces[lane, byte:end] = _SPACES.index(spot.space)
        self._starts[lane, byte:end] = np.arange(spot.start, spot.start + spot.size)

    def part(self, start: int, end: int) -> Spots:
        """Return those of some bytes of the value."""
        return Spots(self._spaces[:, start:end], self._starts[:, start:end])

    def of(self, lane: int) -> list[Spot]:
        """Return where a channel's bytes are, as few spots as there can be."""
        found: list[Spot] = []
        spaces: list[int] = self._spaces[lane].tolist()
        starts: list[int] = self._starts[lane].tolist()
        for space, start in zip(spaces, starts, strict=True):
            last, name = found[-1] if found else None, _SPACES[space]
            if last is not None and last.space == name and last.start + last.size == start:
                found[-1] = last._replace(size=last.size + 1)
            elif name:
                found.append(Spot(name, start, 1))
        return found

    @property
    def spaces(self) -> frozenset[str]:
        """The spaces in which any byte is."""
        numbers: list[int] = np.unique(self._spaces).tolist()
        return frozenset(_SPACES[one] for one in numbers if one)


class SourceValue:
    """What a variable of the source holds in each channel.

    `known` says of each byte of the type whether its place is known; the compiler may have removed
    parts of a structure.

    Args:
        kind: its type.
        octets: its bytes [channel, byte]; those that are not known are 0.
        known: which of them are known.
        spots: where they are.
        lost: the channels in which a pointer led nowhere; None: it did not, or there was none.
    """

    def __init__(
        self,
        kind: SourceType,
        octets: NDArray[np.uint8],
        known: NDArray[np.bool_],
        spots: Spots,
        lost: NDArray[np.bool_] | None = None,
    ) -> None:
        self.type = kind
        self.octets = octets
        self.known = known
        self.spots = spots
        self.lost = lost

    @property
    def width(self) -> int:
        """How many channels there are."""
        return len(self.octets)

    @property
    def is_known(self) -> bool:
        """Whether all of it is known."""
        return bool(self.known.all())

    @property
    def is_scalar(self) -> bool:
        """Whether it is one number in each channel."""
        return not self.type.members and self.type.kind is not Kind.ARRAY

    @property
    def is_pointer(self) -> bool:
        """Whether it is a pointer to what has a size."""
        return self.type.target is not None and self.type.target.type.size > 0

    def row(self) -> NDArray[Any] | None:
        """Return the number of each channel; None if it is no number, or not known.

        Where a pointer led nowhere, it is masked.
        """
        found = self._row()
        if found is None or self.lost is None or not self.lost.any():
            return found
        return _numpy.ma.masked_array(found, mask=self.lost)

    def _row(self) -> NDArray[Any] | None:
        letter = "b" if self.type.kind is Kind.BOOLEAN else _SCALARS.get(self.type.kind)
        if letter is None or not self.is_known or not self.octets.shape[1]:
            return None
        if letter == "b":
            return self.octets[:, 0] != 0
        if self.type.size not in _SIZES[letter]:
            return None
        data = np.ascontiguousarray(self.octets[:, : self.type.size])
        return data.view(f"<{letter}{self.type.size}").reshape(-1)

    def array(self) -> Any:
        """Return a number of each channel, or numbers [element..., channel]; else itself.

        Structures stay what they are: they have members, and nothing can be computed with them.
        """
        if self.is_scalar:
            row = self.row()
            return self if row is None else row
        if self.type.kind is Kind.STRUCT or not self.type.count:
            return self
        parts = [self.element(n).array() for n in range(self.type.count)]
        if any(isinstance(one, SourceValue) for one in parts):
            return self
        masked = any(isinstance(one, np.ma.MaskedArray) for one in parts)
        return _numpy.ma.stack(parts) if masked else np.stack(parts)

    def element(self, number: int) -> SourceValue:
        """Return an element of an array; IndexError if it has no such."""
        kind = self.type.element
        if kind is None or not 0 <= number < self.type.count:
            raise IndexError(f"{self.type.name} has no element {number}")
        return self._part(kind, number * kind.size)

    def member(self, name: str) -> SourceValue | None:
        """Return a member of a structure, or a component of a vector; None if it has no such."""
        for one in self.type.members:
            if one.name == name:
                return self._part(one.type, one.offset)
        number = _COMPONENTS.get(name) if self.type.kind is Kind.ARRAY else None
        return self.element(number) if number is not None and number < self.type.count else None

    def _part(self, kind: SourceType, offset: int) -> SourceValue:
        end = offset + kind.size
        spots = self.spots.part(offset, end)
        octets, known = self.octets[:, offset:end], self.known[offset:end]
        return SourceValue(kind, octets, known, spots, self.lost)

    def parts(self) -> list[tuple[str, SourceValue]]:
        """Return members and elements with what is written behind the name to reach them."""
        if self.type.members:
            return [(f".{one.name}", self._part(one.type, one.offset)) for one in self.type.members]
        if self.type.kind is Kind.ARRAY:
            return [(f"[{n}]", self.element(n)) for n in range(self.type.count)]
        return []

    def of(self, lane: int) -> Any:
        """Return the value in a channel as JSON has it; "?" for what is not known."""
        if self.type.members:
            return {name[1:]: part.of(lane) for name, part in self.parts()}
        if self.type.kind is Kind.ARRAY:
            return [part.of(lane) for _, part in self.parts()]
        row = self._row()
        if row is None or self.is_lost(lane):
            return "?"
        return row[lane].item()

    def is_lost(self, lane: int) -> bool:
        """Whether a pointer led nowhere in a channel."""
        return self.lost is not None and bool(self.lost[lane])

    def all(self) -> list[Any]:
        """Return the values of all channels as JSON has them."""
        return [self.of(lane) for lane in range(self.width)]

    def text(self, lane: int) -> str:
        """Return the value in a channel as C writes it."""
        if self.type.members:
            inside = ", ".join(f"{name} = {part.text(lane)}" for name, part in self.parts())
            return f"{{{inside}}}"
        if self.type.kind is Kind.ARRAY:
            shown = [part.text(lane) for _, part in self.parts()[:_MOST]]
            more = ["..."] if self.type.count > _MOST else []
            return f"{{{', '.join([*shown, *more])}}}"
        row = self._row()
        if row is None or self.is_lost(lane):
            return "?"
        value = row[lane].item()
        if self.type.kind is Kind.POINTER:
            return hex(value)
        names = dict(self.type.values)
        return names.get(value, str(value)) if names else str(row[lane])


_MOST = 16

__all__ = ["REGISTERS", "SourceValue", "Spot", "Spots"]
