"""PNG files of 8 bits a channel are read, with every filter and colour type."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest

from tests.unit.runtime.files.pngs import SIGNATURE, chunk
from visim.errors import ArgumentError
from visim.runtime.files.png_reader import decode_png
from visim.runtime.pictures import encode_png


def png(rows, *, width, height, colour, depth=8, interlace=0, extra=b""):
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace)
    parts = [
        chunk(b"IHDR", header),
        extra,
        chunk(b"IDAT", zlib.compress(rows)),
        chunk(b"IEND", b""),
    ]
    return SIGNATURE + b"".join(parts)


def filtered(pixels, kind, step):
    """Filter rows by the definitions, byte by byte."""
    lines = bytearray()
    above = [0] * pixels.shape[1]
    for row in pixels.tolist():
        lines.append(kind)
        for x, value in enumerate(row):
            a = row[x - step] if x >= step else 0
            b, c = above[x], above[x - step] if x >= step else 0
            p = a + b - c
            nearest = min((abs(p - v), order, v) for order, v in enumerate((a, b, c)))[2]
            lines.append((value - [0, a, b, (a + b) // 2, nearest][kind]) & 0xFF)
        above = row
    return bytes(lines)


@pytest.mark.parametrize("kind", range(5))
@pytest.mark.parametrize(("colour", "channels"), [(0, 1), (2, 3), (4, 2), (6, 4)])
def test_every_filter_and_colour_type(kind, colour, channels):
    pixels = np.random.default_rng(kind).integers(0, 256, (5, 7 * channels), np.uint8)
    data = png(filtered(pixels, kind, channels), width=7, height=5, colour=colour)
    got = decode_png(data, "x")
    pixels = pixels.reshape(5, 7, channels)
    want = np.full((5, 7, 4), 255, np.uint8)
    want[:, :, :3] = pixels[:, :, :3] if channels > 2 else pixels[:, :, :1]
    if channels in {2, 4}:
        want[:, :, 3] = pixels[:, :, -1]
    assert np.array_equal(got, want)


def test_palettes_with_transparency():
    palette = chunk(b"PLTE", bytes([1, 2, 3, 4, 5, 6])) + chunk(b"tRNS", b"\x07")
    data = png(b"\0\0\1", width=2, height=1, colour=3, extra=palette)
    assert decode_png(data, "x").tolist() == [[[1, 2, 3, 7], [4, 5, 6, 255]]]


def test_what_is_written_is_read():
    picture = np.random.default_rng(1).integers(0, 256, (9, 4, 4), np.uint8)
    assert np.array_equal(decode_png(encode_png(picture), "x"), picture)


GOOD = png(b"\0\1", width=1, height=1, colour=0)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "does not begin"),
        (SIGNATURE, "no header"),
        (GOOD[:20], "not a readable PNG"),
        (GOOD[:30] + b"?" + GOOD[31:], "checksum"),
        (png(b"\0", width=1, height=1, colour=0), "cut off"),
        (png(b"\5\1", width=1, height=1, colour=0), "filter 5"),
        (png(b"\0\1", width=1, height=1, colour=5), "not a readable PNG"),
        (png(b"\0\1", width=0, height=1, colour=0), "0 x 1 pixels"),
        (png(b"\0\1\1", width=1, height=1, colour=0, depth=16), "16 bits a channel"),
        (png(b"\0\1", width=1, height=1, colour=0, interlace=1), "interlaced"),
        (png(b"\0\1", width=1, height=1, colour=3), "not a readable PNG"),
    ],
)
def test_damaged_files_are_refused(data, message):
    with pytest.raises(ArgumentError, match=message):
        decode_png(data, "x")
