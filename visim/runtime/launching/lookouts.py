"""Who hears how far launches are: a setting of the context, as `printf_to` is."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from visim.engine.base import Lookout

_lookout: ContextVar[Lookout | None] = ContextVar("lookout", default=None)


def current_lookout() -> Lookout | None:
    """Return who hears of launches that begin here."""
    return _lookout.get()


@contextmanager
def watched_by(lookout: Lookout) -> Generator[None]:
    """Have somebody hear how far the launches are that begin within."""
    token = _lookout.set(lookout)
    try:
        yield
    finally:
        _lookout.reset(token)
