"""Operands that a form has since a version only: texts and objects before it lack them.

A form is declared once; which of its operands a version has, its fields say.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from visim.isa.codecs import CodingError, DecodeTables, EncodeTables, Version
from visim.isa.raw_kinds import RawKind
from visim.isa.registry import Instruction, Names, kinds_of
from visim.isa.word_kinds import NumberKind, SignedNumberKind
from visim.layout import Reader, Writer
from visim.lex import Cursor

UNALIGNED, _ALIGNED = "unaligned", "aligned"
_ALIGNMENT = re.compile(rf"\.({UNALIGNED}|{_ALIGNED})(?!\w)")
_ALIGNMENT_SINCE = (4, 2)


@dataclass(frozen=True, slots=True)
class SinceKind:
    """An operand that versions from `since` on have; its value is None in older ones.

    `default` is what an older instruction means when it is written for a newer version, and the
    only value that can be left out of an older one. In text the operand has a blank before it.
    """

    since: Version
    kind: RawKind
    default: Any

    @property
    def expected(self) -> str:
        """What stands here."""
        return self.kind.expected

    def parse(self, cursor: Cursor, names: Names) -> Any:
        """Take the operand if the text's version has one."""
        return self.kind.parse(cursor, names) if names.version >= self.since else None

    def show(self, value: Any) -> str:
        """Return the operand and the blank before it; nothing where there is none."""
        return "" if value is None else f" {self.kind.show(value)}"

    def decode(self, reader: Reader, tables: DecodeTables) -> Any:
        """Take the operand's bytes if the object's version has it."""
        return self.kind.decode(reader, tables) if tables.version >= self.since else None

    def encode(self, value: Any, writer: Writer, tables: EncodeTables) -> None:
        """Append the operand's bytes if the object's version has it."""
        known = self.default if value is None else value
        if tables.version >= self.since:
            self.kind.encode(known, writer, tables)
        elif known != self.default:
            major, minor = tables.version
            raise CodingError(
                f"version {major}.{minor} has no place for {self.kind.show(known)}, which versions "
                f"from {self.since[0]}.{self.since[1]} on have"
            )


@dataclass(frozen=True, slots=True)
class SinceNumberKind:
    """A number that objects have since a version; in older ones it is 0 and takes no bytes."""

    since: Version
    kind: NumberKind | SignedNumberKind
    what: str

    def decode(self, reader: Reader, tables: DecodeTables) -> int:
        """Take the number if the object's version has it."""
        return self.kind.decode(reader, tables) if tables.version >= self.since else 0

    def encode(self, value: int, writer: Writer, tables: EncodeTables) -> None:
        """Append the number if the object's version has it."""
        if tables.version >= self.since:
            self.kind.encode(value, writer, tables)
        elif value:
            major, minor = tables.version
            raise CodingError(f"version {major}.{minor} has no place for {self.what}")


@dataclass(frozen=True, slots=True)
class AlignmentKind:
    """`.unaligned` or `.aligned` of a block in memory; before version 4.2 most texts say neither.

    Texts of version 4.1 do that ocloc 24.35 writes. Objects have a bit for it, the field
    `unaligned` of the instruction. Without a word a block is unaligned (IGC's grammar).
    """

    expected: str = f"'.{UNALIGNED}' or '.{_ALIGNED}'"
    since: Version = _ALIGNMENT_SINCE
    default: str = UNALIGNED

    def parse(self, cursor: Cursor, names: Names) -> str | None:
        """Take the word; without one a text of a version that has it means the default."""
        if found := cursor.match(_ALIGNMENT):
            return found.group(1)
        return self.default if names.version >= self.since else None

    def show(self, value: str | None) -> str:
        """Return the word with its dot."""
        return "" if value is None else f".{value}"

    def decode_after(
        self, values: Mapping[str, Any], reader: Reader, tables: DecodeTables
    ) -> str | None:
        """Return what the bit stands for; the word itself has no bytes."""
        del reader
        if tables.version < self.since:
            return None
        return UNALIGNED if values["unaligned"] else _ALIGNED

    def encode_within(self, instruction: Any, writer: Writer, tables: EncodeTables) -> None:
        """Append nothing: the bit says it."""


def at_version(instruction: Instruction, version: Version) -> Instruction:
    """Return an instruction of an older version with the operands that `version` has."""
    missing = {
        name: kind.default
        for name, kind in _later_operands(type(instruction))
        if version >= kind.since and getattr(instruction, name) is None
    }
    return replace(instruction, **missing) if missing else instruction


@cache
def _later_operands(form: type[Instruction]) -> tuple[tuple[str, SinceKind | AlignmentKind], ...]:
    kinds = kinds_of(form).items()
    return tuple((name, k) for name, k in kinds if isinstance(k, SinceKind | AlignmentKind))
