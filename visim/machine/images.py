"""Images: texels in a caller's array, read, written and sampled by coordinates.

An `ImageSurface` never copies the array: its texels are a view. `BlockSurface` is the same memory
as rows of bytes, for media block messages. Knows no instruction and no binding table.

Follows the specification's 3D_LOAD, 3D_SAMPLE, GATHER4_TYPED, SCATTER4_TYPED, MEDIA_LD, MEDIA_ST
and INFO, and OpenCL C 3.0, Image Addressing and Filtering. Images have one mip level, so a level
of detail changes nothing for samplers, and is out of range for loads unless it is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import reduce
from itertools import product
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.machine.dropped import Dropped
from visim.machine.formats import Bits, TexelFormat
from visim.machine.memory import (
    MISALIGNED,
    READ_ONLY,
    AccessKind,
    Bytes,
    Mask,
    MemoryViolation,
    byte_view,
)
from visim.machine.sampling import OUTSIDE, Filter, SamplerState, Taps, layers
from visim.sem.effects import Outside

Axis = NDArray[Any]

_NOT_FINITE = "a coordinate that is no finite number"
_FILTERED_INTEGERS = "a linear filter on an image of integers"


class ImageKind(StrEnum):
    """The shapes of images, by OpenCL's names."""

    IMAGE_1D = "1d"
    BUFFER_1D = "1d_buffer"
    ARRAY_1D = "1d_array"
    IMAGE_2D = "2d"
    ARRAY_2D = "2d_array"
    IMAGE_3D = "3d"

    @property
    def axes(self) -> int:
        """How many coordinates a texel has, the array's layer included."""
        return _AXES[self]

    @property
    def is_array(self) -> bool:
        """Whether the last coordinate is a layer."""
        return self in {ImageKind.ARRAY_1D, ImageKind.ARRAY_2D}


_AXES = {
    ImageKind.IMAGE_1D: 1,
    ImageKind.BUFFER_1D: 1,
    ImageKind.ARRAY_1D: 2,
    ImageKind.IMAGE_2D: 2,
    ImageKind.ARRAY_2D: 3,
    ImageKind.IMAGE_3D: 3,
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
    """A C-contiguous array seen as an image; `size` is in texels: (u), (u, v) or (u, v, r)."""

    array: NDArray[Any]
    size: tuple[int, ...]
    kind: ImageKind
    format: TexelFormat

    def surface(self, name: str, dropped: Dropped | None = None) -> ImageSurface:
        """Return the surface of the image; it shares the array's memory."""
        octets = byte_view(self.array, name)
        texels = octets.view(self.format.dtype).reshape(-1, self.format.order.channels)
        return ImageSurface(texels, self.size, self.kind, self.format, name=name, dropped=dropped)

    @property
    def info(self) -> ImageInfo:
        """The image's sizes."""
        width, second, third = (*self.size, 0, 0)[:3]
        match self.kind:
            case ImageKind.ARRAY_1D:
                return ImageInfo(width, 0, 0, second)
            case ImageKind.ARRAY_2D:
                return ImageInfo(width, second, 0, third)
            case _:
                return ImageInfo(width, second, third, 0)


class BlockSurface:
    """Rows of bytes, read and written in rectangles (MEDIA_LD, MEDIA_ST).

    Outside of the surface a read repeats the nearest element, as the hardware does (the page
    leaves it to the format), and a write is dropped.

    Args:
        rows: Shape (height, bytes of a row), in place.
        unit: Bytes of an element: what is repeated at the left and right edge.
        name: What messages call it.
        dropped: Counts blocks that were out of range, at least in part.
    """

    def __init__(self, rows: Bytes, unit: int, name: str, dropped: Dropped) -> None:
        self._rows = rows
        self._unit = unit
        self._name = name
        self._dropped = dropped

    def load(self, x: int, y: int, width: int, height: int) -> Bytes:
        """Return `height` rows of `width` bytes, one after another.

        Args:
            x: Byte of the left edge, negative ones are outside.
            y: Row of the upper edge.
            width: Bytes of a row.
            height: Number of rows.
        """
        if not self._rows.size:
            self._dropped.reads += 1
            return np.zeros(width * height, np.uint8)
        rows, row_bytes = self._rows.shape
        columns, lines = x + np.arange(width), y + np.arange(height)
        if x < 0 or y < 0 or x + width > row_bytes or y + height > rows:
            self._dropped.reads += 1
            element = (columns // self._unit).clip(0, row_bytes // self._unit - 1)
            columns = element * self._unit + columns % self._unit
            lines = lines.clip(0, rows - 1)
        return self._rows[np.ix_(lines, columns)].reshape(-1)

    def store(self, x: int, y: int, width: int, data: Bytes) -> None:
        """Write rows of `width` bytes.

        Raises:
            MemoryViolation: The memory is read-only, or `x` is no multiple of 4.
        """
        height = data.size // width
        rows, row_bytes = self._rows.shape
        if not self._rows.flags.writeable or x % 4:
            reason = MISALIGNED if x % 4 else READ_ONLY
            raise _violation("store", max(0, y * row_bytes + x), width, 0, reason, self._name)
        top, left = max(0, -y), max(0, -x)
        bottom, right = min(height, rows - y), min(width, row_bytes - x)
        if top or left or bottom < height or right < width:
            self._dropped.writes += 1
        if top < bottom and left < right:
            block = data.reshape(height, width)[top:bottom, left:right]
            self._rows[y + top : y + bottom, x + left : x + right] = block


class ImageSurface:
    """Texels at coordinates (u, v, r), in place in an array.

    u counts texels from the left, v rows, or layers of a 1D array, r slices, or layers of a 2D
    array; coordinates that a kind does not have are ignored.

    Args:
        texels: Shape (texels, channels), a view of the array, of the format's type.
        size: Texels along the kind's axes, (u), (u, v) or (u, v, r).
        kind: The image's kind.
        texel_format: What the texels mean.
        name: What messages call it.
        dropped: Counts accesses out of range, one per channel.
    """

    def __init__(
        self,
        texels: NDArray[Any],
        size: tuple[int, ...],
        kind: ImageKind,
        texel_format: TexelFormat,
        *,
        name: str = "image",
        dropped: Dropped | None = None,
    ) -> None:
        self._texels = texels
        self.size = size
        self.kind = kind
        self.format = texel_format
        self.name = name
        self._dropped = Dropped() if dropped is None else dropped

    @property
    def blocks(self) -> BlockSurface:
        """The same memory as rows of bytes; all slices and layers one below the other."""
        row = self.size[0] * self.format.texel_bytes
        rows = self._texels.view(np.uint8).reshape(-1, row)
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
        positions, inside = self._locate(coordinates, lod)
        active = np.ones(inside.size, np.bool_) if mask is None else mask
        found = np.zeros((inside.size, 4), np.uint32)
        held = inside & active
        found[held] = self.format.decode(self._texels[positions[held]])
        missed = active & ~inside
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
    ) -> None:
        """Write texels; those out of range are dropped, of several the highest channel stays.

        Args:
            coordinates: As for `load`.
            bits: Components, shape (n, 4).
            mask: Active channels, or None.
            channels: The components that are written; others keep what they are.

        Raises:
            MemoryViolation: The array is read-only.
        """
        positions, inside = self._locate(coordinates, None)
        active = np.ones(inside.size, np.bool_) if mask is None else mask
        held = inside & active
        self._dropped.writes += int((active & ~inside).sum())
        if not held.any():
            return
        if not self._texels.flags.writeable:
            channel = int(held.argmax())
            size = self.format.texel_bytes
            address = int(positions[channel]) * size
            raise _violation("store", address, size, channel, READ_ONLY, self.name)
        stored = self.format.order.stored
        columns = [slot for slot, letter in enumerate(stored) if letter in channels]
        encoded = self.format.encode(bits[held])
        self._texels[positions[held][:, np.newaxis], columns] = encoded[:, columns]

    def sample(
        self, coordinates: Sequence[Axis], sampler: SamplerState, mask: Mask | None = None
    ) -> Bits:
        """Return the components that a sampler makes of texels.

        Args:
            coordinates: Floats u, v, r of shape (n,); missing ones are 0.
            sampler: How to sample.
            mask: Active channels, or None.

        Returns:
            Shape (n, 4); zeros in inactive channels.

        Raises:
            MemoryViolation: A coordinate is infinite or NaN, or integers would be filtered; both
                are undefined.
        """
        lanes = coordinates[0].size
        chosen = np.arange(lanes) if mask is None else mask.nonzero()[0]
        found = np.zeros((lanes, 4), np.uint32)
        if chosen.size:
            axes = self._axes(coordinates, lanes)
            self._check_sampling([axis[chosen] for axis in axes], sampler, chosen)
            taps = [self._taps(sampler, number, axis[chosen]) for number, axis in enumerate(axes)]
            if sampler.filter is Filter.NEAREST:
                found[chosen] = self._fetch([tap.indices[0] for tap in taps])
            else:
                found[chosen] = self._blend(taps)
        return found

    def gather(
        self,
        coordinates: Sequence[Axis],
        sampler: SamplerState,
        component: str,
        mask: Mask | None = None,
    ) -> Bits:
        """Return one component of the four texels that a linear filter would mix (3D_SAMPLE4).

        They are lower left, lower right, upper right, upper left; v counts downwards. Takes and
        raises what `sample` does, and refuses images that have not two axes to mix along.
        """
        lanes = coordinates[0].size
        chosen = np.arange(lanes) if mask is None else mask.nonzero()[0]
        found = np.zeros((lanes, 4), np.uint32)
        if not chosen.size:
            return found
        if self.kind not in {ImageKind.IMAGE_2D, ImageKind.ARRAY_2D}:
            size, first = self.format.texel_bytes, int(chosen[0])
            raise _violation("load", 0, size, first, f"gather on a {self.kind} image", self.name)
        axes = [axis[chosen] for axis in self._axes(coordinates, lanes)]
        self._check_sampling(axes, replace(sampler, filter=Filter.NEAREST), chosen)
        linear = replace(sampler, filter=Filter.LINEAR)
        u, v, *layer = (self._taps(linear, number, axis) for number, axis in enumerate(axes))
        slot = "RGBA".index(component)
        for place, (right, below) in enumerate(((0, 1), (1, 1), (1, 0), (0, 0))):
            texel = self._fetch(
                [u.indices[right], v.indices[below], *(r.indices[0] for r in layer)]
            )
            found[chosen, place] = texel[:, slot]
        return found

    def query(self, lod: Axis) -> Bits:
        """Return width, height, depth and levels at levels of detail (INFO), shape (n, 4).

        The layers of an array stand where height or depth would.
        """
        found = np.zeros((lod.size, 4), np.uint32)
        found[:, 3] = 1
        levels = np.minimum(lod, 31).astype(np.uint32)
        for number, size in enumerate(self.size):
            is_layer = self.kind.is_array and number == self.kind.axes - 1
            found[:, number] = size if is_layer else np.uint32(size) >> levels
        return found

    def _check_sampling(
        self, axes: Sequence[Axis], sampler: SamplerState, chosen: NDArray[np.intp]
    ) -> None:
        size = self.format.texel_bytes
        if sampler.filter is Filter.LINEAR and self.format.type.is_integer:
            raise _violation("load", 0, size, int(chosen[0]), _FILTERED_INTEGERS, self.name)
        finite = reduce(np.logical_and, (np.isfinite(axis) for axis in axes))
        if not finite.all():
            channel = int(chosen[finite.argmin()])
            raise _violation("load", 0, size, channel, _NOT_FINITE, self.name)

    def _taps(self, sampler: SamplerState, number: int, axis: Axis) -> Taps:
        if self.kind.is_array and number == self.kind.axes - 1:
            return layers(axis, self.size[number])
        return sampler.taps(axis, self.size[number])

    def _blend(self, taps: Sequence[Taps]) -> Bits:
        """Return weighted sums of texels: exact in double precision, then rounded once.

        Texels of weight zero do not contribute, so that infinities and NaN beside the point that
        is sampled do not show.
        """
        total = np.zeros((taps[0].indices.shape[1], 4))
        with np.errstate(invalid="ignore", over="ignore"):
            for corner in product(*(range(tap.indices.shape[0]) for tap in taps)):
                pairs = list(zip(taps, corner, strict=True))
                weight = reduce(mul, (tap.weights[k] for tap, k in pairs))[:, np.newaxis]
                texel = self._fetch([tap.indices[k] for tap, k in pairs])
                total += np.where(weight > 0, weight * texel.view(np.float32), 0.0)
            return total.astype(np.float32).view(np.uint32)

    def _fetch(self, indices: Sequence[NDArray[np.int64]]) -> Bits:
        """Return texels by indices along the axes; `OUTSIDE` on any axis is the border."""
        position = np.zeros_like(indices[0])
        inside = np.ones(position.size, np.bool_)
        for index, size in zip(reversed(indices), reversed(self.size), strict=True):
            position = position * size + index
            inside &= index != OUTSIDE
        found = np.empty((position.size, 4), np.uint32)
        found[inside] = self.format.decode(self._texels[position[inside]])
        found[~inside] = self.format.border
        return found

    def _locate(
        self, coordinates: Sequence[Axis], lod: Axis | None
    ) -> tuple[NDArray[np.int64], Mask]:
        """Return the numbers of texels, and which coordinates have one."""
        lanes = coordinates[0].size
        inside = np.ones(lanes, np.bool_) if lod is None else lod == 0
        position = np.zeros(lanes, np.int64)
        axes = self._axes(coordinates, lanes)
        for axis, size in zip(reversed(axes), reversed(self.size), strict=True):
            index = axis.astype(np.int64)
            inside = inside & (index >= 0) & (index < size)
            position = position * size + index
        return position, inside

    def _axes(self, coordinates: Sequence[Axis], lanes: int) -> list[Axis]:
        """Return the coordinates that the kind has; those that are not given are 0."""
        zeros = np.zeros(lanes, coordinates[0].dtype)
        return [*coordinates, zeros, zeros][: self.kind.axes]

    def _outside(self, outside: Outside) -> Bits:
        border = self.format.border
        if outside is Outside.OPAQUE:
            border = border.copy()
            border[3] = 1 if self.format.type.is_integer else 0x3F800000
        return border


def _violation(
    kind: AccessKind, address: int, size: int, channel: int, reason: str, name: str
) -> MemoryViolation:
    return MemoryViolation(
        space="surface",
        kind=kind,
        address=address,
        size=size,
        channel=channel,
        reason=reason,
        nearest=name,
        distance=0,
    )
