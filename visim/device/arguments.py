"""What a kernel's arguments are, read back from the payload that a driver has written.

Owns the names of memory that pointers of the payload lead to, and the sizes of the launch as far
as the payload says them. Drivers know more; what they do not put into the payload is not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from struct import unpack_from

from visim.binary.zebin import ZeKernel
from visim.device.address_space import AddressSpace, Mapping, PageFault
from visim.device.walker import ComputeWalk, Triple
from visim.errors import Fault
from visim.machine.allocations import Allocation
from visim.machine.extents import Extent
from visim.machine.memory import Memory
from visim.runtime.arguments.parameters import parameters
from visim.runtime.arguments.pointees import element_bytes
from visim.runtime.payload.layout import POINTED_TO

_POINTER_BYTES = 8
_TRIPLE_BYTES = 12
_ADDRESS = "buffer_address"
"""The kind of entry that tells where a buffer is that the kernel reaches by its binding table."""


@dataclass(frozen=True, slots=True)
class Pointer:
    """A pointer of the payload: its name, where it leads to, and the mapping that is there.

    `mapping` is None for a null pointer, and for one that leads nowhere. `index` is that of the
    argument, negative for what the program knows nothing of.
    """

    name: str
    index: int
    address: int
    mapping: Mapping | None
    element: int | None = None

    @property
    def extent(self) -> Extent:
        """The memory from the pointer on to the end of what the program asked for."""
        if self.mapping is None:
            return Extent(self.name, 0, 0)
        size = max(0, self.mapping.asked_end - self.address)
        start = self.mapping.start
        whole = None if start == self.address else (start, self.mapping.asked_end - start)
        return Extent(self.name, self.address, size, whole=whole, element=self.element)


def pointers(space: AddressSpace, kernel: ZeKernel, payload: bytes) -> tuple[Pointer, ...]:
    """Return the pointers to flat memory in a payload."""
    return tuple(_pointers(space, kernel, payload))


def _pointers(space: AddressSpace, kernel: ZeKernel, payload: bytes) -> Iterator[Pointer]:
    named, known = parameters(kernel), set[int]()
    for entry in kernel.payload:
        if entry.size != _POINTER_BYTES or entry.offset + entry.size > len(payload):
            continue
        name, element = POINTED_TO.get(entry.arg_type), None
        is_buffer = entry.addrmode == "stateless" or entry.arg_type == _ADDRESS
        if name is None and is_buffer and entry.arg_index >= 0 and entry.arg_index not in known:
            known.add(entry.arg_index)
            name = named[entry.arg_index].name
            element = element_bytes(named[entry.arg_index].type_name)
        if name is None:
            continue
        (address,) = unpack_from("<Q", payload, entry.offset)
        try:
            mapping = space.find(address)
        except PageFault:
            mapping = None
        yield Pointer(name, entry.arg_index, address, mapping, element)


def local_extents(kernel: ZeKernel, payload: bytes, slm_bytes: int) -> tuple[Extent, ...]:
    """Return what arguments are of local memory; drivers put them one behind the other."""
    named = parameters(kernel)
    starts = sorted(
        (_number(payload, entry.offset, entry.size), entry.arg_index)
        for entry in kernel.payload
        if entry.addrmode == "slm" and entry.arg_index >= 0
    )
    if not starts:
        return ()
    ends = [*(start for start, _ in starts[1:]), slm_bytes]
    return tuple(
        Extent(
            named[index].name,
            start,
            max(0, end - start),
            is_local=True,
            element=element_bytes(named[index].type_name),
        )
        for (start, index), end in zip(starts, ends, strict=True)
    )


def _number(payload: bytes, offset: int, size: int) -> int:
    return int.from_bytes(payload[offset : offset + size], "little")


def sizes(kernel: ZeKernel, payload: bytes, walk: ComputeWalk, groups: Triple) -> Geometry | None:
    """Return the work-items of a walk, None where the driver does not say a group's size."""
    local = walk.local_size if walk.ids is not None else _three(kernel, payload, "local_size")
    if local is None or not all(local):
        return None
    offset = _three(kernel, payload, "global_id_offset") or (0, 0, 0)
    return Geometry(walk.first_group, groups, local, offset)


@dataclass(frozen=True, slots=True)
class Geometry:
    """The work-items of a walk: `groups` of `local` ones each, from group `first` on."""

    first: Triple
    groups: Triple
    local: Triple
    offset: Triple

    def to_dict(self) -> dict[str, Sequence[int]]:
        """Return the sizes by the names that launches have for them."""
        counts = zip(self.first, self.groups, self.local, strict=True)
        return {
            "global_size": tuple((first + count) * local for first, count, local in counts),
            "local_size": self.local,
            "global_offset": self.offset,
        }


def _three(kernel: ZeKernel, payload: bytes, kind: str) -> Triple | None:
    """Return an entry of three numbers, None if the payload has none of the kind."""
    for entry in kernel.payload:
        is_it = entry.arg_type == kind and entry.size == _TRIPLE_BYTES
        if is_it and entry.offset + entry.size <= len(payload):
            return unpack_from("<3I", payload, entry.offset)
    return None


def named_fault(fault: Fault, given: Sequence[Pointer]) -> Fault:
    """Return the same fault, in which the memory of an argument has its name."""
    for one in given:
        if one.mapping is not None and one.mapping.name == fault.buffer:
            message = fault.message.replace(f"{fault.buffer!r}", f"{one.name!r}")
            return replace(fault, message=message, buffer=one.name)
    return fault


def named_memory(memory: Memory, given: Sequence[Pointer]) -> Memory:
    """Return the same memory, in which that of arguments has their names."""
    names = {one.mapping.start: one.name for one in reversed(given) if one.mapping is not None}
    return Memory(
        Allocation(names[one.base], one.host, one.writable, None, one.address)
        if one.base in names
        else one
        for one in memory.allocations
    )
