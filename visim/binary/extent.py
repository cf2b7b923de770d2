"""Where an ELF file ends, told from little of it: for files among other bytes, or cut off.

Owns just the fields of the header and of section headers that say so (System V ABI, chapter 4).
"""

from __future__ import annotations

from collections.abc import Callable

from visim.binary.elf import SectionType

HEADER_BYTES, _SECTION_BYTES = 64, 64
_TABLE, _ENTRY_BYTES, _ENTRIES = slice(40, 48), slice(58, 60), slice(60, 62)
_KIND, _OFFSET, _SIZE = slice(4, 8), slice(24, 32), slice(32, 40)


def end_of_file(read: Callable[[int, int], bytes | None]) -> int | None:
    """Return how many bytes a file of 64-bit ELF has, None if it has no sections, or is cut off.

    Args:
        read: returns so many bytes from an offset on, None where they are not there.
    """
    header = read(0, HEADER_BYTES)
    if header is None:
        return None
    table = _number(header[_TABLE])
    size, count = _number(header[_ENTRY_BYTES]), _number(header[_ENTRIES])
    sections = read(table, size * count) if count and size == _SECTION_BYTES else None
    if sections is None:
        return None
    end = table + size * count
    for start in range(0, size * count, size):
        one = sections[start : start + size]
        if _number(one[_KIND]) != SectionType.NOBITS:
            end = max(end, _number(one[_OFFSET]) + _number(one[_SIZE]))
    return end


def _number(data: bytes) -> int:
    return int.from_bytes(data, "little")
