"""Levels of detail: how far a sampled read is from the size of level 0.

A level of detail is the logarithm to base 2 of the longer one of two gradients in texels of
level 0: how the coordinates change towards the right and the lower neighbour in a square of four
channels (upper left, upper right, lower left, lower right), or as a message gives them. Bias and
limits follow (3D_SAMPLE; the limits as D3D and Vulkan apply them).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.machine.cubes import meet
from visim.machine.images import ImageSurface
from visim.machine.sampling import WEIGHT_BITS, Mip, SamplerState
from visim.sem.requests import Detail

Axis = NDArray[Any]
Given = Mapping[str, Axis]

COORDINATES = ("u", "v", "r")
_SQUARE = 4


@dataclass(frozen=True, slots=True)
class Levels:
    """The levels that channels read: `lower`, and `share` of the one after it; shapes (n,)."""

    lower: NDArray[np.int64]
    share: NDArray[np.float64]


def level_of_detail(
    image: ImageSurface, sampler: SamplerState, detail: Detail, given: Given
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return levels of detail with and without the limits applied, for all channels."""
    lanes = given["u"].size
    zeros = np.zeros(lanes)
    with np.errstate(all="ignore"):
        match detail:
            case Detail.ZERO:
                unlimited = zeros
            case Detail.GIVEN:
                unlimited = given.get("lod", zeros).astype(np.float64) + sampler.bias
            case Detail.GRADIENTS | Detail.NEIGHBOURS:
                right, below = _gradients(image, detail, given)
                steepest = np.maximum(*(_length(image, sampler, g) for g in (right, below)))
                unlimited = np.log2(steepest) + sampler.bias
        if "bias" in given:
            unlimited = unlimited + given["bias"].astype(np.float64)
    least = np.full(lanes, sampler.min_lod)
    if "mlod" in given:
        least = np.maximum(least, given["mlod"].astype(np.float64))
    limited = np.minimum(np.maximum(unlimited, least), sampler.max_lod)
    return limited.clip(0, len(image.levels) - 1), unlimited


def choose_levels(
    image: ImageSurface, sampler: SamplerState, detail: Detail, given: Given, *, nearest: bool
) -> Levels:
    """Return the levels that channels read.

    Args:
        image: The image.
        sampler: How it is sampled.
        detail: Where the level of detail comes from.
        given: The parameters of the message.
        nearest: Whether only one level counts whatever the sampler says.
    """
    lanes = given["u"].size
    if sampler.mip is Mip.NONE or len(image.levels) == 1:
        return Levels(np.zeros(lanes, np.int64), np.zeros(lanes))
    limited, _ = level_of_detail(image, sampler, detail, given)
    limited = np.nan_to_num(limited)
    if nearest or sampler.mip is Mip.NEAREST:
        return Levels(np.floor(limited + 0.5).astype(np.int64), np.zeros(lanes))
    scale = 1 << WEIGHT_BITS
    fixed = np.floor(limited * scale + 0.5).astype(np.int64)
    return Levels(fixed >> WEIGHT_BITS, (fixed & (scale - 1)) / scale)


def _gradients(
    image: ImageSurface, detail: Detail, given: Given
) -> tuple[Sequence[Axis], Sequence[Axis]]:
    """Return how the coordinates on the image change to the right and downwards."""
    smooth = 3 if image.kind.is_cube else image.kind.smooth_axes
    zeros = np.zeros(given["u"].size)
    names = COORDINATES[:smooth]
    if detail is Detail.GRADIENTS:
        right = [given.get(f"d{name}dx", zeros).astype(np.float64) for name in names]
        below = [given.get(f"d{name}dy", zeros).astype(np.float64) for name in names]
    else:
        axes = [given.get(name, zeros).astype(np.float64) for name in names]
        right, below = ([_differences(axis, step) for axis in axes] for step in (1, 2))
    if not image.kind.is_cube:
        return right, below
    place = meet([given.get(name, zeros) for name in names])
    return place.gradient(right), place.gradient(below)


def _differences(axis: Axis, step: int) -> Axis:
    """Return, for every channel of a square, its channel `step` minus its first."""
    squares = axis.reshape(-1, _SQUARE)
    return (squares[:, step] - squares[:, 0]).repeat(_SQUARE)


def _length(image: ImageSurface, sampler: SamplerState, gradient: Sequence[Axis]) -> Axis:
    """Return a gradient's length in texels of level 0."""
    sizes = image.levels[0].size if sampler.normalized else (1, 1, 1)
    pairs = zip(gradient, sizes, strict=False)
    return np.sqrt(sum(((part * size) ** 2 for part, size in pairs), np.zeros(gradient[0].size)))
