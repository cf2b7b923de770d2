"""Sampling of large launches: some stretches of groups on a part of the machine, for all of them.

Groups are taken in stretches of as many as a part of the machine holds at once. Stretches whose
threads execute about the same blocks equally often are one cluster (block vectors, as SimPoint has
them: Sherwood et al., ASPLOS 2002); of each cluster a few are kept, chosen at random, each with its
neighbours before it, so that caches and cores are as they would be. The part of the machine has its
share of caches and bandwidths (a scale model: Eyerman et al., HPCA 2024).

What the kept stretches take, times how many there are, is the time of the launch. The error that is
stated is how much they differ within their clusters, and what was measured of parts of machines.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from visim.engine.accesses import Accesses
from visim.engine.observers import BlockPlace, ThreadPath
from visim.engine.schedule import Dependency
from visim.timing.machine import Machine
from visim.timing.model import Run
from visim.timing.paths import Paths
from visim.timing.result import LineTiming, Sample, TimingResult
from visim.timing.traces import LINE_BYTES, Traces

KEPT = 3
"""Stretches of a cluster that are timed."""
WAVES = 4
"""A launch that fills the machine less often is timed as a whole."""
_PARTS = 10
"""The machine is cut into about so many parts."""
_ALIKE = 0.1
"""Stretches are of one cluster if their vectors differ by less than this part."""
_MOST_CLUSTERS = 24
_LARGE = 200
"""A launch of so many stretches runs unwatched but for some, which are chosen before."""
_WATCHED = 32
"""Stretches that then stand for all, one somewhere in each of so many parts of the launch."""
_RECENT = 64
"""Stretches that are remembered: a row of groups may be so long."""
_CONFIDENCE = 1.96
"""Standard errors on either side that hold 95 % of a normal distribution."""
_OF_PARTS = 0.15
"""What a part of a machine, and the guess of what its L3 holds, may be off: docs/timing.md."""
_SCATTERED = 0.15
"""What they may be off more where all lines are scattered: atomics, and many lines a message."""
_UNKNOWN_SPREAD = 0.1
"""The spread that a cluster is taken to have of which only one stretch was timed."""

_Vector = list[NDArray[np.float64]]
"""How many instructions were executed in each block, by table of blocks."""


@dataclass(slots=True)
class _Group:
    """A group: its place, the launch's memory, the ways of its threads, and what they accessed."""

    place: tuple[int, int]
    memory: Sequence[tuple[int, int]] = ()
    paths: list[ThreadPath] = field(default_factory=list[ThreadPath])
    accesses: list[Accesses] = field(default_factory=list[Accesses])


@dataclass(slots=True)
class _Stretch:
    """Successive groups; `number` counts stretches from 0."""

    number: int
    groups: list[_Group] = field(default_factory=list[_Group])
    vector: _Vector = field(default_factory=list[NDArray[np.float64]])


@dataclass(slots=True)
class _Cluster:
    """Stretches that are alike: the first one's vector, how many, and those that are kept.

    So many stand for all that were not `seen`, too.
    """

    vector: _Vector
    count: float = 0
    seen: int = 0
    kept: list[list[_Stretch]] = field(default_factory=list["list[_Stretch]"])
    """Each behind those before it that bring lines which it uses, too."""


def part_of(machine: Machine) -> tuple[Machine, int]:
    """Return a part of a machine with its share of all that subslices share, and how many it has.

    Returns:
        The part, and the number of such parts in the machine.
    """
    cores = machine.number("cores_per_subslice")
    whole = max(1, machine.number("eus") // cores)
    own = max(1, round(whole / _PARTS))
    parts = max(1, whole // own)
    if parts == 1:
        return machine, 1
    shared = {
        name: max(1, machine.number(name) // parts)
        for name in ("l3_bytes", "l3_banks", "l3_rate", "dram_rate")
    }
    ways = machine.number("l3_ways")
    shared["l3_bytes"] = max(shared["l3_bytes"], 64 * ways)
    ranges = {name: machine.facts[name].range for name in shared}
    found = machine.with_facts({**shared, "eus": own * cores})
    facts = {
        name: replace(found.facts[name], range=(ends[0] // parts, ends[1] // parts))
        for name, ends in ranges.items()
        if ends is not None
    }
    return replace(found, facts={**found.facts, **facts}), parts


class Sampler:
    """Sees all groups of a launch and keeps some.

    Args:
        size: the groups of a stretch.
        parts: how often the part of the machine that holds a stretch is in it.
        dependency: of a thread space; those that have one are not sampled.
    """

    def __init__(self, size: int, parts: int, dependency: Dependency = "none") -> None:
        self._size = max(1, size)
        self._parts = parts
        self._dependency = dependency
        self._tables: list[Sequence[BlockPlace]] = []
        self._weights: list[NDArray[np.float64]] = []
        self._clusters: list[_Cluster] = []
        self._random = random.Random(0)
        self._all: list[_Stretch] | None = []
        self._first: _Stretch | None = None
        self._recent: deque[_Stretch] = deque(maxlen=_RECENT)
        self._row = 1
        self._now = _Stretch(0)
        self._stands_for: dict[int, float] = {}
        self._next: deque[int] = deque()
        self._awaited = 0
        self.groups = 0
        self.watched = 0

    def begin_group(self, place: tuple[int, int], memory: Sequence[tuple[int, int]] = ()) -> None:
        """Begin a group."""
        if len(self._now.groups) == self._size:
            self._end_stretch()
        self._now.groups.append(_Group(place, memory))
        self._row = max(self._row, place[0] + 1)
        if self._awaited:
            self._awaited -= 1
        else:
            self.groups += 1

    def choose(self, groups: int, row: int) -> Sequence[range] | None:
        """Choose stretches of a launch whose first group was seen; None: all are to be seen.

        Args:
            groups: how many groups it has.
            row: how many of them are in a row.
        """
        inner = -(-groups // self._size) - 3
        if inner < _LARGE or self.groups != 1:
            return None
        self._row = row
        edges = [1 + part * inner // _WATCHED for part in range(_WATCHED + 1)]
        chosen = [self._random.randrange(*ends) for ends in itertools.pairwise(edges)]
        before = [one for number in chosen for one in self._before(number) if one > 0]
        self._stands_for = dict.fromkeys([0, *before, inner + 1, inner + 2], 0.0)
        self._stands_for |= dict.fromkeys(chosen, inner / _WATCHED)
        order = sorted(self._stands_for)
        found = [range(one * self._size, min(groups, (one + 1) * self._size)) for one in order]
        self._next, self._awaited = deque(order[1:]), sum(map(len, found)) - 1
        self._all, self.watched, self.groups = None, _WATCHED, groups
        return found

    def add_path(self, path: ThreadPath) -> None:
        """Add the way of a thread."""
        self._now.groups[-1].paths.append(path)

    def add_accesses(self, accesses: Accesses) -> None:
        """Add what a thread accessed."""
        self._now.groups[-1].accesses.append(accesses)

    def _end_stretch(self) -> None:
        number = self._next.popleft() if self._next else self._now.number + 1
        done, self._now = self._now, _Stretch(number)
        if self._all is not None:
            self._all.append(done)
            if len(self._all) > WAVES * self._parts:
                known, self._all = self._all, None
                for one in known:
                    self._sort(one)
            return
        self._sort(done)

    def _sort(self, stretch: _Stretch) -> None:
        """Put a stretch into its cluster, and keep it or let it go."""
        before = self._neighbours(stretch)
        self._recent.append(stretch)
        if self._first is None:
            self._first = stretch
            return
        stands_for = self._stands_for.get(stretch.number, 1.0)
        if not stands_for:
            return
        stretch.vector = self._vector(stretch)
        cluster = self._cluster(stretch.vector)
        cluster.count += stands_for
        cluster.seen += 1
        if len(cluster.kept) < KEPT:
            cluster.kept.append([*before, stretch])
            return
        place = self._random.randrange(cluster.seen)
        if place < KEPT:
            cluster.kept[place] = [*before, stretch]

    def _neighbours(self, stretch: _Stretch) -> list[_Stretch]:
        """Return the stretch before one, and those with the groups of the row of groups before."""
        wanted = self._before(stretch.number)
        return [one for one in self._recent if one.number in wanted]

    def _before(self, number: int) -> set[int]:
        row = -(-self._row // self._size)
        return {number - 1, number - row, number - row + 1} - {number}

    def _cluster(self, vector: _Vector) -> _Cluster:
        """Return the cluster that is most alike; a new one where none is alike."""
        near = [(_difference(vector, one.vector), n) for n, one in enumerate(self._clusters)]
        if near and (min(near)[0] < _ALIKE or len(near) >= _MOST_CLUSTERS):
            return self._clusters[min(near)[1]]
        self._clusters.append(_Cluster(vector))
        return self._clusters[-1]

    def _vector(self, stretch: _Stretch) -> _Vector:
        counts: _Vector = []
        ways: dict[tuple[int, bytes], tuple[int, ThreadPath]] = {}
        for path in (path for group in stretch.groups for path in group.paths):
            key = self._table(path.places), path.blocks.tobytes()
            ways[key] = ways.get(key, (0, path))[0] + 1, path
        for (table, _), (times, path) in ways.items():
            found = times * np.bincount(path.blocks, minlength=len(path.places))
            while len(counts) <= table:
                counts.append(np.zeros(0))
            counts[table] = _sum(counts[table], found * self._weight(table, path.places))
        return counts

    def _table(self, places: Sequence[BlockPlace]) -> int:
        for number, known in enumerate(self._tables):
            if known is places:
                return number
        self._tables.append(places)
        self._weights.append(np.zeros(0))
        return len(self._tables) - 1

    def _weight(self, table: int, places: Sequence[BlockPlace]) -> NDArray[np.float64]:
        if self._weights[table].size != len(places):
            self._weights[table] = np.array([one.end - one.start for one in places], np.float64)
        return self._weights[table]

    # What was seen

    @property
    def whole(self) -> tuple[Paths, Traces | None] | None:
        """All groups, where they are too few to be sampled; else None."""
        if self._all is None:
            return None
        return self._joined([*self._all, self._now])

    def _joined(self, stretches: Sequence[_Stretch]) -> tuple[Paths, Traces]:
        paths, traces = Paths(self._dependency), Traces()
        for group in (group for one in stretches for group in one.groups):
            paths.begin_group(group.place)
            traces.begin_group(group.memory)
            for path in group.paths:
                paths.add(path)
            for accesses in group.accesses:
                traces.add(accesses)
        return paths, traces

    def chosen(self) -> Chosen:
        """Return what is timed: the first stretch, those that are kept, and the last ones."""
        if self._first is None:
            raise AssertionError("a launch that is timed as a whole is not sampled")
        kept: dict[int, _Stretch] = {0: self._first}
        measured: dict[int, int] = {}
        for number, cluster in enumerate(self._clusters):
            for stretches in cluster.kept:
                kept |= {one.number: one for one in stretches}
                measured[stretches[-1].number] = number
        kept |= {self._recent[-1].number: self._recent[-1], self._now.number: self._now}
        order = [kept[number] for number in sorted(kept)]
        clusters = [measured.get(one.number, -1) for one in order]
        counts = [one.count for one in self._clusters]
        paths, traces = self._joined(order)
        sizes = [len(one.groups) for one in order]
        return Chosen(
            paths, traces, sizes, clusters, counts, self._parts, self.groups, self.watched
        )


@dataclass(frozen=True, slots=True)
class Chosen:
    """The groups that are timed, in stretches of `sizes` groups.

    `clusters` says of which cluster each stretch is a sample, -1 for the first, the last and those
    that only go before; `counts` are the stretches of each cluster, `groups` those of the launch.
    Where only some stretches were `watched`, the counts are what these stand for.
    """

    paths: Paths
    traces: Traces
    sizes: Sequence[int]
    clusters: Sequence[int]
    counts: Sequence[float]
    parts: int
    groups: int
    watched: int = 0

    @property
    def random(self) -> list[int]:
        """Which stretches were chosen at random."""
        return [number for number, cluster in enumerate(self.clusters) if cluster >= 0]

    @property
    def stretches(self) -> float:
        """How many stretches the launch has."""
        return self.groups / max(self.sizes)

    def estimate(self, result: Run | TimingResult) -> Sample:
        """Return what the launch takes, by what its sample takes on a part of the machine."""
        took = self._took(result)
        waves = sum(self.counts) / self.parts
        inside = max(0.0, waves - 1) / max(1, sum(self.counts))
        total, variance = float(took[0] + took[-1]), 0.0
        means: list[float] = []
        for cluster, count in enumerate(self.counts):
            found = [time for time, one in zip(took, self.clusters, strict=True) if one == cluster]
            mean, many = sum(found) / len(found), count * inside
            means.append(mean)
            total += many * mean
            spread = _spread(found, mean) if len(found) > 1 else _UNKNOWN_SPREAD * mean
            left = max(0.0, 1 - len(found) / count)
            variance += (many * spread) ** 2 / len(found) * left
        variance += self._unseen(means, inside)
        spread = _CONFIDENCE * math.sqrt(variance) / total if total else 0.0
        scattered = scattered_in(result.lines) if isinstance(result, TimingResult) else 0.0
        error = math.hypot(spread, _OF_PARTS + _SCATTERED * scattered)
        timed = sum(self.sizes)
        return Sample(round(total), error, timed, self.groups, len(self.counts), self.parts)

    def _unseen(self, means: Sequence[float], inside: float) -> float:
        """Return the variance of the whole because stretches that ran unwatched are a guess."""
        if not self.watched:
            return 0.0
        total = sum(self.counts)
        pairs = list(zip(self.counts, means, strict=True))
        middle = sum(count * mean for count, mean in pairs) / total
        apart = sum(count * (mean - middle) ** 2 for count, mean in pairs) / total
        return (total * inside) ** 2 * apart / self.watched

    def _took(self, result: Run | TimingResult) -> list[float]:
        """Return how long after each stretch the next one starts, the last one ends.

        A stretch starts when its groups do in the mean, as those before it make room for them; the
        first one at 0.
        """
        starts: dict[int, int] = {}
        for span in result.spans:
            starts[span.group] = min(starts.get(span.group, span.begin), span.begin)
        groups = [starts[group] for group in sorted(starts)]
        edges = itertools.pairwise(itertools.accumulate(self.sizes, initial=0))
        means = [sum(groups[a:b]) / (b - a) for a, b in edges]
        ends = [*means[1:], float(result.cycles)]
        return [b - a for a, b in zip([0.0, *means[1:]], ends, strict=True)]


def scattered_in(lines: Sequence[LineTiming]) -> float:
    """Return the part of lines of caches that atomics touch, or messages with twice what is needed.

    Banks of the L3 get such lines unevenly, each core's at another time: what a part of a machine
    does not have.
    """
    whole = scattered = 0
    for line in lines:
        if line.data is None or line.data.site.is_local:
            continue
        site = line.data.site
        whole += site.lines
        if site.kind == "atomic" or site.lines > 2 * max(site.ran, site.bytes / LINE_BYTES):
            scattered += site.lines
    return scattered / whole if whole else 0.0


def _spread(values: Sequence[float], mean: float) -> float:
    return math.sqrt(sum((one - mean) ** 2 for one in values) / (len(values) - 1))


def _sum(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    size = max(a.size, b.size)
    return np.pad(a, (0, size - a.size)) + np.pad(b, (0, size - b.size))


def _difference(a: _Vector, b: _Vector) -> float:
    """Return by which part two vectors differ: 0 if they are equal."""
    nothing = np.zeros(0)
    difference = whole = 0.0
    for number in range(max(len(a), len(b))):
        one, other = (x[number] if number < len(x) else nothing for x in (a, b))
        difference += float(np.abs(_sum(one, -other)).sum())
        whole += max(float(one.sum()), float(other.sum()))
    return difference / whole if whole else 0.0


__all__ = ["KEPT", "WAVES", "Chosen", "Sampler", "part_of", "scattered_in"]
