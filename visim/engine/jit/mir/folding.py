"""What operations on constants give: the interpreter's arithmetic, for integers and masks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from visim.engine.jit.mir.values import Value
from visim.sem.expr import WIDE
from visim.types import BOOL, DataType

Lanes = tuple[int, ...]

_MOST_LANES = 64

_OF_TWO: dict[str, Callable[[int, int, int], int | None]] = {
    "add": lambda a, b, _: a + b,
    "sub": lambda a, b, _: a - b,
    "mul": lambda a, b, _: a * b,
    "and": lambda a, b, _: a & b,
    "or": lambda a, b, _: a | b,
    "xor": lambda a, b, _: a ^ b,
    "shl": lambda a, b, bits: a << b if 0 <= b < bits else None,
    "shr": lambda a, b, bits: a >> b if 0 <= b < bits else None,
    "min": lambda a, b, _: min(a, b),
    "max": lambda a, b, _: max(a, b),
    "eq": lambda a, b, _: int(a == b),
    "ne": lambda a, b, _: int(a != b),
    "lt": lambda a, b, _: int(a < b),
    "le": lambda a, b, _: int(a <= b),
}


def constant_lanes(value: Value) -> Lanes | None:
    """Return the integers that a constant has in its lanes, None if it is none, or of floats."""
    kind, found = value.type, value.attribute
    if kind is None or kind.is_float or kind is WIDE or value.lanes > _MOST_LANES:
        return None
    if value.op.name == "constant" and isinstance(found, int):
        return (wrapped(int(found), kind),) * value.lanes
    if value.op.name == "vector" and isinstance(found, tuple):
        return tuple(wrapped(int(one), kind) for one in found)
    return None


def folded(value: Value) -> Lanes | None:
    """Return the lanes of an operation of which all operands are constants, if that is known."""
    kind = value.type
    if kind is None or kind.is_float or kind is WIDE or not value.args:
        return None
    known: list[Lanes] = []
    for arg in value.args:
        lanes = constant_lanes(arg)
        if lanes is None:
            return None
        known.append(lanes)
    return _computed(value, kind, known)


def _computed(value: Value, kind: DataType, args: Sequence[Lanes]) -> Lanes | None:
    match value.op.name, args:
        case "take", [a] if isinstance(value.attribute, tuple):
            return tuple(a[int(one)] for one in value.attribute)
        case "broadcast", [a]:
            return a * value.lanes
        case "concat", _:
            return tuple(lane for one in args for lane in one)
        case "insert", [old, new] if isinstance(value.attribute, tuple):
            found = list(old)
            for at, lane in zip(value.attribute, new, strict=True):
                found[int(at)] = lane
            return tuple(found)
        case "select", [condition, yes, no]:
            chosen = zip(condition, yes, no, strict=True)
            return tuple(a if bit else b for bit, a, b in chosen)
        case "any", [a]:
            return (int(any(a)),) * value.lanes
        case "all", [a]:
            return (int(all(a)),) * value.lanes
        case "mask_bits", [a]:
            return (sum(bit << lane for lane, bit in enumerate(a)),)
        case (("convert" | "bitcast"), [a]) if kind is not BOOL:
            return _wrapped(a, kind)
        case "clamp", [a]:
            return tuple(min(max(one, _least(kind)), _most(kind)) for one in a)
        case "not", [a]:
            return _wrapped((~one for one in a), kind)
        case "neg", [a]:
            return _wrapped((-one for one in a), kind)
        case "abs", [a]:
            return _wrapped(map(abs, a), kind)
        case name, [a, b] if name in _OF_TWO:
            found = [_OF_TWO[name](x, y, kind.bits) for x, y in zip(a, b, strict=True)]
            return _wrapped((one for one in found if one is not None), kind, len(found))
        case _:
            return None


def _wrapped(found: Iterable[int], kind: DataType, count: int = -1) -> Lanes | None:
    lanes = tuple(wrapped(one, kind) for one in found)
    return lanes if count < 0 or len(lanes) == count else None


def wrapped(number: int, kind: DataType) -> int:
    """Return a number modulo what a type holds, in its range."""
    bits = 1 if kind is BOOL else kind.bits
    number &= (1 << bits) - 1
    if kind.is_signed and number >> bits - 1:
        number -= 1 << bits
    return number


def _least(kind: DataType) -> int:
    return -(1 << kind.bits - 1) if kind.is_signed else 0


def _most(kind: DataType) -> int:
    return (1 << kind.bits - kind.is_signed) - 1


__all__ = ["Lanes", "constant_lanes", "folded", "wrapped"]
