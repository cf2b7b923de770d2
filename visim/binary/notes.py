"""The compiler's notes on variables inside a zebin: vISA debug information in sections of its own.

DWARF says in which native registers a variable of the source is, and visim executes no native code.
The notes say which vISA variable that is. A compiler leaves them in a file for each kernel;
`with_notes` appends them as sections `.debug_visa.KERNEL`. Drivers take `.debug_` for debug data.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

from visim.binary.debuginfo import DebugObject, is_debug_information, read_debug_information
from visim.binary.elf import ElfImage
from visim.errors import ArgumentError, InputError

PREFIX = ".debug_visa."
_PROGBITS = 1
_ALIGN = 8
_HEADER = struct.Struct("<IIQQQQIIQQ")
"""A section header: name, type, flags, address, offset, size, link, info, alignment, entry size."""
_TABLE = struct.Struct("<Q")
_TABLE_AT = 0x28
_COUNTS = struct.Struct("<HHH")
_COUNTS_AT = 0x3A


def with_notes(zebin: bytes, files: Iterable[bytes]) -> bytes:
    """Return a zebin with the notes that a compiler left, for each kernel that they tell of.

    Args:
        zebin: a zebin that the compiler wrote.
        files: files that it left; those that are no notes, or cannot be read, are passed over.
    """
    found: dict[str, bytes] = {}
    for data in files:
        if not is_debug_information(data):
            continue
        try:
            objects = read_debug_information(data, "notes")
        except InputError:
            continue
        if objects:
            found[f"{PREFIX}{objects[0].name}"] = data
    return _with_sections(zebin, found) if found else zebin


def read_notes(zebin: bytes, kernel: str) -> tuple[DebugObject, ...]:
    """Return what a zebin has of notes on a kernel and the functions linked with it.

    Raises:
        InputError: the notes are damaged.
    """
    section = ElfImage(zebin, "zebin").named(f"{PREFIX}{kernel}")
    if section is None:
        return ()
    return read_debug_information(bytes(section.data), section.name)


def notes_on(names: Mapping[str, int], files: Iterable[bytes]) -> tuple[DebugObject, ...]:
    """Return the notes of files that are on a kernel and the functions linked with it.

    Args:
        names: the kernel, which is first, and the functions: how many instructions each has.
        files: files that a compiler left; those that are no notes are passed over.

    Raises:
        ArgumentError: none is on the kernel, or one that is belongs to another text.
        InputError: one is damaged.
    """
    kernel = next(iter(names))
    for data in files:
        objects = read_debug_information(data, "notes") if is_debug_information(data) else ()
        if objects and objects[0].name == kernel:
            for one in objects:
                last = max((pair.visa for pair in one.by_index), default=0)
                if last > names.get(one.name, last):
                    raise ArgumentError(
                        f"the notes on {one.name} tell of instruction {last}, and it has "
                        f"{names[one.name]}: take those of the compiler's run that made it"
                    )
            return objects
    raise ArgumentError(f"no file of notes (*.dbg) is on the kernel {kernel}")


def _with_sections(elf: bytes, added: dict[str, bytes]) -> bytes:
    """Return an ELF file of 64 bits with more sections; what is there stays where it is."""
    (table,) = _TABLE.unpack_from(elf, _TABLE_AT)
    size, count, names_index = _COUNTS.unpack_from(elf, _COUNTS_AT)
    headers: list[tuple[int, ...]] = [
        _HEADER.unpack_from(elf, table + number * size) for number in range(count)
    ]
    names = headers[int(names_index)]
    strings = bytearray(elf[names[4] : names[4] + names[5]])
    out = bytearray(elf)
    for name, data in added.items():
        _pad(out)
        headers.append((len(strings), _PROGBITS, 0, 0, len(out), len(data), 0, 0, 1, 0))
        strings += name.encode() + b"\0"
        out += data
    _pad(out)
    headers[names_index] = (*names[:4], len(out), len(strings), *names[6:])
    out += strings
    _pad(out)
    _TABLE.pack_into(out, _TABLE_AT, len(out))
    _COUNTS.pack_into(out, _COUNTS_AT, _HEADER.size, len(headers), names_index)
    for header in headers:
        out += _HEADER.pack(*header)
    return bytes(out)


def _pad(data: bytearray) -> None:
    data += bytes(-len(data) % _ALIGN)


__all__ = ["PREFIX", "notes_on", "read_notes", "with_notes"]
