"""Functions, blocks, inlined calls and their variables, of one kernel's debug data.

Addresses are native ones, in bytes from the start of the kernel's code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from visim.binary.dwarf.sections import find, name_of, number_of, open_dwarf, text_of
from visim.binary.dwarf.types import LOCAL, SourceType, type_of
from visim.records import record

_FUNCTION = "DW_TAG_subprogram"
_BLOCK = "DW_TAG_lexical_block"
_INLINED = "DW_TAG_inlined_subroutine"
_PARAMETER = "DW_TAG_formal_parameter"
_VARIABLES = frozenset({"DW_TAG_variable", _PARAMETER})
_MOST_DEPTH = 64
_LISTED = frozenset({"DW_FORM_sec_offset", "DW_FORM_data4", "DW_FORM_data8"})

Range = tuple[int, int]
"""Native addresses from, and up to."""


@record
class Located:
    """Where a variable is while the native instruction pointer is in a range; None: always.

    `code` is an expression as DWARF writes it.
    """

    range: Range | None
    code: bytes


@record
class SourceVariable:
    """A variable of the source, and where it is; nowhere if the compiler has removed it.

    `is_local` says that a place in memory is one in local memory.
    """

    name: str
    type: SourceType
    line: int
    is_parameter: bool
    places: tuple[Located, ...]
    is_local: bool = False


@record
class SourceScope:
    """A function, a block in it, or an inlined call.

    `name` is that of a function or of the one that is inlined, else empty. `ranges` are where the
    code of a block or call is; empty: as far as that of what it is in. `call` is the file and line
    of an inlined call.
    """

    name: str
    linkage_name: str
    ranges: tuple[Range, ...]
    variables: tuple[SourceVariable, ...]
    scopes: tuple[SourceScope, ...]
    is_inlined: bool = False
    call: tuple[str, int] | None = None

    def holds(self, address: int) -> bool:
        """Whether an instruction belongs to the scope."""
        return not self.ranges or any(start <= address < end for start, end in self.ranges)


def functions_of(raw: bytes, kernel: str) -> dict[str, SourceScope]:
    """Return the functions whose code is linked with a kernel, by the names that texts have.

    Args:
        raw: a zebin.
        kernel: the kernel's name.

    Returns:
        Nothing where the zebin has no debug data of the kernel.
    """
    debug = open_dwarf(raw)
    for unit in () if debug is None else debug.iter_CUs():
        reader = _Reader(debug, unit)
        found = reader.functions()
        if kernel in found:
            return found
    return {}


class _Reader:
    """Reads the entries of a compilation unit."""

    def __init__(self, debug: Any, unit: Any) -> None:
        self._unit = unit
        self._lists = debug.location_lists()
        self._ranges = debug.range_lists()
        program = debug.line_program_for_CU(unit)
        self._files = [] if program is None else _files(program)

    def functions(self) -> dict[str, SourceScope]:
        """Return the functions that have code."""
        found: dict[str, SourceScope] = {}
        for entry in self._unit.get_top_DIE().iter_children():
            if entry.tag == _FUNCTION and "DW_AT_low_pc" in entry.attributes:
                scope = self._scope(entry, 0)
                found[scope.linkage_name or scope.name] = scope
        return found

    def _scope(self, entry: Any, depth: int) -> SourceScope:
        children = list(entry.iter_children()) if depth < _MOST_DEPTH else []
        variables = [self._variable(one) for one in children if one.tag in _VARIABLES]
        scopes = [self._scope(one, depth + 1) for one in children if one.tag in {_BLOCK, _INLINED}]
        ranges = () if entry.tag == _FUNCTION else tuple(self._ranges_of(entry))
        is_inlined = entry.tag == _INLINED and bool(ranges)
        return SourceScope(
            name_of(entry) if entry.tag != _BLOCK else "",
            text_of(entry, "DW_AT_linkage_name") if entry.tag != _BLOCK else "",
            ranges,
            tuple(one for one in variables if one.name),
            tuple(scopes),
            is_inlined,
            self._call(entry) if is_inlined else None,
        )

    def _ranges_of(self, entry: Any) -> Iterator[Range]:
        low, high = (number_of(entry, f"DW_AT_{word}_pc") for word in ("low", "high"))
        if low is not None and high is not None:
            yield low, low + high if entry.attributes["DW_AT_high_pc"].form != _ADDRESS else high
        elif "DW_AT_ranges" in entry.attributes:
            for one in self._ranges.get_range_list_at_offset(
                entry.attributes["DW_AT_ranges"].value
            ):
                if hasattr(one, "begin_offset"):
                    yield one.begin_offset, one.end_offset

    def _call(self, entry: Any) -> tuple[str, int] | None:
        file, line = number_of(entry, "DW_AT_call_file"), number_of(entry, "DW_AT_call_line")
        if not line or file is None or not 0 < file <= len(self._files):
            return None
        return self._files[file - 1], line

    def _variable(self, entry: Any) -> SourceVariable:
        typed = find(entry, "DW_AT_type")
        return SourceVariable(
            name_of(entry),
            type_of(entry if typed is None else typed),
            number_of(entry, "DW_AT_decl_line") or 0,
            entry.tag == _PARAMETER,
            tuple(self._places(entry)),
            number_of(entry, "DW_AT_address_class") == LOCAL,
        )

    def _places(self, entry: Any) -> Iterator[Located]:
        attribute = entry.attributes.get("DW_AT_location")
        if attribute is None:
            return
        if attribute.form not in _LISTED:
            yield Located(None, bytes(attribute.value))
            return
        for one in self._lists.get_location_list_at_offset(attribute.value, entry):
            if hasattr(one, "loc_expr"):
                yield Located((one.begin_offset, one.end_offset), bytes(one.loc_expr))


_ADDRESS = "DW_FORM_addr"


def _files(program: Any) -> list[str]:
    """Return the files of a line program, with their folders, as the text's FILE has them."""
    folders = [one.decode("utf-8", "replace") for one in program["include_directory"]]
    found: list[str] = []
    for one in program["file_entry"]:
        name = one.name.decode("utf-8", "replace")
        folder = folders[one.dir_index - 1] if 0 < one.dir_index <= len(folders) else ""
        found.append(f"{folder}/{name}" if folder and not name.startswith("/") else name)
    return found


__all__ = ["Located", "Range", "SourceScope", "SourceVariable", "functions_of"]
