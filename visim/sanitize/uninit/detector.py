"""The detector of uninitialised values: what reached a store, a branch or an address.

A use is told with the place where the value was read: the last read of something undefined by the
same channel of the same thread, and the read where that came from (`origins`). Before a launch, and
before each group, it marks what nothing has written: buffers that say so, local memory, and the
memory of each thread.
"""

from __future__ import annotations

from collections.abc import Sequence

from visim.engine.accesses import Accesses, AccessSite
from visim.engine.observers import GroupStart
from visim.errors import Fault
from visim.sanitize.collecting import Collector, Side
from visim.sanitize.detecting import Surroundings, Undefined
from visim.sanitize.entries import watches
from visim.sanitize.findings import Actor, Coordinates
from visim.sanitize.uninit.instrument import ADDRESS, BRANCH, KEEP, PREFIX, READ, STORE
from visim.sanitize.uninit.marks import Marks
from visim.sanitize.uninit.memory import SCRATCH_BITS, ShadowSpace
from visim.sanitize.uninit.origins import Extent, Origin, Origins, Read
from visim.sem.effects import Atomic, Effect, Space

_UNDEFINED = 0xFF
_SURFACE_SHIFT = 48
_MOST_REMEMBERED = 64
"""So many reads of a thread are remembered."""

_SAYS = {
    STORE: "stores a value to {what} that is not initialised",
    BRANCH: "goes where a value says that is not initialised",
    ADDRESS: "computes an address from a value that is not initialised",
}


class UninitDetector:
    """Finds uses of what nothing has written."""

    def __init__(
        self,
        surroundings: Surroundings,
        collector: Collector,
        space: ShadowSpace,
        undefined: Sequence[Undefined],
    ) -> None:
        self._surroundings = surroundings
        self._collector = collector
        self._space = space
        self._marks = Marks(surroundings, space, undefined)
        self._marked: dict[int, int] = {}
        self._has_stored = False
        self._group: Coordinates = (0, 0, 0)
        self._reads: dict[int, list[Read]] = {}
        self._kept = Origins()
        self._extents: dict[tuple[int, int], Extent] = {}

    def begin_group(self, group: GroupStart) -> None:
        """Mark local memory, and the memory of each thread, as never written."""
        self._group, self._reads, self._kept = group.group, {}, Origins()
        self._mark(self._space.slm, group.slm_bytes)
        for start, size in self._marks.private:
            self._mark(start, size)
        for thread in range(group.threads if self._surroundings.scratch_bytes else 0):
            begin = self._surroundings.scratch_step * (thread + 1)
            start = self._space.scratch + (thread << SCRATCH_BITS) + begin
            self._mark(start, self._surroundings.scratch_bytes)

    def accesses(self, accesses: Accesses) -> None:
        """Look at what undefined values did."""
        for site, on, values in watches(accesses, PREFIX):
            channels = tuple((on + self._first_channel(site)).tolist())
            self._look(accesses.thread, site, channels, values.tolist())

    def end_group(self, fault: Fault | None) -> None:
        """Nothing is left of a group."""

    def end(self) -> None:
        """Keep which bytes of buffers are still undefined; leave all shadows zero."""
        self._marks.clear(everything=self._has_stored)
        for start, size in self._marked.items():
            self._space.at(start, size)[:] = 0

    def _mark(self, start: int, size: int) -> None:
        if size:
            self._space.at(start, size)[:] = _UNDEFINED
            self._marked[start] = max(size, self._marked.get(start, 0))

    # Uses

    def _look(
        self, number: int, site: AccessSite, channels: tuple[int, ...], values: list[int]
    ) -> None:
        if site.operation == READ:
            self._read(number, site, channels, values)
            return
        if site.operation in {STORE, KEEP}:
            self._has_stored |= site.operation == STORE
            shown: list[int] = []
            for place, value in enumerate(values):
                if site.operation == KEEP or self._is_private(value):
                    self._keep(number, site, channels[place], value)
                else:
                    shown.append(place)
            if not shown:
                return
            values, channels = [values[n] for n in shown], tuple(channels[n] for n in shown)
        self._use(number, site, channels, values)

    def _read(
        self, number: int, site: AccessSite, channels: tuple[int, ...], values: list[int]
    ) -> None:
        """Remember a read; what an atomic changes stays undefined, and that is its reason."""
        extent = self._extent(site)
        origins = self._kept.of(extent, number, values)
        read = Read(site, number, channels, tuple(values), extent, origins)
        reads = self._reads.setdefault(number, [])
        reads.append(read)
        if len(reads) > _MOST_REMEMBERED:
            del reads[0]
        if self._is_atomic(site):
            for channel, value in zip(channels, values, strict=True):
                self._kept.keep(extent, number, value, read.origin(channel))

    def _keep(self, number: int, site: AccessSite, channel: int, address: int) -> None:
        """Remember where a value comes from that is stored where it is no output."""
        read, found = self._last_read(number, (channel,))
        if read is not None and channel in read.channels:
            self._kept.keep(self._extent(site), number, address, read.origin(found))

    def _use(
        self, number: int, site: AccessSite, channels: tuple[int, ...], values: list[int]
    ) -> None:
        """Report a use, with the read that it comes from, and the first read of the same."""
        read, channel = self._last_read(number, channels)
        user = self._surroundings.actor(self._group, number, channel)
        sides = [Side(site.unit, site.pc, user)]
        what, kind, buffer = "", "uninit-private", None
        source = "a variable that nothing has written"
        if read is not None:
            sides.append(Side(read.site.unit, read.site.pc, user))
            origin = read.origin(channel)
            kind, buffer, source = self._source(origin)
            if (origin.site.unit, origin.site.pc) != (read.site.unit, read.site.pc):
                first = self._surroundings.actor(self._group, origin.thread, origin.channel)
                sides.append(Side(origin.site.unit, origin.site.pc, first))
                source += f", which {_who(first)} has read and kept"
        if site.operation == STORE:
            value = values[channels.index(channel)] if channel in channels else values[0]
            what = self._target(value)
        said = _SAYS[site.operation].format(what=what)
        self._collector.add(kind, sides, f"{_who(user)} {said}: {source}", buffer=buffer)

    def _last_read(self, number: int, channels: tuple[int, ...]) -> tuple[Read | None, int | None]:
        """Return a thread's last read by one of some channels, and the channel.

        What compilers read themselves, such as arguments from the stack, is the last to be taken.
        """
        found: tuple[Read, int] | None = None
        reads = self._reads.get(number, [])
        for read in reversed(reads):
            for channel in channels:
                if channel not in read.channels:
                    continue
                if not self._collector.places.is_compilers(read.site.unit, read.site.pc):
                    return read, channel
                found = found or (read, channel)
        if found is not None:
            return found
        channel = channels[0] if channels else None
        return (reads[-1] if reads else None), channel

    def _source(self, origin: Origin) -> tuple[str, str | None, str]:
        """Return the kind of what was read, the buffer's name and words for it."""
        address, extent = origin.address, origin.extent
        match extent.memory:
            case Space.SLM:
                return "uninit-local", None, self._surroundings.local_element(address)
            case Space.FLAT | Space.SURFACE:
                if extent.memory is Space.SURFACE:
                    index, offset = address >> _SURFACE_SHIFT, address & (1 << _SURFACE_SHIFT) - 1
                    address = self._surroundings.surfaces.get(index, 0) + offset
                area = self._surroundings.area(address)
                if area is not None and area.kind == "private":
                    return "uninit-private", None, "a private variable or array"
                name = None if area is None else area.name
                return "uninit-global", name, self._element(address, extent.size)
            case _:
                return "uninit-private", None, "a private variable or array"

    def _element(self, address: int, size: int) -> str:
        area = self._surroundings.area(address)
        if area is None:
            return f"the bytes at 0x{address:x}"
        count = self._surroundings.asked(area) // size
        return f"{area.name}[{(address - area.start) // size}] of {count}"

    def _target(self, address: int) -> str:
        area = self._surroundings.area(address)
        return "a buffer" if area is None else area.name

    def _is_private(self, address: int) -> bool:
        area = self._surroundings.area(address) if address else None
        return area is not None and area.kind != "buffer"

    def _extent(self, site: AccessSite) -> Extent:
        """Return what an instruction reaches; arrays in registers are private as scratch is."""
        key = site.unit, site.pc
        found = self._extents.get(key)
        if found is None:
            found = Extent(Space.SCRATCH, 1)
            for effect in self._effects(site):
                space, kind = getattr(effect, "space", None), getattr(effect, "type", None)
                values = getattr(effect, "values", None)
                if values and kind is None:
                    kind = values[0].type
                if isinstance(space, Space) and kind is not None:
                    parts = len(values) if values else getattr(effect, "components", 1)
                    found = Extent(space, kind.bytes, parts)
                    break
            self._extents[key] = found
        return found

    def _is_atomic(self, site: AccessSite) -> bool:
        return any(isinstance(effect, Atomic) for effect in self._effects(site))

    def _effects(self, site: AccessSite) -> tuple[Effect, ...]:
        kernel = self._surroundings.kernel
        return kernel.effects(kernel.units[site.unit], site.pc)

    def _first_channel(self, site: AccessSite) -> int:
        """Return the channel of lane 0; branches tell channels themselves."""
        kernel = self._surroundings.kernel
        execution = getattr(kernel.units[site.unit].body[site.pc], "exec", None)
        return 0 if execution is None else execution.offset


def _who(actor: Actor) -> str:
    if actor.work_item is not None:
        return f"work-item {actor.work_item}"
    return f"thread {actor.thread} of group {actor.group}"


__all__ = ["UninitDetector"]
