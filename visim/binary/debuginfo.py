"""Reads vISA debug information: which Gen code came of which instruction, and where variables live.

Follows specification 7. The files that Intel's tools write differ from it
(docs/spec-notes-compiler.md, Debug information); the reader takes three layouts and chooses the
first that fits the whole file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from visim.diag import ByteSpan
from visim.errors import InputError
from visim.layout import Reader

MAGIC = b"\x10\xd0\xad\xde"
MAX_BYTES = 1 << 26
_ABSOLUTE = 1 << 31
_NOT_STORED = 0xFFFF
_T = TypeVar("_T")


class RegisterFile(StrEnum):
    """Which registers a variable is in, and MEMORY for none."""

    ADDRESS = "address"
    FLAG = "flag"
    GENERAL = "general"
    MEMORY = "memory"


_FILES = tuple(RegisterFile)


@dataclass(frozen=True, slots=True)
class Mapping:
    """What begins at `gen_offset`, in bytes: the instruction at byte or of number `visa`."""

    visa: int
    gen_offset: int


@dataclass(frozen=True, slots=True)
class Location:
    """A register, `sub` its byte; or memory at `offset` of the frame, if `absolute` of scratch."""

    file: RegisterFile
    register: int = 0
    sub: int = 0
    offset: int = 0
    absolute: bool = False


@dataclass(frozen=True, slots=True)
class Interval:
    """From `start` to `end` a variable is in `place`; both count instructions or Gen bytes."""

    start: int
    end: int
    kind: RegisterFile
    place: Location


@dataclass(frozen=True, slots=True)
class VariableLocations:
    """A variable and the intervals, in numbers of instructions, where it has a value."""

    name: str
    intervals: tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class SubroutineRange:
    """A subroutine's first and last instruction, and where its return address is."""

    name: str
    start: int
    end: int
    return_address: tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class SavedRegister:
    """`size` bytes of the register file from byte `start` on are kept in `place`."""

    start: int
    size: int
    place: Location


@dataclass(frozen=True, slots=True)
class SavedRegisters:
    """What is saved when the Gen instruction pointer is at `gen_offset`."""

    gen_offset: int
    registers: tuple[SavedRegister, ...]


@dataclass(frozen=True, slots=True)
class CallFrame:
    """A frame of `size` bytes and where it keeps pointers; empty intervals where it keeps none.

    `ce_offset` is where the channel-enable register is stored from `ce_stored_at` on, in bytes
    from the frame pointer; None where it is not stored or the file does not say.
    """

    size: int
    frame_pointer: tuple[Interval, ...] | None
    callers_frame_pointer: tuple[Interval, ...] | None
    return_address: tuple[Interval, ...] | None
    ce_offset: int | None
    ce_stored_at: int | None
    callee_saved: tuple[SavedRegisters, ...]
    caller_saved: tuple[SavedRegisters, ...]


@dataclass(frozen=True, slots=True)
class DebugObject:
    """What is known of a kernel or function; `code_offset` is where its Gen code begins."""

    name: str
    code_offset: int
    by_offset: tuple[Mapping, ...]
    by_index: tuple[Mapping, ...]
    variables: tuple[VariableLocations, ...]
    subroutines: tuple[SubroutineRange, ...]
    frame: CallFrame


@dataclass(frozen=True, slots=True)
class _Layout:
    """What differs between writers: the channel-enable fields, the caller-save count's width."""

    has_ce: bool
    caller_count_bytes: int


#: IGC up to 1.0.12504, IGC's main branch, the specification.
_LAYOUTS = (_Layout(False, 2), _Layout(True, 2), _Layout(True, 4))


def is_debug_information(data: bytes) -> bool:
    """Return whether `data` begins like vISA debug information."""
    return data[: len(MAGIC)] == MAGIC


def read_debug_information(data: bytes, file: str) -> tuple[DebugObject, ...]:
    """Return the kernels and functions that a debug file tells of.

    Raises:
        InputError: the file is no debug information, or damaged.
    """
    if not is_debug_information(data):
        message = "not vISA debug information: it does not begin with the bytes 10 d0 ad de"
        raise InputError(message, ByteSpan(file, 0, len(MAGIC)))
    if len(data) > MAX_BYTES:
        message = f"{len(data)} bytes of debug information, at most {MAX_BYTES} are read"
        raise InputError(message, ByteSpan(file, 0, len(data)))
    first: InputError | None = None
    for layout in _LAYOUTS:
        try:
            return _File(Reader(data, file, len(MAGIC)), layout).objects()
        except InputError as error:
            first = first or error
    raise first or InputError("no layout of debug information is known")


class _File:
    """Reads a file of one layout."""

    def __init__(self, reader: Reader, layout: _Layout) -> None:
        self.reader = reader
        self.layout = layout

    def objects(self) -> tuple[DebugObject, ...]:
        """Take all objects up to the end of the file."""
        found = self._several(2, self._object)
        left = self.reader.end - self.reader.position
        if left:
            span = ByteSpan(self.reader.file, self.reader.position, left)
            raise InputError(f"{left} bytes after the last object", span)
        return found

    def _several(self, width: int, one: Callable[[], _T]) -> tuple[_T, ...]:
        """Take a count of `width` bytes and as many items, each of which has some bytes."""
        count = self.reader.unsigned(width)
        left = self.reader.end - self.reader.position
        if count > left:
            raise self.reader.failure(f"a table of {count} entries in {left} bytes", width)
        return tuple(one() for _ in range(count))

    def _object(self) -> DebugObject:
        return DebugObject(
            self._name(),
            self.reader.unsigned(4),
            self._several(4, self._mapping),
            self._several(4, self._mapping),
            self._several(4, self._variable),
            self._several(2, self._subroutine),
            self._frame(),
        )

    def _name(self) -> str:
        return self.reader.take(self.reader.unsigned(2)).decode("utf-8", "backslashreplace")

    def _mapping(self) -> Mapping:
        return Mapping(self.reader.unsigned(4), self.reader.unsigned(4))

    def _variable(self) -> VariableLocations:
        return VariableLocations(self._name(), self._intervals(2))

    def _subroutine(self) -> SubroutineRange:
        start_and_end = 4
        return SubroutineRange(
            self._name(),
            self.reader.unsigned(start_and_end),
            self.reader.unsigned(start_and_end),
            # The specification has intervals of Gen code here; tools write instructions' numbers.
            self._intervals(2),
        )

    def _intervals(self, width: int) -> tuple[Interval, ...]:
        def one() -> Interval:
            start, end = self.reader.unsigned(width), self.reader.unsigned(width)
            kind = self._file(RegisterFile.GENERAL)
            return Interval(start, end, kind, self._location(self._file(RegisterFile.MEMORY)))

        return self._several(2, one)

    def _file(self, last: RegisterFile) -> RegisterFile:
        code = self.reader.unsigned(1)
        if code > _FILES.index(last):
            raise self.reader.failure(f"register file {code} is not known")
        return _FILES[code]

    def _location(self, file: RegisterFile) -> Location:
        if file is not RegisterFile.MEMORY:
            return Location(file, self.reader.unsigned(2), self.reader.unsigned(2))
        bits = self.reader.unsigned(4)
        offset = bits & (_ABSOLUTE - 1)
        signed = offset - _ABSOLUTE if offset & (_ABSOLUTE >> 1) else offset
        return Location(file, offset=signed, absolute=bool(bits & _ABSOLUTE))

    def _frame(self) -> CallFrame:
        size = self.reader.unsigned(2)
        own, callers, return_address = (self._optional_intervals() for _ in range(3))
        ce_offset, stored_at = None, None
        if self.layout.has_ce:
            offset, stored_at = self.reader.unsigned(2), self.reader.unsigned(2)
            ce_offset, stored_at = (None, None) if offset == _NOT_STORED else (offset, stored_at)
        return CallFrame(
            size,
            own,
            callers,
            return_address,
            ce_offset,
            stored_at,
            self._several(2, self._saved_registers),
            self._several(self.layout.caller_count_bytes, self._saved_registers),
        )

    def _optional_intervals(self) -> tuple[Interval, ...] | None:
        valid = self.reader.unsigned(1)
        if valid > 1:
            raise self.reader.failure(f"{valid} is neither 0 nor 1")
        return self._intervals(4) if valid else None

    def _saved_registers(self) -> SavedRegisters:
        return SavedRegisters(self.reader.unsigned(4), self._several(2, self._saved_register))

    def _saved_register(self) -> SavedRegister:
        start, size, in_register = (self.reader.unsigned(width) for width in (2, 2, 1))
        if in_register > 1:
            raise self.reader.failure(f"{in_register} is neither 0 nor 1")
        file = RegisterFile.GENERAL if in_register else RegisterFile.MEMORY
        return SavedRegister(start, size, self._location(file))
