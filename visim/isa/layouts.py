"""The binary side of a form: which bytes its fields become, and in which order (docs/formats.md).

A layout is a line of pieces:

- `{field}` is the field, as its kind writes it;
- `{field.part}` is one part of a field whose kind has parts, such as `{address.scale}`;
- `{sub}` is the sub-code that tells the instructions of one opcode apart;
- `{a&0x1f|b&0x60}` are coded fields that share a byte, each with its bits; `sub` can be one of
  them, without bits: it has those that are left;
- `0x80` is a byte that is always the same, `0?` one that readers ignore;
- `null` is a raw operand that is always %null.

A number of bytes may follow: `{sub:2}`, `0:2`. What stands twice is stored twice. A field whose
kind is `Dependent` is read according to the fields that stand before it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard, TypeVar

from visim.isa.codecs import (
    Codec,
    Coded,
    CodedKind,
    CodingError,
    Compound,
    DecodeTables,
    Dependent,
    EncodeTables,
    number_width,
)
from visim.layout import Reader, Writer


class DeclarationError(Exception):
    """A table of visim contradicts itself; never reaches a user."""


Values = dict[str, Any]


def _keep(values: Values, key: str, found: Any) -> None:
    """Note what was read; a second mention of the same must agree with the first."""
    if values.setdefault(key, found) != found:
        raise CodingError(f"{key} is stored twice, as {values[key]} and as {found}")


class Piece(Protocol):
    """Some of an instruction's bytes."""

    def decode(self, reader: Reader, tables: DecodeTables, values: Values) -> None:
        """Take the bytes and note what they stand for."""
        ...

    def encode(self, instruction: Any, writer: Writer, tables: EncodeTables) -> None:
        """Append the bytes."""
        ...


@dataclass(frozen=True, slots=True)
class _Whole:
    name: str
    codec: Codec

    def decode(self, reader: Reader, tables: DecodeTables, values: Values) -> None:
        _keep(values, self.name, self.codec.decode(reader, tables))

    def encode(self, instruction: Any, writer: Writer, tables: EncodeTables) -> None:
        self.codec.encode(getattr(instruction, self.name), writer, tables)


@dataclass(frozen=True, slots=True)
class _Dependent:
    name: str
    kind: Dependent

    def decode(self, reader: Reader, tables: DecodeTables, values: Values) -> None:
        values[self.name] = self.kind.decode_after(values, reader, tables)

    def encode(self, instruction: Any, writer: Writer, tables: EncodeTables) -> None:
        self.kind.encode_within(instruction, writer, tables)


@dataclass(frozen=True, slots=True)
class _Part:
    name: str
    part: str
    key: str
    codec: Codec

    def decode(self, reader: Reader, tables: DecodeTables, values: Values) -> None:
        _keep(values, self.key, self.codec.decode(reader, tables))

    def encode(self, instruction: Any, writer: Writer, tables: EncodeTables) -> None:
        value = getattr(getattr(instruction, self.name), self.part)
        self.codec.encode(value, writer, tables)


@dataclass(frozen=True, slots=True)
class _Constant:
    value: int
    width: int
    is_ignored: bool

    def decode(self, reader: Reader, tables: DecodeTables, values: Values) -> None:
        found = reader.unsigned(self.width)
        if found != self.value and not self.is_ignored:
            at = reader.position - self.width
            raise CodingError(f"byte {at} holds 0x{found:x} where only 0x{self.value:x} is known")

    def encode(self, instruction: Any, writer: Writer, tables: EncodeTables) -> None:
        writer.unsigned(self.value, self.width)


@dataclass(frozen=True, slots=True)
class _Null:
    def decode(self, reader: Reader, tables: DecodeTables, values: Values) -> None:
        number, offset = reader.unsigned(number_width(tables)), reader.unsigned(2)
        if number or offset:
            raise CodingError(f"variable {number} stands where only %null is known")

    def encode(self, instruction: Any, writer: Writer, tables: EncodeTables) -> None:
        writer.unsigned(0, number_width(tables) + 2)


@dataclass(frozen=True, slots=True)
class _Packed:
    entries: tuple[tuple[str, Coded, int], ...]
    sub_mask: int
    width: int

    def decode(self, reader: Reader, tables: DecodeTables, values: Values) -> None:
        bits = reader.unsigned(self.width)
        unused = bits & ~self.sub_mask
        for name, kind, mask in self.entries:
            values[name] = kind.from_code(bits & mask)
            unused &= ~mask
        if unused:
            raise CodingError(f"0x{bits:x} has unknown bits 0x{unused:x}")

    def encode(self, instruction: Any, writer: Writer, tables: EncodeTables) -> None:
        bits: int = (instruction.op.sub or 0) if self.sub_mask else 0
        if bits & ~self.sub_mask:
            major, minor = tables.version
            raise CodingError(f"version {major}.{minor} has no place for this operation")
        for name, kind, mask in self.entries:
            code = kind.to_code(getattr(instruction, name))
            if code & ~mask:
                raise CodingError(f"{name} 0x{code:x} does not fit the bits 0x{mask:x}")
            bits |= code
        writer.unsigned(bits, self.width)


@dataclass(frozen=True, slots=True)
class SubCode:
    """Where the sub-code stands: bytes after the opcode, width in bytes, and its bits."""

    offset: int
    width: int
    mask: int

    def read(self, data: bytes, position: int) -> int:
        """Return the sub-code of the instruction whose operands begin at `position`."""
        start = position + self.offset
        return int.from_bytes(data[start : start + self.width], "little") & self.mask


@dataclass(frozen=True, slots=True)
class Layout:
    """A form's bytes after the opcode; `sub` is None for forms without a sub-code."""

    pieces: tuple[Piece, ...]
    compounds: tuple[tuple[str, Compound, tuple[tuple[str, str], ...]], ...]
    sub: SubCode | None

    def decode(self, reader: Reader, tables: DecodeTables) -> Values:
        """Return the fields of the instruction whose operands begin at the reader's position."""
        values: Values = {}
        for piece in self.pieces:
            piece.decode(reader, tables, values)
        for name, kind, keys in self.compounds:
            values[name] = kind.join({part: values.pop(key) for part, key in keys})
        return values

    def encode(self, instruction: Any, writer: Writer, tables: EncodeTables) -> None:
        """Append the bytes after the opcode."""
        for piece in self.pieces:
            piece.encode(instruction, writer, tables)


_WORD = re.compile(r"\{([^{}:]+)(?::(\d+))?\}|(0[xX][0-9a-fA-F]+|\d+\??|null)(?::(\d+))?")


def compile_layout(owner: str, template: str, kinds: Mapping[str, Any]) -> Layout:
    """Return the layout that `template` describes for the form `owner` with these fields.

    Raises:
        DeclarationError: the template names no field, omits one, or a kind has no binary side.
    """
    pieces: list[Piece] = []
    parts: dict[str, dict[str, str]] = {}
    named: set[str] = set()
    sub: SubCode | None = None
    for word in template.split():
        match = _WORD.fullmatch(word)
        if match is None:
            raise DeclarationError(f"layout of {owner} has {word!r}")
        inner, own_width, number, width = match.groups()
        if number == "null":
            piece: Piece = _Null()
        elif number is not None:
            piece = _constant(owner, number, int(width or 1))
        elif "." in inner:
            piece = _part(owner, inner, kinds)
            parts.setdefault(piece.name, {})[piece.part] = piece.key
            named.add(piece.name)
        elif inner == "sub" or "&" in inner:
            piece = _packed(owner, inner, int(own_width or 1), kinds)
            named |= {name for name, _kind, _mask in piece.entries}
            if piece.sub_mask:
                sub = SubCode(_bytes_before_sub(owner, pieces), piece.width, piece.sub_mask)
        else:
            piece = _whole(owner, inner, kinds)
            named.add(inner)
        pieces.append(piece)
    if named != set(kinds):
        raise DeclarationError(f"layout of {owner} omits {sorted(set(kinds) - named)}")
    compounds = tuple((name, kinds[name], tuple(keys.items())) for name, keys in parts.items())
    return Layout(tuple(pieces), compounds, sub)


def _constant(owner: str, word: str, width: int) -> _Constant:
    if width > 2:
        raise DeclarationError(f"layout of {owner} has {width} constant bytes; is it null?")
    return _Constant(int(word.rstrip("?"), 0), width, word.endswith("?"))


def _bytes_before_sub(owner: str, pieces: list[Piece]) -> int:
    count = 0
    for piece in pieces:
        if not isinstance(piece, _Whole) or not isinstance(piece.codec, CodedKind):
            raise DeclarationError(f"layout of {owner}: before its sub-code stands no number")
        count += piece.codec.width
    return count


def _kind(owner: str, name: str, kinds: Mapping[str, Any]) -> Any:
    if name not in kinds:
        raise DeclarationError(f"layout of {owner} names {name!r}, not a field")
    return kinds[name]


_Side = TypeVar("_Side")
_MARKS: Mapping[type[Any], str] = {
    Codec: "decode",
    Coded: "to_code",
    Compound: "join",
    Dependent: "decode_after",
}
"""What tells the sides that a kind of field has: Python needs long to compare whole protocols."""


def _has_side(kind: object, side: type[_Side]) -> TypeGuard[_Side]:
    """Whether a kind of field is what `side` says."""
    return hasattr(kind, _MARKS[side])


def _whole(owner: str, name: str, kinds: Mapping[str, Any]) -> Piece:
    kind = _kind(owner, name, kinds)
    if _has_side(kind, Dependent):
        return _Dependent(name, kind)
    return _Whole(name, _codec(owner, name, kinds))


def _codec(owner: str, name: str, kinds: Mapping[str, Any]) -> Codec:
    kind = _kind(owner, name, kinds)
    if not _has_side(kind, Codec):
        raise DeclarationError(f"{type(kind).__name__} of {owner}.{name} has no binary side")
    return kind


def _part(owner: str, path: str, kinds: Mapping[str, Any]) -> _Part:
    name, part = path.split(".")
    kind = _kind(owner, name, kinds)
    if not _has_side(kind, Compound) or part not in kind.parts:
        raise DeclarationError(f"{owner}.{name} has no part {part!r}")
    return _Part(name, part, path, kind.parts[part])


def _packed(owner: str, inner: str, width: int, kinds: Mapping[str, Any]) -> _Packed:
    """Return fields that share bytes, each with a mask; the bits that are left are the sub-code."""
    entries: list[tuple[str, Coded, int]] = []
    has_sub = False
    for word in inner.split("|"):
        name, _and, mask = word.partition("&")
        if name == "sub":
            has_sub = True
            continue
        kind = _kind(owner, name, kinds)
        if not _has_side(kind, Coded) or not mask:
            raise DeclarationError(f"layout of {owner}: {name} cannot share a byte")
        entries.append((name, kind, int(mask, 0)))
    left = (1 << 8 * width) - 1
    for _, _, mask in entries:
        if mask & ~left:
            raise DeclarationError(f"layout of {owner}: bits of {inner} overlap")
        left &= ~mask
    return _Packed(tuple(entries), left if has_sub else 0, width)
