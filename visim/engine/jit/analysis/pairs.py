"""Variables that hold halves of the channels' elements, as one variable.

Where an instruction can have half of the channels only, compilers declare two variables of the same
size: channels 0 to 15 have their elements in the first one, channels 16 to 31 in the second.
Native code keeps both as one variable of twice the size, in which the elements of all channels
follow each other. Then two instructions on halves can become one: see `halves`.

What a message loads of several components is in pieces: the elements of one component after those
of another. The piece of the second variable then stands behind that of the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, cast

from visim.engine.jit.ir.places import fits_variable, layout, place_span
from visim.linker.places import root_bytes
from visim.linker.program import LinkedKernel, LinkedUnit
from visim.operands import ExecSize, General
from visim.sem.effects import (
    Effect,
    Load,
    Place,
    Rectangle,
    Store,
    WriteRegister,
    expressions,
)
from visim.sem.expr import Expr

_WINDOW = 6
"""So many instructions behind the first half of one the second half is looked for."""

_LEAST_LANES = 4

Effects = tuple[Effect, ...]
Variables = tuple[int, int]
"""The indices of two variables."""


@dataclass(frozen=True, slots=True)
class _Half:
    """Where the pieces of a variable stand in the one that has both halves."""

    whole: General
    piece: int
    is_second: bool

    def moved(self, place: Place) -> Place:
        """Return where a place is, no lane of which is in another piece."""
        piece, offset = divmod(place.offset, self.piece)
        start = (2 * piece + self.is_second) * self.piece
        return replace(place, variable=self.whole, offset=start + offset)


@dataclass
class _Use:
    """How two variables are used by halves: how often, and how large their pieces are."""

    times: int = 0
    piece: int = 0


class Pairs:
    """The variables of a unit that hold halves.

    Args:
        kernel: the program.
        unit: one of its units.
        traced: what each of the unit's instructions does.
    """

    def __init__(self, kernel: LinkedKernel, unit: LinkedUnit, traced: Sequence[Effects]) -> None:
        self._kernel, self._unit = kernel, unit
        self._grf = kernel.platform.grf_bytes
        self._known: dict[int, General] = {}
        self._places = [self._noted(effects) for effects in traced]
        inputs = [one.variable for one in unit.unit.inputs]
        self._inputs = {one.root()[0].index for one in inputs if isinstance(one, General)}
        self._halves = self._found(_fixed(traced))

    def moved(self, number: int, effects: Effects) -> Effects:
        """Return what an instruction does, with the places of both halves in one variable."""
        if not any(place.variable.index in self._halves for place in self._places[number]):
            return effects
        mover = _Mover(self._halves)
        return tuple(mover.moved(effect) for effect in effects)

    def _noted(self, effects: Effects) -> list[Place]:
        """Return the places of an instruction, in the order in which it mentions them."""
        found = [node.attribute for node in expressions(effects) if node.uop.name == "read"]
        found += [effect.place for effect in effects if isinstance(effect, WriteRegister)]
        for place in found:
            self._known[place.variable.index] = place.variable
        return found

    def _found(self, fixed: set[int]) -> dict[int, _Half]:
        found: dict[int, _Half] = {}
        if not all(fits_variable(place, self._grf) for places in self._places for place in places):
            return found  # what stands beside a variable is reached through it
        uses = self._uses()
        order = sorted(uses, key=lambda pair: -uses[pair].times)
        for first, second in order:
            taken = fixed | found.keys()
            if first in taken or second in taken or not self._may_be(first, second, uses):
                continue
            variable, piece = self._known[first], uses[first, second].piece
            whole = replace(variable, count=2 * variable.count)
            found[first] = _Half(whole, piece, False)
            found[second] = _Half(whole, piece, True)
        self._drop_torn(found)
        return found

    def _uses(self) -> dict[Variables, _Use]:
        """Return which variables are operands of halves in the same place of them."""
        found: dict[Variables, _Use] = {}
        for one, other in _halves(self._unit):
            for place, behind in zip(self._places[one], self._places[other], strict=False):
                first, second = place.variable.index, behind.variable.index
                step = layout(place).step
                if first == second or place != replace(behind, variable=place.variable):
                    continue
                if place.lanes < _LEAST_LANES or step is None or step < place.type.bytes:
                    continue
                use = found.setdefault((first, second), _Use())
                use.times += 1
                use.piece = max(use.piece, place.lanes * step)
        return found

    def _may_be(self, first: int, second: int, uses: Mapping[Variables, _Use]) -> bool:
        """Whether there is room for the second variable behind the first one.

        That is where it stands, or where nothing stands for want of a whole register.
        """
        one, other = self._known[first], self._known[second]
        if one.is_shared or other.is_shared or one.bytes != other.bytes:
            return False
        if one.bytes % uses[first, second].piece:
            return False
        start, behind = (self._kernel.offset(self._unit, each) for each in (one, other))
        if min(start, behind) < self._kernel.reached_bytes:
            return False
        if behind == start + one.bytes and uses[first, second].piece == one.bytes:
            return True
        free = behind == start + one.bytes or 2 * one.bytes <= self._grf
        return free and not {first, second} & self._inputs

    def _drop_torn(self, found: dict[int, _Half]) -> None:
        """Leave variables apart of which a place has lanes in several pieces."""
        for place in (place for places in self._places for place in places):
            half = found.get(place.variable.index)
            if half is None:
                continue
            first, end = place_span(place)
            size = root_bytes(place.variable, self._grf)
            if first < 0 or end > size or first // half.piece != (end - 1) // half.piece:
                for index in [n for n, one in found.items() if one.whole is half.whole]:
                    del found[index]


class _Mover:
    """Moves the places of an instruction."""

    def __init__(self, halves: Mapping[int, _Half]) -> None:
        self._halves = halves
        self._known: dict[int, Any] = {}
        self._kept: list[Any] = []

    def moved(self, value: Any) -> Any:
        """Return effects, expressions and tuples of them with other places."""
        if isinstance(value, Place):
            half = self._halves.get(value.variable.index)
            return value if half is None else half.moved(value)
        if isinstance(value, tuple):
            entries = cast("tuple[Any, ...]", value)
            found = tuple([self.moved(entry) for entry in entries])
            same = all(one is other for one, other in zip(found, entries, strict=True))
            return entries if same else found
        if not isinstance(value, Expr | Effect | Rectangle):
            return value
        if id(value) not in self._known:
            self._known[id(value)] = self._made(value)
            self._kept.append(value)
        return self._known[id(value)]

    def _made(self, value: Any) -> Any:
        changes: dict[str, Any] = {}
        for entry in fields(value):
            before = getattr(value, entry.name)
            after = self.moved(before)
            if after is not before:
                changes[entry.name] = after
        return replace(value, **changes) if changes else value


def _fixed(traced: Sequence[Effects]) -> set[int]:
    """Return the variables of instructions that are traced again when the code is known."""
    found = set[int]()
    for effects in traced:
        if any(isinstance(one, Load | Store) and one.shape is not None for one in effects):
            nodes = expressions(effects)
            found |= {node.attribute.variable.index for node in nodes if node.uop.name == "read"}
            found |= {one.place.variable.index for one in effects if isinstance(one, WriteRegister)}
    return found


def _halves(unit: LinkedUnit) -> Iterator[tuple[int, int]]:
    """Return the numbers of instructions that look like halves of one."""
    sizes = [getattr(instruction, "exec", None) for instruction in unit.body]
    for number, size in enumerate(sizes):
        if not isinstance(size, ExecSize) or size.size < _LEAST_LANES:
            continue
        wanted = replace(size, offset=size.offset + size.size)
        if size.offset % (2 * size.size):
            continue
        for behind in range(number + 1, min(number + 1 + _WINDOW, len(sizes))):
            same = type(unit.body[behind]) is type(unit.body[number])
            if same and sizes[behind] == wanted:
                yield number, behind
                break


def has_halves(unit: LinkedUnit) -> bool:
    """Whether instructions look like halves at all: those of newer devices hardly do."""
    return next(_halves(unit), None) is not None
