"""Kinds of operands that only LSC messages have (specification LSC_UNTYPED, LSC_FENCE)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from visim.expressions import Level, expression, integer
from visim.isa.codecs import Codec, CodingError, DecodeTables, EncodeTables
from visim.isa.kinds import CONSTANT_BEGINS, SOURCE, immediate, place
from visim.isa.later import (
    refuse_later_address,
    refuse_later_address_size,
    refuse_later_cache,
    refuse_later_coordinate,
    refuse_later_index,
)
from visim.isa.naming import general
from visim.isa.operand_bytes import decode_source, encode_source
from visim.isa.raw_kinds import RAW_LSC
from visim.isa.registry import Names
from visim.isa.word_kinds import (
    ChannelsKind,
    ChoiceKind,
    NumberKind,
    SignedNumberKind,
    SizeKind,
    refuse_suffix,
)
from visim.layout import Reader, Writer
from visim.lex import Cursor
from visim.operands import (
    AddressModel,
    GeneralSource,
    Immediate,
    LscAddress,
    LscCache,
    LscShape,
    LscSurface,
    LscTexel,
    RawOperand,
    Region,
    VectorSource,
)
from visim.predefined import GENERALS
from visim.types import UD

CACHES = ("df", "uc", "ca", "wb", "wt", "st", "ri")
_LEVEL = ChoiceKind(tuple((word, code) for code, word in enumerate(CACHES)), "a cache control")
_WITHOUT_SURFACE = frozenset({AddressModel.FLAT, AddressModel.ARGUMENT})
_NO_SURFACE = Immediate(0, UD)
_NULL = RawOperand(GENERALS[0])
_COORDINATES = ("u", "v", "r", "lod")
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
_COUNT = re.compile(r"x(\d{1,4})(?!\d)", re.ASCII)
_COUNTS = (1, 2, 3, 4, 8, 16, 32, 64)
_QUAD = re.compile(r"\.(x?y?z?w?)\b(?<=[xyzw])")
_MODEL = re.compile(r"(flat|bss|ss|bti|arg)\s*(?=[\[(])")
_ADDRESS_BITS = re.compile(r":a(16|32|64)")


@dataclass(frozen=True, slots=True)
class CacheKind:
    """Cache controls `.l1.l3`; absent when both are the default."""

    expected: str = "cache controls such as '.ca.ca'"

    def parse(self, cursor: Cursor, names: Names) -> LscCache:
        """Take the controls; one alone sets the first level."""
        match = cursor.match(_CACHES)
        refuse_later_cache(cursor)
        refuse_suffix(cursor, "a cache control", list(CACHES))
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
        data = data_size(cursor, self.expected)
        if self.quad:
            return LscShape(data, channels=cursor.need(_QUAD, "channels such as '.xyzw'").group(1))
        return LscShape(data, _element_count(cursor), cursor.take("t"))

    def show(self, value: LscShape) -> str:
        """Return it as IGC prints it."""
        if self.quad:
            return f":{value.data}.{value.channels}"
        count = f"x{value.count}" if value.count > 1 else ""
        return f":{value.data}{count}{'t' if value.transposed else ''}"

    @property
    def parts(self) -> Mapping[str, Codec]:
        """The codec of each part."""
        return _QUAD_PARTS if self.quad else _SHAPE_PARTS

    def join(self, parts: dict[str, Any]) -> LscShape:
        """Return the shape with these parts."""
        return LscShape(**parts)


def _element_count(cursor: Cursor) -> int:
    """Take the number of elements of a vector; 1 where there is none."""
    start = cursor.position
    found = cursor.match(_COUNT)
    count = int(found.group(1)) if found else 1
    if count not in _COUNTS:
        message = f"expected a vector of 1, 2, 3, 4, 8, 16, 32 or 64 elements, found {count}"
        raise cursor.failure_at(start, "out-of-range", message)
    return count


def data_size(cursor: Cursor, expected: str) -> str:
    """Take a data size by either of its names and return the one that IGC prints."""
    found = cursor.need(_DATA, expected).group(1)
    return "d" + found[1:].replace("u", "c")


@dataclass(frozen=True, slots=True)
class SurfaceOnlyKind:
    """A surface without addresses: `bti(0xA0)`, `bss(V40)`."""

    expected: str = "a surface such as 'bti(0xA0)'"

    def parse(self, cursor: Cursor, names: Names) -> LscSurface:
        """Take the surface."""
        cursor.skip_space()
        start = cursor.position
        refuse_later_address(cursor)
        model = AddressModel(cursor.need(_MODEL, self.expected).group(1))
        if model in _WITHOUT_SURFACE:
            message = f"the address model {model} has no surface, and so no counter"
            raise cursor.failure_at(start, "syntax", message, help="use bti, bss or ss")
        return LscSurface(model, _in_brackets(cursor, names))

    def show(self, value: LscSurface) -> str:
        """Return it as IGC prints surfaces."""
        return f"{value.model}({show_surface(value.surface)})"

    @property
    def parts(self) -> Mapping[str, Codec]:
        """The codec of each part."""
        return _SURFACE_PARTS

    def join(self, parts: dict[str, Any]) -> LscSurface:
        """Return the surface with these parts."""
        model = AddressModel(parts["model"])
        if model in _WITHOUT_SURFACE:
            raise CodingError(f"the address model {model} has no surface")
        return LscSurface(model, parts["surface"])


@dataclass(frozen=True, slots=True)
class TexelKind:
    """A typed address: `bti(0x4)[V40, V41, %null, %null]:a32`; trailing ones may be left out."""

    expected: str = "an address such as 'bti(0x4)[V40, V41, %null, %null]:a32'"

    def parse(self, cursor: Cursor, names: Names) -> LscTexel:
        """Take the address."""
        found = SURFACE_ONLY.parse(cursor, names)
        cursor.expect("[")
        coordinates = [RAW_LSC.parse(cursor, names)]
        refuse_later_coordinate(cursor)
        cursor.skip_space()
        while len(coordinates) < len(_COORDINATES) and cursor.take(","):
            coordinates.append(RAW_LSC.parse(cursor, names))
            refuse_later_coordinate(cursor)
            cursor.skip_space()
        coordinates += [_NULL] * (len(_COORDINATES) - len(coordinates))
        cursor.expect("]")
        bits = int(cursor.need(_ADDRESS_BITS, "an address size such as ':a32'").group(1))
        return LscTexel(found.model, found.surface, bits, *coordinates)

    def show(self, value: LscTexel) -> str:
        """Return it as IGC prints it: with all coordinates."""
        coordinates = (RAW_LSC.show(getattr(value, name)) for name in _COORDINATES)
        surface = show_surface(value.surface)
        return f"{value.model}({surface})[{', '.join(coordinates)}]:a{value.bits}"

    @property
    def parts(self) -> Mapping[str, Codec]:
        """The codec of each part."""
        return _TEXEL_PARTS

    def join(self, parts: dict[str, Any]) -> LscTexel:
        """Return the address with these parts."""
        found = SURFACE_ONLY.join({name: parts[name] for name in _SURFACE_PARTS})
        coordinates = {name: parts[name] for name in _COORDINATES}
        return LscTexel(found.model, found.surface, parts["bits"], **coordinates)


def _in_brackets(cursor: Cursor, names: Names) -> VectorSource:
    cursor.expect("(")
    surface = surface_operand(cursor, names)
    refuse_later_index(cursor)
    cursor.expect(")")
    return surface


@dataclass(frozen=True, slots=True)
class AddressKind:
    """An LSC address: `flat[V40+0x10]:a64`, `ss(V43)[V40]:a32`, `bti(0x4)[2*V40]:a32`.

    One of a strided message may have a pitch: `flat[V40, 0x8]:a64`.
    """

    strided: bool = False
    expected: str = "an address such as 'flat[V40]:a64'"

    def parse(self, cursor: Cursor, names: Names) -> LscAddress:
        """Take the address."""
        cursor.skip_space()
        refuse_later_address(cursor)
        if cursor.text.startswith("[", cursor.position):
            model = AddressModel.FLAT
        else:
            model = AddressModel(cursor.need(_MODEL, self.expected).group(1))
        surface = None
        if model not in _WITHOUT_SURFACE:
            surface = _in_brackets(cursor, names)
        cursor.expect("[")
        scale = _scale(cursor, names)
        base = RAW_LSC.parse(cursor, names)
        offset = signed_offset(cursor, names)
        cursor.skip_space()
        has_pitch = self.strided and cursor.take(",")
        pitch = surface_operand(cursor, names) if has_pitch else None
        cursor.expect("]")
        refuse_later_address_size(cursor)
        bits = int(cursor.need(_ADDRESS_BITS, "an address size such as ':a64'").group(1))
        return LscAddress(model, surface, base, bits, scale, offset, pitch)

    def show(self, value: LscAddress) -> str:
        """Return it as IGC prints it."""
        surface = f"({show_surface(value.surface)})" if value.surface is not None else ""
        scale = f"0x{value.scale:x}*" if value.scale != 1 else ""
        offset = (
            f"{'-' if value.offset < 0 else '+'}0x{abs(value.offset):x}" if value.offset else ""
        )
        pitch = f", {show_surface(value.pitch)}" if value.pitch is not None else ""
        place = f"{scale}{RAW_LSC.show(value.base)}{offset}{pitch}"
        return f"{value.model}{surface}[{place}]:a{value.bits}"

    @property
    def parts(self) -> Mapping[str, Codec]:
        """The codec of each part."""
        return _STRIDED_PARTS if self.strided else _ADDRESS_PARTS

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


def _scale(cursor: Cursor, names: Names) -> int:
    """Take the factor before an address, `4*` of `4*V40`; without it it is 1."""
    cursor.skip_space()
    if not CONSTANT_BEGINS.match(cursor.text, cursor.position):
        return 1
    value = integer(cursor, names, "a scale", low=0, high=1 << 16, level=Level.PRODUCT)
    cursor.expect("*")
    return value


def signed_offset(cursor: Cursor, names: Names) -> int:
    """Take what is added to an address: `+` and a sum, or `-` and one number."""
    cursor.skip_space()
    start = cursor.position
    if cursor.take("+"):
        value = expression(cursor, names, "a byte offset", level=Level.SUM)
    elif cursor.take("-"):
        value = -expression(cursor, names, "a byte offset", level=Level.UNARY)
    else:
        return 0
    if not -(1 << 31) <= value < 1 << 31:
        message = f"the offset {value} does not fit 32 bits"
        raise cursor.failure_at(start, "out-of-range", message)
    return value


def surface_operand(cursor: Cursor, names: Names) -> VectorSource:
    """Take the surface of a message: a bare constant, a scalar variable or any source."""
    cursor.skip_space()
    start = cursor.position
    if CONSTANT_BEGINS.match(cursor.text, cursor.position):
        value = expression(cursor, names, "a constant")
        if cursor.text.startswith(":", cursor.position):
            cursor.position = start
            return immediate(cursor, names)
        return Immediate(value & 0xFFFFFFFF, UD)
    found = general(cursor, names, RAW_LSC.expected)
    if cursor.take("."):
        row, col = 0, integer(cursor, names, "a column", high=256, level=Level.UNARY)
    else:
        row, col = place(cursor, names)
    if cursor.text.startswith("<", cursor.position):
        cursor.position = start
        return SOURCE.parse(cursor, names)
    return GeneralSource(found, row, col, Region(0, 1, 0))


def show_surface(value: VectorSource) -> str:
    """Return a message's surface as IGC prints it: row and column only when not zero."""
    if isinstance(value, GeneralSource) and value.region == Region(0, 1, 0):
        place = f"({value.row},{value.col})" if value.row or value.col else ""
        return f"{value.variable.name}{place}"
    if isinstance(value, Immediate):
        return f"0x{value.bits:X}"
    return SOURCE.show(value)


_MODEL_CODES = ChoiceKind(
    tuple((str(model), code) for code, model in enumerate(AddressModel, 1)), "an address model"
)
DATA_CODES = ChoiceKind(
    tuple((name, code) for code, name in enumerate(DATA_SIZES, 1)), "a data size"
)
ORDER_CODES = SizeKind(((False, 1), (True, 2)))
_ADDRESS_PARTS: Mapping[str, Codec] = {
    "model": _MODEL_CODES,
    "scale": NumberKind(width=2),
    "offset": SignedNumberKind(4),
    "bits": SizeKind(((16, 1), (32, 2), (64, 3))),
    "surface": AddressSurfaceKind(),
    "base": RAW_LSC,
}
_STRIDED_PARTS: Mapping[str, Codec] = {**_ADDRESS_PARTS, "pitch": SOURCE}
_SURFACE_PARTS: Mapping[str, Codec] = {"model": _MODEL_CODES, "surface": SOURCE}
_TEXEL_PARTS: Mapping[str, Codec] = {
    **_SURFACE_PARTS,
    "bits": _ADDRESS_PARTS["bits"],
    **dict.fromkeys(_COORDINATES, RAW_LSC),
}
_SHAPE_PARTS: Mapping[str, Codec] = {
    "data": DATA_CODES,
    "transposed": ORDER_CODES,
    "count": SizeKind(tuple((n, code) for code, n in enumerate((1, 2, 3, 4, 8, 16, 32, 64), 1))),
}
_QUAD_PARTS: Mapping[str, Codec] = {
    "data": DATA_CODES,
    "transposed": ORDER_CODES,
    "channels": ChannelsKind("xyzw"),
}
CACHE = CacheKind()
SHAPE = ShapeKind()
QUAD = ShapeKind(quad=True)
ADDRESS = AddressKind()
STRIDED = AddressKind(strided=True)
SURFACE_ONLY = SurfaceOnlyKind()
TEXEL = TexelKind()
