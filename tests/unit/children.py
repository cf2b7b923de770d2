"""Tests in a child of this process."""

from __future__ import annotations

import os
from collections.abc import Callable


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
