"""The detector of uninitialised values: what reached a store, a branch or an address.

A use is told with the place where the value was read: the last read of something undefined by the
same channel of the same thread. Before a launch, and before each group, it marks what nothing has
written: buffers that say so, local memory, and the memory of each thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from visim.engine.accesses import Accesses, AccessSite
from visim.engine.observers import GroupStart
from visim.errors import Fault
from visim.sanitize.collecting import Collector, Side
from visim.sanitize.detecting import Surroundings, Undefined
from visim.sanitize.entries import watches
from visim.sanitize.findings import Actor, Coordinates
from visim.sanitize.uninit.instrument import ADDRESS, BRANCH, PREFIX, READ, STORE
from visim.sanitize.uninit.marks import Marks
from visim.sanitize.uninit.memory import SCRATCH_BITS, ShadowSpace
from visim.sem.effects import Space

_UNDEFINED = 0xFF
_SURFACE_SHIFT = 48
_MOST_REMEMBERED = 64
"""So many reads of a thread are remembered."""

_SAYS = {
    STORE: "stores a value to {what} that is not initialised",
    BRANCH: "goes where a value says that is not initialised",
    ADDRESS: "computes an address from a value that is not initialised",
}


@dataclass(frozen=True, slots=True)
class _Read:
    """A read of undefined bytes: the site, its channels and what they read, by address."""

    site: AccessSite
    channels: tuple[int, ...]
    addresses: tuple[int, ...]
    memory: Space


@dataclass
class _Thread:
    reads: list[_Read] = field(default_factory=list[_Read])


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
        self._threads: dict[int, _Thread] = {}
        self._memories: dict[tuple[int, int], tuple[Space, int]] = {}

    def begin_group(self, group: GroupStart) -> None:
        """Mark local memory, and the memory of each thread, as never written."""
        self._group, self._threads = group.group, {}
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
        thread = self._threads.setdefault(number, _Thread())
        if site.operation == READ:
            memory, _ = self._memory(site)
            thread.reads.append(_Read(site, channels, tuple(values), memory))
            if len(thread.reads) > _MOST_REMEMBERED:
                del thread.reads[0]
            return
        if site.operation == STORE:
            self._has_stored = True
            kept = [number for number, value in enumerate(values) if not self._is_private(value)]
            if not kept:
                return
            values, channels = [values[n] for n in kept], tuple(channels[n] for n in kept)
        self._use(number, thread, site, channels, values)

    def _use(
        self,
        number: int,
        thread: _Thread,
        site: AccessSite,
        channels: tuple[int, ...],
        values: list[int],
    ) -> None:
        """Report a use, with the read that it comes from."""
        read, channel = self._origin(thread, channels)
        user = self._surroundings.actor(self._group, number, channel)
        sides = [Side(site.unit, site.pc, user)]
        what, kind, buffer = "", "uninit-private", None
        source = "a variable that nothing has written"
        if read is not None:
            sides.append(Side(read.site.unit, read.site.pc, user))
            at = read.channels.index(channel) if channel in read.channels else 0
            kind, buffer, source = self._source(read, at)
        if site.operation == STORE:
            value = values[channels.index(channel)] if channel in channels else values[0]
            what = self._target(value)
        said = _SAYS[site.operation].format(what=what)
        self._collector.add(kind, sides, f"{_who(user)} {said}: {source}", buffer=buffer)

    def _origin(
        self, thread: _Thread, channels: tuple[int, ...]
    ) -> tuple[_Read | None, int | None]:
        """Return the last read by one of some channels, and the channel.

        What compilers read themselves, such as arguments from the stack, is the last to be taken.
        """
        found: tuple[_Read, int] | None = None
        for read in reversed(thread.reads):
            for channel in channels:
                if channel not in read.channels:
                    continue
                if not self._collector.places.is_compilers(read.site.unit, read.site.pc):
                    return read, channel
                found = found or (read, channel)
        if found is not None:
            return found
        channel = channels[0] if channels else None
        return (thread.reads[-1] if thread.reads else None), channel

    def _source(self, read: _Read, at: int) -> tuple[str, str | None, str]:
        """Return the kind of what was read, the buffer's name and words for it."""
        address = read.addresses[at] if at < len(read.addresses) else 0
        match read.memory:
            case Space.SLM:
                return "uninit-local", None, self._surroundings.local_element(address)
            case Space.FLAT | Space.SURFACE:
                if read.memory is Space.SURFACE:
                    index, offset = address >> _SURFACE_SHIFT, address & (1 << _SURFACE_SHIFT) - 1
                    address = self._surroundings.surfaces.get(index, 0) + offset
                area = self._surroundings.area(address)
                if area is not None and area.kind == "private":
                    return "uninit-private", None, "a private variable or array"
                name = None if area is None else area.name
                return "uninit-global", name, self._element(address, read.site)
            case _:
                return "uninit-private", None, "a private variable or array"

    def _element(self, address: int, site: AccessSite) -> str:
        area = self._surroundings.area(address)
        if area is None:
            return f"the bytes at 0x{address:x}"
        _, size = self._memory(site)
        count = self._surroundings.asked(area) // size
        return f"{area.name}[{(address - area.start) // size}] of {count}"

    def _target(self, address: int) -> str:
        area = self._surroundings.area(address)
        return "a buffer" if area is None else area.name

    def _is_private(self, address: int) -> bool:
        area = self._surroundings.area(address) if address else None
        return area is not None and area.kind != "buffer"

    def _memory(self, site: AccessSite) -> tuple[Space, int]:
        """Return which memory an instruction reads, and the bytes of an element."""
        key = site.unit, site.pc
        found = self._memories.get(key)
        if found is None:
            kernel = self._surroundings.kernel
            found = (Space.SCRATCH, 1)
            for effect in kernel.effects(kernel.units[site.unit], site.pc):
                space, kind = getattr(effect, "space", None), getattr(effect, "type", None)
                if isinstance(space, Space) and kind is not None:
                    found = space, kind.bytes
                    break
            self._memories[key] = found
        return found

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
