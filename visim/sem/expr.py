"""Typed expressions over channels: what an instruction computes, as data.

A node is one micro-operation on `lanes` values of one type. Python operators build nodes; a
Python `if` on a node is an error, because meanings are traced once and not run. Knows neither
text nor bytes nor engines.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from visim.sem.uops import SELDOM, UOPS, Group, Uop
from visim.types import BOOL, TYPES, UD, DataType, Kind

WIDE = DataType(100, "i128", 128, Kind.SIGNED, "object")
_UNSIGNED = {t.bits: t for t in TYPES if t.kind is Kind.UNSIGNED}
_SIGNED = {t.bits: t for t in TYPES if t.kind is Kind.SIGNED} | {128: WIDE}


class TracedBranchError(TypeError):
    """A meaning used a traced value as a Python truth value; `select` is meant."""


def unsigned(bits: int) -> DataType:
    """Return the unsigned integer type of `bits` bits."""
    return _UNSIGNED[bits]


def signed(bits: int) -> DataType:
    """Return the signed integer type of `bits` bits; 128 is wider than any vISA type."""
    return _SIGNED[bits]


@dataclass(frozen=True, slots=True, eq=False)
class Expr:
    """A node: the micro-operation, the type and number of its results, operands, attribute.

    `attribute` is data that the micro-operation needs: a constant's bits, a register place, the
    effect that a loaded value comes from.
    """

    uop: Uop
    type: DataType
    lanes: int
    args: tuple[Expr, ...] = ()
    attribute: Any = None

    def __bool__(self) -> bool:
        raise TracedBranchError("a traced value has no truth value; use select()")

    def __add__(self, other: Expr | float) -> Expr:
        return self._arithmetic("add", "fadd", other)

    def __sub__(self, other: Expr | float) -> Expr:
        return self._arithmetic("sub", "fsub", other)

    def __mul__(self, other: Expr | float) -> Expr:
        return self._arithmetic("mul", "fmul", other)

    def __neg__(self) -> Expr:
        return node("fneg" if self.type.is_float else "neg", self.type, self)

    def __and__(self, other: Expr | int) -> Expr:
        return node("and", self.type, self, self.like(other))

    def __or__(self, other: Expr | int) -> Expr:
        return node("or", self.type, self, self.like(other))

    def __xor__(self, other: Expr | int) -> Expr:
        return node("xor", self.type, self, self.like(other))

    def __invert__(self) -> Expr:
        return node("not", self.type, self)

    def __lshift__(self, other: Expr | int) -> Expr:
        return node("shl", self.type, self, self.like(other))

    def __rshift__(self, other: Expr | int) -> Expr:
        """Shift right: arithmetic for signed types, logical for unsigned ones."""
        return node("shr", self.type, self, self.like(other))

    def _arithmetic(self, integer: str, floating: str, other: Expr | float) -> Expr:
        name = floating if self.type.is_float else integer
        return node(name, self.type, self, self.like(other))

    def eq(self, other: Expr | float) -> Expr:
        """Return per channel whether both are equal (ordered for floats)."""
        return node("eq", BOOL, self, self.like(other))

    def ne(self, other: Expr | float) -> Expr:
        """Return per channel whether both differ; true for a NaN."""
        return node("ne", BOOL, self, self.like(other))

    def lt(self, other: Expr | float) -> Expr:
        """Return per channel whether this is less (ordered for floats)."""
        return node("lt", BOOL, self, self.like(other))

    def le(self, other: Expr | float) -> Expr:
        """Return per channel whether this is less or equal (ordered for floats)."""
        return node("le", BOOL, self, self.like(other))

    def gt(self, other: Expr | float) -> Expr:
        """Return per channel whether this is greater (ordered for floats)."""
        return node("lt", BOOL, self.like(other), self)

    def ge(self, other: Expr | float) -> Expr:
        """Return per channel whether this is greater or equal (ordered for floats)."""
        return node("le", BOOL, self.like(other), self)

    def like(self, other: Expr | float) -> Expr:
        """Return `other` as an expression of this type and number of lanes."""
        if isinstance(other, Expr):
            return other
        return constant(other, self.type, self.lanes)

    def to(self, kind: DataType) -> Expr:
        """Convert to `kind` as specification 2 says (float to integer clamps, integers wrap)."""
        return self if kind == self.type else node("convert", kind, self)

    def bits_as(self, kind: DataType) -> Expr:
        """Reinterpret the bits as `kind`, which has the same width."""
        return self if kind == self.type else node("bitcast", kind, self)


def node(name: str, kind: DataType, *args: Expr, attribute: Any = None) -> Expr:
    """Build a node of micro-operation `name` over operands with equally many lanes."""
    uop = UOPS[name]
    if len(args) != uop.arity:
        raise TypeError(f"{name} takes {uop.arity} operands, not {len(args)}")
    lanes = {arg.lanes for arg in args}
    if len(lanes) > 1:
        raise TypeError(f"{name} of vectors of {sorted(lanes)} lanes")
    values = args[1:] if name == "select" else args
    if uop.same_type and len({arg.type for arg in values}) > 1:
        raise TypeError(f"{name} of {[arg.type for arg in args]}: conversions are spelled out")
    return Expr(uop, kind, lanes.pop(), args, attribute)


def constant(value: float, kind: DataType, lanes: int) -> Expr:
    """Return the same value in every lane; `value` is converted to `kind` here, exactly once."""
    return Expr(UOPS["constant"], kind, lanes, (), value)


def bits_constant(bits: int, kind: DataType, lanes: int) -> Expr:
    """Return the value with the given bit pattern in every lane."""
    if kind.is_float:
        return constant(bits, unsigned(kind.bits), lanes).bits_as(kind)
    wrapped = bits & ((1 << kind.bits) - 1)
    if kind.is_signed and wrapped >> (kind.bits - 1):
        wrapped -= 1 << kind.bits
    return constant(wrapped, kind, lanes)


def vector_constant(values: tuple[float, ...], kind: DataType) -> Expr:
    """Return a vector with a value of its own for each lane."""
    return Expr(UOPS["vector"], kind, len(values), (), values)


def select(condition: Expr, when_true: Expr, when_false: Expr) -> Expr:
    """Return per channel one of two values."""
    return node("select", when_true.type, condition, when_true, when_false)


def seldom(condition: Expr, when_true: Expr, when_false: Expr) -> Expr:
    """Return what `select` does, where the first value is long and seldom that of any channel.

    Engines compute it, beside the other one, only if it is.
    """
    return node("select", when_true.type, condition, when_true, when_false, attribute=SELDOM)


def is_seldom(expr: Expr) -> bool:
    """Whether an expression is a choice that `seldom` made."""
    return expr.uop.name == "select" and expr.attribute == SELDOM


def fma(a: Expr, b: Expr, c: Expr) -> Expr:
    """Return a * b + c rounded once."""
    return node("ffma", a.type, a, b, c)


def minimum(a: Expr, b: Expr) -> Expr:
    """Return the smaller value; of a number and a NaN the number."""
    return node("fmin" if a.type.is_float else "min", a.type, a, b)


def maximum(a: Expr, b: Expr) -> Expr:
    """Return the larger value; of a number and a NaN the number."""
    return node("fmax" if a.type.is_float else "max", a.type, a, b)


def absolute(a: Expr) -> Expr:
    """Return the magnitude; of the smallest integer it is that integer again."""
    return node("fabs" if a.type.is_float else "abs", a.type, a)


def unary(name: str, a: Expr) -> Expr:
    """Return micro-operation `name` of one operand, of the operand's type."""
    return node(name, a.type, a)


def lane_numbers(lanes: int, first: int = 0) -> Expr:
    """Return first, first + 1, ... as UD."""
    return vector_constant(tuple(range(first, first + lanes)), UD)


def broadcast(a: Expr, lanes: int) -> Expr:
    """Return the only lane of `a` in every one of `lanes` lanes."""
    return a if a.lanes == lanes else Expr(UOPS["broadcast"], a.type, lanes, (a,))


def concat(parts: tuple[Expr, ...]) -> Expr:
    """Return the lanes of all parts one after another."""
    total = sum(part.lanes for part in parts)
    return Expr(UOPS["concat"], parts[0].type, total, parts)


def clock(elements: tuple[int, ...]) -> Expr:
    """Return per channel an element of the time stamp, of which only the first one counts."""
    found = Expr(UOPS["clock"], UD, len(elements), (), min(elements))
    if len(set(elements)) == 1:
        return found
    counts = vector_constant(tuple(int(element == 0) for element in elements), BOOL)
    return select(counts, found, bits_constant(0, UD, len(elements)))


def take(a: Expr, indices: tuple[int, ...]) -> Expr:
    """Return the lanes of `a` with the given numbers."""
    return Expr(UOPS["take"], a.type, len(indices), (a,), indices)


def known_integer(expr: Expr) -> int | None:
    """Return the integer that all lanes have, as an unsigned one; None: it is not known."""
    kind = expr.type
    match expr.uop.name:
        case _ if kind.is_float:
            return None
        case "constant":
            return int(expr.attribute) % (1 << kind.bits)
        case "broadcast" | "convert" | "bitcast":
            source = expr.args[0].type
            found = known_integer(expr.args[0])
            if found is not None and source.is_signed and found >> source.bits - 1:
                found -= 1 << source.bits
            return None if found is None else found % (1 << kind.bits)
        case "and":
            a, b = map(known_integer, expr.args)
            return None if a is None or b is None else a & b
        case _:
            return None


def below(roots: Iterable[Expr]) -> list[Expr]:
    """Return some expressions and every node below them, each once."""
    waiting = list(roots)
    seen: dict[Expr, None] = {}
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen[node] = None
            waiting.extend(node.args)
    return list(seen)


def leaves_below(root: Expr) -> list[Expr]:
    """Return the leaves that an expression is computed from, each once."""
    return [expr for expr in below([root]) if expr.uop.group is Group.LEAF]
