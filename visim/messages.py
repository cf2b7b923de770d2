"""Messages between processes: a JSON head and a body of bytes, each after its length.

The same form as that of `visim.runtime.compiling.opencl_child`, also read piece by piece by who
waits for several senders. Lengths are 8 bytes, little-endian.
"""

from __future__ import annotations

import json
import math
import os
import select
import time
from typing import Any

_LENGTH = 8
_PART = 1 << 18


class BrokenMessage(Exception):
    """What comes is no message, promises more bytes than its reader takes, or ends too early."""


def packed(head: object, body: bytes = b"") -> bytes:
    """Return a message as bytes."""
    parts = (json.dumps(head).encode(), body)
    return b"".join(len(part).to_bytes(_LENGTH, "little") + part for part in parts)


class Incoming:
    """A message that comes in pieces."""

    def __init__(self, most: int) -> None:
        """Take at most `most` bytes."""
        self._most = most
        self._data = bytearray()

    def add(self, piece: bytes) -> None:
        """Append what has come.

        Raises:
            BrokenMessage: the message is longer than it may be.
        """
        self._data += piece
        if len(self._data) > self._most:
            raise BrokenMessage(f"{len(self._data)} bytes, at most {self._most} are taken")

    def take(self) -> tuple[Any, bytes] | None:
        """Remove the first message and return it; None where it is not all there.

        Raises:
            BrokenMessage: it will be longer than it may be, or its head is no JSON.
        """
        parts: list[bytes] = []
        place = 0
        for _ in range(2):
            size = int.from_bytes(self._data[place : place + _LENGTH], "little")
            if place + _LENGTH > len(self._data):
                return None
            if size > self._most:
                raise BrokenMessage(f"a part of {size} bytes, at most {self._most} are taken")
            place += _LENGTH
            if place + size > len(self._data):
                return None
            parts.append(bytes(self._data[place : place + size]))
            place += size
        del self._data[:place]
        try:
            return json.loads(parts[0]), parts[1]
        except ValueError as error:
            raise BrokenMessage(f"its head is no JSON: {error}") from None


def unpacked(data: bytes, most: int) -> tuple[Any, bytes]:
    """Return the message that some bytes begin with.

    Raises:
        BrokenMessage: there is no whole one, or it is longer than `most`.
    """
    incoming = Incoming(most)
    incoming.add(data)
    message = incoming.take()
    if message is None:
        raise BrokenMessage(f"{len(data)} bytes are only a part of it")
    return message


def receive(channel: int, most: int, until: float) -> tuple[Any, bytes] | None:
    """Wait for a message from a file descriptor; None where the sender has gone.

    Args:
        channel: what to read.
        most: so many bytes are taken.
        until: when to give up, on the monotonic clock; infinity: never.

    Raises:
        BrokenMessage: it is longer than it may be, or something else.
        TimeoutError: it does not come.
    """
    incoming = Incoming(most)
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    while True:
        left = None if until == math.inf else until - time.monotonic()
        if left is not None and (left <= 0 or not poll.poll(left * 1000)):
            raise TimeoutError
        piece = os.read(channel, _PART)
        if not piece:
            return None
        incoming.add(piece)
        message = incoming.take()
        if message is not None:
            return message


def send(channel: int, head: object, body: bytes = b"") -> None:
    """Write a message to a file descriptor; `write`, as processes that are confined may not send.

    Raises:
        OSError: nobody reads.
    """
    data = memoryview(packed(head, body))
    while data:
        data = data[os.write(channel, data) :]
