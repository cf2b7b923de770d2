"""Counters that many channels add to, as in histograms: each worker adds to a copy of its own.

Locked additions take several times as long as plain ones, and workers that meet at the same lines
of the cache wait for each other. Where nobody reads what an addition returns, and nothing else in
the kernel looks at that memory, a worker may keep its sums until its groups are done: memory ends
up the same. So when the first message of a kernel's additions meets an allocation, native code
looks whether that is small, and whether other messages have reached it, by address or by way of
surfaces. If not, the worker adds to a copy, zero at the start, by the offset that it keeps for the
message. The copy is added up, with locked additions, when a range of groups is done, when a thread
gives way to others, and whenever Python is asked for something. A message that comes to the
allocation later ends the tally before it looks at anything.

Kernels with fences order what others see; they have no tallies.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from visim.engine.jit.common.tallying import OTHER
from visim.engine.jit.launch.records import words
from visim.engine.jit.layout import Context
from visim.machine.allocations import aligned_zeros
from visim.machine.surfaces import BINDING_TABLE_SIZE, Surfaces

MOST_BYTES = 1 << 16
"""Larger allocations are not copied: adding them up would take longer than short launches do."""


class Tallies:
    """What one worker needs to tally the additions of one version of a kernel.

    Args:
        context: the worker's fields for that version.
        sites: how many messages there are.
        adding: the numbers of those that add.
        surfaces: the surfaces that messages reach, as bits; None: they may reach any.
        allowed: whether anything may be tallied.
    """

    def __init__(
        self,
        context: NDArray[np.uint64],
        sites: int,
        adding: Sequence[int],
        surfaces: int | None,
        *,
        allowed: bool,
    ) -> None:
        self._context, self._adding, self._surfaces = context, list(adding), surfaces
        room = MOST_BYTES if allowed else 0
        self._copy, self._offsets = aligned_zeros(room), words(sites)
        self._reached = words(1 + BINDING_TABLE_SIZE)
        values = {
            Context.TALLIES: self._offsets.ctypes.data,
            Context.TALLY_SITES: sites,
            Context.TALLY_COPY: self._copy.ctypes.data,
            Context.TALLY_ROOM: room,
            Context.TALLY_SURFACES: self._reached.ctypes.data,
        }
        for name, value in values.items():
            context[int(name)] = value

    def forget(self, surfaces: Surfaces) -> None:
        """Know no allocation, as before a launch that has these surfaces."""
        self._offsets.fill(OTHER)
        self._offsets[self._adding] = 0
        self._context[int(Context.TALLY_BYTES)] = 0
        known = self._surfaces
        reached = {n for n in surfaces.bound if known is None or known >> n & 1}
        reached.update(surfaces.images)
        self._reached[: 1 + len(reached)] = len(reached), *reached
