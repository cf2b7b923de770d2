"""What a kernel prints: the records in its printf buffer, and where their text goes.

The buffer starts with the offset of the next record; a record has the address of its format, then
for each value a type and the bytes. Records stand in the order in which the threads asked for
their places, so those of one work-item are in the order of the program.

Facts: docs/kernel-abi.md, printf.
"""

from __future__ import annotations

import codecs
import struct
import sys
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from visim.errors import ArgumentError
from visim.machine.allocations import Allocation
from visim.machine.memory import Space
from visim.runtime.printf.formats import Conversion, Number, Value, parse_format, show_record

PRINTF_BYTES = 1 << 22
"""Size of the printf buffer; programs have this number built in."""

_NO_ROOM = 0xFFFF_FFFF
# fmt: off
_SCALARS = {1: ("b", 4), 2: ("h", 4), 3: ("i", 4), 4: ("f", 4), 5: ("Q", 8), 6: ("q", 8),
            7: ("Q", 8), 8: ("d", 8)}
_VECTORS = {9: ("b", 1), 10: ("h", 2), 11: ("i", 4), 12: ("q", 8), 13: ("f", 4), 14: ("d", 8)}
# fmt: on
_LAST_TYPE = 14
_SMALLEST_ELEMENT = 4

Receiver = Callable[[str], object]
_receiver: ContextVar[Receiver | None] = ContextVar("visim_printf_receiver", default=None)


def printf_to(receiver: Receiver) -> AbstractContextManager[None]:
    """Send what kernels print to `receiver` instead of `sys.stdout`.

    Holds for launches that are started inside the `with` block, also for those that go on in the
    background after it. Each call gets a piece of text, in order; `Report.printf` has all of it.

    Raises:
        ArgumentError: `receiver` cannot be called.
    """
    if not callable(cast("object", receiver)):
        kind = type(receiver).__name__
        raise ArgumentError(f"receiver: expected a function that takes a str, found {kind}")
    return _printf_to(receiver)


@contextmanager
def _printf_to(receiver: Receiver) -> Generator[None]:
    token = _receiver.set(receiver)
    try:
        yield
    finally:
        _receiver.reset(token)


def current_receiver() -> Receiver:
    """Return what gets the text of a launch that starts now."""
    return _receiver.get() or _to_standard_output


def _to_standard_output(text: str) -> None:
    try:
        sys.stdout.write(text)
    except UnicodeEncodeError as error:  # a kernel prints bytes, and a terminal may be Latin-1
        known = text.encode(error.encoding, "backslashreplace")
        sys.stdout.write(known.decode(error.encoding))
    sys.stdout.flush()


class BadRecord(Exception):
    """The printf buffer does not hold what printf writes; the message says where."""


@dataclass(frozen=True, slots=True)
class Records:
    """The text of all records of a buffer, and the bytes of those that it had no room for."""

    text: bytes
    lost_bytes: int


@dataclass(frozen=True, slots=True)
class PrintfBuffer:
    """A printf buffer and the memory in which its strings are.

    At byte `head` stands where the next record begins; the first one follows that.
    """

    data: NDArray[np.uint8]
    memory: Space
    head: int = 0

    def reset(self) -> None:
        """Make the buffer empty."""
        self._next[0] = self.start

    @property
    def start(self) -> int:
        """Where the first record begins."""
        return self.head + 4

    @property
    def _next(self) -> NDArray[np.uint32]:
        return self.data[self.head : self.start].view(np.uint32)

    @property
    def used(self) -> int:
        """How many bytes of records the program asked for, also beyond the buffer's size."""
        return max(0, int(self._next[0]) - self.start)

    def read(self) -> Records:
        """Return what the records print.

        Raises:
            BadRecord: the buffer has been overwritten.
        """
        reader = _Reader(self)
        text = reader.text()
        lost = self.used + self.start - reader.position if self.used > reader.end else 0
        return Records(text, lost)


class _Reader:
    """Walks the records of one buffer; `position` is where it stands, `end` behind the last."""

    def __init__(self, buffer: PrintfBuffer) -> None:
        self._strings: dict[int, bytes | None] = {}
        self._memory = buffer.memory
        self.end = min(buffer.used + buffer.start, buffer.data.size)
        self._data = buffer.data[: self.end].tobytes()
        self.position = buffer.start

    def text(self) -> bytes:
        """Return what the records print; a record that did not fit ends them."""
        parts: list[bytes] = []
        while self.position + 8 <= self.end and self._peek() != _NO_ROOM:
            template = self._template()
            conversions = (piece for piece in template if isinstance(piece, Conversion))
            values = [self._value(piece) for piece in conversions if self._has_value()]
            while self._has_value():
                self._value(None)
            parts.append(show_record(template, values))
        return b"".join(parts)

    def _template(self) -> tuple[bytes | Conversion, ...]:
        start = self.position
        (address,) = self._take("Q", 8)
        found = self._string(int(address))
        if found is None:
            raise BadRecord(
                f"byte {start} of the printf buffer holds 0x{address:x}, expected the address "
                "of a format; the kernel has overwritten it"
            )
        return parse_format(found)

    def _peek(self) -> int:
        return int.from_bytes(self._data[self.position : self.position + 4], "little")

    def _has_value(self) -> bool:
        """Whether a value comes next: its type is smaller than any address of a format."""
        return self.position + 8 <= self.end and 1 <= self._peek() <= _LAST_TYPE

    def _value(self, conversion: Conversion | None) -> Value:
        (kind,) = self._take("I", 4)
        if kind in _VECTORS:
            return self._vector(*_VECTORS[int(kind)])
        code, size = _SCALARS[int(kind)]
        (value,) = self._take(code, size)
        if conversion is not None and conversion.letter == "s":
            return self._string(int(value))
        return value

    def _vector(self, code: str, size: int) -> tuple[Number, ...]:
        count = int(self._take("I", 4)[0])
        stored = count * max(size, _SMALLEST_ELEMENT)
        return self._take(f"{count}{code}", stored)

    def _take(self, code: str, size: int) -> tuple[Number, ...]:
        start = self.position
        self.position += size
        if self.position > self.end:
            raise BadRecord(f"the record at byte {start} of the printf buffer goes beyond its end")
        return struct.unpack_from("<" + code, self._data, start)

    def _string(self, address: int) -> bytes | None:
        """Return the string at an address, None where there is no memory."""
        if address not in self._strings:
            found = next((a for a in self._memory.allocations if a.base <= address < a.end), None)
            self._strings[address] = None if found is None else _read(found, address)
        return self._strings[address]


def _read(allocation: Allocation, address: int) -> bytes:
    return allocation.host[address - allocation.base :].tobytes().partition(b"\0")[0]


class PrintedText:
    """Collects what one launch prints and hands it on while the launch goes on."""

    def __init__(self, buffer: PrintfBuffer, receiver: Receiver) -> None:
        self._buffer = buffer
        self._receiver = receiver
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._parts: list[str] = []
        self.lost_bytes = 0
        buffer.reset()

    @property
    def text(self) -> str:
        """All that was printed so far."""
        return "".join(self._parts)

    @property
    def capacity(self) -> int:
        """Size of the buffer in bytes."""
        return self._buffer.data.size

    def drain(self) -> int:
        """Take all records out of the buffer; return how many bytes the program asked for.

        Raises:
            BadRecord: the buffer has been overwritten.
        """
        used = self._buffer.used
        if not used:
            return 0
        try:
            records = self._buffer.read()
        finally:
            self._buffer.reset()
        self.lost_bytes += records.lost_bytes
        text = self._decoder.decode(records.text)
        self._parts.append(text)
        self._receiver(text)
        return used
