"""What the L3 holds when the groups of a sample start: the launch has run for long by then.

How many lines all groups share, and how many are each stretch's own, is estimated from stretches of
groups that were chosen at random and have lines in common, as catches of fish have marked ones
(Lincoln and Petersen). Shared lines are there if they fit; what is the stretches' own goes through,
and where that is more than the L3 holds, it is full of other groups' lines, which have to go first.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from visim.timing.arrays import Work
from visim.timing.core.memory import set_of
from visim.timing.machine import Machine
from visim.timing.model import CacheContent
from visim.timing.result import Left
from visim.timing.traces import LINE_BYTES

_LEAST, _MOST_PAIRS = 3, 12
"""Stretches that are needed for an estimate, and pairs and threes of them that are looked at."""
_FOREIGN = 1 << 61
"""Lines of other groups: no address has such a number."""
_FOREIGN_FIRST = 1 << 60
"""Such that first caches hold, too."""
_MIX = np.uint64(0x9E3779B97F4A7C15)
"""Scatters line numbers: the golden ratio, as Knuth proposes for hashing."""

_Lines = NDArray[np.int64]
_sets_of: Callable[[_Lines, int], _Lines] = cast("Any", set_of)  # Its arithmetic does arrays, too.


def lines_of(work: Work, sizes: Sequence[int]) -> list[_Lines]:
    """Return the lines that each stretch of groups touches, each once.

    Args:
        work: the threads.
        sizes: how many groups each stretch has.
    """
    traffic = work.traffic
    if traffic is None:
        return [np.zeros(0, np.int64) for _ in sizes]
    threads = list(itertools.accumulate(work.groups, initial=0))
    groups = list(itertools.accumulate(sizes, initial=0))
    ends = [min(one, len(work.groups)) for one in groups]
    places = [traffic.lines_at[traffic.entry_at[threads[one]]] for one in ends]
    return [np.unique(traffic.lines[a:b]) for a, b in itertools.pairwise(places)]


@dataclass(frozen=True, slots=True)
class Footprint:
    """What stretches of groups touch, in lines.

    Each has `size` of them, of which `common` are of a set of `shared` lines that all stretches
    choose from; the others are its own.
    """

    size: float
    common: float
    shared: float


def footprint_of(stretches: Sequence[_Lines]) -> Footprint:
    """Return what stretches touch of which some, three at least, were chosen at random.

    Two of them have common**2 / shared lines of the set both, three common**3 / shared**2.
    """
    size = sum(map(len, stretches)) / len(stretches)
    pairs = [np.intersect1d(a, b, assume_unique=True).size for a, b in _some(stretches, 2)]
    threes = [
        np.intersect1d(np.intersect1d(a, b, assume_unique=True), c, assume_unique=True).size
        for a, b, c in _some(stretches, 3)
    ]
    two, three = sum(pairs) / len(pairs), sum(threes) / len(threes)
    if not three:
        return Footprint(size, 0.0, 0.0)
    shared = two**3 / three**2
    return Footprint(size, min(size, math.sqrt(two * shared)), shared)


def _some(stretches: Sequence[_Lines], size: int) -> Iterator[tuple[_Lines, ...]]:
    return itertools.islice(itertools.combinations(stretches, size), _MOST_PAIRS)


def before_of(
    whole: Machine,
    part: Machine,
    stretches: Sequence[_Lines],
    chosen: Sequence[int],
    count: float,
    left: Left,
) -> tuple[Machine, CacheContent | None, float]:
    """Return the part of a machine with the L3 that a sample finds, and what caches hold.

    The last number is the part of the launch in which the L3 fills: nothing has to go from it.

    Args:
        whole: the machine.
        part: the part of it, with its share.
        stretches: the lines of each stretch of the sample.
        chosen: which of these were chosen at random.
        count: how many stretches the launch has.
        left: what caches hold after a sample that found them empty.
    """
    random = [stretches[number] for number in chosen if stretches[number].size]
    if len(random) < _LEAST or not whole.number("l3_bytes"):
        return part, None, 0.0
    found = footprint_of(random)
    room = whole.number("l3_bytes") / LINE_BYTES
    known = np.unique(np.concatenate(stretches))
    again = 0.0
    if found.shared:
        seldom = found.shared / (found.common * count)
        again = found.common / found.size * max(0.0, held(found, room, count) - seldom)
    kept = known[_some_of(known, again)]
    larger = part.with_facts({"l3_bytes": whole.number("l3_bytes")})
    lines = found.shared + (found.size - found.common) * count
    if lines <= room:
        return larger, _content(larger, kept, None), 0.0
    # Lines that first caches have yet to write are in the L3, too, as they were.
    first = _FOREIGN_FIRST + np.arange(left.first, dtype=np.int64)
    content = _content(larger, np.concatenate([kept, first]), left.changed)
    dirty = _some_of(np.arange(left.first, dtype=np.int64), left.first_changed)
    filling = room / lines * (1 - found.common / found.size)
    return larger, replace(content, first=first, first_dirty=dirty.astype(np.int64)), filling


def held(found: Footprint, room: float, count: float) -> float:
    """Return the part of the shared lines that an L3 with room for so many lines holds.

    Of lines that are replaced when they were not used for longest, those are there that came in
    as many stretches as fill it (Che's approximation: Che, Tung and Wang, 2002). Stretches bring
    their own lines, too.

    Args:
        found: what stretches touch; they have shared lines.
        room: the lines that the L3 has room for.
        count: how many stretches the launch has.
    """

    def lines_after(stretches: float) -> float:
        came = 1 - math.exp(-found.common * stretches / found.shared)
        return found.shared * came + (found.size - found.common) * stretches

    low, high = 0.0, count
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if lines_after(middle) < room else (low, middle)
    return 1 - math.exp(-found.common * high / found.shared)


def _some_of(numbers: _Lines, part: float) -> NDArray[np.bool_]:
    """Return which of some numbers are chosen, so large a part of them."""
    mixed = (numbers.astype(np.uint64) * _MIX) >> np.uint64(32)
    return mixed < np.uint64(int(part * (1 << 32)))


def _content(machine: Machine, lines: _Lines, changed: float | None) -> CacheContent:
    """Return an L3 that holds some lines; with `changed` the rest is full of others."""
    ways = machine.number("l3_ways")
    sets = machine.number("l3_bytes") // LINE_BYTES // ways
    lines_at = np.full((sets, ways), -1, np.int64)
    dirty = np.zeros((sets, ways), np.int64)
    if changed is not None:
        numbers = np.arange(sets * ways, dtype=np.int64).reshape(sets, ways)
        lines_at[:] = _FOREIGN + numbers
        dirty[:] = _some_of(numbers, changed)
    places = _sets_of(lines, sets)
    order = np.argsort(places, kind="stable")
    first = np.searchsorted(places[order], places[order])
    rank = np.arange(order.size) - first
    fits = rank < ways
    # Places of a set are given up one after another: where they begin says how old lines are.
    turn = (places[order].astype(np.uint64) * _MIX) >> np.uint64(40)
    at = places[order][fits], ((rank + turn.astype(np.int64)) % ways)[fits]
    lines_at[at], dirty[at] = lines[order][fits], 0
    return CacheContent(lines_at.reshape(-1), dirty.reshape(-1))


__all__ = ["Footprint", "before_of", "footprint_of", "held", "lines_of"]
