"""When a launch has to be over: the time that `timeout=` gives it, and what it is told then."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import monotonic

from visim.engine.base import StopFlag
from visim.errors import Fault


@dataclass(frozen=True, slots=True)
class Deadline:
    """The end of the `seconds` that a launch has; `at` is on the monotonic clock."""

    seconds: float
    at: float

    @classmethod
    def after(cls, seconds: float | None) -> Deadline | None:
        """Return the deadline of a launch that begins now; None: it has none."""
        return None if seconds is None else cls(float(seconds), monotonic() + float(seconds))

    def with_flag(self, stop: StopFlag | None) -> StopFlag:
        """Return what stops a run at the deadline, or when `stop` does."""
        return _Stop(self.at, stop)

    def is_over(self, stop: StopFlag | None) -> bool:
        """Whether the deadline, and not `stop`, has ended a run."""
        return monotonic() >= self.at and not (stop is not None and stop.is_set())

    def fault(self, stopped: Fault, kernel: str) -> Fault:
        """Return the fault of a kernel's run that had to stop, which says where it was."""
        message = f"the launch was not done after {self.seconds:g} seconds (timeout)"
        named = replace(stopped, category="out-of-contract", code="timeout", kernel=kernel)
        return replace(named, message=message)


@dataclass(frozen=True, slots=True)
class _Stop:
    """Tells a run to stop at a time, or with another flag."""

    at: float
    other: StopFlag | None

    def is_set(self) -> bool:
        """Return whether the run has to stop."""
        return monotonic() >= self.at or (self.other is not None and self.other.is_set())


__all__ = ["Deadline"]
