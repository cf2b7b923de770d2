"""Locks of which a forked process has no use: those that threads hold which it does not have."""

from __future__ import annotations

import os
from threading import RLock
from weakref import WeakSet


class RenewedLock:
    """A lock that a child finds open, unless the thread that forked holds it.

    `lock` is to be taken. What it guards has to stand being left in the middle, in the child.
    """

    __slots__ = ("__weakref__", "lock")

    def __init__(self) -> None:
        self.lock = RLock()
        _KNOWN.add(self)

    def renew(self) -> None:
        """Open the lock if another thread held it that is not there any more."""
        if self.lock.acquire(blocking=False):
            self.lock.release()
        else:
            self.lock = RLock()


_KNOWN: WeakSet[RenewedLock] = WeakSet()


def _renew_all() -> None:
    for known in list(_KNOWN):
        known.renew()


os.register_at_fork(after_in_child=_renew_all)
