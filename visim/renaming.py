"""Units with other names: variables, labels and functions replaced wherever they are mentioned."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, cast

from visim.isa.registry import Instruction, schema_of
from visim.module import Unit
from visim.operands import (
    AddressVariable,
    General,
    JumpTable,
    PredicateVariable,
    SamplerVariable,
    SurfaceVariable,
    Variable,
)

_NO_OPERANDS = frozenset({"op", "origin", "order"})
_VARIABLES = (General, AddressVariable, PredicateVariable, SamplerVariable, SurfaceVariable)


def with_variables(unit: Unit, changed: Mapping[Variable, Variable]) -> Unit:
    """Return `unit` with variables replaced, in whatever tuples and operands they stand."""
    return _replaced(unit, changed) if changed else unit


def with_labels(unit: Unit, changed: Mapping[str, str]) -> Unit:
    """Return `unit` with other names of labels."""
    if not changed:
        return unit
    return replace(unit, body=tuple(_relabelled(item, changed) for item in unit.body))


def with_functions(unit: Unit, changed: Mapping[str, str]) -> Unit:
    """Return `unit` with other names of functions, its own included."""
    if not changed:
        return unit
    return replace(
        unit,
        name=changed.get(unit.name, unit.name),
        function_declarations=tuple(changed.get(n, n) for n in unit.function_declarations),
        body=tuple(_recalled(item, changed) for item in unit.body),
    )


def mentions(unit: Unit, variable: Variable) -> bool:
    """Return whether an instruction has a variable, or one of the same storage, as an operand."""
    return _storage(variable) in mentioned(unit)


def mentioned(unit: Unit) -> AbstractSet[Variable]:
    """Return what instructions have as operands: of general variables those whose storage it is."""
    found, seen = set[Variable](), set[int]()
    waiting: list[Any] = list(unit.body)
    while waiting:
        value = waiting.pop()
        if isinstance(value, _VARIABLES):
            if id(value) not in seen:
                seen.add(id(value))
                found.add(_storage(value))
        elif isinstance(value, tuple):
            waiting += cast("tuple[Any, ...]", value)
        elif is_dataclass(value) and not isinstance(value, type):
            waiting += [getattr(value, name) for name in operand_fields(type(value))]
    return found


def _storage(variable: Variable) -> Variable:
    return variable.root()[0] if isinstance(variable, General) else variable


@cache
def operand_fields(form: type[Any]) -> tuple[str, ...]:
    """Return the fields of an instruction or operand that may hold operands, or parts of one."""
    return tuple(entry.name for entry in fields(form) if entry.name not in _NO_OPERANDS)


def _replaced(value: Any, changed: Mapping[Variable, Variable]) -> Any:
    if isinstance(value, _VARIABLES):
        return changed.get(value, value)
    if isinstance(value, tuple):
        return tuple(_replaced(entry, changed) for entry in cast("tuple[Any, ...]", value))
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changes: dict[str, Any] = {}
    for name in operand_fields(type(value)):
        before = getattr(value, name)
        after = _replaced(before, changed)
        if after is not before:
            changes[name] = after
    return replace(value, **changes) if changes else value


@cache
def _label_fields(form: type[Instruction]) -> tuple[str, ...]:
    kinds = {entry.name: entry.kind for entry in schema_of(form).fields}
    return tuple(
        name
        for name, kind in kinds.items()
        if hasattr(kind, "labels_of") and getattr(kind, "is_label", True)
    )


def _relabelled(instruction: Instruction, changed: Mapping[str, str]) -> Instruction:
    changes: dict[str, Any] = {}
    for name in _label_fields(type(instruction)):
        value = getattr(instruction, name)
        if isinstance(value, JumpTable):
            labels = tuple(changed.get(label, label) for label in value.labels)
            changes[name] = replace(value, labels=labels)
        elif value in changed:
            changes[name] = changed[value]
    return replace(instruction, **changes) if changes else instruction


def _recalled(instruction: Instruction, changed: Mapping[str, str]) -> Instruction:
    called = getattr(instruction, "function", None)
    if not isinstance(called, str) or called not in changed:
        return instruction
    changes: dict[str, Any] = {"function": changed[called]}
    return replace(instruction, **changes)
