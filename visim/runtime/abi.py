"""The payload of kernels with metadata: from `.ze_info` and arguments to registers.

Owns the argument table (cross-thread data), the local ids (per-thread data), bindings of
surfaces, and the memory that threads need beside the caller's: private memory, scratch, printf.
A kernel's `.input` lines copy stretches of the payload into variables, so the payload is built
as bytes first.

Facts: runtime_abi section 2, all of it, and section 3.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from visim.binary.zebin import PayloadArgument, ZeKernel
from visim.engine.base import Machine
from visim.errors import ArgumentError, UnsupportedError
from visim.machine.images import ImageMemory
from visim.machine.memory import Memory
from visim.machine.sampling import SAMPLER_TABLE_SIZE, SamplerState
from visim.machine.surfaces import (
    LAST_FREE_SURFACE,
    SAMPLER_STATE_BYTES,
    SURFACE_STATE_BYTES,
    Surfaces,
)
from visim.records import record
from visim.runtime import values
from visim.runtime.buffers import Local
from visim.runtime.geometry import (
    NDRange,
    Triple,
    Walk,
    slm_limit,
)
from visim.runtime.images import (
    IMAGE_ENTRIES,
    SAMPLER_ENTRIES,
    image_argument,
    inline_sampler,
    sampler_argument,
)
from visim.runtime.parameters import value_type
from visim.runtime.payload import PayloadLayout, WalkDispatch
from visim.runtime.printf import PRINTF_BYTES
from visim.runtime.segments import Segments
from visim.runtime.threads import (
    LaunchPlan,
    Part,
    Tables,
    bind_samplers,
    bind_surface,
)
from visim.runtime.values import Parameter

_THREE = struct.Struct("<3I")
_SLM_GRANULE = 1024
_IMPLICIT_BYTES = 96
_IMPLICIT_BASE = 0x4000_0000


@record
class Bound:
    """An argument in the form that the payload needs.

    `address` is that of memory (0 for null), `data` the bytes of a value, `local` the offset of
    local memory behind the kernel's own; images and samplers are themselves. `state` is where the
    state of a surface or sampler stands in the heap of its kind, for kernels that look it up there.
    """

    address: int = 0
    data: bytes = b""
    local: int = 0
    image: ImageMemory | None = None
    sampler: SamplerState | None = None
    state: int = 0


_NOTHING = Bound()


class _Preparation:
    """One launch while its arguments are checked and its memory is laid out."""

    def __init__(self, layout: PayloadLayout, parameters: Sequence[Parameter]) -> None:
        self.layout = layout
        self.kernel = layout.kernel
        self.parameters = parameters
        self.memory = Memory()
        self.surfaces = Surfaces()
        self.bound: dict[int, Bound] = {}
        self.slm_bytes = self.kernel.execution_env.slm_size

    # Arguments

    def bind(self, given: Sequence[object]) -> None:
        """Check all arguments and give each its place."""
        local = 0
        for index, (value, parameter) in enumerate(zip(given, self.parameters, strict=True)):
            match parameter.kind:
                case "value":
                    kind = value_type(parameter)
                    self.bound[index] = Bound(data=values.value_bytes(value, parameter.name, kind))
                case "local":
                    local = self._bind_local(index, value, parameter.name, local)
                case "buffer":
                    self._bind_memory(index, value, parameter.name)
                case "image":
                    self._bind_image(index, value, parameter.name)
                case "sampler":
                    self._bind_sampler(index, value, parameter.name)
        for sampler in self.kernel.inline_samplers:
            state = inline_sampler(sampler, self.kernel.name)
            self.surfaces.bind_sampler(sampler.sampler_index, state, "inline sampler")
        if local:
            self.slm_bytes += _aligned(local, _SLM_GRANULE)
        limit = slm_limit(self.layout.linked.platform)
        if self.slm_bytes > limit:
            raise self._too_much_local(limit)

    def _bind_local(self, index: int, value: object, name: str, used: int) -> int:
        if not isinstance(value, Local):
            kind = "None" if value is None else type(value).__name__
            raise ArgumentError(
                f"argument {name!r}: expected visim.Local(nbytes) for local memory, found {kind}"
            )
        entries = [p for p in self.kernel.payload if p.arg_index == index]
        alignment = max([1, *(p.slm_alignment for p in entries)])
        offset = _aligned(used, alignment)
        self.bound[index] = Bound(local=offset)
        return offset + value.nbytes

    def _too_much_local(self, limit: int) -> ArgumentError:
        names = [repr(p.name) for p in self.parameters if p.kind == "local"]
        what = f"arguments {', '.join(names)}" if names else f"kernel {self.kernel.name!r}"
        return ArgumentError(
            f"{what}: {self.slm_bytes} bytes of shared local memory in all, "
            f"{self.layout.linked.platform.name} has {limit} for a group"
        )

    def _bind_memory(self, index: int, value: object, name: str) -> None:
        found = values.memory(value, name, written=index in self.layout.written)
        if found is None:
            self.bound[index] = Bound()
            return
        allocation, state = self.memory.allocate(found, name), 0
        address, indices = allocation.address, list[int]()
        if index in self.layout.bindless:
            indices = [self._free_surface(name)]
            state = indices[0] * SURFACE_STATE_BYTES
        self.bound[index] = Bound(address=address, state=state)
        indices += [e.bti_value for e in self.kernel.binding_table if e.arg_index == index]
        if indices:
            whole = _from_aligned_address(allocation.host, address)
            for place in indices:
                self.surfaces.bind(place, whole, name, address & ~3)

    def _bind_image(self, index: int, value: object, name: str) -> None:
        kinds = [p.image_type for p in self.kernel.payload if p.arg_index == index and p.image_type]
        written = index in self.layout.written
        image = image_argument(value, name, kinds[0] if kinds else None, written=written)
        state = 0
        if index in self.layout.bindless:
            free = self._free_surface(name)
            self.surfaces.bind_image(free, image, name)
            state = free * SURFACE_STATE_BYTES
        self.bound[index] = Bound(image=image, state=state)
        for entry in self.kernel.binding_table:
            if entry.arg_index == index:
                self.surfaces.bind_image(entry.bti_value, image, name)

    def _bind_sampler(self, index: int, value: object, name: str) -> None:
        state = sampler_argument(value, name)
        place = 0
        if index in self.layout.bindless:
            free = self._free_sampler(name)
            self.surfaces.bind_sampler(free, state, name)
            place = free * SAMPLER_STATE_BYTES
        self.bound[index] = Bound(sampler=state, state=place)
        for entry in self.kernel.payload:
            if entry.arg_index == index and entry.sampler_index >= 0:
                self.surfaces.bind_sampler(entry.sampler_index, state, name)

    def _free_surface(self, name: str) -> int:
        """Return an index that no binding table entry of the kernel has; its state's number."""
        named = {entry.bti_value for entry in self.kernel.binding_table}
        for index in range(LAST_FREE_SURFACE, -1, -1):
            if index not in named and index not in self.surfaces:
                return index
        raise ArgumentError(f"argument {name!r}: no surface state is free")

    def _free_sampler(self, name: str) -> int:
        named = {entry.sampler_index for entry in self.kernel.payload}
        named |= {sampler.sampler_index for sampler in self.kernel.inline_samplers}
        for index in range(SAMPLER_TABLE_SIZE):
            if index not in named and not self.surfaces.has_sampler(index):
                return index
        raise ArgumentError(f"argument {name!r}: no sampler state is free")

    def bind_tables(self, tables: Tables) -> None:
        """Bind what the caller wants to see at binding table and sampler indices."""
        bind_samplers(self.surfaces, tables.samplers)
        for index, value in tables.surfaces.items():
            if index in self.surfaces:
                raise ArgumentError(f"surfaces: index {index} belongs to an argument of the kernel")
            bind_surface(self.surfaces, index, value)

    # Memory of threads

    def plan(self, geometry: NDRange, segments: Segments | None) -> LaunchPlan:
        """Return the launch with its parts, one for each size that groups have."""
        if segments is not None:
            segments.add_to(self.memory)
        printf = self._printf_buffer()
        addresses = {"printf_buffer": 0 if printf is None else int(printf.ctypes.data)}
        threads = -(-math.prod(geometry.local_size) // self.layout.simd_size)
        private = self._private_memory(threads)
        addresses["private_base_stateless"] = 0 if private is None else int(private.ctypes.data)
        parts = tuple(self._part(geometry, walk, addresses, private) for walk in geometry.walks)
        return LaunchPlan(geometry.to_dict(), parts, self.surfaces, printf)

    def _part(
        self,
        geometry: NDRange,
        walk: Walk,
        addresses: Mapping[str, int],
        private: NDArray[np.uint8] | None,
    ) -> Part:
        environment = self.kernel.execution_env
        implicit = None
        known = dict(addresses)
        if environment.has_stack_calls or self._has("implicit_arg_buffer"):
            table = self._local_id_table(self.layout.of_threads(walk.local_size).ids)
            address = self.memory.add(table, "local ids")
            implicit = implicit_arguments(
                geometry, walk, environment.simd_size, addresses["printf_buffer"], address
            )
            known["implicit_arg_buffer"] = self.memory.add(implicit, "implicit arguments")
        data = cross_thread_data(self.kernel, geometry, walk, self.bound, known)
        scratch = _scratch_bytes(self.kernel)
        machine = Machine(self.memory, self.surfaces, scratch, implicit, _IMPLICIT_BASE)
        dispatch = WalkDispatch(
            self.layout,
            walk,
            data,
            slm_bytes=self.slm_bytes,
            implicit=_IMPLICIT_BASE if implicit is not None else 0,
            scratch_bytes=scratch,
            private=private,
        )
        return Part(dispatch, machine)

    def _has(self, arg_type: str) -> bool:
        return arg_type in self.layout.kinds

    def _printf_buffer(self) -> NDArray[np.uint8] | None:
        if not self._has("printf_buffer"):
            return None
        buffer = _own_memory(PRINTF_BYTES)
        self.memory.add(buffer, "printf buffer")
        return buffer

    def _private_memory(self, threads: int) -> NDArray[np.uint8] | None:
        size = sum(
            entry.size * (self.layout.simd_size if entry.is_simt_thread else 1)
            for entry in self.kernel.per_thread_memory
            if entry.type == "global" and entry.usage == "private_space"
        )
        if not size:
            return None
        pool = _own_memory(size * threads).reshape(threads, size)
        self.memory.add(pool, "private memory")
        return pool

    def _local_id_table(self, ids: NDArray[np.uint16]) -> NDArray[np.uint8]:
        """Return the table in which stack functions look up the local ids of their thread."""
        threads, dimensions, channels = ids.shape
        table = np.zeros((threads, dimensions, max(channels, 16)), np.uint16)
        table[:, :, :channels] = ids
        return table.reshape(-1).view(np.uint8)


def prepare(
    layout: PayloadLayout,
    parameters: Sequence[Parameter],
    given: Sequence[object],
    geometry: NDRange,
    tables: Tables,
    segments: Segments | None,
) -> LaunchPlan:
    """Check a launch of a kernel with metadata and lay out its payload.

    Raises:
        ArgumentError: an argument is wrong; the message names it.
        UnsupportedError: the kernel needs something that visim cannot give it.
    """
    preparation = _Preparation(layout, parameters)
    preparation.bind(given)
    preparation.bind_tables(tables)
    return preparation.plan(geometry, segments)


def cross_thread_data(
    kernel: ZeKernel,
    geometry: NDRange,
    walk: Walk,
    bound: Mapping[int, Bound],
    addresses: Mapping[str, int],
) -> bytes:
    """Return the argument table: what all threads of a walk have in common.

    Args:
        kernel: the kernel's metadata.
        geometry: the whole launch.
        walk: the part of it.
        bound: the explicit arguments by index.
        addresses: of memory that visim provides, by the name of the table's entry.
    """
    table = bytearray(max([p.offset + p.size for p in kernel.payload], default=0))
    for entry in kernel.payload:
        if entry.size:
            data = _entry_bytes(entry, geometry, walk, bound, addresses)[: entry.size]
            table[entry.offset : entry.offset + len(data)] = data
    return bytes(table)


def implicit_arguments(
    geometry: NDRange, walk: Walk, simd_size: int, printf: int, local_id_table: int
) -> NDArray[np.uint8]:
    """Return the ImplicitArgs structure, which stack functions read instead of the payload."""
    head = struct.pack(
        "<4B3I", _IMPLICIT_BYTES, 0, geometry.dimensions, simd_size, *walk.local_size
    )
    sizes = struct.pack("<3QQ3Q", *geometry.global_size, printf, *geometry.global_offset)
    tail = struct.pack("<Q3II", local_id_table, *geometry.group_count, 0)
    return np.frombuffer(bytearray(head + sizes + tail), np.uint8)


def _entry_bytes(
    entry: PayloadArgument,
    geometry: NDRange,
    walk: Walk,
    bound: Mapping[int, Bound],
    addresses: Mapping[str, int],
) -> bytes:
    sizes = _SIZES.get(entry.arg_type)
    if sizes is not None:
        return _THREE.pack(*sizes(geometry, walk))
    if entry.arg_type in _ADDRESSES:
        return struct.pack("<Q", addresses.get(entry.arg_type, 0))
    argument = bound.get(entry.arg_index, _NOTHING)
    if entry.arg_type in IMAGE_ENTRIES and argument.image is not None:
        return struct.pack("<I", IMAGE_ENTRIES[entry.arg_type](argument.image))
    if entry.arg_type in SAMPLER_ENTRIES and argument.sampler is not None:
        return struct.pack("<I", SAMPLER_ENTRIES[entry.arg_type](argument.sampler))
    match entry.arg_type:
        case "work_dimensions":
            return struct.pack("<I", geometry.dimensions)
        case "arg_byvalue":
            return argument.data[max(0, entry.source_offset) :]
        case "arg_bypointer" if entry.addrmode == "bindless":
            return struct.pack("<Q", argument.state)
        case "arg_bypointer" if entry.addrmode == "slm":
            return struct.pack("<Q", argument.local)
        case "buffer_offset":
            return struct.pack("<I", argument.address & 3)
        case _:
            return struct.pack("<Q", argument.address)


_SIZES: Mapping[str, Callable[[NDRange, Walk], Triple]] = {
    "global_id_offset": lambda geometry, _: geometry.global_offset,
    "local_size": lambda _, walk: walk.local_size,
    "enqueued_local_size": lambda geometry, _: geometry.local_size,
    "global_size": lambda geometry, _: geometry.global_size,
    "group_count": lambda geometry, _: geometry.group_count,
}
_ADDRESSES = frozenset({"private_base_stateless", "printf_buffer", "implicit_arg_buffer"})
_OF_ARGUMENTS = frozenset({"arg_byvalue", "arg_bypointer", "buffer_address", "buffer_offset"})
_OF_TEXELS = frozenset(IMAGE_ENTRIES) | frozenset(SAMPLER_ENTRIES)
_KNOWN = frozenset(_SIZES) | _ADDRESSES | _OF_ARGUMENTS | _OF_TEXELS | {"work_dimensions"}


def check_supported(kernel: ZeKernel) -> None:
    """Raise UnsupportedError if a kernel's metadata asks for what visim does not provide."""
    what = f"kernel {kernel.name!r}"
    if kernel.user_attributes.invalid_kernel:
        reason = kernel.user_attributes.invalid_kernel
        raise UnsupportedError(f"{what}: the compiler marked it as invalid: {reason}")
    for entry in kernel.payload:
        if entry.arg_type not in _KNOWN:
            raise UnsupportedError(f"{what}: arguments of type {entry.arg_type!r} are not known")


def _scratch_bytes(kernel: ZeKernel) -> int:
    """Return the scratch memory that a thread needs above the level of vISA."""
    return sum(
        entry.size
        for entry in kernel.per_thread_memory
        if entry.type == "scratch" and entry.usage != "spill_fill_space"
    )


def _aligned(position: int, alignment: int) -> int:
    return -(-position // alignment) * alignment


def _own_memory(size: int) -> NDArray[np.uint8]:
    raw = np.zeros(size + 64, np.uint8)
    start = -int(raw.ctypes.data) % 64
    return raw[start : start + size]


def _from_aligned_address(host: NDArray[np.uint8], address: int) -> NDArray[np.uint8]:
    """Return a view that begins at the aligned address from which a surface has to start.

    The up to three bytes in front belong to the same word and so to memory that exists; programs
    skip them by the buffer_offset in their payload.
    """
    skipped = address & 3
    if not skipped or not host.size:
        return host
    raw = (ctypes.c_uint8 * (host.size + skipped)).from_address(address - skipped)
    view: NDArray[np.uint8] = np.ctypeslib.as_array(raw)
    view.flags.writeable = host.flags.writeable
    return view
