"""Which records of a group may have written some bytes of a thread's registers."""

from __future__ import annotations

import bisect
from collections.abc import Iterator

from visim.debug.slicing.recording import Recording
from visim.debug.slicing.sources import Sources

_ROW = 64
"""Writes are looked up by stretches of so many bytes of the register image."""
_MOST_ROWS = 1 << 12


class RegisterWriters:
    """The records that write registers, by thread and by the stretches that they write.

    Args:
        recording: the records.
        sources: the facts of the kernel's instructions.
    """

    def __init__(self, recording: Recording, sources: Sources) -> None:
        self._by_row: dict[tuple[int, int], list[int]] = {}
        self._anywhere: dict[int, list[int]] = {}
        rows: dict[tuple[int, int], tuple[list[int], bool]] = {}
        for number, record in enumerate(recording.records):
            place = record.unit, record.pc
            if place not in rows:
                rows[place] = _rows_of(sources, *place)
            written, is_anywhere = rows[place]
            for row in written:
                self._by_row.setdefault((record.thread, row), []).append(number)
            if is_anywhere:
                self._anywhere.setdefault(record.thread, []).append(number)

    def before(self, thread: int, start: int, size: int, number: int) -> Iterator[int]:
        """Yield the records before one that may have written some bytes, the last first."""
        lists = [
            self._by_row.get((thread, row), [])
            for row in range(start // _ROW, (start + size - 1) // _ROW + 1)
        ]
        lists = [one for one in (*lists, self._anywhere.get(thread, [])) if one]
        found = lists[0] if len(lists) == 1 else sorted({n for one in lists for n in one})
        yield from reversed(found[: bisect.bisect_left(found, number)])


def _rows_of(sources: Sources, unit: int, pc: int) -> tuple[list[int], bool]:
    """Return the stretches that an instruction writes, and whether only the run knows them."""
    rows: set[int] = set()
    for write in sources.facts(unit, pc).writes:
        first, end = write.span
        if (end - first) // _ROW >= _MOST_ROWS:
            return [], True
        rows.update(range(first // _ROW, (end - 1) // _ROW + 1))
    return sorted(rows), False


__all__ = ["RegisterWriters"]
