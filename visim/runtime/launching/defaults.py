"""Sanitizers of launches that ask for none: what somebody who watches a whole program wants.

Within `watched`, every launch that does not say `sanitize=` has these, and its report is handed on.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from visim.runtime.launching.launch import LaunchKeywords
from visim.runtime.launching.report import Report
from visim.sanitize.kinds import read_sanitize


@dataclass(frozen=True, slots=True)
class Watch:
    """The sanitizers, who gets the report of each launch that has them, and what are errors."""

    names: tuple[str, ...]
    receive: Callable[[Report], None]
    errors: tuple[str, ...] = ()


_CURRENT: ContextVar[Watch | None] = ContextVar("visim_sanitize", default=None)


@contextmanager
def watched(
    names: str, receive: Callable[[Report], None], errors: tuple[str, ...] = ()
) -> Generator[None]:
    """Let launches of this thread have sanitizers.

    Args:
        names: "all", or names of sanitizers with commas between.
        receive: gets the report of each such launch, also of one that stops with a fault.
        errors: kinds of findings that count as errors.

    Raises:
        ArgumentError: there is no such sanitizer.
    """
    token = _CURRENT.set(Watch(read_sanitize(names), receive, errors))
    try:
        yield
    finally:
        _CURRENT.reset(token)


def current_watch() -> Watch | None:
    """Return what this thread's launches have by default."""
    return _CURRENT.get()


def with_watch(options: LaunchKeywords, watch: Watch) -> LaunchKeywords:
    """Return the options of a launch, with the sanitizers that it does not name itself."""
    if "sanitize" in options:
        return options
    return {"sanitize_errors": watch.errors, **options, "sanitize": watch.names}


__all__ = ["Watch", "current_watch", "watched", "with_watch"]
