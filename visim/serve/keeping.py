"""Answers that are kept by what was asked; the least recently used one goes first."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock


class KeptBytes:
    """Answers by the digests of their requests, of so many bytes altogether."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._answers: OrderedDict[bytes, bytes] = OrderedDict()
        self._lock = Lock()

    def get(self, key: bytes) -> bytes | None:
        """Return the answer that is kept, None if there is none."""
        with self._lock:
            answer = self._answers.get(key)
            if answer is not None:
                self._answers.move_to_end(key)
            return answer

    def put(self, key: bytes, answer: bytes) -> None:
        """Keep an answer."""
        with self._lock:
            self._size += len(answer) - len(self._answers.pop(key, b""))
            self._answers[key] = answer
            while self._size > self._most:
                _, dropped = self._answers.popitem(last=False)
                self._size -= len(dropped)

    def __len__(self) -> int:
        return len(self._answers)
