"""Where undefined values in local and private memory come from: who read them first, and where.

A kernel may store again what it has read of what nothing has written. Who reads that later uses a
value whose reason is the first read, which is often in another place, and of another work-item.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from visim.engine.accesses import AccessSite
from visim.sem.effects import Space


@dataclass(frozen=True, slots=True)
class Extent:
    """What a message reaches for a channel: `components` elements, each of `size` bytes."""

    memory: Space
    size: int
    components: int = 1

    def addresses(self, first: int) -> range:
        """Return where the elements are, by the address of the first one."""
        return range(first, first + self.size * self.components, self.size)


@dataclass(frozen=True, slots=True)
class Origin:
    """The first read of an undefined value: by which thread and channel, and of which address."""

    site: AccessSite
    thread: int
    channel: int | None
    address: int
    extent: Extent


@dataclass(frozen=True, slots=True)
class Read:
    """A read of undefined bytes: the site, its channels and what they read, by address.

    `origins` has for each channel the first read of what it read, if that is another one.
    """

    site: AccessSite
    thread: int
    channels: tuple[int, ...]
    addresses: tuple[int, ...]
    extent: Extent
    origins: tuple[Origin | None, ...]

    def at(self, channel: int | None) -> int:
        """Return the place of a channel among those that read, or the first."""
        return self.channels.index(channel) if channel in self.channels else 0

    def origin(self, channel: int | None) -> Origin:
        """Return where what a channel has read comes from."""
        at = self.at(channel)
        known = self.origins[at] if at < len(self.origins) else None
        address = self.addresses[at] if at < len(self.addresses) else 0
        return known or Origin(self.site, self.thread, channel, address, self.extent)


class Origins:
    """What is known of the undefined values that a group keeps in local and private memory."""

    def __init__(self) -> None:
        self._known: dict[tuple[Space, int, int], Origin] = {}

    def keep(self, extent: Extent, thread: int, first: int, origin: Origin) -> None:
        """Note where the values come from that a channel stores."""
        for address in extent.addresses(first):
            self._known[_key(extent, thread, address)] = origin

    def of(
        self, extent: Extent, thread: int, addresses: Iterable[int]
    ) -> tuple[Origin | None, ...]:
        """Return for each channel where any of what it reads comes from, if a store says so."""
        return tuple(self._first(extent, thread, address) for address in addresses)

    def _first(self, extent: Extent, thread: int, first: int) -> Origin | None:
        for address in extent.addresses(first):
            found = self._known.get(_key(extent, thread, address))
            if found is not None:
                return found
        return None


def _key(extent: Extent, thread: int, address: int) -> tuple[Space, int, int]:
    """Return a name for a byte; each thread has scratch memory of its own."""
    return extent.memory, thread if extent.memory is Space.SCRATCH else 0, address


__all__ = ["Extent", "Origin", "Origins", "Read"]
