"""When a launch has to be over, by `timeout=` or by another flag, and who hears how far it is."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf
from time import monotonic

from visim.engine.base import Lookout, StopFlag
from visim.engine.faults import CANCELLED
from visim.engine.stops import Stopped, stoppable
from visim.errors import Fault, FaultError
from visim.runtime.launching.lookouts import current_lookout


@dataclass(frozen=True, slots=True)
class Deadline:
    """The end of the `seconds` that a launch has; `at` is on the monotonic clock."""

    seconds: float
    at: float

    @classmethod
    def after(cls, seconds: float | None) -> Deadline | None:
        """Return the deadline of a launch that begins now; None: it has none."""
        return None if seconds is None else cls(float(seconds), monotonic() + float(seconds))

    def is_over(self, stop: StopFlag | None) -> bool:
        """Whether the deadline, and not `stop`, has ended a run."""
        return monotonic() >= self.at and not (stop is not None and stop.is_set())

    def fault(self, stopped: Fault, kernel: str) -> Fault:
        """Return the fault of a kernel's run that had to stop, which says where it was."""
        message = f"the launch was not done after {self.seconds:g} seconds (timeout)"
        named = replace(stopped, category="out-of-contract", code="timeout", kernel=kernel)
        return replace(named, message=message)


@contextmanager
def preparing(deadline: Deadline | None, kernel: str) -> Generator[None]:
    """Have what is done for a launch before it begins end at its deadline.

    Raises:
        FaultError: it was not done then.
    """
    try:
        with stoppable(stopping(deadline, None, current_lookout())):
            yield
    except Stopped:
        if deadline is None:
            raise
        raise FaultError(deadline.fault(CANCELLED.unplaced(), kernel)) from None


def stopping(
    deadline: Deadline | None, stop: StopFlag | None, lookout: Lookout | None
) -> StopFlag | None:
    """Return what stops a run at a deadline or when `stop` does, and what `lookout` hears of it.

    None where nobody wants either.
    """
    if lookout is None and deadline is None:
        return stop
    return _Stop(inf if deadline is None else deadline.at, stop, lookout or Lookout())


class _Stop(Lookout):
    """Tells a run to stop at a time, or with another flag; tells another one how far the run is."""

    def __init__(self, at: float, other: StopFlag | None, lookout: Lookout) -> None:
        self._at = at
        self._other = other
        self.is_looking = lookout.is_looking
        self.found = lookout.found
        self.ran = lookout.ran
        self.prepared = lookout.prepared

    def is_set(self) -> bool:
        """Return whether the run has to stop."""
        return monotonic() >= self._at or (self._other is not None and self._other.is_set())


__all__ = ["Deadline", "preparing", "stopping"]
