"""Where LSC messages go: surfaces, addresses, coordinates (specification LSC_UNTYPED, LSC_TYPED).

Since version 4.2 flat memory may have a base of 64 bits, `flat(V40)[0x4*V41]:a32s`, to which
indices are added that are extended to 64 bits, without (u) or with sign (s); `surf(V40)` is a
surface whose state a pointer of 64 bits finds, `bss(V40,0x1)` the one behind that of V40; constants
may be added to coordinates (IGC's grammar and printer).
"""

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
    refuse_later_coordinate,
    refuse_later_index,
)
from visim.isa.naming import general
from visim.isa.operand_bytes import decode_source, encode_source
from visim.isa.raw_kinds import RAW_LSC
from visim.isa.registry import Names
from visim.isa.version_kinds import SinceNumberKind
from visim.isa.word_kinds import ChoiceKind, NumberKind, SignedNumberKind
from visim.layout import Reader, Writer
from visim.lex import Cursor
from visim.operands import (
    AddressModel,
    GeneralSource,
    Immediate,
    LscAddress,
    LscSurface,
    LscTexel,
    RawOperand,
    Region,
    VectorSource,
)
from visim.predefined import GENERALS
from visim.types import UD, UQ

STATES_SINCE = (4, 2)
_WITHOUT_SURFACE = frozenset({AddressModel.FLAT, AddressModel.ARGUMENT})
_NO_SURFACE = Immediate(0, UD)
_NULL = RawOperand(GENERALS[0])
_COORDINATES = ("u", "v", "r", "lod")
_ADDED_TO = {"u": "du", "v": "dv", "r": "dr"}
_MODEL = re.compile(r"(flat|bss|ss|bti|arg|surf)\s*(?=[\[(])")
_ADDRESS_SIZE = re.compile(r":a(16|32|64)(?!\w)")
_EXTENDED_SIZE = re.compile(r":a(32)([su])(?!\w)")
_SIZES = {(16, ""): 1, (32, ""): 2, (64, ""): 3, (32, "u"): 4, (32, "s"): 5}


def _model(cursor: Cursor, names: Names, expected: str) -> AddressModel:
    """Take the name of an address model."""
    cursor.skip_space()
    if names.version < STATES_SINCE:
        refuse_later_address(cursor)
    return AddressModel(cursor.need(_MODEL, expected).group(1))


def _address_size(cursor: Cursor, names: Names, expected: str) -> tuple[int, str]:
    """Take the size of addresses, and how they are extended to 64 bits, if they are."""
    if names.version < STATES_SINCE:
        refuse_later_address_size(cursor)
    extended = cursor.match(_EXTENDED_SIZE)
    if extended is not None:
        return int(extended.group(1)), extended.group(2)
    return int(cursor.need(_ADDRESS_SIZE, expected).group(1)), ""


@dataclass(frozen=True, slots=True)
class AddressSizeKind:
    """The size of addresses in bytes: a pair of their bits and their extension."""

    def decode(self, reader: Reader, tables: DecodeTables) -> tuple[int, str]:
        """Take the number of a size."""
        code = reader.unsigned(1)
        for size, known in _SIZES.items():
            if known == code and (not size[1] or tables.version >= STATES_SINCE):
                return size
        raise CodingError(f"0x{code:x} stands for no address size")

    def encode(self, value: tuple[int, str], writer: Writer, tables: EncodeTables) -> None:
        """Append the number of a size."""
        if value[1] and tables.version < STATES_SINCE:
            major, minor = tables.version
            size = f"a{value[0]}{value[1]}"
            raise CodingError(f"version {major}.{minor} has no addresses of size {size}")
        writer.unsigned(_SIZES[value], 1)


@dataclass(frozen=True, slots=True)
class SurfaceOnlyKind:
    """A surface without addresses: `bti(0xA0)`, `bss(V40)`."""

    expected: str = "a surface such as 'bti(0xA0)'"

    def parse(self, cursor: Cursor, names: Names) -> LscSurface:
        """Take the surface."""
        cursor.skip_space()
        start = cursor.position
        model = _model(cursor, names, self.expected)
        if model in _WITHOUT_SURFACE:
            message = f"the address model {model} has no surface, and so no counter"
            raise cursor.failure_at(start, "syntax", message, help="use bti, bss or ss")
        surface, index = _in_brackets(cursor, names, model)
        return LscSurface(model, surface, index)

    def show(self, value: LscSurface) -> str:
        """Return it as IGC prints surfaces."""
        return show_state(value.model, value.surface, value.index)

    @property
    def parts(self) -> Mapping[str, Codec]:
        """The codec of each part."""
        return _SURFACE_PARTS

    def join(self, parts: dict[str, Any]) -> LscSurface:
        """Return the surface with these parts."""
        model = AddressModel(parts["model"])
        if model in _WITHOUT_SURFACE:
            raise CodingError(f"the address model {model} has no surface")
        return LscSurface(model, parts["surface"], parts["index"])


@dataclass(frozen=True, slots=True)
class TexelKind:
    """A typed address: `bti(0x4)[V40, V41, %null, %null]:a32`; trailing ones may be left out."""

    expected: str = "an address such as 'bti(0x4)[V40, V41, %null, %null]:a32'"

    def parse(self, cursor: Cursor, names: Names) -> LscTexel:
        """Take the address."""
        found = SURFACE_ONLY.parse(cursor, names)
        cursor.expect("[")
        coordinates: dict[str, RawOperand] = {}
        added: dict[str, int] = {}
        for name in _COORDINATES:
            if coordinates and not cursor.take(","):
                break
            coordinates[name] = RAW_LSC.parse(cursor, names)
            if names.version < STATES_SINCE:
                refuse_later_coordinate(cursor)
            elif name in _ADDED_TO:
                added[_ADDED_TO[name]] = signed_offset(cursor, names)
            cursor.skip_space()
        given = {**dict.fromkeys(_COORDINATES, _NULL), **coordinates}
        cursor.expect("]")
        bits, extended = _address_size(cursor, names, "an address size such as ':a32'")
        parts: dict[str, Any] = {**given, **added, "extended": extended, "index": found.index}
        return LscTexel(found.model, found.surface, bits, **parts)

    def show(self, value: LscTexel) -> str:
        """Return it as IGC prints it: with all coordinates."""
        return self._shown(value, ", ", [self._coordinate(value, name) for name in _COORDINATES])

    def show_newer(self, value: LscTexel) -> str:
        """Return it as IGC prints it since version 4.2: up to the last coordinate."""
        present: list[str] = []
        for name in _COORDINATES:
            if getattr(value, name).is_null:
                break
            present.append(self._coordinate(value, name))
        is_short = all(getattr(value, name).is_null for name in _COORDINATES[len(present) :])
        return self._shown(value, ",", present) if present and is_short else self.show(value)

    @staticmethod
    def _coordinate(value: LscTexel, name: str) -> str:
        added = getattr(value, _ADDED_TO[name]) if name in _ADDED_TO else 0
        return RAW_LSC.show(getattr(value, name)) + (f"{added:+}" if added else "")

    @staticmethod
    def _shown(value: LscTexel, separator: str, coordinates: list[str]) -> str:
        state = show_state(value.model, value.surface, value.index)
        return f"{state}[{separator.join(coordinates)}]:a{value.bits}{value.extended}"

    @property
    def parts(self) -> Mapping[str, Codec]:
        """The codec of each part."""
        return _TEXEL_PARTS

    def join(self, parts: dict[str, Any]) -> LscTexel:
        """Return the address with these parts."""
        found = SURFACE_ONLY.join({name: parts.pop(name) for name in _SURFACE_PARTS})
        bits, extended = parts.pop("size")
        return LscTexel(
            found.model, found.surface, bits, **parts, extended=extended, index=found.index
        )


def _in_brackets(cursor: Cursor, names: Names, model: AddressModel) -> tuple[VectorSource, int]:
    """Take a surface in brackets, and the number of the state behind it that is meant."""
    cursor.expect("(")
    wide = model in {AddressModel.SURFACE_POINTER, AddressModel.FLAT}
    surface = surface_operand(cursor, names, wide=wide)
    if names.version < STATES_SINCE:
        refuse_later_index(cursor)
    cursor.skip_space()
    index = 0
    if model not in _WITHOUT_SURFACE and cursor.take(","):
        index = integer(cursor, names, "the number of a state", high=1 << 32)
    cursor.expect(")")
    return surface, index


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
        surface, index = None, 0
        if cursor.text.startswith("[", cursor.position):
            model = AddressModel.FLAT
        else:
            model = _model(cursor, names, self.expected)
        cursor.skip_space()
        has_base = model is AddressModel.FLAT and cursor.text.startswith("(", cursor.position)
        if model not in _WITHOUT_SURFACE or has_base:
            surface, index = _in_brackets(cursor, names, model)
        cursor.expect("[")
        scale = _scale(cursor, names)
        base = RAW_LSC.parse(cursor, names)
        offset = signed_offset(cursor, names)
        cursor.skip_space()
        has_pitch = self.strided and cursor.take(",")
        pitch = surface_operand(cursor, names) if has_pitch else None
        cursor.expect("]")
        bits, extended = _address_size(cursor, names, "an address size such as ':a64'")
        return LscAddress(model, surface, base, bits, scale, offset, pitch, extended, index)

    def show(self, value: LscAddress) -> str:
        """Return it as IGC prints it."""
        state = show_state(value.model, value.surface, value.index)
        scale = f"0x{value.scale:x}*" if value.scale != 1 else ""
        offset = (
            f"{'-' if value.offset < 0 else '+'}0x{abs(value.offset):x}" if value.offset else ""
        )
        pitch = f", {show_surface(value.pitch)}" if value.pitch is not None else ""
        place = f"{scale}{RAW_LSC.show(value.base)}{offset}{pitch}"
        return f"{state}[{place}]:a{value.bits}{value.extended}"

    @property
    def parts(self) -> Mapping[str, Codec]:
        """The codec of each part."""
        return _STRIDED_PARTS if self.strided else _ADDRESS_PARTS

    def join(self, parts: dict[str, Any]) -> LscAddress:
        """Return the address with these parts; flat memory and arguments may have no surface."""
        model = AddressModel(parts["model"])
        bits, extended = parts.pop("size")
        found: dict[str, Any] = {**parts, "model": model, "bits": bits, "extended": extended}
        if model in _WITHOUT_SURFACE:
            if parts["surface"] == _NO_SURFACE:
                found["surface"] = None
            elif model is AddressModel.ARGUMENT:
                raise CodingError(f"an address of model {model} has a surface")
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


def surface_operand(cursor: Cursor, names: Names, *, wide: bool = False) -> VectorSource:
    """Take the surface of a message: a bare constant, a scalar variable or any source.

    A bare constant has 32 bits, or 64 if it is `wide`.
    """
    cursor.skip_space()
    start = cursor.position
    if CONSTANT_BEGINS.match(cursor.text, cursor.position):
        value = expression(cursor, names, "a constant")
        if cursor.text.startswith(":", cursor.position):
            cursor.position = start
            return immediate(cursor, names)
        kind = UQ if wide else UD
        return Immediate(value & (1 << kind.bits) - 1, kind)
    found = general(cursor, names, RAW_LSC.expected)
    if cursor.take("."):
        row, col = 0, integer(cursor, names, "a column", high=256, level=Level.UNARY)
    else:
        row, col = place(cursor, names)
    if cursor.text.startswith("<", cursor.position):
        cursor.position = start
        return SOURCE.parse(cursor, names)
    return GeneralSource(found, row, col, Region(0, 1, 0))


def show_state(model: AddressModel, surface: VectorSource | None, index: int) -> str:
    """Return an address model and its surface or base as IGC prints them."""
    if surface is None:
        return str(model)
    behind = f",0x{index:X}" if index else ""
    return f"{model}({show_surface(surface)}{behind})"


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
_INDEX = SinceNumberKind(STATES_SINCE, NumberKind(), "the number of a state behind a surface")
_ADDED = SinceNumberKind(STATES_SINCE, SignedNumberKind(4), "a constant added to a coordinate")
_ADDRESS_PARTS: Mapping[str, Codec] = {
    "model": _MODEL_CODES,
    "scale": NumberKind(width=2),
    "offset": SignedNumberKind(4),
    "size": AddressSizeKind(),
    "surface": AddressSurfaceKind(),
    "index": _INDEX,
    "base": RAW_LSC,
}
_STRIDED_PARTS: Mapping[str, Codec] = {**_ADDRESS_PARTS, "pitch": SOURCE}
_SURFACE_PARTS: Mapping[str, Codec] = {
    "model": _MODEL_CODES,
    "surface": SOURCE,
    "index": _INDEX,
}
_TEXEL_PARTS: Mapping[str, Codec] = {
    **_SURFACE_PARTS,
    "size": AddressSizeKind(),
    **dict.fromkeys(_COORDINATES, RAW_LSC),
    **dict.fromkeys(_ADDED_TO.values(), _ADDED),
}
ADDRESS = AddressKind()
STRIDED = AddressKind(strided=True)
SURFACE_ONLY = SurfaceOnlyKind()
TEXEL = TexelKind()
