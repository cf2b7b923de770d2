"""The payload of bare vISA kernels, which have no metadata (docs/kernel-abi.md).

One argument for each explicit `.input`, in the order of declaration; implicit inputs and r0 are
filled in by visim. Every thread of a launch gets the same argument values.
"""

from __future__ import annotations

import operator
import re
import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from visim.engine.base import Coordinate, Machine, SharedStarts, ThreadStart
from visim.engine.provenance import PointerPlace
from visim.errors import ArgumentError, UnsupportedError, shown
from visim.isa.media_blocks import MediaBlock
from visim.linker.program import LinkedKernel
from visim.machine.bounds import Bounds
from visim.machine.extents import Extent
from visim.machine.memory import Memory
from visim.machine.sampling import SAMPLER_TABLE_SIZE
from visim.machine.surfaces import BINDING_TABLE_SIZE, LAST_FREE_SURFACE, Surfaces
from visim.module import IMPLICIT_KINDS, Input, Unit
from visim.operands import General, SamplerVariable, SurfaceVariable
from visim.runtime.arguments import values
from visim.runtime.arguments.buffers import Buffer, whole_of
from visim.runtime.arguments.images import Image, sampler_argument
from visim.runtime.arguments.values import Parameter, ValueType
from visim.runtime.payload.geometry import ThreadGroups, ThreadSpace, Triple, Walk, slm_limit
from visim.runtime.payload.layout import is_unused
from visim.runtime.payload.threads import (
    LaunchPlan,
    Part,
    Register,
    Tables,
    ThreadHeader,
    add_surfaces,
    bind_samplers,
    bind_surface,
    moved,
)
from visim.types import BF, DataType

_KIBIBYTE = 1024
_NUMBERED = re.compile(r"[AGPSTV]\d+")
_OF_GROUPS = frozenset({"barrier", "sbarrier", "nbarrier"})
_OF_SPACES = frozenset({"wait"})
_OF_RUNTIMES = {
    "UNDEFINED_11": "the buffer of printf",
    "UNDEFINED_12": "where private memory begins",
    "UNDEFINED_14": "an argument that is passed in memory",
    "UNDEFINED_15": "the buffer of implicit arguments",
    "UNDEFINED_16": "a register that code fills which is not in the text, such as a microkernel",
    "UNDEFINED_17": "the buffer of assert",
    "UNDEFINED_18": "arguments in memory",
    "UNDEFINED_19": "scratch memory",
    "UNDEFINED_23": "the buffer in which all groups meet",
}
"""What compilers ask a runtime for under numbers without a name (IGC's vector compiler)."""


@dataclass(frozen=True, slots=True)
class _HeaderInput:
    """An input that lies inside r0: where its variable stands, and its bytes of r0."""

    register: int
    start: int
    size: int


class BareLayout:
    """Where a bare kernel's inputs lie in registers; the same for all launches.

    Raises:
        UnsupportedError: the kernel has an input that visim cannot fill.
    """

    def __init__(self, linked: LinkedKernel) -> None:
        self.linked = linked
        self.header = ThreadHeader(linked)
        self.slm_bytes = slm_bytes(linked.kernel)
        limit = slm_limit(linked.platform)
        if self.slm_bytes > limit:
            raise UnsupportedError(
                f"kernel {linked.name!r}: SLMSize is {self.slm_bytes} bytes, "
                f"{linked.platform.name} has {limit} for a group"
            )
        grf = linked.platform.grf_bytes
        self.explicit = _explicit(linked.kernel, grf)
        self.names = [one.name for one in parameters(linked.kernel, grf)]
        self.planes = _planes(linked)
        self.implicit: list[Input] = []
        self.in_header: list[_HeaderInput] = []
        for entry in linked.kernel.inputs:
            if entry.is_implicit:
                self._add_implicit(entry)
            elif _is_in_r0(entry, linked.platform.grf_bytes):
                self.in_header.append(_HeaderInput(self.register(entry), entry.offset, entry.size))

    @cached_property
    def pointers(self) -> tuple[PointerPlace, ...]:
        """The pointers that threads start with."""
        return tuple(
            PointerPlace(self.register(entry), entry.size, name)
            for entry, name in zip(self.explicit, self.names, strict=True)
            if isinstance(entry.variable, General) and _is_address(entry.variable)
        )

    def _add_implicit(self, entry: Input) -> None:
        if entry.kind not in IMPLICIT_KINDS.values():
            if is_unused(self.linked.kernel, entry):
                return
            meaning = _OF_RUNTIMES.get(entry.kind, "something of a runtime")
            raise UnsupportedError(
                f"kernel {self.linked.name!r}: implicit input {entry.kind} "
                f"({entry.variable.name}, {meaning}) is not supported; "
                f"known: {', '.join(IMPLICIT_KINDS.values())}"
            )
        self.implicit.append(entry)

    def register(self, entry: Input) -> int:
        """Return where an input's variable stands in the register image."""
        unit = self.linked.units[0]
        if isinstance(entry.variable, General):
            return self.linked.offset(unit, entry.variable)
        return unit.others[entry.variable.name]


class _Preparation:
    """One launch while its arguments are checked."""

    def __init__(self, layout: BareLayout, bounds: Bounds) -> None:
        self.layout = layout
        self.memory = Memory()
        self.surfaces = Surfaces(bounds)
        self.registers: list[Register] = []
        self.extents: list[Extent] = []

    def bind(self, given: Sequence[object], tables: Tables) -> None:
        """Check all arguments; surfaces by index come first, others get what is left."""
        bind_samplers(self.surfaces, tables.samplers)
        for index, value in tables.surfaces.items():
            bind_surface(self.surfaces, index, value)
        pairs = list(zip(self.layout.explicit, given, strict=True))
        taken = {
            operator.index(cast("Any", item)) + plane
            for entry, value in pairs
            if isinstance(entry.variable, SurfaceVariable)
            for item in _elements(value)
            if _is_index(item)
            for plane in range(self.layout.planes)
        }
        for (entry, value), name in zip(pairs, self.layout.names, strict=True):
            data = self._data(entry, name, value, taken)
            self.registers.append((self.layout.register(entry), data))
        add_surfaces(self.memory, tables.surfaces)

    def _data(self, entry: Input, name: str, value: object, taken: set[int]) -> bytes:
        variable = entry.variable
        if isinstance(variable, SamplerVariable):
            items = _one_for_each(variable, name, value)
            return _dwords([self._sampler_index(name, item) for item in items])
        if isinstance(variable, SurfaceVariable):
            planar = variable.count == 1 and self.layout.planes > 1 and len(_elements(value)) > 1
            items = [value] if planar else _one_for_each(variable, name, value)
            return _dwords([self._surface_index(name, item, taken) for item in items])
        if not _is_address(variable):
            return values.value_bytes(value, name, _value_type(variable))[: entry.size]
        if value is None or isinstance(value, Buffer) or _has_axes(value):
            found = values.memory(value, name)
            address, size = 0, 0
            if found is not None:
                allocation = self.memory.allocate(found, name)
                address, size = allocation.address, allocation.size
            self.extents.append(Extent(name, address, size, whole=whole_of(value)))
            return struct.pack("<Q", address)
        if _is_index(value):
            value = operator.index(cast("Any", value))
        kind = replace(_value_type(variable), wanted="an array, a Buffer, None or an address")
        return values.value_bytes(value, name, kind)

    def _sampler_index(self, name: str, item: object) -> int:
        if _is_index(item):
            index = operator.index(cast("Any", item))
            if not 0 <= index < SAMPLER_TABLE_SIZE:
                raise ArgumentError(f"argument {name!r}: index {shown(index)} is not in 0..31")
            return index
        state = sampler_argument(item, name)
        for index in range(SAMPLER_TABLE_SIZE):
            if not self.surfaces.has_sampler(index):
                self.surfaces.bind_sampler(index, state, name)
                return index
        raise ArgumentError(f"argument {name!r}: no sampler index in 0..31 is free")

    def _surface_index(self, name: str, item: object, taken: set[int]) -> int:
        if _is_index(item):
            index = operator.index(cast("Any", item))
            if not 0 <= index < BINDING_TABLE_SIZE:
                raise ArgumentError(f"argument {name!r}: index {shown(index)} is not in 0..255")
            return index
        planes = _elements(item)
        if not 0 < len(planes) <= self.layout.planes:
            raise ArgumentError(
                f"argument {name!r}: {len(planes)} planes given, the kernel's messages have "
                f"{self.layout.planes}"
            )
        index = self._free_index(name, taken)
        for number, plane in enumerate(planes):
            self._bind_plane(name, index + number, plane)
        return index

    def _free_index(self, name: str, taken: set[int]) -> int:
        """Return the lowest index from which on as many are free as surfaces have planes."""
        planes = self.layout.planes
        for index in range(LAST_FREE_SURFACE + 2 - planes):
            places = range(index, index + planes)
            if not any(place in taken or place in self.surfaces for place in places):
                taken.update(places)
                return index
        raise ArgumentError(f"argument {name!r}: no index in 0..239 is free")

    def _bind_plane(self, name: str, index: int, plane: object) -> None:
        if isinstance(plane, Image):
            self.surfaces.bind_image(index, plane.memory, name)
            return
        found = values.memory(plane, name)
        if found is None:
            raise ArgumentError(
                f"argument {name!r}: expected an array, an Image, a Buffer or a binding table "
                "index, found None"
            )
        self.surfaces.bind(index, found, name)


def _planes(linked: LinkedKernel) -> int:
    """Return how many planes a surface can have: one more than media blocks name."""
    bodies = (item for unit in linked.units for item in unit.body)
    return 1 + max((item.plane for item in bodies if isinstance(item, MediaBlock)), default=0)


def _one_for_each(
    variable: SurfaceVariable | SamplerVariable, name: str, value: object
) -> Sequence[object]:
    items = _elements(value)
    if len(items) != variable.count:
        what = "surfaces" if isinstance(variable, SurfaceVariable) else "samplers"
        raise ArgumentError(
            f"argument {name!r}: {len(items)} {what} given, expected {variable.count}"
        )
    return items


def _dwords(indices: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(indices)}I", *indices)


class GroupDispatch:
    """The threads of a bare kernel, in groups or a space (`visim.engine.base.Dispatch`).

    Groups may run at the same time: they share no memory but what the caller gave.
    """

    groups_are_independent = True

    def __init__(
        self,
        layout: BareLayout,
        geometry: ThreadGroups | ThreadSpace,
        shared: tuple[Register, ...],
    ) -> None:
        self.kept: object = None
        self._is_space = isinstance(geometry, ThreadSpace)
        self._walk = Walk((0, 0, 0), geometry.thread_groups, geometry.group_size)
        self._header = layout.header
        self._common = shared
        self._in_header = tuple(layout.in_header)
        self._threads = geometry.threads
        self._mask = (1 << layout.linked.simd_size) - 1
        self.slm_bytes = layout.slm_bytes
        self._registers = [
            _implicit_registers(layout, geometry, thread)
            + layout.header.thread_registers(thread, self._mask)
            for thread in range(geometry.threads)
        ]

    @property
    def group_count(self) -> int:
        """How many groups there are."""
        return self._walk.group_count

    def threads(self, group: int) -> int:
        """Return how many hardware threads a group has; all have the same number."""
        del group
        return self._threads

    def group_id(self, group: int) -> Triple:
        """Return the coordinates of group `group`."""
        return self._walk.group_id(group)

    def start(self, group: int, thread: int) -> ThreadStart:
        """Return how a thread starts."""
        return ThreadStart(self._common + self._own(group, thread), self._mask)

    def _own(self, group: int, thread: int) -> tuple[Register, ...]:
        """Return all registers of a thread but the arguments."""
        x, y, z = self._walk.group_id(group)
        if self._is_space:
            r0 = self._header.media_r0(x, y)
            own = self._header.media_registers(x, y, r0)
        else:
            r0 = self._header.r0((x, y, z), thread)
            own = self._header.group_registers((x, y, z), r0)
        registers = self._registers[thread] + own
        if self._in_header:
            registers += tuple(
                (place.register, r0[place.start : place.start + place.size])
                for place in self._in_header
            )
        return registers

    def shared_starts(self) -> SharedStarts | None:
        """Return what the threads of all groups have in common.

        Inputs that have a part of a coordinate are not described so.
        """
        places = self._places()
        if places is None:
            return None
        walk = self._walk
        return SharedStarts(self._first, self._common, places, walk.first_group, walk.groups)

    @cached_property
    def _first(self) -> tuple[ThreadStart, ...]:
        """How the threads of the first group start, but for the arguments."""
        return tuple(
            ThreadStart(self._own(0, thread), self._mask) for thread in range(self._threads)
        )

    def _places(self) -> tuple[Coordinate, ...] | None:
        """Return where the group's coordinates stand; None: somewhere in part."""
        header = self._header
        fields, places = header.group_fields, [*header.group_places]
        if self._is_space:
            fields, places = header.media_fields, [*header.media_places]
        for given in self._in_header:
            for field in moved(fields, -given.start):
                first, behind = field.offset, field.offset + field.size
                if first >= 0 and behind <= given.size:
                    places += moved([field], given.register)
                elif behind > 0 and first < given.size:
                    return None
        return tuple(places)


def parameters(unit: Unit, grf_bytes: int) -> tuple[Parameter, ...]:
    """Return the arguments of a bare kernel in order."""
    entries = _explicit(unit, grf_bytes)
    names = [entry.variable.name for entry in entries]
    own = [_own_name(entry.variable) or name for entry, name in zip(entries, names, strict=True)]
    taken = Counter(
        [*own, *(name for name, other in zip(names, own, strict=True) if name != other)]
    )
    return tuple(
        _parameter(entry, other if taken[other] == 1 else entry.variable.name)
        for entry, other in zip(entries, own, strict=True)
    )


def _own_name(variable: General | SamplerVariable | SurfaceVariable) -> str | None:
    """Return what the source calls a surface or sampler that printed texts and objects number.

    Compilers call them by their numbers, too: T006.
    """
    if isinstance(variable, General) or variable.v_name is None:
        return None
    name = variable.v_name
    return name if name.isidentifier() and not _NUMBERED.fullmatch(name) else None


def slm_bytes(unit: Unit) -> int:
    """Return the shared local memory that the attribute SLMSize asks for, in bytes."""
    value = unit.attribute("SLMSize")
    return value * _KIBIBYTE if isinstance(value, int) and value is not True else 0


def prepare(
    layout: BareLayout,
    given: Sequence[object],
    geometry: ThreadGroups | ThreadSpace,
    tables: Tables,
    bounds: Bounds = Bounds.HARDWARE,
) -> LaunchPlan:
    """Check a launch of a bare kernel and lay out its inputs.

    Raises:
        ArgumentError: an argument is wrong; the message names it.
        UnsupportedError: the kernel needs something that visim cannot give it.
    """
    _check_model(layout.linked.kernel, geometry)
    preparation = _Preparation(layout, bounds)
    preparation.bind(given, tables)
    dispatch = GroupDispatch(layout, geometry, tuple(preparation.registers))
    machine = Machine(preparation.memory, preparation.surfaces, pointers=layout.pointers)
    waves = geometry.waves if isinstance(geometry, ThreadSpace) else None
    part = Part(dispatch, machine, waves)
    surfaces, extents = preparation.surfaces, tuple(preparation.extents)
    return LaunchPlan(geometry.to_dict(), (part,), surfaces, extents=extents)


def _check_model(unit: Unit, geometry: ThreadGroups | ThreadSpace) -> None:
    """Refuse instructions that only the other way of launching has (notes of their pages)."""
    is_space = isinstance(geometry, ThreadSpace)
    refused = _OF_GROUPS if is_space else _OF_SPACES
    found = next((item.op.mnemonic for item in unit.body if item.op.mnemonic in refused), None)
    if found is None:
        return
    given, needed = ("thread_space", "thread_groups and group_size")
    if not is_space:
        given, needed = ("thread_groups", "thread_space")
    raise ArgumentError(
        f"{given}: the kernel has {found!r}, which means something only in a launch with {needed}"
    )


def _explicit(unit: Unit, grf_bytes: int) -> tuple[Input, ...]:
    return tuple(
        entry for entry in unit.inputs if not entry.is_implicit and not _is_in_r0(entry, grf_bytes)
    )


def _is_in_r0(entry: Input, grf_bytes: int) -> bool:
    """Whether an input is a copy of r0, which the machine fills and not the caller."""
    return isinstance(entry.variable, General) and entry.offset < grf_bytes


def _parameter(entry: Input, name: str) -> Parameter:
    variable = entry.variable
    if isinstance(variable, General):
        kind = "buffer" if _is_address(variable) else "value"
        type_name = variable.type.name + _suffix(variable.count)
        return Parameter(name, kind, variable.bytes, type_name)
    is_surface = isinstance(variable, SurfaceVariable)
    kind, what = ("buffer", "surface") if is_surface else ("sampler", "sampler")
    numbered = variable.name if variable.name != name else None
    return Parameter(name, kind, None, what + _suffix(variable.count), numbered)


def _suffix(count: int) -> str:
    return f"[{count}]" if count > 1 else ""


def _is_address(variable: General) -> bool:
    return variable.count == 1 and variable.type.bytes == 8 and variable.type.is_integer


def _value_type(variable: General) -> ValueType:
    kind: DataType = variable.type
    name = kind.name + _suffix(variable.count)
    if variable.count > 1:
        return ValueType(name, variable.bytes, None)
    return ValueType(name, variable.bytes, np.dtype(kind.numpy), kind == BF)


def _elements(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else [value]


def _is_index(item: object) -> bool:
    return isinstance(item, (int, np.integer)) and not isinstance(item, bool)


def _has_axes(value: object) -> bool:
    return isinstance(value, np.ndarray) and cast("np.ndarray[Any, Any]", value).ndim > 0


def _implicit_registers(
    layout: BareLayout, geometry: ThreadGroups | ThreadSpace, thread: int
) -> tuple[Register, ...]:
    """Return LOCAL_SIZE, GROUP_COUNT and LOCAL_ID of a thread, where the kernel asks for them."""
    local_id = Walk((0, 0, 0), geometry.group_size, (1, 1, 1)).group_id(thread)
    known = {
        "LOCAL_SIZE": geometry.group_size,
        "GROUP_COUNT": geometry.thread_groups,
        "LOCAL_ID": local_id,
    }
    return tuple(
        (layout.register(entry), struct.pack("<3I", *known[entry.kind])[: entry.size])
        for entry in layout.implicit
    )
