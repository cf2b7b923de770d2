"""Arrays beside memory that nobody may touch, and processes that a wrong access may end."""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
import sys
from typing import Any

import numpy as np


def fenced(kind: type[np.integer[Any]], size: int, *, at_end: bool) -> Any:
    """Return an array of some elements whose begin or end is that of memory that can be read."""
    page, needed = mmap.PAGESIZE, np.dtype(kind).itemsize * size
    inside = -(-needed // page) * page
    memory = mmap.mmap(-1, inside + 2 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for first in (start, start + page + inside):
        ctypes.CDLL(None).mprotect(ctypes.c_void_p(first), ctypes.c_size_t(page), 0)
    first = page + inside - needed if at_end else page
    return np.frombuffer(memory, kind, size, first)


def run_apart(module: str, call: str, **environment: str) -> None:
    """Call a function of a module in a process of its own, which must end well."""
    name = call.partition("(")[0]
    ended = subprocess.run(
        [sys.executable, "-c", f"from {module} import {name}; {call}"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert ended.returncode == 0, ended.stderr
