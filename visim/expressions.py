"""Integer expressions, which a text may have wherever it has a number (GenX_IR's grammar).

Values are 64-bit integers with C's division. The ladder of operators is not that of C: `&` binds
loosest, then `^`, then `|`, and all three looser than comparisons. Comparisons and shifts do not
chain.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from enum import IntEnum
from typing import Protocol

from visim.lex import UNSIGNED, Cursor, parse_integer

MAX_DEPTH = 32
# A number that no operator follows.
_NUMBER_ALONE = re.compile(
    r"[ \t]*(0[xX][0-9a-fA-F]{1,15}|\d{1,18})(?!\w)(?=[ \t]*(?:[,;)}\]A-Za-z]|$))", re.ASCII
)
_BUILTIN = re.compile(r"%(sizeof|DispatchSimd)(?!\w)", re.ASCII)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_UNARY = re.compile(r"[-~!](?!=)")
_SIGN, _LIMIT = 1 << 63, 1 << 64


class Level(IntEnum):
    """How loosely operators may bind in an expression.

    Where `>` closes what the expression stands in, it begins at `SHIFT`.
    """

    CONDITION = 0
    AND = 1
    XOR = 2
    OR = 3
    EQUALITY = 4
    RELATION = 5
    SHIFT = 6
    SUM = 7
    PRODUCT = 8
    UNARY = 9


_OPERATORS: dict[Level, re.Pattern[str]] = {
    Level.AND: re.compile(r"[ \t]*(&)"),
    Level.XOR: re.compile(r"[ \t]*(\^)"),
    Level.OR: re.compile(r"[ \t]*(\|)"),
    Level.EQUALITY: re.compile(r"[ \t]*(==|!=)"),
    Level.RELATION: re.compile(r"[ \t]*(<=|>=|<(?!<)|>(?!>))"),
    Level.SHIFT: re.compile(r"[ \t]*(<<|>>>|>>)"),
    Level.SUM: re.compile(r"[ \t]*([-+])"),
    # Not before a variable: a message's address can be '4*V40'.
    Level.PRODUCT: re.compile(
        r"[ \t]*(\*(?![ \t]*(?!%(?:sizeof|DispatchSimd)\b)%?[A-Za-z_])|/|%(?![A-Za-z_]))"
    ),
}
_CHAINED = frozenset({Level.AND, Level.XOR, Level.OR, Level.SUM, Level.PRODUCT})


class Constants(Protocol):
    """What an expression can ask of the unit that it stands in."""

    @property
    def dispatch_size(self) -> int | None:
        """The kernel's SimdSize, None before the text has said it."""
        ...

    def size_of(self, name: str) -> int | None:
        """Return the bytes of the variable `name` or of `GRF`, None where they are not known."""
        ...


def integer(
    cursor: Cursor,
    names: Constants,
    expected: str,
    *,
    low: int = 0,
    high: int = 1 << 32,
    level: Level = Level.CONDITION,
) -> int:
    """Take an expression whose value is in [low, high), or fail.

    `level` says which operators it may have outside of brackets.
    """
    cursor.skip_space()
    start = cursor.position
    value = expression(cursor, names, expected, level=level)
    if not low <= value < high:
        message = f"{value} is outside {low} to {high - 1}"
        raise cursor.failure_at(start, "out-of-range", message, label=expected)
    return value


def expression(
    cursor: Cursor,
    names: Constants,
    expected: str = "an integer",
    *,
    level: Level = Level.CONDITION,
) -> int:
    """Take an expression and return its value, or fail."""
    plain = cursor.match(_NUMBER_ALONE)
    if plain:
        return parse_integer(plain.group(1))
    return _Evaluation(cursor, names, expected).at(level)


class _Evaluation:
    """Evaluates one expression while it is read."""

    def __init__(self, cursor: Cursor, names: Constants, expected: str) -> None:
        self.cursor = cursor
        self.names = names
        self.expected = expected
        self.depth = 0

    def at(self, level: Level) -> int:
        """Return the value of an expression whose operators bind at `level` or tighter."""
        if level is Level.UNARY:
            return self._unary()
        if level is Level.CONDITION:
            return self._condition()
        tighter = Level(level + 1)
        value = self.at(tighter)
        while found := self.cursor.match(_OPERATORS[level]):
            value = self._result(found.group(1), value, self.at(tighter), found.start(1))
            if level not in _CHAINED:
                break
        return value

    def _condition(self) -> int:
        value = self.at(Level.AND)
        self.cursor.skip_space()
        if not self.cursor.take("?"):
            return value
        chosen = self.at(Level.AND)
        self.cursor.expect(":")
        otherwise = self._deeper(Level.CONDITION)
        return chosen if value else otherwise

    def _deeper(self, level: Level) -> int:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            message = f"more than {MAX_DEPTH} nested expressions"
            raise self.cursor.failure_at(self.cursor.position, "limit", message, length=1)
        value = self.at(level)
        self.depth -= 1
        return value

    def _unary(self) -> int:
        cursor = self.cursor
        cursor.skip_space()
        found = cursor.match(_UNARY)
        if found is None:
            return self._primary()
        value = self._deeper(Level.UNARY)
        match found.group():
            case "-":
                return _wrapped(-value)
            case "~":
                return ~value
            case _:
                return int(not value)

    def _primary(self) -> int:
        cursor = self.cursor
        start = cursor.position
        number = cursor.match(UNSIGNED)
        if number:
            return self._literal(number)
        if cursor.take("("):
            value = self._deeper(Level.CONDITION)
            cursor.expect(")")
            return value
        builtin = cursor.match(_BUILTIN)
        if builtin is None:
            raise cursor.failure(self.expected)
        return self._size_of() if builtin.group(1) == "sizeof" else self._dispatch_size(start)

    def _literal(self, number: re.Match[str]) -> int:
        value = parse_integer(number.group())
        if value >= _LIMIT:
            message = f"{number.group()} does not fit 64 bits"
            raise self.cursor.failure_at(number.start(), "out-of-range", message)
        return _wrapped(value)

    def _size_of(self) -> int:
        cursor = self.cursor
        cursor.skip_space()
        in_brackets = cursor.take("(")
        cursor.skip_space()
        start = cursor.position
        name = cursor.need(_IDENTIFIER, "a variable or GRF").group()
        if in_brackets:
            cursor.expect(")")
        size = self.names.size_of(name)
        if size is None:
            raise cursor.failure_at(
                start,
                "size-unknown",
                f"the size of {name} is not known here",
                length=len(name),
                help="name a general or address variable declared before, "
                "or GRF together with a platform",
            )
        return size

    def _dispatch_size(self, start: int) -> int:
        size = self.names.dispatch_size
        if size is None:
            raise self.cursor.failure_at(
                start,
                "size-unknown",
                "%DispatchSimd stands before '.kernel_attr SimdSize='",
                help="state SimdSize first",
            )
        return size

    def _result(self, symbol: str, left: int, right: int, start: int) -> int:
        if symbol in {"/", "%"}:
            if right == 0:
                raise self.cursor.failure_at(start, "expression", "division by zero")
            quotient = abs(left) // abs(right) * (-1 if (left < 0) != (right < 0) else 1)
            return _wrapped(quotient if symbol == "/" else left - quotient * right)
        if symbol in {"<<", ">>", ">>>"}:
            if not 0 <= right < 64:
                message = f"a shift by {right} bits has no meaning, only 0 to 63 have"
                raise self.cursor.failure_at(start, "expression", message)
            return _wrapped(_shifted(symbol, left, right))
        return _wrapped(_ARITHMETIC[symbol](left, right))


def _shifted(symbol: str, left: int, right: int) -> int:
    if symbol == "<<":
        return left << right
    return (left if symbol == ">>" else left % _LIMIT) >> right


_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "&": int.__and__,
    "^": int.__xor__,
    "|": int.__or__,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}


def _wrapped(value: int) -> int:
    """Return `value` as a signed 64-bit integer holds it."""
    return (int(value) + _SIGN) % _LIMIT - _SIGN
