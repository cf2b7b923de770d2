"""The ways that the threads of launches took: what a simulation has to go through."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from visim.engine.observers import BlockPlace, ThreadPath
from visim.engine.schedule import Dependency, depends_on
from visim.errors import UnsupportedError
from visim.timing.arrays import Work
from visim.timing.legaliser import NativeProgram
from visim.timing.traces import Traces

_Places = Sequence[BlockPlace]


class Paths:
    """Threads by group, each with the number of its way; equal ways are kept once.

    Args:
        dependency: which threads of a thread space wait for which; each is a group of its own.
    """

    def __init__(self, dependency: Dependency = "none") -> None:
        self._dependency = dependency
        self._places: list[tuple[int, int]] = []
        self._groups: list[dict[int, int]] = []
        self._tables: list[_Places] = []
        self._numbers: dict[tuple[int, bytes], int] = {}
        self._paths: list[tuple[int, NDArray[np.uint32]]] = []

    def begin_group(self, place: tuple[int, int] = (0, 0)) -> None:
        """Begin a thread group at a place; the threads that follow belong to it."""
        self._places.append(place)
        self._groups.append({})

    def add(self, path: ThreadPath) -> None:
        """Add a thread."""
        table = self._table(path.places)
        key = table, path.blocks.tobytes()
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._paths)
            self._paths.append((table, path.blocks))
        self._groups[-1][path.thread] = number

    def _table(self, places: _Places) -> int:
        for number, known in enumerate(self._tables):
            if known is places:
                return number
        self._tables.append(places)
        return len(self._tables) - 1

    def work(
        self,
        program: NativeProgram,
        slm_bytes: int,
        *,
        registers: int = 128,
        traces: Traces | None = None,
    ) -> Work:
        """Return the threads with blocks of native instructions; empty blocks are left out.

        Args:
            program: the native program.
            slm_bytes: shared local memory of a group.
            registers: those of a thread.
            traces: what the threads accessed, None where messages have fixed latencies.

        Raises:
            UnsupportedError: no thread has executed an instruction.
        """
        blocks: dict[tuple[int, int], int] = {}
        tables = [_numbers(places, program, blocks) for places in self._tables]
        paths = [_kept(tables[table], found) for table, found in self._paths]
        threads: list[int] = []
        sizes: list[int] = []
        places: list[tuple[int, int]] = []
        names: list[tuple[int, int]] = []
        together = zip(self._groups, self._places, strict=True)
        for index, (group, place) in enumerate(together):
            those = [thread for thread in sorted(group) if paths[group[thread]].size]
            numbers = [group[thread] for thread in those]
            names += [(index, thread) for thread in those]
            if numbers:
                threads += numbers
                sizes.append(len(numbers))
                places.append(place)
        if not threads:
            raise UnsupportedError("timing: no thread has executed an instruction")
        earlier = self._earlier(places)
        banks = program.machine.number("slm_banks")
        traffic = None if traces is None else traces.traffic(program, names, banks)
        return Work(list(blocks), paths, threads, sizes, slm_bytes, earlier, traffic, registers)

    def _earlier(self, places: Sequence[tuple[int, int]]) -> list[list[int]]:
        """Return which groups, by number, each of those at some places of the space waits for."""
        if self._dependency == "none":
            return []
        numbers: dict[tuple[int, int], int] = {}
        found: list[list[int]] = []
        for number, (x, y) in enumerate(places):
            vectors = depends_on(self._dependency, x, y)
            wanted = [numbers.get((x + dx, y + dy)) for dx, dy in vectors]
            found.append([group for group in wanted if group is not None])
            numbers[x, y] = number
        return found


def _numbers(
    places: _Places, program: NativeProgram, blocks: dict[tuple[int, int], int]
) -> NDArray[np.int64]:
    """Return the numbers in `blocks` of the native blocks at some places, -1 for empty ones."""
    found: list[int] = []
    for unit, start, end in places:
        first, starts = program.first[unit], program.units[unit].starts
        native = first + starts[start], first + starts[end]
        empty = native[0] == native[1]
        found.append(-1 if empty else blocks.setdefault(native, len(blocks)))
    return np.array(found, np.int64)


def _kept(numbers: NDArray[np.int64], path: NDArray[np.uint32]) -> NDArray[np.int64]:
    found = numbers[path] if path.size else np.zeros(0, np.int64)
    return found[found >= 0]


__all__ = ["Paths"]
