"""Where variables stand in the register image; those that indirect operands can reach come first.

An indirect operand reaches variables whose address the program takes, and no others (specification
5, Indirect Operands). They stand side by side, with zeros in front of them and behind them, where
rows of elements may begin and end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from visim import predefined
from visim.isa.move import AddressAdd
from visim.module import Linkage, Module, Unit
from visim.operands import (
    AddressOf,
    General,
    GeneralSource,
    StateAddressOf,
    StateVariable,
)

GUARD = 4096
"""Bytes between units, so that an operand that reaches beyond its variable stays in the image."""

MARGIN = 256
"""Bytes before and behind what indirect operands can reach, zeros: a row has 32 of 8 at most."""

PREDICATE_BYTES = 64
"""Bytes of a predicate in the image: 32 channels, and room for offsets beyond them."""


@dataclass
class UnitPlaces:
    """Where the variables of a unit stand: generals by index, all others by name.

    `addressed` are those whose addresses the unit takes. `spans` are the parts of the image that
    all fill: what indirect operands reach, then the rest.
    """

    addressed: set[General | StateVariable]
    offsets: dict[int, int] = field(default_factory=dict[int, int])
    others: dict[str, int] = field(default_factory=dict[str, int])
    spans: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])


def root_bytes(variable: General, grf: int) -> int:
    """Return the size of a variable that is no alias."""
    if variable.is_predefined:
        return predefined.elements(variable, grf) * variable.type.bytes
    return variable.bytes


def addressed(unit: Unit) -> set[General | StateVariable]:
    """Return the variables, none of which is an alias, whose addresses a unit takes."""
    found = set[General | StateVariable]()
    for item in unit.body:
        match item.src0 if isinstance(item, AddressAdd) else None:
            case GeneralSource(variable) | AddressOf(variable):
                found.add(variable.root()[0])
            case StateAddressOf(variable):
                found.add(variable)
            case _:
                pass
    return found


class Places:
    """The places of all variables of a kernel and the functions that it can call.

    Attributes:
        predefined: those of predefined variables, by index.
        file_scope: those of variables of file scope that are defined, by name.
        units: those of each unit's variables.
        reached: the bytes that indirect operands can reach, and the margins around them.
        size: the bytes of the image.

    Args:
        module: the program, for its variables of file scope.
        units: the kernel and its functions.
        grf: the bytes of a register.
    """

    def __init__(self, module: Module, units: Sequence[Unit], grf: int) -> None:
        self.predefined: dict[int, int] = {}
        self.file_scope: dict[str, int] = {}
        self.units = [UnitPlaces(addressed(unit)) for unit in units]
        self._grf = grf
        self._position = MARGIN
        self._addressed = set[General | StateVariable]().union(
            *(own.addressed for own in self.units)
        )
        self._place_all(module, units, reached=True)
        self._position += MARGIN
        self.reached = self._position
        self._place_all(module, units, reached=False)
        self.size = self._aligned(GUARD)

    def _place_all(self, module: Module, units: Sequence[Unit], *, reached: bool) -> None:
        for variable in predefined.GENERALS:
            if (variable in self._addressed) is reached:
                self.predefined[variable.index] = self._registers(variable)
        for declared in module.variables:
            variable, here = declared.variable, declared.linkage is not Linkage.EXTERNAL
            if here and (variable in self._addressed) is reached:
                self.file_scope[variable.name] = self._registers(variable)
        for unit, places in zip(units, self.units, strict=True):
            if not reached:
                self._position += GUARD
            start = self._position
            self._place_generals(unit, places, reached=reached)
            self._place_others(unit, places, reached=reached)
            places.spans.append((start, self._position))

    def _place_generals(self, unit: Unit, places: UnitPlaces, *, reached: bool) -> None:
        """Give each variable that is no alias whole registers (specification 5, region rule 6)."""
        self._position = self._aligned()
        for variable in unit.generals:
            if variable.alias is None and (variable in places.addressed) is reached:
                places.offsets[variable.index] = self._registers(variable)

    def _place_others(self, unit: Unit, places: UnitPlaces, *, reached: bool) -> None:
        bindless = (predefined.BINDLESS_SURFACE, predefined.BINDLESS_SAMPLER)
        if not reached:
            for predicate in unit.predicates:
                places.others[predicate.name] = self._take(PREDICATE_BYTES)
            for address in unit.addresses:
                places.others[address.name] = self._take(4 * address.count)
        for state in (*unit.surfaces, *unit.samplers, *bindless):
            if (state in places.addressed) is reached:
                places.others[state.name] = self._take(4 * state.count)
        self._position = self._aligned()

    def _registers(self, variable: General) -> int:
        """Return the place of a variable, which gets whole registers."""
        place = self._take(root_bytes(variable, self._grf))
        self._position = self._aligned()
        return place

    def _take(self, size: int) -> int:
        place = self._position
        self._position += size
        return place

    def _aligned(self, more: int = 0) -> int:
        return -(-(self._position + more) // self._grf) * self._grf
