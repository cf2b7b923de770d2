"""The messages and call-outs of a module, by the numbers that native code knows them by."""

from __future__ import annotations

from dataclasses import dataclass, field

from visim.engine.jit.analysis.blocks import MemoryMessage
from visim.engine.jit.analysis.callouts import CallOut
from visim.engine.jit.layout import EXCHANGE_BYTES
from visim.errors import InternalError


@dataclass(frozen=True, slots=True)
class SiteInfo:
    """A message of the program: its effect and place.

    `parts` are the program counters of the instructions that move its lanes, each as many as the
    others.
    """

    effect: MemoryMessage
    unit: int
    pc: int
    parts: tuple[int, ...]


@dataclass
class Sites:
    """All messages and call-outs of a module, by number.

    `exchange_bytes` is the size of the exchange area that they need, `adding` are the numbers of
    those that may be tallied. `surfaces` are those that messages reach, as bits; None: any.
    """

    known: list[SiteInfo | CallOut] = field(default_factory=list["SiteInfo | CallOut"])
    exchange_bytes: int = EXCHANGE_BYTES
    adding: list[int] = field(default_factory=list[int])
    surfaces: int | None = 0

    def add(self, effect: MemoryMessage, unit: int, pc: int, parts: tuple[int, ...] = ()) -> int:
        """Give a message its number; its lanes are those of several instructions with `parts`."""
        self.known.append(SiteInfo(effect, unit, pc, parts or (pc,)))
        return len(self.known) - 1

    def number(self, effect: MemoryMessage, unit: int) -> int:
        """Return the number that a message of a unit got last."""
        for number in range(len(self.known) - 1, -1, -1):
            one = self.known[number]
            if isinstance(one, SiteInfo) and one.effect is effect and one.unit == unit:
                return number
        raise InternalError("a message without a number")

    def reach(self, surface: int | None) -> None:
        """Note that a message reaches a surface, None: one that is not known."""
        if surface is None:
            self.surfaces = None
        elif self.surfaces is not None:
            self.surfaces |= 1 << surface

    def add_callout(self, callout: CallOut, size: int) -> int:
        """Give a call-out, whose values take `size` bytes, its number."""
        self.known.append(callout)
        self.reserve(size)
        return len(self.known) - 1

    def reserve(self, size: int) -> None:
        """Make sure that the exchange area has `size` bytes."""
        self.exchange_bytes = max(self.exchange_bytes, size)
