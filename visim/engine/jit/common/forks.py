"""Locks that no other thread holds when the process forks.

A child has only the thread that forked: what others hold then would stay locked in it for ever.
"""

from __future__ import annotations

import os
from threading import RLock


def _lock() -> RLock:
    """Return a lock that is taken before a fork: who forks waits until others let go of it."""
    # Signal handlers may fork, or ask for code, while their thread holds it.
    lock = RLock()
    os.register_at_fork(
        before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
    )
    return lock


# Forks take first what is made last here, as threads do that need both.
LLVM_LOCK = _lock()
"""Held by who calls LLVM, which does one thing at a time."""
AHEAD_LOCK = _lock()
"""Held by the thread that compiles ahead, for one job at a time."""
