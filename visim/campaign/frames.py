"""What campaign processes say to each other: JSON objects, each behind its length."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from select import POLLIN, poll
from time import monotonic
from typing import Any, cast

MOST_BYTES = 1 << 24
"""The longest object; what is longer is no answer."""
_LENGTH = struct.Struct("<I")


class BrokenFrameError(Exception):
    """The other side has gone, or what it says is no such object."""


def pack(form: Mapping[str, Any]) -> bytes:
    """Return an object as it is sent."""
    data = json.dumps(form).encode()
    return _LENGTH.pack(len(data)) + data


def unpack(data: bytes) -> dict[str, Any]:
    """Return the object that was sent alone; `BrokenFrameError` if it is not whole."""
    size = length(data)
    if size is None or len(data) != size:
        raise BrokenFrameError(f"{len(data)} bytes are no whole object")
    return _object(data[_LENGTH.size :])


def length(data: bytes) -> int | None:
    """Return how many bytes an object has that begins so, None if its length is not there yet."""
    if len(data) < _LENGTH.size:
        return None
    (size,) = _LENGTH.unpack(data[: _LENGTH.size])
    if size > MOST_BYTES:
        raise BrokenFrameError(f"an object of {size} bytes")
    return size + _LENGTH.size


def send(descriptor: int, form: Mapping[str, Any]) -> None:
    """Send an object; `BrokenFrameError` if nobody reads."""
    data = memoryview(pack(form))
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    except OSError as error:
        raise BrokenFrameError(str(error)) from None


def receive(descriptor: int, seconds: float | None = None) -> dict[str, Any]:
    """Return the next object.

    Args:
        descriptor: where it is read.
        seconds: how long to wait for it; None: for ever.

    Raises:
        BrokenFrameError: the other side has gone, or sends something else.
        TimeoutError: it has not come in time.
    """
    end = None if seconds is None else monotonic() + seconds
    head = _read(descriptor, _LENGTH.size, end)
    size = cast("int", length(head)) - _LENGTH.size
    return _object(_read(descriptor, size, end))


def _read(descriptor: int, size: int, end: float | None) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        if end is not None and not _has_some(descriptor, end - monotonic()):
            raise TimeoutError
        part = os.read(descriptor, size - len(parts))
        if not part:
            raise BrokenFrameError("the other side has gone")
        parts += part
    return bytes(parts)


def _has_some(descriptor: int, seconds: float) -> bool:
    waiting = poll()
    waiting.register(descriptor, POLLIN)
    return bool(waiting.poll(max(0.0, seconds) * 1000))


def _object(data: bytes) -> dict[str, Any]:
    try:
        form = json.loads(data)
    except ValueError as error:
        raise BrokenFrameError(str(error)) from None
    if not isinstance(form, dict):
        raise BrokenFrameError("no object")
    return cast("dict[str, Any]", form)
