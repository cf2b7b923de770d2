"""The messages of the Debug Adapter Protocol on a pair of streams: headers, JSON, numbers.

Knows no request. Follows the protocol's Base Protocol: `Content-Length`, an empty line, the JSON.
"""

from __future__ import annotations

import json
import threading
from typing import Any, BinaryIO, cast

MOST_BYTES = 1 << 24
_MOST_HEADER = 1 << 12


class Broken(Exception):
    """The other side does not speak the protocol; the message says what it sent."""


class Wire:
    """Reads and writes messages.

    Args:
        reads: where messages come from.
        writes: where they go.
    """

    def __init__(self, reads: BinaryIO, writes: BinaryIO) -> None:
        self._reads = reads
        self._writes = writes
        self._number = 0
        self._lock = threading.Lock()

    def receive(self) -> dict[str, Any] | None:
        """Return the next message, None where there are no more.

        Raises:
            Broken: what comes is no message.
        """
        length: int | None = None
        while True:
            line = self._reads.readline(_MOST_HEADER)
            if not line:
                return None
            text = line.strip()
            if not text:
                if length is None:
                    raise Broken("a message without Content-Length")
                break
            name, _, value = text.partition(b":")
            if name.lower() == b"content-length":
                if not value.strip().isdigit() or int(value) > MOST_BYTES:
                    raise Broken(f"Content-Length is {value[:40]!r}")
                length = int(value)
        data = self._reads.read(length)
        if len(data) < length:
            return None
        try:
            message: object = json.loads(data)
        except (ValueError, RecursionError):
            raise Broken("a message that is no JSON") from None
        if not isinstance(message, dict):
            raise Broken("a message that is no object")
        return cast("dict[str, Any]", message)

    def send(self, message: dict[str, Any]) -> None:
        """Write a message; it gets the next number. Threads may do so at the same time."""
        with self._lock:
            self._number += 1
            data = json.dumps({"seq": self._number, **message}).encode()
            self._writes.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
            self._writes.flush()

    def event(self, name: str, **body: Any) -> None:
        """Write an event."""
        self.send({"type": "event", "event": name, "body": body})


__all__ = ["MOST_BYTES", "Broken", "Wire"]
