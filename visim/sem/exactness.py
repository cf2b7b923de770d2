"""What a result is worth: exact, or within a stated bound."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Exactness:
    """What a result is worth: bit-exact, or within `ulp` of the correctly rounded value."""

    ulp: float | None = None
    note: str = ""

    @property
    def is_exact(self) -> bool:
        """Whether every bit of the result follows from the specification."""
        return self.ulp is None

    def __str__(self) -> str:
        return "exact" if self.ulp is None else f"within {self.ulp} ULP"


EXACT = Exactness()
