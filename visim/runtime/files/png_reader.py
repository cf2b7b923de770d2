"""PNG files as arrays: 8 bits a channel, not interlaced, which is what programs write.

The passages are those of ISO/IEC 15948: 5 (structure of the file), 9 (filtering), 11.2 (chunks).
`pictures` is the other direction.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from visim.errors import ArgumentError

Rows = NDArray[np.uint8]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_PALETTE = 3
_MAX_BYTES = 1 << 29


def decode_png(data: bytes, name: str) -> Rows:
    """Return the picture in a PNG file as an array (height, width, 4): red, green, blue, alpha.

    Args:
        data: The file's bytes.
        name: How messages call it.

    Raises:
        ArgumentError: It is no PNG file, damaged, interlaced, or has not 8 bits a channel.
    """
    try:
        return _decode(data, name)
    except (struct.error, zlib.error, IndexError, KeyError, ValueError) as error:
        raise ArgumentError(f"{name}: not a readable PNG file ({error})") from None


def _decode(data: bytes, name: str) -> Rows:
    chunks = list(_chunks(data))
    if not chunks or chunks[0][0] != b"IHDR":
        raise ValueError("no header")
    width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", chunks[0][1])
    if depth != 8 or interlace:
        what = "interlaced" if interlace else f"{depth} bits a channel"
        raise ArgumentError(f"{name}: a PNG file with {what}; save it with 8 bits, not interlaced")
    channels = _CHANNELS[colour]
    size = height * (width * channels + 1)
    if not width or not height or size > _MAX_BYTES:
        raise ValueError(f"{width} x {height} pixels")
    packed = b"".join(content for kind, content in chunks if kind == b"IDAT")
    raw = zlib.decompressobj().decompress(packed, size)
    if len(raw) != size:
        raise ValueError("its rows are cut off")
    rows = _unfiltered(np.frombuffer(raw, np.uint8).reshape(height, -1), channels)
    pixels = rows.reshape(height, width, channels)
    if colour == _PALETTE:
        return _palette(chunks)[pixels[:, :, 0]]
    return _with_alpha(pixels)


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    if not data.startswith(_SIGNATURE):
        raise ValueError("it does not begin as one")
    position = len(_SIGNATURE)
    while position < len(data):
        length, kind = struct.unpack_from(">I4s", data, position)
        content = data[position + 8 : position + 8 + length]
        (check,) = struct.unpack_from(">I", data, position + 8 + length)
        if zlib.crc32(kind + content) != check:
            raise ValueError("a checksum is wrong")
        yield kind, content
        position += length + 12


def _unfiltered(filtered: Rows, step: int) -> Rows:
    """Undo the filters of rows whose first byte is the filter's number."""
    rows = np.zeros((filtered.shape[0], filtered.shape[1] - 1), np.uint8)
    above = np.zeros(rows.shape[1], np.uint8)
    for row, source in zip(rows, filtered, strict=True):
        coded = source[1:]
        match int(source[0]):
            case 0:
                row[:] = coded
            case 1:
                row[:] = np.cumsum(coded.reshape(-1, step), 0, np.uint8).reshape(-1)
            case 2:
                row[:] = coded + above
            case 3 | 4 as kind:
                row[:] = _sequential(coded.tolist(), above.tolist(), step, kind)
            case other:
                raise ValueError(f"filter {other}")
        above = row
    return rows


def _sequential(coded: list[int], above: list[int], step: int, kind: int) -> list[int]:
    """Undo the filters `Average` (3) and `Paeth` (4), in which each byte needs the one before."""
    found = [0] * step
    corner = [0] * step + above
    for position, value in enumerate(coded):
        left, up = found[position], above[position]
        predicted = (left + up) // 2 if kind == 3 else _paeth(left, up, corner[position])
        found.append((value + predicted) & 0xFF)
    return found[step:]


def _paeth(left: int, up: int, corner: int) -> int:
    estimate = left + up - corner
    distances = (abs(estimate - left), abs(estimate - up), abs(estimate - corner))
    return (left, up, corner)[distances.index(min(distances))]


def _palette(chunks: list[tuple[bytes, bytes]]) -> Rows:
    known = dict(chunks)
    colours = np.frombuffer(known[b"PLTE"], np.uint8).reshape(-1, 3)
    palette = np.zeros((256, 4), np.uint8)
    palette[: len(colours), :3] = colours
    palette[:, 3] = 255
    alpha = np.frombuffer(known.get(b"tRNS", b""), np.uint8)
    palette[: len(alpha), 3] = alpha
    return palette


def _with_alpha(pixels: Rows) -> Rows:
    height, width, channels = pixels.shape
    picture = np.full((height, width, 4), 255, np.uint8)
    picture[:, :, :3] = pixels[:, :, : 3 if channels > 2 else 1]
    if channels in {2, 4}:
        picture[:, :, 3] = pixels[:, :, -1]
    return picture
