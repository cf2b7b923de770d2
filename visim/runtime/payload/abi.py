"""The payload of kernels with metadata: from `.ze_info` and arguments to registers.

Owns how arguments become memory and surfaces, and the memory that threads need beside the caller's:
private memory, scratch, printf. A kernel's `.input` lines copy stretches of the payload into
variables, so the payload is built as bytes first: the argument table (`table`) and the local ids.

Facts: docs/kernel-abi.md.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from visim.binary.zebin import ZeKernel
from visim.engine.base import Machine
from visim.errors import ArgumentError, UnsupportedError
from visim.machine.allocations import Allocation, aligned_zeros
from visim.machine.bounds import Bounds
from visim.machine.extents import Extent
from visim.machine.memory import Memory
from visim.machine.sampling import SAMPLER_TABLE_SIZE
from visim.machine.surfaces import (
    LAST_FREE_SURFACE,
    SAMPLER_STATE_BYTES,
    SURFACE_STATE_BYTES,
    Surfaces,
)
from visim.runtime.arguments import values
from visim.runtime.arguments.buffers import Local, whole_of
from visim.runtime.arguments.images import (
    image_argument,
    inline_sampler,
    sampler_argument,
)
from visim.runtime.arguments.pointees import element_bytes
from visim.runtime.arguments.values import Parameter
from visim.runtime.payload.geometry import (
    NDRange,
    Walk,
    slm_limit,
)
from visim.runtime.payload.layout import PayloadLayout, WalkDispatch
from visim.runtime.payload.segments import Segments
from visim.runtime.payload.table import KNOWN_ENTRIES, SEGMENT_ENTRIES, Bound, address_key
from visim.runtime.payload.threads import (
    LaunchPlan,
    Part,
    Tables,
    add_surfaces,
    bind_samplers,
    bind_surface,
)
from visim.runtime.printf.assertions import AssertBuffer
from visim.runtime.printf.records import PRINTF_BYTES

LARGEST_SURFACE = 1 << 32
LARGE_BUFFERS_OPTION = "-cl-intel-greater-than-4GB-buffer-required"
"""What makes the compiler compute addresses of 64 bits on every device."""

_SLM_GRANULE = 1024
_IMPLICIT_BYTES = 96
IMPLICIT_BASE = 0x4000_0000
"""Where in a thread's scratch memory the ImplicitArgs structure stands."""


class _Preparation:
    """One launch while its arguments are checked and its memory is laid out."""

    def __init__(
        self, layout: PayloadLayout, parameters: Sequence[Parameter], bounds: Bounds
    ) -> None:
        self.layout = layout
        self.kernel = layout.kernel
        self.parameters = parameters
        self.memory = Memory()
        self.surfaces = Surfaces(bounds)
        self.bound: dict[int, Bound] = {}
        self.slm_bytes = self.kernel.execution_env.slm_size
        self.notes: tuple[str, ...] = ()
        self.extents: list[Extent] = []

    # Arguments

    def bind(self, given: Sequence[object]) -> None:
        """Check all arguments and give each its place."""
        local = 0
        for index, (value, parameter) in enumerate(zip(given, self.parameters, strict=True)):
            match parameter.kind:
                case "value":
                    kind = self.layout.value_types[index]
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
            self._add_local(local)
        limit = slm_limit(self.layout.linked.platform)
        if self.slm_bytes > limit:
            raise self._too_much_local(limit)

    def _add_local(self, used: int) -> None:
        """Have local memory for the arguments; hardware has it in pieces of one size only."""
        rounded = _aligned(used, _SLM_GRANULE)
        if rounded != used:
            names = ", ".join(repr(p.name) for p in self.parameters if p.kind == "local")
            self.notes += (
                f"local memory of {names}: {used} bytes were rounded up to {rounded}, as devices "
                "do; an access to what was added is seen by sanitize='bounds' only",
            )
        self.slm_bytes += rounded

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
        start = self.kernel.execution_env.slm_size + offset
        kind = self.parameters[index].type_name
        self.extents.append(Extent(name, start, value.nbytes, True, None, element_bytes(kind)))
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
            self.extents.append(Extent(name, 0, 0))
            return
        allocation, state = self.memory.allocate(found, name), 0
        self._check_reach(index, allocation)
        address = allocation.address
        kind, whole = self.parameters[index].type_name, whole_of(value)
        element = element_bytes(kind)
        self.extents.append(Extent(name, address, allocation.size, False, whole, element))
        indices: list[int] = []
        if index in self.layout.bindless:
            indices = [self._free_surface(name)]
            state = indices[0] * SURFACE_STATE_BYTES
        self.bound[index] = Bound(address, allocation.size, state)
        indices += self.layout.table_indices.get(index, ())
        if indices:
            whole = _from_aligned_address(allocation)
            for place in indices:
                self.surfaces.bind_allocation(place, whole)

    def _check_reach(self, index: int, allocation: Allocation) -> None:
        """Refuse a buffer that the kernel reaches by offsets of 32 bits and that needs more."""
        by_offset = index in self.layout.table_indices or index in self.layout.bindless
        has_all = self.kernel.execution_env.has_4gb_buffers
        if allocation.size > LARGEST_SURFACE and by_offset and not has_all:
            raise ArgumentError(
                f"argument {allocation.name!r}: {allocation.size} bytes, but kernel "
                f"{self.kernel.name!r} reaches it by offsets of 32 bits ({LARGEST_SURFACE} bytes); "
                f"build it with {LARGE_BUFFERS_OPTION} (SPIR-V for Level Zero: "
                "-ze-opt-greater-than-4GB-buffer-required)"
            )

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
        for place in self.layout.table_indices.get(index, ()):
            self.surfaces.bind_image(place, image, name)

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
        add_surfaces(self.memory, tables.surfaces)

    # Memory of threads

    def plan(self, geometry: NDRange, segments: Segments | None) -> LaunchPlan:
        """Return the launch with its parts, one for each size that groups have."""
        printf, private = self._printf_buffer(), self._private_memory(geometry)
        assertions = self._assert_buffer()
        addresses = self._segment_addresses(segments) | {
            "printf_buffer": 0 if printf is None else int(printf.ctypes.data),
            "assert_buffer": 0 if assertions is None else int(assertions.data.ctypes.data),
            "private_base_stateless": 0 if private is None else int(private.ctypes.data),
        }
        walks = geometry.walks
        parts = tuple([self._part(geometry, walk, addresses, private) for walk in walks])
        sizes = geometry.to_dict()
        notes, extents = self.notes, tuple(self.extents)
        return LaunchPlan(sizes, parts, self.surfaces, printf, assertions, notes, extents)

    def _segment_addresses(self, segments: Segments | None) -> dict[str, int]:
        """Let threads reach the program's variables; return what the payload says of them."""
        found: dict[str, int] = {}
        if segments is None:
            return found
        where = segments.add_to(self.memory)
        for entry in self.kernel.payload:
            kind = SEGMENT_ENTRIES.get(entry.arg_type)
            allocation = None if kind is None else where.get(kind)
            if allocation is None:
                continue
            found[address_key(entry)] = allocation.address
            indices = [entry.bti_value] if entry.bti_value >= 0 else []
            if entry.addrmode == "bindless":
                indices.append(self._free_surface(entry.arg_type))
                found[address_key(entry)] = indices[-1] * SURFACE_STATE_BYTES
            for place in indices:
                self.surfaces.bind_allocation(place, allocation)
        return found

    def _part(
        self,
        geometry: NDRange,
        walk: Walk,
        addresses: Mapping[str, int],
        private: NDArray[np.uint8] | None,
    ) -> Part:
        """Return one walk over thread groups of a launch, with the memory that its threads find."""
        layout, implicit = self.layout, None
        if self.kernel.execution_env.has_stack_calls or self._has("implicit_arg_buffer"):
            table = self._local_id_table(layout.of_threads(walk.local_size).ids)
            address = self.memory.add(table, "local ids")
            printf = addresses["printf_buffer"]
            implicit = implicit_arguments(geometry, walk, layout.simd_size, printf, address)
            own = self.memory.add(implicit, "implicit arguments")
            addresses = {**addresses, "implicit_arg_buffer": own}
        data = layout.table.data(geometry, walk, self.bound, addresses)
        scratch = layout.scratch_bytes
        machine = Machine(
            self.memory,
            self.surfaces,
            scratch,
            implicit,
            IMPLICIT_BASE,
            pointers=layout.pointers,
        )
        dispatch = WalkDispatch(
            layout,
            walk,
            data,
            slm_bytes=self.slm_bytes,
            implicit=IMPLICIT_BASE if implicit is not None else 0,
            private=private,
        )
        return Part(dispatch, machine)

    def _has(self, arg_type: str) -> bool:
        return arg_type in self.layout.kinds

    def _printf_buffer(self) -> NDArray[np.uint8] | None:
        if not self._has("printf_buffer"):
            return None
        buffer = aligned_zeros(PRINTF_BYTES)
        self.memory.add(buffer, "printf buffer")
        return buffer

    def _assert_buffer(self) -> AssertBuffer | None:
        if not self._has("assert_buffer"):
            return None
        buffer = AssertBuffer.in_memory(self.memory)
        self.memory.add(buffer.data, "assert buffer")
        return buffer

    def _private_memory(self, geometry: NDRange) -> NDArray[np.uint8] | None:
        size = self.layout.private_bytes
        if not size:
            return None
        threads = -(-math.prod(geometry.local_size) // self.layout.simd_size)
        pool = aligned_zeros(size * threads).reshape(threads, size)
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
    bounds: Bounds = Bounds.FAULT,
) -> LaunchPlan:
    """Check a launch of a kernel with metadata and lay out its payload.

    Raises:
        ArgumentError: an argument is wrong; the message names it.
        UnsupportedError: the kernel needs something that visim cannot give it.
    """
    preparation = _Preparation(layout, parameters, bounds)
    preparation.bind(given)
    preparation.bind_tables(tables)
    return preparation.plan(geometry, segments)


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


def check_supported(kernel: ZeKernel) -> None:
    """Raise UnsupportedError if a kernel's metadata asks for what visim does not provide."""
    what = f"kernel {kernel.name!r}"
    if kernel.user_attributes.invalid_kernel:
        reason = kernel.user_attributes.invalid_kernel
        raise UnsupportedError(f"{what}: the compiler marked it as invalid: {reason}")
    for entry in kernel.payload:
        if entry.arg_type not in KNOWN_ENTRIES:
            raise UnsupportedError(f"{what}: arguments of type {entry.arg_type!r} are not known")


def _aligned(position: int, alignment: int) -> int:
    return -(-position // alignment) * alignment


def _from_aligned_address(allocation: Allocation) -> Allocation:
    """Return what begins at the aligned address from which a surface has to start.

    The up to three bytes in front belong to the same word and so to memory that exists; programs
    skip them by the buffer_offset in their payload.
    """
    skipped = allocation.address & 3
    if not skipped or not allocation.size:
        return allocation
    start = allocation.address - skipped
    raw = (ctypes.c_uint8 * (allocation.size + skipped)).from_address(start)
    view: NDArray[np.uint8] = np.ctypeslib.as_array(raw)
    view.flags.writeable = allocation.writable
    return Allocation(allocation.name, view, allocation.writable, start)
