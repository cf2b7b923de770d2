"""Which instructions are alike: they differ in the names of variables and labels at most.

A kernel of thousands of instructions has a few hundred kinds of them, and no rule finds in one
instruction what it does not find in all others of its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any

from visim.isa import Instruction
from visim.isa.forms import FileMark, LabelMark, LineMark, SubroutineMark
from visim.isa.registry import label_fields
from visim.operands import (
    FIRST_DECLARED_GENERAL,
    AddressOf,
    AddressOperand,
    AddressVariable,
    Alias,
    General,
    GeneralDestination,
    GeneralSource,
    IndirectDestination,
    IndirectSource,
    LscAddress,
    PredicateOperand,
    PredicateVariable,
    Predication,
    RawOperand,
)

_VARIABLES = frozenset({General, AddressVariable, PredicateVariable})
_OPERANDS = frozenset(
    {
        *(GeneralSource, GeneralDestination, IndirectSource, IndirectDestination, RawOperand),
        *(AddressOf, AddressOperand, PredicateOperand, Predication, LscAddress),
    }
)
"""What names such variables in most instructions. In other operands variables are as they are."""
_MARKS = frozenset({LabelMark, SubroutineMark, FileMark, LineMark})
"""What does nothing, so that no rule is about what it names."""


class Likeness:
    """Tells the instructions of one unit apart by their kinds."""

    def __init__(self) -> None:
        self._kinds: dict[Hashable, int] = {}
        self._known: dict[int, tuple[int, int]] = {}

    def kind(self, instruction: Instruction) -> Hashable:
        """Return what is the same for all instructions like this one, and for no others."""
        met: list[int] = []
        cls = instruction.__class__
        if cls in _MARKS:
            return cls
        return cls, *[self._value(value, met) for value in _values_of(cls)(instruction)]

    def _value(self, value: Any, met: list[int]) -> Hashable:
        """Return the likeness of a value; `met` are the variables in front of it."""
        cls = value.__class__
        if cls in _VARIABLES:
            kind, owner = self._known.get(id(value)) or self._look_at(value)
            if owner not in met:
                met.append(owner)
            return kind, met.index(owner)
        if cls in _OPERANDS:
            return cls, *[self._value(part, met) for part in _values_of(cls)(value)]
        return value

    def _look_at(self, variable: Any) -> tuple[int, int]:
        """Return the number of a variable's kind, and who owns its storage."""
        kind = self._kinds.setdefault(_nameless(variable), len(self._kinds))
        owner: Any = variable.root()[0] if isinstance(variable, General) else variable
        self._known[id(variable)] = kind, id(owner)
        return kind, id(owner)


@cache
def _values_of(cls: type[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what takes the fields of a class that compare, but for labels, always as a tuple."""
    labels = label_fields(cls) if issubclass(cls, Instruction) else ()
    names = [entry.name for entry in fields(cls) if entry.compare and entry.name not in labels]
    if len(names) == 1:
        return lambda value: (getattr(value, names[0]),)
    return attrgetter(*names)


def _nameless(variable: Any) -> Any:
    """Return a variable without its name and place in the table; others have a meaning by them."""
    if isinstance(variable, AddressVariable):
        return AddressVariable("", variable.count, variable.attributes)
    if isinstance(variable, PredicateVariable):
        return PredicateVariable("", variable.count, variable.attributes)
    if variable.is_shared:
        return variable
    alias = variable.alias and Alias(_nameless(variable.alias.base), variable.alias.offset)
    return General(
        "",
        variable.type,
        variable.count,
        variable.align,
        alias,
        variable.attributes,
        FIRST_DECLARED_GENERAL,
    )
