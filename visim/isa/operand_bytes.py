"""Vector and raw operands in bytes (docs/formats.md).

A vector operand begins with a tag: its class in bits 0 to 2, its modifier in bits 3 to 7. A
destination keeps there whether it saturates.
"""

from __future__ import annotations

from functools import lru_cache

from visim.isa.codecs import CodingError, DecodeTables, EncodeTables, number_width, put
from visim.layout import Reader, Writer
from visim.operands import (
    SCALAR,
    AddressOf,
    AddressOperand,
    General,
    GeneralDestination,
    GeneralSource,
    Immediate,
    IndirectDestination,
    IndirectSource,
    Modifier,
    PredicateOperand,
    RawOperand,
    Region,
    SamplerVariable,
    StateAddressOf,
    StateOperand,
    VectorDestination,
    VectorSource,
)
from visim.types import BOOL, BY_CODE, DF, UQ, DataType, Q

_GENERAL, _ADDRESS, _PREDICATE, _INDIRECT, _IMMEDIATE, _STATE = 0, 1, 2, 3, 5, 6
_SATURATE = 4
_MODIFIERS = {
    0: Modifier.NONE,
    1: Modifier.ABS,
    2: Modifier.NEG,
    3: Modifier.NEG_ABS,
    5: Modifier.NOT,
}
_MODIFIER_CODES = {modifier: code for code, modifier in _MODIFIERS.items()}
_STEPS: tuple[int | None, ...] = (None, 0, 1, 2, 4, 8, 16, 32)
_STEP_CODES = {step: code for code, step in enumerate(_STEPS)}
_WIDTH_CODES = {1 << code: code for code in range(6)}
_WIDE = frozenset({DF, Q, UQ})
_STATE_SURFACE, _STATE_SAMPLER = 0, 1


def decode_source(reader: Reader, tables: DecodeTables) -> VectorSource:
    """Take a vector source."""
    tag = reader.unsigned(1)
    kind, code = tag & 7, tag >> 3
    if kind == _GENERAL:
        variable = tables.general(reader.unsigned(number_width(tables)))
        row, col = reader.unsigned(1), reader.unsigned(1)
        region = _source_region(reader.unsigned(2))
        if region.v is None:
            raise CodingError("a general operand has a region without vertical stride")
        return GeneralSource(variable, row, col, region, _modifier(code))
    if kind == _INDIRECT:
        address = tables.address(reader.unsigned(2))
        element, offset = reader.unsigned(1), reader.signed(2)
        data = _indirect_type(reader)
        region = _source_region(reader.unsigned(2))
        return IndirectSource(address, element, offset, data, region, _modifier(code))
    if code:
        raise CodingError(f"an operand of class {kind} has modifier {code}, it can have none")
    if kind == _IMMEDIATE:
        data = _type(reader.unsigned(1))
        return Immediate(reader.unsigned(8 if data in _WIDE else 4), data)
    return _decode_plain(kind, reader, tables)


def decode_destination(reader: Reader, tables: DecodeTables) -> VectorDestination:
    """Take a vector destination."""
    tag = reader.unsigned(1)
    kind, code = tag & 7, tag >> 3
    if kind not in {_GENERAL, _INDIRECT}:
        if code:
            raise CodingError(f"a destination of class {kind} has modifier {code}")
        return _decode_plain(kind, reader, tables)
    if code not in {0, _SATURATE}:
        raise CodingError(f"a destination has modifier {code}, it can have 0 or {_SATURATE}")
    if kind == _GENERAL:
        variable = tables.general(reader.unsigned(number_width(tables)))
        row, col = reader.unsigned(1), reader.unsigned(1)
        stride = _destination_stride(reader.unsigned(2))
        return GeneralDestination(variable, row, col, stride, code == _SATURATE)
    address = tables.address(reader.unsigned(2))
    element, offset = reader.unsigned(1), reader.signed(2)
    data = _indirect_type(reader)
    stride = _destination_stride(reader.unsigned(2))
    return IndirectDestination(address, element, offset, data, stride, code == _SATURATE)


def decode_address_base(reader: Reader, tables: DecodeTables) -> VectorSource:
    """Take a vector source where a variable stands for its address (ADDR_ADD)."""
    found = decode_source(reader, tables)
    match found:
        case GeneralSource(variable, row, col, region, Modifier.NONE) if region == SCALAR:
            offset = col * variable.type.bytes
            return AddressOf(variable, offset + row * tables.grf_bytes if row else offset)
        case GeneralSource():
            raise CodingError("the address of a variable has a region or modifier")
        case StateOperand(variable, element):
            return StateAddressOf(variable, element)
        case _:
            return found


def decode_raw(reader: Reader, tables: DecodeTables) -> RawOperand:
    """Take a raw operand."""
    return RawOperand(tables.general(reader.unsigned(number_width(tables))), reader.unsigned(2))


def encode_source(value: VectorSource, writer: Writer, tables: EncodeTables) -> None:
    """Append a vector source."""
    match value:
        case GeneralSource(variable, row, col, region, modifier):
            if region.v is None:
                raise CodingError("a general operand has a region without vertical stride")
            writer.unsigned(_GENERAL | _MODIFIER_CODES[modifier] << 3, 1)
            _put_place(writer, tables, variable, row, col)
            writer.unsigned(_source_code(region), 2)
        case IndirectSource(address, element, offset, data, region, modifier):
            writer.unsigned(_INDIRECT | _MODIFIER_CODES[modifier] << 3, 1)
            put(writer, tables.number(address), 2, "an address variable's number")
            _put_indirect(writer, element, offset, data)
            writer.unsigned(_source_code(region), 2)
        case Immediate(bits, data):
            writer.unsigned(_IMMEDIATE, 1)
            writer.unsigned(data.code, 1)
            put(writer, bits, 8 if data in _WIDE else 4, "a constant")
        case AddressOf() | StateAddressOf():
            raise CodingError("an object stores the address of a variable only in addr_add")
        case _:
            _encode_plain(value, writer, tables)


def encode_destination(value: VectorDestination, writer: Writer, tables: EncodeTables) -> None:
    """Append a vector destination."""
    match value:
        case GeneralDestination(variable, row, col, stride, saturate):
            writer.unsigned(_GENERAL | (_SATURATE if saturate else 0) << 3, 1)
            _put_place(writer, tables, variable, row, col)
            writer.unsigned(_step_code(stride) << 8, 2)
        case IndirectDestination(address, element, offset, data, stride, saturate):
            writer.unsigned(_INDIRECT | (_SATURATE if saturate else 0) << 3, 1)
            put(writer, tables.number(address), 2, "an address variable's number")
            _put_indirect(writer, element, offset, data)
            writer.unsigned(_step_code(stride) << 8, 2)
        case _:
            _encode_plain(value, writer, tables)


def encode_address_base(value: VectorSource, writer: Writer, tables: EncodeTables) -> None:
    """Append a vector source where a variable stands for its address (ADDR_ADD)."""
    match value:
        case AddressOf(variable, offset):
            row, rest = divmod(offset, tables.grf_bytes)
            col, part = divmod(rest, variable.type.bytes)
            if part:
                raise CodingError(f"&{variable.name}[{offset}] is not the address of an element")
            encode_source(GeneralSource(variable, row, col, SCALAR), writer, tables)
        case StateAddressOf(variable, offset):
            encode_source(StateOperand(variable, offset), writer, tables)
        case GeneralSource(_, _, _, region, modifier) if (region, modifier) != (SCALAR, ""):
            raise CodingError("the address of a variable has a region or modifier")
        case _:
            encode_source(value, writer, tables)


def encode_raw(value: RawOperand, writer: Writer, tables: EncodeTables) -> None:
    """Append a raw operand."""
    put(writer, tables.number(value.variable), number_width(tables), "a variable's number")
    put(writer, value.offset, 2, "a byte offset")


def _decode_plain(
    kind: int, reader: Reader, tables: DecodeTables
) -> AddressOperand | PredicateOperand | StateOperand:
    if kind == _ADDRESS:
        variable = tables.address(reader.unsigned(2))
        element, width = reader.unsigned(1), reader.unsigned(1)
        if width >= len(_WIDTH_CODES):
            raise CodingError(f"an address operand has width code {width}")
        return AddressOperand(variable, element, 1 << width)
    if kind == _PREDICATE:
        return PredicateOperand(tables.predicate(reader.unsigned(2)))
    if kind != _STATE:
        raise CodingError(f"an operand has class {kind}, which is none")
    state, number = reader.unsigned(1), reader.unsigned(2)
    if state not in {_STATE_SURFACE, _STATE_SAMPLER}:
        raise CodingError(f"a state operand has class {state}, only 0 and 1 are known")
    found = tables.sampler(number) if state == _STATE_SAMPLER else tables.surface(number)
    return StateOperand(found, reader.unsigned(1))


def _encode_plain(
    value: AddressOperand | PredicateOperand | StateOperand, writer: Writer, tables: EncodeTables
) -> None:
    match value:
        case AddressOperand(variable, element, width):
            if width not in _WIDTH_CODES:
                raise CodingError(f"an address operand has {width} elements")
            writer.unsigned(_ADDRESS, 1)
            put(writer, tables.number(variable), 2, "an address variable's number")
            put(writer, element, 1, "an element's number")
            writer.unsigned(_WIDTH_CODES[width], 1)
        case PredicateOperand(variable):
            writer.unsigned(_PREDICATE, 1)
            put(writer, tables.number(variable), 2, "a predicate variable's number")
        case StateOperand(variable, element):
            is_sampler = isinstance(variable, SamplerVariable)
            writer.unsigned(_STATE, 1)
            writer.unsigned(_STATE_SAMPLER if is_sampler else _STATE_SURFACE, 1)
            put(writer, tables.number(variable), 2, "a state variable's number")
            put(writer, element, 1, "an element's number")


def _put_place(writer: Writer, tables: EncodeTables, variable: General, row: int, col: int) -> None:
    put(writer, tables.number(variable), number_width(tables), "a variable's number")
    put(writer, row, 1, "a row")
    put(writer, col, 1, "a column")


def _put_indirect(writer: Writer, element: int, offset: int, data: DataType) -> None:
    if not -(1 << 15) <= offset < 1 << 15:
        raise CodingError(f"the offset {offset} of an indirect operand does not fit 16 bits")
    put(writer, element, 1, "an element's number")
    writer.unsigned(offset, 2)
    writer.unsigned(data.code, 1)


def _type(code: int) -> DataType:
    found = BY_CODE.get(code)
    if found is None or found is BOOL:
        raise CodingError(f"an operand has type code {code}")
    return found


def _indirect_type(reader: Reader) -> DataType:
    """Take the type of an indirect operand.

    Compilers of objects of version 3.2 leave an alignment above it, as a variable has one there.
    """
    return _type(reader.unsigned(1) & 15)


def _modifier(code: int) -> Modifier:
    found = _MODIFIERS.get(code)
    if found is None:
        raise CodingError(f"a source has modifier {code}")
    return found


@lru_cache(maxsize=1024)
def _source_region(code: int) -> Region:
    nibbles = (code & 15, code >> 4 & 15, code >> 8 & 15)
    if code >> 12 or max(nibbles) >= len(_STEPS):
        raise CodingError(f"0x{code:04x} is not a region")
    v, w, h = (_STEPS[nibble] for nibble in nibbles)
    if w is None or h is None:
        raise CodingError(f"0x{code:04x} is not a region of a source")
    return Region(v, w, h)


def _destination_stride(code: int) -> int:
    nibble = code >> 8
    stride = _STEPS[nibble] if nibble < len(_STEPS) else None
    if code & 0xFF or stride is None:
        raise CodingError(f"0x{code:04x} is not a region of a destination")
    return stride


def _step_code(step: int | None) -> int:
    if step not in _STEP_CODES:
        raise CodingError(f"{step} is not a stride or width of a region")
    return _STEP_CODES[step]


def _source_code(region: Region) -> int:
    return _step_code(region.v) | _step_code(region.w) << 4 | _step_code(region.h) << 8
