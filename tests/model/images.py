"""Images by the letter of OpenCL C 3.0: one texel and one coordinate at a time, exact rationals.

Written from the specification's text, not from visim: formats as tables of their own, conversion
in `Fraction`, addressing by the equations of Image Addressing and Filtering.
"""

from __future__ import annotations

import math
import struct
from fractions import Fraction

import numpy as np

ORDERS = {
    "r": "R001",
    "a": "000A",
    "rg": "RG01",
    "ra": "R00A",
    "rgba": "RGBA",
    "bgra": "RGBA",
    "argb": "RGBA",
    "abgr": "RGBA",
    "intensity": "RRRR",
    "luminance": "RRR1",
    "depth": "R001",
}
"""What is read as R, G, B, A."""

MEMORY = {
    "r": "R",
    "a": "A",
    "rg": "RG",
    "ra": "RA",
    "rgba": "RGBA",
    "bgra": "BGRA",
    "argb": "ARGB",
    "abgr": "ABGR",
    "intensity": "R",
    "luminance": "R",
    "depth": "R",
}
"""The components in memory, lowest address first."""

TYPES = {
    "unorm8": (np.uint8, 255, 0),
    "unorm16": (np.uint16, 65535, 0),
    "snorm8": (np.int8, 127, -1),
    "snorm16": (np.int16, 32767, -1),
    "int8": (np.int8, None, None),
    "int16": (np.int16, None, None),
    "int32": (np.int32, None, None),
    "uint8": (np.uint8, None, None),
    "uint16": (np.uint16, None, None),
    "uint32": (np.uint32, None, None),
    "half": (np.float16, None, None),
    "float": (np.float32, None, None),
}
REQUIRED = (
    *(f"{order}:{kind}" for order in ("r", "rg", "rgba") for kind in TYPES),
    "bgra:unorm8",
    "depth:unorm16",
    "depth:float",
)
"""The formats that a full profile has to read and write."""

ALL = (
    *REQUIRED,
    "a:unorm8",
    "a:half",
    "ra:uint16",
    "argb:unorm8",
    "abgr:int8",
    "intensity:float",
    "luminance:unorm16",
)


def channels(name):
    return len(MEMORY[name.split(":")[0]])


def dtype(name):
    return np.dtype(TYPES[name.split(":")[1]][0])


def random_texels(name, shape, seed=1):
    """Return stored texels of an image of `shape` (the slowest axis first): any, but no NaN."""
    rng = np.random.default_rng(seed)
    kind, full = dtype(name), (*shape, channels(name))
    if kind.kind == "f":
        return rng.uniform(-4, 4, full).astype(kind)
    limits = np.iinfo(kind)
    return rng.integers(limits.min, limits.max, full, kind, endpoint=True)


def is_integer(name):
    return "int" in name.split(":")[1]


def nearest_float(exact):
    """Return the single-precision number nearest to a rational, ties to even."""
    if exact == 0:
        return 0.0
    exponent = max(math.frexp(float(exact))[1] - 24, -149)
    step = Fraction(2) ** exponent
    return float(round(exact / step) * step)


def read_channel(name, stored):
    kind = name.split(":")[1]
    top, low = TYPES[kind][1:]
    if top is None:
        return stored.item()
    return nearest_float(max(Fraction(stored.item(), top), Fraction(low)))


def read_texel(name, texel):
    """Return R, G, B, A as Python numbers."""
    order = name.split(":")[0]
    held = dict(zip(MEMORY[order], texel, strict=True))
    fixed = {"0": 0, "1": 1}
    return [
        fixed[letter] if letter in fixed else read_channel(name, held[letter])
        for letter in ORDERS[order]
    ]


def write_channel(name, value):
    kind = name.split(":")[1]
    numpy_type, top, low = TYPES[kind]
    if top is not None:
        if math.isnan(value):
            return numpy_type(0)
        exact = Fraction(min(max(value, low), 1))
        return numpy_type(round(exact * top))
    if is_integer(name):
        limits = np.iinfo(numpy_type)
        return numpy_type(min(max(value, limits.min), limits.max))
    if kind == "half":
        try:
            return np.frombuffer(struct.pack("<e", value), np.float16)[0]
        except OverflowError:
            return np.float16(math.copysign(math.inf, value))
    return np.float32(value)


def write_texel(name, rgba):
    """Return the channels in memory order."""
    order = name.split(":")[0]
    return [write_channel(name, rgba["RGBA".index(letter)]) for letter in MEMORY[order]]


def border(name):
    return [{"0": 0, "1": 1}.get(letter, 0) for letter in ORDERS[name.split(":")[0]]]


def _floor(value):
    return math.floor(value)


def axis_nearest(coordinate, size, address, normalized):
    """Return the index along an axis, or None for the border."""
    s = Fraction(float(coordinate))
    match address:
        case "repeat":
            u = (s - _floor(s)) * size
            i = _floor(u)
            return i - size if i > size - 1 else i
        case "mirrored_repeat":
            mirrored = abs(s - 2 * round(s / 2))
            return min(_floor(mirrored * size), size - 1)
    i = _floor(s * size if normalized else s)
    if address == "clamp_to_edge":
        return min(max(i, 0), size - 1)
    return i if 0 <= i < size else None


def axis_linear(coordinate, size, address, normalized):
    """Return two pairs (index or None, weight); weights are rounded to 8 fractional bits."""
    s = Fraction(float(coordinate))
    match address:
        case "repeat":
            u = (s - _floor(s)) * size
        case "mirrored_repeat":
            u = abs(s - 2 * round(s / 2)) * size
        case _:
            u = s * size if normalized else s
    low = _floor(u - Fraction(1, 2))
    a = Fraction(_floor((u - Fraction(1, 2) - low) * 256 + Fraction(1, 2)), 256)
    pair = []
    for i, weight in ((low, 1 - a), (low + 1, a)):
        match address:
            case "repeat":
                index = i + size if i < 0 else i - size if i > size - 1 else i
            case "mirrored_repeat" | "clamp_to_edge":
                index = min(max(i, 0), size - 1)
            case _:
                index = i if 0 <= i < size else None
        pair.append((index, weight))
    return pair


def texel_at(name, texels, indices):
    """Return the components at indices (u, v, r), None being the border."""
    if None in indices:
        return border(name)
    return read_texel(name, texels[tuple(reversed(indices))])


def filtered(name, texels, coordinates, *, address, linear, normalized, layers=False):
    """Return what one coordinate samples, exactly; `texels` has axes (r, v, u, channels)."""
    sizes = list(reversed(texels.shape[:-1]))
    corners = [((), Fraction(1))]
    for number, (coordinate, size) in enumerate(zip(coordinates, sizes, strict=True)):
        if layers and number == len(sizes) - 1:
            layer = min(max(round(Fraction(float(coordinate))), 0), size - 1)
            pairs = [(layer, Fraction(1))]
        elif linear:
            pairs = axis_linear(coordinate, size, address, normalized)
        else:
            pairs = [(axis_nearest(coordinate, size, address, normalized), Fraction(1))]
        corners = [
            ((*indices, index), weight * w) for indices, weight in corners for index, w in pairs
        ]
    if not linear:
        return texel_at(name, texels, corners[0][0])
    total = [Fraction(0)] * 4
    for indices, weight in corners:
        if weight:
            texel = texel_at(name, texels, indices)
            total = [t + weight * Fraction(c) for t, c in zip(total, texel, strict=True)]
    return total


def sample(name, texels, coordinates, *, linear, **how):
    """Return the components of a point of an image, rounded once; see `filtered`."""
    found = filtered(name, texels, coordinates, linear=linear, **how)
    return [nearest_float(part) for part in found] if linear else found


def bits(name, rgba):
    """Return components as kernels get them."""
    if is_integer(name):
        return [component & 0xFFFFFFFF for component in rgba]
    return [struct.unpack("<I", struct.pack("<f", component))[0] for component in rgba]
