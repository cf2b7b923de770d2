"""Going through what engines have noted of a thread, entry by entry, without taking it apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from visim.engine.accesses import WATCH, Accesses, AccessSite, Words, lanes_on

Lanes = NDArray[np.intp]
Entry = tuple[int, AccessSite, int]
"""Where an entry begins among the words, its site, and the index behind the site's number."""


def entries(accesses: Accesses) -> Iterator[Entry]:
    """Yield the entries of what a thread did, in order."""
    words, sites = accesses.words.data, accesses.sites
    place, end = 0, len(words)
    lengths = [site.words for site in sites]
    while place < end:
        head = words[place]
        number = head & 0xFFFFFFFF
        yield place, sites[number], head >> 32
        place += lengths[number]


def watches(accesses: Accesses, prefix: str) -> Iterator[tuple[AccessSite, Lanes, Words]]:
    """Yield what a thread told at watches whose names begin so: site, lanes that are on, values."""
    words = accesses.words
    for place, site, _ in entries(accesses):
        if site.kind == WATCH and site.operation.startswith(prefix):
            yield site, *lanes_on(site, words[place + 1 : place + site.words])


def mask_of(words: Words, place: int, site: AccessSite) -> int:
    """Return the lanes that are on in an entry, as the bits of an integer."""
    found = 0
    for number in range(site.masks):
        found |= int(words[place + 1 + number]) << (64 * number)
    return found


def watched(sites: Sequence[AccessSite], name: str) -> frozenset[int]:
    """Return the numbers of the sites at which a `Watch` of some name tells something."""
    return frozenset(
        number for number, site in enumerate(sites) if site.kind == WATCH and site.operation == name
    )


__all__ = ["Entry", "entries", "mask_of", "watched", "watches"]
