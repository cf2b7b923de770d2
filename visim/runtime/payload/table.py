"""The argument table of a kernel with metadata: what all threads of a walk have in common.

Owns which bytes each entry of the table has. What depends on sizes alone is written once for
launches of the same sizes.

Facts: docs/kernel-abi.md, The argument table.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from visim.binary.zebin import PayloadArgument, SegmentKind, ZeKernel
from visim.machine.images import ImageMemory
from visim.machine.sampling import SamplerState
from visim.machine.surfaces import SAMPLER_STATE_BYTES
from visim.records import record
from visim.runtime.arguments.images import IMAGE_ENTRIES, SAMPLER_ENTRIES
from visim.runtime.payload.geometry import NDRange, Triple, Walk

_THREE, _WORD, _LONG = struct.Struct("<3I"), struct.Struct("<I"), struct.Struct("<Q")


@record
class Bound:
    """An argument in the form that the payload needs.

    `address` is that of memory (0 for null) and `size` its bytes, `data` the bytes of a value,
    `local` the offset of local memory behind the kernel's own; images and samplers are themselves.
    `state` is where the state of a surface or sampler stands in the heap of its kind, for kernels
    that look it up there.
    """

    address: int = 0
    size: int = 0
    state: int = 0
    data: bytes = b""
    local: int = 0
    image: ImageMemory | None = None
    sampler: SamplerState | None = None


_NOTHING = Bound()


_Writer = Callable[[Bound], bytes]
"""Gives the bytes of a table's entry that says something of an argument."""


class ArgumentTable:
    """The argument table of a kernel."""

    def __init__(self, kernel: ZeKernel) -> None:
        entries = [entry for entry in kernel.payload if entry.size]
        self._size = max([entry.offset + entry.size for entry in kernel.payload], default=0)
        self._of_sizes = [e for e in entries if e.arg_type in _OF_SIZES]
        self._addresses = [e for e in entries if e.arg_type in _ADDRESSES]
        others = _OF_SIZES | _ADDRESSES
        self._of_arguments = [(e, _writer(e)) for e in entries if e.arg_type not in others]
        self._last: tuple[NDRange, Walk, bytes] | None = None

    def data(
        self,
        geometry: NDRange,
        walk: Walk,
        bound: Mapping[int, Bound],
        addresses: Mapping[str, int],
    ) -> bytes:
        """Return the table.

        Args:
            geometry: the whole launch.
            walk: the part of it.
            bound: the explicit arguments by index.
            addresses: of memory that visim provides, by the entries' `address_key`.
        """
        table = bytearray(self._sizes(geometry, walk))
        for entry in self._addresses:
            _put(table, entry, _LONG.pack(addresses.get(address_key(entry), 0)))
        for entry, write in self._of_arguments:
            _put(table, entry, write(bound.get(entry.arg_index, _NOTHING)))
        return bytes(table)

    def _sizes(self, geometry: NDRange, walk: Walk) -> bytes:
        """Return a table that has only what says something of sizes."""
        last = self._last
        if last is None or last[0] is not geometry or last[1] is not walk:
            table = bytearray(self._size)
            for entry in self._of_sizes:
                if entry.arg_type == _DIMENSIONS:
                    _put(table, entry, _WORD.pack(geometry.dimensions))
                else:
                    _put(table, entry, _THREE.pack(*_SIZES[entry.arg_type](geometry, walk)))
            last = self._last = geometry, walk, bytes(table)
        return last[2]


def _put(table: bytearray, entry: PayloadArgument, data: bytes) -> None:
    """Write as much as an entry of a table has room for."""
    size = min(entry.size, len(data))
    table[entry.offset : entry.offset + size] = data[:size]


def _writer(entry: PayloadArgument) -> _Writer:
    """Return what gives the bytes of an entry that belongs to an argument."""
    kind = entry.arg_type
    if kind in IMAGE_ENTRIES or kind in SAMPLER_ENTRIES:
        return lambda bound: _of_texels(kind, bound)
    match kind, entry.addrmode:
        case "arg_byvalue", _:
            start = max(0, entry.source_offset)
            return lambda bound: bound.data[start:]
        case "arg_bypointer", "bindless":
            return lambda bound: _LONG.pack(bound.state)
        case "arg_bypointer", "slm":
            return lambda bound: _LONG.pack(bound.local)
        case "buffer_offset", _:
            return lambda bound: _WORD.pack(bound.address & 3)
        case "buffer_size", _:
            return lambda bound: _LONG.pack(bound.size)
        case "inline_sampler", _:
            state = _LONG.pack(entry.sampler_index * SAMPLER_STATE_BYTES)
            return lambda _: state
        case _:
            return lambda bound: _LONG.pack(bound.address)


def _of_texels(kind: str, bound: Bound) -> bytes:
    """Return what an entry says of an image or a sampler; zeros where there is none."""
    if kind in IMAGE_ENTRIES:
        return _WORD.pack(0 if bound.image is None else IMAGE_ENTRIES[kind](bound.image))
    return _WORD.pack(0 if bound.sampler is None else SAMPLER_ENTRIES[kind](bound.sampler))


def address_key(entry: PayloadArgument) -> str:
    """Return what an entry's address is known by: a table can have it and its surface's state."""
    return f"{entry.arg_type} state" if entry.addrmode == "bindless" else entry.arg_type


_SIZES: Mapping[str, Callable[[NDRange, Walk], Triple]] = {
    "global_id_offset": lambda geometry, _: geometry.global_offset,
    "local_size": lambda _, walk: walk.local_size,
    "enqueued_local_size": lambda geometry, _: geometry.local_size,
    "global_size": lambda geometry, _: geometry.global_size,
    "group_count": lambda geometry, _: geometry.group_count,
}
_DIMENSIONS = "work_dimensions"
_OF_SIZES = frozenset(_SIZES) | {_DIMENSIONS}
SEGMENT_ENTRIES: Mapping[str, SegmentKind] = {
    "const_base": SegmentKind.CONST,
    "global_base": SegmentKind.GLOBAL,
}
"""The entries that say where the variables of a program begin."""
_BUFFERS = {"private_base_stateless", "printf_buffer", "assert_buffer", "implicit_arg_buffer"}
_UNREAD = {"indirect_data_pointer", "scratch_pointer"}
"""Addresses that only code reads which the finalizer adds: null pointers, as it has not run."""
_ADDRESSES = frozenset(_BUFFERS) | frozenset(SEGMENT_ENTRIES) | _UNREAD
_OF_ARGUMENTS = frozenset({"arg_byvalue", "arg_bypointer", "inline_sampler"}) | frozenset(
    {"buffer_address", "buffer_offset", "buffer_size"}
)
_OF_TEXELS = frozenset(IMAGE_ENTRIES) | frozenset(SAMPLER_ENTRIES)
KNOWN_ENTRIES = _OF_SIZES | _ADDRESSES | _OF_ARGUMENTS | _OF_TEXELS
"""What the entries of a table may be, by type."""
