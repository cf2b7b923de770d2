"""The detector of what is undefined: says of each instruction what it did, and for whom."""

from __future__ import annotations

from dataclasses import replace

from visim.engine.accesses import Accesses, AccessSite, Words
from visim.engine.observers import GroupStart
from visim.errors import Fault
from visim.sanitize.bounds.instrument import Access, element_bytes
from visim.sanitize.collecting import Collector, Side
from visim.sanitize.detecting import Surroundings
from visim.sanitize.entries import watches
from visim.sanitize.findings import Place
from visim.sanitize.undefined.instrument import (
    ALIGNMENT,
    CONVERSION,
    DIVISION,
    NULL,
    PREFIX,
    PRINTF,
    SHIFT,
)

_SAYS = {
    DIVISION: "divides an integer by zero",
    SHIFT: "shifts by a number that is negative, or not below the number of bits",
    CONVERSION: "converts a float that the integer type has no value for, or a NaN",
    ALIGNMENT: "accesses {what}, which is no multiple of the {size} bytes of an element",
    NULL: "computes with %null, which has no value",
    PRINTF: "prints what the buffer of printf has no room for; it is lost",
}


class UndefinedDetector:
    """Tells what instructions did that languages leave undefined."""

    def __init__(self, surroundings: Surroundings, collector: Collector) -> None:
        self._surroundings = surroundings
        self._collector = collector
        self._conversions: list[tuple[Side, str, int]] = []
        self._divisions: set[Place] = set()

    def begin_group(self, group: GroupStart) -> None:
        """Nothing depends on where a group begins."""

    def accesses(self, accesses: Accesses) -> None:
        """Report what was undefined."""
        for site, on, values in watches(accesses, PREFIX):
            self._look(accesses, site, int(on[0]), values)

    def end_group(self, fault: Fault | None) -> None:
        """Nothing is left of a group."""

    def end(self) -> None:
        """Report conversions, but not those in divisions by zero: these convert what comes out."""
        for side, message, count in self._conversions:
            if self._place(side) not in self._divisions:
                kind = CONVERSION.removeprefix(PREFIX)
                self._collector.add(kind, [side], message, count=count)

    def _look(self, accesses: Accesses, site: AccessSite, first: int, values: Words) -> None:
        channel = None if site.lanes == 1 else first + self._first_channel(site)
        actor = self._surroundings.actor(accesses.group, accesses.thread, channel)
        who = f"thread {actor.thread} of group {actor.group}"
        if actor.work_item is not None:
            who = f"work-item {actor.work_item}"
        said = _SAYS[site.operation]
        if site.operation == ALIGNMENT:
            said = said.format(what=f"address 0x{int(values[0]):x}", size=self._size(site))
        kind = site.operation.removeprefix(PREFIX)
        side = Side(site.unit, site.pc, actor)
        if site.operation == CONVERSION:
            self._conversions.append((side, f"{who} {said}", values.size))
            return
        if site.operation == DIVISION:
            self._divisions.add(self._place(side))
        self._collector.add(kind, [side], f"{who} {said}", count=values.size)

    def _place(self, side: Side) -> Place:
        """Return the line of a side, without its instruction."""
        found = self._collector.places.place(side.unit, side.pc)
        return replace(found, instruction=None)

    def _first_channel(self, site: AccessSite) -> int:
        kernel = self._surroundings.kernel
        execution = getattr(kernel.units[site.unit].body[site.pc], "exec", None)
        return 0 if execution is None else execution.offset

    def _size(self, site: AccessSite) -> int:
        """Return the bytes of an element of what an instruction accesses."""
        kernel = self._surroundings.kernel
        effects = kernel.effects(kernel.units[site.unit], site.pc)
        return max(element_bytes(one) for one in effects if isinstance(one, Access))


__all__ = ["UndefinedDetector"]
