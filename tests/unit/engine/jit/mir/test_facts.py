"""What the analysis says of values: their ranges, known lanes, and how lanes differ.

The tests of the engines compare facts with what the evaluator computes, for every value.
"""

from __future__ import annotations

import pytest

from tests.engine.harness import checked
from visim.engine.jit.mir import transfer as module
from visim.engine.jit.mir.dominators import dominators
from visim.engine.jit.mir.liveness import Liveness
from visim.engine.jit.mir.parser import parse_function
from visim.engine.jit.mir.solver import Facts
from visim.engine.jit.mir.transfer import _total
from visim.errors import InternalError

LINES = """
  %ids = vector {[0..7]} : u16x8
  %byte = start {general V1 #33 [0..7]} : u8x8
  %x = start {general V2 #34 [0..28/4]} : s32x8
  %n = start {general V3 #35 [0]} : s32
  %two = constant {2} : s32x8
  %four = constant {4} : s32x8
"""


def facts_of(*lines: str) -> tuple[Facts, dict[str, object]]:
    """Return the facts of a block that begins with `LINES`, and its values by name."""
    body = LINES + "".join(f"  {line}\n" for line in lines)
    function = parse_function(f"function k simd8 {{\n^0(%on: m8):\n{body}  ret\n}}\n")
    names = ["on", "ids", "byte", "x", "n", "two", "four"]
    names += [line.split(" = ")[0].removeprefix("%") for line in lines]
    return Facts(function), dict(zip(names, function.values(), strict=True))


@pytest.mark.parametrize(
    ("lines", "low", "high", "step"),
    [
        (["%r = convert %ids : s32x8"], 0, 7, 1),
        (["%w = convert %ids : s32x8", "%r = mul %w, %four : s32x8"], 0, 28, 4),
        (["%w = convert %ids : s32x8", "%r = shl %w, %two : s32x8"], 0, 28, 4),
        (["%b = broadcast %n : s32x8"], -(2**31), 2**31 - 1, 0),
        (
            ["%w = convert %ids : s32x8", "%b = broadcast %n : s32x8", "%r = add %w, %b : s32x8"],
            -(2**31),
            2**31 - 1,
            1,
        ),
        (["%r = convert %byte : s32x8"], 0, 255, None),
        (["%w = convert %byte : s32x8", "%r = shl %w, %two : s32x8"], 0, 1020, None),
        (["%r = and %x, %four : s32x8"], 0, 4, None),
        (["%r = min %x, %four : s32x8"], -(2**31), 4, None),
        (["%r = select %on, %two, %four : s32x8"], 2, 4, None),
        (["%w = convert %byte : s32x8", "%r = rem %w, %four : s32x8"], 0, 3, None),
        (["%r = take %ids {[0..6/2]} : u16x4"], 0, 6, 2),
        (["%r = take %x {[3*8]} : s32x8"], -(2**31), 2**31 - 1, 0),
        (["%r = lt %two, %four : m8"], 1, 1, 0),
        (["%r = add %x, %x : s32x8"], -(2**31), 2**31 - 1, None),
        (["%r = neg %two : s32x8"], -2, -2, 0),
        (["%a = any %on : m8"], 0, 1, 0),
    ],
)
def test_ranges_and_steps(lines, low, high, step):
    facts, values = facts_of(*lines)
    fact = facts.of(values[lines[-1].split(" = ")[0].removeprefix("%")])
    assert (fact.low, fact.high, fact.step) == (low, high, step)


def test_lanes_that_are_known_stay_known_beside_others():
    facts, values = facts_of(
        "%some = take %two {[0..2]} : s32x3",
        "%mixed = insert %x, %some {[1, 2, 4]} : s32x8",
        "%none = constant {0} : s32x8",
        "%product = mul %mixed, %none : s32x8",
        "%more = add %mixed, %four : s32x8",
        "%low = regroup %more : u8x32",
    )
    assert facts.of(values["mixed"]).lanes == (None, 2, 2, None, 2, None, None, None)
    assert facts.of(values["product"]).number == 0
    assert facts.of(values["more"]).lanes == (None, 6, 6, None, 6, None, None, None)
    assert facts.of(values["low"]).lanes[4:8] == (6, 0, 0, 0)


LOOP = """
function loop simd8 {
^0(%on: m8):
  %zero = constant {0} : s32
  %one = constant {1} : s32
  %ids = vector {[0..7]} : s32x8
  jump ^1(%zero, %ids)
^1(%i: s32, %row: s32x8):
  %next = add %i, %one : s32
  %wide = broadcast %one : s32x8
  %more = add %row, %wide : s32x8
  %ten = constant {10} : s32
  %t = lt %next, %ten : m1
  %never = lt %ten, %one : m1
  branch %never, ^3(%ids), ^2
^2:
  branch %t, ^1(%next, %more), ^3(%row)
^3(%last: s32x8):
  ret
}
"""


def test_a_loop_keeps_what_each_turn_keeps():
    function = parse_function(LOOP)
    facts = Facts(function)
    i, row = function.by_number[1].params
    [last] = function.by_number[3].params
    assert facts.of(i).step == 0
    assert (facts.of(row).step, facts.of(last).step) == (1, 1)
    assert facts.of(row).high == 2**31 - 1
    assert facts.of(i).lanes == ()


def test_dominators_and_liveness():
    function = parse_function(LOOP)
    tree = dominators(function)
    assert tree.parent == {0: 0, 1: 0, 2: 1, 3: 1}
    assert tree.joins([2]) == {1, 3}
    assert [tree.dominates(1, one) for one in range(4)] == [False, True, True, True]
    live = Liveness(function)
    names = function.names
    assert sorted(names[value] for value in live.starts[1]) == [2, 3]
    assert live.most(function) >= 3


def test_a_wrong_fact_is_found_by_the_tests_of_engines(monkeypatch):
    import numpy as np

    wrong = dict(module._TABLE) | {"add": module._sub}
    monkeypatch.setattr(module, "_TABLE", wrong)
    text = f"function k simd8 {{\n^0(%on: m8):\n{LINES}  %r = add %two, %four : s32x8\n  ret\n}}"
    function = parse_function(text)
    value = function.entry.body[-1]
    with pytest.raises(AssertionError):
        checked(function)(value, np.full(8, 6, np.int32))


def test_an_operation_without_a_transfer_function_is_refused():
    table = {name: row for name, row in module._TABLE.items() if name != "mul"}
    with pytest.raises(InternalError, match="no transfer function in MIR for"):
        _total(table)
