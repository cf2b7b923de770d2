"""The barriers that native code keeps, as `visim.engine.barriers` has them.

Native code knows how barriers stand and what is not allowed; why something is not, and who waits
for whom where nobody can go on, is said in one place for both engines.
"""

from __future__ import annotations

from collections.abc import Sequence

from visim.engine.barriers import GROUP, Barriers, Signal, Ticket
from visim.engine.jit.launch.records import ThreadRecord, words
from visim.engine.jit.layout import MARKED_PHASE, MARKED_WAITS, Barrier, Mark

_HALF = (1 << 32) - 1


class KeptBarriers:
    """The memory of `count` barriers, of which the first is the group's own.

    `has_named` says whether the device has named barriers.
    """

    def __init__(self, count: int, *, has_named: bool) -> None:
        self.count = count
        self._has_named = has_named
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
        if not self._has_named:
            return self._counted(records)
        found = Barriers(len(records))
        for key, fields in enumerate(self.fields.tolist()):
            phase, expected = fields[Barrier.PHASE], fields[Barrier.EXPECTED]
            signals: dict[int, Signal] = {}
            for record in records:
                mark = int(record.marks[key])
                if not mark:
                    continue
                signal = signals[record.number] = _signal(mark)
                if mark & Mark.WAITED and signal.phase == phase:
                    record.waits = Ticket(key, phase)
            counts = (expected & _HALF, expected >> 32) if expected else None
            found.restore(key, phase, counts, signals)
        return found

    def _counted(self, records: Sequence[ThreadRecord]) -> Barriers:
        found = Barriers(len(records), has_named=False)
        signals: dict[int, int] = {}
        waits: dict[int, int] = {}
        phase = int(self.fields[GROUP, Barrier.PHASE])
        for record in records:
            waited, ahead = divmod(int(record.marks[GROUP]), 1 << MARKED_WAITS)
            signals[record.number], waits[record.number] = waited + ahead, waited
            if waited > phase:
                record.waits = Ticket(GROUP, phase)
        found.restore_counts(signals, waits)
        return found


def _signal(mark: int) -> Signal:
    return Signal(
        (mark >> MARKED_PHASE) - 1,
        bool(mark & Mark.PRODUCER),
        bool(mark & Mark.CONSUMER),
        bool(mark & Mark.HELD),
    )


__all__ = ["KeptBarriers"]
