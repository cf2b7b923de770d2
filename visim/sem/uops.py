"""The table of micro-operations: the only vocabulary that engines must know.

Each row says how many operands it takes, whether they share one type, and what it means in one
sentence. Tables that say something of micro-operations are checked when they are imported: `total`
refuses one that leaves any out, so that a new row is never given a meaning by a default. All are
exact: the floating-point ones are correctly rounded in the rounding mode of
CR0 (or to nearest, where the attribute of the node is "rne").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeVar

from visim.errors import InternalError

_T = TypeVar("_T")


class Group(Enum):
    """What a micro-operation is about."""

    LEAF = auto()
    INTEGER = auto()
    BITS = auto()
    FLOAT = auto()
    ROUND = auto()
    COMPARE = auto()
    CONVERT = auto()
    SHAPE = auto()


class Role(Enum):
    """What a value is to its instruction: the attribute of `canonical`.

    A magnitude is a source that counts without its sign in the ALT mode.
    """

    SOURCE = auto()
    MAGNITUDE = auto()
    RESULT = auto()


SELDOM = "seldom"
"""The attribute of a `select` whose second operand is computed only where a lane is of it."""


@dataclass(frozen=True, slots=True)
class Uop:
    """A micro-operation.

    `same_type` asks that all operands (select: the values) agree. `crosses` says that a lane may
    depend on other lanes than its own, of operands or of registers.
    """

    name: str
    group: Group
    arity: int
    doc: str
    same_type: bool = True
    crosses: bool = False

    def __repr__(self) -> str:
        return self.name


def _rows() -> tuple[Uop, ...]:
    g = Group
    # fmt: off
    return (
        Uop("constant",  g.LEAF,    0, "the attribute's value in every lane"),
        Uop("vector",    g.LEAF,    0, "the attribute's values, one a lane"),
        Uop("read",      g.LEAF,    0, "the elements of a register place (attribute)"),
        Uop("fused",     g.LEAF,    0, "as read, of the first or second thread of a fused pair "
                                       "(attribute: 0 or 1, and the place)"),
        Uop("gather",    g.LEAF,    1, "register elements at byte addresses", same_type=False,
            crosses=True),
        Uop("address",   g.LEAF,    0, "the register address of a variable's byte (attribute)"),
        Uop("addresses", g.LEAF,    0, "elements of an address variable (attribute)"),
        Uop("state",     g.LEAF,    0, "the index that a surface variable holds (attribute)"),
        Uop("predicate", g.LEAF,    0, "bits of a predicate variable (attribute)"),
        Uop("execution", g.LEAF,    0, "the execution mask from an offset on (attribute)"),
        Uop("loaded",    g.LEAF,    0, "a component of what a message returned (attribute)"),
        Uop("clock",     g.LEAF,    0, "the instructions that the thread has executed"),
        Uop("function",  g.LEAF,    0, "the handle of a function (attribute: its name)"),

        Uop("add",       g.INTEGER, 2, "sum, modulo 2**n"),
        Uop("sub",       g.INTEGER, 2, "difference, modulo 2**n"),
        Uop("mul",       g.INTEGER, 2, "product, modulo 2**n"),
        Uop("div",       g.INTEGER, 2, "quotient rounded to zero; by zero: all ones"),
        Uop("rem",       g.INTEGER, 2, "remainder with the dividend's sign; by zero: all ones"),
        Uop("dot",       g.INTEGER, 3, "sum of the third operand and the products of the others' "
                                       "bytes, signed as their dwords, modulo 2**32",
            same_type=False),
        Uop("neg",       g.INTEGER, 1, "negative, modulo 2**n"),
        Uop("abs",       g.INTEGER, 1, "magnitude, modulo 2**n"),
        Uop("min",       g.INTEGER, 2, "smaller of two"),
        Uop("max",       g.INTEGER, 2, "larger of two"),

        Uop("and",       g.BITS,    2, "bitwise and"),
        Uop("or",        g.BITS,    2, "bitwise or"),
        Uop("xor",       g.BITS,    2, "bitwise exclusive or"),
        Uop("not",       g.BITS,    1, "bitwise complement"),
        Uop("shl",       g.BITS,    2, "shift left; the count is below the width"),
        Uop("shr",       g.BITS,    2, "shift right, arithmetic when signed"),
        Uop("popcount",  g.BITS,    1, "number of one bits"),
        Uop("clz",       g.BITS,    1, "number of leading zero bits"),
        Uop("reverse",   g.BITS,    1, "bits in reverse order"),

        Uop("fadd",      g.FLOAT,   2, "sum, rounded once"),
        Uop("fsub",      g.FLOAT,   2, "difference, rounded once"),
        Uop("fmul",      g.FLOAT,   2, "product, rounded once"),
        Uop("fdiv",      g.FLOAT,   2, "quotient, rounded once"),
        Uop("fsqrt",     g.FLOAT,   1, "square root, rounded once"),
        Uop("ffma",      g.FLOAT,   3, "product and sum, rounded once"),
        Uop("fmuladd",   g.FLOAT,   3, "product and sum, each rounded to nearest; hosts may round "
                                       "once, as the function's result is known to be the same"),
        Uop("fneg",      g.FLOAT,   1, "sign bit inverted"),
        Uop("fabs",      g.FLOAT,   1, "sign bit cleared"),
        Uop("fmin",      g.FLOAT,   2, "smaller of two; of a number and a NaN the number"),
        Uop("fmax",      g.FLOAT,   2, "larger of two; of a number and a NaN the number"),
        Uop("canonical", g.FLOAT,   1, "a source or result (attribute) as CR0 wants it: denormals "
                                       "kept or zero, in ALT mode no infinities"),
        Uop("saturate",  g.FLOAT,   1, "clamped to [0, 1]; NaN gives 0"),

        Uop("floor",     g.ROUND,   1, "next integer not above"),
        Uop("ceil",      g.ROUND,   1, "next integer not below"),
        Uop("trunc",     g.ROUND,   1, "next integer towards zero"),
        Uop("rint",      g.ROUND,   1, "nearest integer, ties to even"),
        Uop("frac",      g.ROUND,   1, "x - floor(x)"),

        Uop("eq",        g.COMPARE, 2, "equal and ordered"),
        Uop("ne",        g.COMPARE, 2, "not equal, or unordered"),
        Uop("lt",        g.COMPARE, 2, "less and ordered"),
        Uop("le",        g.COMPARE, 2, "less or equal, and ordered"),

        Uop("convert",   g.CONVERT, 1, "value as another type: integers wrap, float to integer "
                                       "truncates and clamps with NaN as 0, the rest rounds"),
        Uop("clamp",     g.CONVERT, 1, "integer as another type, clamped to its range"),
        Uop("bitcast",   g.CONVERT, 1, "same bits, other type"),

        Uop("select",    g.SHAPE,   3, "second operand where the first is true, else third; "
                                       "attribute SELDOM: the first seldom is in any lane"),
        Uop("any",       g.SHAPE,   1, "in every lane: whether any lane is true", crosses=True),
        Uop("all",       g.SHAPE,   1, "in every lane: whether all lanes are true", crosses=True),
        Uop("broadcast", g.SHAPE,   1, "the only lane, repeated", crosses=True),
        Uop("take",      g.SHAPE,   1, "lanes by number (attribute)", crosses=True),
        Uop("concat",    g.SHAPE,   2, "lanes of several operands one after another",
            crosses=True),
        Uop("mask_bits", g.SHAPE,   1, "booleans as the bits of one UD, lane 0 lowest",
            crosses=True),
    )
    # fmt: on


UOPS = {row.name: row for row in _rows()}


def total(what: str, table: Mapping[str, _T], uops: Mapping[str, Uop] = UOPS) -> Mapping[str, _T]:
    """Return a table that has an entry for every micro-operation, by name.

    Args:
        what: what an entry says, for the error.
        table: the table.
        uops: the micro-operations that it has to cover.

    Raises:
        InternalError: it leaves some out, or has entries that are none.
    """
    missing = [name for name in uops if name not in table]
    unknown = [name for name in table if name not in uops]
    if missing or unknown:
        found = [f"no {what} for: {', '.join(missing)}"] if missing else []
        found += [f"a {what} for what is no micro-operation: {', '.join(unknown)}"] * bool(unknown)
        raise InternalError(f"{'; '.join(found)}; visim.sem.uops has the list")
    return table


LEAVES = {name: uop for name, uop in UOPS.items() if uop.group is Group.LEAF}
CROSSING = frozenset(name for name, uop in UOPS.items() if uop.crosses)
"""Micro-operations of which a lane may depend on other lanes."""
WITHOUT_MODE = frozenset({"fneg", "fabs", "saturate", "fmuladd"})
"""Operations on floats to which CR0 does not matter: they round nothing or to nearest, and keep
denormals."""
