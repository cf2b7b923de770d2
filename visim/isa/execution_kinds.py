"""Kinds of what stands before the operands: predication and execution size."""

import re
from dataclasses import dataclass, replace
from functools import cache

from visim.isa.codecs import CodedKind, CodingError, DecodeTables, EncodeTables
from visim.isa.registry import Names, field_type_error
from visim.layout import Reader, Writer
from visim.lex import (
    Cursor,
)
from visim.operands import (
    Combine,
    ExecSize,
    PredicateVariable,
    Predication,
)

_EXEC = re.compile(r"\s*\(\s*(?:(?:M([1-8])(_NM)?|(NoMask))\s*,\s*)?(1|2|4|8|16|32)\s*\)", re.ASCII)
_PREDICATION = re.compile(r"\(\s*(!?)\s*([A-Za-z_]\w*)\s*(?:\.(any|all))?\s*\)", re.ASCII)
_SIZES = frozenset({1, 2, 4, 8, 16, 32})
_NO_MASK_3_0, _DEFAULT_MASK_3_0 = 8, 9
_SIZES_AND_MASKS = "sizes are 1, 2, 4, 8, 16 and 32, masks M1 to M8 and M1_NM to M8_NM"
_NO_MASK_OFFSETS = (3, 1)
"""The version since which NoMask has a mask offset."""
_SATURATION = ".sat"
_COMBINE_CODES = {Combine.NONE: 0, Combine.ANY: 1, Combine.ALL: 2}


@dataclass(frozen=True, slots=True)
class ExecKind(CodedKind):
    """Execution size and mask control: `(M1, 16)`, `(M5_NM, 8)`, `(16)`, `(NoMask, 1)`."""

    expected: str = "an execution size such as '(M1, 16)'"

    def parse(self, cursor: Cursor, names: Names) -> ExecSize:
        """Take the execution size."""
        match = _EXEC.match(cursor.text, cursor.position)
        if match is None:
            cursor.skip_space()
            if cursor.text.startswith(_SATURATION, cursor.position):
                message = "the instruction does not saturate: it takes no .sat"
                size = len(_SATURATION)
                raise cursor.failure_at(cursor.position, "saturation", message, length=size)
            raise cursor.bracketed_failure(self.expected, help=_SIZES_AND_MASKS)
        cursor.position = match.end()
        return _exec_size(*match.groups())

    def show(self, value: ExecSize) -> str:
        """Return it as IGC prints it."""
        return str(value)

    def to_code(self, value: ExecSize) -> int:
        """Return the byte: the size's logarithm, then the mask control."""
        known = value.size in _SIZES and value.offset % 4 == 0 and 0 <= value.offset < 32
        if not known:
            raise CodingError(f"there is no execution size {value}")
        control = value.offset // 4 + (8 if value.no_mask else 0)
        return value.size.bit_length() - 1 | control << 4

    def from_code(self, code: int) -> ExecSize:
        """Return the execution size of a byte."""
        size, control = 1 << (code & 15), code >> 4
        if size not in _SIZES:
            raise CodingError(f"execution size code {code & 15} is not known")
        return ExecSize(size, 4 * (control & 7), control >= 8)

    def decode(self, reader: Reader, tables: DecodeTables) -> ExecSize:
        """Take the byte; in version 3.0, controls 8 and 9 are NoMask and the default, M1."""
        code = reader.unsigned(1)
        if tables.version >= _NO_MASK_OFFSETS or code >> 4 < _NO_MASK_3_0:
            return self.from_code(code)
        if code >> 4 > _DEFAULT_MASK_3_0:
            raise CodingError(f"mask control {code >> 4} is not known in version 3.0")
        return replace(self.from_code(code & 15), no_mask=code >> 4 == _NO_MASK_3_0)

    def encode(self, value: ExecSize, writer: Writer, tables: EncodeTables) -> None:
        """Append the byte; version 3.0 has NoMask for the first channels only."""
        if tables.version < _NO_MASK_OFFSETS and value.no_mask and value.offset:
            raise CodingError(f"version 3.0 has no place for {value}, only for (M1_NM, ...)")
        writer.unsigned(self.to_code(value), 1)


@cache
def _exec_size(
    number: str | None, no_mask: str | None, plain_no_mask: str | None, size: str
) -> ExecSize:
    offset = 4 * (int(number) - 1) if number else 0
    return ExecSize(int(size), offset, bool(no_mask or plain_no_mask))


@dataclass(frozen=True, slots=True)
class PredicationKind:
    """The predicate before the mnemonic: `(P1) `, `(!P1.any) `."""

    expected: str = "a predicate such as '(!P1.any)'"
    rule: str = "'!' inverts, '.any' and '.all' combine the channels"

    def parse(self, cursor: Cursor, names: Names) -> Predication | None:
        """Take the predicate if one stands here."""
        cursor.skip_space()
        start = cursor.position
        match = cursor.match(_PREDICATION)
        if match is None:
            return None
        invert, name, combine = match.groups()
        found = names.lookup(name)
        if found is None:
            at = start + match.start(2) - match.start()
            raise cursor.unknown_name(at, "variable", name, names.known())
        if not isinstance(found, PredicateVariable):
            raise cursor.failure_at(
                start, "operand-class", field_type_error(found, "a predicate variable")
            )
        return Predication(found, bool(invert), Combine(combine or ""))

    def show(self, value: Predication | None) -> str:
        """Return it with the blank that separates it from the mnemonic."""
        if value is None:
            return ""
        combine = f".{value.combine}" if value.combine else ""
        return f"({'!' if value.invert else ''}{value.variable.name}{combine}) "

    def decode(self, reader: Reader, tables: DecodeTables) -> Predication | None:
        """Take the predicate; number 0 is none."""
        code = reader.unsigned(2)
        if code == 0:
            return None
        combine = next((c for c, bits in _COMBINE_CODES.items() if bits == code >> 13 & 3), None)
        if combine is None or code & 0x1000 or not code & 0xFFF:
            raise CodingError(f"0x{code:04x} is not a predicate")
        return Predication(tables.predicate(code & 0xFFF), bool(code >> 15), combine)

    def encode(self, value: Predication | None, writer: Writer, tables: EncodeTables) -> None:
        """Append the predicate."""
        if value is None:
            writer.unsigned(0, 2)
            return
        number = tables.number(value.variable)
        if not 0 < number < 1 << 12:
            raise CodingError(f"predicate variable {value.variable.name} has number {number}")
        bits = number | _COMBINE_CODES[value.combine] << 13 | (0x8000 if value.invert else 0)
        writer.unsigned(bits, 2)


EXEC = ExecKind()
PREDICATION = PredicationKind()
