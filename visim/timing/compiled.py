"""The simulation as native code.

It is made of the very functions of `core`, so that the numbers are the same by construction. The
machine code is kept with that of kernels: it is compiled once on each machine.
"""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np
from numpy.typing import NDArray

from visim.engine.jit.common.native import NativeCode, object_code, processor
from visim.timing.core import simulate
from visim.timing.core.fields import RESULTS, Chip, Code, State
from visim.timing.lowering import lower

_RUN = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_Words = NDArray[np.int64]


def run(code: Code, chip: Chip, state: State) -> int:
    """Run all threads; in the state `RESULTS` are as after `simulate.run`."""
    given = [_Tuple(code), _Tuple(chip), _Tuple(state)]
    last = _RUN(_native().addresses["run"])(*(one.address for one in given))
    for name in RESULTS:
        getattr(state, name)[:] = given[2].arrays[name].tolist()
    return last


class _Tuple:
    """A named tuple as native code reads it: two words a field, and the arrays that they name."""

    def __init__(self, fields: Code | Chip | State) -> None:
        words: list[int] = []
        self.arrays: dict[str, _Words] = {}
        for name, value in fields._asdict().items():
            if isinstance(value, int):
                words += (value, 0)
                continue
            array = self.arrays[name] = np.array(value, np.int64)
            words += (array.ctypes.data, array.size)
        self._words: _Words = np.array(words, np.int64)
        self.address = int(self._words.ctypes.data)


@cache
def _native() -> NativeCode:
    return NativeCode(object_code(lower(simulate.run), processor()), ("run",))
