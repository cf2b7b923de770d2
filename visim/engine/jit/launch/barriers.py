"""The barriers that native code keeps, as `visim.engine.barriers` has them.

Native code knows how barriers stand and what is not allowed; why something is not, and who waits
for whom where nobody can go on, is said in one place for both engines.
"""

from __future__ import annotations

from collections.abc import Sequence

from visim.engine.barriers import GROUP, Barriers, Signal, Ticket
from visim.engine.jit.launch.records import ThreadRecord, words
from visim.engine.jit.layout import MARKED_PHASE, Barrier, Mark

_HALF = (1 << 32) - 1


class KeptBarriers:
    """The memory of `count` barriers, of which the first is the group's own; named ones follow."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.fields = words(Barrier.SIZE * count).reshape(count, Barrier.SIZE)

    @property
    def address(self) -> int:
        """Where native code finds them."""
        return int(self.fields.ctypes.data)

    def clear(self) -> None:
        """Begin a group."""
        self.fields.fill(0)

    def restored(self, records: Sequence[ThreadRecord]) -> Barriers:
        """Return how the barriers stand for the threads of a group.

        Threads that wait for the end of a phase get a ticket for it.
        """
        found = Barriers(len(records))
        for number, fields in enumerate(self.fields.tolist()):
            key = GROUP + number
            phase, expected = fields[Barrier.PHASE], fields[Barrier.EXPECTED]
            signals: dict[int, Signal] = {}
            for record in records:
                mark = int(record.marks[number])
                if not mark:
                    continue
                signal = signals[record.number] = _signal(mark)
                if mark & Mark.WAITED and signal.phase == phase:
                    record.waits = Ticket(key, phase)
            counts = (expected & _HALF, expected >> 32) if expected else None
            found.restore(key, phase, counts, signals)
        return found


def _signal(mark: int) -> Signal:
    return Signal(
        (mark >> MARKED_PHASE) - 1,
        bool(mark & Mark.PRODUCER),
        bool(mark & Mark.CONSUMER),
        bool(mark & Mark.HELD),
    )


__all__ = ["KeptBarriers"]
