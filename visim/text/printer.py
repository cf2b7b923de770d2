"""Writes modules as vISA text, byte for byte as IGC dumps them (docs/formats.md).

Comments and spacing of a text that was read are not kept; names of subroutines are: they do not
grow a number with every round trip.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

from visim import predefined
from visim.isa.forms import FileMark, LabelMark, LineMark, SubroutineMark
from visim.isa.registry import Instruction
from visim.lex import quoted
from visim.module import EXPLICIT, PARAMETER, FileVariable, Input, Module, Unit, UnitKind
from visim.operands import (
    AddressVariable,
    Attribute,
    General,
    PredicateVariable,
    SamplerVariable,
    SurfaceVariable,
    Variable,
)
from visim.renaming import with_labels, with_variables
from visim.text.linkage import file_lines, variable_lines

_COMMENT_COLUMN = 80
_PLAIN_LABEL = re.compile(r"[A-Za-z_$@?][\w$@?.-]*", re.ASCII)
_UNPRINTED = re.compile(r"[.$]")
_NOT_SHOWN = frozenset({"OutputAsmPath", "AsmName"})
_LETTERS: tuple[tuple[type[Variable], str], ...] = (
    (AddressVariable, "A"),
    (PredicateVariable, "P"),
    (SamplerVariable, "S"),
    (SurfaceVariable, "T"),
)


def show_module(module: Module) -> str:
    """Return the text of `module`: one `.version`, then the kernels, then the functions."""
    units = (*module.kernels, *module.functions)
    head = "".join(f"{line}\n" for line in file_lines(module))
    return _version(module.version) + head + "".join(_show(unit, module.version) for unit in units)


def show_unit(unit: Unit, version: tuple[int, int], variables: Sequence[FileVariable] = ()) -> str:
    """Return the text of `unit` as a file of its own.

    Args:
        unit: a kernel or function.
        version: what `.version` says.
        variables: those of its file; the ones that the unit mentions are declared.
    """
    mentioned = {variable.root()[0] for variable in unit.generals}
    used = [declared for declared in variables if declared.variable in mentioned]
    head = "".join(f"{line}\n" for line in variable_lines(used))
    return _version(version) + head + _show(unit, version)


def _version(version: tuple[int, int]) -> str:
    return f".version {version[0]}.{version[1]}\n"


def _show(unit: Unit, version: tuple[int, int]) -> str:
    unit = _with_printed_names(unit)
    head = "\n".join([*_name_lines(unit), _predefined(version), *_declaration_lines(unit)])
    body = "".join(_body_pieces(unit.body, version))
    if unit.body and not isinstance(unit.body[0], LabelMark | SubroutineMark):
        head += "\n"
    return f"{head}{body}" if body else f"{head}\n"


@cache
def _predefined(version: tuple[int, int]) -> str:
    general = predefined.generals(version)
    lines = [f"// .decl V{variable.index} v_type=G v_name={variable.name}" for variable in general]
    lines += [f"// .decl T{one.index} v_type=T v_name={one.name}" for one in predefined.SURFACES]
    return "\n".join(["\n/// VISA Predefined Variables", *lines, ""])


def _name_lines(unit: Unit) -> Iterator[str]:
    directive = ".kernel" if unit.kind is UnitKind.KERNEL else f".{unit.linkage}_function"
    yield f"{directive} {quoted(unit.name.replace('.', ' '))}"
    for name in unit.function_declarations:
        yield f".funcdecl {quoted(name)}"


def _declaration_lines(unit: Unit) -> Iterator[str]:
    for general in unit.generals:
        yield _show_general(general)
    for address in unit.addresses:
        yield _show_plain(address, "A", "")
    for predicate in unit.predicates:
        yield _show_plain(predicate, "P", "")
    for sampler in unit.samplers:
        yield _show_plain(sampler, "S", f" v_name={sampler.v_name or sampler.name}")
    for surface in unit.surfaces:
        yield _show_plain(surface, "T", f" v_name={surface.v_name or surface.name}")
    for entry in unit.inputs:
        yield _show_input(entry)
    for attribute in unit.attributes:
        if attribute.name not in _NOT_SHOWN:
            yield f".kernel_attr {_show_attribute(attribute)}"


def _show_general(variable: General) -> str:
    parts = [f".decl {variable.name} v_type=G type={variable.type.name} num_elts={variable.count}"]
    if variable.align:
        parts.append(f"align={variable.align}")
    if variable.alias is not None:
        parts.append(f"alias=<{variable.alias.base.name}, {variable.alias.offset}>")
    return " ".join(parts) + _show_attributes(variable.attributes)


def _show_plain(
    variable: AddressVariable | PredicateVariable | SamplerVariable | SurfaceVariable,
    letter: str,
    own_name: str,
) -> str:
    head = f".decl {variable.name} v_type={letter} num_elts={variable.count}{own_name}"
    return head + _show_attributes(variable.attributes)


def _show_attributes(attributes: tuple[Attribute, ...]) -> str:
    if not attributes:
        return ""
    return f" attrs={{{', '.join(_show_attribute(entry) for entry in attributes)}}}"


def _show_attribute(attribute: Attribute) -> str:
    if attribute.value is None:
        return attribute.name
    value = attribute.value
    return f"{attribute.name}={quoted(value) if isinstance(value, str) else value}"


def _show_input(entry: Input) -> str:
    if entry.kind == PARAMETER:
        return f".parameter {entry.variable.name} size={entry.size}"
    directive = ".input" if entry.kind == EXPLICIT else f".implicit_{entry.kind}"
    return f"{directive} {entry.variable.name} offset={entry.offset} size={entry.size}"


def _body_pieces(body: tuple[Instruction, ...], version: tuple[int, int]) -> Iterator[str]:
    for number, instruction in enumerate(body):
        match instruction:
            case LabelMark(name=name):
                yield f"\n{_show_label(name)}:\n"
            case SubroutineMark(name=name):
                yield f"    \n.function {quoted(name)}\n\n{_show_label(name)}:\n"
            case FileMark() | LineMark():
                yield f"    {instruction.show()}\n"
            case _:
                yield (
                    f"    {instruction.show(version)}".ljust(_COMMENT_COLUMN) + f" /// ${number}\n"
                )


def _show_label(name: str) -> str:
    return name if _PLAIN_LABEL.fullmatch(name) else quoted(name)


def _with_printed_names(unit: Unit) -> Unit:
    """Return `unit` with the names that are printed.

    All but general variables are called by number; names of subroutines have no '.' and no '$'.
    """
    return _with_printed_subroutines(_with_printed_variables(unit))


def _with_printed_subroutines(unit: Unit) -> Unit:
    marks = [entry.name for entry in unit.body if isinstance(entry, LabelMark | SubroutineMark)]
    taken = set(marks)
    printed: dict[str, str] = {}
    for entry in unit.body:
        if not isinstance(entry, SubroutineMark) or not _UNPRINTED.search(entry.name):
            continue
        name = _UNPRINTED.sub("_", entry.name)
        if name not in taken:
            taken.add(name)
            printed[entry.name] = name
    return with_labels(unit, printed)


def _with_printed_variables(unit: Unit) -> Unit:
    printed: dict[Variable, Variable] = {}
    declared = (*unit.addresses, *unit.predicates, *unit.samplers, *unit.surfaces)
    for variable in declared:
        letter = next(letter for kind, letter in _LETTERS if isinstance(variable, kind))
        name = f"{letter}{variable.index}"
        if name == variable.name:
            continue
        if isinstance(variable, SamplerVariable | SurfaceVariable):
            own = variable.v_name or variable.name
            printed[variable] = replace(variable, name=name, v_name=own)
        else:
            printed[variable] = replace(variable, name=name)
    return with_variables(unit, printed)
