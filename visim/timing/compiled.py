"""The simulation as native code.

It is made of the very functions of `core`, so that the numbers are the same by construction. The
machine code is kept with that of kernels: it is compiled once on each machine.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.engine.jit.common.native import NativeCode, object_code, processor
from visim.timing.core import simulate
from visim.timing.core.fields import RESULTS, Chip, Code, State
from visim.timing.lowering import lower

_Words = NDArray[np.int64]


def is_loaded(function: Callable[..., int]) -> bool:
    """Return whether a function of `core` is native code in this process: calling it is free."""
    return function in _LOADED


def run(code: Code, chip: Chip, state: State) -> int:
    """Run all threads; in the state `RESULTS` are as after `simulate.run`."""
    given = _Tuples((code, chip, state))
    last = given.run(simulate.run)
    for name in RESULTS:
        if getattr(state, name) is not given.arrays[name]:
            getattr(state, name)[:] = given.arrays[name].tolist()
    return last


def call(function: Callable[..., int], tuples: Sequence[Any], changed: Sequence[str]) -> int:
    """Call a function of `core` as native code.

    Args:
        function: the function.
        tuples: its arguments, named tuples whose arrays are NumPy's.
        changed: the fields of the last one that it changes.
    """
    given = _Tuples(tuples)
    result = given.run(function)
    for name in changed:
        getattr(tuples[-1], name)[:] = given.arrays[name]
    return result


def interpret(function: Callable[..., int], tuples: Sequence[Any], changed: Sequence[str]) -> int:
    """Call a function of `core` as Python code; the arguments are those of `call`."""
    plain = [
        type(one)(*[value.tolist() if isinstance(value, np.ndarray) else value for value in one])
        for one in tuples
    ]
    result = function(*plain)
    for name in changed:
        getattr(tuples[-1], name)[:] = getattr(plain[-1], name)
    return result


class _Tuples:
    """Named tuples as native code reads them: two words a field, and the arrays that they name.

    `arrays` are those of the last one, by name.
    """

    def __init__(self, tuples: Sequence[Any]) -> None:
        self.arrays: dict[str, _Words] = {}
        self._kept: list[_Words] = []
        self._words: list[_Words] = []
        for one in tuples:
            self.arrays = {}
            words: list[int] = []
            for name, value in zip(one._fields, one, strict=True):
                if isinstance(value, int):
                    words += (value, 0)
                    continue
                array = self.arrays[name] = np.ascontiguousarray(value, np.int64)
                self._kept.append(array)
                words += (array.ctypes.data, array.size)
            self._words.append(np.array(words, np.int64))

    def run(self, function: Callable[..., int]) -> int:
        """Call a function with them."""
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * len(self._words))
        address = _native(function).addresses[function.__name__]
        return kind(address)(*(words.ctypes.data for words in self._words))


_LOADED: set[Callable[..., int]] = set()


@cache
def _native(function: Callable[..., int]) -> NativeCode:
    found = NativeCode(object_code(lower(function), processor()), (function.__name__,))
    _LOADED.add(function)
    return found
