"""Which function, blocks and inlined calls of the source an instruction belongs to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from visim.binary.dwarf.scopes import SourceScope, SourceVariable
from visim.debug.naming.natives import Natives
from visim.isa.forms import SubroutineMark
from visim.linker.program import LinkedKernel

_NUMBERED = re.compile(r"_\d+$")
"""What compilers put behind a function's name in labels."""


@dataclass(frozen=True, slots=True)
class Level:
    """A function of the source at an instruction: one of its own, or one that is inlined there.

    `scopes` are it and the blocks inside of it, the innermost last. `call` is the file and line at
    which it is inlined, None for a function of its own.
    """

    name: str
    scopes: tuple[SourceScope, ...]
    call: tuple[str, int] | None

    def variables(self) -> dict[str, SourceVariable]:
        """Return the variables by name; one of an inner block hides those outside of it."""
        found: dict[str, SourceVariable] = {}
        for scope in reversed(self.scopes):
            for one in scope.variables:
                found.setdefault(one.name, one)
        return found


class Functions:
    """The functions of the source that a kernel's code comes from.

    Args:
        kernel: the kernel.
        known: its functions by the names that texts have.
        natives: the compiler's notes.
    """

    def __init__(
        self, kernel: LinkedKernel, known: Mapping[str, SourceScope], natives: Natives
    ) -> None:
        self._kernel = kernel
        self._known = known
        self._natives = natives

    def levels(self, unit: int, pc: int) -> tuple[Level, ...]:
        """Return the functions of an instruction, the innermost first; none where none is known."""
        function = self._known.get(self._name(unit, pc))
        if function is None:
            return ()
        address = self._address(unit, pc)
        found: list[Level] = []
        name, call, scopes = function.name, None, list[SourceScope]()
        for scope in _path(function, address):
            if scope.is_inlined:
                found.append(Level(name, tuple(scopes), call))
                name, call, scopes = scope.name, scope.call, []
            scopes.append(scope)
        found.append(Level(name, tuple(scopes), call))
        return tuple(reversed(found))

    def _name(self, unit: int, pc: int) -> str:
        """Return the name of the function that an instruction is in."""
        linked = self._kernel.units[unit]
        for item in reversed(linked.body[1 : pc + 1]):
            if isinstance(item, SubroutineMark):
                return _NUMBERED.sub("", item.name)
        return linked.unit.name

    def _address(self, unit: int, pc: int) -> int | None:
        """Return the native address of an instruction, or of the last before it that has one."""
        for index in range(pc, -1, -1):
            found = self._natives.address(unit, index)
            if found is not None:
                return found
        return None


def _path(scope: SourceScope, address: int | None) -> list[SourceScope]:
    """Return a scope and those in it that hold an address, inner ones behind outer ones.

    Without an address: all blocks, and no inlined calls.
    """
    found = [scope]
    for one in scope.scopes:
        is_here = not one.is_inlined if address is None else one.holds(address)
        if is_here:
            found += _path(one, address)
    return found


__all__ = ["Functions", "Level"]
