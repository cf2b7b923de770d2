"""Types of variables as debug data has them: names as C writes them, bytes, parts."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from functools import cached_property
from typing import Any

from visim.binary.dwarf.sections import name_of, number_of
from visim.records import record

LOCAL = 1
"""The address class of local memory."""
_MOST_DEPTH = 16
_POINTER_BYTES = 8


class Kind(StrEnum):
    """What a type is. OTHER is one whose values are not shown, such as an image."""

    SIGNED = "signed"
    UNSIGNED = "unsigned"
    FLOAT = "float"
    BOOLEAN = "boolean"
    POINTER = "pointer"
    ARRAY = "array"
    STRUCT = "struct"
    OTHER = "other"


@record
class Member:
    """A member of a structure: its name, its first byte and its type."""

    name: str
    offset: int
    type: SourceType


class Target:
    """What a pointer points to; read when it is asked for, since it may contain the pointer.

    Args:
        entry: the pointer's entry.
    """

    def __init__(self, entry: Any) -> None:
        self._entry = entry
        self.is_local = number_of(entry, "DW_AT_address_class") == LOCAL

    @cached_property
    def type(self) -> SourceType:
        """The type."""
        return type_of(self._entry)


@record
class SourceType:
    """A type: what C calls it, what it is, its bytes.

    `element` and `count` are those of an array or vector, `members` those of a structure or union.
    `values` are the names of an enumeration's numbers, `target` is what a pointer points to.
    """

    name: str
    kind: Kind
    size: int
    element: SourceType | None = None
    count: int = 0
    members: tuple[Member, ...] = ()
    values: tuple[tuple[int, str], ...] = ()
    target: Target | None = None


UNKNOWN = SourceType("?", Kind.OTHER, 0)
_ENCODINGS = {
    2: Kind.BOOLEAN,
    4: Kind.FLOAT,
    5: Kind.SIGNED,
    6: Kind.SIGNED,
    7: Kind.UNSIGNED,
    8: Kind.UNSIGNED,
}
"""DW_ATE_boolean, _float, _signed, _signed_char, _unsigned, _unsigned_char."""
_QUALIFIERS = {
    "DW_TAG_const_type": "const ",
    "DW_TAG_volatile_type": "volatile ",
    "DW_TAG_restrict_type": "",
    "DW_TAG_atomic_type": "",
}


def type_of(entry: Any, depth: int = 0) -> SourceType:
    """Return the type that an entry names by DW_AT_type; UNKNOWN where there is none."""
    if "DW_AT_type" not in entry.attributes or depth > _MOST_DEPTH:
        return UNKNOWN
    return _read(entry.get_DIE_from_attribute("DW_AT_type"), depth + 1)


def _read(entry: Any, depth: int) -> SourceType:
    tag, name = entry.tag, name_of(entry)
    size = number_of(entry, "DW_AT_byte_size") or 0
    if tag in _QUALIFIERS:
        found = type_of(entry, depth)
        return _renamed(found, f"{_QUALIFIERS[tag]}{found.name}")
    match tag:
        case "DW_TAG_base_type":
            encoding = number_of(entry, "DW_AT_encoding") or 0
            return SourceType(name, _ENCODINGS.get(encoding, Kind.OTHER), size)
        case "DW_TAG_typedef":
            return _renamed(type_of(entry, depth), name)
        case "DW_TAG_pointer_type" | "DW_TAG_reference_type":
            name, size = _pointer_name(entry), size or _POINTER_BYTES
            return SourceType(name, Kind.POINTER, size, target=Target(entry))
        case "DW_TAG_array_type":
            return _array(entry, depth, size)
        case "DW_TAG_structure_type" | "DW_TAG_union_type" | "DW_TAG_class_type":
            members = tuple(_members(entry, depth))
            word = "union" if tag == "DW_TAG_union_type" else "struct"
            return SourceType(name or word, Kind.STRUCT, size, members=members)
        case "DW_TAG_enumeration_type":
            values = tuple(_values(entry))
            return SourceType(name or "enum", Kind.UNSIGNED, size or 4, values=values)
        case _:
            return SourceType(name or "?", Kind.OTHER, size)


def _renamed(found: SourceType, name: str) -> SourceType:
    return replace(found, name=name)


def _pointer_name(entry: Any) -> str:
    """Return the name of a pointer: that of what it points to, which may contain the pointer."""
    words: list[str] = []
    stars = "*"
    for _ in range(_MOST_DEPTH):
        if "DW_AT_type" not in entry.attributes:
            return f"{' '.join([*words, 'void'])} {stars}"
        entry = entry.get_DIE_from_attribute("DW_AT_type")
        if entry.tag == "DW_TAG_pointer_type":
            stars += "*"
        elif entry.tag in _QUALIFIERS:
            words += [_QUALIFIERS[entry.tag].strip()] if _QUALIFIERS[entry.tag] else []
        else:
            break
    return f"{' '.join([*words, name_of(entry) or '?'])} {stars}"


def _array(entry: Any, depth: int, size: int) -> SourceType:
    element = type_of(entry, depth)
    counts = [_count(one) for one in entry.iter_children() if one.tag == "DW_TAG_subrange_type"]
    found = element
    for count in reversed(counts or [0]):
        inner = f"{found.name.partition('[')[0]}[{count}]"
        _, bracket, rest = found.name.partition("[")
        found = SourceType(f"{inner}{bracket}{rest}", Kind.ARRAY, count * found.size, found, count)
    if size > found.size:  # vectors of three have the bytes of four
        return SourceType(found.name, Kind.ARRAY, size, found.element, found.count)
    return found


def _count(dimension: Any) -> int:
    count = number_of(dimension, "DW_AT_count")
    if count is not None:
        return count
    upper = number_of(dimension, "DW_AT_upper_bound")
    return 0 if upper is None else upper + 1


def _members(entry: Any, depth: int) -> list[Member]:
    found: list[Member] = []
    for one in entry.iter_children():
        if one.tag != "DW_TAG_member" or "DW_AT_bit_size" in one.attributes:
            continue
        offset = number_of(one, "DW_AT_data_member_location") or 0
        found.append(Member(name_of(one) or f"at{offset}", offset, type_of(one, depth)))
    return found


def _values(entry: Any) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for one in entry.iter_children():
        value = number_of(one, "DW_AT_const_value")
        if value is not None:
            found.append((value, name_of(one)))
    return found


__all__ = ["LOCAL", "UNKNOWN", "Kind", "Member", "SourceType", "Target", "type_of"]
