"""Which of a kernel's own arrays in local memory an access goes to: what its source line names.

Addresses do not tell: compilers add up where an array is and a constant index. So a line counts
that names one such array, and no pointer that may point to others; macros count as what they stand
for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from visim.binary.debugarrays import LocalArray
from visim.linker.program import LinkedKernel
from visim.module import SourceLine
from visim.sem.effects import Space

_NAME = re.compile(r"[A-Za-z_]\w*")
_MACRO = re.compile(r"^\s*#\s*define\s+(\w+)(.*(?:\\\n.*)*)", re.MULTILINE)
_UNSAID = re.compile(r'//.*|/\*.*?\*/|"(?:\\.|[^"\\])*"')


@dataclass(frozen=True)
class OwnArrays:
    """A kernel's own arrays in local memory, and the instructions whose source line names one.

    `names` are those of the arrays by unit and program counter.
    """

    arrays: tuple[LocalArray, ...] = ()
    names: Mapping[tuple[int, int], str] = field(default_factory=dict[tuple[int, int], str])

    @property
    def key(self) -> str:
        """What instrumented code depends on, as text."""
        places = ((*place, name) for place, name in self.names.items())
        return f"{self.arrays} {sorted(places)}" if self.names else ""


def own_arrays(
    kernel: LinkedKernel,
    arrays: Iterable[LocalArray],
    pointers: Iterable[str],
    line_of: Callable[[SourceLine], str],
    text_of: Callable[[str], str | None],
) -> OwnArrays:
    """Return the arrays of a kernel, and which instructions access which.

    Args:
        kernel: the kernel.
        arrays: its arrays in local memory.
        pointers: names of what may point to any of them, or be called as one.
        line_of: gives the text of a line of the source.
        text_of: gives the text of a source file.
    """
    known = {one.name: one for one in arrays}
    others = frozenset(pointers)
    macros: dict[str, dict[str, str]] = {}
    found: dict[tuple[int, int], str] = {}
    for unit in kernel.units if known else ():
        for pc, place in enumerate(unit.unit.source_lines()):
            if place is None or not _reaches_local(kernel, unit.number, pc):
                continue
            if place.file not in macros:
                macros[place.file] = dict(_MACRO.findall(text_of(place.file) or ""))
            said = _names(line_of(place), macros[place.file])
            named = said & known.keys()
            if len(named) == 1 and not said & others:
                (found[unit.number, pc],) = named
    used = set(found.values())
    return OwnArrays(tuple(one for one in known.values() if one.name in used), found)


def _reaches_local(kernel: LinkedKernel, unit: int, pc: int) -> bool:
    effects = kernel.known_effects(kernel.units[unit], pc)
    return any(getattr(effect, "space", None) is Space.SLM for effect in effects)


def _names(line: str, macros: Mapping[str, str]) -> set[str]:
    """Return the names in a line, and in what its macros stand for."""
    found: set[str] = set()
    left = _NAME.findall(_UNSAID.sub(" ", line))
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += _NAME.findall(macros.get(name, ""))
    return found


__all__ = ["OwnArrays", "own_arrays"]
