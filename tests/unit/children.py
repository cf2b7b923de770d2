"""Processes of tests: those that a test forks, and whether others are there still."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path


def in_child(test: Callable[[], bool]) -> bool:
    """Whether something is true in a child of this process."""
    child = os.fork()
    if not child:
        right = False
        try:
            right = test()
        finally:
            os._exit(0 if right else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def is_gone(pid: int) -> bool:
    """Return whether a process ends, given a while to do so."""
    for _ in range(200):
        stat = Path(f"/proc/{pid}/stat")
        if not stat.exists() or ") Z " in stat.read_text():  # whoever adopted it may be slow
            return True
        time.sleep(0.05)
    return False
