"""The simulation compiled by Numba, where it is installed (the extra `timing`).

It is `simulate` once more, from the same file, with its functions compiled: the numbers are the
same by construction. Lists become arrays of 64-bit integers on the way in.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from functools import cache
from typing import Any

import numpy as np

from visim.timing import simulate
from visim.timing.simulate import Chip, Code, State

_NAME = "visim.timing.compiled_simulate"


def is_available() -> bool:
    """Whether Numba is installed."""
    return importlib.util.find_spec("numba") is not None


def run(code: Code, chip: Chip, state: State) -> int:
    """Run all threads; `state` has what came of it, as after `simulate.run`."""
    module = _module()
    arrays = module.State(*(_array(entry) for entry in state))
    last = module.run(module.Code(*(_array(entry) for entry in code)), module.Chip(*chip), arrays)
    for name in ("started", "ended", "place", "count", "stall", "busy", "total", "scalar", "event"):
        getattr(state, name)[:] = getattr(arrays, name).tolist()
    return int(last)


def _array(values: list[int]) -> Any:
    return np.array(values, np.int64)


@cache
def _module() -> Any:
    numba = importlib.import_module("numba")
    spec = importlib.util.spec_from_file_location(_NAME, simulate.__file__)
    if spec is None or spec.loader is None:
        raise ImportError(simulate.__file__)
    module = importlib.util.module_from_spec(spec)
    sys.modules[_NAME] = module  # where Numba looks for the classes of what it has compiled before
    spec.loader.exec_module(module)
    for name, value in list(vars(module).items()):
        if isinstance(value, types.FunctionType) and value.__module__ == module.__name__:
            setattr(module, name, numba.njit(value, cache=True))
    return module


__all__ = ["is_available", "run"]
