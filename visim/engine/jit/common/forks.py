"""Locks around making code; a process may fork at any time, also in a handler of signals.

A child has only the thread that forked: what others hold then would stay locked in it for ever.
So who forks takes `WRITING_LOCK` and `LLVM_LOCK`, and thereby waits until others let go of them. It
may itself be in the middle of something that others wait for, so nobody waits for anything else
while it holds one of these two. Locks that are held while these are waited for are renewed in a
child.
"""

from __future__ import annotations

import os
from threading import RLock

# Handlers may fork, or ask for code, while their thread holds one.
LLVM_LOCK = RLock()
"""Held by who calls LLVM, which does one thing at a time."""
WRITING_LOCK = RLock()
"""Held by who writes a module, or looks for its code in the cache; never with the other."""


def _take() -> None:
    """Take both locks, without waiting for one while holding the other."""
    first, second = WRITING_LOCK, LLVM_LOCK
    while True:
        first.acquire()
        if second.acquire(blocking=False):
            return
        first.release()
        first, second = second, first


def _let_go() -> None:
    LLVM_LOCK.release()
    WRITING_LOCK.release()


os.register_at_fork(before=_take, after_in_parent=_let_go, after_in_child=_let_go)
