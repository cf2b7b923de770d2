"""Arrays as pictures: which arrays are pictures, PNG files, and pictures in a terminal.

A picture is an array of bytes with the axes (height, width, channels) and 1 (grey), 3 (red,
green, blue) or 4 (and alpha) channels. Knows nothing of kernels. The PNG passages are those of
ISO/IEC 15948: 5 (structure of the file), 9 (filtering), 11.2 (chunks).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from visim.errors import ArgumentError

Picture = NDArray[np.uint8]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOUR_TYPES = {1: 0, 3: 2, 4: 6}
UPPER_HALF = "\N{UPPER HALF BLOCK}"
"""What shows two pixels, one above the other, in one character."""
_EXPECTED = (
    "expected a uint8 array of shape (h, w), (h, w, 3) or (h, w, 4), a uint32 array of shape (h, w)"
    " with the bytes red, green, blue, alpha, or such elements in one dimension with a"
    " two-dimensional --global or --thread-space"
)


def as_picture(array: object, *, name: str, size: Sequence[int] | None = None) -> Picture:
    """Return `array` as a picture, without a copy where possible.

    Args:
        array: the array.
        name: how messages call it.
        size: width and height of the launch, for arrays of one dimension.

    Raises:
        ArgumentError: the array is no picture.
    """
    if not isinstance(array, np.ndarray):
        raise ArgumentError(f"{name!r} is not an array, so it cannot be a picture")
    pixels = cast("NDArray[np.generic]", array)
    found = f"{pixels.dtype} {pixels.shape}"
    if pixels.dtype not in (np.dtype(np.uint8), np.dtype(np.uint32)):
        raise ArgumentError(f"{name!r} is not a picture: found {found}; {_EXPECTED}")
    packed = pixels.dtype == np.dtype(np.uint32)
    if packed:
        pixels = pixels.reshape(*pixels.shape, 1).view(np.uint8)
    shape = _picture_shape(pixels.shape, size, packed=packed)
    if shape is None or 0 in shape:
        raise ArgumentError(f"{name!r} is not a picture: found {found}; {_EXPECTED}")
    return pixels.reshape(shape).view(np.uint8)


def _picture_shape(
    shape: tuple[int, ...], size: Sequence[int] | None, *, packed: bool
) -> tuple[int, int, int] | None:
    match shape:
        case (height, width) if not packed:
            return height, width, 1
        case (height, width, (1 | 3 | 4) as channels):
            return height, width, channels
        case _:
            pass
    if size is None or len(shape) > 1 + packed:
        return None
    width, height = size
    channels, rest = divmod(int(np.prod(shape)), width * height)
    return (height, width, channels) if rest == 0 and channels in _COLOUR_TYPES else None


def encode_png(picture: Picture) -> bytes:
    """Return `picture` as the bytes of a PNG file.

    A picture whose alpha is zero everywhere is written without alpha: kernels that pack colours
    into words often leave that byte alone, and nobody asks for an invisible picture.
    """
    opaque = _without_unused_alpha(picture)
    height, width, channels = opaque.shape
    rows = np.zeros((height, 1 + width * channels), np.uint8)  # filter type 0, then the row
    rows[:, 1:] = opaque.reshape(height, width * channels)
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b""))
    return _SIGNATURE + b"".join(_chunk(name, data) for name, data in chunks)


def _without_unused_alpha(picture: Picture) -> Picture:
    if picture.shape[2] == 4 and not picture[:, :, 3].any():
        return picture[:, :, :3]
    return picture


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def terminal_picture(picture: Picture, *, columns: int, has_halves: bool = True) -> str:
    """Return `picture` as lines in 24-bit colour, at most `columns` wide.

    A character shows two pixels, one above the other, as a half block; where the terminal's
    encoding `has_halves` not, it is a space in the mean of both. Larger pictures are averaged
    down, smaller ones are not enlarged. Alpha is shown over black.
    """
    colours = _over_black(_without_unused_alpha(picture))
    small = _shrink(colours, max(1, columns))
    if small.shape[0] % 2:
        small = np.concatenate([small, np.zeros_like(small[:1])])
    line = _line if has_halves else _plain_line
    return "\n".join(
        line(upper, lower) for upper, lower in zip(small[0::2], small[1::2], strict=True)
    )


def _over_black(picture: Picture) -> NDArray[np.float64]:
    colours = picture[:, :, :3].astype(np.float64)
    if picture.shape[2] == 4:
        colours *= picture[:, :, 3:] / 255
    return np.repeat(colours, 3, axis=2) if picture.shape[2] == 1 else colours


def _shrink(colours: NDArray[np.float64], columns: int) -> NDArray[np.int64]:
    height, width, _ = colours.shape
    if width > columns:
        rows = max(1, round(height * columns / width))
        colours = _average(_average(colours, rows, axis=0), columns, axis=1)
    return np.rint(colours).astype(np.int64)


def _average(colours: NDArray[np.float64], count: int, *, axis: int) -> NDArray[np.float64]:
    length = colours.shape[axis]
    starts = np.arange(count) * length // count
    sizes = np.diff(np.append(starts, length))
    sums = np.add.reduceat(colours, starts, axis=axis)
    return sums / np.expand_dims(sizes, tuple(a for a in range(3) if a != axis))


def _line(upper: NDArray[np.int64], lower: NDArray[np.int64]) -> str:
    cells = [
        f"\x1b[38;2;{a};{b};{c};48;2;{d};{e};{f}m{UPPER_HALF}"
        for (a, b, c), (d, e, f) in zip(upper.tolist(), lower.tolist(), strict=True)
    ]
    return "".join(cells) + "\x1b[0m"


def _plain_line(upper: NDArray[np.int64], lower: NDArray[np.int64]) -> str:
    means = (upper + lower) // 2
    return "".join(f"\x1b[48;2;{a};{b};{c}m " for a, b, c in means.tolist()) + "\x1b[0m"
