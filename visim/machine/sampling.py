"""Samplers: what their state says, and which texels a coordinate means along one axis.

Knows neither formats nor images. Follows OpenCL C 3.0, Image Addressing and Filtering: the
equations of the address modes for nearest and linear filters. Linear weights have 8 fractional
bits, as the hardware's have: the coordinate is rounded to them, a half upwards.

Array layers are not sampled but chosen: `layers` rounds and clamps.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
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
"""Fractional bits of a linear filter's weights, and of a level of detail."""

SAMPLER_TABLE_SIZE = 32

LEAST_DETAIL = 1000.0
"""The upper end of levels of detail when a sampler names none; images end long before."""

FARTHEST = 64
"""Texels outside of an image from which on all coordinates mean the same, offsets included."""


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


class Mip(StrEnum):
    """How many levels contribute: always level 0, the nearest one, or two."""

    NONE = "none"
    NEAREST = "nearest"
    LINEAR = "linear"


COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "never": lambda reference, _: np.zeros_like(reference, np.bool_),
    "less": operator.lt,
    "equal": operator.eq,
    "less_equal": operator.le,
    "greater": operator.gt,
    "not_equal": operator.ne,
    "greater_equal": operator.ge,
    "always": lambda reference, _: np.ones_like(reference, np.bool_),
}
"""What can be asked of a reference value (left) and a texel (right)."""


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
    """How an image is sampled.

    Attributes:
        address: What a coordinate outside of the image means.
        filter: How texels of a level are mixed.
        normalized: Whether coordinates go from 0 to 1 across the image.
        mip: How levels are mixed.
        bias: Added to every level of detail but a constant 0.
        min_lod: The least level of detail.
        max_lod: The greatest level of detail.
        compare: What is asked of a reference value and a texel, a name in `COMPARISONS`.
        border: R, G, B, A outside of the image, None for zeros.
    """

    address: Address = Address.CLAMP_TO_EDGE
    filter: Filter = Filter.NEAREST
    normalized: bool = False
    mip: Mip = Mip.NONE
    bias: float = 0.0
    min_lod: float = 0.0
    max_lod: float = LEAST_DETAIL
    compare: str = "never"
    border: tuple[float, float, float, float] | None = None

    def taps(
        self,
        coordinates: NDArray[Any],
        size: int,
        offsets: Indices | None = None,
        *,
        linear: bool | None = None,
    ) -> Taps:
        """Return the texels that finite coordinates along an axis of `size` texels mean.

        Args:
            coordinates: Shape (n,).
            size: Texels along the axis.
            offsets: Texels that are added to what a coordinate means, before it is wrapped.
            linear: Whether two texels contribute; None is what the filter says.
        """
        position = self._position(coordinates.astype(np.float64), size, offsets)
        if not (self.filter is Filter.LINEAR if linear is None else linear):
            index = np.floor(position).astype(np.int64)[np.newaxis]
            return Taps(self._wrapped(index, offsets, size), np.ones(index.shape))
        scale = 1 << WEIGHT_BITS
        fixed = np.floor((position - 0.5) * scale + 0.5).astype(np.int64)
        lower = fixed >> WEIGHT_BITS
        share = (fixed & (scale - 1)) / scale
        indices = self._wrapped(np.stack((lower, lower + 1)), offsets, size)
        return Taps(indices, np.stack((1 - share, share)))

    def _position(
        self, coordinates: Coordinates, size: int, offsets: Indices | None
    ) -> Coordinates:
        """Return coordinates in texels, near the image: far outside is as just outside."""
        match self.address:
            case Address.REPEAT:
                return (coordinates - np.floor(coordinates)) * size
            case Address.MIRRORED_REPEAT:
                away = coordinates - 2 * np.rint(0.5 * coordinates)
                folded = np.abs(away) * size
                return folded if offsets is None else np.where(offsets == 0, folded, away * size)
            case _:
                scaled = coordinates * size if self.normalized else coordinates
                return scaled.clip(-float(FARTHEST), size + float(FARTHEST))

    def _wrapped(self, indices: Indices, offsets: Indices | None, size: int) -> Indices:
        if offsets is not None:
            indices = indices + offsets
        match self.address:
            case Address.REPEAT:
                return indices % size
            case Address.MIRRORED_REPEAT:
                turn = indices % (2 * size)
                return np.where(turn < size, turn, 2 * size - 1 - turn)
            case Address.CLAMP_TO_EDGE:
                return indices.clip(0, size - 1)
            case Address.NONE | Address.CLAMP:
                inside = (indices >= 0) & (indices < size)
                return np.where(inside, indices, OUTSIDE)


def layers(coordinates: NDArray[Any], count: int) -> Taps:
    """Return the layer of an array that each coordinate means: rounded to even, clamped."""
    index = np.rint(coordinates.astype(np.float64)).clip(0, count - 1).astype(np.int64)
    return Taps(index[np.newaxis], np.ones((1, index.size)))
