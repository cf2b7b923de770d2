"""Samplers: which texels a coordinate means along one axis, and with which weights.

Knows neither formats nor images. Follows OpenCL C 3.0, Image Addressing and Filtering: the
equations of the address modes for nearest and linear filters. Linear weights have 8 fractional
bits, as the hardware's have: the coordinate is rounded to them, a half upwards.

Array layers are not sampled but chosen: `layers` rounds and clamps.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Coordinates = NDArray[np.float64]
Indices = NDArray[np.int64]

OUTSIDE = -1
"""The index that stands for the border."""

WEIGHT_BITS = 8
"""Fractional bits of a linear filter's weights."""

SAMPLER_TABLE_SIZE = 32


class Address(StrEnum):
    """What a coordinate outside of the image means; `NONE` does what `CLAMP` does."""

    NONE = "none"
    CLAMP = "clamp"
    CLAMP_TO_EDGE = "clamp_to_edge"
    REPEAT = "repeat"
    MIRRORED_REPEAT = "mirrored_repeat"

    @property
    def needs_normalized(self) -> bool:
        """Whether the mode is defined for normalised coordinates only."""
        return self in {Address.REPEAT, Address.MIRRORED_REPEAT}


class Filter(StrEnum):
    """How many texels contribute along an axis: the nearest one, or two."""

    NEAREST = "nearest"
    LINEAR = "linear"


@dataclass(frozen=True, slots=True)
class Taps:
    """The texels that contribute along one axis, for n coordinates.

    Attributes:
        indices: Shape (k, n); `OUTSIDE` is the border.
        weights: Shape (k, n), multiples of 1/256 whose sum is 1 for each coordinate.
    """

    indices: Indices
    weights: Coordinates


@dataclass(frozen=True, slots=True)
class SamplerState:
    """How an image is sampled. Normalised coordinates go from 0 to 1 across the image."""

    address: Address = Address.CLAMP_TO_EDGE
    filter: Filter = Filter.NEAREST
    normalized: bool = False

    def taps(self, coordinates: NDArray[Any], size: int) -> Taps:
        """Return the texels that finite coordinates along an axis of `size` texels mean."""
        position = self._position(coordinates.astype(np.float64), size)
        if self.filter is Filter.NEAREST:
            index = np.floor(position).astype(np.int64)[np.newaxis]
            return Taps(self._wrapped(index, size), np.ones(index.shape))
        scale = 1 << WEIGHT_BITS
        fixed = np.floor((position - 0.5) * scale + 0.5).astype(np.int64)
        lower = fixed >> WEIGHT_BITS
        share = (fixed & (scale - 1)) / scale
        indices = self._wrapped(np.stack((lower, lower + 1)), size)
        return Taps(indices, np.stack((1 - share, share)))

    def _position(self, coordinates: Coordinates, size: int) -> Coordinates:
        """Return coordinates in texels, near the image: far outside is as just outside."""
        match self.address:
            case Address.REPEAT:
                return (coordinates - np.floor(coordinates)) * size
            case Address.MIRRORED_REPEAT:
                return np.abs(coordinates - 2 * np.rint(0.5 * coordinates)) * size
            case _:
                scaled = coordinates * size if self.normalized else coordinates
                return scaled.clip(-2.0, size + 2.0)

    def _wrapped(self, indices: Indices, size: int) -> Indices:
        match self.address:
            case Address.REPEAT:
                return indices % size
            case Address.MIRRORED_REPEAT | Address.CLAMP_TO_EDGE:
                return indices.clip(0, size - 1)
            case Address.NONE | Address.CLAMP:
                inside = (indices >= 0) & (indices < size)
                return np.where(inside, indices, OUTSIDE)


def layers(coordinates: NDArray[Any], count: int) -> Taps:
    """Return the layer of an array that each coordinate means: rounded to even, clamped."""
    index = np.rint(coordinates.astype(np.float64)).clip(0, count - 1).astype(np.int64)
    return Taps(index[np.newaxis], np.ones((1, index.size)))
