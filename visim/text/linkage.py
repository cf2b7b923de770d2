"""What belongs to a whole text: linkage and variables of file scope, in directives of visim's own.

IGC's text has no words for them, objects have (specification 4): docs/objects.md describes these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from visim.diag import Source, Span
from visim.isa.name_kinds import LABEL
from visim.lex import Cursor, quoted
from visim.module import FileVariable, Linkage, Module, Unit
from visim.operands import General
from visim.text.declarations import file_variable
from visim.text.symbols import Symbols

_VARIABLES = {f".{linkage}_variable": linkage for linkage in Linkage}
_EXTERNAL_FUNCTION = ".extern_function"
STATIC_FUNCTION = ".static_function"
#: Directives that stand before the first kernel or function.
FILE_DIRECTIVES = (_EXTERNAL_FUNCTION, *_VARIABLES)
#: All directives that only visim has.
EXTENSIONS = (STATIC_FUNCTION, *FILE_DIRECTIVES)


class FileScope:
    """What the directives of a file have said so far."""

    def __init__(self, grf_bytes: int | None) -> None:
        self._grf_bytes = grf_bytes
        self.version: tuple[int, int] = (0, 0)
        self._variables: list[FileVariable] = []
        self._known: dict[str, General] = {}
        self._externals: list[str] = []

    def symbols(self) -> Symbols:
        """Return the names that a unit begins with."""
        return Symbols(self._grf_bytes, self._known, self.version)

    def take(self, cursor: Cursor, origin: Span) -> None:
        """Take what follows one of `FILE_DIRECTIVES`, which the cursor stands behind."""
        directive = cursor.text[: cursor.position].strip()
        if directive == _EXTERNAL_FUNCTION:
            self._externals.append(LABEL.parse(cursor, self.symbols()))
            return
        variable = file_variable(cursor, self._known)
        self._known[variable.name] = variable
        self._variables.append(FileVariable(variable, _VARIABLES[directive], origin))

    def module(
        self, version: tuple[int, int], units: Sequence[Unit], source: Source | None
    ) -> Module:
        """Return the module; functions that it declares and does not have are external."""
        defined = {unit.name for unit in units}
        declared = (name for unit in units for name in unit.function_declarations)
        externals = (name for name in (*self._externals, *declared) if name not in defined)
        names = tuple(dict.fromkeys(externals))
        return Module(version, tuple(units), source, tuple(self._variables), names)


def file_lines(module: Module) -> Iterator[str]:
    """Yield the directives of `module`.

    A `.funcdecl` of a function that is not there says that it is external, too.
    """
    declared = {name for unit in module.units for name in unit.function_declarations}
    for name in module.externals:
        if name not in declared:
            yield f"{_EXTERNAL_FUNCTION} {quoted(name)}"
    yield from variable_lines(module.variables)


def variable_lines(variables: Sequence[FileVariable]) -> Iterator[str]:
    """Yield the directives of variables of file scope."""
    for declared in variables:
        variable = declared.variable
        align = f" align={variable.align}" if variable.align else ""
        yield (
            f".{declared.linkage}_variable {variable.name} type={variable.type.name} "
            f"num_elts={variable.count}{align}"
        )
