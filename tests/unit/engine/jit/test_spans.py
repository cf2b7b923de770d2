"""Turns are in range as long as all sums that a counter stands for are, each by itself."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import pytest

from visim.engine.jit.analysis.counters import Multiple
from visim.engine.jit.analysis.lanes import Row
from visim.engine.jit.common.native import NativeCode, object_code, processor
from visim.engine.jit.ir.floats import Library
from visim.engine.jit.ir.text import Text
from visim.engine.jit.writing.spans import TurnWriter

MOST = (1 << 63) - 1
LEAST = -(1 << 63)
MOST_TURNS = 64


def _combined(text: Text, library: Library) -> Callable[[str, str, str], str]:
    def combined(word: str, a: str, b: str) -> str:
        name = library.intrinsic(f"llvm.{word}.i64", "i64", "i64", "i64")
        return text.let(f"call i64 {name}(i64 {a}, i64 {b})")

    return combined


KINDS = {"signed": (32, True), "unsigned": (32, False), "wide": (64, True)}


@cache
def turns(kind: str, shift: int, step: int) -> NativeCode:
    """Compile a function that counts the turns in which a counter is in two ranges."""
    text, library, (bits, signed) = Text(), Library(), KINDS[kind]
    row, writer = Row(1, 0, bits // 8, 32, bits // 8), TurnWriter(text, _combined(text, library))
    multiple = Multiple(row, bits, signed, shift)
    writer.add(multiple, "%a", "%limit.a")
    writer.add(multiple, "%b", "%limit.b")
    writer.write()
    number = text.let(f"trunc i64 %number to i{bits}") if bits < 64 else "%number"
    one = text.let(f"insertelement <1 x i{bits}> poison, i{bits} {number}, i64 0")
    most = writer.turns(str(MOST_TURNS), lambda _: one, {row: step})
    lines = "\n".join(text.lines)
    head = "define i64 @f(i64 %number, i64 %a, i64 %limit.a, i64 %b, i64 %limit.b) {\nentry:\n"
    module = f"{library.render()}\n{head}{lines}\n  ret i64 {most}\n}}"
    return NativeCode(object_code(module, processor()), ["f"])


def counted(address: int, number: int, a: tuple[int, int], b: tuple[int, int]) -> int:
    """Return the turns that native code finds for two distances and limits."""
    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 5)(address)(number, *a, *b)


@pytest.mark.parametrize("distance", [LEAST, LEAST + 1, MOST - 1, MOST])
@pytest.mark.parametrize("limit", [0, 1, 16, 1 << 47])
def test_sums_that_wrap_around_are_not_taken_to_be_in_range(distance: int, limit: int) -> None:
    address = turns("wide", 0, 1).addresses["f"]
    for number in (LEAST, LEAST + 1, -17, -1, 0, 1, 17, MOST - 1, MOST):
        if counted(address, number, (distance, limit), (distance, limit)):
            assert 0 <= number + distance < limit


def test_ranges_that_are_far_apart_have_no_number_in_common() -> None:
    a, b = (-(1 << 62), 1 << 40), (1 << 62, 1 << 40)
    address = turns("wide", 0, 1).addresses["f"]
    assert [counted(address, number, a, b) for number in (1 << 62, -(1 << 62), 0, MOST)] == [0] * 4


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("shift", "step"), [(0, 1), (2, 1), (2, 3), (3, 2)])
@pytest.mark.parametrize("first", [-5, 0, 7, (1 << 31) - 3, (1 << 32) - 3, 1 << 40])
def test_turns_end_where_a_counter_leaves_one_of_two_ranges(
    kind: str, shift: int, step: int, first: int
) -> None:
    address = turns(kind, shift, step).addresses["f"]
    bits, signed = KINDS[kind]
    for length, less in ((40, 0), (21, 6), (1, 0), (0, 0)):
        ranges = [(-(first << shift), length), (-(first << shift) + less, length)]
        for start in range(first - 3, first + 12):
            found, expected = counted(address, start, *ranges), 0
            while expected < MOST_TURNS:
                counter = _extended(start + expected * step, bits, signed=signed) << shift
                if not all(0 <= counter + distance < limit for distance, limit in ranges):
                    break
                expected += 1
            wraps = _extended(start, bits, signed=signed) != start
            assert found == expected or (found == 0 and wraps), (start, length)


def _extended(number: int, bits: int, *, signed: bool) -> int:
    number &= (1 << bits) - 1
    return number - (1 << bits) if signed and number >> bits - 1 else number
