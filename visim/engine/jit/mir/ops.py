"""The table of MIR's operations: what each takes, and what holds of its types.

Pure ones are the micro-operations of `visim.sem.uops`, but for the leaves that read state, and a
few more; others have effects and keep their order. A new micro-operation is an operation of MIR,
with the rule of its group, as soon as it is in that table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from visim.engine.jit.mir.attributes import Ask, Attribute, Callee, Home, Message, Sources
from visim.engine.jit.mir.types import type_text
from visim.errors import InternalError
from visim.sem.uops import SELDOM, UOPS, WITHOUT_MODE, Group, Role, Uop, total
from visim.types import BOOL, UD, DataType

NO_MODE = -1
"""A value does not depend on %cr0."""
ANY_MODE = -2
"""A value depends on what %cr0 is when the program runs: its last operand."""


class Shape(NamedTuple):
    """The types that an operation has to do with, for its rule."""

    type: DataType | None
    lanes: int
    types: tuple[DataType, ...]
    sizes: tuple[int, ...]
    attribute: Attribute


Rule = Callable[[Shape], "str | None"]
"""Returns what is wrong with an operation, None if nothing is."""


class Order(Enum):
    """Whether an operation keeps its place among others.

    What is pure may be computed anywhere; what reads changes nothing, but has to stay between what
    changes what it reads; all else has effects.
    """

    PURE = auto()
    READS = auto()
    EFFECT = auto()


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """An operation: its name, its place among others, whether it has a result, its rule.

    `uop` is the micro-operation that it is, None if it is none. `plain` is how many operands it
    takes where all that its rule asks is that they are like its result, else -1; `has_modes` says
    that it may depend on %cr0.
    """

    name: str
    order: Order
    has_result: bool
    rule: Rule
    doc: str
    uop: Uop | None = None
    plain: int = -1
    has_modes: bool = False

    def __repr__(self) -> str:
        return self.name

    @property
    def is_pure(self) -> bool:
        """Whether it may be computed anywhere, any number of times."""
        return self.order is Order.PURE


# Rules


def _count(shape: Shape, expected: int) -> str | None:
    found = len(shape.types)
    return None if found == expected else f"{expected} operands, found {found}"


def _lanes(shape: Shape, sizes: Sequence[int]) -> str | None:
    if all(size == shape.lanes for size in sizes):
        return None
    return f"operands of {shape.lanes} lanes, found {', '.join(map(str, sizes))}"


def _types(found: Sequence[DataType], expected: DataType) -> str | None:
    wrong = next((kind for kind in found if kind is not expected), None)
    if wrong is None:
        return None
    return f"operands of {type_text(expected, 1)}, found {type_text(wrong, 1)}"


def _same(arity: int) -> Rule:
    def rule(shape: Shape) -> str | None:
        if shape.type is None:
            return "a result"
        return _count(shape, arity) or _lanes(shape, shape.sizes) or _types(shape.types, shape.type)

    return rule


def _compare(shape: Shape) -> str | None:
    if shape.type is not BOOL:
        return "a mask as result"
    return _count(shape, 2) or _lanes(shape, shape.sizes) or _types(shape.types[1:], shape.types[0])


def _convert(shape: Shape) -> str | None:
    return _count(shape, 1) or _lanes(shape, shape.sizes)


def _bitcast(shape: Shape) -> str | None:
    problem = _convert(shape)
    if problem or shape.type is None:
        return problem or "a result"
    if shape.type.bits != shape.types[0].bits:
        return f"an operand of {shape.type.bits} bits, found {shape.types[0].bits}"
    return None


def _dot(shape: Shape) -> str | None:
    if shape.type is None or shape.type.bits != UD.bits:
        return "dwords"
    wrong = any(kind.bits != UD.bits for kind in shape.types)
    return _count(shape, 3) or _lanes(shape, shape.sizes) or ("dwords" if wrong else None)


def _select(shape: Shape) -> str | None:
    if shape.type is None or shape.attribute not in {None, SELDOM}:
        return f"no attribute but {SELDOM}"
    return (
        _count(shape, 3)
        or _lanes(shape, shape.sizes)
        or _types(shape.types[:1], BOOL)
        or _types(shape.types[1:], shape.type)
    )


def _role(shape: Shape) -> str | None:
    if not isinstance(shape.attribute, str) or shape.attribute not in ROLES:
        return f"one of {', '.join(ROLES)}"
    return _same(1)(shape)


def _constant(shape: Shape) -> str | None:
    if shape.type is None or not isinstance(shape.attribute, int | float):
        return "a number"
    return _count(shape, 0)


def _vector(shape: Shape) -> str | None:
    if not isinstance(shape.attribute, tuple) or len(shape.attribute) != shape.lanes:
        return f"{shape.lanes} numbers"
    return _count(shape, 0)


def _picks(shape: Shape, most: int) -> str | None:
    """Say what is wrong with the numbers of lanes of an operand that has `most`."""
    found = shape.attribute
    if not isinstance(found, tuple):
        return "numbers of lanes"
    wrong = [one for one in found if not isinstance(one, int) or not 0 <= one < most]
    return f"numbers of lanes below {most}, found {wrong[0]}" if wrong else None


def _take(shape: Shape) -> str | None:
    if shape.type is None or not isinstance(shape.attribute, tuple):
        return "numbers of lanes"
    if len(shape.attribute) != shape.lanes:
        return f"{shape.lanes} numbers of lanes, found {len(shape.attribute)}"
    return _count(shape, 1) or _types(shape.types, shape.type) or _picks(shape, shape.sizes[0])


def _insert(shape: Shape) -> str | None:
    if shape.type is None or not isinstance(shape.attribute, tuple):
        return "numbers of lanes"
    problem = _count(shape, 2) or _types(shape.types, shape.type) or _lanes(shape, shape.sizes[:1])
    if problem is None and len(shape.attribute) != shape.sizes[1]:
        problem = f"{shape.sizes[1]} numbers of lanes, found {len(shape.attribute)}"
    if problem is None and len(set(shape.attribute)) != len(shape.attribute):
        problem = "numbers of lanes that differ"
    return problem or _picks(shape, shape.lanes)


def _regroup(shape: Shape) -> str | None:
    problem = _count(shape, 1)
    if problem or shape.type is None:
        return problem or "a result"
    if BOOL in {shape.type, shape.types[0]}:
        return "no masks"
    here, there = shape.type.bits * shape.lanes, shape.types[0].bits * shape.sizes[0]
    return None if here == there else f"{here} bits, found {there}"


def _broadcast(shape: Shape) -> str | None:
    if shape.type is None:
        return "a result"
    if shape.sizes[:1] != (1,):
        return f"an operand of one lane, found {shape.sizes[:1]}"
    return _count(shape, 1) or _types(shape.types, shape.type)


def _concat(shape: Shape) -> str | None:
    if shape.type is None:
        return "a result"
    if sum(shape.sizes) != shape.lanes:
        return f"{shape.lanes} lanes in all, found {sum(shape.sizes)}"
    return _types(shape.types, shape.type)


def _mask_bits(shape: Shape) -> str | None:
    if shape.type is not UD or shape.lanes != 1 or shape.sizes[:1] > (UD.bits,):
        return "one UD, of at most 32 bits"
    return _count(shape, 1) or _types(shape.types, BOOL)


def _home(shape: Shape) -> str | None:
    if not isinstance(shape.attribute, Home) or len(shape.attribute.places) != shape.lanes:
        return f"{shape.lanes} places of a variable"
    return None


def _start(shape: Shape) -> str | None:
    return _home(shape) or _count(shape, 0)


def _peek(shape: Shape) -> str | None:
    return _home(shape) or _count(shape, 0)


def _poke(shape: Shape) -> str | None:
    if not isinstance(shape.attribute, Home) or not shape.sizes:
        return "a value and places of a variable"
    if len(shape.attribute.places) != shape.sizes[0]:
        return f"{shape.sizes[0]} places, found {len(shape.attribute.places)}"
    return _masked(shape, 1)


def _masked(shape: Shape, values: int) -> str | None:
    """Say what is wrong where some values may be followed by a mask of as many lanes."""
    if len(shape.types) not in {values, values + 1}:
        return f"{values} operands, and perhaps a mask, found {len(shape.types)}"
    if len(shape.types) > values:
        if shape.types[-1] is not BOOL:
            return f"a mask at the end, found {type_text(shape.types[-1], 1)}"
        if shape.sizes[-1] != shape.sizes[0]:
            return f"a mask of {shape.sizes[0]} lanes, found {shape.sizes[-1]}"
    return None


def _gather(shape: Shape) -> str | None:
    return _count(shape, 1) or _lanes(shape, shape.sizes) or _types(shape.types, UD)


def _scatter(shape: Shape) -> str | None:
    if len(shape.sizes) > 1 and shape.sizes[0] != shape.sizes[1]:
        return f"an address for each of {shape.sizes[1]} values, found {shape.sizes[0]}"
    found = shape.attribute
    if isinstance(found, Sources):
        if {len(found.channels), len(found.pcs)} != set(shape.sizes[:1]):
            return "a channel and a program counter for each value"
    elif found is not None:
        return "no attribute, or whose each lane is"
    return _masked(shape, 2)


def _message(least: int, most: int | None = None) -> Rule:
    """Return the rule of a message of so many operands besides its surface and its mask."""

    def rule(shape: Shape) -> str | None:
        message = shape.attribute
        if not isinstance(message, Message):
            return "how the message reaches memory"
        rest = shape.types[message.surface : len(shape.types) - message.masked]
        if len(rest) < least or (most is not None and len(rest) > most):
            return f"{least} operands besides surface and mask, found {len(rest)}"
        if message.surface and (shape.types[0], shape.sizes[0]) != (UD, 1):
            return "the number of a surface, one UD"
        if message.masked and shape.types[-1] is not BOOL:
            return f"a mask at the end, found {type_text(shape.types[-1], 1)}"
        if shape.type is not None and shape.lanes % message.count:
            return f"{message.count} elements a lane, found {shape.lanes} in all"
        return None

    return rule


def _request(shape: Shape) -> str | None:
    return None if isinstance(shape.attribute, Ask) else "what is asked for"


def _call(shape: Shape) -> str | None:
    if not isinstance(shape.attribute, Callee):
        return "what is called"
    return _count(shape, 1 + (shape.attribute.name is None)) or _types(shape.types[-1:], BOOL)


def _no_operands(shape: Shape) -> str | None:
    return _count(shape, 0)


def _number(shape: Shape) -> str | None:
    return None if isinstance(shape.attribute, int) else "a number"


def _words(count: int) -> Rule:
    def rule(shape: Shape) -> str | None:
        return _count(shape, count) or _types(shape.types, UD)

    return rule


def _anything(shape: Shape) -> str | None:
    return None


ROLES = {role.name.lower(): role for role in Role}
"""The words for what `canonical` makes canonical."""

_GROUPS: dict[Group, Callable[[Uop], Rule]] = {
    Group.INTEGER: lambda uop: _same(uop.arity),
    Group.BITS: lambda uop: _same(uop.arity),
    Group.FLOAT: lambda uop: _same(uop.arity),
    Group.ROUND: lambda uop: _same(uop.arity),
    Group.COMPARE: lambda _: _compare,
}
_OWN: dict[str, Rule] = {
    "constant": _constant,
    "vector": _vector,
    "dot": _dot,
    "canonical": _role,
    "select": _select,
    "convert": _convert,
    "clamp": _convert,
    "bitcast": _bitcast,
    "any": _same(1),
    "all": _same(1),
    "broadcast": _broadcast,
    "take": _take,
    "concat": _concat,
    "mask_bits": _mask_bits,
}
"""Rules of micro-operations that are not those of their group."""
STATE = frozenset(
    {
        *("read", "fused", "gather", "addresses", "state", "predicate", "execution"),
        *("loaded", "clock", "address", "function"),
    }
)
"""Leaves that are no operations of MIR: what they read are values, or results of others."""


_MODES = {Group.FLOAT, Group.ROUND}


def _pure() -> dict[str, Op]:
    found: dict[str, Op] = {}
    for name, uop in UOPS.items():
        if name in STATE:
            continue
        made = _GROUPS.get(uop.group)
        rule = _OWN.get(name) or (None if made is None else made(uop))
        if rule is None:
            raise InternalError(f"no rule in MIR for: {name}; visim.engine.jit.mir.ops has them")
        own = _OWN.get(name)
        plain = uop.arity if own is None and uop.group is not Group.COMPARE else -1
        found[name] = Op(
            name,
            Order.PURE,
            has_result=True,
            rule=rule,
            doc=uop.doc,
            uop=uop,
            plain=plain,
            has_modes=uop.group in _MODES or name == "convert" or uop.group is Group.COMPARE,
        )
    return found


def _effects() -> tuple[Op, ...]:
    pure, reads, effect = Order.PURE, Order.READS, Order.EFFECT
    # fmt: off
    return (
        Op("start",    pure,   True,  _start,       "what a thread starts with in a variable"),
        Op("insert",   pure,   True,  _insert,      "the first operand with lanes (attribute) of "
                                                    "the second one"),
        Op("regroup",  pure,   True,  _regroup,     "the same bytes as elements of another size"),
        Op("param",    pure,   True,  _no_operands, "a parameter of a block", plain=0),
        Op("peek",     reads,  True,  _peek,        "a variable that stays in memory"),
        Op("poke",     effect, False, _poke,        "write such a variable, where a mask is on"),
        Op("gather",   effect, True,  _gather,      "elements of variables at addresses"),
        Op("scatter",  effect, False, _scatter,     "write such elements, where a mask is on"),
        Op("fused",    effect, True,  _home,        "a variable of a thread of a fused pair"),
        Op("clock",    effect, True,  _no_operands, "the instructions executed so far"),
        Op("load",     effect, True,  _message(1, 1), "elements at addresses, first of all lanes"),
        Op("load_block", effect, True, _message(1, 1), "successive elements at one address"),
        Op("store",    effect, False, _message(2),  "write elements at addresses"),
        Op("store_block", effect, False, _message(2, 2), "write successive elements"),
        Op("atomic",   effect, True,  _message(1, 3), "read, modify and write at addresses"),
        Op("request",  effect, True,  _request,     "what a sampler or a typed surface answers"),
        Op("request_store", effect, False, _request, "write texels, or a block of an image"),
        Op("watch",    effect, False, _anything,    "tell observers of accesses"),
        Op("fence",    effect, False, _no_operands, "order accesses to memory"),
        Op("tick",     effect, False, _number,      "count executed instructions"),
        Op("pause",    effect, False, _no_operands, "let others run if the time slice is over"),
        Op("barrier",  effect, False, _no_operands, "wait for every thread of the group"),
        Op("signal",   effect, False, _no_operands, "signal the group's barrier"),
        Op("wait",     effect, False, _no_operands, "wait for the group's barrier"),
        Op("named_signal", effect, False, _words(4), "signal a named barrier"),
        Op("named_wait", effect, False, _words(1),  "wait for a named barrier"),
        Op("yield",    effect, False, _no_operands, "let others run"),
        Op("exchange", effect, False, _no_operands, "meet the other thread of a fused pair"),
        Op("call",     effect, False, _call,        "call a function with channels of a mask"),
    )
    # fmt: on


OPS: dict[str, Op] = {**_pure(), **{op.name: op for op in _effects()}}
total("operation in MIR", {**dict.fromkeys(STATE), **{n: op for n, op in OPS.items() if op.uop}})


def follows_mode(op: Op, kind: DataType | None, types: Sequence[DataType], detail: object) -> bool:
    """Whether an operation depends on the modes of %cr0: `detail` is its attribute."""
    uop = op.uop
    if uop is None or kind is None:
        return False
    if detail == "rne" or uop.name in WITHOUT_MODE:
        return False
    if uop.group is Group.CONVERT:
        return uop.name == "convert" and (kind.is_float or types[0].is_float)
    if uop.group is Group.COMPARE:
        return types[0].is_float
    return uop.group in _MODES


__all__ = ["ANY_MODE", "NO_MODE", "OPS", "ROLES", "STATE", "Op", "Order", "Shape", "follows_mode"]
