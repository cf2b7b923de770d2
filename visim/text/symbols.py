"""The variables of one unit while its text is read: scopes, numbers, and limits.

Follows specification 4 (Variables): inner scopes see outer names and may hide them; every
variable has a number in its class, whatever its scope.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping

from visim import predefined
from visim.lex import Cursor, TextFailure
from visim.operands import (
    FIRST_DECLARED_GENERAL,
    AddressVariable,
    General,
    PredicateVariable,
    SamplerVariable,
    SurfaceVariable,
    Variable,
)
from visim.target import COMMON_OBJECT

#: The most variables of each class that a unit may declare (specification 8, Declarations). Intel's
#: compiler writes more into zebins: of predicates than the 4095 that objects can number, and of
#: general variables than the 65536 of the specification.
LIMITS: dict[type[Variable], int] = {
    General: 1 << 20,
    AddressVariable: 4096,
    PredicateVariable: 65535,
    SamplerVariable: 31,
    SurfaceVariable: 250,
}
_FIRST: dict[type[Variable], int] = {
    General: FIRST_DECLARED_GENERAL,
    AddressVariable: 0,
    PredicateVariable: 1,
    SamplerVariable: 0,
    SurfaceVariable: len(predefined.SURFACES),
}
_COMPILERS_NAMES = re.compile(r"[A-Z]+\d+")
_WORDS: dict[type[Variable], str] = {
    General: "general",
    AddressVariable: "address",
    PredicateVariable: "predicate",
    SamplerVariable: "sampler",
    SurfaceVariable: "surface",
}
MAX_NESTING = 64
_NO_PREDICATE = "P0"


class Symbols:
    """Names that are visible at this point of a unit.

    Variables of file scope are visible as bases of aliases only.
    """

    def __init__(
        self,
        grf_bytes: int | None = None,
        file_variables: Mapping[str, General] | None = None,
        version: tuple[int, int] = COMMON_OBJECT,
    ) -> None:
        self.grf_bytes = grf_bytes
        self.version = version
        self.dispatch_size: int | None = None
        self._file_variables = file_variables or {}
        self.declared: dict[type[Variable], list[Variable]] = {kind: [] for kind in LIMITS}
        self._visible: dict[str, Variable] = dict(predefined.by_name(version))
        #: Returns the variable of a name, predefined ones included, or None.
        self.lookup: Callable[[str], Variable | None] = self._visible.get
        self._scopes: deque[dict[str, Variable | None]] = deque([{}])
        self._general_names: set[str] = set()
        self._lines: dict[str, int] = {}

    def size_of(self, name: str) -> int | None:
        """Return the bytes of a variable or, where no variable has that name, of `GRF`."""
        match self._visible.get(name):
            case General() as found if found.name not in predefined.WHOLE_REGISTERS:
                return found.bytes
            case AddressVariable(count=count):
                return 2 * count
            case None if name == "GRF":
                return self.grf_bytes
            case _:
                return None

    def alias_base(self, name: str) -> Variable | None:
        """Return the variable that an alias of `name` overlays, or None."""
        return self._visible.get(name) or self._file_variables.get(name)

    def known(self) -> list[str]:
        """Return the visible names that tools print, for suggestions."""
        return [name for name, variable in self._visible.items() if self._is_usual(name, variable)]

    @staticmethod
    def _is_usual(name: str, variable: Variable) -> bool:
        return name not in predefined.BY_NAME or name == variable.name

    @property
    def depth(self) -> int:
        """How many scopes are open."""
        return len(self._scopes) - 1

    def open_scope(self, cursor: Cursor) -> None:
        """Begin a scope, or fail when scopes are nested too deeply."""
        if self.depth >= MAX_NESTING:
            raise cursor.failure_at(0, "limit", f"more than {MAX_NESTING} nested scopes")
        self._scopes.append({})

    def close_scope(self) -> None:
        """End the innermost scope; what its names hid is visible again."""
        for name, hidden in self._scopes.pop().items():
            if hidden is None:
                del self._visible[name]
            else:
                self._visible[name] = hidden

    def next_index(self, kind: type[Variable]) -> int:
        """Return the number of the next variable of class `kind`."""
        return _FIRST[kind] + len(self.declared[kind])

    def own_name(self, name: str) -> str:
        """Return `name`, or, where another scope's general variable has it, a variant of it."""
        own = name
        while own in self._general_names:
            own = f"{own}_{self.next_index(General)}"
        return own

    def check(self, cursor: Cursor, position: int, name: str, kind: type[Variable]) -> None:
        """Fail when a variable of class `kind` cannot be declared under `name` here."""
        if name == _NO_PREDICATE or name in predefined.by_name(self.version):
            message = f"{name} is predefined and cannot be declared"
            raise _failure(cursor, position, name, "reserved-name", message)
        if name in self._scopes[-1] or name in self._file_variables:
            message = f"{name} is declared twice"
            line = self._lines.get(name)
            first = f"the first one is in line {line}{_hint(name)}" if line else None
            raise _failure(cursor, position, name, "duplicate-declaration", message, first)
        if len(self.declared[kind]) >= LIMITS[kind]:
            message = f"more than {LIMITS[kind]} {_WORDS[kind]} variables"
            raise _failure(cursor, position, name, "limit", message)
        self._lines[name] = cursor.line

    def declare(self, name: str, variable: Variable) -> None:
        """Make `variable` visible as `name` in the innermost scope; see `check`."""
        self.declared[type(variable)].append(variable)
        if isinstance(variable, General):
            self._general_names.add(variable.name)
        self._scopes[-1][name] = self._visible.get(name)
        self._visible[name] = variable

    def announce(self, name: str, variable: Variable) -> None:
        """Make a variable whose declaration failed visible, to spare errors about its uses."""
        if name not in self._visible:
            self._scopes[-1][name] = None
            self._visible[name] = variable


def is_compilers_name(name: str) -> bool:
    """Whether a variable has a name that compilers give, as V0042."""
    return _COMPILERS_NAMES.fullmatch(name) is not None


def _hint(name: str) -> str:
    """Return what else to say of a name that is declared twice.

    Names that compilers do not give come from inline assembly, whose scopes they leave out when
    they write a kernel's text.
    """
    if is_compilers_name(name):
        return ""
    return (
        f"; in inline assembly write '{name}%=' or the like, for compilers drop its scopes, and"
        " which of two different variables is meant cannot be told"
    )


def _failure(
    cursor: Cursor, position: int, name: str, code: str, message: str, advice: str | None = None
) -> TextFailure:
    return cursor.failure_at(position, code, message, length=len(name), help=advice)
