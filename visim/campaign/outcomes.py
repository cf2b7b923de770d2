"""How a cell can end, and what is kept of it.

What a result says depends on the cell alone; only `Took` differs from run to run, so that results
of local processes and of a cluster can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

MOST_TEXT = 2000
"""So many characters of a message are kept."""


class Outcome(StrEnum):
    """How a cell ended."""

    PASSED = "passed"
    DIFFERS = "differs"
    FINDING = "finding"
    FAULT = "fault"
    BROKEN = "broken"
    REFUSED = "refused"
    WRONG = "wrong"
    MISSING = "missing"
    BUG = "bug"
    CRASHED = "crashed"
    HUNG = "hung"
    MEMORY = "memory"
    LOST = "lost"

    @property
    def meaning(self) -> str:
        """What it says, in a sentence without its end."""
        return _MEANINGS[self]


_MEANINGS: Mapping[Outcome, str] = {
    Outcome.PASSED: "it ran, and everything is as expected",
    Outcome.DIFFERS: "an array is not as expected, or engines differ",
    Outcome.FINDING: "a sanitizer or the verifier found an error or a warning",
    Outcome.FAULT: "the kernel stopped with a fault",
    Outcome.BROKEN: "the program does not compile, or violates the specification",
    Outcome.REFUSED: "visim does not support what it needs",
    Outcome.WRONG: "the campaign's file asks for what cannot be: an argument, a size, a file",
    Outcome.MISSING: "a tool is not installed, such as a compiler that knows the device",
    Outcome.BUG: "visim or a Python function of the campaign raised what it should not",
    Outcome.CRASHED: "the process ended by a signal, or without an answer",
    Outcome.HUNG: "it was not done in time",
    Outcome.MEMORY: "it needed more memory than it may",
    Outcome.LOST: "its worker went away, several times",
}


@dataclass(frozen=True, slots=True)
class Took:
    """What a cell took: seconds, how often it was begun, and where it ran."""

    seconds: float = 0.0
    attempts: int = 1
    worker: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a cell: `facts` are those of its job, such as digests of arrays and cycles."""

    outcome: Outcome
    message: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    took: Took = field(default_factory=Took)

    def to_dict(self) -> dict[str, Any]:
        """Return the result in the form that files have."""
        return {
            "outcome": str(self.outcome),
            "message": self.message[:MOST_TEXT],
            "facts": dict(self.facts),
            "took": asdict(self.took),
        }

    @classmethod
    def of(cls, form: Mapping[str, Any]) -> Result:
        """Return the result of such a form; ValueError, KeyError or TypeError if it is none."""
        took = form["took"]
        return cls(
            Outcome(form["outcome"]),
            str(form["message"])[:MOST_TEXT],
            dict(form["facts"]),
            Took(float(took["seconds"]), int(took["attempts"]), str(took["worker"])),
        )
