"""The detector of bounds: says of accesses that did not take place what they would have been."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from visim.engine.accesses import SURFACE_SHIFT, Accesses, AccessSite
from visim.engine.observers import GroupStart
from visim.engine.provenance import NOBODY, Owners, Provenance
from visim.errors import Fault
from visim.machine.extents import Extent
from visim.sanitize.bounds.images import IMAGE, unpacked
from visim.sanitize.bounds.instrument import (
    OWN_LOCAL,
    PREFIX,
    Access,
    Reach,
    access_bytes,
    address_of,
    element_bytes,
)
from visim.sanitize.bounds.table import EVERYWHERE, ExtentTable
from visim.sanitize.collecting import Collector, Side
from visim.sanitize.detecting import Surroundings
from visim.sanitize.entries import watches
from visim.sanitize.findings import Actor
from visim.sem.effects import Load, LoadBlock, Space

_HALF, _WRAP = 1 << 31, 1 << 32


@dataclass(frozen=True, slots=True)
class _Site:
    """An access of the program, and the names of what its address may be of."""

    access: Access
    owners: Owners
    first_channel: int


class BoundsDetector:
    """Tells of accesses outside of the memory that their addresses were computed from."""

    def __init__(
        self, surroundings: Surroundings, collector: Collector, reach: Reach, table: ExtentTable
    ) -> None:
        self._surroundings = surroundings
        self._collector = collector
        self._sites: dict[tuple[int, int, str], _Site] = {}
        self._extents = {
            area.name: Extent(area.name, area.start, area.size)
            for area in surroundings.bound.values()
        }
        self._extents |= {extent.name: extent for extent in surroundings.extents}
        fill_table(table, surroundings, reach)
        self._local_bytes = local_bytes(surroundings)
        self._reach = reach

    @cached_property
    def _flat(self) -> Provenance:
        return Provenance(self._surroundings.kernel, self._reach.flat)

    @cached_property
    def _local(self) -> Provenance:
        return Provenance(self._surroundings.kernel, self._reach.local, constants=True)

    def begin_group(self, group: GroupStart) -> None:
        """Nothing depends on where a group begins."""

    def accesses(self, accesses: Accesses) -> None:
        """Look at what was out of range."""
        for site, on, values in watches(accesses, PREFIX):
            self._look(accesses, site, int(on[0]), values.tolist())

    def end_group(self, fault: Fault | None) -> None:
        """Nothing is left of a group."""

    def end(self) -> None:
        """Nothing is left of the launch."""

    def _look(self, accesses: Accesses, site: AccessSite, first: int, values: list[int]) -> None:
        if site.operation.startswith(IMAGE):
            self._look_at_texels(accesses, site, first, values)
            return
        known = self._site(site)
        is_block = not isinstance(known.access, Load) and site.lanes == 1
        channel = None if is_block and site.lanes == 1 else first + known.first_channel
        actor = self._surroundings.actor(accesses.group, accesses.thread, channel)
        self._report(actor, site, known, values)

    def _look_at_texels(
        self, accesses: Accesses, site: AccessSite, first: int, values: list[int]
    ) -> None:
        """Report texels that are written and not there."""
        unit = self._surroundings.kernel.units[site.unit]
        execution = getattr(unit.body[site.pc], "exec", None)
        channel = first + (0 if execution is None else execution.offset)
        actor = self._surroundings.actor(accesses.group, accesses.thread, channel)
        index, coordinates = unpacked(values[0])
        picture = self._surroundings.pictures.get(index)
        if picture is not None:
            texel = f"{picture.at(coordinates)} of {picture.extent}"
            message, side = f"{_who(actor)} writes {texel}", Side(site.unit, site.pc, actor)
            name, count = picture.name, len(values)
            self._collector.add("oob-write", [side], message, buffer=name, count=count)

    def _report(self, actor: Actor, site: AccessSite, known: _Site, values: list[int]) -> None:
        access = known.access
        kind = "oob-read" if isinstance(access, Load | LoadBlock) else "oob-write"
        does = "reads" if kind == "oob-read" else "writes"
        address = values[0]
        if access.space is Space.SLM:
            kind = "oob-local"
        elif access.space is Space.SURFACE:
            index, offset = address >> SURFACE_SHIFT, address & (1 << SURFACE_SHIFT) - 1
            known = replace(known, owners=self._of_surface(index))
            address = self._host_address(index, offset)
        extent = self._extent(known, address)
        if extent is not None and extent.whole is not None:
            start, size = extent.whole
            if start <= address < start + size:
                kind = "oob-sub-buffer"
        message = f"{_who(actor)} {does} {self._what(access, extent, address)}"
        name = None if extent is None or extent.name == OWN_LOCAL else extent.name
        side = Side(site.unit, site.pc, actor)
        self._collector.add(kind, [side], message, buffer=name, count=len(values))

    def _what(self, access: Access, extent: Extent | None, address: int) -> str:
        size = access_bytes(access)
        if extent is None or extent.name == OWN_LOCAL:
            whole = self._local_bytes
            return f"{size} bytes at byte {address} of local memory, of which there are {whole}"
        element = extent.element or element_bytes(access)
        index, count = (address - extent.start) // element, extent.size // element
        if 0 <= index < count:
            index = count
        said = f"{extent.name}[{index}] of {count}"
        if not extent.size:
            return f"{size} bytes of {extent.name!r}, which is a null pointer or empty"
        if address < extent.start:
            distance = f"{extent.start - address} bytes before its start"
        else:
            distance = f"{max(0, address - extent.end)} bytes past its end"
        return f"{said} ({size} bytes, {distance}){self._neighbour(access, extent, address)}"

    def _neighbour(self, access: Access, extent: Extent, address: int) -> str:
        """Say in what else the bytes are."""
        if access.space is not Space.SLM and extent.whole is not None:
            start, size = extent.whole
            if start <= address < start + size:
                return ", in the buffer that it is part of"
        is_local = access.space is Space.SLM
        for other in self._extents.values():
            within = other.start <= address < other.end
            if within and other.is_local == is_local and other.name != extent.name:
                return f", which is in {other.name!r}"
        return ""

    def _extent(self, known: _Site, address: int) -> Extent | None:
        """Return the memory that an address is of: the nearest of those that it may be of."""
        found = [self._extents[name] for name in known.owners if name in self._extents]
        return min(found, key=lambda one: one.distance(address), default=None)

    def _host_address(self, index: int, offset: int) -> int:
        """Return the address of a byte of a surface; offsets before its start have wrapped."""
        found = self._surroundings.bound.get(index)
        start = 0 if found is None else found.start
        return start + (offset - _WRAP if _HALF <= offset < _WRAP else offset)

    def _of_surface(self, index: int) -> Owners:
        found = self._surroundings.bound.get(index)
        return NOBODY if found is None else frozenset({found.name})

    def _site(self, site: AccessSite) -> _Site:
        key = site.unit, site.pc, site.operation
        found = self._sites.get(key)
        if found is None:
            found = self._sites[key] = self._made(site)
        return found

    def _made(self, site: AccessSite) -> _Site:
        kernel = self._surroundings.kernel
        unit = kernel.units[site.unit]
        access = kernel.effects(unit, site.pc)[int(site.operation.removeprefix(PREFIX))]
        if not isinstance(access, Access):
            raise TypeError(f"{site.operation} at {site.pc} is no access")
        execution = getattr(unit.body[site.pc], "exec", None)
        first = 0 if execution is None else execution.offset
        match access.space:
            case Space.FLAT:
                owners = self._flat.of(unit, address_of(access))
            case Space.SLM:
                found = self._local.of(unit, address_of(access))
                owners = found or self._reach.owners_at(unit, site.pc)
            case _:
                owners = NOBODY
        return _Site(access, owners, first)


def _who(actor: Actor) -> str:
    thread = f"thread {actor.thread} of group {actor.group}"
    return f"work-item {actor.work_item}" if actor.work_item else thread


def fill_table(table: ExtentTable, surroundings: Surroundings, reach: Reach) -> None:
    """Let a table have the extents of a launch."""
    if table.is_held_by(surroundings):
        return
    extents = {extent.name: extent for extent in surroundings.extents}
    table.clear()
    for number, name in enumerate(reach.names):
        extent = extents.get(name)
        if extent is None:
            table.put(table.named(number), 0, EVERYWHERE)
            continue
        area = None if extent.is_local else surroundings.area(extent.start)
        writable = area is None or area.writable
        table.put(table.named(number), extent.start, extent.size, writable=writable)
    for index, area in surroundings.bound.items():
        table.put(table.surface(index), 0, area.size)
    table.put(table.local, 0, local_bytes(surroundings))


def local_bytes(surroundings: Surroundings) -> int:
    """Return how many bytes of local memory a launch has."""
    ends = [extent.end for extent in surroundings.extents if extent.is_local]
    return max(ends, default=surroundings.local_bytes)


__all__ = ["BoundsDetector", "fill_table", "local_bytes"]
