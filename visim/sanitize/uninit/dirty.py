"""Which registers can hold undefined bits at all: for all others no shadows are kept.

A variable can if its value comes from memory whose shadow is looked at, or from a variable that
can; or if something may read it before it was written. That is any variable that indirect operands
reach, and in programs that no compiler of visim's made any whose first access in the program's
order is a read, or does not write all of it. Variables that are never written are what compilers
leave undefined on purpose, unless they are copied to what indirect operands reach, which are arrays
with elements that the program has not written, or to what brings arguments to functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from visim.linker.program import LinkedKernel, LinkedUnit
from visim.operands import FIRST_DECLARED_GENERAL, General, PredicateVariable
from visim.sanitize.uninit.layout import CARRIED, has_shadow
from visim.sem.effects import (
    Effect,
    RegisterWrite,
    WriteIndirect,
    WritePredicate,
    WriteRegister,
    expressions,
    operands,
)
from visim.sem.expr import Expr, below

Name = int | str
"""A general variable by its index, a predicate by its name."""

_REACHED = "reached"
"""Stands for all variables that indirect operands reach."""


@dataclass
class _Flow:
    """What an instruction writes, and what of: names, and whether memory is among it.

    `copied` are those of its sources that it writes as they are, `partial` the targets that it does
    not write as a whole. `read` is all that the instruction looks at, for whatever it does.
    """

    targets: set[Name] = field(default_factory=set[Name])
    sources: set[Name] = field(default_factory=set[Name])
    from_memory: bool = False
    copied: set[Name] = field(default_factory=set[Name])
    partial: set[Name] = field(default_factory=set[Name])
    read: set[Name] = field(default_factory=set[Name])


class DirtyVariables:
    """The variables of each unit of a kernel that can hold undefined bits.

    Units that call each other share those that carry arguments and results: if one leaves undefined
    bits there, all may find some.

    Args:
        kernel: the kernel, without instruments.
        is_tracked: whether a message returns bits whose shadow is known.
        strict: whether registers that may be read before they are written count.
    """

    def __init__(
        self, kernel: LinkedKernel, is_tracked: Callable[[Effect], bool], *, strict: bool
    ) -> None:
        self._kernel, self._is_tracked, self._strict = kernel, is_tracked, strict

    def of(self, unit: LinkedUnit) -> frozenset[Name]:
        """Return those of a unit, by its number: it may be one with instruments."""
        return self._of_units[unit.number]

    @cached_property
    def _of_units(self) -> tuple[frozenset[Name], ...]:
        flows = [self._flows(unit) for unit in self._kernel.units]
        carried: frozenset[Name] = frozenset()
        while True:
            found = tuple(
                self._dirty(unit, of_unit, carried)
                for unit, of_unit in zip(self._kernel.units, flows, strict=True)
            )
            before, carried = carried, frozenset[Name]().union(*found) & CARRIED
            if carried == before:
                return found

    def _flows(self, unit: LinkedUnit) -> list[_Flow]:
        reached = self._reached(unit)
        effects = (self._kernel.known_effects(unit, pc) for pc in range(len(unit.body)))
        return [_flow(of_one, reached, self._is_tracked) for of_one in effects]

    def _reached(self, unit: LinkedUnit) -> frozenset[int]:
        """Return what indirect operands reach and has shadows."""
        return frozenset(
            index
            for index in self._kernel.reached(unit)
            if index >= FIRST_DECLARED_GENERAL or index in CARRIED
        )

    def _dirty(
        self, unit: LinkedUnit, flows: Sequence[_Flow], carried: frozenset[Name]
    ) -> frozenset[Name]:
        given: set[Name] = {
            entry.variable.root()[0].index
            for entry in unit.unit.inputs
            if isinstance(entry.variable, General)
        }
        dirty: set[Name] = {_REACHED}
        written, seen = set[Name](), set[Name]()
        for flow in flows:
            if self._strict:
                dirty |= (flow.read | flow.partial) - seen - CARRIED
            seen |= flow.read | flow.targets
            written |= flow.targets
        if not self._strict:
            dirty &= written
            dirty |= _copied_on(flows) - written
        dirty = (dirty | carried) - given
        changed = True
        while changed:
            before = len(dirty)
            for flow in flows:
                if flow.from_memory or flow.sources & dirty:
                    dirty |= flow.targets
            changed = len(dirty) != before
        if _REACHED in dirty:
            dirty |= self._reached(unit)
        return frozenset(dirty - given)


def _copied_on(flows: Sequence[_Flow]) -> set[Name]:
    """Return the variables that are copied, by way of others, to arrays or to other units.

    Arrays are what indirect operands reach.
    """
    found: set[Name] = {_REACHED, *CARRIED}
    size = 0
    while size != len(found):
        size = len(found)
        for flow in flows:
            if flow.targets & found:
                found |= flow.copied
    return found


def _flow(
    effects: Sequence[Effect], reached: frozenset[int], is_tracked: Callable[[Effect], bool]
) -> _Flow:
    flow, looks = _Flow(), _Flow()
    for leaf in expressions(effects):
        _add_source(looks, leaf, reached, is_tracked)
    flow.read = looks.sources
    for effect in effects:
        if not isinstance(effect, RegisterWrite):
            continue
        match effect:
            case WriteRegister(place) if not has_shadow(place.variable):
                continue
            case WriteRegister(place, value):
                name = _named(place.variable, reached)
                flow.targets.add(name)
                if place.lanes * place.type.bytes < place.variable.bytes:
                    flow.partial.add(name)
                if value.uop.name == "read" and has_shadow(value.attribute.variable):
                    flow.copied.add(_named(value.attribute.variable, reached))
            case WritePredicate(variable):
                flow.targets.add(variable.name)
            case WriteIndirect():
                flow.targets.add(_REACHED)
            case _:
                continue
        for leaf in below(operands(effect)):
            _add_source(flow, leaf, reached, is_tracked)
    return flow


def _add_source(
    flow: _Flow, leaf: Expr, reached: frozenset[int], is_tracked: Callable[[Effect], bool]
) -> None:
    match leaf.uop.name:
        case "read":
            variable: General = leaf.attribute.variable
            if has_shadow(variable):
                flow.sources.add(_named(variable, reached))
        case "predicate":
            predicate: PredicateVariable = leaf.attribute[0]
            flow.sources.add(predicate.name)
        case "gather":
            flow.sources.add(_REACHED)
        case "loaded":
            flow.from_memory |= is_tracked(leaf.attribute[0])
        case _:
            pass


def _named(variable: General, reached: frozenset[int]) -> Name:
    return _REACHED if variable.index in reached else variable.index


__all__ = ["DirtyVariables", "Name"]
