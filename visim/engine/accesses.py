"""Memory accesses and synchronizations of a thread as observers get them: sites and words.

An instruction that sends a message or synchronizes is a site. Each time that it is executed with
or without channels, a few 64-bit words are added to the thread's log, before the access is done:

    site | index << 32,  a mask for each 64 lanes,  the address of each lane

Both engines write this form. `index` is the binding table index of a surface, or the number of a
named barrier, else 0. What has no addresses (pictures, barriers, fences) has neither masks nor
addresses. Knows no engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from visim.sem.effects import (
    Atomic,
    Barrier,
    BarrierSignal,
    BarrierWait,
    Effect,
    Fence,
    FusedExchange,
    Load,
    LoadBlock,
    NamedBarrierSignal,
    NamedBarrierWait,
    Request,
    Space,
    Store,
    StoreBlock,
    Watch,
    Yield,
)
from visim.sem.expr import Expr

Words = NDArray[np.uint64]

_MEETINGS: dict[type[Effect], str] = {
    Barrier: "barrier",
    BarrierSignal: "signal",
    BarrierWait: "wait",
    NamedBarrierSignal: "signal",
    NamedBarrierWait: "wait",
    FusedExchange: "exchange",
    Yield: "yield",
}
WATCH = "watch"
"""The kind of what `Watch` effects tell; entries without channels are left out."""
OF_GROUP = "group"
"""The operation of a fence that orders accesses for the thread's own group only."""


SURFACE_SHIFT = 48
"""Of an access to a surface that a watch tells of, the index stands from this bit on."""


@dataclass(frozen=True, slots=True)
class AccessSite:
    """An instruction whose accesses are reported.

    `kind` is "load", "store", "atomic", "request" (pictures: samplers, typed surfaces, media
    blocks), or how threads meet: "barrier", "signal", "wait", "exchange" (a fused pair), "yield",
    "fence". `space` is the value of a `visim.sem.effects.Space`, or empty; of a fence it is what
    it orders, SLM or flat for all that is global, and `operation` whether its scope is the group.
    `lanes` is the number of addresses, `size` the
    bytes that each of them reaches, `operation` that of an atomic or request. Instrumented kernels
    also have "watch": what `operation` names, with a number for each lane in place of an address.
    """

    unit: int
    pc: int
    kind: str
    space: str = ""
    lanes: int = 0
    size: int = 0
    operation: str = ""

    @property
    def masks(self) -> int:
        """How many words of masks an entry has."""
        return -(-self.lanes // 64)

    @property
    def words(self) -> int:
        """How many words an entry has."""
        return 1 + self.masks + self.lanes


@dataclass(frozen=True, slots=True)
class Access:
    """One execution of a site: the channels that were on, and the address of each of them."""

    site: AccessSite
    index: int
    channels: tuple[int, ...]
    addresses: tuple[int, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Accesses:
    """What a thread did to memory and with other threads since it was last reported, in order.

    Going through it gives one `Access` after another; `words` is the form of this module, by the
    numbers of `sites`.
    """

    group: tuple[int, int, int]
    thread: int
    sites: Sequence[AccessSite]
    words: Words

    def __repr__(self) -> str:
        return f"<Accesses of thread {self.thread} in group {self.group}: {self.words.size} words>"

    def __iter__(self) -> Iterator[Access]:
        place = 0
        while place < self.words.size:
            head = int(self.words[place])
            site = self.sites[head & 0xFFFFFFFF]
            entry = self.words[place + 1 : place + site.words]
            yield _access(site, head >> 32, entry)
            place += site.words


def _access(site: AccessSite, index: int, entry: Words) -> Access:
    on, addresses = lanes_on(site, entry)
    return Access(site, index, tuple(on.tolist()), tuple(addresses.tolist()))


def lanes_on(site: AccessSite, entry: Words) -> tuple[NDArray[np.intp], Words]:
    """Return which lanes are on in an entry, in order, and the word that each of them has.

    Args:
        site: where the entry comes from.
        entry: its words behind the head, or more.
    """
    octets = entry[: site.masks].view(np.uint8)
    on = np.flatnonzero(np.unpackbits(octets, count=site.lanes, bitorder="little"))
    return on, entry[site.masks : site.masks + site.lanes][on]


def access_site(unit: int, pc: int, effect: Effect) -> AccessSite | None:
    """Return the site of an effect, or None when it is not reported."""
    match effect:
        case Load() | LoadBlock() | Store() | StoreBlock() | Atomic():
            return None if effect.space is Space.SHADOW else _message_site(unit, pc, effect)
        case Request(operation):
            return AccessSite(unit, pc, "request", "surface", operation=type(operation).__name__)
        case Watch(name, values):
            return AccessSite(unit, pc, WATCH, lanes=values.lanes, operation=name)
        case Fence(memory, of_group):
            ordered = "" if memory is None else memory.value
            return AccessSite(unit, pc, "fence", ordered, operation=OF_GROUP if of_group else "")
        case _:
            kind = _MEETINGS.get(type(effect))
            return None if kind is None else AccessSite(unit, pc, kind)


def _message_site(
    unit: int, pc: int, effect: Load | LoadBlock | Store | StoreBlock | Atomic
) -> AccessSite:
    match effect:
        case Load(space, _, addresses, kind, components):
            size = kind.bytes * components
            return AccessSite(unit, pc, "load", space.value, addresses.lanes, size)
        case LoadBlock(space, _, _, kind, count):
            return AccessSite(unit, pc, "load", space.value, 1, kind.bytes * count)
        case Store(space, _, addresses, values):
            size = sum(value.type.bytes for value in values)
            return AccessSite(unit, pc, "store", space.value, addresses.lanes, size)
        case StoreBlock(space, _, _, value):
            return AccessSite(unit, pc, "store", space.value, 1, value.type.bytes * value.lanes)
        case Atomic(operation, space, _, addresses, kind):
            name = operation.value
            return AccessSite(unit, pc, "atomic", space.value, addresses.lanes, kind.bytes, name)


class SiteTable:
    """Gives sites their numbers; equal ones have the same."""

    def __init__(self) -> None:
        self.sites: list[AccessSite] = []
        self._numbers: dict[AccessSite, int] = {}

    def number(self, unit: int, pc: int, effect: Effect) -> int | None:
        """Return the number of an effect's site, or None when it is not reported."""
        site = access_site(unit, pc, effect)
        if site is None:
            return None
        found = self._numbers.get(site)
        if found is None:
            found = self._numbers[site] = len(self.sites)
            self.sites.append(site)
        return found


def where(effect: Effect) -> tuple[Expr | None, Expr | None, Expr | None]:
    """Return what an effect's entry is made of: its index, its addresses and their mask."""
    match effect:
        case Load() | Store() | Atomic():
            return effect.surface, effect.addresses, effect.mask
        case LoadBlock() | StoreBlock():
            return effect.surface, effect.address, effect.mask
        case Request():
            return effect.surface, None, None
        case NamedBarrierSignal(number) | NamedBarrierWait(number):
            return number, None, None
        case Watch(values=values, mask=mask):
            return None, values, mask
        case _:
            return None, None, None


__all__ = [
    "SURFACE_SHIFT",
    "WATCH",
    "Access",
    "AccessSite",
    "Accesses",
    "SiteTable",
    "Words",
    "access_site",
    "lanes_on",
    "where",
]
