"""Levels of detail, cubes, comparisons and gathers, one channel at a time, in exact rationals.

Written from the pages 3D_SAMPLE and 3D_SAMPLE4 and the usual rules of samplers, on top of the
model of formats and address modes in `tests.model.images`; not from visim.
"""

from __future__ import annotations

import math
from fractions import Fraction

from tests.model import images

LESS = {
    "never": lambda a, b: False,
    "less": lambda a, b: a < b,
    "equal": lambda a, b: a == b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "not_equal": lambda a, b: a != b,
    "greater_equal": lambda a, b: a >= b,
    "always": lambda a, b: True,
}


def length(gradient, sizes):
    return math.sqrt(sum((float(g) * s) ** 2 for g, s in zip(gradient, sizes, strict=True)))


def detail(right, below, sizes, bias=0.0):
    """Return the level of detail of two gradients of normalized coordinates."""
    steepest = max(length(right, sizes), length(below, sizes))
    return (math.log2(steepest) if steepest else -math.inf) + bias


def limited(lod, levels, least=0.0, most=1000.0):
    return min(max(min(max(lod, least), most), 0.0), levels - 1)


def face(direction):
    """Return the face that a direction meets and the coordinates on it."""
    x, y, z = (Fraction(float(part)) for part in direction)
    if abs(x) >= abs(y) and abs(x) >= abs(z):
        number, across, down, depth = (0, -z, -y, x) if x > 0 else (1, z, -y, -x)
    elif abs(y) >= abs(z):
        number, across, down, depth = (2, x, z, y) if y > 0 else (3, x, -z, -y)
    else:
        number, across, down, depth = (4, x, -y, z) if z > 0 else (5, -x, -y, -z)
    return number, (across / depth + 1) / 2, (down / depth + 1) / 2


def compare(name, how, texels, coordinates, reference, *, address, linear, normalized):
    """Return the share of the weights whose texels pass, R compared with the reference."""
    sizes = list(reversed(texels.shape[:-1]))
    corners = [((), Fraction(1))]
    for coordinate, size in zip(coordinates, sizes, strict=True):
        if linear:
            pairs = images.axis_linear(coordinate, size, address, normalized)
        else:
            index = images.axis_nearest(coordinate, size, address, normalized)
            pairs = [(index, Fraction(1))]
        corners = [((*at, i), weight * w) for at, weight in corners for i, w in pairs]
    passing = sum(
        weight
        for at, weight in corners
        if LESS[how](float(reference), images.texel_at(name, texels, at)[0])
    )
    return images.nearest_float(Fraction(passing))


def mixed(name, levels, lod, read, *, linear):
    """Return what `read(texels)` gives exactly, mixed of levels as a level of detail says.

    It is rounded once, at the end.
    """
    if not linear:
        return [images.nearest_float(part) for part in read(levels[math.floor(lod + 0.5)])]
    fixed = math.floor(Fraction(lod) * 256 + Fraction(1, 2))
    low, share = fixed >> 8, Fraction(fixed & 255, 256)
    first = [Fraction(part) for part in read(levels[low])]
    if not share:
        return [images.nearest_float(part) for part in first]
    second = [Fraction(part) for part in read(levels[low + 1])]
    return [
        images.nearest_float((1 - share) * a + share * b)
        for a, b in zip(first, second, strict=True)
    ]
