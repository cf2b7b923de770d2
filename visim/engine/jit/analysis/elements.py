"""Elements of private arrays that each channel writes at an index of its own, found as one write.

Hardware has no scattered writes to registers. So compilers write element by element: a constant
predicate with one bit, then a move under it, for each channel. Such pairs do not depend on each
other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from visim.engine.jit.analysis.blocks import Step
from visim.engine.jit.ir.places import is_repeated
from visim.operands import General
from visim.sem.effects import WriteIndirect, WritePredicate
from visim.sem.expr import Expr

MOST_ELEMENTS = 32
"""So many elements are written together at most."""
_LEAST = 4
_CHANNELS = 32


@dataclass(frozen=True, slots=True)
class Element:
    """One lane that a move writes under a predicate with one bit.

    `name` and `number` are the address variable's, `distance` is what is added to the address;
    `value` is a constant, or a place that all lanes read. `channel` is the one that has to be on
    (None: none has to).
    """

    pc: int
    lane: int
    name: str
    number: int
    distance: int
    value: Expr
    channel: int | None


def elements_at(steps: Sequence[Step], is_reached: Callable[[General], bool]) -> list[Element]:
    """Return the elements that pairs of instructions write from the first on; none if few.

    Their addresses are successive, and their values alike or in a row of registers, which is none
    of those that are reached by address.
    """
    found: list[Element] = []
    for one in _pairs(steps):
        if len(found) == MOST_ELEMENTS or (found and not _goes_on(found, one)):
            break
        found.append(one)
    if len(found) < _LEAST or (
        found[0].value.uop.name == "read" and is_reached(found[0].value.attribute.variable)
    ):
        return []
    return found


def row_of(elements: Sequence[Element]) -> Expr:
    """Return the values of elements as one vector."""
    first, count = elements[0].value, len(elements)
    if first.uop.name == "constant":
        return replace(first, lanes=count)
    row = replace(first.attribute, lanes=count, width=count, stride=_step(*elements[:2]))
    return replace(first, lanes=count, attribute=row)


def _pairs(steps: Sequence[Step]) -> Iterator[Element]:
    """Yield elements while predicates and moves take turns."""
    for before, step in zip(steps[::2], steps[1::2], strict=False):
        one = _element(before, step)
        if one is None:
            return
        yield one


def _element(before: Step, step: Step) -> Element | None:
    """Return what a move writes under the predicate that has been set before it."""
    if len(before.effects) != 1 or len(step.effects) != 1:
        return None
    setting, write = before.effects[0], step.effects[0]
    if not isinstance(setting, WritePredicate) or not isinstance(write, WriteIndirect):
        return None
    lane, steps, value = _lane(setting, write.mask), write.addresses, write.value
    if lane is None or value.uop.name not in {"constant", "read"}:
        return None
    if value.uop.name == "read" and not is_repeated(value.attribute):
        return None
    if steps.uop.name != "add" or steps.args[0].uop.name != "broadcast":
        return None
    start, (_, distances) = steps.args[0].args[0], steps.args
    if start.uop.name != "addresses" or distances.uop.name != "vector":
        return None
    variable, number = start.attribute
    place = variable.name, number, distances.attribute[lane]
    return Element(step.pc, lane, *place, value, _channel(write.mask, lane))


def _lane(setting: WritePredicate, mask: Expr | None) -> int | None:
    """Return the only lane of a mask that can be on, by the predicate; None if there may be more.

    Lanes from 32 on are no channels.
    """
    if setting.mask is not None or setting.value.uop.name != "vector" or mask is None:
        return None
    leaves = mask.args if mask.uop.name == "and" else (mask,)
    predicates = [leaf for leaf in leaves if leaf.uop.name == "predicate"]
    others = [leaf for leaf in leaves if leaf.uop.name == "execution"]
    if len(predicates) != 1 or len(others) != len(leaves) - 1:
        return None
    variable, offset = predicates[0].attribute
    first = offset - setting.offset
    bits = setting.value.attribute[first : first + mask.lanes] if first >= 0 else ()
    if variable.name != setting.variable.name or len(bits) != mask.lanes or sum(bits) != 1:
        return None
    lane = list(map(bool, bits)).index(True)
    return lane if all(leaf.attribute + lane < _CHANNELS for leaf in others) else None


def _channel(mask: Expr | None, lane: int) -> int | None:
    """Return the channel that has to be on for a lane of a mask."""
    if mask is None or mask.uop.name != "and":
        return None
    return next(leaf.attribute for leaf in mask.args if leaf.uop.name == "execution") + lane


def _goes_on(found: Sequence[Element], one: Element) -> bool:
    """Whether an element can be written together with those in front of it."""
    last = found[-1]
    if (one.name, one.number) != (last.name, last.number + 1):
        return False
    if (one.channel is None) != (last.channel is None) or one.value.type != last.value.type:
        return False
    a, b = last.value, one.value
    if a.uop is not b.uop or a.uop.name == "constant":
        return a.uop is b.uop and a.attribute == b.attribute
    steps = {_step(*found[:2]) if len(found) > 1 else _step(last, one), _step(last, one)}
    return a.attribute.variable == b.attribute.variable and steps < {0, a.type.bytes}


def _step(a: Element, b: Element) -> int:
    """Return how many bytes two places are apart that are read."""
    return b.value.attribute.offset - a.value.attribute.offset
