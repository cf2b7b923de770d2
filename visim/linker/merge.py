"""Several modules as one: symbols of files resolved by C's rules (specification 4, linkage).

A global function or variable is seen by all files and defined in one; a static one is seen in its
own file only, and renamed where another file has the name; an external one is defined elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from visim.check.calls import call_sizes
from visim.check.rule import ModuleSite
from visim.diag import Diagnostics, Origin
from visim.errors import LinkError
from visim.isa.flow import FunctionAddress, FunctionCall
from visim.isa.version_kinds import at_version
from visim.lex import nearest
from visim.linker.program import DEFINED_ELSEWHERE, file_variables_of, how_to_resolve
from visim.module import FileVariable, Linkage, Module, Unit, UnitKind
from visim.operands import Alias, General, Variable
from visim.renaming import with_functions, with_variables


@dataclass(frozen=True, slots=True)
class Part:
    """One of the files to link: its name in messages, and what it holds."""

    file: str
    module: Module


def merge(parts: Sequence[Part]) -> Module:
    """Return one module made of `parts`, in which nothing is external.

    Kernels and functions keep their order, file after file; the version is the newest. Kernels
    declare all functions, as compilers have them do.

    Raises:
        LinkError: a name is defined twice, declared in two ways, or defined nowhere, or a call
            passes what its function does not take.
    """
    findings = Diagnostics()
    own = _with_own_statics(_with_common_names(parts))
    _check_definitions(own, findings)
    variables = _variables(own, findings)
    _check_functions(own, findings)
    if findings.errors:
        raise LinkError(findings)
    version = max(part.module.version for part in parts)
    units = [
        _at_version(_with_own_locals(unit, set(variables)), version)
        for part in own
        for unit in part.module.units
    ]
    functions = [
        replace(unit, function_declarations=()) for unit in units if unit.kind is UnitKind.FUNCTION
    ]
    names = tuple(function.name for function in functions)
    kernels = [
        replace(unit, function_declarations=names) for unit in units if unit.kind is UnitKind.KERNEL
    ]
    merged = Module(version, (*kernels, *functions), None, tuple(variables.values()))
    findings.extend(call_sizes.apply(ModuleSite(merged, None), None))
    if findings.errors:
        raise LinkError(findings)
    return merged


def _at_version(unit: Unit, version: tuple[int, int]) -> Unit:
    """Return a unit with all operands that instructions have in `version`."""
    body = tuple(at_version(item, version) for item in unit.body)
    changed = any(new is not old for new, old in zip(body, unit.body, strict=True))
    return replace(unit, body=body) if changed else unit


def undeclared_functions(module: Module) -> Diagnostics:
    """Return the calls of functions that a module neither has nor declares to be external."""
    findings = Diagnostics()
    known = [*module.externals, *(unit.name for unit in module.functions)]
    for unit in module.units:
        for item in _mentions(unit):
            name = item.function
            if name not in known:
                verb = "calls" if isinstance(item, FunctionCall) else "takes the address of"
                message = f"{unit.name} {verb} {name!r}, which the file neither has nor declares"
                guess = nearest(name, known)
                hint = f"did you mean {guess!r}?" if guess else f"declare it: .funcdecl {name}"
                findings.error("undeclared-function", message, item.origin, help=hint)
    return findings


# Names that several files see


def _with_common_names(parts: Sequence[Part]) -> list[Part]:
    """Return the parts with one name for each symbol that is a variable of file scope.

    Names in objects that a text cannot hold were replaced by others, in each file for itself: two
    symbols may have one name, or one symbol two.
    """
    declared = [variable for part in parts for variable in part.module.variables]
    names = {v.symbol: v.symbol for v in declared if v.symbol == v.variable.name}
    taken = {*names, *(v.variable.name for v in declared if _is_static(v))}
    return [_with_symbols(part, names, taken) for part in parts]


def _with_symbols(part: Part, names: dict[str, str], taken: set[str]) -> Part:
    """Return a part with the `names` of its symbols; those that have none yet get one.

    A file that has a symbol twice knows the second by its place: no other file sees it.
    """
    changed: dict[str, str] = {}
    seen: set[str] = set()
    for declared in part.module.variables:
        name, symbol = declared.variable.name, declared.symbol
        if _is_static(declared):
            continue
        if symbol in seen or symbol not in names:
            free = _free_names((name,), taken).get(name, name)
            changed[name] = names.setdefault(symbol, free) if symbol not in seen else free
        else:
            changed[name] = names[symbol]
        seen.add(symbol)
    changed = {name: new for name, new in changed.items() if name != new}
    return replace(part, module=_with_variables(part.module, changed))


# Names that only one file sees


def _with_own_statics(parts: Sequence[Part]) -> list[Part]:
    """Return the parts with static names that no other part has."""
    taken: set[str] = set()
    for part in parts:
        taken |= {unit.name for unit in part.module.units if unit.linkage is not Linkage.STATIC}
        taken |= {v.variable.name for v in part.module.variables if not _is_static(v)}
    own: list[Part] = []
    for part in parts:
        functions = [unit.name for unit in part.module.units if unit.linkage is Linkage.STATIC]
        variables = [v.variable.name for v in part.module.variables if _is_static(v)]
        module = _with_functions(part.module, _free_names(functions, taken))
        own.append(replace(part, module=_with_variables(module, _free_names(variables, taken))))
    return own


def _is_static(declared: FileVariable) -> bool:
    return declared.linkage is Linkage.STATIC


def _free_names(names: Iterable[str], taken: set[str]) -> dict[str, str]:
    """Return new names for those that are taken, and take all of them."""
    changed: dict[str, str] = {}
    for name in names:
        free, number = name, 1
        while free in taken:
            number += 1
            free = f"{name}_{number}"
        taken.add(free)
        if free != name:
            changed[name] = free
    return changed


def _with_functions(module: Module, changed: dict[str, str]) -> Module:
    return replace(module, units=tuple(with_functions(unit, changed) for unit in module.units))


def _with_variables(module: Module, changed: dict[str, str]) -> Module:
    if not changed:
        return module
    variables = tuple(
        replace(declared, variable=_renamed(declared.variable, changed))
        for declared in module.variables
    )
    units = tuple(_with_file_variables(unit, changed) for unit in module.units)
    return replace(module, variables=variables, units=units)


def _renamed(variable: General, changed: dict[str, str]) -> General:
    return replace(variable, name=changed.get(variable.name, variable.name))


def _with_file_variables(unit: Unit, changed: dict[str, str]) -> Unit:
    """Return `unit` with aliases of variables of file scope under their new names."""
    return _with_names(unit, unit.generals, {}, changed)


def _with_own_locals(unit: Unit, shared: set[str]) -> Unit:
    """Return `unit` with other names for its variables that are called as one of file scope is.

    Its own file does not have that one, or had it under another name. One text has room for one.
    """
    own = (*unit.generals, *unit.addresses, *unit.predicates, *unit.samplers, *unit.surfaces)
    names = {variable.name for variable in own}
    changed = _free_names(sorted(names & shared), names | shared)
    return _with_names(unit, own, changed, {}) if changed else unit


def _with_names(
    unit: Unit, own: Iterable[Variable], changed: dict[str, str], of_file: dict[str, str]
) -> Unit:
    """Return `unit` with other names for its `own` variables, and for those of file scope."""
    others: dict[Variable, Variable] = {}
    for variable in own:
        new = replace(variable, name=changed.get(variable.name, variable.name))
        if isinstance(new, General) and new.alias is not None:
            base = new.alias.base
            found = _renamed(base, of_file) if base.is_file_scope else others.get(base, base)
            if isinstance(found, General):
                new = replace(new, alias=Alias(found, new.alias.offset))
        if new != variable:
            others[variable] = new
    return with_variables(unit, others)


# What the parts say of one name


def _check_definitions(parts: Sequence[Part], findings: Diagnostics) -> None:
    """Each name of a kernel, function or variable has one definition."""
    owners: dict[str, str] = {}
    for part in parts:
        defined: list[tuple[str, Origin]] = [(u.name, u.origin) for u in part.module.units]
        defined += [
            (declared.variable.name, declared.origin)
            for declared in part.module.variables
            if declared.linkage is not Linkage.EXTERNAL
        ]
        for name, origin in defined:
            if name in owners:
                message = f"{name!r} is defined in {owners[name]} and in {part.file}"
                help_text = "make one of them static, or leave one out"
                findings.error("duplicate-definition", message, origin, help=help_text)
            owners.setdefault(name, part.file)


def _variables(parts: Sequence[Part], findings: Diagnostics) -> dict[str, FileVariable]:
    """Return the variables of file scope by name; their declarations must agree."""
    defined = {
        declared.variable.name: (declared, part.file)
        for part, declared in _declarations(parts)
        if declared.linkage is Linkage.GLOBAL
    }
    own: dict[str, FileVariable] = {}
    for part, declared in _declarations(parts):
        name = declared.variable.name
        if declared.linkage is not Linkage.EXTERNAL:
            own[name] = declared
        elif name in defined:
            found, file = defined[name]
            if declared.variable != found.variable:
                message = (
                    f"{part.file} declares {_described(declared.variable)}, "
                    f"{file} defines {_described(found.variable)}"
                )
                findings.error("declaration-mismatch", message, declared.origin)
        elif any(name in file_variables_of(unit) for unit in part.module.units):
            guess = nearest(declared.symbol, [entry.symbol for entry, _file in defined.values()])
            findings.error(
                "unknown-variable",
                f"{part.file} needs the variable {declared.symbol!r}, "
                "which none of the files defines",
                declared.origin,
                help=f"did you mean {guess!r}?" if guess else DEFINED_ELSEWHERE,
            )
    return own


def _declarations(parts: Sequence[Part]) -> Iterator[tuple[Part, FileVariable]]:
    """Yield the variables of file scope that the parts declare or define."""
    return ((part, declared) for part in parts for declared in part.module.variables)


def _described(variable: General) -> str:
    align = f", align {variable.align}" if variable.align else ""
    return f"{variable.name} as {variable.count} of {variable.type.name}{align}"


def _check_functions(parts: Sequence[Part], findings: Diagnostics) -> None:
    """Each function that is called is in one of the parts."""
    shared = {
        unit.name
        for part in parts
        for unit in part.module.functions
        if unit.linkage is Linkage.GLOBAL
    }
    for part in parts:
        known = shared | {unit.name for unit in part.module.functions}
        reported: set[str] = set()
        for unit in part.module.units:
            for item in _mentions(unit):
                name = item.function
                if name in known or name in reported:
                    continue
                reported.add(name)
                what = "the function " if isinstance(item, FunctionCall) else ""
                findings.error(
                    "unknown-function",
                    f"{part.file} needs {what}{name!r}, which none of the files defines",
                    item.origin,
                    help=how_to_resolve(item, known),
                )


def _mentions(unit: Unit) -> Iterator[FunctionCall | FunctionAddress]:
    """Yield where a unit calls a function or takes the address of one."""
    return (item for item in unit.body if isinstance(item, FunctionCall | FunctionAddress))
