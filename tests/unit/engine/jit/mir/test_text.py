"""MIR as text: what is printed is read as the same, what is no MIR is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visim.engine.jit.mir.attributes import Ask
from visim.engine.jit.mir.errors import MirSyntaxError
from visim.engine.jit.mir.parser import parse_function
from visim.engine.jit.mir.printer import function_text
from visim.engine.jit.mir.types import NAMES, type_of, type_text
from visim.engine.jit.mir.verifier import problems
from visim.engine.jit.mir.words import attribute_of, attribute_text, lanes_text, numbers_of
from visim.sem.atomics import AtomicOperation
from visim.sem.requests import BlockLoad, Detail, Outside, Sampling, TexelAtomic, TexelLoad

from .generating import functions

TEXT = """
function k simd8 {
^0(%on: m8):
  %a = start {general V1 #33 [0..28/4]} : s32x8
  %b = add %a, %a : s32x8
  jump ^1
^1:
  ret
}
"""


@settings(max_examples=60, deadline=None)
@given(functions())
def test_a_function_that_is_printed_is_read_as_the_same(function):
    text = function_text(function)
    again = parse_function(text)
    assert function_text(again) == text
    assert list(problems(again)) == list(problems(function)) == []


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("lanes", [1, 2, 16, 64])
def test_types_are_read_as_they_are_written(kind, lanes):
    assert type_of(type_text(kind, lanes)) == (kind, lanes)


@given(st.lists(st.integers(-50, 50), max_size=40))
def test_numbers_of_lanes_are_read_as_they_are_written(numbers):
    assert numbers_of(f"[{lanes_text(numbers)}]") == tuple(numbers)


@pytest.mark.parametrize(
    "operation",
    [
        TexelLoad(("u", "v"), Outside.BORDER),
        TexelAtomic(("u", "operand0"), AtomicOperation.ADD, 32),
        Sampling(("u", "v", "r"), Detail.GIVEN, "G"),
        Sampling(("u",), Detail.ZERO),
        BlockLoad(16, 4),
    ],
)
def test_what_is_asked_for_is_read_as_it_is_written(operation):
    ask = Ask(operation, sampler=True, masked=False)
    assert attribute_of("request", attribute_text(ask)) == ask


@pytest.mark.parametrize(
    ("old", "new", "line", "expected"),
    [
        ("add %a, %a", "add %a, %c", 5, "a value that stands above, not %c"),
        ("add %a, %a", "plus %a, %a", 5, "an operation"),
        ("add %a, %a", "add %a", 5, "for add 2 operands, found 1"),
        ("add %a, %a : s32x8", "add %a, %a : u32x8", 5, "for add operands of u32, found s32"),
        ("add %a, %a : s32x8", "add %a, %a : s32x4", 5, "for add operands of 4 lanes, found 8, 8"),
        ("%b = add", "%a = add", 5, "a name that is new, not %a"),
        ("s32x8\n  %b", "t32x8\n  %b", 4, "a type, such as f32x16, u32 or m16"),
        ("[0..28/4]}", "[0..28/4]", 4, "'}'"),
        ("#33", "33", 4, "a name, # and the variable's number"),
        ("[0..28/4]", "[0..28/0]", 4, "a step that is not 0"),
        ("  ret\n}", "  ret", 9, "'^'"),
        ("simd8", "simd", 2, "how many channels there are"),
        ("jump ^1", "jump ^x", 6, "the number of a block"),
    ],
)
def test_what_is_no_mir_is_refused_with_its_place(old, new, line, expected):
    assert old in TEXT
    with pytest.raises(MirSyntaxError) as error:
        parse_function(TEXT.replace(old, new, 1))
    assert (error.value.line, error.value.expected) == (line, expected)


def test_a_function_that_is_broken_can_be_printed():
    function = parse_function(TEXT)
    broken = function.blocks[0].body[1:]
    del function.__dict__["blocks"]
    object.__setattr__(function, "blocks", ())
    assert "function k" in function_text(function)
    assert broken
