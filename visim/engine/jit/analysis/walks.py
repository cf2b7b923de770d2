"""Walks: loops in which each channel reads and writes memory of its own, step by step.

A channel that runs a loop alone may store only what no other channel touches, since in vector form
all of them do one turn before any does the next; and nothing may be a fault, since what is stored
stays. Both can be known before a number of turns is made if an address only grows, or only falls,
from turn to turn: then it lies between that of the first of them and that of the last.

So an address is followed back to what variables have when a turn begins, as a *ramp*: a sum of
numbers that stay what they are in the loop, and of counters to which each turn adds the same, with
what keeps their order on the way (extensions, shifts to the left, minima, maxima). Products are
followed, too: of numbers that stay what they are, here.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field

from visim.engine.jit.analysis.apart import Region
from visim.engine.jit.analysis.flow import Node
from visim.engine.jit.analysis.lanes import Row, channel_of, row_of
from visim.engine.jit.ir.places import is_repeated, place_span
from visim.engine.jit.ir.text import scalar_bytes, scalar_type
from visim.sem.effects import Effect, Load, LoadBlock, Place, Store, WriteRegister
from visim.sem.expr import Expr, known_integer
from visim.types import DataType

What = Row | tuple[int, int, int]
"""What a ramp begins with: a row, or the variable and the bytes of what all channels share."""

_MOST_PARTS = 64
"""Numbers that are made of more are not followed; sums of sums double with each instruction."""

_LONGEST_STEP = 1 << 48
"""Longer ones leave any memory; of these a few thousand are still a number of 64 bits."""

_FAR = 1 << 63
"""The first number that is none of 64 bits; comparisons of mixed signs have 128."""


@dataclass(frozen=True, slots=True, eq=False)
class Ramp:
    """An integer as a number of the turn.

    Attributes:
        word: "constant", "place", "add", "neg", "mul", "shl", "min", "max", "as": as another type,
            or "low": as the bits of a mask.
        type: its type, whose range it must not leave.
        args: what it is made of.
        number: of a constant, signed if it has 64 bits; by how much is shifted; a mask.
        place: where it is when a turn begins.
        what: the same as what ramps begin with.
        size: how many ramps it is made of, itself included.
    """

    word: str
    type: DataType
    args: tuple[Ramp, ...] = ()
    number: int = 0
    place: Place | None = None
    what: What | None = None
    size: int = 1

    def begins(self) -> Iterator[Ramp]:
        """Return what it begins with."""
        if self.word == "place":
            yield self
        for arg in self.args:
            yield from arg.begins()

    @property
    def is_own(self) -> bool:
        """Whether each channel has its own."""
        return any(isinstance(one.what, Row) for one in self.begins())


@dataclass(frozen=True, slots=True)
class Access:
    """A message of a walk: its block, its address, whether that grows (1), falls (-1) or stays."""

    node: Node
    effect: Load | LoadBlock | Store
    address: Ramp
    way: int


@dataclass(frozen=True, slots=True)
class Stride:
    """What a turn adds to a number: one that is known, and others that stay what they are.

    Attributes:
        known: the number that is known.
        others: the others, each with 1 where it is added, or -1 where it is taken away.
    """

    known: int = 0
    others: tuple[tuple[int, Ramp], ...] = ()

    def plus(self, other: Stride) -> Stride:
        """Return the sum of two strides."""
        return Stride(self.known + other.known, self.others + other.others)

    def minus(self) -> Stride:
        """Return what is added where this is taken away."""
        return Stride(-self.known, tuple((-sign, ramp) for sign, ramp in self.others))


@dataclass
class Walk:
    """The messages of a loop, and how much a turn adds to what their addresses begin with.

    That is a known number in `steps`; in `strides` are numbers to add to it that are known only
    when the loop begins.
    Some of that does not count itself but is made, at the end of a turn, of what counts, as where a
    counter of 16 bits is kept as 32 bits, too: `copies` says of what. If it was made of that in
    front of the first turn as well, it counts with it.
    """

    accesses: list[Access] = field(default_factory=list[Access])
    steps: dict[What, int] = field(default_factory=dict[What, int])
    strides: dict[What, tuple[tuple[int, Ramp], ...]] = field(
        default_factory=dict[What, "tuple[tuple[int, Ramp], ...]"]
    )
    copies: dict[What, tuple[Ramp, Ramp]] = field(default_factory=dict[What, tuple[Ramp, Ramp]])

    def strides_in(self, ramp: Ramp) -> bool:
        """Whether what a turn adds to a ramp is known only when the loop begins."""
        return any(one.what in self.strides for one in ramp.begins())

    def moves(self, ramp: Ramp) -> bool:
        """Whether turns may change a ramp."""
        known = any(self.steps[one.what] for one in ramp.begins() if one.what is not None)
        return known or self.strides_in(ramp)


def walk_of(region: Region) -> Walk | None:
    """Return a loop that stores as a walk; None if it is not known to be one."""
    return ramps_of(region) if region.stores and not region.shared else None


def ramps_of(region: Region) -> Walk | None:
    """Return the messages of a loop that all channels leave together, if all go along ramps."""
    if not region.together or region.forks or region.bits_entering:
        return None
    return _WalkReader(region.parts).walk(region)


class TurnReader:
    """Follows, through a turn, what variables have; not what is in `parts`.

    `strides` says that turns may add numbers that are known only when the loop begins.
    """

    def __init__(self, parts: Container[Row] = (), *, strides: bool = False) -> None:
        self._parts = parts
        self._strides = strides
        self._now: dict[What, Ramp | None] = {}

    def write(self, effects: Iterable[Effect]) -> None:
        """Follow what an instruction writes."""
        writes = [effect for effect in effects if isinstance(effect, WriteRegister)]
        values = [self.ramp(write.value) for write in writes]
        for write, value in zip(writes, values, strict=True):
            self._write(part_of(write.place), value if _is_followed(write) else None)

    def ramp(self, expr: Expr) -> Ramp | None:
        """Return what an expression has, from what variables have when a turn begins."""
        kind, known = expr.type, known_integer(expr)
        if kind.is_float:
            return None
        if known is not None:
            negative = (kind.is_signed or kind.bits == 64) and known >> kind.bits - 1
            number = known - (1 << kind.bits) if negative else known
            return Ramp("constant", kind, number=number) if -_FAR <= number < _FAR else None
        match expr.uop.name:
            case "read":
                return self._read(expr.attribute, kind)
            case "broadcast":
                return self.ramp(expr.args[0])
            case "convert":
                return _made("as", kind, self.ramp(expr.args[0]))
            case "neg" | "add" | "mul" | "min" | "max":
                return _made(expr.uop.name, kind, *map(self.ramp, expr.args))
            case "sub":
                one, other = map(self.ramp, expr.args)
                return _made("add", kind, one, _made("neg", kind, other))
            case "and":
                mask = known_integer(expr.args[1])
                if mask is None or mask & (mask + 1):
                    return None
                return _made("low", kind, self.ramp(expr.args[0]), number=mask)
            case "not" if kind.is_signed:
                negative = _made("neg", kind, self.ramp(expr.args[0]))
                return _made("add", kind, negative, Ramp("constant", kind, number=-1))
            case "shl":
                count = known_integer(expr.args[1])
                return (
                    None
                    if count is None
                    else _made("shl", kind, self.ramp(expr.args[0]), number=count)
                )
            case _:
                return None

    def _read(self, place: Place, kind: DataType) -> Ramp | None:
        if row_of(place) is None and place.lanes > 1 and not is_repeated(place):
            return None
        what = part_of(place)
        if isinstance(what, Row) and what in self._parts:
            return None
        if what in self._now:
            return _made("as", kind, self._now[what])
        if any(overlap(what, other) for other in self._now):
            return None
        return Ramp("place", kind, place=place, what=what)

    def _write(self, what: What, value: Ramp | None) -> None:
        for other in self._now:
            if other != what and overlap(what, other):
                self._now[other] = None
        self._now[what] = value

    def learn(self, walk: Walk, begin: Ramp) -> bool:
        """Note how much a turn adds to what a ramp begins with; whether that is known."""
        what = begin.what
        if what is None or what in walk.steps:
            return what is not None
        if what not in self._now:
            if any(overlap(what, other) for other in self._now):
                return False
            walk.steps[what] = 0
            return True
        ends = self._now[what]
        stride = None if ends is None else _added(ends, what)
        if ends is not None and stride is None:
            stride = self._copied(walk, begin, ends)
        if stride is None or abs(stride.known) > _LONGEST_STEP:
            return False
        if stride.others and not all(self._stays(walk, ramp) for _, ramp in stride.others):
            return False
        walk.steps[what] = stride.known
        if stride.others:
            walk.strides[what] = stride.others
        return True

    def _stays(self, walk: Walk, ramp: Ramp) -> bool:
        """Whether a number may be added in each turn: all channels share it, and no turn writes it.

        So steps are zero for what it begins with, which is noted.
        """
        begins = [begin for begin in ramp.begins() if begin.what is not None]
        if not self._strides or any(begin.what in self._now for begin in begins):
            return False
        return not ramp.is_own and all(self.learn(walk, begin) for begin in begins)

    def _copied(self, walk: Walk, begin: Ramp, ends: Ramp) -> Stride | None:
        """Return how much a turn adds to what is made of others that count."""
        others = list(ends.begins())
        if begin.what is None or not others:
            return None
        for other in others:
            ends_other = None if other.what is None else self._now.get(other.what)
            if ends_other is None or other.what is None or _added(ends_other, other.what) is None:
                return None
            if not self.learn(walk, other):
                return None
        if (ends.is_own and not begin.is_own) or walk.strides_in(ends):
            return None
        walk.copies[begin.what] = begin, ends
        found = rate(ends, walk.steps)
        return None if found is None else Stride(found)


class _WalkReader(TurnReader):
    """Follows a turn of a loop in which all messages may go along ramps."""

    def walk(self, region: Region) -> Walk | None:
        """Return the walk, if the loop is one."""
        messages: list[tuple[Node, Load | LoadBlock | Store, Ramp]] = []
        for node, _, step in region.steps():
            for effect in step.effects:
                if isinstance(effect, Load | LoadBlock | Store):
                    address = self.ramp(address_of(effect))
                    if address is None:
                        return None
                    if address_of(effect).lanes > 1 and channel_of(effect.mask) is None:
                        return None
                    if isinstance(effect, Store) and not address.is_own:
                        return None  # all channels store to one place
                    messages.append((node, effect, address))
            self.write(step.effects)
        walk = Walk()
        for node, effect, address in messages:
            for begin in address.begins():
                if not self.learn(walk, begin):
                    return None
            way = _way(address, walk.steps)
            if way is None:
                return None
            walk.accesses.append(Access(node, effect, address, way))
        return walk


def _made(word: str, kind: DataType, *args: Ramp | None, number: int = 0) -> Ramp | None:
    """Return what is made of ramps, if they are known and not too many."""
    found = tuple(arg for arg in args if arg is not None)
    size = sum(arg.size for arg in found) + 1
    if len(found) < len(args) or size > _MOST_PARTS:
        return None
    return Ramp(word, kind, found, number, size=size)


def _is_followed(write: WriteRegister) -> bool:
    """Whether all of a place is written, as one number or as a row.

    Two or three elements are neither: whoever reads them as one finds another number.
    """
    whole = write.mask is None or channel_of(write.mask) is not None
    return whole and (write.place.lanes == 1 or row_of(write.place) is not None)


def address_of(effect: Load | LoadBlock | Store) -> Expr:
    """Return where a message goes."""
    return effect.address if isinstance(effect, LoadBlock) else effect.addresses


def access_bytes(effect: Load | LoadBlock | Store) -> int:
    """Return how many bytes of memory each channel of a message reaches."""
    if isinstance(effect, LoadBlock):
        return effect.count * effect.type.bytes
    if isinstance(effect, Load):
        return effect.components * scalar_bytes(scalar_type(effect.type))
    return sum(scalar_bytes(scalar_type(value.type)) for value in effect.values)


def part_of(place: Place) -> What:
    """Return the row that a place is, or else its bytes."""
    return row_of(place) or (place.variable.index, *place_span(place))


def overlap(one: What, other: What) -> bool:
    """Whether two parts of variables have bytes in common, or rows cross."""
    (variable, first, end), (second, low, high) = map(_span, (one, other))
    return variable == second and first < high and low < end


def _bits(what: What) -> int:
    return 8 * (what.size if isinstance(what, Row) else what[2] - what[1])


def _span(what: What) -> tuple[int, int, int]:
    return (what.variable, what.offset, what.end) if isinstance(what, Row) else what


def _added(ramp: Ramp, what: What) -> Stride | None:
    """Return what a ramp is more than what it begins with.

    It is that modulo a power of two, of which `what` has the bits: no type on the way has fewer.
    """
    match ramp.word:
        case "place":
            return Stride() if ramp.what == what else None
        case "as" if ramp.type.bits >= _bits(what):
            return _added(ramp.args[0], what)
        case "add":
            one, other = ramp.args
            found = _added(one, what)
            if found is None:
                one, other = other, one
                found = _added(one, what)
            return None if found is None else found.plus(_addend(other, _bits(what)))
        case _:
            return None


def _addend(ramp: Ramp, bits: int) -> Stride:
    """Return what is added where a ramp is, modulo two to the power of `bits`."""
    if ramp.word == "constant":
        return Stride(ramp.number)
    if ramp.type.bits >= bits:
        match ramp.word:
            case "add":
                one, other = ramp.args
                return _addend(one, bits).plus(_addend(other, bits))
            case "neg":
                return _addend(ramp.args[0], bits).minus()
            case "as":
                return _addend(ramp.args[0], bits)
            case _:
                pass
    return Stride(others=((1, ramp),))


def rate(ramp: Ramp, steps: dict[What, int]) -> int | None:
    """Return how much a turn adds to a ramp, if that is always the same known number."""
    if ramp.word == "place":
        return steps[ramp.what] if ramp.what is not None else 0
    found = [rate(arg, steps) for arg in ramp.args]
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        return None
    match ramp.word:
        case "add":
            return sum(known)
        case "neg":
            return -known[0]
        case "shl":
            return known[0] << ramp.number
        case "mul":
            return None if any(known) else 0
        case "min" | "max":
            return known[0] if known[0] == known[1] else None
        case _:
            return known[0] if known else 0


def _way(ramp: Ramp, steps: dict[What, int]) -> int | None:
    """Return whether a ramp grows (1), falls (-1) or stays (0); None: that is not known."""
    if ramp.word == "place":
        step = steps[ramp.what] if ramp.what is not None else 0
        return (step > 0) - (step < 0)
    found = 0
    for way in (_way(arg, steps) for arg in ramp.args):
        if way is None or way * found < 0 or (way and ramp.word == "mul"):
            return None
        found = found or way
    return -found if ramp.word == "neg" else found
