"""Instructions that compilers have split into halves of the channels, as one again.

An instruction can have so many registers only, so compilers write what moves 32 elements of 64
bits twice, older devices' compilers nearly all: for channels 0 to 15 and, a few instructions behind
it, for channels 16 to 31, whose elements follow those of the first half (`pairs` sees to that where
they are in another variable). Both together are one instruction of 32 channels, as the analyses of
rows and of loops know them.

Nobody can tell where the second half changes places with what stands between both. Instructions
keep their numbers, since one that does nothing stays where the second half was. Of two messages
that became one the host does the first, then the second, as soon as one of its lanes may be a
fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from visim.engine.jit.ir.places import fits_variable, layout, place_offsets, place_span
from visim.operands import FIRST_DECLARED_GENERAL, PredicateVariable
from visim.sem.effects import (
    Effect,
    Load,
    Place,
    Space,
    Store,
    WritePredicate,
    WriteRegister,
    expressions,
)
from visim.sem.expr import Expr, leaves_below
from visim.sem.uops import Group

_WINDOW = 8
"""Over so many instructions at most the second half is moved to the first one."""

_WRITES = (WriteRegister, WritePredicate)
_MESSAGES = (Load, Store)
_FAR_READS = {"gather", "fused", "clock"}
"""What reads registers that are not told."""

_Masked = WriteRegister | WritePredicate | Load | Store

_LEAST_LANES = 4
"""How many channels a half has at least."""

_LANE_WISE = {Group.INTEGER, Group.BITS, Group.COMPARE, Group.FLOAT, Group.ROUND, Group.CONVERT}


Effects = tuple[Effect, ...]
"""What an instruction does."""

Bits = tuple[PredicateVariable, int, int]
"""Bits of a predicate: from which one on, and how many."""


@dataclass(frozen=True, slots=True)
class Joined:
    """What an instruction does, for itself and for others: its parts, by their numbers in order.

    Parts have equally many lanes. Instructions whose work others do have no effects.
    """

    effects: Effects
    parts: tuple[int, ...]


def with_halves_joined(
    instructions: Sequence[Effects], channels: int, grf: int, *, messages: bool
) -> list[Joined]:
    """Return what the instructions of a block do, where the first half of some does all of it.

    Args:
        instructions: what each of them does.
        channels: how many channels a thread has.
        grf: the size of a register of the device, in bytes.
        messages: whether messages to memory may become one.
    """
    return _Joiner(instructions, channels, grf, messages=messages).joined()


class _Joiner:
    """Joins the instructions of a block."""

    def __init__(
        self, instructions: Sequence[Effects], channels: int, grf: int, *, messages: bool
    ) -> None:
        self._found = [Joined(one, (number,)) for number, one in enumerate(instructions)]
        self._channels, self._grf, self._messages = channels, grf, messages
        self._wholes: list[int] = []

    def joined(self) -> list[Joined]:
        """Return the instructions."""
        for number in range(len(self._found)):
            if not self._found[number].effects:
                continue
            self._wholes.append(number)
            place = len(self._wholes) - 1
            while place is not None:
                place = self._join(place)
        return self._found

    def _join(self, place: int) -> int | None:
        """Join one of the wholes with one in front of it; return where the new one is."""
        second = self._found[self._wholes[place]]
        if not self._may_move(second.effects):
            return None
        for before in range(place - 1, max(-1, place - 1 - _WINDOW), -1):
            first = self._found[self._wholes[before]]
            if not self._may_move(first.effects):
                return None
            whole = self._whole(first, second)
            if whole is not None:
                self._found[self._wholes[before]] = whole
                self._found[self._wholes.pop(place)] = Joined((), ())
                return before
            if not _may_change_places(first.effects, second.effects):
                return None
        return None

    def _whole(self, first: Joined, second: Joined) -> Joined | None:
        if len(first.parts) != len(second.parts):
            return None
        effects = _Halves(self._channels, self._grf).joined(first.effects, second.effects)
        return None if effects is None else Joined(effects, first.parts + second.parts)

    def _may_move(self, effects: Effects) -> bool:
        """Whether it is known what an instruction reads and writes."""
        kinds = (*_WRITES, *_MESSAGES) if self._messages else _WRITES
        return bool(effects) and all(isinstance(effect, kinds) for effect in effects)


class _ApartError(Exception):
    """Two instructions are no halves of one."""


class _Halves:
    """Joins two instructions."""

    def __init__(self, channels: int, grf: int) -> None:
        self._channels = channels
        self._grf = grf
        self._known: dict[tuple[Expr, Expr], Expr] = {}
        self._loads: dict[Load, Load] = {}
        self._partners: dict[Load, Load] = {}

    def joined(self, first: Effects, second: Effects) -> Effects | None:
        """Return the effects of which those of two instructions are halves; None if none are.

        Comparisons of what all channels share stay apart: those of loop counters make a predicate
        in halves that nobody looks at.
        """
        pairs = list(zip(first, second, strict=False))
        if len(first) != len(second) or not any(map(_is_of_lanes, first)):
            return None
        if not all(self._may_be_halves(one, other) for one, other in pairs):
            return None
        try:
            effects = tuple(self._effect(one, other) for one, other in pairs)
        except _ApartError:
            return None
        return None if _depends(second, first) else effects

    def _may_be_halves(self, one: Effect, other: Effect) -> bool:
        """Whether two effects look like halves: few do."""
        match one, other:
            case (Load(), Load()) | (Store(), Store()):
                lanes, others = one.addresses.lanes, other.addresses.lanes
            case WriteRegister(), WriteRegister():
                place, behind = one.place, other.place
                if place.variable is not behind.variable or place.offset >= behind.offset:
                    return False
                lanes, others = one.value.lanes, other.value.lanes
            case WritePredicate(), WritePredicate():
                lanes, others = one.value.lanes, other.value.lanes
            case _:
                return False
        return _LEAST_LANES <= lanes <= self._channels // 2 and lanes == others

    def _effect(self, one: Effect, other: Effect) -> Effect:
        if isinstance(one, WriteRegister) and isinstance(other, WriteRegister):
            place = self._place(one.place, other.place)
            step = layout(place).step
            if step is None or step < place.type.bytes:
                raise _ApartError
            return WriteRegister(place, self._value(one.value, other.value), self._mask(one, other))
        if isinstance(one, WritePredicate) and isinstance(other, WritePredicate):
            if (one.variable, one.offset + one.value.lanes) != (other.variable, other.offset):
                raise _ApartError
            value = self._value(one.value, other.value)
            return replace(one, value=value, mask=self._mask(one, other))
        if isinstance(one, Load | Store) and isinstance(other, Load | Store):
            return self._message(one, other)
        raise _ApartError

    def _message(self, one: Load | Store, other: Load | Store) -> Load | Store:
        """Return the message that moves what two do; its lanes are in the same order."""
        known = one.space is other.space and _is_alike(one.surface, other.surface)
        if not known or _is_special(one) or _is_special(other) or one.space is Space.SHADOW:
            raise _ApartError
        addresses, mask = self._value(one.addresses, other.addresses), self._mask(one, other)
        match one, other:
            case Load(), Load() if (one.type, one.components) == (other.type, other.components):
                found = self._loads[one] = replace(one, addresses=addresses, mask=mask)
                self._partners[one] = other
                return found
            case Store(), Store() if len(one.values) == len(other.values):
                values = tuple(map(self._value, one.values, other.values))
                return replace(one, addresses=addresses, values=values, mask=mask)
            case _:
                raise _ApartError

    def _mask(self, one: _Masked, other: _Masked) -> Expr | None:
        if one.mask is None and other.mask is None:
            return None
        if one.mask is None or other.mask is None:
            raise _ApartError
        return self._value(one.mask, other.mask)

    def _value(self, one: Expr, other: Expr) -> Expr:
        """Return the lanes of one value and behind them those of the other."""
        found = self._known.get((one, other))
        if found is None:
            found = self._known[one, other] = self._made(one, other)
        return found

    def _made(self, one: Expr, other: Expr) -> Expr:
        if (one.uop, one.type, one.lanes) != (other.uop, other.type, other.lanes):
            raise _ApartError
        lanes = 2 * one.lanes
        match one.uop.name:
            case "loaded":
                return self._loaded(one, other)
            case "constant" if _is_same(one, other):
                return replace(one, lanes=lanes)
            case "vector":
                return replace(one, lanes=lanes, attribute=(*one.attribute, *other.attribute))
            case "read":
                return replace(
                    one, lanes=lanes, attribute=self._place(one.attribute, other.attribute)
                )
            case "execution" if other.attribute == one.attribute + one.lanes:
                return replace(one, lanes=lanes)
            case "predicate":
                (variable, offset), (second, next_offset) = one.attribute, other.attribute
                if (variable, offset + one.lanes) != (second, next_offset):
                    raise _ApartError
                return replace(one, lanes=lanes)
            case "broadcast" if _is_same(*one.args, *other.args) and self._is_uniform(*one.args):
                return replace(one, lanes=lanes)
            case name if one.uop.group in _LANE_WISE or name == "select":
                if one.attribute != other.attribute:
                    raise _ApartError
                args = map(self._value, one.args, other.args)
                return replace(one, lanes=lanes, args=tuple(args))
            case _:
                raise _ApartError

    def _loaded(self, one: Expr, other: Expr) -> Expr:
        """Return the lanes that two messages load, which became one."""
        (message, *what), (second, *others) = one.attribute, other.attribute
        if what != others or self._partners.get(message) is not second:
            raise _ApartError
        return replace(one, lanes=2 * one.lanes, attribute=(self._loads[message], *what))

    def _is_uniform(self, expr: Expr) -> bool:
        """Whether one number is made of registers and constants."""
        leaves = leaves_below(expr)
        return expr.lanes == 1 and all(
            leaf.uop.name == "constant"
            or (leaf.uop.name == "read" and fits_variable(leaf.attribute, self._grf))
            for leaf in leaves
        )

    def _place(self, one: Place, other: Place) -> Place:
        """Return the elements of one place and behind them those of the other."""
        step, lanes, variable = layout(one).step, 2 * one.lanes, one.variable
        if variable is not other.variable or variable.index < FIRST_DECLARED_GENERAL:
            raise _ApartError
        if variable.is_file_scope or one.type != other.type or step != layout(other).step:
            raise _ApartError
        if step is None or other.offset != one.offset + one.lanes * step:
            raise _ApartError
        place = replace(one, lanes=lanes, width=lanes, row_stride=0, stride=step)
        if not fits_variable(place, self._grf):
            raise _ApartError
        return place


def _is_of_lanes(effect: Effect) -> bool:
    """Whether an effect writes registers, or a predicate of what channels have of their own."""
    if isinstance(effect, WritePredicate):
        leaves = leaves_below(effect.value)
        return any(leaf.lanes > 1 and leaf.uop.name != "constant" for leaf in leaves)
    return isinstance(effect, WriteRegister | Load | Store)


def _is_special(message: Load | Store) -> bool:
    """Whether more is known of a message than where its lanes go."""
    return (message.rectangle, message.shape, message.within) != (None, None, None)


def _is_alike(one: Expr | None, other: Expr | None) -> bool:
    """Whether two messages go to the same surface, if to any."""
    if one is None or other is None:
        return one is other
    return _is_same(one, other)


def _may_change_places(first: Effects, second: Effects) -> bool:
    """Whether the second of two instructions may as well come first.

    Messages stay in their order: each may be the one that is a fault.
    """
    if all(any(isinstance(one, _MESSAGES) for one in effects) for effects in (first, second)):
        return False
    return not _depends(second, first) and not _depends(first, second)


def _is_same(one: Expr, other: Expr) -> bool:
    """Whether two expressions of as many lanes are the same, node by node."""
    if one is other:
        return True
    if (one.uop, one.type, one.lanes) != (other.uop, other.type, other.lanes):
        return False
    if repr(one.attribute) != repr(other.attribute):  # -0.0 is not 0.0
        return False
    return all(map(_is_same, one.args, other.args))


def _depends(effects: Effects, before: Effects) -> bool:
    """Whether effects read or write anything that those before them write."""
    reads = expressions(effects)
    if any(expr.uop.name in _FAR_READS for expr in reads):
        return True
    places = [expr.attribute for expr in reads if expr.uop.name == "read"]
    places += [one.place for one in effects if isinstance(one, WriteRegister)]
    bits = [(*expr.attribute, expr.lanes) for expr in reads if expr.uop.name == "predicate"]
    bits += [_bits_of(one) for one in effects if isinstance(one, WritePredicate)]
    return any(
        any(_overlap(one.place, place) for place in places)
        if isinstance(one, WriteRegister)
        else isinstance(one, WritePredicate) and any(_meet(_bits_of(one), other) for other in bits)
        for one in before
    )


def _bits_of(write: WritePredicate) -> Bits:
    return write.variable, write.offset, write.value.lanes


def _meet(one: Bits, other: Bits) -> bool:
    """Whether bits of predicates are partly the same."""
    (variable, first, lanes), (second, start, count) = one, other
    return variable.name == second.name and first < start + count and start < first + lanes


def _overlap(one: Place, other: Place) -> bool:
    """Whether two places have bytes in common."""
    if one.variable.index != other.variable.index:
        return False
    (low, high), (first, end) = place_span(one), place_span(other)
    if low >= end or first >= high:
        return False
    return not set(_bytes(one)).isdisjoint(_bytes(other))


def _bytes(place: Place) -> Iterator[int]:
    size = range(place.type.bytes)
    return (offset + byte for offset in place_offsets(place) for byte in size)
