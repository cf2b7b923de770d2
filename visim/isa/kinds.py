"""Kinds of vector operands: how each is read and written, in text and bytes (specification 5, 8).

Knows the spelling of operands and nothing of what instructions do with them.
"""

import re
import struct
from dataclasses import dataclass
from functools import lru_cache

from visim.expressions import Level, expression, integer
from visim.isa.codecs import CodingError, DecodeTables, EncodeTables
from visim.isa.naming import of_class, type_name, variable
from visim.isa.operand_bytes import (
    decode_address_base,
    decode_destination,
    decode_source,
    encode_address_base,
    encode_destination,
    encode_source,
)
from visim.isa.registry import Names, field_type_error
from visim.layout import Reader, Writer
from visim.lex import (
    Cursor,
    parse_integer,
)
from visim.operands import (
    AddressOf,
    AddressOperand,
    AddressVariable,
    General,
    GeneralDestination,
    GeneralSource,
    Immediate,
    IndirectDestination,
    IndirectSource,
    Modifier,
    PredicateOperand,
    PredicateVariable,
    Region,
    SamplerVariable,
    StateAddressOf,
    StateOperand,
    SurfaceVariable,
    VectorDestination,
    VectorSource,
)
from visim.types import BOOL, BY_NAME, DF, UQ, DataType, F, Q

_MODIFIER = re.compile(r"\(\s*(abs|-abs|-|~)\s*\)\s*")
_PLAIN_ORIGIN = re.compile(r"\((\d{1,3}),(\d{1,3})\)", re.ASCII)
_FLOAT = re.compile(r"(-?)[ \t]*(\d+\.\d+(?:[eE][+-]\d+)?|\d+[eE][+-]\d+)", re.ASCII)
_FLOAT_BITS = re.compile(r"(-?)[ \t]*(0[xX][0-9a-fA-F]+|\d+)(?=[ \t]*:)", re.ASCII)
CONSTANT_BEGINS = re.compile(r"[-~!(\d]|%(?:sizeof|DispatchSimd)(?!\w)", re.ASCII)
_WIDE = frozenset({DF, Q, UQ})
_STEPS = frozenset({0, 1, 2, 4, 8, 16, 32})
_MOST = 256
_LIMIT = 1 << 64
# The commonest operands in one step each; whatever does not match takes the long way.
_BYTE = r"(\d{1,2}|1\d\d|2[0-4]\d|25[0-5])"
_STEP = r"(0|1|2|4|8|16|32)"
_PLAIN_SOURCE = re.compile(
    rf"\s*(?:\((abs|-abs|-|~)\))?(%?[A-Za-z_]\w*)\({_BYTE},{_BYTE}\)<{_STEP};{_STEP},{_STEP}>",
    re.ASCII,
)
_PLAIN_DESTINATION = re.compile(rf"\s*(%?[A-Za-z_]\w*)\({_BYTE},{_BYTE}\)<{_STEP}>", re.ASCII)
_PLAIN_IMMEDIATE = re.compile(r"\s*(-?(?:0[xX][0-9a-fA-F]+|\d+)):([A-Za-z]+)", re.ASCII)


def _show_region(region: Region) -> str:
    if region.v is None:
        return f"<{region.w},{region.h}>"
    return f"<{region.v};{region.w},{region.h}>"


@lru_cache(maxsize=1024)
def _region(v: str, w: str, h: str) -> Region:
    return Region(int(v), int(w), int(h))


_MODIFIERS = {
    None: Modifier.NONE,
    "abs": Modifier.ABS,
    "-": Modifier.NEG,
    "-abs": Modifier.NEG_ABS,
    "~": Modifier.NOT,
}


def _step(cursor: Cursor, names: Names, level: Level = Level.CONDITION) -> int:
    """Take a number that is a stride or width of a region."""
    cursor.skip_space()
    start = cursor.position
    value = expression(cursor, names, "a stride or width", level=level)
    if value not in _STEPS:
        raise cursor.failure_at(
            start,
            "region",
            f"{value} is not a stride or width of a region",
            help="use 0, 1, 2, 4, 8, 16 or 32",
        )
    return value


def place(cursor: Cursor, names: Names) -> tuple[int, int]:
    """Take a row and column in brackets if they stand here; without them both are 0."""
    plain = cursor.match(_PLAIN_ORIGIN)
    if plain:
        row, col = int(plain.group(1)), int(plain.group(2))
        if row < _MOST and col < _MOST:
            return row, col
        cursor.position = plain.start()
    cursor.skip_space()
    if not cursor.take("("):
        return 0, 0
    row = integer(cursor, names, "a row", high=_MOST)
    cursor.expect(",")
    col = integer(cursor, names, "a column", high=_MOST)
    cursor.expect(")")
    return row, col


def _needed_step(cursor: Cursor, names: Names) -> int:
    """Take a stride such as `<1>`, or fail."""
    cursor.skip_space()
    if not cursor.take("<"):
        raise cursor.failure("a stride such as '<1>'")
    stride = _step(cursor, names, Level.SHIFT)
    cursor.expect(">")
    return stride


def _source_region(cursor: Cursor, names: Names, *, indirect: bool) -> Region:
    """Take `<v;w,h>`, or, of an indirect operand, also `<w,h>`."""
    cursor.skip_space()
    if not cursor.take("<"):
        raise cursor.failure("a region such as '<1;1,0>'")
    first = _step(cursor, names)
    cursor.skip_space()
    if cursor.take(";"):
        v, w = first, _step(cursor, names)
    elif indirect and cursor.text.startswith(",", cursor.position):
        v, w = None, first
    else:
        raise cursor.failure("';' and the region's width")
    cursor.expect(",")
    region = Region(v, w, _step(cursor, names, Level.SHIFT))
    cursor.expect(">")
    return region


def immediate(cursor: Cursor, names: Names) -> Immediate:
    """Take a constant such as `0x3f800000:f`, `-5:w`, `1.5:f` or `(4*8):ud`."""
    plain = _PLAIN_IMMEDIATE.match(cursor.text, cursor.position)
    if plain:
        known = _constant(*plain.groups())
        if known is not None:
            cursor.position = plain.end()
            return known
    cursor.skip_space()
    start = cursor.position
    decimal = cursor.match(_FLOAT)
    if decimal:
        return _decimal(cursor, start, "".join(decimal.groups()))
    literal = cursor.match(_FLOAT_BITS)
    if literal:
        known = _constant("".join(literal.groups()), type_name(cursor).name)
        if known is not None:
            return known
        cursor.position = start
    value = expression(cursor, names, "a constant", level=Level.UNARY)
    kind = type_name(cursor)
    if kind.is_float:
        raise cursor.failure_at(start, "immediate", f"an expression cannot be {kind!r}")
    return _integer_constant(value, kind)


@lru_cache(maxsize=4096)
def _constant(digits: str, type_name: str) -> Immediate | None:
    """Return the constant that a literal stands for; None where it needs a second look.

    A minus before the bits of a float turns its sign.
    """
    kind = BY_NAME.get(type_name.lower())
    value = parse_integer(digits)
    if kind is None or kind is BOOL or not -_LIMIT < value < _LIMIT:
        return None
    if kind.is_float and digits.startswith("-"):
        return _integer_constant(-value ^ 1 << kind.bits - 1, kind)
    return _integer_constant(value, kind)


def _integer_constant(value: int, kind: DataType) -> Immediate:
    width = 64 if kind in _WIDE else 32
    return Immediate(value & ((1 << width) - 1), kind)


def _decimal(cursor: Cursor, start: int, digits: str) -> Immediate:
    kind = type_name(cursor)
    if kind is not F and kind is not DF:
        raise cursor.failure_at(start, "immediate", f"a decimal fraction cannot be {kind!r}")
    try:
        stored = struct.pack("<d" if kind is DF else "<f", float(digits))
    except OverflowError:
        message = f"{digits} is too large for {kind!r}"
        raise cursor.failure_at(start, "immediate", message) from None
    return Immediate(int.from_bytes(stored, "little"), kind)


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A vector source of any class."""

    expected: str = "a source operand"

    def parse(self, cursor: Cursor, names: Names) -> VectorSource:
        """Take the operand."""
        plain = _PLAIN_SOURCE.match(cursor.text, cursor.position)
        if plain:
            word, name, row, col, v, w, h = plain.groups()
            known = names.lookup(name)
            if isinstance(known, General):
                cursor.position = plain.end()
                return GeneralSource(known, int(row), int(col), _region(v, w, h), _MODIFIERS[word])
        cursor.skip_space()
        found = cursor.match(_MODIFIER)
        modifier = _MODIFIERS[found.group(1) if found else None]
        if cursor.text.startswith("r[", cursor.position):
            return self._indirect(cursor, names, modifier)
        if found is None:
            if cursor.take("&"):
                return self._address_of(cursor, names)
            if CONSTANT_BEGINS.match(cursor.text, cursor.position):
                return immediate(cursor, names)
        return self._named(cursor, names, modifier)

    @staticmethod
    def _indirect(cursor: Cursor, names: Names, modifier: Modifier) -> IndirectSource:
        address, element, offset = _indirect_base(cursor, names)
        region = _source_region(cursor, names, indirect=True)
        return IndirectSource(address, element, offset, type_name(cursor), region, modifier)

    @staticmethod
    def _address_of(cursor: Cursor, names: Names) -> AddressOf | StateAddressOf:
        found = variable(cursor, names, "a variable after '&'")
        offset = _index(cursor, names)
        if isinstance(found, General):
            return AddressOf(found, offset)
        if isinstance(found, SurfaceVariable | SamplerVariable):
            return StateAddressOf(found, offset)
        message = field_type_error(found, "a general, surface or sampler variable")
        raise cursor.failure_at(cursor.position, "operand-class", message)

    def _named(self, cursor: Cursor, names: Names, modifier: Modifier) -> VectorSource:
        start = cursor.position
        found = variable(cursor, names, self.expected)
        if isinstance(found, General):
            row, col = place(cursor, names)
            region = _source_region(cursor, names, indirect=False)
            return GeneralSource(found, row, col, region, modifier)
        if modifier is not Modifier.NONE:
            message = f"{found.name} takes no modifier, only general operands do"
            raise cursor.failure_at(start, "modifier", message)
        if isinstance(found, PredicateVariable):
            return PredicateOperand(found)
        if isinstance(found, AddressVariable):
            return _address_operand(cursor, names, found)
        return StateOperand(found, _element(cursor, names))

    def show(self, value: VectorSource) -> str:
        """Return it as IGC prints it."""
        match value:
            case GeneralSource(found, row, col, region, modifier):
                return f"{modifier}{found.name}({row},{col}){_show_region(region)}"
            case IndirectSource(address, element, offset, kind, region, modifier):
                base = f"{modifier}r[{address.name}({element}),{offset}]"
                return f"{base}{_show_region(region)}:{kind.name}"
            case Immediate(bits, kind):
                return f"0x{bits:x}:{kind.name}"
            case AddressOperand(found, element, width):
                return f"{found.name}({element})<{width}>"
            case AddressOf(found, offset):
                return f"&{found.name}[{offset}]" if offset else f"&{found.name}"
            case StateAddressOf(found, offset):
                return f"&{found.name}[{offset}]" if offset else f"&{found.name}"
            case PredicateOperand(found):
                return found.name
            case StateOperand(found, element):
                return f"{found.name}({element})"

    def decode(self, reader: Reader, tables: DecodeTables) -> VectorSource:
        """Take the operand's bytes."""
        return decode_source(reader, tables)

    def encode(self, value: VectorSource, writer: Writer, tables: EncodeTables) -> None:
        """Append the operand's bytes."""
        encode_source(value, writer, tables)


@dataclass(frozen=True, slots=True)
class AddressBaseKind(SourceKind):
    """A vector source where an object stores a general variable for its address (ADDR_ADD)."""

    def decode(self, reader: Reader, tables: DecodeTables) -> VectorSource:
        """Take the operand's bytes."""
        return decode_address_base(reader, tables)

    def encode(self, value: VectorSource, writer: Writer, tables: EncodeTables) -> None:
        """Append the operand's bytes."""
        encode_address_base(value, writer, tables)


def _indirect_base(cursor: Cursor, names: Names) -> tuple[AddressVariable, int, int]:
    """Take `r[A0(0),-32]`; the offset may be missing."""
    cursor.expect("r[")
    found = of_class(cursor, names, AddressVariable, "an address variable")
    if not cursor.text.startswith("(", cursor.position):
        cursor.skip_space()
    if not cursor.text.startswith("(", cursor.position):
        raise cursor.failure("an element such as '(0)'")
    number = _element(cursor, names)
    cursor.skip_space()
    offset = 0
    if cursor.take(","):
        offset = integer(cursor, names, "a byte offset", low=-(1 << 15), high=1 << 15)
    cursor.expect("]")
    return found, number, offset


def _element(cursor: Cursor, names: Names) -> int:
    """Take an element's number in brackets if it stands here; without it it is 0."""
    cursor.skip_space()
    if not cursor.take("("):
        return 0
    number = integer(cursor, names, "an element's number", high=_MOST)
    cursor.expect(")")
    return number


def _index(cursor: Cursor, names: Names) -> int:
    """Take a byte offset in square brackets if it stands here; without it it is 0."""
    cursor.skip_space()
    if not cursor.take("["):
        return 0
    offset = integer(cursor, names, "a byte offset", high=1 << 14)
    cursor.expect("]")
    return offset


def _address_operand(cursor: Cursor, names: Names, found: AddressVariable) -> AddressOperand:
    element = _element(cursor, names)
    cursor.skip_space()
    has_width = cursor.text.startswith("<", cursor.position)
    return AddressOperand(found, element, _needed_step(cursor, names) if has_width else 1)


@dataclass(frozen=True, slots=True)
class DestinationKind:
    """A vector destination of any class."""

    expected: str = "a destination operand"

    def parse(self, cursor: Cursor, names: Names) -> VectorDestination:
        """Take the operand."""
        plain = _PLAIN_DESTINATION.match(cursor.text, cursor.position)
        if plain:
            name, row, col, step = plain.groups()
            known = names.lookup(name)
            if isinstance(known, General):
                cursor.position = plain.end()
                return GeneralDestination(known, int(row), int(col), int(step))
        cursor.skip_space()
        if cursor.text.startswith("r[", cursor.position):
            address, element, offset = _indirect_base(cursor, names)
            stride = _needed_step(cursor, names)
            return IndirectDestination(address, element, offset, type_name(cursor), stride)
        found = variable(cursor, names, self.expected)
        match found:
            case General():
                row, col = place(cursor, names)
                stride = _needed_step(cursor, names)
                return GeneralDestination(found, row, col, stride)
            case AddressVariable():
                return _address_operand(cursor, names, found)
            case PredicateVariable():
                return PredicateOperand(found)
            case SamplerVariable() | SurfaceVariable():
                return StateOperand(found, _element(cursor, names))

    def show(self, value: VectorDestination) -> str:
        """Return it as IGC prints it."""
        match value:
            case GeneralDestination(found, row, col, stride):
                return f"{found.name}({row},{col})<{stride}>"
            case IndirectDestination(address, element, offset, kind, stride):
                return f"r[{address.name}({element}),{offset}]<{stride}>:{kind.name}"
            case AddressOperand(found, element, width):
                return f"{found.name}({element})<{width}>"
            case PredicateOperand(found):
                return found.name
            case StateOperand(found, element):
                return f"{found.name}({element})"

    def decode(self, reader: Reader, tables: DecodeTables) -> VectorDestination:
        """Take the operand's bytes."""
        return decode_destination(reader, tables)

    def encode(self, value: VectorDestination, writer: Writer, tables: EncodeTables) -> None:
        """Append the operand's bytes."""
        encode_destination(value, writer, tables)


@dataclass(frozen=True, slots=True)
class UnregionedSourceKind:
    """A general source printed without its region: `V40(0,0)` (src2 of dpas)."""

    expected: str = "an operand such as 'V40(0,0)'"

    def parse(self, cursor: Cursor, names: Names) -> GeneralSource:
        """Take the operand; its region is <1;1,0>."""
        found = of_class(cursor, names, General, self.expected)
        cursor.skip_space()
        if not cursor.text.startswith("(", cursor.position):
            raise cursor.failure("a row and column such as '(0,0)'")
        return GeneralSource(found, *place(cursor, names), Region(1, 1, 0))

    def show(self, value: GeneralSource) -> str:
        """Return it as IGC prints it."""
        return f"{value.variable.name}({value.row},{value.col})"

    def decode(self, reader: Reader, tables: DecodeTables) -> GeneralSource:
        """Take the operand's bytes; its region must be <1;1,0>."""
        found = decode_source(reader, tables)
        if not isinstance(found, GeneralSource) or found.region != Region(1, 1, 0):
            raise CodingError("an operand is not a general variable with the region <1;1,0>")
        return found

    def encode(self, value: GeneralSource, writer: Writer, tables: EncodeTables) -> None:
        """Append the operand's bytes."""
        encode_source(value, writer, tables)


SOURCE = SourceKind()
ADDRESS_BASE = AddressBaseKind()
DESTINATION = DestinationKind()
UNREGIONED = UnregionedSourceKind()
