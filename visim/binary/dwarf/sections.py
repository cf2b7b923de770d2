"""The DWARF of a zebin as pyelftools reads it, with its links resolved.

Debug data of several kernels are joined by relocations; pyelftools knows none of this machine.

Facts: zebin specification, elf.md; DWARF 4.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, cast

from elftools.elf.elffile import ELFFile

MOST_BYTES = 1 << 24
_WIDTHS = {1: 8, 2: 4}
"""Bytes of what the relocations of 64 and of 32 bits set."""


def open_dwarf(raw: bytes) -> Any:
    """Return pyelftools' view of a zebin's debug data, None where it has none or too much."""
    file = cast("Any", ELFFile(io.BytesIO(raw)))
    section = file.get_section_by_name(".debug_info")
    if section is None or section.data_size > MOST_BYTES:
        return None
    debug = file.get_dwarf_info(relocate_dwarf_sections=False)
    info = debug.debug_info_sec
    info.stream.seek(0)
    stream = io.BytesIO(_relocated(file, info.stream.read()))
    debug.debug_info_sec = info._replace(stream=stream)
    return debug


def _relocated(file: Any, data: bytes) -> bytes:
    found = bytearray(data)
    table = file.get_section_by_name(".rela.debug_info")
    for one in () if table is None else table.iter_relocations():
        place, width = int(one["r_offset"]), _WIDTHS.get(one["r_info_type"])
        if width is not None and place + width <= len(found):
            found[place : place + width] = int(one["r_addend"]).to_bytes(width, "little")
    return bytes(found)


def name_of(entry: Any) -> str:
    """Return the name of an entry, or of the one that it is an instance of; else nothing."""
    return text_of(entry, "DW_AT_name")


def text_of(entry: Any, attribute: str) -> str:
    """Return a text of an entry, or of the one that it is an instance of; else nothing."""
    found = find(entry, attribute)
    return "" if found is None else found.attributes[attribute].value.decode("utf-8", "replace")


def number_of(entry: Any, attribute: str) -> int | None:
    """Return a number of an entry, or of the one that it is an instance of."""
    found = find(entry, attribute)
    value = None if found is None else found.attributes[attribute].value
    return value if isinstance(value, int) else None


def find(entry: Any, attribute: str) -> Any:
    """Return who has an attribute: an entry, or the one that it is an instance of; else None."""
    for one in _origins(entry):
        if attribute in one.attributes:
            return one
    return None


_MOST_ORIGINS = 4


def _origins(entry: Any) -> Iterator[Any]:
    for _ in range(_MOST_ORIGINS):
        yield entry
        for link in ("DW_AT_abstract_origin", "DW_AT_specification"):
            if link in entry.attributes:
                entry = entry.get_DIE_from_attribute(link)
                break
        else:
            return


__all__ = ["MOST_BYTES", "find", "name_of", "number_of", "open_dwarf", "text_of"]
