"""Commands that say where values come from."""

from __future__ import annotations

from visim.debug.fronts.replies import Reply
from visim.debug.session import Session
from visim.errors import ArgumentError


def why(session: Session, text: str) -> Reply:
    """Say what made a value."""
    raise ArgumentError(f"why {text}: not there yet")


def who_wrote(session: Session, text: str) -> Reply:
    """Say who has written a value."""
    raise ArgumentError(f"who {text}: not there yet")
