"""Whether the process of a VM lies where the program's heap grows.

The GPU has the program's memory at the program's addresses, so the process must have nothing of its
own there. Its libraries are elsewhere; the interpreter itself and its heap are where chance has put
them, which may be just behind the heap of the program.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

_HEAP_GROWS = 16 << 30
"""So far behind its start a heap may end."""
_TRIES, _MOST_TRIES = "VISIM_VM_TRIES", 8
_RANGE = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) .*?(\[heap\])?$", re.MULTILINE)


def start_elsewhere(program: int) -> None:
    """Start this process anew, which lays it out anew, if it lies in the program's way."""
    tries = int(os.environ.get(_TRIES, "0"))
    if tries >= _MOST_TRIES or not is_in_the_way(_maps(program), _maps(os.getpid())):
        return
    os.environ[_TRIES] = str(tries + 1)
    os.execv(sys.executable, sys.orig_argv)


def is_in_the_way(program: str, own: str) -> bool:
    """Return whether own mappings lie where the program's heap is, or will be.

    Args:
        program: the mappings of the program, as /proc tells them.
        own: those of this process.
    """
    heaps = [int(start, 16) for start, _, heap in _RANGE.findall(program) if heap]
    taken = [(int(start, 16), int(end, 16)) for start, end, _ in _RANGE.findall(own)]
    return any(start < heap + _HEAP_GROWS and end > heap for heap in heaps for start, end in taken)


def _maps(process: int) -> str:
    try:
        return Path(f"/proc/{process}/maps").read_text(encoding="utf-8")
    except OSError:
        return ""
