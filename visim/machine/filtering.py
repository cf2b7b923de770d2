"""What samplers make of images: filtered, compared and gathered texels (3D_SAMPLE, 3D_SAMPLE4).

Knows no binding table. Sums of a filter are exact in double precision and rounded once. A compared
read asks of every texel's R what the sampler says, and filters the answers 1 and 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.machine.cubes import meet
from visim.machine.detail import COORDINATES, choose_levels, level_of_detail
from visim.machine.formats import Bits
from visim.machine.images import CUBE_FACES, ImageKind, ImageSurface, Level
from visim.machine.memory import Mask
from visim.machine.sampling import COMPARISONS, OUTSIDE, Filter, Mip, SamplerState, Taps, layers
from visim.sem.requests import COLOURS, DetailQuery, Sampling

Axis = NDArray[Any]
Given = Mapping[str, Axis]

_NOT_FINITE = "a coordinate that is not a finite number"
_FILTERED_INTEGERS = "a linear filter on an image of integers"
_NO_LEVELS = "levels of detail with coordinates in texels"
_GATHERABLE = {ImageKind.IMAGE_2D, ImageKind.ARRAY_2D, ImageKind.CUBE, ImageKind.ARRAY_CUBE}
_SHIFTS = {"u": 8, "v": 4, "r": 0}


def sample(
    image: ImageSurface,
    sampler: SamplerState,
    operation: Sampling,
    given: Given,
    mask: Mask | None = None,
) -> Bits:
    """Return the components that a sampler makes of texels, or the gathered one of four.

    Args:
        image: What is read.
        sampler: How.
        operation: What the message asks for.
        given: The parameters that it names, shapes (n,).
        mask: Active channels, or None.

    Returns:
        Shape (n, 4); zeros in inactive channels.

    Raises:
        MemoryViolation: A coordinate is infinite or NaN, integers would be filtered, or the image
            is not of a kind that can be gathered; all are undefined.
    """
    lanes = given["u"].size
    chosen = np.arange(lanes) if mask is None else mask.nonzero()[0]
    found = np.zeros((lanes, 4), np.uint32)
    if chosen.size:
        reader = _Reader(image, sampler, operation, chosen)
        found[chosen] = reader.read(given)
    return found


def detail_query(
    image: ImageSurface, sampler: SamplerState, given: Given, mask: Mask | None = None
) -> Bits:
    """Return the level of detail with its limits as R, without them as G (3D_SAMPLE, LOD)."""
    limited, unlimited = level_of_detail(image, sampler, DetailQuery.detail, given)
    found = np.zeros((limited.size, 4), np.float32)
    found[:, 0], found[:, 1] = limited, unlimited
    if mask is not None:
        found[~mask] = 0
    return found.view(np.uint32)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where channels read one level: along each axis the texels and their weights."""

    level: Level
    taps: Sequence[Taps]
    reference: Axis | None


class _Reader:
    """One message while its active channels `chosen` are read."""

    def __init__(
        self,
        image: ImageSurface,
        sampler: SamplerState,
        operation: Sampling,
        chosen: NDArray[np.intp],
    ) -> None:
        self.image = image
        self.sampler = sampler
        self.operation = operation
        self.chosen = chosen
        self.border = image.format.border_of(sampler.border)

    def read(self, given: Given) -> Bits:
        """Return the components of the active channels, shape (active channels, 4)."""
        self._check(given)
        gathers = self.operation.gathered is not None
        levels = choose_levels(
            self.image, self.sampler, self.operation.detail, given, nearest=gathers
        )
        active = {name: axis[self.chosen] for name, axis in given.items()}
        lower, share = levels.lower[self.chosen], levels.share[self.chosen]
        if gathers:
            return self._each_level(active, lower, self._gathered)
        if not share.any() and self._is_nearest and "ref" not in active:
            return self._each_level(active, lower, self._nearest)
        total = self._each_level(active, lower, self._mixed)
        if share.any():
            weight = share[:, np.newaxis]
            upper = np.minimum(lower + 1, len(self.image.levels) - 1)
            above = self._each_level(active, upper, self._mixed)
            with np.errstate(invalid="ignore"):
                total = np.where(weight > 0, (1 - weight) * total + weight * above, total)
        with np.errstate(over="ignore"):
            return total.astype(np.float32).view(np.uint32)

    @property
    def _is_nearest(self) -> bool:
        return self.sampler.filter is Filter.NEAREST

    def _each_level(self, given: Given, levels: NDArray[np.int64], read: Any) -> NDArray[Any]:
        """Read every channel in its level; `read` takes a place and returns (n, 4)."""
        numbers = np.unique(levels)
        if numbers.size == 1:
            return read(self._place(int(numbers[0]), given))
        found: NDArray[Any] | None = None
        for number in numbers:
            on = levels == number
            part = read(self._place(int(number), {name: axis[on] for name, axis in given.items()}))
            if found is None:
                found = np.zeros((levels.size, 4), part.dtype)
            found[on] = part
        return np.zeros((0, 4)) if found is None else found

    def _place(self, number: int, given: Given) -> _Place:
        level = self.image.levels[number]
        linear = True if self.operation.gathered is not None else None
        axes, layer = self._coordinates(given)
        taps = [
            self.sampler.taps(axis, size, _offset(given, name), linear=linear)
            for axis, size, name in zip(axes, level.size, COORDINATES, strict=False)
        ]
        return _Place(level, taps if layer is None else [*taps, layer], given.get("ref"))

    def _coordinates(self, given: Given) -> tuple[list[Axis], Taps | None]:
        """Return the coordinates along the axes that are mixed, and the layer if there are any."""
        image, zeros = self.image, np.zeros(given["u"].size, np.float32)
        axes = image.axes([given.get(name, zeros) for name in COORDINATES])
        if image.kind.is_cube:
            place = meet(axes)
            count = image.levels[0].size[-1] // CUBE_FACES
            cube = layers(given.get("ai", zeros), count).indices
            face = CUBE_FACES * cube + place.face
            return [place.u, place.v], Taps(face, np.ones(face.shape))
        smooth = image.kind.smooth_axes
        if not image.kind.is_array:
            return axes, None
        return axes[:smooth], layers(axes[smooth], image.levels[0].size[smooth])

    def _nearest(self, place: _Place) -> Bits:
        return self._fetch(place.level, [tap.indices[0] for tap in place.taps])

    def _mixed(self, place: _Place) -> NDArray[np.float64]:
        """Return weighted sums of texels.

        Texels of weight zero do not contribute, so that infinities and NaN beside the point that
        is sampled do not show.
        """
        taps = place.taps
        total = np.zeros((taps[0].indices.shape[1], 4))
        with np.errstate(invalid="ignore", over="ignore"):
            for corner in product(*(range(tap.indices.shape[0]) for tap in taps)):
                pairs = list(zip(taps, corner, strict=True))
                weight = reduce(mul, (tap.weights[k] for tap, k in pairs))[:, np.newaxis]
                texel = self._compared(place, [tap.indices[k] for tap, k in pairs])
                total += np.where(weight > 0, weight * texel.view(np.float32), 0.0)
        return total

    def _gathered(self, place: _Place) -> Bits:
        """Return lower left, lower right, upper right, upper left; v counts downwards."""
        u, v, *layer = place.taps
        slot = COLOURS.index(self.operation.gathered or "R")
        found = np.zeros((u.indices.shape[1], 4), np.uint32)
        for column, (right, below) in enumerate(((0, 1), (1, 1), (1, 0), (0, 0))):
            indices = [u.indices[right], v.indices[below], *(r.indices[0] for r in layer)]
            found[:, column] = self._compared(place, indices)[:, slot]
        return found

    def _compared(self, place: _Place, indices: Sequence[NDArray[np.int64]]) -> Bits:
        """Return texels; where there is a reference, R says whether it passes the comparison."""
        texels = self._fetch(place.level, indices)
        if place.reference is not None:
            compare = COMPARISONS[self.sampler.compare]
            passes = compare(place.reference.astype(np.float32), texels[:, 0].view(np.float32))
            texels[:, 0] = passes.astype(np.float32).view(np.uint32)
        return texels

    def _fetch(self, level: Level, indices: Sequence[NDArray[np.int64]]) -> Bits:
        """Return texels by indices along the axes; `OUTSIDE` on any axis is the border."""
        position = np.zeros_like(indices[0])
        inside = np.ones(position.size, np.bool_)
        for index, size in zip(reversed(indices), reversed(level.size), strict=True):
            position = position * size + index
            inside &= index != OUTSIDE
        found = np.empty((position.size, 4), np.uint32)
        found[inside] = self.image.decode(level, position[inside])
        found[~inside] = self.border
        return found

    def _check(self, given: Given) -> None:
        image, sampler, first = self.image, self.sampler, int(self.chosen[0])
        gathers = self.operation.gathered is not None
        if gathers and image.kind not in _GATHERABLE:
            raise image.violation("load", first, f"gather on a {image.kind} image")
        mixes = sampler.filter is Filter.LINEAR or sampler.mip is Mip.LINEAR or "ref" in given
        if image.format.type.is_integer and mixes and (not gathers or "ref" in given):
            raise image.violation("load", first, _FILTERED_INTEGERS)
        if sampler.mip is not Mip.NONE and not sampler.normalized and len(image.levels) > 1:
            raise image.violation("load", first, _NO_LEVELS)
        names = COORDINATES[: 3 if image.kind.is_cube else image.kind.axes]
        axes = [given[name][self.chosen] for name in names if name in given]
        finite = reduce(np.logical_and, (np.isfinite(axis) for axis in axes))
        if image.kind.is_cube:
            finite &= reduce(np.logical_or, (axis != 0 for axis in axes))
        if not finite.all():
            raise image.violation("load", int(self.chosen[finite.argmin()]), _NOT_FINITE)


def _offset(given: Given, name: str) -> NDArray[np.int64] | None:
    """Return the offsets in texels along an axis, None where a message has none."""
    found: NDArray[np.int64] | None = None
    if "offsets" in given:
        nibble = given["offsets"].astype(np.int64) >> _SHIFTS[name] & 15
        found = (nibble ^ 8) - 8
    if f"off{name}" in given:
        own = given[f"off{name}"].astype(np.int64)
        found = own if found is None else found + own
    return found


def texel_offsets(packed: Axis) -> list[NDArray[np.int64]]:
    """Return the offsets along u, v, r of a message's number of them."""
    found = [_offset({"offsets": packed}, name) for name in COORDINATES]
    return [axis for axis in found if axis is not None]
