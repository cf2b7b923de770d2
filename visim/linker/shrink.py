"""Smaller modules: without what no kernel needs, and without what only people read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from visim.isa.forms import FileMark, LabelMark, LineMark, SubroutineMark
from visim.linker.program import file_variables_of
from visim.module import Module, Unit
from visim.operands import (
    AddressVariable,
    Alias,
    General,
    PredicateVariable,
    SamplerVariable,
    SurfaceVariable,
    Variable,
)
from visim.renaming import with_labels, with_variables

_PATHS = frozenset({"OutputAsmPath", "AsmName"})


def without_unused(module: Module) -> Module:
    """Return `module` without functions and file-scope variables that no kernel can reach."""
    functions = {unit.name: unit for unit in module.functions}
    needed = {unit.name: unit for unit in module.kernels}
    open_units = list(needed.values())
    while open_units:
        for name in _functions_of(open_units.pop()):
            if name in functions and name not in needed:
                needed[name] = functions[name]
                open_units.append(functions[name])
    units = tuple(_declaring(unit, needed) for unit in module.units if unit.name in needed)
    used = {name for unit in units for name in file_variables_of(unit)}
    variables = tuple(entry for entry in module.variables if entry.variable.name in used)
    externals = tuple(
        name for name in module.externals if any(name in _functions_of(unit) for unit in units)
    )
    return replace(module, units=units, variables=variables, externals=externals)


def _functions_of(unit: Unit) -> set[str]:
    names = (getattr(item, "function", None) for item in unit.body)
    return {name for name in names if isinstance(name, str)}


def _declaring(unit: Unit, known: dict[str, Unit]) -> Unit:
    names = tuple(name for name in unit.function_declarations if name in known)
    return replace(unit, function_declarations=names)


def stripped(module: Module) -> Module:
    """Return `module` without names of variables and labels, source lines and paths.

    Kernels, functions and file-scope variables keep their names: they are found by them.
    """
    return replace(module, units=tuple(_stripped(unit) for unit in module.units))


def _stripped(unit: Unit) -> Unit:
    body = tuple(item for item in unit.body if not isinstance(item, FileMark | LineMark))
    attributes = tuple(entry for entry in unit.attributes if entry.name not in _PATHS)
    bare = replace(unit, body=body, attributes=attributes, order=None)
    return with_labels(with_variables(bare, _plain_variables(unit)), _plain_labels(unit))


def _plain_variables(unit: Unit) -> dict[Variable, Variable]:
    """Return each variable with a name that is its number."""
    plain: dict[Variable, Variable] = {}
    for general in unit.generals:
        alias = general.alias
        base = plain.get(alias.base, alias.base) if alias else None
        if alias is not None and isinstance(base, General):
            alias = Alias(base, alias.offset)
        name = f"V{general.index}"
        plain[general] = replace(general, name=name, alias=alias, stored_name=None)
    lettered: Sequence[tuple[str, Sequence[AddressVariable | PredicateVariable]]] = (
        ("A", unit.addresses),
        ("P", unit.predicates),
    )
    for letter, table in lettered:
        for variable in table:
            plain[variable] = replace(variable, name=f"{letter}{variable.index}", stored_name=None)
    states: Sequence[tuple[str, Sequence[SamplerVariable | SurfaceVariable]]] = (
        ("S", unit.samplers),
        ("T", unit.surfaces),
    )
    for letter, entries in states:
        for state in entries:
            plain[state] = replace(state, name=f"{letter}{state.index}", v_name=None)
    return plain


def _plain_labels(unit: Unit) -> dict[str, str]:
    """Return a numbered name for each label; subroutines are called so that they keep it."""
    labels: dict[str, str] = {}
    for item in unit.body:
        if isinstance(item, LabelMark):
            labels[item.name] = f"L{len(labels)}"
        elif isinstance(item, SubroutineMark):
            labels[item.name] = f"S_{len(labels)}"
    return labels
