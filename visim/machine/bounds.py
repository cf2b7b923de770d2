"""What becomes of an access to a surface that is out of its range."""

from __future__ import annotations

from enum import StrEnum


class Bounds(StrEnum):
    """How surfaces are bounded.

    FAULT refuses what is out of range, as flat memory does. HARDWARE does what devices do: reads
    give 0, writes are dropped, and both are counted.
    """

    FAULT = "fault"
    HARDWARE = "hardware"


__all__ = ["Bounds"]
