"""The verifier of MIR finds what is wrong, and says where; operations check themselves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from visim.engine.jit.mir import ops
from visim.engine.jit.mir.errors import MirError, MirTypeError
from visim.engine.jit.mir.ops import OPS
from visim.engine.jit.mir.parser import parse_function
from visim.engine.jit.mir.values import Edge, End, EndKind, Function, Value, param
from visim.engine.jit.mir.verifier import problems, verify
from visim.errors import InternalError
from visim.sem.uops import UOPS, Group, Uop
from visim.types import BOOL, UD, F

TEXT = """
function k simd8 {
^0(%on: m8):
  %a = constant {1} : u32x8
  %any = any %on : m8
  %bit = take %any {[0]} : m1
  branch %bit, ^1(%a), ^2
^1(%p: u32x8):
  %b = add %a, %p : u32x8
  jump ^2
^2:
  ret
}
"""


@pytest.fixture
def function() -> Function:
    return parse_function(TEXT)


def changed(function: Function, number: int, **fields: object) -> Function:
    """Return a function with another block of a number."""
    blocks = [
        replace(one, **fields) if one.number == number else one  # type: ignore[arg-type]
        for one in function.blocks
    ]
    return Function(function.name, function.simd, tuple(blocks))


def test_what_is_well_formed_has_no_problems(function):
    assert verify(function) is function


def test_a_value_is_not_seen_where_another_path_leads(function):
    one = function.by_number[1].body[0]
    end = End(EndKind.STOP, (one,), reason="x")
    found = list(problems(changed(function, 2, end=end)))
    assert found == [
        "^2: stop x %5: a value that is computed on every path to here, found %5 of ^1"
    ]


def test_a_value_is_not_seen_in_front_of_itself(function):
    body = function.entry.body
    found = list(problems(changed(function, 0, body=(body[0], body[2], body[1]))))
    assert len(found) == 1
    assert "computed on every path" in found[0]


@pytest.mark.parametrize(
    ("end", "problem"),
    [
        (lambda f: End(EndKind.JUMP, (), (Edge(1),)), "1 operands for ^1, found 0"),
        (lambda f: End(EndKind.JUMP, (), (Edge(7),)), "a block that is there, found ^7"),
        (lambda f: End(EndKind.JUMP), "1 edges, found 0"),
        (lambda f: End(EndKind.JUMP, (), (Edge(0, f.entry.params),)), "no edge to the first block"),
        (
            lambda f: End(EndKind.BRANCH, f.entry.params, (Edge(2), Edge(2))),
            "an operand of one lane of BOOL, found m8",
        ),
        (
            lambda f: End(EndKind.JUMP, (), (Edge(1, f.entry.params),)),
            "u32x8 for ^1, found m8",
        ),
        (lambda f: End(EndKind.SWITCH, (), (Edge(2),)), "1 operands, found 0"),
    ],
)
def test_ends_are_checked(function, end, problem):
    found = list(problems(changed(function, 0, end=end(function))))
    assert any(problem in one for one in found), found
    with pytest.raises(MirError) as error:
        verify(changed(function, 0, end=end(function)))
    assert error.value.problems == tuple(found)


def test_a_value_stands_once(function):
    body = function.by_number[1].body
    found = list(problems(changed(function, 1, body=(*body, function.entry.body[0]))))
    assert any("a value stands once, found in ^1 and ^0" in one for one in found)


def test_the_first_block_has_the_mask_as_parameter(function):
    found = list(problems(changed(function, 0, params=())))
    assert found[0] == "^0: the first block has one parameter, m8"


def test_numbers_of_blocks_differ(function):
    blocks = (*function.blocks, function.blocks[-1])
    found = list(problems(Function("k", 8, blocks)))
    assert found[0] == "^2: the number of a block is its own, found twice"


@pytest.mark.parametrize(
    ("op", "kind", "lanes", "args", "more", "expected"),
    [
        ("fadd", F, 2, (F, F), {}, "the mode that it computes in"),
        ("add", UD, 2, (UD, UD), {"mode": 0}, "no mode"),
        ("fneg", F, 2, (F,), {"mode": 0}, "no mode"),
        ("eq", UD, 2, (UD, UD), {}, "a mask as result"),
        ("select", UD, 2, (UD, UD, UD), {}, "operands of m1, found u32"),
        ("take", UD, 1, (UD,), {"attribute": (2,)}, "numbers of lanes below 2, found 2"),
        ("insert", UD, 2, (UD, UD), {"attribute": (0, 0)}, "numbers of lanes that differ"),
        ("constant", UD, 2, (), {}, "a number"),
        ("canonical", F, 2, (F,), {"mode": 0}, "one of source, magnitude, result"),
        ("tick", UD, 1, (), {"attribute": 1}, "no result"),
        ("fmul", F, 2, (F, F, UD), {"mode": ops.ANY_MODE}, "%cr0 as last operand"),
    ],
)
def test_operations_check_what_they_are_made_of(op, kind, lanes, args, more, expected):
    values = tuple(param(one, 2) for one in args)
    with pytest.raises(MirTypeError) as error:
        Value(OPS[op], kind, lanes, values, **more)
    assert error.value.expected.startswith(expected)


def test_a_micro_operation_without_a_rule_is_refused(monkeypatch):
    new = {"twist": Uop("twist", Group.SHAPE, 1, "lanes in another order")}
    monkeypatch.setattr(ops, "UOPS", UOPS | new)
    with pytest.raises(InternalError, match="no rule in MIR for: twist"):
        ops._pure()


def test_masks_are_bits():
    assert param(BOOL, 8).lanes == 8
