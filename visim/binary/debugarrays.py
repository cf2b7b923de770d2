"""The arrays that kernels declare in local memory, as the debug data of a zebin has them.

Their addresses carry the number of their address space in the upper four bits of a dword: local
memory is 1. Debug data that cannot be read tells nothing: it is no part of what runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from visim.binary.dwarf.sections import open_dwarf
from visim.binary.dwarf.types import type_of
from visim.records import record

_VARIABLES = frozenset({"DW_TAG_variable", "DW_TAG_formal_parameter"})
_TAG_SHIFT, _LOCAL = 28, 1
_ADDRESS_FORM, _ADDRESS_BYTES = 3, 8


@record
class LocalArray:
    """A variable of the kernel in local memory: where it begins there, its bytes, an element's."""

    name: str
    offset: int
    size: int
    element: int


@record
class DebugVariables:
    """What debug data says of a kernel: its arrays in local memory.

    `pointers` are the names of all pointers of the program.
    """

    arrays: tuple[LocalArray, ...] = ()
    pointers: frozenset[str] = frozenset()


def debug_variables(raw: bytes, kernel: str) -> DebugVariables:
    """Return what the debug data of a zebin says of a kernel; nothing where there is none."""
    try:
        return _read(raw, kernel)
    except Exception:
        return DebugVariables()


def _read(raw: bytes, kernel: str) -> DebugVariables:
    debug = open_dwarf(raw)
    if debug is None:
        return DebugVariables()
    arrays: list[LocalArray] = []
    pointers: set[str] = set()
    for unit in debug.iter_CUs():
        for entry in unit.iter_DIEs():
            if entry.tag in _VARIABLES and _is_pointer(entry):
                pointers.add(_name(entry))
            if entry.tag == "DW_TAG_subprogram" and _name(entry) == kernel:
                arrays += filter(None, map(_array, _variables(entry)))
    return DebugVariables(tuple(dict.fromkeys(arrays)), frozenset(pointers))


def _variables(entry: Any) -> Iterator[Any]:
    """Yield the variables and parameters of a function, of its blocks, too."""
    for child in entry.iter_children():
        if child.tag in _VARIABLES:
            yield child
        elif child.tag in {"DW_TAG_lexical_block", "DW_TAG_inlined_subroutine"}:
            yield from _variables(child)


def _array(entry: Any) -> LocalArray | None:
    place = entry.attributes.get("DW_AT_location")
    value: object = None if place is None else place.value
    if not isinstance(value, list):
        return None
    octets = bytes(cast("list[int]", value))
    if len(octets) != 1 + _ADDRESS_BYTES or octets[0] != _ADDRESS_FORM:
        return None
    address = int.from_bytes(octets[1:], "little")
    if address >> _TAG_SHIFT != _LOCAL:
        return None
    kind = element = type_of(entry)
    while element.element is not None:
        element = element.element
    offset = address & (1 << _TAG_SHIFT) - 1
    return LocalArray(_name(entry), offset, kind.size, element.size) if kind.size else None


def _is_pointer(entry: Any) -> bool:
    if "DW_AT_type" not in entry.attributes:
        return False
    kind = entry.get_DIE_from_attribute("DW_AT_type")
    while kind.tag in {"DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type"}:
        kind = kind.get_DIE_from_attribute("DW_AT_type")
    return kind.tag == "DW_TAG_pointer_type"


def _name(entry: Any) -> str:
    found = entry.attributes.get("DW_AT_name")
    return "" if found is None else found.value.decode("utf-8", "replace")


__all__ = ["DebugVariables", "LocalArray", "debug_variables"]
