"""What arrays hold against what pointers point to: a difference is no error, but is noted.

Kernels read bytes, and callers may mean that: so an array of any type is taken. But numbers that
NumPy made wider than the kernel expects are the most common mistake, and give no fault.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from visim.runtime.arguments.values import Parameter

_POINTER = re.compile(r"(u?(?:short|int|long)|half|float|double)\d*\s*\*")
_ELEMENTS = {
    "short": ("i2", "u2"),
    "ushort": ("i2", "u2"),
    "int": ("i4", "u4"),
    "uint": ("i4", "u4"),
    "long": ("i8", "u8"),
    "ulong": ("i8", "u8"),
    "half": ("f2",),
    "float": ("f4",),
    "double": ("f8",),
}


_OF_TYPE = re.compile(r"(u?(?:char|short|int|long)|bool|half|float|double)(\d*)\s*\*")
_BYTES = {"char": 1, "bool": 1, "short": 2, "half": 2, "int": 4, "float": 4, "long": 8, "double": 8}


@cache
def element_bytes(type_name: str) -> int | None:
    """Return the bytes of what a pointer type points to, None: its name does not say it."""
    match = _OF_TYPE.fullmatch(type_name)
    if match is None:
        return None
    count = int(match[2] or 1)
    return _BYTES[match[1].removeprefix("u")] * (4 if count == 3 else count)


class Pointees:
    """What the pointers among a kernel's parameters point to, as far as their types say it."""

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self._known = [
            (place, parameter, frozenset(np.dtype(code) for code in _ELEMENTS[match[1]]))
            for place, parameter in enumerate(parameters)
            if parameter.kind == "buffer" and (match := _POINTER.fullmatch(parameter.type_name))
        ]

    def notes(self, given: Sequence[object]) -> tuple[str, ...]:
        """Return a sentence for each array whose elements are of another width or kind.

        Signs do not matter. Arrays of bytes and of records stand for anything.
        """
        found: tuple[str, ...] = ()
        for place, parameter, expected in self._known:
            value = given[place]
            if not isinstance(value, np.ndarray):
                continue
            kind = cast("NDArray[Any]", value).dtype
            if kind not in expected and kind.itemsize > 1 and kind.kind in "iuf":
                found += (
                    f"argument {parameter.name!r}: the array has elements of {kind}, the kernel "
                    f"takes their bytes for {parameter.type_name}",
                )
        return found
