"""What every hardware thread finds in its registers before any payload: r0 and its relatives.

Owns the fields of r0, the numbers by which programs tell threads apart, and the plan of a launch
that engines are driven by. Knows neither zebins nor arguments.

Facts: docs/kernel-abi.md (The header r0; Private memory; Kernels without metadata).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from visim import predefined
from visim.engine.base import Coordinate, Dispatch, Machine, ThreadStart
from visim.engine.schedule import Wave
from visim.errors import ArgumentError, shown
from visim.linker.program import LinkedKernel
from visim.machine.extents import Extent
from visim.machine.memory import Memory
from visim.machine.surfaces import Surfaces
from visim.records import record
from visim.runtime.arguments import values
from visim.runtime.arguments.images import Image, sampler_argument
from visim.runtime.payload.geometry import Triple
from visim.runtime.printf.assertions import AssertBuffer
from visim.target import Platform

Register = tuple[int, bytes]
"""Bytes, and the byte offset in the register image at which they stand."""

_R0 = struct.Struct("<8I")
_UD = struct.Struct("<I")
_DISPATCH_MASK = 8
"""Where the dispatch mask is in %sr0, in bytes."""
_UW = struct.Struct("<H")


@record
class Part:
    """Groups of one local size, and the memory that they run on.

    Groups may run in any order, but for those of a thread space with dependencies: each of its
    `waves` runs after the one before.
    """

    dispatch: Dispatch
    machine: Machine
    waves: tuple[Wave, ...] | None = None

    @property
    def orders(self) -> Iterable[Sequence[int]]:
        """The groups in sequences that run one after another."""
        if self.waves is None or len(self.waves) == 1:
            return (range(self.dispatch.group_count),)
        return (cast("list[int]", wave.tolist()) for wave in self.waves)


@record
class LaunchPlan:
    """A launch that is ready to run, as often as wanted.

    The parts run one after another; all share their memory and surfaces. `printf` is the buffer
    that the kernel prints into, `assertions` the one that its assertions write, if it does so.
    `notes` are sentences for the report: what the launch could not be given exactly. `extents` are
    what arguments are of flat and of local memory.
    """

    geometry: Mapping[str, Any]
    parts: tuple[Part, ...]
    surfaces: Surfaces
    printf: NDArray[np.uint8] | None = None
    assertions: AssertBuffer | None = None
    notes: tuple[str, ...] = ()
    extents: tuple[Extent, ...] = ()


@record
class Tables:
    """What a caller binds by index: surfaces of the binding table, and samplers."""

    surfaces: Mapping[int, object]
    samplers: Mapping[int, object]


class ThreadHeader:
    """Where r0, the group's id and the thread's numbers stand in a kernel's register image."""

    def __init__(self, kernel: LinkedKernel) -> None:
        def place(name: str) -> int:
            return kernel.predefined[predefined.BY_NAME[name].index]

        self._platform = kernel.platform
        self._r0 = place("%r0")
        self._group_id = tuple(place(f"%group_id_{axis}") for axis in "xyz")
        self._position = tuple(place(name) for name in ("%thread_x", "%thread_y", "%color"))
        self._hw_id = place("%hw_id")
        self._sr0 = place("%sr0")
        self._padding = bytes(kernel.platform.grf_bytes - _R0.size)
        self._y_scale = 1 << (12 if kernel.platform.has_wide_thread_space else 16)
        self.group_fields = (Coordinate(4, 0), Coordinate(24, 1), Coordinate(28, 2))
        self.media_fields = (Coordinate(4, 0, self._y_scale),)
        """Where the coordinates are in r0 itself, in groups and in a thread space."""
        self.group_places = (
            *moved(self.group_fields, self._r0),
            *(Coordinate(place, axis) for axis, place in enumerate(self._group_id)),
        )
        """Where `group_registers` puts them."""
        self.media_places = (
            *moved(self.media_fields, self._r0),
            Coordinate(self._group_id[0], 0, self._y_scale),
            *(Coordinate(self._position[axis], axis, size=_UW.size) for axis in (0, 1)),
        )
        """Where `media_registers` puts them."""

    def r0(self, group_id: Triple, thread: int, *, implicit: int = 0, scratch: int = 0) -> bytes:
        """Return the bytes of r0.

        Args:
            group_id: the group's id.
            thread: the thread's index in its group, from 0; it is also its hardware id.
            implicit: where in scratch memory the ImplicitArgs structure stands, a multiple of 32.
            scratch: where the thread's own scratch memory begins, a multiple of 1024.
        """
        x, y, z = group_id
        return _R0.pack(implicit, x, thread & 0xFF, 0, 0, scratch | thread, y, z) + self._padding

    def group_registers(self, group_id: Triple, r0: bytes) -> tuple[Register, ...]:
        """Return the registers that differ from group to group."""
        x, y, z = self._group_id
        return (
            (self._r0, r0),
            (x, r0[4:8]),
            (y, _UD.pack(group_id[1])),
            (z, _UD.pack(group_id[2])),
        )

    def started(
        self, own: ThreadStart, group_id: Triple, thread: int, implicit: int
    ) -> ThreadStart:
        """Return how a thread of a group starts, given what it has in all groups."""
        r0 = self.r0(group_id, thread, implicit=implicit, scratch=own.scratch_base)
        registers = own.registers + self.group_registers(group_id, r0)
        return ThreadStart(registers, own.mask, own.scratch_base)

    def media_r0(self, x: int, y: int) -> bytes:
        """Return the bytes of r0 of a thread of a thread space; its color is 0."""
        return _R0.pack(0, x + y * self._y_scale, 0, 0, 0, 0, 0, 0) + self._padding

    def media_registers(self, x: int, y: int, r0: bytes) -> tuple[Register, ...]:
        """Return the registers that differ from thread to thread of a thread space."""
        position = zip(self._position, (x, y, 0), strict=True)
        return (
            (self._r0, r0),
            (self._group_id[0], r0[4:8]),
            *((place, _UW.pack(value)) for place, value in position),
        )

    def thread_registers(self, thread: int, mask: int) -> tuple[Register, ...]:
        """Return the registers that a thread has in every group.

        Args:
            thread: the thread's index in its group, from 0.
            mask: the channels that are on when it starts, for the dispatch mask in %sr0.
        """
        state = state_register(self._platform, thread)
        return (
            (self._hw_id, _UD.pack(thread)),
            (self._sr0, _UD.pack(state)),
            (self._sr0 + _DISPATCH_MASK, _UD.pack(mask & 0xFFFF_FFFF)),
        )


def moved(places: Iterable[Coordinate], offset: int) -> tuple[Coordinate, ...]:
    """Return places that are so many bytes further on."""
    return tuple(place._replace(offset=place.offset + offset) for place in places)


def state_register(device: Platform, number: int) -> int:
    """Return the sr0.0 from which programs compute `number`, leaving out bits that are fused off.

    Programs for dg2 and its like squeeze bits 3 and 6 out, those for pvc bits 3, 6 and 7; older
    ones use %hw_id instead.
    """
    if not device.loads_payload:
        return 0
    low, middle, high = number & 7, number >> 3 & 3, number >> 5
    return low | middle << 4 | high << (8 if device.grf_bytes == 64 else 7)


def bind_surface(surfaces: Surfaces, index: int, value: object) -> None:
    """Bind what a caller gave for a binding table index; `ArgumentError` names the index."""
    name = _surface_name(index)
    if isinstance(value, Image):
        surfaces.bind_image(index, value.memory, name)
        return
    found = values.memory(value, name)
    if found is None:
        raise ArgumentError(f"argument {name!r}: expected an array or a Buffer, found None")
    surfaces.bind(index, found, name)


def add_surfaces(memory: Memory, surfaces: Mapping[int, object]) -> None:
    """Let kernels reach arrays and buffers with binding table indices by their addresses, too.

    Arguments have to be in `memory` before: what is both is called by the argument's name.
    """
    for index, value in surfaces.items():
        name = _surface_name(index)
        found = None if isinstance(value, Image) else values.memory(value, name)
        if found is not None:
            memory.add(found, name)


def _surface_name(index: int) -> str:
    return f"surface:{shown(index)}"


def bind_samplers(surfaces: Surfaces, samplers: Mapping[int, object]) -> None:
    """Bind what a caller gave for sampler indices; `ArgumentError` names the index."""
    for index, value in samplers.items():
        name = f"sampler:{shown(index)}"
        if surfaces.has_sampler(index):
            raise ArgumentError(f"samplers: index {index} belongs to the kernel")
        surfaces.bind_sampler(index, sampler_argument(value, name), name)
