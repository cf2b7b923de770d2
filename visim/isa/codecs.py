"""Codecs of operands: how each kind of operand is read from an object's bytes and written to them.

What the numbers in an instruction stand for, and which numbers stand for what, codecs are told by
the tables of the unit that is read or written.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from visim.layout import Reader, Writer
from visim.operands import (
    AddressVariable,
    General,
    PredicateVariable,
    SamplerVariable,
    SurfaceVariable,
    Variable,
)


class CodingError(Exception):
    """Bytes stand for no operand, or no bytes stand for an operand; the message says which."""


Version = tuple[int, int]

#: Since then strings and general variables have numbers of four bytes, before of two.
WIDE_NUMBERS: Version = (3, 4)


class DecodeTables(Protocol):
    """What the numbers in an instruction stand for; unknown ones raise `CodingError`."""

    @property
    def version(self) -> Version:
        """The object's version."""
        ...

    @property
    def grf_bytes(self) -> int:
        """Size of a register in bytes."""
        ...

    def general(self, number: int) -> General:
        """Return a general variable, which may be a predefined one."""
        ...

    def address(self, number: int) -> AddressVariable:
        """Return an address variable."""
        ...

    def predicate(self, number: int) -> PredicateVariable:
        """Return a predicate variable."""
        ...

    def sampler(self, number: int) -> SamplerVariable:
        """Return a sampler variable, which may be the predefined one."""
        ...

    def surface(self, number: int) -> SurfaceVariable:
        """Return a surface variable, which may be a predefined one."""
        ...

    def label(self, number: int) -> str:
        """Return a label's name."""
        ...

    def is_external(self, label: str) -> bool:
        """Whether a label of this name is a kernel of another file."""
        ...

    def string(self, number: int) -> str:
        """Return a string of the unit's pool."""
        ...

    def function(self, number: int) -> str:
        """Return a function's name."""
        ...


class EncodeTables(Protocol):
    """The numbers that stand for variables and names; unknown ones raise `CodingError`."""

    @property
    def version(self) -> Version:
        """The object's version."""
        ...

    @property
    def grf_bytes(self) -> int:
        """Size of a register in bytes."""
        ...

    def number(self, variable: Variable) -> int:
        """Return the number of a variable in its class."""
        ...

    def label(self, name: str) -> int:
        """Return a label's number."""
        ...

    def string(self, text: str) -> int:
        """Return a string's number in the unit's pool, where it is added if it is new."""
        ...

    def function(self, name: str) -> int:
        """Return the number by which the unit calls a function."""
        ...


class Codec(Protocol):
    """How one operand is read from bytes and written to them."""

    def decode(self, reader: Reader, tables: DecodeTables) -> Any:
        """Take the operand at the reader's position."""
        ...

    def encode(self, value: Any, writer: Writer, tables: EncodeTables) -> None:
        """Append the operand's bytes."""
        ...


class Coded(Protocol):
    """A codec whose operand is one number, which may share a byte with others."""

    def to_code(self, value: Any) -> int:
        """Return the number for a value."""
        ...

    def from_code(self, code: int) -> Any:
        """Return the value for a number."""
        ...


class Compound(Protocol):
    """An operand whose parts, attributes of its value, do not stand side by side."""

    @property
    def parts(self) -> Mapping[str, Codec]:
        """The codec of each part."""
        ...

    def join(self, parts: dict[str, Any]) -> Any:
        """Return the value that has these parts."""
        ...


class Dependent(Protocol):
    """An operand of which other fields of the instruction say what bytes it has."""

    def decode_after(self, values: Mapping[str, Any], reader: Reader, tables: DecodeTables) -> Any:
        """Take the operand at the reader's position; `values` are the fields before it."""
        ...

    def encode_within(self, instruction: Any, writer: Writer, tables: EncodeTables) -> None:
        """Append the operand's bytes, or fail because it does not go with the other fields."""
        ...


class CodedKind(ABC):
    """Decodes and encodes an operand that is one number of `width` bytes."""

    __slots__ = ()

    width: int = 1

    @abstractmethod
    def to_code(self, value: Any) -> int:
        """Return the number for a value."""

    @abstractmethod
    def from_code(self, code: int) -> Any:
        """Return the value for a number."""

    def decode(self, reader: Reader, tables: DecodeTables) -> Any:
        """Take the operand at the reader's position."""
        return self.from_code(reader.unsigned(self.width))

    def encode(self, value: Any, writer: Writer, tables: EncodeTables) -> None:
        """Append the operand's bytes."""
        put(writer, self.to_code(value), self.width, "a number")


def number_width(tables: DecodeTables | EncodeTables) -> int:
    """Return how many bytes the number of a string or general variable takes."""
    return 4 if tables.version >= WIDE_NUMBERS else 2


@dataclass(frozen=True, slots=True)
class Absent:
    """A codec of what an older version has no place for: it is `value` there and takes no bytes."""

    value: Any
    what: str

    def decode(self, reader: Reader, tables: DecodeTables) -> Any:
        """Return the value that is meant."""
        return self.value

    def encode(self, value: Any, writer: Writer, tables: EncodeTables) -> None:
        """Append nothing; only the value that is meant can be left out."""
        if value != self.value:
            major, minor = tables.version
            raise CodingError(f"version {major}.{minor} has no place for {self.what}")


@dataclass(frozen=True, slots=True)
class Older:
    """How objects before a version store a form: its layout, and the codecs that differ there."""

    before: Version
    layout: str
    codecs: Mapping[str, Any]


def put(writer: Writer, value: int, width: int, what: str) -> None:
    """Append `value` in `width` bytes, or fail because it does not fit."""
    if not 0 <= value < 1 << 8 * width:
        raise CodingError(f"{what} is {value}, an object stores it in {width} bytes")
    writer.unsigned(value, width)
