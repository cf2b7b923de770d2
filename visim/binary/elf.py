"""The ELF container of Intel GPU binaries: sections, symbols, relocations and notes.

pyelftools knows the layout of each record; this module adds what reading a hostile file needs:
every offset is checked against the file, nothing is decompressed, and names have a budget. It
knows nothing of kernels.

Facts: zebin specification, elf.md; docs/kernel-abi.md, The file.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, cast

from elftools.common.utils import struct_parse
from elftools.elf.elffile import ELFFile

from visim.diag import ByteSpan
from visim.errors import InputError

MAGIC = b"\x7fELF"
MACHINE = 205
MAX_FILE_BYTES = 1 << 30
_MAX_RECORDS = 1 << 16  # symbols, relocations and notes of one file together
_MAX_SECTIONS = 1 << 16
_MAX_NAME_BYTES = 1 << 26
_COMPRESSED = 0x800


class SectionType(IntEnum):
    """The section types that matter here (elf.md, ZE Info Sections); others are kept as numbers."""

    NULL = 0
    PROGBITS = 1
    SYMTAB = 2
    STRTAB = 3
    RELA = 4
    NOTE = 7
    NOBITS = 8
    REL = 9
    ZE_INFO = 0xFF000011
    VISAASM = 0xFF000013


_NO_PLACE = (SectionType.NULL, SectionType.NOBITS)
"""Sections without bytes in the file: unused entries and zero-filled data."""


@dataclass(frozen=True, slots=True)
class Section:
    """One section. `offset` and `size` are in bytes; `data` is empty for zero-filled sections."""

    index: int
    name: str
    type: int
    offset: int
    size: int
    link: int
    info: int
    data: memoryview = field(repr=False)


@dataclass(frozen=True, slots=True)
class ElfSymbol:
    """One symbol as the file has it; `section` is the index of the section that it lies in."""

    name: str
    value: int
    size: int
    section: int
    is_function: bool


@dataclass(frozen=True, slots=True)
class ElfRelocation:
    """One relocation without addend; `offset` counts from the patched section's start."""

    offset: int
    kind: int
    symbol: int


@dataclass(frozen=True, slots=True)
class ElfNote:
    """One note: who wrote it, what kind it is, and its bytes."""

    owner: str
    kind: int
    data: bytes


def refuse(
    code: str,
    message: str,
    file: str,
    offset: int = 0,
    *,
    help: str | None = None,  # noqa: A002 - the diagnostic's field
) -> InputError:
    """Return the `InputError` with one finding at byte `offset` of `file`."""
    return InputError(message, ByteSpan(file, offset), code=code, help=help)


class ElfImage:
    """A checked ELF file: each section lies inside the file."""

    def __init__(self, data: bytes, name: str) -> None:
        """Read the section table of `data`; `name` is the file's name in messages.

        Raises:
            InputError: It is not an ELF file for Intel GPUs, or the section table is broken.
        """
        self.name = name
        self._data = data
        _check_size(data, name)
        self._stream = io.BytesIO(data)
        try:
            self._elf = cast("Any", ELFFile(self._stream))
        except (
            Exception
        ) as error:  # pyelftools lets whatever its code meets in a bad header through
            raise refuse("bad-elf", f"the ELF header is broken: {error}", name) from None
        self._names = _Names(name)
        self._records_left = _MAX_RECORDS
        self.sections = self._read_sections()

    def named(self, name: str) -> Section | None:
        """Return the section called `name`, or None.

        Raises:
            InputError: There are several.
        """
        found = [section for section in self.sections if section.name == name]
        if len(found) > 1:
            raise self.broken(f"there are {len(found)} sections {name}, one is expected", found[1])
        return found[0] if found else None

    def of_type(self, kind: int) -> tuple[Section, ...]:
        """Return all sections of a type in file order."""
        return tuple(section for section in self.sections if section.type == kind)

    def symbols(self) -> tuple[ElfSymbol, ...]:
        """Return the symbol table, empty if there is none.

        Raises:
            InputError: The table is broken, or there are several.
        """
        tables = self.of_type(SectionType.SYMTAB)
        if len(tables) > 1:
            raise self.broken("there are several symbol tables, one is expected", tables[1])
        if not tables:
            return ()
        names = self._linked(tables[0])
        return tuple(
            ElfSymbol(
                name=self._names.read(names, record["st_name"]),
                value=record["st_value"],
                size=record["st_size"],
                section=_section_index(record["st_shndx"]),
                is_function=record["st_info"]["type"] == "STT_FUNC",
            )
            for record in self._records(tables[0], self._elf.structs.Elf_Sym)
        )

    def relocations(self, section: Section) -> tuple[ElfRelocation, ...]:
        """Return the entries of a `.rel` section.

        Raises:
            InputError: The section's size is not a whole number of entries.
        """
        return tuple(
            ElfRelocation(record["r_offset"], record["r_info_type"], record["r_info_sym"])
            for record in self._records(section, self._elf.structs.Elf_Rel)
        )

    def notes(self, section: Section) -> tuple[ElfNote, ...]:
        """Return the notes of a note section.

        Raises:
            InputError: A note does not fit into the section.
        """
        found: list[ElfNote] = []
        data, at = section.data, 0
        while at + 12 <= len(data):
            self._spend(1, section)
            owner, size, kind = (
                int.from_bytes(data[at + k : at + k + 4], "little") for k in (0, 4, 8)
            )
            start = at + 12 + _padded(owner)
            if start + size > len(data):
                raise self.broken("a note does not fit into its section", section, at)
            text = bytes(data[at + 12 : at + 12 + owner]).rstrip(b"\0").decode("ascii", "replace")
            found.append(ElfNote(text, kind, bytes(data[start : start + size])))
            at = start + _padded(size)
        return tuple(found)

    def broken(self, message: str, section: Section | None = None, at: int = 0) -> InputError:
        """Return the error for a malformed part, `at` bytes into `section`."""
        return refuse("bad-elf", message, self.name, (section.offset if section else 0) + at)

    def _linked(self, section: Section) -> memoryview:
        if not 0 < section.link < len(self.sections):
            raise self.broken(f"{section.name or 'a section'} names no string table", section)
        return self.sections[section.link].data

    def _records(self, section: Section, layout: Any) -> Iterator[Any]:
        size: int = layout.sizeof()
        count, rest = divmod(len(section.data), size)
        if rest:
            message = f"{section.name} has {len(section.data)} bytes, entries have {size}"
            raise self.broken(message, section)
        self._spend(count, section)
        for index in range(count):
            yield struct_parse(layout, self._stream, section.offset + index * size)

    def _spend(self, records: int, section: Section) -> None:
        self._records_left -= records
        if self._records_left < 0:
            message = f"more than {_MAX_RECORDS} symbols, relocations and notes"
            raise self.broken(message, section)

    def _read_sections(self) -> tuple[Section, ...]:
        headers = list(self._headers())
        table: int = self._elf.header["e_shstrndx"]
        if not table < len(headers):
            raise self.broken("the section that should hold the sections' names does not exist")
        names = self._extent(headers[table], "the section names")
        sections: list[Section] = []
        for index, header in enumerate(headers):
            name = self._names.read(names, header["sh_name"])
            sections.append(
                Section(
                    index=index,
                    name=name,
                    type=_section_type(header["sh_type"]),
                    offset=header["sh_offset"],
                    size=header["sh_size"],
                    link=header["sh_link"],
                    info=header["sh_info"],
                    data=self._extent(header, name or f"section {index}"),
                )
            )
        if sum(len(section.data) for section in sections) > len(self._data):
            raise self.broken("sections overlap: together they are larger than the file")
        return tuple(sections)

    def _headers(self) -> Iterator[Any]:
        header, layout = self._elf.header, self._elf.structs.Elf_Shdr
        start: int = header["e_shoff"]
        count: int = header["e_shnum"]
        size: int = layout.sizeof()
        if not 0 < count <= _MAX_SECTIONS or header["e_shentsize"] != size:
            raise self.broken(f"{count} section headers of {header['e_shentsize']} bytes")
        if start + count * size > len(self._data):
            raise self.broken("the section headers lie outside the file (is it cut off?)")
        for index in range(count):
            yield struct_parse(layout, self._stream, start + index * size)

    def _extent(self, header: Any, name: str) -> memoryview:
        start: int = header["sh_offset"]
        size: int = header["sh_size"]
        if _section_type(header["sh_type"]) in _NO_PLACE:
            return memoryview(b"")
        if header["sh_flags"] & _COMPRESSED:
            raise refuse("bad-elf", f"{name} is compressed", self.name, min(start, len(self._data)))
        if start + size > len(self._data):
            message = f"{name} is bytes {start} to {start + size} of a file of {len(self._data)}"
            raise refuse("bad-elf", f"{message} bytes (is it cut off?)", self.name)
        return memoryview(self._data)[start : start + size]


class _Names:
    """Reads names from string tables; overlapping names cannot cost more than a fixed sum."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._left = _MAX_NAME_BYTES

    def read(self, table: memoryview, offset: int) -> str:
        if offset == 0 or offset >= len(table):
            if offset:
                raise refuse("bad-elf", f"name {offset} lies outside its table", self._file)
            return ""
        end = _terminator(table, offset, self._left)
        if end is None:
            raise refuse("bad-elf", "a name has no end, or names are too long", self._file)
        self._left -= end - offset
        return bytes(table[offset:end]).decode("utf-8", "backslashreplace")


def _terminator(table: memoryview, start: int, limit: int) -> int | None:
    """Return where the NUL after `start` is, or None if there is none within `limit` bytes."""
    step = 256
    for at in range(start, min(len(table), start + limit), step):
        found = bytes(table[at : at + step]).find(0)
        if found >= 0:
            return at + found
    return None


def _check_size(data: bytes, name: str) -> None:
    if len(data) > MAX_FILE_BYTES:
        raise refuse(
            "file-too-large", f"{len(data)} bytes, at most {MAX_FILE_BYTES} accepted", name
        )
    if not data.startswith(MAGIC):
        raise refuse("bad-elf", "this is not an ELF file: it does not begin with 7f 45 4c 46", name)
    if len(data) < 52:
        raise refuse("bad-elf", f"{len(data)} bytes are too few for an ELF header", name)
    if data[5] != 1:
        raise refuse("bad-elf", "the file is not little-endian", name, 5)
    machine = int.from_bytes(data[18:20], "little")
    if machine != MACHINE:
        message = f"an ELF file for machine {machine}; Intel GPU binaries (zebin) have {MACHINE}"
        hint = "compile with `ocloc compile ... --format zebin`"
        raise refuse("not-a-zebin", message, name, 18, help=hint)


def _section_type(raw: Any) -> int:
    """Turn pyelftools' name of a type back into its number; its names of others do not matter."""
    if isinstance(raw, int):
        return raw
    return SectionType.__members__.get(str(raw).removeprefix("SHT_"), -1)


def _section_index(raw: Any) -> int:
    return raw if isinstance(raw, int) else 0


def _padded(size: int) -> int:
    return (size + 3) & ~3
