"""Images and samplers as callers make them , and as arguments of kernels.

An `Image` says how to see a caller's array as texels; it never copies it. What kernels do with
images is in `machine.images`.

Facts: docs/kernel-abi.md, The argument table (images and samplers).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from visim.binary.zebin import InlineSampler
from visim.errors import ArgumentError, UnsupportedError, shown
from visim.lex import nearest
from visim.machine.formats import TexelFormat, natural_format, texel_format
from visim.machine.images import CUBE_FACES, ImageKind, ImageMemory, level_size
from visim.machine.sampling import COMPARISONS, LEAST_DETAIL, Address, Filter, Mip, SamplerState
from visim.runtime.given import check_flag
from visim.runtime.pictures import as_picture, encode_png

_KIND_OF_AXES = {
    1: ImageKind.IMAGE_1D,
    2: ImageKind.IMAGE_2D,
    3: ImageKind.IMAGE_2D,
    4: ImageKind.IMAGE_3D,
}
_KIND_OF_TYPE = {
    "image_1d": ImageKind.IMAGE_1D,
    "image_1d_array": ImageKind.ARRAY_1D,
    "image_buffer": ImageKind.BUFFER_1D,
    "image_2d": ImageKind.IMAGE_2D,
    "image_2d_array": ImageKind.ARRAY_2D,
    "image_2d_array_depth": ImageKind.ARRAY_2D,
    "image_2d_depth": ImageKind.IMAGE_2D,
    "image_2d_media": ImageKind.IMAGE_2D,
    "image_2d_media_block": ImageKind.IMAGE_2D,
    "image_3d": ImageKind.IMAGE_3D,
}
_INLINE_ADDRESSES = {
    "none": Address.NONE,
    "clamp_border": Address.CLAMP,
    "clamp_edge": Address.CLAMP_TO_EDGE,
    "repeat": Address.REPEAT,
    "mirror": Address.MIRRORED_REPEAT,
}
_ADDRESS_CODES = {
    Address.NONE: 0,
    Address.CLAMP: 1,
    Address.CLAMP_TO_EDGE: 2,
    Address.REPEAT: 3,
    Address.MIRRORED_REPEAT: 4,
}
_NORMALIZED_CODE = 8
_ALL_BITS = 0xFFFF_FFFF
_PREFIXES = ("clk_address_", "cl_address_", "clk_filter_", "cl_filter_")


class Image:
    """An array as an image; kernels read and write it in place.

    Args:
        array: C-contiguous. Its axes are those of the kind, the slowest first, then the
            channels: (h, w[, c]) for 2d. Without the last one a texel is one item of the array.
        kind: "1d", "1d_buffer", "1d_array" (layers, w), "2d", "2d_array" (layers, h, w),
            "3d" (d, h, w), "cube" (6, w, w) or "cube_array" (6 * cubes, w, w). None: 1d for one
            axis, 2d for two or three, 3d for four.
        format: "order:type" such as "rgba:unorm8", or a type alone. None: R, RG or RGBA by the
            last axis, and float32, float16 and integers of 8, 16 and 32 bits as they are.
        levels: Further arrays, levels of detail 1, 2, ...: each has half the size of the one
            before, rounded down but at least 1, and as many layers.

    Raises:
        ArgumentError: An array does not fit the kind, the format or its level.
    """

    __slots__ = ("_memory",)

    def __init__(
        self,
        array: NDArray[Any],
        *,
        kind: str | None = None,
        format: str | None = None,  # noqa: A002 - the name is fixed
        levels: Sequence[NDArray[Any]] = (),
    ) -> None:
        checked = _checked(array)
        shape = _kind(kind, checked.ndim)
        channels = _channels(checked, shape)
        texels = _format(checked, format, channels)
        size = tuple(reversed(checked.shape[: shape.axes]))
        _check_cube(size, shape)
        if not isinstance(cast("object", levels), Iterable):
            raise ArgumentError(f"Image: levels: expected a list of arrays, found {shown(levels)}")
        smaller = tuple(_checked(level) for level in levels)
        for number, level in enumerate(smaller, 1):
            _check_level(level, number, checked, level_size(size, shape, number))
        self._memory = ImageMemory(checked, size, shape, texels, smaller)

    @property
    def memory(self) -> ImageMemory:
        """The image as the machine knows it."""
        return self._memory

    @property
    def array(self) -> NDArray[Any]:
        """The array itself."""
        return self._memory.array

    @property
    def levels(self) -> tuple[NDArray[Any], ...]:
        """The arrays of all levels, `array` first."""
        return (self._memory.array, *self._memory.smaller)

    @property
    def kind(self) -> str:
        """The kind, such as "2d"."""
        return str(self._memory.kind)

    @property
    def format(self) -> str:
        """The format, such as "rgba:unorm8"."""
        return self._memory.format.name

    @property
    def width(self) -> int:
        """Texels from left to right."""
        return self._memory.info.width

    @property
    def height(self) -> int:
        """Rows; 0 for kinds without."""
        return self._memory.info.height

    @property
    def depth(self) -> int:
        """Slices of a 3D image; 0 for other kinds."""
        return self._memory.info.depth

    @property
    def array_size(self) -> int:
        """Layers of an array of images; 0 for other kinds."""
        return self._memory.info.array_size

    def __repr__(self) -> str:
        size = "x".join(str(extent) for extent in self._memory.size)
        return f"Image({self.kind} {size} {self.format})"

    def _repr_png_(self) -> bytes | None:
        """Return the image as notebooks show it, where it has two dimensions; floats are 0 to 1."""
        array = self._memory.array
        if array.dtype.kind == "f":
            bytes_ = np.clip(np.nan_to_num(array.astype(np.float64)), 0, 1) * 255
            array = np.rint(bytes_).astype(np.uint8)
        try:
            return encode_png(as_picture(array, name="image"))
        except ArgumentError:
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampler:
    """How a kernel samples images; names are OpenCL's.

    Attributes:
        address: What coordinates outside of the image mean: "none", "clamp" (to a border of
            zeros), "clamp_to_edge", "repeat" or "mirrored_repeat".
        filter: "nearest" or "linear".
        normalized: Whether coordinates go from 0 to 1 across the image, and not from 0 to its
            size. The repeating modes and levels of detail need that.
        mip: Which levels of an image count: "none" (level 0), "nearest" or "linear" (two).
        bias: Added to levels of detail.
        min_lod: The least level of detail.
        max_lod: The greatest level of detail.
        compare: What comparing messages ask of their reference and a texel: "never", "less",
            "equal", "less_equal", "greater", "not_equal", "greater_equal" or "always".
        border: R, G, B, A of what address "clamp" reads outside; None is zeros.

    Raises:
        ArgumentError: A name is not known, a repeating mode has coordinates in texels, or the
            limits or the border are not such numbers.
    """

    address: str = "clamp_to_edge"
    filter: str = "nearest"
    normalized: bool = False
    mip: str = "none"
    bias: float = 0.0
    min_lod: float = 0.0
    max_lod: float = LEAST_DETAIL
    compare: str = "never"
    border: tuple[float, float, float, float] | None = None

    def __post_init__(self) -> None:
        state = self.state
        if state.min_lod > state.max_lod:
            raise ArgumentError(
                f"Sampler: min_lod {state.min_lod} is above max_lod {state.max_lod}"
            )
        if state.address.needs_normalized and not state.normalized:
            raise ArgumentError(
                f"Sampler: address {str(state.address)!r} is defined for normalized coordinates "
                "only; add normalized=True"
            )

    @property
    def state(self) -> SamplerState:
        """The sampler as the machine knows it."""
        check_flag("normalized", self.normalized)
        address = _named("address", self.address, [str(mode) for mode in Address])
        chosen = _named("filter", self.filter, [str(mode) for mode in Filter])
        mip = _named("mip", self.mip, [str(mode) for mode in Mip])
        return SamplerState(
            address=Address(address),
            filter=Filter(chosen),
            normalized=bool(self.normalized),
            mip=Mip(mip),
            bias=_number("bias", self.bias),
            min_lod=_number("min_lod", self.min_lod),
            max_lod=_number("max_lod", self.max_lod),
            compare=_named("compare", self.compare, list(COMPARISONS)),
            border=_border(self.border),
        )


def image_argument(
    value: object, name: str, image_type: str | None, *, written: bool
) -> ImageMemory:
    """Return the image that a caller gave for an argument.

    Args:
        value: What was given.
        name: The argument's name, for messages.
        image_type: The kind that the metadata names, or None where the kernel does not use it.
        written: Whether the kernel writes it.

    Raises:
        ArgumentError: It is no image, of another kind, or read-only although it is written.
        UnsupportedError: visim has no images of the kind.
    """
    if not isinstance(value, Image):
        found = "None" if value is None else type(value).__name__
        raise ArgumentError(f"argument {name!r}: expected visim.Image(array), found {found}")
    if image_type is not None:
        kind = _KIND_OF_TYPE.get(image_type)
        if kind is None:
            raise UnsupportedError(f"argument {name!r}: images of type {image_type!r}")
        if value.kind != kind:
            raise ArgumentError(f"argument {name!r}: expected a {kind} image, found {value!r}")
    if written and not value.array.flags.writeable:
        raise ArgumentError(
            f"argument {name!r}: the image's array is read-only, but the kernel writes it"
        )
    return value.memory


def sampler_argument(value: object, name: str) -> SamplerState:
    """Return the sampler that a caller gave for an argument; ArgumentError for anything else."""
    if not isinstance(value, Sampler):
        found = "None" if value is None else type(value).__name__
        raise ArgumentError(f"argument {name!r}: expected visim.Sampler(), found {found}")
    return value.state


def inline_sampler(sampler: InlineSampler, kernel: str) -> SamplerState:
    """Return a sampler that a kernel declares itself.

    Raises:
        UnsupportedError: visim does not know its mode, or it has none that is defined.
    """
    address = _INLINE_ADDRESSES.get(sampler.addrmode)
    if address is None or sampler.filtermode not in set(Filter):
        raise UnsupportedError(
            f"kernel {kernel!r}: a sampler with address {sampler.addrmode!r} and filter "
            f"{sampler.filtermode!r}"
        )
    if address.needs_normalized and not sampler.normalized:
        raise UnsupportedError(
            f"kernel {kernel!r}: a sampler with address {sampler.addrmode!r} and coordinates in "
            "texels, which OpenCL leaves undefined"
        )
    return SamplerState(address, Filter(sampler.filtermode), sampler.normalized)


def _snaps(sampler: SamplerState) -> bool:
    """Whether programs have to move negative coordinates to a whole texel outside."""
    return sampler.address is Address.CLAMP and sampler.filter is Filter.NEAREST


IMAGE_ENTRIES: Mapping[str, Callable[[ImageMemory], int]] = {
    "image_width": lambda image: image.info.width,
    "image_height": lambda image: image.info.height,
    "image_depth": lambda image: image.info.depth,
    "image_array_size": lambda image: image.info.array_size,
    "image_num_samples": lambda _: 0,
    "image_num_mip_levels": lambda image: len(image.smaller) + 1 if image.smaller else 0,
    "image_channel_data_type": lambda image: image.format.type.code,
    "image_channel_order": lambda image: image.format.order.code,
    "image_srgb_channel_order": lambda image: image.format.order.code,
}
"""Entries of the argument table that say something about an image, 4 bytes each."""

SAMPLER_ENTRIES: Mapping[str, Callable[[SamplerState], int]] = {
    "sampler_address": lambda sampler: _ADDRESS_CODES[sampler.address],
    "sampler_normalized": lambda sampler: _NORMALIZED_CODE if sampler.normalized else 0,
    "sampler_snap_wa": lambda sampler: _ALL_BITS if _snaps(sampler) else 0,
}
"""Entries of the argument table that say something about a sampler, 4 bytes each."""


def _checked(array: object) -> NDArray[Any]:
    if not isinstance(array, np.ndarray):
        found = type(array).__name__
        raise ArgumentError(f"Image: expected an ndarray, found {found}")
    checked = cast("NDArray[Any]", array)
    if not checked.flags.c_contiguous:
        raise ArgumentError(
            "Image: the array is not C-contiguous; pass a numpy.ascontiguousarray() of it"
        )
    if not checked.dtype.isnative:
        raise ArgumentError(
            "Image: the array is big-endian, and kernels would read it as little-endian; "
            "pass array.astype(array.dtype.newbyteorder('='))"
        )
    if not checked.size:
        raise ArgumentError(f"Image: the array of shape {checked.shape} has no texels")
    return checked


def _kind(kind: str | None, axes: int) -> ImageKind:
    if kind is None:
        if axes not in _KIND_OF_AXES:
            raise ArgumentError(f"Image: an array of {axes} axes; expected 1 to 4, or a kind")
        return _KIND_OF_AXES[axes]
    return ImageKind(_named("kind", kind, [str(known) for known in ImageKind]))


def _check_cube(size: tuple[int, ...], kind: ImageKind) -> None:
    if not kind.is_cube:
        return
    width, height, faces = size
    is_whole = faces == CUBE_FACES if kind is ImageKind.CUBE else faces % CUBE_FACES == 0
    if width != height or not is_whole:
        raise ArgumentError(
            f"Image: a {kind} image has 6 square faces for each cube, the array has {faces} of "
            f"{width}x{height} texels"
        )


def _check_level(
    array: NDArray[Any], number: int, first: NDArray[Any], size: tuple[int, ...]
) -> None:
    expected = (*reversed(size), *first.shape[len(size) :])
    if array.shape != expected or array.dtype != first.dtype:
        raise ArgumentError(
            f"Image: level {number} is {array.dtype} {array.shape}; expected {first.dtype} "
            f"{expected}"
        )


def _channels(array: NDArray[Any], kind: ImageKind) -> int | None:
    """Return the length of the axis of channels, or None without one."""
    if array.ndim == kind.axes:
        return None
    if array.ndim == kind.axes + 1:
        return int(array.shape[-1])
    raise ArgumentError(
        f"Image: an array of {array.ndim} axes; a {kind} image has {kind.axes}, or "
        f"{kind.axes + 1} with the channels"
    )


def _format(array: NDArray[Any], name: str | None, channels: int | None) -> TexelFormat:
    """Return the format of the texels; it has to fit the items of the array."""
    if name is None:
        return natural_format(array.dtype, channels or 1)
    if not isinstance(cast("object", name), str):
        raise ArgumentError(f"format: expected a name such as 'rgba:unorm8', found {shown(name)}")
    texels = texel_format(name, channels or 1)
    size = array.dtype.itemsize
    expected, item = texels.order.channels, texels.dtype.itemsize
    if channels is None and size == texels.texel_bytes and array.dtype.kind in "iufV":
        return texels
    if channels == expected and size == item and array.dtype.kind in "iuf":
        return texels
    raise ArgumentError(
        f"Image: {texels.name} has {expected} channels of {item} bytes, the array's last axis "
        f"has {channels or 1} items of {size} bytes ({array.dtype})"
    )


def _number(what: str, value: object) -> float:
    try:
        if isinstance(value, (int, float, np.number)) and math.isfinite(cast("float", value)):
            return float(cast("float", value))
    except OverflowError:  # It is an integer that no float comes near.
        pass
    raise ArgumentError(
        f"Sampler: {what} is {shown(cast('object', value))}; expected a finite number"
    )


def _border(value: object) -> tuple[float, float, float, float] | None:
    if value is None:
        return None
    if isinstance(value, (tuple, list)) and len(cast("Sequence[object]", value)) == 4:
        red, green, blue, alpha = (
            _number("border", part) for part in cast("Sequence[object]", value)
        )
        return red, green, blue, alpha
    raise ArgumentError(
        f"Sampler: border is {shown(cast('object', value))}; expected four numbers R, G, B, A"
    )


def _named(what: str, name: object, known: list[str]) -> str:
    plain = name.lower() if isinstance(name, str) else ""
    for prefix in _PREFIXES:
        plain = plain.removeprefix(prefix)
    if plain in known:
        return plain
    near = nearest(plain, known)
    hint = f"did you mean {near!r}?" if near else f"known: {', '.join(known)}"
    raise ArgumentError(f"{what}: {shown(name)} is not known; {hint}")
