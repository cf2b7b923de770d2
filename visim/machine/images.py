"""Images: texels in a caller's arrays, read and written by integer coordinates.

An `ImageSurface` never copies an array: its texels are a view. What samplers make of images is in
`machine.filtering`. Knows no instruction and no binding table.

Follows the specification's 3D_LOAD, GATHER4_TYPED, SCATTER4_TYPED, TYPED_ATOMIC, LSC_TYPED and
INFO. An image has one or more levels, of which each has half the size of the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.machine import atomics
from visim.machine.allocations import READ_ONLY, AccessKind, byte_view, image_violation
from visim.machine.blocks import BlockSurface
from visim.machine.dropped import Dropped
from visim.machine.formats import Bits, TexelFormat
from visim.machine.memory import Mask
from visim.sem.atomics import AtomicOperation
from visim.sem.requests import Outside

Axis = NDArray[Any]

CUBE_FACES = 6


class ImageKind(StrEnum):
    """The shapes of images, by OpenCL's names, and cubes."""

    IMAGE_1D = "1d"
    BUFFER_1D = "1d_buffer"
    ARRAY_1D = "1d_array"
    IMAGE_2D = "2d"
    ARRAY_2D = "2d_array"
    IMAGE_3D = "3d"
    CUBE = "cube"
    ARRAY_CUBE = "cube_array"

    @property
    def axes(self) -> int:
        """How many integer coordinates a texel has, the array's layer or cube's face included."""
        return _AXES[self]

    @property
    def is_array(self) -> bool:
        """Whether the last integer coordinate is a layer or face."""
        return self in {ImageKind.ARRAY_1D, ImageKind.ARRAY_2D} or self.is_cube

    @property
    def is_cube(self) -> bool:
        """Whether samplers take directions instead of coordinates."""
        return self in {ImageKind.CUBE, ImageKind.ARRAY_CUBE}

    @property
    def smooth_axes(self) -> int:
        """How many axes a level halves and a filter mixes along: all but layers and faces."""
        return self.axes - self.is_array


_AXES = {
    ImageKind.IMAGE_1D: 1,
    ImageKind.BUFFER_1D: 1,
    ImageKind.ARRAY_1D: 2,
    ImageKind.IMAGE_2D: 2,
    ImageKind.ARRAY_2D: 3,
    ImageKind.IMAGE_3D: 3,
    ImageKind.CUBE: 3,
    ImageKind.ARRAY_CUBE: 3,
}


@dataclass(frozen=True, slots=True)
class ImageInfo:
    """Sizes of an image in texels; 0 for what its kind does not have, as OpenCL says it."""

    width: int
    height: int
    depth: int
    array_size: int


@dataclass(frozen=True, slots=True)
class ImageMemory:
    """C-contiguous arrays seen as an image.

    Attributes:
        array: Level 0.
        size: Its size in texels: (u), (u, v) or (u, v, r).
        kind: The image's kind.
        format: What a texel means.
        smaller: The further levels; level n has the size that `level_size` says.
    """

    array: NDArray[Any]
    size: tuple[int, ...]
    kind: ImageKind
    format: TexelFormat
    smaller: tuple[NDArray[Any], ...] = ()

    def surface(self, name: str, dropped: Dropped | None = None) -> ImageSurface:
        """Return the surface of the image; it shares the arrays' memory."""
        levels = [
            Level(self._texels(array, name), level_size(self.size, self.kind, number))
            for number, array in enumerate((self.array, *self.smaller))
        ]
        return ImageSurface(levels, self.kind, self.format, name=name, dropped=dropped)

    def _texels(self, array: NDArray[Any], name: str) -> NDArray[Any]:
        octets = byte_view(array, name)
        return octets.view(self.format.dtype).reshape(-1, self.format.order.channels)

    @property
    def info(self) -> ImageInfo:
        """The image's sizes."""
        width, second, third = (*self.size, 0, 0)[:3]
        match self.kind:
            case ImageKind.ARRAY_1D:
                return ImageInfo(width, 0, 0, second)
            case ImageKind.ARRAY_2D | ImageKind.CUBE | ImageKind.ARRAY_CUBE:
                return ImageInfo(width, second, 0, third)
            case _:
                return ImageInfo(width, second, third, 0)


def level_size(size: tuple[int, ...], kind: ImageKind, level: int) -> tuple[int, ...]:
    """Return the size of a level: halves, rounded down, but at least 1; layers stay."""
    smooth = kind.smooth_axes
    return tuple(max(1, extent >> level) for extent in size[:smooth]) + size[smooth:]


@dataclass(frozen=True, slots=True)
class Level:
    """One level of an image.

    Attributes:
        texels: Shape (texels, channels), a view of the array, of the format's type.
        size: Texels along the kind's axes, (u), (u, v) or (u, v, r).
    """

    texels: NDArray[Any]
    size: tuple[int, ...]


class ImageSurface:
    """Texels at coordinates (u, v, r), in place in arrays.

    u counts texels from the left, v rows, or layers of a 1D array, r slices, or layers of a 2D
    array, or faces; coordinates that a kind does not have are ignored.

    Args:
        levels: The levels, the largest first.
        kind: The image's kind.
        texel_format: What the texels mean.
        name: What messages call it.
        dropped: Counts accesses out of range, one per channel.
    """

    def __init__(
        self,
        levels: Sequence[Level],
        kind: ImageKind,
        texel_format: TexelFormat,
        *,
        name: str = "image",
        dropped: Dropped | None = None,
    ) -> None:
        self.levels = tuple(levels)
        self.kind = kind
        self.format = texel_format
        self.name = name
        self._dropped = Dropped() if dropped is None else dropped

    @property
    def blocks(self) -> BlockSurface:
        """The same memory as rows of bytes; all slices and layers one below the other."""
        first = self.levels[0]
        rows = first.texels.view(np.uint8).reshape(-1, first.size[0] * self.format.texel_bytes)
        return BlockSurface(rows, self.format.texel_bytes, self.name, self._dropped)

    def load(
        self,
        coordinates: Sequence[Axis],
        lod: Axis | None = None,
        mask: Mask | None = None,
        outside: Outside = Outside.BORDER,
    ) -> Bits:
        """Return the components of texels at integer coordinates.

        Args:
            coordinates: u, v, r of shape (n,); missing ones are 0, negative ones out of range.
            lod: Levels of detail, shape (n,), or None for 0.
            mask: Active channels, shape (n,), or None for all.
            outside: What is read out of range.

        Returns:
            Shape (n, 4); zeros in inactive channels.
        """
        active = _active(coordinates, mask)
        found = np.zeros((active.size, 4), np.uint32)
        missed = active.copy()
        for level, chosen in self._by_level(lod, active):
            positions, inside = self._locate(level, coordinates)
            held = inside & chosen
            found[held] = self.format.decode(level.texels[positions[held]])
            missed &= ~held
        if missed.any():
            self._dropped.reads += int(missed.sum())
            found[missed] = self._outside(outside)
        return found

    def store(
        self,
        coordinates: Sequence[Axis],
        bits: Bits,
        mask: Mask | None = None,
        channels: str = "RGBA",
        lod: Axis | None = None,
    ) -> None:
        """Write texels; those out of range are dropped, of several the highest channel stays.

        Args:
            coordinates: As for `load`.
            bits: Components, shape (n, 4).
            mask: Active channels, or None.
            channels: The components that are written; others keep what they are.
            lod: Levels of detail, or None for 0.

        Raises:
            MemoryViolation: The array is read-only.
        """
        active = _active(coordinates, mask)
        stored = self.format.order.stored
        columns = [slot for slot, letter in enumerate(stored) if letter in channels]
        written = 0
        for level, chosen in self._by_level(lod, active):
            positions, inside = self._locate(level, coordinates)
            held = inside & chosen
            written += int(held.sum())
            if held.any():
                self._check_writable(level, positions, held, "store")
                encoded = self.format.encode(bits[held])
                level.texels[positions[held][:, np.newaxis], columns] = encoded[:, columns]
        self._dropped.writes += int(active.sum()) - written

    def atomic(
        self,
        operation: AtomicOperation,
        bits: int,
        coordinates: Sequence[Axis],
        operands: Sequence[Axis],
        mask: Mask | None = None,
        lod: Axis | None = None,
    ) -> NDArray[np.uint32]:
        """Do an atomic operation on texels, which have one component, as they are in memory.

        Args:
            operation: The operation.
            bits: Size of a texel.
            coordinates: As for `load`.
            operands: What it takes, unsigned integers of shape (n,).
            mask: Active channels, or None.
            lod: Levels of detail, or None for 0.

        Returns:
            What the channels get back, in the low bits, shape (n,); zeros for inactive channels
            and out of range, where nothing is written.

        Raises:
            MemoryViolation: Texels are not of that size, or the array is read-only.
        """
        active = _active(coordinates, mask)
        found = np.zeros(active.size, np.uint32)
        if not active.any():
            return found
        if self.format.order.channels != 1 or self.format.texel_bytes * 8 != bits:
            reason = f"an atomic of {bits} bits on texels of {self.format.name}"
            raise self.violation("atomic", int(active.argmax()), reason)
        narrow, kind = np.dtype(f"u{bits // 8}"), atomics.arithmetic_type(operation, bits // 8)
        done = np.zeros(active.size, np.bool_)
        for level, chosen in self._by_level(lod, active):
            positions, inside = self._locate(level, coordinates)
            held = inside & chosen
            if held.any():
                self._check_writable(level, positions, held, "atomic")
                given = [operand[held].astype(narrow) for operand in operands]
                texels = level.texels.reshape(-1).view(kind)
                first, second = (*given, None, None)[:2]
                old = atomics.perform(operation, texels, positions[held], first, second)
                found[held] = old.view(narrow)
            done |= held
        self._dropped.writes += int((active & ~done).sum())
        return found

    def query(self, lod: Axis) -> Bits:
        """Return width, height, depth and levels at levels of detail (INFO), shape (n, 4).

        The layers of an array stand where height or depth would.
        """
        found = np.zeros((lod.size, 4), np.uint32)
        found[:, 3] = len(self.levels)
        shift = np.minimum(lod, 31).astype(np.uint32)
        for number, size in enumerate(self.levels[0].size):
            is_layer = number >= self.kind.smooth_axes
            found[:, number] = size if is_layer else np.uint32(size) >> shift
        return found

    def decode(self, level: Level, positions: NDArray[np.int64]) -> Bits:
        """Return the components of texels by their numbers in a level."""
        return self.format.decode(level.texels[positions])

    def violation(self, kind: AccessKind, channel: int, reason: str) -> Exception:
        """Return why the image refuses an access."""
        return image_violation(kind, 0, self.format.texel_bytes, channel, reason, self.name)

    def _by_level(self, lod: Axis | None, active: Mask) -> Sequence[tuple[Level, Mask]]:
        """Return the levels that channels ask for, each with its channels."""
        if lod is None:
            return [(self.levels[0], active)]
        asked = [(level, active & (lod == number)) for number, level in enumerate(self.levels)]
        return [(level, chosen) for level, chosen in asked if chosen.any()]

    def _check_writable(
        self, level: Level, positions: NDArray[np.int64], held: Mask, kind: AccessKind
    ) -> None:
        if level.texels.flags.writeable:
            return
        channel, size = int(held.argmax()), self.format.texel_bytes
        address = int(positions[channel]) * size
        raise image_violation(kind, address, size, channel, READ_ONLY, self.name)

    def _locate(self, level: Level, coordinates: Sequence[Axis]) -> tuple[NDArray[np.int64], Mask]:
        """Return the numbers of texels, and which coordinates have one."""
        lanes = coordinates[0].size
        inside = np.ones(lanes, np.bool_)
        position = np.zeros(lanes, np.int64)
        axes = self.axes(coordinates)
        for axis, size in zip(reversed(axes), reversed(level.size), strict=True):
            index = axis.astype(np.int64)
            inside = inside & (index >= 0) & (index < size)
            position = position * size + index
        return position, inside

    def axes(self, coordinates: Sequence[Axis]) -> list[Axis]:
        """Return the coordinates that the kind has; those that are not given are 0."""
        zeros = np.zeros_like(coordinates[0])
        return [*coordinates, zeros, zeros][: self.kind.axes]

    def _outside(self, outside: Outside) -> Bits:
        border = self.format.border
        if outside is Outside.OPAQUE:
            border = border.copy()
            border[3] = self.format.one
        return border


def _active(coordinates: Sequence[Axis], mask: Mask | None) -> Mask:
    return np.ones(coordinates[0].size, np.bool_) if mask is None else mask
