"""Functions of integers mean the same in Python and as native code."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from visim.engine.jit.common.native import NativeCode, object_code, processor
from visim.errors import InternalError
from visim.timing.lowering import lower

THREE = 3


class Pair(NamedTuple):
    values: Any
    scale: int


def quotients(a: int, b: int) -> int:
    b = b or 7
    return a // b * 1000 + a % b


def collatz(a: int, b: int) -> int:
    number, steps = max(1, a), 0
    while number != 1:
        if steps > b:
            break
        steps += 1
        if number % 2 == 0:
            number //= 2
            continue
        number = THREE * number + 1
    return steps


def logic(a: int, b: int) -> int:
    both = (a > 3 and b > 3) + 2 * (a > 3 or not b) + 4 * (a <= b and a != b)
    return (min(a, b, 5) if both else -max(a, b)) + (a & 12 | b) + (a << 2 >> 1)


def chained(a: int, b: int) -> int:
    return int(0 < a < b)


def helper(values: Any, index: int) -> int:
    if index < 0:
        return -1
    return values[index] * 2


def sums(pair: Pair, a: int) -> int:
    total = 0
    values = pair.values
    for index in range(len(values)):
        if values[index] == a:
            return -index
        total += helper(values, index) - helper(pair.values, -1)
    for index in range(1, len(values), 2):
        pair.values[index] += pair.scale
    return total


def native(function, *types):
    code = NativeCode(object_code(lower(function), processor()), (function.__name__,))
    call = ctypes.CFUNCTYPE(ctypes.c_int64, *types)(code.addresses[function.__name__])
    return lambda *arguments: (code, call(*arguments))[1]


SMALL = st.integers(-50, 50)
INTEGERS = (ctypes.c_int64, ctypes.c_int64)


@pytest.fixture(scope="module", params=[quotients, collatz, logic], ids=lambda f: f.__name__)
def pair_of(request):
    return request.param, native(request.param, *INTEGERS)


@given(a=SMALL, b=SMALL)
def test_divisions_and_loops_are_those_of_python(pair_of, a, b):
    plain, fast = pair_of
    assert fast(a, b) == plain(a, b)


def test_what_is_not_known_is_refused():
    with pytest.raises(InternalError, match="chained: cannot translate"):
        lower(chained)


@pytest.fixture(scope="module")
def summing():
    return native(sums, ctypes.c_void_p, ctypes.c_int64)


@given(values=st.lists(SMALL, min_size=1, max_size=9), a=SMALL)
def test_arrays_are_read_and_written(summing, values, a):
    plain, array = list(values), np.array(values, np.int64)
    words = np.array([array.ctypes.data, array.size, 10, 0], np.int64)
    assert summing(words.ctypes.data, a) == sums(Pair(plain, 10), a)
    assert array.tolist() == plain
