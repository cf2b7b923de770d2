"""Names of source files in compiled programs: those that the user knows."""

from __future__ import annotations

from dataclasses import replace

from visim.isa.forms import FileMark, Instruction
from visim.module import Unit
from visim.runtime.compiling.sources import NO_FOLDER

_FOLDER = f"{NO_FOLDER}/"


def named_files(unit: Unit) -> Unit:
    """Return a compiled unit in which texts that were in no file have the names they were given.

    The compiler wants a folder for them, which is none of any disk.
    """
    if not any(_is_of_no_disk(item) for item in unit.body):
        return unit
    body = tuple(
        replace(item, name=named_file(item.name)) if isinstance(item, FileMark) else item
        for item in unit.body
    )
    return replace(unit, body=body)


def named_file(name: str) -> str:
    """Return the name that a file was given, of one that a compiled program has."""
    return name.removeprefix(_FOLDER)


def _is_of_no_disk(item: Instruction) -> bool:
    return isinstance(item, FileMark) and item.name.startswith(_FOLDER)
