"""How many threads a launch has and which work-items they hold.

Validates sizes, chooses a local size, cuts an ND-range into walks of groups of one size, and
says which local ids the channels of a thread have. Knows no bytes and no engine.

Facts: docs/kernel-abi.md (Local ids; The execution mask).
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from visim.engine.schedule import Dependency, Wave, read_dependency, schedule
from visim.errors import ArgumentError, Correction, shown
from visim.forks import RenewedProperty
from visim.records import record
from visim.target import Platform

Triple = tuple[int, int, int]

MAX_WORK_ITEMS = 1024
MAX_GROUP_THREADS = 256
"""Hardware threads of a bare kernel's group: r0.2 has eight bits for a thread's index."""

MAX_THREAD_SPACE = 4096
MAX_THREAD_SPACE_BEFORE_ICLLP = 2048
"""Threads along a side of a thread space: the bits that r0.1 has for a coordinate."""

LARGEST_CHOSEN = 256
"""What a local size that nobody gave has at most."""

_MAX_SIZE = (1 << 32) - 1
_KIBIBYTE = 1024
_AXES = "xyz"


@record
class Sizes:
    """The sizes that a caller gave to `Kernel.launch`; None where nothing was given."""

    global_size: object = None
    local_size: object = None
    global_offset: object = None
    thread_groups: object = None
    group_size: object = None
    thread_space: object = None
    dependency: object = "none"

    def refuse(self, names: Sequence[str], why: str) -> None:
        """Raise ArgumentError if one of the sizes `names` was given."""
        for name in names:
            if getattr(self, name) is not None:
                raise ArgumentError(f"{name}: {why}")


@dataclass(frozen=True, slots=True)
class Walk:
    """A box of groups that all have the same local size; group ids begin at `first_group`."""

    first_group: Triple
    groups: Triple
    local_size: Triple

    @property
    def group_count(self) -> int:
        """How many groups the walk has."""
        return math.prod(self.groups)

    def group_id(self, number: int) -> Triple:
        """Return the id of the walk's group `number`; x varies fastest."""
        rest, x = divmod(number, self.groups[0])
        z, y = divmod(rest, self.groups[1])
        first = self.first_group
        return (first[0] + x, first[1] + y, first[2] + z)


@dataclass(frozen=True)
class NDRange:
    """A launch in work-items.

    `local_size` is the size of every full group; the groups at the far edges are smaller where
    it does not divide `global_size`. `dimensions` is how many sizes the caller gave. The local
    size is chosen where neither the caller gives nor the kernel requires one.
    """

    global_size: Triple
    local_size: Triple
    global_offset: Triple
    dimensions: int
    is_local_size_chosen: bool = False

    @RenewedProperty
    def group_count(self) -> Triple:
        """Groups in each dimension, the smaller ones included."""
        pairs = zip(self.global_size, self.local_size, strict=True)
        x, y, z = (-(-size // local) for size, local in pairs)
        return (x, y, z)

    @RenewedProperty
    def walks(self) -> tuple[Walk, ...]:
        """The groups: first the full ones, then the smaller ones at each edge and corner."""
        parts: list[list[tuple[int, int, int]]] = []
        for size, local in zip(self.global_size, self.local_size, strict=True):
            full, rest = divmod(size, local)
            both = [(0, full, local)] * bool(full) + [(full, 1, rest)] * bool(rest)
            parts.append(both)
        return tuple(
            Walk((x[0], y[0], z[0]), (x[1], y[1], z[1]), (x[2], y[2], z[2]))
            for z, y, x in itertools.product(*reversed(parts))
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the geometry in the form that reports have."""
        return {
            "global_size": list(self.global_size),
            "local_size": list(self.local_size),
            "local_size_chosen": self.is_local_size_chosen,
            "global_offset": list(self.global_offset),
            "group_count": list(self.group_count),
        }


@dataclass(frozen=True, slots=True)
class ThreadGroups:
    """A launch of a bare kernel, in hardware threads."""

    thread_groups: Triple
    group_size: Triple

    @property
    def threads(self) -> int:
        """Hardware threads of each group."""
        return math.prod(self.group_size)

    def to_dict(self) -> dict[str, Any]:
        """Return the geometry in the form that reports have."""
        return {"thread_groups": list(self.thread_groups), "group_size": list(self.group_size)}


@dataclass(frozen=True, slots=True)
class ThreadSpace:
    """A launch of a bare kernel as a media thread space, each thread a group of its own."""

    width: int
    height: int
    dependency: Dependency
    waves: tuple[Wave, ...]

    @property
    def thread_groups(self) -> Triple:
        """The groups in each dimension."""
        return (self.width, self.height, 1)

    @property
    def group_size(self) -> Triple:
        """The threads of a group in each dimension."""
        return (1, 1, 1)

    @property
    def threads(self) -> int:
        """Hardware threads of each group."""
        return 1

    def to_dict(self) -> dict[str, Any]:
        """Return the geometry in the form that reports have."""
        named = isinstance(self.dependency, str)
        dependency = self.dependency if named else [list(vector) for vector in self.dependency]
        return {"thread_space": [self.width, self.height], "dependency": dependency}


def nd_range(sizes: Sizes, required: Triple | None, *, uneven: bool = False) -> NDRange:
    """Return the geometry of a kernel with metadata.

    Args:
        sizes: what the caller gave.
        required: the local size that the kernel was compiled for, or None.
        uneven: whether its last groups may be smaller than that.

    Raises:
        ArgumentError: a size is missing, wrong, or not what the kernel requires.
    """
    sizes.refuse(
        ("thread_groups", "group_size", "thread_space"),
        "the kernel runs work-items: give global_size and local_size",
    )
    _refuse_dependency(sizes)
    if sizes.global_size is None:
        raise ArgumentError(
            "global_size: say how many work-items to run",
            Correction(missing=(("global_size", "1024"),)),
        )
    extent, dimensions = triple(sizes.global_size, "global_size")
    given = sizes.global_offset
    offset = (0, 0, 0) if given is None else triple(given, "global_offset", least=0)[0]
    local = None if sizes.local_size is None else triple(sizes.local_size, "local_size")[0]
    return _checked_range(extent, local, offset, dimensions, required, uneven)


@lru_cache(maxsize=256)
def _checked_range(
    extent: Triple,
    given: Triple | None,
    offset: Triple,
    dimensions: int,
    required: Triple | None,
    uneven: bool,
) -> NDRange:
    """Return a geometry once more, or for the first time; the sizes are integers by now."""
    local = given or required or (divisor_of(extent[0]), 1, 1)
    _check_local_size(local, extent, required, uneven=uneven)
    return NDRange(extent, local, offset, dimensions, given is None and required is None)


def bare_geometry(sizes: Sizes, device: Platform) -> ThreadGroups | ThreadSpace:
    """Return the geometry of a bare vISA kernel on a device.

    Raises:
        ArgumentError: a size is wrong, or belongs to another kind of launch.
    """
    return thread_groups(sizes) if sizes.thread_space is None else thread_space(sizes, device)


def thread_groups(sizes: Sizes) -> ThreadGroups:
    """Return the geometry of a bare vISA kernel that runs in thread groups.

    Raises:
        ArgumentError: a size is wrong, or belongs to another kind of launch.
    """
    _refuse_work_items(sizes)
    _refuse_dependency(sizes)
    groups = (1, 1, 1) if sizes.thread_groups is None else sizes.thread_groups
    size = (1, 1, 1) if sizes.group_size is None else sizes.group_size
    found = ThreadGroups(triple(groups, "thread_groups")[0], triple(size, "group_size")[0])
    if found.threads > MAX_GROUP_THREADS:
        raise ArgumentError(
            f"group_size: {found.threads} hardware threads, at most {MAX_GROUP_THREADS} fit"
        )
    return found


def thread_space(sizes: Sizes, device: Platform) -> ThreadSpace:
    """Return the geometry of a bare vISA kernel that runs as a media thread space.

    Raises:
        ArgumentError: a size is wrong or belongs to another kind of launch, or the dependency
            is none, or a circle.
    """
    _refuse_work_items(sizes)
    sizes.refuse(("thread_groups", "group_size"), "a launch has it or thread_space, not both")
    (width, height, depth), _ = triple(sizes.thread_space, "thread_space")
    if depth != 1:
        raise ArgumentError(f"thread_space: {sizes.thread_space} has a third dimension")
    limit = MAX_THREAD_SPACE if device.has_wide_thread_space else MAX_THREAD_SPACE_BEFORE_ICLLP
    if max(width, height) > limit:
        raise ArgumentError(
            f"thread_space: {width}x{height} has a side beyond {limit}, the most on {device.name}"
        )
    dependency = read_dependency(sizes.dependency)
    return ThreadSpace(width, height, dependency, schedule(width, height, dependency))


def _refuse_work_items(sizes: Sizes) -> None:
    sizes.refuse(
        ("global_size", "local_size", "global_offset"),
        "bare vISA runs hardware threads: give thread_groups and group_size",
    )


def triple(value: object, name: str, *, least: int = 1) -> tuple[Triple, int]:
    """Return a size of one to three dimensions as three, and how many were given.

    Sizes are an integer, or a list, a tuple or an array of them.

    Raises:
        ArgumentError: it is no such size, or an element is below `least` or beyond 32 bits.
    """
    given: Sequence[object] = (value,)
    if isinstance(value, (tuple, list)):
        given = cast("Sequence[object]", value)
    elif isinstance(value, np.ndarray) and cast("NDArray[Any]", value).ndim == 1:
        given = cast("list[object]", cast("NDArray[Any]", value).tolist())
    if not 1 <= len(given) <= 3:
        raise ArgumentError(
            f"{name}: {shown(cast('object', value))} has {len(given)} dimensions, expected 1 to 3"
        )
    numbers: list[int] = []
    for item in given:
        try:
            number = operator.index(cast("Any", item))
        except TypeError:
            number = None
        if number is None or isinstance(item, bool):
            found = shown(cast("object", value))
            raise ArgumentError(f"{name}: expected an integer or 1 to 3 of them, found {found}")
        if not least <= number <= _MAX_SIZE:
            raise ArgumentError(f"{name}: {shown(number)} is not in {least}..{_MAX_SIZE}")
        numbers.append(number)
    x, y, z = (*numbers, *[1 if least else 0] * (3 - len(numbers)))
    return (x, y, z), len(numbers)


def slm_limit(device: Platform) -> int:
    """Return the bytes of shared local memory that a group can have on a device."""
    return device.slm_kib * _KIBIBYTE


def local_ids(size: Triple, simd_size: int, order: Triple) -> NDArray[np.uint16]:
    """Return the local ids of a group as an array [thread, dimension, channel].

    Channel c of thread t is work-item `t * simd_size + c`, counted along the dimensions in
    `order`. Channels behind the last item have ids too; they are never on.
    """
    threads = -(-math.prod(size) // simd_size)
    item = np.arange(threads * simd_size)
    ids = np.empty((3, threads * simd_size), np.uint16)
    for place, dimension in enumerate(order):
        extent = size[dimension]
        ids[dimension] = item % extent if place < 2 else item
        item //= extent
    return np.ascontiguousarray(ids.reshape(3, threads, simd_size).swapaxes(0, 1))


def thread_masks(items: int, simd_size: int) -> list[int]:
    """Return the channels that are on in each thread of a group of `items` work-items."""
    full, rest = divmod(items, simd_size)
    return [(1 << simd_size) - 1] * full + [(1 << rest) - 1] * bool(rest)


def divisor_of(size: int) -> int:
    """Return the largest divisor of a size that is a local size to choose."""
    return next(n for n in range(min(size, LARGEST_CHOSEN), 0, -1) if size % n == 0)


def _check_local_size(
    local: Triple, extent: Triple, required: Triple | None, *, uneven: bool
) -> None:
    if required and local != required:
        raise ArgumentError(
            f"local_size: found {local}, the kernel is compiled for {required} only "
            "(reqd_work_group_size)"
        )
    items = math.prod(local)
    if items > MAX_WORK_ITEMS:
        raise ArgumentError(
            f"local_size: {local} are {items} work-items, at most {MAX_WORK_ITEMS} fit in a group"
        )
    for axis, size, step in zip(_AXES, extent, local, strict=True):
        if required and size % step and not uneven:
            raise ArgumentError(
                f"global_size: {size} in {axis} is not a multiple of {step}, the only local size "
                "that the kernel is compiled for (reqd_work_group_size); smaller groups need "
                "-cl-std=CL2.0 or later, and no -cl-uniform-work-group-size"
            )


def _refuse_dependency(sizes: Sizes) -> None:
    if not isinstance(sizes.dependency, str) or sizes.dependency != "none":
        raise ArgumentError("dependency: only a launch with thread_space has dependencies")
