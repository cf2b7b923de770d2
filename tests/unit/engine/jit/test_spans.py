"""A number is in a span if the sums that it stands for are in range, each by itself."""

from __future__ import annotations

import ctypes
from functools import cache

import pytest

from visim.engine.jit.common.native import NativeCode, object_code, processor
from visim.engine.jit.ir.floats import Library
from visim.engine.jit.ir.text import Text
from visim.engine.jit.writing.spans import SpanWriter

MOST = (1 << 63) - 1
LEAST = -(1 << 63)


@cache
def native() -> NativeCode:
    """Compile a function that checks one number for two ranges."""
    text, library = Text(), Library()

    def combined(word: str, a: str, b: str) -> str:
        name = library.intrinsic(f"llvm.{word}.i64", "i64", "i64", "i64")
        return text.let(f"call i64 {name}(i64 {a}, i64 {b})")

    spans = SpanWriter(text, combined)
    fits = spans.test("%number", "%a", "%limit.a")
    assert spans.test("%number", "%b", "%limit.b") is None
    body, text.lines = text.lines, []
    spans.write()
    lines = "\n".join([*text.lines, *body])
    head = "define i1 @f(i64 %number, i64 %a, i64 %limit.a, i64 %b, i64 %limit.b) {\nentry:\n"
    module = f"{library.render()}\n{head}{lines}\n  ret i1 {fits}\n}}"
    return NativeCode(object_code(module, processor()), ["f"])


def fits(number: int, a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Return what native code finds for two distances and limits."""
    function = ctypes.CFUNCTYPE(ctypes.c_bool, *[ctypes.c_int64] * 5)(native().addresses["f"])
    return bool(function(number, *a, *b))


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
    assert spans.test("%n", "%a", "%b") is not None
    assert spans.test("%m", "%a", "%b") is not None
    spans.begin()
    assert spans.test("%n", "%a", "%b") is not None
