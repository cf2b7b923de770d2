"""Arrays of other libraries, as NumPy arrays that share their memory.

They say where their memory is by the array interface of NumPy or by DLPack. What is in a device's
memory, or cannot be shared without a copy, is refused: what the kernel writes would be lost.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.errors import ArgumentError

_OWN = frozenset({np.ndarray, int, float, bool, bytes, type(None)})
"""What needs no look, as small launches notice each."""


def shared(value: object, name: str) -> object:
    """Return what the launch works on: of other libraries' arrays, an array of the same memory.

    Args:
        value: an argument as the caller gave it.
        name: the argument's name.

    Raises:
        ArgumentError: the memory of an array is elsewhere, or its type is none of NumPy's.
    """
    kind = type(value)
    if kind in _OWN or issubclass(kind, (np.ndarray, np.generic)):
        return value
    if hasattr(kind, "__array_interface__") or hasattr(value, "__array_interface__"):
        return _view(value, name)
    if hasattr(kind, "__dlpack__"):
        return _from_dlpack(value, name)
    return value


def _view(value: Any, name: str) -> NDArray[Any]:
    try:
        return np.asarray(value)
    except (TypeError, ValueError) as error:
        raise _refused(value, name, error) from None


def _from_dlpack(value: Any, name: str) -> NDArray[Any]:
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError, AttributeError) as error:
        raise _refused(value, name, error) from None


def _refused(value: object, name: str, error: Exception) -> ArgumentError:
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    return ArgumentError(
        f"argument {name!r}: the memory of this {kind} cannot be shared: {error}; pass an array in "
        "the host's memory, of a type that NumPy has"
    )
