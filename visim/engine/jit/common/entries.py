"""The scheduler's native code: loaded once for all kernels, which call it by its names."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from visim.engine.jit.common.cache import ObjectCache, default_folder, key_of
from visim.engine.jit.common.native import (
    NativeCode,
    any_processor,
    compiler,
    object_code,
    offer,
)
from visim.engine.jit.common.scheduler import (
    CALLED,
    ENTRIES,
    STACK_CALLED,
    STACK_ENTRIES,
    scheduler_text,
)
from visim.engine.jit.targets import HERE
from visim.forks import LLVM_LOCK

FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
"""All functions that Python calls: two pointers and a number give a number."""

Function = Callable[[int, int, int], int]

_KNOWN: list[Scheduler] = []


@dataclass(frozen=True)
class Scheduler:
    """The functions of the scheduler that Python calls, by name."""

    code: NativeCode
    functions: dict[str, Function]

    def address(self, name: str) -> int:
        """Return where a function is."""
        return self.code.addresses[name]


def scheduler() -> Scheduler:
    """Return the scheduler, which is loaded when this is first called."""
    if not _KNOWN:
        with LLVM_LOCK:
            if not _KNOWN:
                _KNOWN.append(_loaded())
    return _KNOWN[0]


def _loaded() -> Scheduler:
    entries, called = ENTRIES, CALLED
    if HERE.stacks is not None:
        entries, called = entries + STACK_ENTRIES, called + STACK_CALLED
    code = NativeCode(_object_code(), entries + called)
    offer({name: code.addresses[name] for name in called})
    return Scheduler(code, {name: FUNCTION(code.addresses[name]) for name in entries})


def _object_code() -> bytes:
    """Return the scheduler's object file, from the cache if it was compiled before."""
    text, made_for, kept = (
        scheduler_text(HERE),
        any_processor(),
        ObjectCache(default_folder()),
    )
    key = key_of(text, made_for.name, compiler())
    code = kept.get(key)
    if code is None:
        code = object_code(text, made_for)
        kept.put(key, code)
    return code


@lru_cache(maxsize=64)
def function_at(address: int) -> Function:
    """Return native code at an address as a function that Python calls."""
    return FUNCTION(address)


def address_of(function: Function) -> int:
    """Return where native code finds a function that `FUNCTION` has made."""
    return ctypes.cast(cast("Any", function), ctypes.c_void_p).value or 0
