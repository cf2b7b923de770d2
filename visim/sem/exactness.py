"""What a result is worth: exact, within a stated bound, or one of several that are right."""

from __future__ import annotations

from dataclasses import dataclass

NOTES = "docs/spec-notes.md"
_PAGES = {"Images": "docs/spec-notes-images.md"}
"""Where a heading of the notes is, if on another page."""


@dataclass(frozen=True, slots=True)
class Exactness:
    """What a result is worth.

    Bit-exact; or within `ulp` of the correctly rounded value, computed as `note` says; or a
    `choice` among what the specification allows, as `note` says: the heading of
    the notes on the specification (docs/) under which it is explained.
    """

    ulp: float | None = None
    note: str = ""
    choice: str = ""

    @property
    def is_exact(self) -> bool:
        """Whether every bit of the result follows from the specification."""
        return self.ulp is None and not self.choice

    @property
    def link(self) -> str:
        """Where a choice is explained, else ""."""
        if not self.choice:
            return ""
        return f"{_PAGES.get(self.choice, NOTES)}#{self.choice.lower().replace(' ', '-')}"

    def __str__(self) -> str:
        if self.choice:
            return f"implementation-defined: {self.note} ({self.link})"
        if self.ulp is None:
            return "exact"
        return f"within {self.ulp} ULP ({self.note})" if self.note else f"within {self.ulp} ULP"


EXACT = Exactness()
