"""The count of accesses that surfaces swallowed because they were out of range."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Dropped:
    """Counts accesses out of the range of surfaces, one per channel (or block) and access."""

    reads: int = 0
    writes: int = 0
