"""Kinds of words and numbers beside operands: sizes, choices, masks, options.

Each is one number in a binary object; what it is called in text, its kind says.
"""

import re
from dataclasses import dataclass
from typing import Any

from visim.isa.codecs import CodedKind, CodingError, DecodeTables, EncodeTables
from visim.isa.registry import Names
from visim.layout import Reader, Writer
from visim.lex import Cursor

_SUFFIX = re.compile(r"\.(\w+)", re.ASCII)
_HEX_BYTE = re.compile(r"0*([0-9a-fA-F]{1,2})\b", re.ASCII)


@dataclass(frozen=True, slots=True)
class NumberKind(CodedKind):
    """A plain unsigned integer, which objects store in `width` bytes."""

    expected: str = "an integer"
    width: int = 4

    def parse(self, cursor: Cursor, names: Names) -> int:
        """Take the integer."""
        return cursor.integer(self.expected, high=1 << 8 * self.width)

    def show(self, value: int) -> str:
        """Return it in decimal."""
        return str(value)

    def to_code(self, value: int) -> int:
        """Return the number itself."""
        return value

    def from_code(self, code: int) -> int:
        """Return the number itself."""
        return code


@dataclass(frozen=True, slots=True)
class SignedNumberKind:
    """A signed integer of `width` bytes, which only objects have."""

    width: int

    def decode(self, reader: Reader, tables: DecodeTables) -> int:
        """Take the integer."""
        return reader.signed(self.width)

    def encode(self, value: int, writer: Writer, tables: EncodeTables) -> None:
        """Append the integer."""
        limit = 1 << 8 * self.width - 1
        if not -limit <= value < limit:
            raise CodingError(f"{value} does not fit {self.width} bytes")
        writer.unsigned(value, self.width)


@dataclass(frozen=True, slots=True)
class SizeKind(CodedKind):
    """One of a few numbers; `codes` gives each its number in an object."""

    codes: tuple[tuple[int, int], ...]

    @property
    def expected(self) -> str:
        """What stands here."""
        *head, last = (str(value) for value, _code in self.codes)
        return f"{', '.join(head)} or {last}"

    def parse(self, cursor: Cursor, names: Names) -> int:
        """Take the number."""
        cursor.skip_space()
        start = cursor.position
        value = cursor.integer(self.expected)
        if value not in dict(self.codes):
            message = f"expected {self.expected}, found {value}"
            raise cursor.failure_at(start, "out-of-range", message)
        return value

    def show(self, value: int) -> str:
        """Return it in decimal."""
        return str(value)

    def to_code(self, value: int) -> int:
        """Return the number's code."""
        return _code_of(value, self.codes)

    def from_code(self, code: int) -> int:
        """Return the number of a code."""
        return _value_of(code, self.codes, "a size")


@dataclass(frozen=True, slots=True)
class BitsKind(CodedKind):
    """Bits that only objects have, as they stand there."""

    def to_code(self, value: int) -> int:
        """Return the bits."""
        return value

    def from_code(self, code: int) -> int:
        """Return the bits."""
        return code


def refuse_suffix(cursor: Cursor, what: str, known: list[str]) -> None:
    """Fail when a suffix stands here that is none of the `known` ones."""
    found = _SUFFIX.match(cursor.text, cursor.position)
    if found is not None and found.group(1) not in known:
        singular = what.removeprefix("a ").removesuffix("s")
        raise cursor.unknown_word(found.start(1), singular, found.group(1), known)


def _code_of(value: Any, codes: tuple[tuple[Any, int], ...]) -> int:
    for known, code in codes:
        if known == value:
            return code
    raise CodingError(f"{value!r} is none of {', '.join(str(known) for known, _ in codes)}")


def _value_of(code: int, codes: tuple[tuple[Any, int], ...], what: str) -> Any:
    for value, known in codes:
        if known == code:
            return value
    raise CodingError(f"0x{code:x} stands for no {what.removeprefix('a ').removeprefix('an ')}")


@dataclass(frozen=True, slots=True)
class ChoiceKind(CodedKind):
    """One of a few words; `codes` gives each its number in an object, `letters` what one is."""

    codes: tuple[tuple[str, int], ...]
    expected: str
    letters: str = r"\w+"
    any_case: bool = False

    @property
    def example(self) -> str:
        """What is expected, with a word that may stand there."""
        return f"{self.expected} such as {self.codes[0][0]!r}"

    def parse(self, cursor: Cursor, names: Names) -> str:
        """Take the word."""
        cursor.skip_space()
        start = cursor.position
        word = cursor.need(re.compile(self.letters), self.example).group()
        word = word.lower() if self.any_case else word
        if word not in dict(self.codes):
            what = self.expected.removeprefix("a ").removeprefix("an ")
            raise cursor.unknown_word(start, what, word, dict(self.codes))
        return word

    def show(self, value: str) -> str:
        """Return the word."""
        return value

    def to_code(self, value: str) -> int:
        """Return the word's number."""
        return _code_of(value, self.codes)

    def from_code(self, code: int) -> str:
        """Return the word of a number."""
        return _value_of(code, self.codes, self.expected)


@dataclass(frozen=True, slots=True)
class HexSuffixKind(CodedKind):
    """A byte in hexadecimal without 0x, as after `bfn.x`."""

    expected: str = "two hexadecimal digits"

    def parse(self, cursor: Cursor, names: Names) -> int:
        """Take the digits."""
        return int(cursor.need(_HEX_BYTE, self.expected).group(1), 16)

    def show(self, value: int) -> str:
        """Return the digits."""
        return f"{value:x}"

    def to_code(self, value: int) -> int:
        """Return the number itself."""
        return value

    def from_code(self, code: int) -> int:
        """Return the number itself."""
        return code


@dataclass(frozen=True, slots=True)
class ChannelsKind(CodedKind):
    """A mask of four channels, `letters` in this order (specification GATHER4_SCALED)."""

    letters: str = "RGBA"

    @property
    def expected(self) -> str:
        """What stands here."""
        return f"channels such as '{self.letters}'"

    def parse(self, cursor: Cursor, names: Names) -> str:
        """Take the letters."""
        pattern = "".join(f"{letter}?" for letter in self.letters)
        written = re.compile(rf"{pattern}\b(?<=[{self.letters}])", re.IGNORECASE)
        found = cursor.need(written, self.expected).group()
        return "".join(letter for letter in self.letters if letter.lower() in found.lower())

    def show(self, value: str) -> str:
        """Return the letters."""
        return value

    def to_code(self, value: str) -> int:
        """Return a bit for each letter, the first lowest."""
        return sum(1 << self.letters.index(letter) for letter in value)

    def from_code(self, code: int) -> str:
        """Return the letters of the bits."""
        if not 0 < code < 1 << 4:
            raise CodingError(f"0x{code:x} is not a channel mask")
        return "".join(letter for bit, letter in enumerate(self.letters) if code >> bit & 1)


@dataclass(frozen=True, slots=True)
class OptionalWordKind(CodedKind):
    """A suffix that may be absent, such as `.64`; `codes` gives each word its bits in an object."""

    codes: tuple[tuple[str, int], ...]
    expected: str

    def parse(self, cursor: Cursor, names: Names) -> str:
        """Take the word after a dot, or return "" when there is none."""
        for word, _code in self.codes:
            pattern = re.compile(rf"\.{re.escape(word)}(?!\w)")
            if cursor.match(pattern):
                return word
        refuse_suffix(cursor, self.expected, [word for word, _code in self.codes])
        return ""

    def show(self, value: str) -> str:
        """Return it with its dot."""
        return f".{value}" if value else ""

    def to_code(self, value: str) -> int:
        """Return the word's bits."""
        return _code_of(value, (("", 0), *self.codes))

    def from_code(self, code: int) -> str:
        """Return the word of the bits."""
        return _value_of(code, (("", 0), *self.codes), self.expected)


@dataclass(frozen=True, slots=True)
class FlagsKind(CodedKind):
    """Letters after the mnemonic, such as `.EL1`; `codes` gives each its bit in an object."""

    codes: tuple[tuple[str, int], ...]
    expected: str = "options"

    def parse(self, cursor: Cursor, names: Names) -> str:
        """Take the letters, without the first dot."""
        letters = "|".join(re.escape(letter) for letter, _bit in self.codes)
        match = cursor.match(re.compile(rf"\.((?:{letters}|\.)*)(?!\w)"))
        if match is None:
            refuse_suffix(cursor, self.expected, [letter for letter, _bit in self.codes])
            return ""
        return match.group(1)

    def show(self, value: str) -> str:
        """Return them with the dot."""
        return f".{value}" if value else ""

    def to_code(self, value: str) -> int:
        """Return the letters' bits."""
        letters = value.replace(".", "")
        code = 0
        while letters:
            found = next((entry for entry in self.codes if letters.startswith(entry[0])), None)
            if found is None:
                raise CodingError(f"{value!r} has an option that is not known")
            letters = letters.removeprefix(found[0])
            code |= found[1]
        return code

    def from_code(self, code: int) -> str:
        """Return the letters of the bits."""
        unknown = code & ~sum(bit for _letter, bit in self.codes)
        if unknown:
            raise CodingError(f"0x{unknown:x} stands for no option")
        return "".join(letter for letter, bit in self.codes if code & bit)


@dataclass(frozen=True, slots=True)
class PrefixesKind(CodedKind):
    """Words with a dot after each, such as `cps.`; `codes` gives each its bit in an object."""

    codes: tuple[tuple[str, int], ...]
    expected: str = "options"

    def parse(self, cursor: Cursor, names: Names) -> tuple[str, ...]:
        """Take all words that stand here, in the order of their bits."""
        found: set[str] = set()
        pattern = re.compile("|".join(rf"{word}\." for word, _ in self.codes))
        while match := cursor.match(pattern):
            found.add(match.group().rstrip("."))
        return tuple(word for word, _ in self.codes if word in found)

    def show(self, value: tuple[str, ...]) -> str:
        """Return them, a dot after each."""
        return "".join(f"{word}." for word in value)

    def to_code(self, value: tuple[str, ...]) -> int:
        """Return the words' bits."""
        return sum(bit for word, bit in self.codes if word in value)

    def from_code(self, code: int) -> tuple[str, ...]:
        """Return the words of the bits."""
        return tuple(word for word, bit in self.codes if code & bit)


NUMBER = NumberKind()
BYTE = NumberKind(width=1)
UP_TO_8 = SizeKind(((1, 0), (2, 1), (4, 2), (8, 3)))
OWORDS = SizeKind(((1, 0), (2, 1), (4, 2), (8, 3), (16, 4)))
BITS = BitsKind()
CHANNELS = ChannelsKind()
HEX_SUFFIX = HexSuffixKind()
OPTIONS = FlagsKind((("E", 0x01), ("I", 0x02), ("S", 0x04), ("C", 0x08), ("R", 0x10), ("L1", 0x40)))
