"""Requests of messages to images and rows of surfaces, answered: the one place for all engines.

Every operation of `visim.sem.requests` has a line here. What a request is sent to is looked up in
the tables of `visim.machine.surfaces`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.machine import filtering
from visim.machine.blocks import BlockSurface
from visim.machine.detail import COORDINATES
from visim.machine.images import ImageKind, ImageSurface
from visim.machine.memory import Mask
from visim.machine.sampling import SamplerState
from visim.sem.requests import (
    COLOURS,
    BlockLoad,
    BlockStore,
    DetailQuery,
    SampleQuery,
    Sampling,
    SizeQuery,
    TexelAtomic,
    TexelLoad,
    TexelStore,
)

Values = Mapping[str, NDArray[Any]]
BlockOperation = BlockLoad | BlockStore
SamplerOperation = Sampling | DetailQuery
ImageOperation = TexelLoad | TexelStore | TexelAtomic | SizeQuery | SampleQuery

_SAMPLES = np.array([1, 0, 0, 0], np.uint32)


def ask_sampler(
    image: ImageSurface,
    sampler: SamplerState,
    operation: SamplerOperation,
    given: Values,
    mask: Mask | None,
) -> NDArray[np.uint32]:
    """Return what the sampler answers, shape (channels, 4)."""
    if isinstance(operation, Sampling):
        return filtering.sample(image, sampler, operation, given, mask)
    return filtering.detail_query(image, sampler, given, mask)


def ask_image(
    image: ImageSurface, operation: ImageOperation, given: Values, mask: Mask | None
) -> NDArray[np.uint32] | None:
    """Return what an image answers, shape (channels, columns) or, for one column, (channels,)."""
    lod = given.get("lod")
    match operation:
        case TexelLoad():
            return image.load(_texel(given), lod, mask, operation.outside)
        case TexelStore():
            named = [letter for letter in COLOURS if letter in given]
            zeros = np.zeros(given["u"].size, np.uint32)
            bits = np.stack([given.get(letter, zeros) for letter in COLOURS], axis=1)
            image.store(_texel(given), bits, mask, "".join(named), lod)
            return None
        case TexelAtomic():
            operands = [given[name] for name in ("operand0", "operand1") if name in given]
            where = _texel(given)
            return image.atomic(operation.operation, operation.bits, where, operands, mask, lod)
        case SizeQuery():
            return image.query(given["lod"])
        case SampleQuery():
            if image.kind is not ImageKind.IMAGE_2D:
                raise image.violation("load", 0, f"samples of a {image.kind} image")
            return _SAMPLES[np.newaxis].repeat(given["channels"].size, axis=0)


def ask_rows(rows: BlockSurface, operation: BlockOperation, given: Values) -> NDArray[Any] | None:
    """Return the bytes of a rectangle, or write them."""
    x, y = (int(given[name].view(np.int32)[0]) for name in ("x", "y"))
    part = rows.of(operation.rows)
    if isinstance(operation, BlockLoad):
        return part.load(x, y, operation.width, operation.height)
    part.store(x, y, operation.width, np.ascontiguousarray(given["data"]).view(np.uint8))
    return None


def _texel(given: Values) -> list[NDArray[Any]]:
    """Return integer coordinates u, v, r; those that a message does not have are 0."""
    zeros = np.zeros(given["u"].size, np.uint32)
    found = [given.get(name, zeros) for name in COORDINATES]
    if "offsets" not in given:
        return found
    steps = filtering.texel_offsets(given["offsets"])
    return [
        axis.view(np.int32).astype(np.int64) + step for axis, step in zip(found, steps, strict=True)
    ]
