"""A number is in a span if the sums that it stands for are in range, each by itself."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import pytest

from visim.engine.jit.analysis.counters import Multiple
from visim.engine.jit.analysis.slots import Row
from visim.engine.jit.common.native import NativeCode, object_code, processor
from visim.engine.jit.ir.floats import Library
from visim.engine.jit.ir.text import Text
from visim.engine.jit.writing.bounds import Bounds
from visim.engine.jit.writing.spans import SpanWriter, TurnWriter

MOST = (1 << 63) - 1
LEAST = -(1 << 63)
HOST = 1 << 50
MOST_TURNS = 64


@cache
def native() -> NativeCode:
    """Compile a function that checks one number for two ranges, and says where the second leads."""
    text, library = Text(), Library()
    spans = SpanWriter(text, _combined(text, library))
    _, fits = spans.place("%number", "%a", _bounds("%limit.a", "0"))
    there, none = spans.place("%number", "%b", _bounds("%limit.b", str(HOST)))
    assert none is None
    body, text.lines = text.lines, []
    spans.write()
    lines = "\n".join([*text.lines, *body])
    head = "define i64 @f(i64 %number, i64 %a, i64 %limit.a, i64 %b, i64 %limit.b) {\nentry:\n"
    end = f"  %found = select i1 {fits}, i64 {there}, i64 0\n  ret i64 %found\n}}"
    module = f"{library.render()}\n{head}{lines}\n{end}"
    return NativeCode(object_code(module, processor()), ["f"])


def _bounds(limit: str, host: str) -> Bounds:
    return Bounds("0", limit, host)


def _combined(text: Text, library: Library) -> Callable[[str, str, str], str]:
    def combined(word: str, a: str, b: str) -> str:
        name = library.intrinsic(f"llvm.{word}.i64", "i64", "i64", "i64")
        return text.let(f"call i64 {name}(i64 {a}, i64 {b})")

    return combined


def fits(number: int, a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Return what native code finds for two distances and limits."""
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 5)(native().addresses["f"])
    found = function(number, *a, *b)
    assert found in (0, HOST + number + b[0])
    return bool(found)


@pytest.mark.parametrize("distance", [-4096, -1, 0, 1, 4096, 1 << 62, -(1 << 62)])
@pytest.mark.parametrize("limits", [(100, 100), (100, 60), (1, 100), (0, 100), (0, 0)])
def test_a_number_is_in_range_of_both_or_of_none(distance: int, limits: tuple[int, int]) -> None:
    a, b = (distance, limits[0]), (distance - 20, limits[1])
    for number in range(-distance - 3, -distance + 130):
        wanted = all(0 <= number + one < limit for one, limit in (a, b))
        assert fits(number, a, b) == wanted, number


def test_ranges_that_are_far_apart_have_no_number_in_common() -> None:
    a, b = (-(1 << 62), 1 << 40), (1 << 62, 1 << 40)
    for number in (1 << 62, -(1 << 62), 0, MOST, LEAST):
        assert not fits(number, a, b)


@pytest.mark.parametrize("distance", [LEAST, LEAST + 1, MOST - 1, MOST])
@pytest.mark.parametrize("limit", [0, 1, 16, 1 << 47])
def test_sums_that_wrap_around_are_not_taken_to_be_in_range(distance: int, limit: int) -> None:
    for number in (LEAST, LEAST + 1, -17, -1, 0, 1, 17, MOST - 1, MOST):
        if fits(number, (distance, limit), (distance, limit)):
            assert 0 <= number + distance < limit


def test_a_block_checks_what_others_have_checked() -> None:
    text = Text()
    spans = SpanWriter(text, lambda word, a, b: text.let(f"{word} {a}, {b}"))
    bounds = _bounds("%b", "0")
    assert spans.place("%n", "%a", bounds)[1] is not None
    assert spans.place("%m", "%a", bounds)[1] is not None
    spans.begin()
    assert spans.place("%n", "%a", bounds)[1] is not None


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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("shift", "step"), [(0, 1), (2, 1), (2, 3), (3, 2)])
@pytest.mark.parametrize("first", [-5, 0, 7, (1 << 31) - 3, (1 << 32) - 3, 1 << 40])
def test_turns_end_where_a_counter_leaves_one_of_two_ranges(
    kind: str, shift: int, step: int, first: int
) -> None:
    address = turns(kind, shift, step).addresses["f"]
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 5)(address)
    bits, signed = KINDS[kind]
    for length, less in ((40, 0), (21, 6), (1, 0), (0, 0)):
        ranges = [(-(first << shift), length), (-(first << shift) + less, length)]
        for start in range(first - 3, first + 12):
            given = [number for one in ranges for number in one]
            found, expected = function(start, *given), 0
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
