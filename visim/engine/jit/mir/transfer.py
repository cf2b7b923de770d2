"""What each operation makes of the facts of its operands. One function an operation, none left out.

A fact has to hold whatever the operands are within theirs; where an integer may wrap around, its
range is that of its type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from visim.engine.jit.mir.facts import (
    Fact,
    Known,
    Lanes,
    anything,
    hull,
    limits,
    of_lanes,
)
from visim.engine.jit.mir.folding import wrapped
from visim.engine.jit.mir.ops import OPS
from visim.engine.jit.mir.values import Value
from visim.errors import InternalError
from visim.sem.expr import WIDE
from visim.types import BOOL, DataType

Transfer = Callable[[Value, DataType, Sequence[Fact]], Fact]
Range = tuple[int, int]

_LEAST_SHIFT, _MOST_SHIFT = 0, 63
_ONE: dict[str, Callable[[int], int]] = {
    "not": lambda a: ~a,
    "neg": lambda a: -a,
    "abs": lambda a: a if a >= 0 else -a,
}
_TWO: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b,
    "shr": lambda a, b: a >> b,
    "min": min,
    "max": max,
}


def transfer(value: Value, known: Known) -> Fact:
    """Return what is known of a value if that is known of its operands."""
    kind = value.type
    assert kind is not None
    if value.op.name == "param":
        return known[value]
    facts = [known[arg] for arg in value.operands]
    return _TABLE[value.op.name](value, kind, facts)


# Parts


def _is_integer(kind: DataType | None) -> bool:
    return kind is not None and not kind.is_float and kind is not WIDE


def _made(
    value: Value, kind: DataType, found: Range | None, step: int | None, lanes: Lanes = ()
) -> Fact:
    """Return a fact; a range that the type does not hold is that of the type."""
    low, high = limits(kind)
    if found is not None and low <= found[0] and found[1] <= high:
        low, high = found
    if step is not None:
        step = wrapped(step, kind) if _is_integer(kind) and kind is not BOOL else 0
    if value.lanes == 1:
        step = 0
    fact = Fact((), low, high, step)
    if low == high and _is_integer(kind):
        return Fact((low,) * value.lanes, low, high, 0)
    return of_lanes(kind, lanes, fact)


def _all_uniform(facts: Sequence[Fact]) -> int | None:
    return 0 if all(fact.step == 0 for fact in facts) else None


def _lane_by_lane(
    value: Value,
    kind: DataType,
    facts: Sequence[Fact],
    compute: Callable[..., int | None],
) -> Lanes:
    """Return the lanes that follow from known lanes of all operands."""
    if not _is_integer(kind) or not any(fact.lanes for fact in facts):
        return ()
    unknown: Lanes = (None,) * value.lanes
    columns = zip(*(fact.lanes or unknown for fact in facts), strict=True)
    found = [compute(*column) for column in columns]
    return tuple(None if one is None else wrapped(one, kind) for one in found)


def _strict(compute: Callable[..., int | None]) -> Callable[..., int | None]:
    """Return a function of numbers as one of lanes that may not be known."""

    def known(*given: int | None) -> int | None:
        return None if None in given else compute(*given)

    return known


def _itself(number: int | None) -> int | None:
    return number


# Operations


def _anything(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    return anything(kind, value.lanes)


def _uniform_at_most(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    """Return that lanes which are computed of the same are the same."""
    return _made(value, kind, None, _all_uniform(facts))


def _constant(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    found = value.attribute
    if not _is_integer(kind) or not isinstance(found, int):
        return _made(value, kind, None, 0)
    number = wrapped(int(found), kind)
    return Fact((number,) * value.lanes, number, number, 0)


def _vector(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    found = value.attribute
    if not _is_integer(kind) or not isinstance(found, tuple):
        return anything(kind, value.lanes)
    lanes = tuple(wrapped(int(one), kind) for one in found)
    return of_lanes(kind, lanes, Fact((), min(lanes), max(lanes), None))


def _add(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    a, b = facts
    step = None if a.step is None or b.step is None else a.step + b.step
    lanes = _lane_by_lane(value, kind, facts, _strict(_TWO["add"]))
    return _made(value, kind, (a.low + b.low, a.high + b.high), step, lanes)


def _sub(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    a, b = facts
    step = None if a.step is None or b.step is None else a.step - b.step
    lanes = _lane_by_lane(value, kind, facts, _strict(_TWO["sub"]))
    return _made(value, kind, (a.low - b.high, a.high - b.low), step, lanes)


def _mul(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    a, b = facts
    ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    step = None
    for one, other in ((a, b), (b, a)):
        if one.step is not None and other.number is not None:
            step = one.step * other.number
    if a.step == b.step == 0:
        step = 0

    def compute(x: int | None, y: int | None) -> int | None:
        if 0 in {x, y}:
            return 0
        return None if x is None or y is None else x * y

    lanes = _lane_by_lane(value, kind, facts, compute)
    return _made(value, kind, (min(ends), max(ends)), step, lanes)


def _and(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    a, b = facts
    most = [one.high for one in facts if one.low >= 0]
    found = (0, min(most)) if most else None
    if kind is BOOL:
        found = min(a.low, b.low), min(a.high, b.high)

    def compute(x: int | None, y: int | None) -> int | None:
        if 0 in {x, y}:
            return 0
        return None if x is None or y is None else x & y

    step = _all_uniform(facts)
    for one, other in ((a, b), (b, a)):
        if kind is BOOL and other.number == 1:
            step = one.step
    return _made(value, kind, found, step, _lane_by_lane(value, kind, facts, compute))


def _or(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    a, b = facts
    found = None
    if a.low >= 0 and b.low >= 0:
        bits = max(a.high, b.high).bit_length()
        found = max(a.low, b.low), (1 << bits) - 1
    ones = 1 if kind is BOOL else -1 if kind.is_signed else (1 << kind.bits) - 1

    def compute(x: int | None, y: int | None) -> int | None:
        if ones in {x, y}:
            return ones
        return None if x is None or y is None else x | y

    lanes = _lane_by_lane(value, kind, facts, compute)
    return _made(value, kind, found, _all_uniform(facts), lanes)


def _xor(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    a, b = facts
    found = None
    if a.low >= 0 and b.low >= 0:
        found = 0, (1 << max(a.high, b.high).bit_length()) - 1
    lanes = _lane_by_lane(value, kind, facts, _strict(_TWO["xor"]))
    return _made(value, kind, found, _all_uniform(facts), lanes)


def _not(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    [a] = facts
    found = (1 - a.high, 1 - a.low) if kind is BOOL else (~a.high, ~a.low)
    if not kind.is_signed and kind is not BOOL:
        most = (1 << kind.bits) - 1
        found = most - a.high, most - a.low
    step = None if a.step is None else -a.step
    lanes = _lane_by_lane(value, kind, facts, _strict(_ONE["not"]))
    return _made(value, kind, found, step, lanes)


def _neg(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    [a] = facts
    step = None if a.step is None else -a.step
    lanes = _lane_by_lane(value, kind, facts, _strict(_ONE["neg"]))
    return _made(value, kind, (-a.high, -a.low), step, lanes)


def _abs(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    [a] = facts
    low = 0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high))
    found = low, max(abs(a.low), abs(a.high))
    lanes = _lane_by_lane(value, kind, facts, _strict(_ONE["abs"]))
    return _made(value, kind, found, _all_uniform(facts), lanes)


def _shl(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    a, b = facts
    count = _shift(b)
    if count is None:
        return _made(value, kind, None, _all_uniform(facts))
    step = None if a.step is None else a.step << count
    lanes = _lane_by_lane(value, kind, facts, _strict(_TWO["shl"]))
    return _made(value, kind, (a.low << count, a.high << count), step, lanes)


def _shr(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    a, b = facts
    count = _shift(b)
    found = (a.low >> count, a.high >> count) if count is not None else None
    if found is None and a.low >= 0:
        found = 0, a.high
    lanes: Lanes = ()
    if count is not None:
        lanes = _lane_by_lane(value, kind, facts, _strict(_TWO["shr"]))
    return _made(value, kind, found, _all_uniform(facts), lanes)


def _shift(fact: Fact) -> int | None:
    """Return the count of a shift, if it is known and one."""
    found = fact.number
    return found if found is not None and _LEAST_SHIFT <= found <= _MOST_SHIFT else None


def _min(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    a, b = facts
    lanes = _lane_by_lane(value, kind, facts, _strict(_TWO["min"]))
    found = min(a.low, b.low), min(a.high, b.high)
    return _made(value, kind, found, _all_uniform(facts), lanes)


def _max(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    a, b = facts
    lanes = _lane_by_lane(value, kind, facts, _strict(_TWO["max"]))
    found = max(a.low, b.low), max(a.high, b.high)
    return _made(value, kind, found, _all_uniform(facts), lanes)


def _div(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    """Return the range of a quotient; what is divided by zero is all ones."""
    a, b = facts
    found = None
    if a.low >= 0 and b.low > 0 and _is_integer(kind):
        found = a.low // b.high, a.high // b.low
    return _made(value, kind, found, _all_uniform(facts))


def _rem(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    a, b = facts
    found = None
    if a.low >= 0 and b.low > 0 and _is_integer(kind):
        found = 0, min(a.high, b.high - 1)
    return _made(value, kind, found, _all_uniform(facts))


def _count_of_bits(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    return _made(value, kind, (0, kind.bits), _all_uniform(facts))


def _compare(name: str) -> Transfer:
    def compare(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
        a, b = facts
        if not _is_integer(value.args[0].type):
            return _made(value, kind, None, _all_uniform(facts))
        lanes = _lane_by_lane(value, kind, facts, _strict(_RELATIONS[name]))
        bit = _decided(name, a, b)
        found = None if bit is None else (bit, bit)
        return _made(value, kind, found, _all_uniform(facts), lanes)

    return compare


_RELATIONS: dict[str, Callable[[int, int], int]] = {
    "eq": lambda a, b: int(a == b),
    "ne": lambda a, b: int(a != b),
    "lt": lambda a, b: int(a < b),
    "le": lambda a, b: int(a <= b),
}


def _decided(name: str, a: Fact, b: Fact) -> int | None:
    """Return how a comparison of two ranges ends, if that is the same for all numbers in them."""
    apart = a.high < b.low or b.high < a.low
    same = a.number is not None and a.number == b.number
    match name:
        case "eq":
            return 0 if apart else 1 if same else None
        case "ne":
            return 1 if apart else 0 if same else None
        case "lt":
            return 1 if a.high < b.low else 0 if a.low >= b.high else None
        case _:
            return 1 if a.high <= b.low else 0 if a.low > b.high else None


def _convert(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    [a] = facts
    source = value.args[0].type
    if kind is BOOL or not _is_integer(kind) or not _is_integer(source) or source is None:
        return _made(value, kind, None, _all_uniform(facts))
    lanes = _lane_by_lane(value, kind, facts, _itself)
    step = a.step if source.bits >= kind.bits or a.step == 0 else None
    return _made(value, kind, (a.low, a.high), step, lanes)


def _clamp(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    [a] = facts
    low, high = limits(kind)
    found = min(max(a.low, low), high), max(min(a.high, high), low)
    return _made(value, kind, found, _all_uniform(facts))


def _bitcast(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    if not _is_integer(kind) or not _is_integer(value.args[0].type):
        return _made(value, kind, None, _all_uniform(facts))
    return _convert(value, kind, facts)


def _select(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    condition, yes, no = facts
    if condition.number is not None:
        return yes if condition.number else no

    def compute(bit: int | None, x: int | None, y: int | None) -> int | None:
        if bit is None:
            return x if x == y else None
        return x if bit else y

    lanes = _lane_by_lane(value, kind, facts, compute)
    step = yes.step if condition.step == 0 and yes.step == no.step else None
    if value.args[1] is value.args[2]:
        step = yes.step
    return _made(value, kind, hull((yes, no)), step, lanes)


def _some(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    """Return what is known of `any` and `all`."""
    [a] = facts
    found = (a.low, a.high)
    strong = int(value.op.name == "any")
    if strong in a.lanes:
        found = strong, strong
    return _made(value, kind, found, 0)


def _broadcast(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    [a] = facts
    return Fact(a.lanes * value.lanes, a.low, a.high, 0)


def _picks(value: Value) -> tuple[int, ...]:
    assert isinstance(value.attribute, tuple)
    return tuple(int(one) for one in value.attribute)


def _take(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    [a] = facts
    picks = _picks(value)
    lanes = tuple(a.lanes[pick] for pick in picks) if a.lanes else ()
    steps = {after - before for before, after in pairwise(picks)}
    step = 0 if len(picks) == 1 else None
    if a.step is not None and len(steps) == 1:
        step = a.step * steps.pop()
    if a.step == 0 or len(set(picks)) == 1:
        step = 0
    return _made(value, kind, (a.low, a.high), step, lanes)


def _insert(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    old, new = facts
    lanes = list(old.lanes or (None,) * value.lanes)
    for lane, pick in enumerate(_picks(value)):
        lanes[pick] = new.lanes[lane] if new.lanes else None
    return _made(value, kind, hull(facts), None, tuple(lanes))


def _concat(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    lanes: list[int | None] = []
    for arg, fact in zip(value.args, facts, strict=True):
        lanes += fact.lanes or (None,) * arg.lanes
    return _made(value, kind, hull(facts), None, tuple(lanes))


def _regroup(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    source, [a] = value.args[0], facts
    if not _is_integer(kind) or not _is_integer(source.type) or source.type is None or not a.lanes:
        return anything(kind, value.lanes)
    octets = [
        None if lane is None else lane >> 8 * at & 0xFF
        for lane in a.lanes
        for at in range(source.type.bytes)
    ]
    lanes: list[int | None] = []
    for first in range(0, len(octets), kind.bytes):
        known = [one for one in octets[first : first + kind.bytes] if one is not None]
        whole = int.from_bytes(bytes(known), "little")
        lanes.append(wrapped(whole, kind) if len(known) == kind.bytes else None)
    return of_lanes(kind, tuple(lanes), anything(kind, value.lanes))


def _mask_bits(value: Value, kind: DataType, facts: Sequence[Fact]) -> Fact:
    [a] = facts
    return _made(value, kind, (0, (1 << value.args[0].lanes) - 1 if a.high else 0), 0)


# fmt: off
_ROWS: dict[str, Transfer] = {
    **dict.fromkeys(
        ("start", "param", "peek", "gather", "fused", "clock", "load", "load_block", "atomic",
         "request"),
        _anything,
    ),
    **dict.fromkeys(
        ("reverse", "fadd", "fsub", "fmul", "fdiv", "fsqrt", "ffma", "fmuladd", "fneg", "fabs",
         "fmin", "fmax", "canonical", "saturate", "floor", "ceil", "trunc", "rint", "frac", "dot"),
        _uniform_at_most,
    ),
    "constant":  _constant,
    "vector":    _vector,
    "add":       _add,
    "sub":       _sub,
    "mul":       _mul,
    "div":       _div,
    "rem":       _rem,
    "neg":       _neg,
    "abs":       _abs,
    "min":       _min,
    "max":       _max,
    "and":       _and,
    "or":        _or,
    "xor":       _xor,
    "not":       _not,
    "shl":       _shl,
    "shr":       _shr,
    "popcount":  _count_of_bits,
    "clz":       _count_of_bits,
    "eq":        _compare("eq"),
    "ne":        _compare("ne"),
    "lt":        _compare("lt"),
    "le":        _compare("le"),
    "convert":   _convert,
    "clamp":     _clamp,
    "bitcast":   _bitcast,
    "select":    _select,
    "any":       _some,
    "all":       _some,
    "broadcast": _broadcast,
    "take":      _take,
    "concat":    _concat,
    "insert":    _insert,
    "regroup":   _regroup,
    "mask_bits": _mask_bits,
}
# fmt: on


def _total(table: dict[str, Transfer]) -> dict[str, Transfer]:
    """Return a table that has every operation with a result."""
    wanted = {name for name, op in OPS.items() if op.has_result}
    if table.keys() != wanted:
        missing, more = sorted(wanted - table.keys()), sorted(table.keys() - wanted)
        raise InternalError(f"no transfer function in MIR for {missing}; none wanted for {more}")
    return table


_TABLE = _total(_ROWS)

__all__ = ["transfer"]
