"""How objects before version 4.0 stored messages that have other bytes today (docs/objects.md).

Owns the layouts and kinds that only older objects have; a form names them in its declaration.
"""

from dataclasses import dataclass, replace
from typing import Any

from visim import predefined
from visim.isa.codecs import Absent, CodedKind, CodingError, DecodeTables, EncodeTables, Older, put
from visim.isa.execution_kinds import ExecKind
from visim.isa.kinds import SOURCE
from visim.isa.word_kinds import CHANNELS, PrefixesKind
from visim.layout import Reader, Writer
from visim.operands import ExecSize, Immediate, RawOperand, VectorSource
from visim.types import UW

_OPERATION = "{sub|options&0x700:2}"
_NARROW_OPERATION = "{sub|options&0xe0}"
_OPTION_SHIFT = 3
_EIGHT_CHANNELS = 8
_ALL_CHANNELS = 0xF
_DWORD = 4
_DWORD_LIMIT = 30


@dataclass(frozen=True, slots=True)
class PlainOffsetsKind:
    """Offsets in texels that are two bytes and no operand."""

    def decode(self, reader: Reader, tables: DecodeTables) -> VectorSource:
        """Take the two bytes."""
        return Immediate(reader.unsigned(2), UW)

    def encode(self, value: VectorSource, writer: Writer, tables: EncodeTables) -> None:
        """Append the two bytes; only a constant of type uw has a place."""
        if not isinstance(value, Immediate) or value.type != UW:
            major, minor = tables.version
            raise CodingError(f"version {major}.{minor} has no place for offsets that are not :uw")
        put(writer, value.bits, 2, "offsets in texels")


@dataclass(frozen=True, slots=True)
class OffChannelsKind(CodedKind):
    """A mask of four channels where a set bit says that the channel is off."""

    def to_code(self, value: str) -> int:
        """Return the bits of the channels that are not named."""
        return CHANNELS.to_code(value) ^ _ALL_CHANNELS

    def from_code(self, code: int) -> str:
        """Return the letters of the channels that are on."""
        return CHANNELS.from_code(code ^ _ALL_CHANNELS)


@dataclass(frozen=True, slots=True)
class EightChannelsKind(ExecKind):
    """The execution size of typed messages, which is 8 and stored as 0."""

    def decode(self, reader: Reader, tables: DecodeTables) -> ExecSize:
        """Take the byte, in which only the mask control counts."""
        found = ExecKind.decode(self, reader, tables)
        if found.size != 1:
            raise CodingError(f"the execution size {found} is stored, only that of 8 can be")
        return ExecSize(_EIGHT_CHANNELS, found.offset, found.no_mask)

    def encode(self, value: ExecSize, writer: Writer, tables: EncodeTables) -> None:
        """Append the byte; only eight channels have a place."""
        if value.size != _EIGHT_CHANNELS:
            major, minor = tables.version
            raise CodingError(f"version {major}.{minor} has typed messages of size 8, not {value}")
        ExecKind.encode(self, ExecSize(1, value.offset, value.no_mask), writer, tables)


@dataclass(frozen=True, slots=True)
class DwordOffsetKind:
    """An offset that counts dwords in an object, and bytes everywhere else; only constants do."""

    def decode(self, reader: Reader, tables: DecodeTables) -> VectorSource:
        """Take a constant and return it in bytes."""
        found = SOURCE.decode(reader, tables)
        if not isinstance(found, Immediate) or found.bits >> _DWORD_LIMIT:
            major, minor = tables.version
            raise CodingError(f"version {major}.{minor} counts the offset in dwords, not in bytes")
        return replace(found, bits=found.bits * _DWORD)

    def encode(self, value: VectorSource, writer: Writer, tables: EncodeTables) -> None:
        """Append a constant in dwords."""
        if not isinstance(value, Immediate) or value.bits % _DWORD:
            major, minor = tables.version
            raise CodingError(
                f"version {major}.{minor} has no place for an offset in bytes, only for constants "
                "that are multiples of 4"
            )
        SOURCE.encode(replace(value, bits=value.bits // _DWORD), writer, tables)


def sampler_layouts(layout: str, bits: tuple[tuple[str, int], ...]) -> tuple[Older, ...]:
    """Return the older layouts of a sampler message that has `layout` and option `bits` today.

    Before 4.0 its operation is one byte, before 3.4 its offsets are plain too.
    """
    narrow = layout.replace(_OPERATION, _NARROW_OPERATION)
    narrow_bits = tuple((name, bit >> _OPTION_SHIFT) for name, bit in bits)
    options: dict[str, Any] = {"options": PrefixesKind(narrow_bits)}
    plain = Older((3, 4), narrow, {**options, "offsets": PlainOffsetsKind()})
    return plain, Older((4, 0), narrow, options)


UNALIGNED_OWORDS = "{count} 0? {surface} {offset} {data}"
#: OWORD_LD_UNALIGNED counted its offset in dwords before 3.2 (IGC, sends of older data ports).
UNALIGNED_OWORD_LAYOUTS = (Older((3, 2), UNALIGNED_OWORDS, {"offset": DwordOffsetKind()}),)

#: Typed messages had neither predicate nor level of detail before 3.2.
TYPED_LAYOUTS = (
    Older(
        (3, 2),
        "{channels} {exec} {surface} {u} {v} {r} {data} {pred} {lod}",
        {
            "channels": OffChannelsKind(),
            "exec": EightChannelsKind(),
            "pred": Absent(None, "a predicate"),
            "lod": Absent(RawOperand(predefined.GENERALS[0]), "a level of detail"),
        },
    ),
)
