"""Where the payload of a kernel with metadata lies, and what each hardware thread gets of it.

Owns the order of the payload in registers (r0, local ids, argument table), the slices of it that
`.input` lines copy into variables, and the dispatch that hands them to engines. What is in the
argument table is the business of `abi`.

Facts: docs/kernel-abi.md, Registers at the start.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from visim import predefined
from visim.binary.zebin import PayloadArgument, ZeKernel
from visim.engine.base import SharedStarts, ThreadStart
from visim.engine.provenance import PointerPlace
from visim.errors import UnsupportedError
from visim.linker.program import LinkedKernel
from visim.module import Input, Unit
from visim.operands import General
from visim.renaming import mentioned, mentions
from visim.runtime.arguments.parameters import parameters, value_type, written
from visim.runtime.payload.geometry import Triple, Walk, local_ids, thread_masks
from visim.runtime.payload.table import ArgumentTable
from visim.runtime.payload.threads import Register, ThreadHeader
from visim.target import Platform

PACKED_IDS = "packed_local_ids"
_SCRATCH_GRANULE = 1024
_POINTER_BYTES = 8
_MOST_SIZES = 64
"""For so many local sizes a kernel remembers what their threads have."""


@dataclass(frozen=True, slots=True)
class Slice:
    """An `.input` line: where its variable stands in the register image, and which bytes it gets.

    `start` counts from the beginning of what the slice is cut from.
    """

    register: int
    start: int
    size: int

    def cut(self, data: bytes) -> Register:
        """Return the register with its part of `data`."""
        return (self.register, data[self.start : self.start + self.size])


@dataclass(frozen=True, slots=True)
class Places:
    """Which bytes of the registers hold what: r0, the local ids, then cross-thread data.

    Code loads cross-thread data itself from byte `loaded` of the payload on. They begin `gap` bytes
    later in the registers than in the payload, where the first of them is aligned to more than a
    register, as a pointer to local memory of long vectors is.
    """

    grf: int
    local_id_bytes: int
    cross_base: int
    payload: tuple[PayloadArgument, ...]
    loaded: int = 0
    gap: int = 0

    def is_local(self, entry: Input) -> bool:
        """Whether an input lies in the local ids."""
        end = entry.offset + entry.size
        return self.grf <= entry.offset and end <= self.grf + self.local_id_bytes

    def is_cross(self, entry: Input) -> bool:
        """Whether an input starts in a piece of the cross-thread data that is described."""
        start = self.start(entry)
        return any(piece.offset <= start < piece.offset + piece.size for piece in self.payload)

    def start(self, entry: Input) -> int:
        """Return at which byte of the cross-thread data an input starts."""
        start = entry.offset - self.cross_base
        return start if start < self.loaded else start - self.gap

    def register_byte(self, start: int) -> int:
        """Return which byte of the registers holds a byte of the cross-thread data."""
        return self.cross_base + start + (self.gap if start >= self.loaded else 0)


def places_of(kernel: ZeKernel, inputs: Sequence[Input], platform: Platform) -> Places:
    """Return the places of a kernel's payload; older devices keep a register free before it."""
    grf = platform.grf_bytes
    local_ids = sum(
        grf if piece.arg_type == PACKED_IDS else piece.size for piece in kernel.per_thread_payload
    )
    if not platform.loads_payload:
        free = 0 if local_ids else grf
        return Places(grf, local_ids, grf + local_ids + free, kernel.payload)
    base, loaded = grf + local_ids, kernel.execution_env.inline_data_payload_size
    gap = -loaded % grf  # What is loaded behind the inline data begins with a register.
    if any(piece.offset == loaded and piece.arg_index >= 0 for piece in kernel.payload):
        first = min((one.offset for one in inputs if one.offset >= base + loaded), default=0)
        gap = max(first // grf * grf - base - loaded, gap)
    return Places(grf, local_ids, base, kernel.payload, loaded, gap)


def is_unused(unit: Unit, entry: Input) -> bool:
    """Whether code never reads an input of the compiler's own, or one that is a surface.

    Metadata leaves these out: code for CM has the numbers of its surfaces in itself.
    """
    is_general = isinstance(entry.variable, General)
    return (entry.is_implicit or not is_general) and not mentions(unit, entry.variable)


def dimension_bytes(platform: Platform, simd_size: int) -> int:
    """Return the bytes that the local ids of one dimension take: whole registers."""
    return 32 if platform.grf_bytes == 32 and simd_size <= 16 else 64


@dataclass(frozen=True, slots=True)
class OfThreads:
    """What a group's threads have: local ids [thread, dimension, channel], and how they start.

    `own` lacks the arguments and what depends on the group, `first` only the arguments.
    """

    ids: NDArray[np.uint16]
    own: tuple[ThreadStart, ...]
    first: tuple[ThreadStart, ...]


POINTED_TO = {
    "private_base_stateless": "private memory",
    "printf_buffer": "printf buffer",
    "assert_buffer": "assert buffer",
}
"""What visim calls the memory that entries of the payload point to, by their types."""


class PayloadLayout:
    """Where a kernel's payload lies in registers; the same for all launches.

    `written` are the arguments whose memory the kernel writes, `bindless` those whose state it
    finds by an offset in its payload, `kinds` the types of all entries of its payload,
    `table_indices` the binding table indices of its arguments, `value_types` the types of those
    that are passed by value. A thread has `scratch_bytes` of
    scratch memory above the level of vISA, and `private_bytes` of private memory.

    Raises:
        UnsupportedError: the kernel needs something that visim cannot give it.
    """

    def __init__(self, kernel: ZeKernel, linked: LinkedKernel) -> None:
        self.kernel = kernel
        self.linked = linked
        self.simd_size = kernel.execution_env.simd_size
        self.grf = linked.platform.grf_bytes
        self.header = ThreadHeader(linked)
        _check_thread_data(kernel)
        self._has_packed_ids = any(p.arg_type == PACKED_IDS for p in kernel.per_thread_payload)
        self._places = places_of(kernel, linked.kernel.inputs, linked.platform)
        self.local_id_bytes = self._places.local_id_bytes
        self.dimension_bytes = dimension_bytes(linked.platform, self.simd_size)
        if self.local_id_bytes % self.dimension_bytes:
            raise UnsupportedError(
                f"kernel {kernel.name!r}: local ids of {self.local_id_bytes} bytes for "
                f"{self.simd_size} channels"
            )
        self.cross_base = self._places.cross_base
        self.bindless = frozenset(
            entry.arg_index for entry in kernel.payload if entry.addrmode == "bindless"
        )
        self._check_states()
        thread, cross = self._slices()
        self.thread_slices = thread
        self.cross_slices = cross
        self.private_places = self._private_places()
        self.written = written(kernel)
        self.value_types = [value_type(parameter) for parameter in parameters(kernel)]
        self.kinds = frozenset(entry.arg_type for entry in kernel.payload)
        self.table = ArgumentTable(kernel)
        self.table_indices: dict[int, list[int]] = {}
        for entry in kernel.binding_table:
            self.table_indices.setdefault(entry.arg_index, []).append(entry.bti_value)
        self.scratch_bytes, self.private_bytes = _scratch_bytes(kernel), _private_bytes(kernel)
        self._of_threads: dict[tuple[Triple, int], OfThreads] = {}

    def _check_states(self) -> None:
        """Refuse code that looks for states in memory, which the metadata does not tell it."""
        if self.bindless:
            return
        if any(_is_bindless(item) for unit in self.linked.units for item in unit.body):
            raise UnsupportedError(
                f"kernel {self.kernel.name!r}: its code finds surfaces or samplers by their state "
                "(%bss, S31), but its metadata calls all arguments stateful; build it without "
                "options such as -cl-intel-use-bindless-mode"
            )

    def _slices(self) -> tuple[tuple[Slice, ...], tuple[Slice, ...]]:
        thread: list[Slice] = []
        cross: list[Slice] = []
        unit = self.linked.units[0]
        for entry in self.linked.kernel.inputs:
            variable = entry.variable
            if is_unused(unit.unit, entry):
                continue
            if not isinstance(variable, General):
                raise self._unexplained(entry)
            register = self.linked.offset(unit, variable)
            if self._places.is_local(entry):
                thread.append(Slice(register, entry.offset - self.grf, entry.size))
            elif self._places.is_cross(entry):
                cross.append(Slice(register, self._places.start(entry), entry.size))
            else:
                raise self._unexplained(entry)
        return tuple(thread), tuple(cross)

    def _private_places(self) -> tuple[int, ...] | None:
        """Return where in the registers the address of private memory stands; None: in pieces."""
        found: list[int] = []
        for entry in self.kernel.payload:
            if entry.arg_type != "private_base_stateless":
                continue
            for piece in self.cross_slices:
                start, end = entry.offset - piece.start, entry.offset + 8 - piece.start
                if start >= 0 and end <= piece.size:
                    found.append(piece.register + start)
                elif start < piece.size and end > 0:
                    return None
        return tuple(found)

    @cached_property
    def pointers(self) -> tuple[PointerPlace, ...]:
        """The pointers to flat memory that threads start with."""
        names = [parameter.name for parameter in parameters(self.kernel)]
        found: list[PointerPlace] = []
        for entry in self.kernel.payload:
            name = POINTED_TO.get(entry.arg_type)
            if name is None and entry.addrmode == "stateless" and entry.arg_index >= 0:
                name = names[entry.arg_index]
            if name is None and entry.arg_index < 0 and entry.size == _POINTER_BYTES:
                name = entry.arg_type
            for piece in self.cross_slices if name is not None and entry.size else ():
                start = max(entry.offset, piece.start)
                end = min(entry.offset + entry.size, piece.start + piece.size)
                if start < end:
                    register = piece.register + start - piece.start
                    found.append(PointerPlace(register, end - start, str(name)))
        return tuple(found)

    @cached_property
    def local_pointers(self) -> tuple[PointerPlace, ...]:
        """The pointers to local memory that threads start with, and that code reads: arguments.

        Of the first argument compilers know where it is.
        """
        if not any(entry.addrmode == "slm" for entry in self.kernel.payload):
            return ()
        names = [parameter.name for parameter in parameters(self.kernel)]
        unit = self.linked.units[0]
        used = mentioned(unit.unit)
        read = {
            self.linked.offset(unit, entry.variable)
            for entry in self.linked.kernel.inputs
            if isinstance(entry.variable, General) and entry.variable.root()[0] in used
        }
        return tuple(
            PointerPlace(piece.register + entry.offset - piece.start, entry.size, names[index])
            for entry in self.kernel.payload
            if (index := entry.arg_index) >= 0 and entry.addrmode == "slm"
            for piece in self.cross_slices
            if piece.register in read
            if piece.start <= entry.offset < piece.start + piece.size
        )

    def _unexplained(self, entry: Input) -> UnsupportedError:
        return UnsupportedError(
            f"kernel {self.kernel.name!r}: its metadata does not say what the input "
            f"{entry.variable.name} at byte {entry.offset} is (device queues, global "
            "barriers and motion estimation have such inputs)"
        )

    def of_threads(self, local_size: Triple, *, implicit: int = 0) -> OfThreads:
        """Return what the threads of groups of a size have, but for arguments and the group's id.

        Args:
            local_size: the size of the groups.
            implicit: where in scratch memory the ImplicitArgs structure stands.
        """
        key = local_size, implicit
        found = self._of_threads.get(key)
        if found is None:
            order = self.kernel.execution_env.work_group_walk_order_dimensions
            ids = local_ids(local_size, self.simd_size, order)
            masks = self._masks(math.prod(local_size))
            bases = _scratch_bases(self, len(masks))
            own = tuple(
                self._own_start(ids[thread], thread, mask, base)
                for thread, (mask, base) in enumerate(zip(masks, bases, strict=True))
            )
            first = [
                self.header.started(start, (0, 0, 0), t, implicit) for t, start in enumerate(own)
            ]
            found = OfThreads(ids, own, tuple(first))
            if len(self._of_threads) >= _MOST_SIZES:
                self._of_threads.clear()
            self._of_threads[key] = found
        return found

    def of_given(
        self, rows: Sequence[bytes], masks: Sequence[int], *, implicit: int = 0
    ) -> OfThreads:
        """Return what threads have whose per-thread data and channels somebody else has chosen.

        Args:
            rows: the per-thread data of each thread of a group.
            masks: the channels that are on in each of them.
            implicit: where in scratch memory the ImplicitArgs structure stands.
        """
        own: list[ThreadStart] = []
        for thread, (row, mask, base) in enumerate(
            zip(rows, masks, _scratch_bases(self, len(masks)), strict=True)
        ):
            registers = tuple(piece.cut(row) for piece in self.thread_slices)
            registers += self.header.thread_registers(thread, mask)
            own.append(ThreadStart(registers, mask, base))
        first = [self.header.started(one, (0, 0, 0), t, implicit) for t, one in enumerate(own)]
        return OfThreads(np.zeros((len(own), 0, 0), np.uint16), tuple(own), tuple(first))

    def _masks(self, items: int) -> list[int]:
        """Return each thread's channels; code for one work-item a thread has all of them on."""
        if self.simd_size == 1:
            return [(1 << self.linked.simd_size) - 1] * items
        return thread_masks(items, self.simd_size)

    def _own_start(self, ids: NDArray[np.uint16], thread: int, mask: int, base: int) -> ThreadStart:
        """Return how a thread starts, but for the arguments and what depends on the group."""
        registers = *self._own_registers(ids), *self.header.thread_registers(thread, mask)
        return ThreadStart(registers, mask, base)

    def _own_registers(self, ids: NDArray[np.uint16]) -> Iterator[Register]:
        own = self.thread_bytes(ids)
        return (piece.cut(own) for piece in self.thread_slices)

    def thread_bytes(self, ids: NDArray[np.uint16]) -> bytes:
        """Return the per-thread data of a thread with the local ids [dimension, channel]."""
        if self._has_packed_ids:
            return ids[:, 0].tobytes().ljust(self.local_id_bytes, b"\0")
        dimensions = self.local_id_bytes // self.dimension_bytes
        block = np.zeros((dimensions, self.dimension_bytes // 2), np.uint16)
        block[:, : self.simd_size] = ids[:dimensions]
        return block.tobytes()


def _is_bindless(instruction: object) -> bool:
    surface = getattr(instruction, "surface", None)
    sampler = getattr(instruction, "sampler", None)
    return surface is predefined.BINDLESS_SURFACE or sampler is predefined.BINDLESS_SAMPLER


class WalkDispatch:
    """The groups of one walk, as engines see them (`visim.engine.base.Dispatch`)."""

    def __init__(
        self,
        layout: PayloadLayout,
        walk: Walk,
        cross_thread: bytes,
        *,
        slm_bytes: int,
        implicit: int,
        private: NDArray[np.uint8] | None,
        of_threads: OfThreads | None = None,
    ) -> None:
        self.kept: object = None
        self._walk = walk
        self._group_count = walk.group_count
        self._header = layout.header
        self._private_places = layout.private_places
        self._slm_bytes = slm_bytes
        self._implicit = implicit
        self._private = private
        of_threads = of_threads or layout.of_threads(walk.local_size, implicit=implicit)
        self._own, self._first = of_threads.own, of_threads.first
        self._common = tuple([piece.cut(cross_thread) for piece in layout.cross_slices])

    @property
    def group_count(self) -> int:
        """How many groups there are."""
        return self._group_count

    @property
    def slm_bytes(self) -> int:
        """Size of each group's shared local memory."""
        return self._slm_bytes

    def threads(self, group: int) -> int:
        """Return how many hardware threads a group has; all have the same number."""
        del group
        return len(self._own)

    def group_id(self, group: int) -> Triple:
        """Return the coordinates of group `group` in the whole launch."""
        return self._walk.group_id(group)

    def start(self, group: int, thread: int) -> ThreadStart:
        """Return how a thread starts; its private memory is zero then."""
        if self._private is not None:
            self._private[thread] = 0
        group_id = self._walk.group_id(group)
        own = self._header.started(self._own[thread], group_id, thread, self._implicit)
        return replace(own, registers=self._common + own.registers)

    def shared_starts(self) -> SharedStarts:
        """Return what the threads of all groups have in common."""
        return SharedStarts(
            self._first,
            self._common,
            self._header.group_places,
            self._walk.first_group,
            self._walk.groups,
            self._private,
            self._private_places,
        )


def _scratch_bytes(kernel: ZeKernel) -> int:
    return sum(
        entry.size
        for entry in kernel.per_thread_memory
        if entry.type == "scratch" and entry.usage != "spill_fill_space"
    )


def _private_bytes(kernel: ZeKernel) -> int:
    return sum(
        entry.size * (kernel.execution_env.simd_size if entry.is_simt_thread else 1)
        for entry in kernel.per_thread_memory
        if entry.type == "global" and entry.usage == "private_space"
    )


def _check_thread_data(kernel: ZeKernel) -> None:
    """Refuse per-thread data other than local ids."""
    known = {"local_id", PACKED_IDS} if kernel.execution_env.simd_size == 1 else {"local_id"}
    for entry in kernel.per_thread_payload:
        if entry.arg_type not in known or entry.offset:
            raise UnsupportedError(
                f"kernel {kernel.name!r}: per-thread data {entry.arg_type!r} at byte "
                f"{entry.offset} is not known"
            )


def _scratch_bases(layout: PayloadLayout, threads: int) -> list[int]:
    """Return where each thread's scratch begins: pvc's hardware adds it, programs elsewhere do."""
    size = layout.scratch_bytes
    if layout.linked.platform.grf_bytes == 64 or not size:
        return [0] * threads
    step = -(-size // _SCRATCH_GRANULE) * _SCRATCH_GRANULE
    return [step * (thread + 1) for thread in range(threads)]
