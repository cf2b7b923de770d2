"""Sweeps: loops that store nothing, in which each channel loads along a row of its own.

What the next turns load then stands side by side in memory, channel by channel: it can be loaded
before they begin, a block of bytes for each channel.
"""

from __future__ import annotations

from dataclasses import dataclass

from visim.engine.jit.analysis.apart import Region
from visim.engine.jit.analysis.walks import Access, Walk, ramps_of, rate
from visim.engine.jit.ir.text import scalar_bytes, scalar_type
from visim.sem.effects import Load

BLOCK = 16
"""How many bytes of a channel are loaded at once."""

_STEPS = (1, 2, 4, 8, 16)
"""How many bytes further on the next turn loads."""

_LANES = 8
"""Of how many channels blocks are transposed at a time."""

_MOST_BLOCKS = 8
"""How many blocks one load has at most for the turns that are loaded together."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A load along rows: what it loads, in `components` of so many bytes (`scalar`), how far apart.

    Elements of turns are `step` bytes apart; it `falls` if the next one is below.
    """

    access: Access
    scalar: int
    components: int
    step: int
    falls: bool

    @property
    def size(self) -> int:
        """How many bytes a turn loads."""
        return self.scalar * self.components


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep: its messages, those of them that are along rows, how many turns have a block."""

    walk: Walk
    streams: tuple[Stream, ...]
    turns: int

    def more(self, access: Access) -> int:
        """Return how many bytes behind its element a load reaches."""
        return sum(one.step - one.size for one in self.streams if one.access is access)


def sweep_of(region: Region) -> Sweep | None:
    """Return a loop as a sweep; None if it is not known to be one."""
    walk = None if region.stores else ramps_of(region)
    if walk is None:
        return None
    streams: list[Stream] = []
    for access in walk.accesses:
        if access.address.is_own:
            stream = _stream(access, walk)
            if stream is None:
                return None
            streams.append(stream)
    if not streams:
        return None
    least = min(stream.step for stream in streams)
    most = max(stream.step for stream in streams)
    turns = BLOCK // least
    if turns < 2 or turns * most > _MOST_BLOCKS * BLOCK:
        return None
    return Sweep(walk, tuple(streams), turns)


def _stream(access: Access, walk: Walk) -> Stream | None:
    """Return a load as one along rows, if turns are as far apart as blocks can have it."""
    load, step = access.effect, rate(access.address, walk.steps)
    if not isinstance(load, Load) or step is None or abs(step) not in _STEPS:
        return None
    if load.addresses.lanes % _LANES:
        return None
    scalar = scalar_bytes(scalar_type(load.type))
    stream = Stream(access, scalar, load.components, abs(step), step < 0)
    return stream if stream.size <= stream.step else None
