"""Work before a run, such as compiling, that may be told to stop and says how far it is.

Who begins a launch says who may stop it; who works asks often, and is told a few times a second.
It is a setting of the context: what compiles lies many calls below what launches.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from time import monotonic

from visim.engine.base import Lookout, StopFlag

_EACH_S = 0.1


@dataclass(slots=True)
class _Asking:
    """A flag, and when it is asked next."""

    flag: StopFlag
    at: float


_asking: ContextVar[_Asking | None] = ContextVar("asking", default=None)


class Stopped(Exception):
    """Work was told to stop before it was done."""


@contextmanager
def stoppable(flag: StopFlag | None) -> Generator[None]:
    """Have a flag stop the work within; None leaves that to who was asked before."""
    if flag is None:
        yield
        return
    token = _asking.set(_Asking(flag, monotonic() + _EACH_S))
    try:
        yield
    finally:
        _asking.reset(token)


def go_on(what: str, done: int = 0, total: int = 0) -> None:
    """Say how far some work is, of which nobody may know how much there is (0).

    Raises:
        Stopped: it has to stop.
    """
    asking = _asking.get()
    if asking is None or monotonic() < asking.at:
        return
    asking.at, flag = monotonic() + _EACH_S, asking.flag
    if flag.is_set():
        raise Stopped(what)
    if isinstance(flag, Lookout):
        flag.prepared(what, done, total)


__all__ = ["Stopped", "go_on", "stoppable"]
