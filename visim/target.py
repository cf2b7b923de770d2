"""Devices by their names and numbers, and the versions of objects.

`visim.devices` is the table; this module finds rows in it. A device is called what visim calls it
(bmg), what ocloc calls one of its products (bmg-g21, bmg-g31) or what it calls a group of products
(xe2), in upper or lower case.
"""

from __future__ import annotations

from typing import cast

from visim.devices import PLATFORMS, Generation, Platform, Product
from visim.errors import ArgumentError, shown

__all__ = [
    "ARCHITECTURES",
    "COMMON",
    "COMMON_OBJECT",
    "NEWEST_OBJECT",
    "OBJECT_VERSIONS",
    "OLDEST_OBJECT",
    "PLATFORMS",
    "Generation",
    "Platform",
    "Product",
    "known_names",
    "object_version",
    "platform",
    "platform_of_core",
    "platform_of_family",
    "platform_of_graphics",
    "product",
    "timed",
]

#: Versions of objects that visim reads and writes, the newest last.
OBJECT_VERSIONS = (*((3, minor) for minor in range(9)), (4, 0), (4, 1), (4, 2))
OLDEST_OBJECT, NEWEST_OBJECT = OBJECT_VERSIONS[0], OBJECT_VERSIONS[-1]
#: What is written unless another version is asked for: the newest that tools of Intel's write.
COMMON_OBJECT = (4, 1)
COMMON = "{}.{}".format(*COMMON_OBJECT)

_OLDER_THAN_THE_TABLE = ("ilk", "snb", "ivb", "hsw")
ARCHITECTURES = (*_OLDER_THAN_THE_TABLE, *(one.timing for one in PLATFORMS if one.timing))
"""The generations that timing has a table for, oldest first."""


def _by_name() -> dict[str, tuple[Platform, Product]]:
    """Return each name's device and the product that programs are compiled for under it."""
    found: dict[str, tuple[Platform, Product]] = {}
    for one in PLATFORMS:
        for name in (one.name, *one.groups):
            found[name] = one, one.products[0]
        for sold in one.products:
            for name in sold.names:
                found[name] = one, sold
    return found


_BY_NAME = _by_name()


def object_version(text: str) -> tuple[int, int]:
    """Return the version of objects that is written `text`; `ArgumentError` lists the known."""
    known = {f"{major}.{minor}": (major, minor) for major, minor in OBJECT_VERSIONS}
    if not isinstance(cast("object", text), str) or text not in known:
        raise ArgumentError(f"unknown version {shown(text)} of objects; known: {', '.join(known)}")
    return known[text]


def platform(name: str) -> Platform:
    """Return the device called `name` (any case).

    Raises:
        ArgumentError: no device is called so; the message lists the known ones.
    """
    return _named(name)[0]


def product(name: str) -> Product:
    """Return the product to compile for when a device is called `name` (any case).

    Raises:
        ArgumentError: no device is called so; the message lists the known ones.
    """
    return _named(name)[1]


def known_names() -> tuple[str, ...]:
    """Return all names that devices have, in lower case."""
    return tuple(_BY_NAME)


def _named(name: str) -> tuple[Platform, Product]:
    try:
        return _BY_NAME[name.lower()]
    except (KeyError, AttributeError):
        known = ", ".join(one.name for one in PLATFORMS)
        message = f"platform: unknown device {shown(name)}; known: {known}"
        raise ArgumentError(message) from None


def platform_of_family(number: int) -> Platform | None:
    """Return the device that has a product of this number (a zebin's note of kind 1)."""
    found = (one for one in PLATFORMS for sold in one.products if sold.family == number)
    return next(found, None)


def platform_of_core(number: int) -> Platform | None:
    """Return the oldest device with a graphics core of this number (a zebin's note of kind 2)."""
    return next((one for one in PLATFORMS if one.core == number), None)


def platform_of_graphics(major: int, minor: int) -> Platform | None:
    """Return the device with this graphics version (a zebin's note of kind 6)."""
    older = {8: Generation.GEN8, 9: Generation.GEN9, 11: Generation.GEN11}
    for one in PLATFORMS:
        if older.get(major) is one.generation:
            return one
        if any((major, minor) in sold.graphics for sold in one.products):
            return one
    return None


def timed(name: str) -> str | None:
    """Return what timing calls the generation `name`, any of its device's names; None: unknown."""
    key = name.lower()
    if key in ARCHITECTURES:
        return key
    return _BY_NAME[key][0].timing if key in _BY_NAME else None
