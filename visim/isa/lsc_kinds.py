"""Kinds of operands that only LSC messages have (specification LSC_UNTYPED, LSC_FENCE)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from visim.isa.kinds import ORIGIN, RAW_LSC, SOURCE, immediate, place
from visim.isa.layouts import Codec, CodingError, DecodeTables, EncodeTables
from visim.isa.operand_bytes import decode_source, encode_source
from visim.isa.registry import Names
from visim.isa.word_kinds import ChoiceKind, NumberKind, SignedNumberKind, SizeKind
from visim.layout import Reader, Writer
from visim.lex import INTEGER, Cursor, parse_integer
from visim.operands import (
    AddressModel,
    GeneralSource,
    Immediate,
    LscAddress,
    LscCache,
    LscShape,
    Region,
    VectorSource,
)
from visim.types import UD

CACHES = ("df", "uc", "ca", "wb", "wt", "st", "ri")
_LEVEL = ChoiceKind(tuple((word, code) for code, word in enumerate(CACHES)), "a cache control")
_WITHOUT_SURFACE = frozenset({AddressModel.FLAT, AddressModel.ARGUMENT})
_NO_SURFACE = Immediate(0, UD)
DATA_SIZES = {
    # name: (bytes in memory, bytes in a register)
    "d8": (1, 1),
    "d16": (2, 2),
    "d32": (4, 4),
    "d64": (8, 8),
    "d8c32": (1, 4),
    "d16c32": (2, 4),
    "d16c32h": (2, 4),
}
_CACHES = re.compile(r"\.(df|uc|ca|cc|wb|wt|st|ri)(?:\.(df|uc|ca|cc|wb|wt|st|ri))?(?!\w)", re.ASCII)
_DATA = re.compile(
    r":\s*([du]8c32|[du]8u32|[du]16c32h|[du]16u32h|[du]16c32|[du]16u32|[du]64|[du]32|[du]16|[du]8)"
)
_COUNT = re.compile(r"x(64|32|16|8|4|3|2|1)")
_QUAD = re.compile(r"\.([xyzw]{1,4})")
_MODEL = re.compile(r"(flat|bss|ss|bti|arg)\s*(?=[\[(])")
_ADDRESS_BITS = re.compile(r":a(16|32|64)")
_SCALE = re.compile(r"(0[xX][0-9a-fA-F]+|\d+)\s*\*", re.ASCII)
_SIGNED_OFFSET = re.compile(r"([+-])\s*(0[xX][0-9a-fA-F]+|\d+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class CacheKind:
    """Cache controls `.l1.l3`; absent when both are the default."""

    expected: str = "cache controls such as '.ca.ca'"

    def parse(self, cursor: Cursor, names: Names) -> LscCache:
        """Take the controls; one alone sets the first level."""
        match = cursor.match(_CACHES)
        if match is None:
            return LscCache()
        l1, l3 = ("ri" if word == "cc" else word or "df" for word in match.groups())
        return LscCache(l1, l3)

    def show(self, value: LscCache) -> str:
        """Return them as IGC prints them."""
        return "" if value == LscCache() else f".{value.l1}.{value.l3}"

    def decode(self, reader: Reader, tables: DecodeTables) -> LscCache:
        """Take a byte for each level."""
        return LscCache(_LEVEL.decode(reader, tables), _LEVEL.decode(reader, tables))

    def encode(self, value: LscCache, writer: Writer, tables: EncodeTables) -> None:
        """Append a byte for each level."""
        _LEVEL.encode(value.l1, writer, tables)
        _LEVEL.encode(value.l3, writer, tables)


@dataclass(frozen=True, slots=True)
class ShapeKind:
    """Data size, vector length and order after a register: `:d32x4t`."""

    quad: bool = False
    expected: str = "a data size such as ':d32x4'"

    def parse(self, cursor: Cursor, names: Names) -> LscShape:
        """Take the shape."""
        data = cursor.need(_DATA, self.expected).group(1)
        data = "d" + data[1:].replace("u", "c")
        if self.quad:
            return LscShape(data, channels=cursor.need(_QUAD, "channels such as '.xyzw'").group(1))
        count = cursor.match(_COUNT)
        return LscShape(data, int(count.group(1)) if count else 1, cursor.take("t"))

    def show(self, value: LscShape) -> str:
        """Return it as IGC prints it."""
        if self.quad:
            return f":{value.data}.{value.channels}"
        count = f"x{value.count}" if value.count > 1 else ""
        return f":{value.data}{count}{'t' if value.transposed else ''}"

    @property
    def parts(self) -> Mapping[str, Codec]:
        """The codec of each part."""
        return _SHAPE_PARTS

    def join(self, parts: dict[str, Any]) -> LscShape:
        """Return the shape with these parts."""
        return LscShape(**parts)


@dataclass(frozen=True, slots=True)
class AddressKind:
    """An LSC address: `flat[V40+0x10]:a64`, `ss(V43)[V40]:a32`, `bti(0x4)[2*V40]:a32`."""

    expected: str = "an address such as 'flat[V40]:a64'"

    def parse(self, cursor: Cursor, names: Names) -> LscAddress:
        """Take the address."""
        cursor.skip_space()
        if cursor.text.startswith("[", cursor.position):
            model = AddressModel.FLAT
        else:
            model = AddressModel(cursor.need(_MODEL, self.expected).group(1))
        surface = None
        if model not in _WITHOUT_SURFACE:
            cursor.expect("(")
            surface = surface_operand(cursor, names)
            cursor.expect(")")
        cursor.expect("[")
        cursor.skip_space()
        scale = cursor.match(_SCALE)
        base = RAW_LSC.parse(cursor, names)
        cursor.skip_space()
        offset = _signed_offset(cursor)
        cursor.expect("]")
        bits = int(cursor.need(_ADDRESS_BITS, "an address size such as ':a64'").group(1))
        return LscAddress(
            model,
            surface,
            base,
            bits,
            _scale(cursor, scale) if scale else 1,
            offset,
        )

    def show(self, value: LscAddress) -> str:
        """Return it as IGC prints it."""
        surface = f"({show_surface(value.surface)})" if value.surface is not None else ""
        scale = f"0x{value.scale:X}*" if value.scale != 1 else ""
        offset = (
            f"{'-' if value.offset < 0 else '+'}0x{abs(value.offset):X}" if value.offset else ""
        )
        return f"{value.model}{surface}[{scale}{RAW_LSC.show(value.base)}{offset}]:a{value.bits}"

    @property
    def parts(self) -> Mapping[str, Codec]:
        """The codec of each part."""
        return _ADDRESS_PARTS

    def join(self, parts: dict[str, Any]) -> LscAddress:
        """Return the address with these parts; only models with a surface keep it."""
        model = AddressModel(parts["model"])
        found: dict[str, Any] = {**parts, "model": model}
        if model in _WITHOUT_SURFACE:
            if parts["surface"] != _NO_SURFACE:
                raise CodingError(f"an address of model {model} has a surface")
            found["surface"] = None
        return LscAddress(**found)


@dataclass(frozen=True, slots=True)
class AddressSurfaceKind:
    """The surface of an address in bytes; where there is none stands the constant 0:ud."""

    def decode(self, reader: Reader, tables: DecodeTables) -> VectorSource:
        """Take the operand."""
        return decode_source(reader, tables)

    def encode(self, value: VectorSource | None, writer: Writer, tables: EncodeTables) -> None:
        """Append the operand."""
        encode_source(_NO_SURFACE if value is None else value, writer, tables)


def _scale(cursor: Cursor, match: re.Match[str]) -> int:
    value = parse_integer(match.group(1))
    if value >= 1 << 16:
        length = match.end(1) - match.start(1)
        message = f"the scale {value} does not fit 16 bits"
        raise cursor.failure_at(match.start(1), "out-of-range", message, length=length)
    return value


def _signed_offset(cursor: Cursor) -> int:
    match = cursor.match(_SIGNED_OFFSET)
    if match is None:
        return 0
    value = parse_integer(match.group(2))
    value = -value if match.group(1) == "-" else value
    if not -(1 << 31) <= value < 1 << 31:
        message = f"the offset {value} does not fit 32 bits"
        raise cursor.failure_at(match.start(), "out-of-range", message)
    return value


def surface_operand(cursor: Cursor, names: Names) -> VectorSource:
    """Take the surface of a message: a bare constant, a scalar variable or any source."""
    cursor.skip_space()
    start = cursor.position
    number = cursor.match(INTEGER)
    if number:
        cursor.position = start
        if cursor.text.startswith(":", number.end()):
            return immediate(cursor)
        cursor.position = number.end()
        return Immediate(parse_integer(number.group()) & 0xFFFFFFFF, UD)
    raw = RAW_LSC.parse(cursor, names)
    if cursor.text.startswith("<", cursor.position) or "<" in cursor.text[start : cursor.position]:
        cursor.position = start
        return SOURCE.parse(cursor, names)
    origin = cursor.match(ORIGIN)
    if cursor.text.startswith("<", cursor.position):
        cursor.position = start
        return SOURCE.parse(cursor, names)
    row, col = place(cursor, origin)
    return GeneralSource(raw.variable, row, col, Region(0, 1, 0))


def show_surface(value: VectorSource) -> str:
    """Return a message's surface as IGC prints it: row and column only when not zero."""
    if isinstance(value, GeneralSource) and value.region == Region(0, 1, 0):
        place = f"({value.row},{value.col})" if value.row or value.col else ""
        return f"{value.variable.name}{place}"
    if isinstance(value, Immediate):
        return f"0x{value.bits:X}"
    return SOURCE.show(value)


_ADDRESS_PARTS: Mapping[str, Codec] = {
    "model": ChoiceKind(
        tuple((str(model), code) for code, model in enumerate(AddressModel, 1)), "an address model"
    ),
    "scale": NumberKind(width=2),
    "offset": SignedNumberKind(4),
    "bits": SizeKind(((16, 1), (32, 2), (64, 3))),
    "surface": AddressSurfaceKind(),
    "base": RAW_LSC,
}
_SHAPE_PARTS: Mapping[str, Codec] = {
    "data": ChoiceKind(
        tuple((name, code) for code, name in enumerate(DATA_SIZES, 1)), "a data size"
    ),
    "transposed": SizeKind(((False, 1), (True, 2))),
    "count": SizeKind(tuple((n, code) for code, n in enumerate((1, 2, 3, 4, 8, 16, 32, 64), 1))),
}
CACHE = CacheKind()
SHAPE = ShapeKind()
ADDRESS = AddressKind()
