"""Elements that a load brings along and nobody looks at.

Compilers make one load of two that are close to each other, with what is between them. Work-items
that write there do not race with it: the element is in a part of a register that nothing reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from visim.linker.program import LinkedKernel, LinkedUnit
from visim.sem.effects import Effect, Load, LoadBlock, Place, WriteRegister, expressions

_LEAST = 3
"""So many elements has a load with a gap: its first and its last are wanted."""

_Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Reads:
    """What the instructions of a unit read, by variable; `reached` is in reach of any of them."""

    spans: dict[int, tuple[_Span, ...]]
    reached: frozenset[int]

    def has(self, variable: int, span: _Span) -> bool:
        """Whether anything may read some bytes of a variable."""
        if variable in self.reached:
            return True
        found = self.spans.get(variable, ())
        return any(first < span[1] and span[0] < end for first, end in found)


class Gaps:
    """Finds the elements of loads that nothing in their unit reads."""

    def __init__(self, kernel: LinkedKernel) -> None:
        self._kernel = kernel
        self._reads: dict[int, _Reads] = {}

    def of(self, unit: LinkedUnit, pc: int, load: Effect) -> frozenset[int]:
        """Return the elements of an effect of an instruction that are a gap."""
        count = _elements(load)
        if count < _LEAST:
            return frozenset()
        reads, written, wanted = self._of_unit(unit), set[int](), set[int]()
        for effect in self._kernel.effects(unit, pc):
            for element, place in _results(effect, load):
                written.add(element)
                variable = place.variable
                if variable.is_shared or reads.has(variable.index, _span(place)):
                    wanted.add(element)
        # Of what goes elsewhere than to registers, all elements are wanted.
        return frozenset(written - wanted) if len(written) == count else frozenset()

    def _of_unit(self, unit: LinkedUnit) -> _Reads:
        found = self._reads.get(unit.number)
        if found is None:
            spans: dict[int, set[_Span]] = {}
            for pc in range(len(unit.body)):
                for leaf in expressions(self._kernel.known_effects(unit, pc)):
                    if leaf.uop.name == "read":
                        place: Place = leaf.attribute
                        spans.setdefault(place.variable.index, set()).add(_span(place))
            kept = {variable: tuple(sorted(found)) for variable, found in spans.items()}
            found = _Reads(kept, self._kernel.reached(unit))
            self._reads[unit.number] = found
        return found


def _elements(load: Effect) -> int:
    match load:
        case Load():
            return load.components
        case LoadBlock():
            return load.count
        case _:
            return 0


def _results(effect: Effect, load: Effect) -> Iterator[tuple[int, Place]]:
    """Yield the elements of a load that an effect writes as they are, and where to."""
    if not isinstance(effect, WriteRegister) or effect.value.uop.name != "loaded":
        return
    source, component = effect.value.attribute
    if _key(source) != _key(load):
        return
    place = effect.place
    if isinstance(load, LoadBlock):
        for element in range(place.lanes):
            yield element, _element(place, element)
    else:
        yield component, place


def _key(effect: Effect) -> tuple[object, ...]:
    """Return what tells the loads of an instruction apart; it is traced anew for each question."""
    if isinstance(effect, Load):
        return Load, effect.space, effect.type, effect.components, effect.addresses.lanes
    if isinstance(effect, LoadBlock):
        return LoadBlock, effect.space, effect.type, effect.count
    return (type(effect),)


def _element(place: Place, number: int) -> Place:
    row, column = divmod(number, place.width)
    offset = place.offset + row * place.row_stride + column * place.stride
    return Place(place.variable, offset, place.type, 1, 1, 0, place.type.bytes)


def _span(place: Place) -> _Span:
    """Return the first byte of a place in its variable, and the byte behind it."""
    row, column = (place.lanes - 1) // place.width, min(place.lanes, place.width) - 1
    last = place.offset + row * place.row_stride + column * place.stride
    return min(place.offset, last), max(place.offset, last) + place.type.bytes


__all__ = ["Gaps"]
