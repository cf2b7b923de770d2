"""Registers with shadows: a linked kernel whose image has room for a second one of each variable.

In the image a set bit says that a bit is defined, so that what nothing has written, zero like all
that is fresh, is not. Variables that indirect operands reach have their shadows at one distance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TypeVar

from visim.linker.places import MARGIN, root_bytes
from visim.linker.program import LinkedKernel, LinkedUnit
from visim.operands import General, PredicateVariable
from visim.predefined import BY_NAME, GENERALS
from visim.types import UB

_Key = TypeVar("_Key")
FIRST_SHADOW = 1 << 20
"""The index of the shadow of the variable with index 0; less than 0 for what all units share."""
CARRIED = frozenset(BY_NAME[name].index for name in ("%arg", "%retval"))
"""The shared variables that have shadows, by index: they bring values from unit to unit."""


def has_shadow(variable: General) -> bool:
    """Whether a variable has a shadow, if it can hold undefined bits."""
    return not variable.is_shared or variable.index in CARRIED


def shadow_of(variable: General, grf: int) -> General:
    """Return the variable that is the shadow of another one, which is no alias."""
    index = _shadow_index(variable)
    return General(f"{variable.name}$", UB, root_bytes(variable, grf), "GRF", index=index)


def _shadow_index(variable: General) -> int:
    return variable.index + (-FIRST_SHADOW if variable.is_shared else FIRST_SHADOW)


def shadow_of_predicate(variable: PredicateVariable) -> PredicateVariable:
    """Return the predicate that is the shadow of another one."""
    return PredicateVariable(
        f"{variable.name}$", variable.count, index=variable.index + FIRST_SHADOW
    )


class ShadowedKernel:
    """A kernel with places for shadows.

    Attributes:
        kernel: the linked kernel.
        distance: how far the shadow is of what indirect operands reach, None without such.
    """

    def __init__(self, kernel: LinkedKernel) -> None:
        grf = kernel.platform.grf_bytes
        room = kernel.reached_bytes - 2 * MARGIN
        self._old_reached = kernel.reached_bytes
        self._shift = -(-room // grf) * grf
        self._end = kernel.register_bytes + self._shift
        is_reached = any(self._reaches(kernel, unit) for unit in kernel.units)
        self.distance = self._shift if is_reached else None
        parts = {field.name: getattr(kernel, field.name) for field in fields(LinkedKernel)}
        parts["units"] = tuple(self._unit(kernel, unit) for unit in kernel.units)
        parts["register_bytes"] = 2 * self._end - kernel.reached_bytes
        parts["reached_bytes"] = kernel.reached_bytes + self._shift
        carried = {
            _shadow_index(GENERALS[index]): self._shadow(kernel.predefined[index])
            for index in CARRIED
        }
        parts["predefined"] = self._moved(kernel.predefined) | carried
        parts["file_scope"] = self._moved(kernel.file_scope)
        parts["origin"] = None
        self.kernel = LinkedKernel(**parts)

    @staticmethod
    def _reaches(kernel: LinkedKernel, unit: LinkedUnit) -> bool:
        return any(offset < kernel.reached_bytes for offset in unit.offsets.values())

    def _moved(self, places: Mapping[_Key, int]) -> dict[_Key, int]:
        return {key: self._place(place) for key, place in places.items()}

    def _place(self, place: int) -> int:
        return place if place < self._old_reached else place + self._shift

    def _shadow(self, place: int) -> int:
        """Return where the shadow of an old place is."""
        if place < self._old_reached:
            return place + self._shift
        return self._end + place - self._old_reached

    def _unit(self, kernel: LinkedKernel, unit: LinkedUnit) -> LinkedUnit:
        roots = [one for one in unit.unit.generals if one.alias is None]
        predicates, grf = unit.unit.predicates, kernel.platform.grf_bytes
        offsets, others = self._moved(unit.offsets), self._moved(unit.others)
        for one in roots:
            offsets[_shadow_index(one)] = self._shadow(unit.offsets[one.index])
        for one in predicates:
            others[f"{one.name}$"] = self._shadow(unit.others[one.name])
        declared = replace(
            unit.unit,
            generals=(*unit.unit.generals, *(shadow_of(one, grf) for one in roots)),
            predicates=(*predicates, *map(shadow_of_predicate, predicates)),
        )
        spans = [
            span
            for first, end in unit.spans
            for span in (
                (self._place(first), self._place(first) + end - first),
                (self._shadow(first), self._shadow(first) + end - first),
            )
        ]
        return replace(unit, unit=declared, offsets=offsets, others=others, spans=tuple(spans))


__all__ = ["ShadowedKernel", "shadow_of", "shadow_of_predicate"]
