"""Integer expressions: values, the order in which operators bind, and what is refused."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from visim.diag import Source
from visim.expressions import MAX_DEPTH, Level, expression, integer
from visim.lex import Cursor, TextFailure


@dataclass(frozen=True)
class Unit:
    """What expressions may ask for."""

    dispatch_size: int | None = 16

    def size_of(self, name: str) -> int | None:
        return {"GRF": 64, "V32": 256}.get(name)


def value(text: str, level: Level = Level.CONDITION, unit: Unit | None = None) -> int:
    cursor = Cursor(Source("t", text), 1, text)
    found = expression(cursor, unit or Unit(), level=level)
    assert cursor.at_end, text[cursor.position :]
    return found


def refusal(text: str, unit: Unit | None = None) -> str:
    with pytest.raises(TextFailure) as raised:
        value(text, unit=unit)
    return raised.value.diagnostic.code


VALUES = [
    ("010", 10),
    ("0x10", 16),
    ("1 + 2*3", 7),
    ("7-2-1", 4),
    ("8/2*4", 16),
    ("-7/2", -3),
    ("-7%4", -3),
    ("7%-4", 3),
    ("1+1<<2", 8),
    ("-8>>1", -4),
    ("-8>>>1", (2**64 - 8) // 2),
    ("1<<63", -(2**63)),
    ("6&3|4", 6 & (3 | 4)),
    ("6^3|4", 6 ^ (3 | 4)),
    ("6&3^5", 6 & (3 ^ 5)),
    ("4|2==2", 4 | 1),
    ("1?2:3", 2),
    ("0?2:0?3:4", 4),
    ("!0 + ~0", 0),
    ("--4", 4),
    ("0xffffffffffffffff", -1),
    ("9223372036854775807+1", -(2**63)),
    ("%sizeof(GRF)/4", 16),
    ("%sizeof V32 / 4", 64),
    ("%DispatchSimd*2", 32),
    ("3>=3", 1),
    ("2<3", 1),
    ("1!=2", 1),
]


@pytest.mark.parametrize(("text", "expected"), VALUES)
def test_an_expression_has_the_assemblers_value(text: str, expected: int):
    assert value(text) == expected
    assert value(f" ( {text} ) ") == expected


REFUSED = [
    ("8/0", "expression"),
    ("8%0", "expression"),
    ("1<<64", "expression"),
    ("1<<-1", "expression"),
    ("0x10000000000000000", "out-of-range"),
    ("%sizeof(V99)", "size-unknown"),
    ("4+", "syntax"),
    ("(4", "syntax"),
    ("1?2", "syntax"),
    ("(" * (MAX_DEPTH + 1), "limit"),
    ("-" * (MAX_DEPTH + 1) + "1", "limit"),
]


@pytest.mark.parametrize(("text", "code"), REFUSED)
def test_what_has_no_value_is_refused(text: str, code: str):
    assert refusal(text) == code


def test_the_dispatch_size_must_be_stated_before():
    assert refusal("%DispatchSimd", Unit(dispatch_size=None)) == "size-unknown"


@pytest.mark.parametrize("text", ["1<2<3", "1==1==1", "1<<2<<2"])
def test_comparisons_and_shifts_do_not_chain(text: str):
    with pytest.raises(AssertionError):
        value(text)


def test_an_angle_bracket_ends_an_expression_that_stands_in_angle_brackets():
    cursor = Cursor(Source("t", "1+1> 2"), 1, "1+1> 2")
    assert expression(cursor, Unit(), level=Level.SHIFT) == 2
    assert cursor.position == 3


def test_a_value_beyond_the_limits_is_out_of_range():
    cursor = Cursor(Source("t", "2*8"), 1, "2*8")
    with pytest.raises(TextFailure) as raised:
        integer(cursor, Unit(), "a row", high=16)
    assert "16 is outside 0 to 15" in raised.value.diagnostic.message


def wrapped(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


@dataclass(frozen=True)
class Tree:
    """An expression as written, its value, and how loosely its outermost operator binds."""

    text: str
    value: int
    level: Level

    def within(self, level: Level) -> str:
        return self.text if self.level >= level else f"({self.text})"


LEVELS = {
    "&": Level.AND,
    "^": Level.XOR,
    "|": Level.OR,
    "==": Level.EQUALITY,
    "!=": Level.EQUALITY,
    "<": Level.RELATION,
    ">=": Level.RELATION,
    "+": Level.SUM,
    "-": Level.SUM,
    "*": Level.PRODUCT,
}
MEANINGS = {
    "&": lambda a, b: a & b,
    "^": lambda a, b: a ^ b,
    "|": lambda a, b: a | b,
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    ">=": lambda a, b: int(a >= b),
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}


def joined(operator: str, left: Tree, right: Tree) -> Tree:
    level = LEVELS[operator]
    tighter = Level(level + 1)
    chains = operator in "&^|+-*"
    text = f"{left.within(level if chains else tighter)} {operator} {right.within(tighter)}"
    return Tree(text, wrapped(MEANINGS[operator](left.value, right.value)), level)


def chosen(condition: Tree, yes: Tree, no: Tree) -> Tree:
    text = f"{condition.within(Level.AND)} ? {yes.within(Level.AND)} : {no.text}"
    return Tree(text, yes.value if condition.value else no.value, Level.CONDITION)


numbers = st.integers(0, 2**63 - 1) | st.integers(0, 9)
leaves = numbers.map(lambda n: Tree(str(n), n, Level.UNARY)) | numbers.map(
    lambda n: Tree(hex(n), n, Level.UNARY)
)
trees = st.recursive(
    leaves,
    lambda inner: (
        st.builds(joined, st.sampled_from(sorted(LEVELS)), inner, inner)
        | st.builds(chosen, inner, inner, inner)
        | inner.map(lambda t: Tree(f"-{t.within(Level.UNARY)}", wrapped(-t.value), Level.UNARY))
    ),
    max_leaves=12,
)


@given(trees)
def test_operators_bind_as_the_grammar_says(tree: Tree):
    assert value(tree.text) == tree.value


@given(st.text("0123456789abcdefx+-*/%&|^~!<>=?:() ,", max_size=20))
def test_any_text_has_a_value_or_is_refused(text: str):
    cursor = Cursor(Source("t", text), 1, text)
    with suppress(TextFailure):
        assert -(2**63) <= expression(cursor, Unit()) < 2**63
