"""Locks in processes that fork at any time, also in a handler of signals.

A child has only the thread that forked: what others hold then would stay locked in it for ever. So
there are two kinds of locks. Some are renewed in the child, where what they guard can be left in
the middle. Who forks takes the others, and thereby waits until nobody else holds them. It may
itself be in the middle of something that others wait for, so it waits for nothing while it holds
one of them.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from threading import RLock
from typing import Any, TypeVar
from weakref import WeakSet

_T = TypeVar("_T")

# Handlers may fork, or ask for code, while their thread holds one.
LOADING_LOCK = RLock()
"""Held by who imports parts of visim when they are first asked for.

Python's own locks of modules that another thread was importing stay closed in a child.
"""
LLVM_LOCK = RLock()
"""Held by who calls LLVM, which does one thing at a time."""
WRITING_LOCK = RLock()
"""Held by who writes a module, or looks for its code in the cache; never with LLVM's."""


_LOADED_NOW: set[str] = set()


@contextmanager
def loading(what: str, lock: AbstractContextManager[object] = LOADING_LOCK) -> Generator[None]:
    """Hold a lock while `what` is imported: that of all who import parts of visim, or its own.

    Raises:
        UnsupportedError: it is being imported by this very thread, so this is a signal's handler.
    """
    with lock:
        if what in _LOADED_NOW:
            # At the top of this module it would make `import visim` take three times as long.
            from visim.errors import UnsupportedError

            raise UnsupportedError(
                f"a signal came while {what} was being loaded, which its handler cannot wait for; "
                f"use {what} once before signals may come, or in what the handler interrupts"
            )
        _LOADED_NOW.add(what)
        try:
            yield
        finally:
            _LOADED_NOW.discard(what)


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


class RenewedProperty(cached_property[_T]):
    """A cached property whose lock is renewed in a child; before Python 3.12 they have one."""

    def __init__(self, function: Callable[[Any], _T]) -> None:
        super().__init__(function)
        self._renewed = RenewedLock()

    @property
    def lock(self) -> object:
        """The lock that Python takes while it finds the value of any object."""
        return self._renewed.lock

    @lock.setter
    def lock(self, given: object) -> None:
        """Refuse Python's own lock."""


_KNOWN: WeakSet[RenewedLock] = WeakSet()


def _renew_all() -> None:
    for known in list(_KNOWN):
        known.renew()


def _take() -> None:
    """Take all locks that forks wait for, without waiting for one while holding another.

    A signal's handler may raise an exception meanwhile. Python prints it, and forks nevertheless.
    So it waits until the locks are taken.
    """
    locks, raised = deque([LOADING_LOCK, WRITING_LOCK, LLVM_LOCK]), None
    while True:
        try:
            locks[0].acquire()
        except BaseException as error:
            raised = error
            continue
        taken = 1
        while taken < len(locks) and locks[taken].acquire(blocking=False):
            taken += 1
        if taken == len(locks):
            break
        for place in range(taken):
            locks[place].release()
        locks.rotate(-taken)
    if raised is not None:
        raise raised


def _let_go() -> None:
    for lock in (LLVM_LOCK, WRITING_LOCK, LOADING_LOCK):
        lock.release()


os.register_at_fork(after_in_child=_renew_all)
os.register_at_fork(before=_take, after_in_parent=_let_go, after_in_child=_let_go)
