"""The pass `merge-element-writes`: scatters of one lane each become one of many lanes.

Hardware has no scattered writes to registers. So compilers write an element of a private array for
each channel: an instruction for one lane, under a mask with one bit. In MIR such a scatter has a
mask that can be on in one lane only. What that lane has of the address, the value and the mask is
traced to the vectors that channels have together. Successive scatters with the same vectors of
addresses and masks are one, with the lanes in the order of the instructions. Nothing between them
reads what they write.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby

from visim.engine.jit.mir.attributes import Sources
from visim.engine.jit.mir.cloning import without_unwanted
from visim.engine.jit.mir.ops import OPS
from visim.engine.jit.mir.values import Block, Function, Value
from visim.types import UD

_LEAST = 4
"""Fewer scatters are left as they are."""
_MOST = 32
"""So many lanes a scatter has at most."""
_WORD = 1 << 32


@dataclass(frozen=True, slots=True)
class _Lane:
    """A lane of a vector."""

    vector: Value
    number: int


@dataclass(frozen=True, slots=True)
class _Element:
    """A scatter that writes one lane at most; without a mask it always does.

    Its address is `distance` behind what the lane `address` has, modulo 2**32.
    """

    scatter: Value
    channel: int
    address: _Lane
    distance: int
    value: _Lane
    mask: _Lane | None

    def goes_with(self, other: _Element) -> bool:
        """Whether both have lanes of the same vectors, and values of one type."""
        mine, others = (one.mask and one.mask.vector for one in (self, other))
        same = self.address.vector is other.address.vector and mine is others
        return same and self.value.vector.type is other.value.vector.type


def merge_element_writes(function: Function) -> Function:
    """Return a function in which scatters of one lane each are one where they can be."""
    blocks = tuple(map(_merged, function.blocks))
    if all(new is old for new, old in zip(blocks, function.blocks, strict=True)):
        return function
    return without_unwanted(replace(function, blocks=blocks))


def _merged(block: Block) -> Block:
    body: list[Value] = []
    run: list[_Element] = []
    since: list[Value] = []
    """The values from the first scatter of the run on."""

    def end_run() -> None:
        body.extend(_as_one(run, since) if len(run) >= _LEAST else since)
        run.clear()
        since.clear()

    for value in block.body:
        element = _element(value)
        goes_on = value.op.is_pure if element is None else _goes_on(run, element)
        if run and not goes_on:
            end_run()
        if element is not None:
            run.append(element)
        (since if run else body).append(value)
    end_run()
    found = tuple(body)
    return block if found == block.body else replace(block, body=found)


def _goes_on(run: list[_Element], new: _Element) -> bool:
    """Whether a scatter can be one with those of a run."""
    return not run or (len(run) < _MOST and new.goes_with(run[0]))


def _element(value: Value) -> _Element | None:
    """Return what an operation writes if it is a scatter that is on in one lane at most."""
    if value.op.name != "scatter" or value.attribute is not None or len(value.args) < 3:
        return None
    addresses, given, mask = value.args
    found = _only_lane(mask)
    if found is None:
        return None
    channel, on = found
    address, distance = _address(addresses, channel)
    return _Element(value, channel, address, distance, _trace(given, channel), on)


def _only_lane(mask: Value) -> tuple[int, _Lane | None] | None:
    """Return the lane in which a mask can be on, and what it depends on there."""
    lane = _single(mask)
    if lane is not None:
        return lane, None
    if mask.op.name == "and":
        for one, other in (mask.args, mask.args[::-1]):
            lane = _single(one)
            if lane is not None:
                return lane, _trace(other, lane)
    return None


def _single(mask: Value) -> int | None:
    """Return the only lane in which a known mask is on."""
    if mask.op.name != "vector" or not isinstance(mask.attribute, tuple):
        return None
    lanes = [lane for lane, bit in enumerate(mask.attribute) if bit]
    return lanes[0] if len(lanes) == 1 else None


def _trace(value: Value, lane: int) -> _Lane:
    """Return which lane of which vector a lane of a value is."""
    while True:
        match value.op.name:
            case "take":
                assert isinstance(value.attribute, tuple)
                value, lane = value.args[0], int(value.attribute[lane])
            case "broadcast":
                value, lane = value.args[0], 0
            case _:
                return _Lane(value, lane)


def _address(value: Value, lane: int) -> tuple[_Lane, int]:
    """Return which lane of which vector a lane of addresses is, and how far behind it."""
    found, distance = _trace(value, lane), 0
    while (known := _known_term(found.vector, found.number)) is not None:
        rest, term = known
        found, distance = _trace(rest, found.number), (distance + term) % _WORD
    return found, distance


def _known_term(total: Value, lane: int) -> tuple[Value, int] | None:
    """Return the term of a sum that is not known, and the number that the other one has there."""
    for one, other in (total.args, total.args[::-1]) if total.op.name == "add" else ():
        match one.op.name:
            case "constant" if isinstance(one.attribute, int):
                return other, one.attribute
            case "vector" if isinstance(one.attribute, tuple):
                return other, int(one.attribute[lane])
            case _:
                pass
    return None


def _as_one(run: list[_Element], since: list[Value]) -> list[Value]:
    """Return the values from the first scatter of a run on, with one scatter for all of it."""
    old, end = {one.scatter for one in run}, since.index(run[-1].scatter)
    return [*(one for one in since[:end] if one not in old), *_scatter(run), *since[end + 1 :]]


def _scatter(run: list[_Element]) -> list[Value]:
    """Return the values that make one scatter of a run."""
    lanes, first = len(run), run[0]
    distances = tuple(one.distance for one in run)
    starts, parts = _taken([one.address for one in run]), _parts([one.value for one in run])
    given = Value(OPS["concat"], parts[0].type, lanes, tuple(parts)) if parts[1:] else parts[0]
    known = Value(OPS["vector"], UD, lanes, (), distances)
    addresses = Value(OPS["add"], UD, lanes, (starts, known))
    masks = [_taken([one.mask for one in run if one.mask])] if first.mask else []
    sources = Sources(tuple(one.channel for one in run), tuple(one.scatter.pc for one in run))
    args = (addresses, given, *masks)
    scatter = Value(OPS["scatter"], None, 0, args, sources, pc=first.scatter.pc)
    return [starts, *parts, *([given] if parts[1:] else []), known, addresses, *masks, scatter]


def _parts(lanes: list[_Lane]) -> list[Value]:
    """Return values that are the lanes one behind the other: one for each part of a vector."""
    groups = groupby(lanes, key=lambda one: one.vector)
    return [_taken(list(group)) for _, group in groups]


def _taken(lanes: list[_Lane]) -> Value:
    vector = lanes[0].vector
    picks = tuple(one.number for one in lanes)
    return Value(OPS["take"], vector.type, len(picks), (vector,), picks)


__all__ = ["merge_element_writes"]
