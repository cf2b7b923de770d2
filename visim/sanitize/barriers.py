"""Barriers that not all work-items of a group come to, found where they stand.

A thread that comes to a barrier without some of its work-items is wrong whether or not the others
would ever get there, and so are threads that meet at different barriers. Hardware counts threads
only, so most such kernels run to their end.
"""

from __future__ import annotations

from dataclasses import dataclass

from visim.engine.accesses import WATCH, Accesses
from visim.engine.observers import GroupStart
from visim.errors import Fault
from visim.linker.program import LinkedKernel, LinkedUnit
from visim.sanitize.collecting import Collector, Side
from visim.sanitize.detecting import Surroundings
from visim.sanitize.entries import entries, mask_of
from visim.sanitize.findings import Coordinates
from visim.sem.effects import Barrier, BarrierSignal, Effect, Watch
from visim.sem.expr import vector_constant
from visim.sem.tracer import Tracer
from visim.types import UQ

NAME = "barrier"
KIND = "barrier-divergence"


class BarrierInstrument:
    """Tells which channels of a thread come to a barrier of the whole group."""

    name = "barriers"

    def effects(
        self, kernel: LinkedKernel, unit: LinkedUnit, pc: int, effects: tuple[Effect, ...]
    ) -> tuple[Effect, ...]:
        """Return the effects of an instruction; a note comes before a barrier."""
        if not any(isinstance(effect, Barrier | BarrierSignal) for effect in effects):
            return effects
        lanes = kernel.simd_size
        numbers = vector_constant(tuple(range(lanes)), UQ)
        return (Watch(NAME, numbers, Tracer.execution(0, lanes)), *effects)


@dataclass(frozen=True, slots=True)
class _Arrival:
    """A thread at a barrier: the instruction, and its channels that were on."""

    unit: int
    pc: int
    mask: int


class BarrierDetector:
    """Compares how the threads of each group come to its barriers."""

    def __init__(self, surroundings: Surroundings, collector: Collector) -> None:
        self._surroundings = surroundings
        self._collector = collector
        self._group: Coordinates = (0, 0, 0)
        self._arrivals: list[list[_Arrival]] = []

    def begin_group(self, group: GroupStart) -> None:
        """A group begins: none of its threads has come to a barrier."""
        self._group = group.group
        self._arrivals = [[] for _ in range(group.threads)]

    def accesses(self, accesses: Accesses) -> None:
        """Note the barriers that a thread has come to."""
        for place, site, _ in entries(accesses):
            if site.kind == WATCH and site.operation == NAME:
                mask = mask_of(accesses.words, place, site)
                arrival = _Arrival(site.unit, site.pc, mask)
                self._arrivals[accesses.thread].append(arrival)
                self._check_mask(accesses.thread, arrival)

    def end_group(self, fault: Fault | None) -> None:
        """Compare the barriers that the threads have come to, one after another."""
        if fault is not None and fault.code != "barrier-deadlock":
            return
        first = max(range(len(self._arrivals)), key=self._count, default=0)
        for thread in range(len(self._arrivals)):
            if thread != first:
                self._compare(first, thread)

    def end(self) -> None:
        """Nothing is left to do."""

    def _count(self, thread: int) -> tuple[int, int]:
        return (len(self._arrivals[thread]), -thread)

    def _check_mask(self, thread: int, arrival: _Arrival) -> None:
        expected = self._surroundings.mask(self._group, thread)
        missing = expected & ~arrival.mask
        if not missing or not arrival.mask:
            return
        here, absent = _lowest(arrival.mask), _lowest(missing)
        actors = [self._surroundings.actor(self._group, thread, one) for one in (here, absent)]
        came, stayed = arrival.mask.bit_count(), missing.bit_count()
        message = (
            f"{came} of the {came + stayed} work-items of a hardware thread come to this barrier; "
            f"the first that does not is work-item {actors[1].work_item or absent}"
        )
        side = Side(arrival.unit, arrival.pc, actors[0])
        self._collector.add(KIND, [side], message)

    def _compare(self, first: int, thread: int) -> None:
        """Report the first barrier at which two threads are not together."""
        theirs, own = self._arrivals[first], self._arrivals[thread]
        for number, arrival in enumerate(theirs):
            if number >= len(own):
                message = (
                    f"thread {first} comes to this barrier as its barrier {number + 1}; thread "
                    f"{thread} of the same group ends, or waits elsewhere, without it"
                )
                self._collector.add(KIND, [self._side(first, arrival)], message)
                return
            other = own[number]
            if not self._is_same(arrival, other):
                message = (
                    f"thread {first} and thread {thread} of a group meet at different barriers, "
                    f"both as their barrier {number + 1}"
                )
                sides = [self._side(first, arrival), self._side(thread, other)]
                self._collector.add(KIND, sides, message)
                return

    def _is_same(self, one: _Arrival, other: _Arrival) -> bool:
        if (one.unit, one.pc) == (other.unit, other.pc):
            return True
        places = self._collector.places
        first, second = places.place(one.unit, one.pc), places.place(other.unit, other.pc)
        return places.has_source(one.unit) and (first.file, first.line) == (
            second.file,
            second.line,
        )

    def _side(self, thread: int, arrival: _Arrival) -> Side:
        channel = _lowest(arrival.mask) if arrival.mask else None
        actor = self._surroundings.actor(self._group, thread, channel)
        return Side(arrival.unit, arrival.pc, actor)


def _lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


__all__ = ["BarrierDetector", "BarrierInstrument"]
