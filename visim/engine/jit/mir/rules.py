"""The rewrite rules: what pure values are that others compute in fewer operations.

Each rule has the name of the operation at its root. It returns what stands for the value, an
operand or a new one, or None where it does not hold. A rule never makes more operations than it
takes away; the first one of a row that holds wins. The driver is in `canonicalise`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from visim.engine.jit.mir.attributes import Attribute
from visim.engine.jit.mir.folding import constant_lanes, folded
from visim.engine.jit.mir.values import Value
from visim.types import BOOL, DataType

Maker = Callable[..., Value]
"""Makes a new value: the operation, the type, the lanes, the operands and the attribute."""

Rewrite = Callable[[Value, Maker], "Value | None"]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its name, for tests and counts, and what it does."""

    name: str
    rewrite: Rewrite


def _all(value: Value) -> int | None:
    """Return the integer that all lanes of a constant have."""
    if value.op.name != "constant":
        return None
    lanes = constant_lanes(value)
    return None if lanes is None else lanes[0]


def _ones(kind: DataType) -> int:
    if kind is BOOL:
        return 1
    return -1 if kind.is_signed else (1 << kind.bits) - 1


def fold(value: Value, make: Maker) -> Value | None:
    """Compute what is made of constants."""
    lanes = folded(value)
    if lanes is None:
        return None
    attribute: Attribute = lanes[0] if len(set(lanes)) == 1 else lanes
    name = "vector" if isinstance(attribute, tuple) else "constant"
    return make(name, value.type, value.lanes, (), attribute)


def _of_integers(value: Value) -> bool:
    kind = value.type
    return kind is not None and not kind.is_float


def _neutral(value: Value, make: Maker) -> Value | None:
    """X + 0, x - 0, x | 0, x ^ 0, x << 0, x >> 0, x * 1, x & ~0."""
    if not _of_integers(value) or value.type is None:
        return None
    left, right = value.args
    name = value.op.name
    neutral = {"mul": 1, "and": _ones(value.type)}.get(name, 0)
    if _all(right) == neutral:
        return left
    commutes = name in {"add", "or", "xor", "mul", "and"}
    return right if commutes and _all(left) == neutral else None


def _absorbing(value: Value, make: Maker) -> Value | None:
    """X & 0, x * 0, x | ~0."""
    if not _of_integers(value) or value.type is None:
        return None
    strong = _ones(value.type) if value.op.name == "or" else 0
    return next((arg for arg in value.args if _all(arg) == strong), None)


def _same_operands(value: Value, make: Maker) -> Value | None:
    """X & x, x | x, min(x, x), max(x, x); x ^ x and x - x."""
    left, right = value.args
    if left is not right or not _of_integers(value):
        return None
    if value.op.name in {"xor", "sub"}:
        return make("constant", value.type, value.lanes, (), 0)
    return left


def _nested_mask(value: Value, make: Maker) -> Value | None:
    """A & (a & b) is a & b; a | (a | b) is a | b."""
    for outer, inner in (value.args, value.args[::-1]):
        if inner.op is value.op and outer in inner.args:
            return inner
    return None


def _complement(value: Value, make: Maker) -> Value | None:
    """A & ~(a & b) is a & ~b; a & ~a is nothing."""
    for one, other in (value.args, value.args[::-1]):
        if other.op.name != "not":
            continue
        inner = other.args[0]
        if inner is one:
            return make("constant", value.type, value.lanes, (), 0)
        if inner.op.name == "and" and one in inner.args:
            rest = inner.args[inner.args[0] is one]
            if rest.op.name == "not":
                return make("and", value.type, value.lanes, (one, rest.args[0]))
            flipped = make("not", value.type, value.lanes, (rest,))
            return make("and", value.type, value.lanes, (one, flipped))
    return None


def _twice(value: Value, make: Maker) -> Value | None:
    """~~x, --x."""
    inner = value.args[0]
    return inner.args[0] if inner.op is value.op else None


def _bitcast(value: Value, make: Maker) -> Value | None:
    """Bits that are what they are, or that come back to what they were."""
    inner = value.args[0]
    if inner.type is value.type:
        return inner
    if inner.op.name == "bitcast":
        source = inner.args[0]
        if source.type is value.type:
            return source
        return make("bitcast", value.type, value.lanes, (source,))
    return None


def _convert(value: Value, make: Maker) -> Value | None:
    """Integers extended twice in the same way, and integers as what they are."""
    inner, kind = value.args[0], value.type
    if kind is None or kind.is_float or inner.type is None or inner.type.is_float:
        return None
    if inner.type is kind:
        return inner
    if inner.op.name == "convert" and inner.args[0].type is not None:
        source = inner.args[0].type
        if source.is_float or BOOL in {source, inner.type, kind}:
            return None
        keeps = inner.type.bits > source.bits and (not source.is_signed or inner.type.is_signed)
        if keeps or kind.bits <= min(inner.type.bits, source.bits):
            if source is kind:
                return inner.args[0]
            return make("convert", kind, value.lanes, inner.args)
    return None


def _select(value: Value, make: Maker) -> Value | None:
    """A choice between the same, or by what is known."""
    condition, yes, no = value.args
    if yes is no:
        return yes
    known = _all(condition)
    if known is not None:
        return yes if known else no
    if condition.op.name == "not":
        return make("select", value.type, value.lanes, (condition.args[0], no, yes))
    return None


def _nested_select(value: Value, make: Maker) -> Value | None:
    """Of a choice under the same condition only what is chosen counts."""
    condition, yes, no = value.args
    if yes.op.name == "select" and yes.args[0] is condition:
        return make("select", value.type, value.lanes, (condition, yes.args[1], no))
    if no.op.name == "select" and no.args[0] is condition:
        return make("select", value.type, value.lanes, (condition, yes, no.args[2]))
    return None


def _mask_of_choice(value: Value, make: Maker) -> Value | None:
    """M & select(m, x, y) is m & x: lanes that are off do not count."""
    if value.type is not BOOL:
        return None
    for mask, other in (value.args, value.args[::-1]):
        if other.op.name == "select" and other.args[0] is mask:
            return make("and", BOOL, value.lanes, (mask, other.args[1]))
        if other.op.name == "not":
            inner = other.args[0]
            if inner.op.name == "select" and inner.args[0] is mask:
                flipped = make("not", BOOL, value.lanes, (inner.args[1],))
                return make("and", BOOL, value.lanes, (mask, flipped))
    return None


def _take(value: Value, make: Maker) -> Value | None:
    """Lanes of lanes, of what all lanes have, of parts, and of what was inserted."""
    (source,), picks = value.args, value.attribute
    if not isinstance(picks, tuple):
        return None
    lanes = tuple(int(one) for one in picks)
    if lanes == tuple(range(source.lanes)):
        return source
    match source.op.name:
        case "broadcast":
            inner = source.args[0]
            return (
                inner if value.lanes == 1 else make("broadcast", value.type, len(lanes), (inner,))
            )
        case "take" if isinstance(source.attribute, tuple):
            through = tuple(int(source.attribute[lane]) for lane in lanes)
            return make("take", value.type, len(lanes), source.args, through)
        case "insert" if isinstance(source.attribute, tuple):
            return _take_inserted(value, lanes, source, make)
        case "concat":
            return _take_part(value, lanes, source, make)
        case _:
            return None


def _take_inserted(
    value: Value, lanes: tuple[int, ...], source: Value, make: Maker
) -> Value | None:
    old, new = source.args
    picks = source.attribute
    assert isinstance(picks, tuple)
    where = {int(pick): lane for lane, pick in enumerate(picks)}
    if all(lane in where for lane in lanes):
        inside = tuple(where[lane] for lane in lanes)
        if inside == tuple(range(new.lanes)):
            return new
        return make("take", value.type, len(lanes), (new,), inside)
    if not any(lane in where for lane in lanes):
        return make("take", value.type, len(lanes), (old,), lanes)
    return None


def _take_part(value: Value, lanes: tuple[int, ...], source: Value, make: Maker) -> Value | None:
    first = 0
    for part in source.args:
        if all(first <= lane < first + part.lanes for lane in lanes):
            inside = tuple(lane - first for lane in lanes)
            if inside == tuple(range(part.lanes)):
                return part
            return make("take", value.type, len(lanes), (part,), inside)
        first += part.lanes
    return None


def _insert(value: Value, make: Maker) -> Value | None:
    """All lanes, and lanes that an earlier insertion had."""
    old, new = value.args
    picks = value.attribute
    if not isinstance(picks, tuple):
        return None
    if picks == tuple(range(value.lanes)):
        return new
    if old.op.name != "insert" or not isinstance(old.attribute, tuple):
        return None
    if not set(old.attribute) <= set(picks):
        return None
    return make("insert", value.type, value.lanes, (old.args[0], new), picks)


def _regroup(value: Value, make: Maker) -> Value | None:
    """Bytes that come back to what they were."""
    inner = value.args[0]
    if inner.op.name == "regroup":
        source = inner.args[0]
        if source.type is value.type and source.lanes == value.lanes:
            return source
        return make("regroup", value.type, value.lanes, (source,))
    return None


def _uniform(value: Value, make: Maker) -> Value | None:
    """What is computed of the same number in all lanes is computed once."""
    op = value.op
    if op.uop is None or op.uop.crosses or value.lanes == 1 or not value.args:
        return None
    if not all(arg.op.name in {"broadcast", "constant"} for arg in value.operands):
        return None
    if all(arg.op.name == "constant" for arg in value.operands):
        return None
    args: list[Value] = []
    for arg in value.operands:
        if arg.op.name == "constant":
            args.append(make("constant", arg.type, 1, (), arg.attribute))
        else:
            args.append(arg.args[0])
    args += value.args[len(value.operands) :]
    one = make(op.name, value.type, 1, tuple(args), value.attribute, value.mode)
    return make("broadcast", value.type, value.lanes, (one,))


def _of_one(value: Value, make: Maker) -> Value | None:
    """One lane in one lane; whether the same bit is on in any lane."""
    inner = value.args[0]
    if value.lanes == 1:
        return inner
    return inner if inner.op.name == "broadcast" and value.op.name != "broadcast" else None


RULES: Mapping[str, tuple[Rule, ...]] = {
    **dict.fromkeys(
        ("add", "shl", "shr"),
        (Rule("neutral", _neutral),),
    ),
    "sub": (Rule("neutral", _neutral), Rule("same", _same_operands)),
    "mul": (Rule("neutral", _neutral), Rule("absorbing", _absorbing)),
    "and": (
        Rule("neutral", _neutral),
        Rule("absorbing", _absorbing),
        Rule("same", _same_operands),
        Rule("nested", _nested_mask),
        Rule("complement", _complement),
        Rule("mask-of-choice", _mask_of_choice),
    ),
    "or": (
        Rule("neutral", _neutral),
        Rule("absorbing", _absorbing),
        Rule("same", _same_operands),
        Rule("nested", _nested_mask),
    ),
    "xor": (Rule("neutral", _neutral), Rule("same", _same_operands)),
    "min": (Rule("same", _same_operands),),
    "max": (Rule("same", _same_operands),),
    "not": (Rule("twice", _twice),),
    "neg": (Rule("twice", _twice),),
    "bitcast": (Rule("bits", _bitcast),),
    "convert": (Rule("extension", _convert),),
    "select": (Rule("choice", _select), Rule("nested-choice", _nested_select)),
    "take": (Rule("lanes", _take),),
    "insert": (Rule("insertion", _insert),),
    "regroup": (Rule("bytes", _regroup),),
    "any": (Rule("one", _of_one),),
    "all": (Rule("one", _of_one),),
    "broadcast": (Rule("one", _of_one),),
}
"""The rules by the operation at their root."""

FOLD = Rule("fold", fold)
UNIFORM = Rule("once", _uniform)
"""Rules that hold for all operations: the first is tried first, the other one last."""

__all__ = ["FOLD", "RULES", "UNIFORM", "Maker", "Rule"]
