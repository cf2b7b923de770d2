"""What emission from MIR refuses; the traced graph is written then."""

from __future__ import annotations

from visim.errors import UnsupportedError


class NotEmitted(UnsupportedError):
    """A unit is not emitted from MIR; the message says what of it stands in the way."""


__all__ = ["NotEmitted"]
