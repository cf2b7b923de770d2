"""From what detectors report to findings: the same pair of places is one finding, with a count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from visim.sanitize.findings import Actor, Finding, Place
from visim.sanitize.kinds import KINDS, order_of
from visim.sanitize.places import Places

MOST_FINDINGS = 1000
"""So many different findings of a launch are kept."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of what was found: an instruction, by unit and program counter, and who ran it."""

    unit: int
    pc: int
    actor: Actor


class Collector:
    """The findings of one launch.

    Reports come in an order that depends on the kernel and its arguments only, so that the first
    one, which is the example that users see, is always the same.

    Args:
        places: the places of the kernel's instructions.
        errors: kinds that count as errors, whatever their rows say.
    """

    def __init__(self, places: Places, errors: frozenset[str] = frozenset()) -> None:
        self.places = places
        self._errors = errors
        self._found: dict[object, Finding] = {}
        self._counts: dict[object, int] = {}
        self.left_out = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing was found that is an error or a warning."""
        return not any(finding.counts for finding in self._found.values())

    def add(
        self,
        kind: str,
        sides: Sequence[Side],
        message: str,
        *,
        buffer: str | None = None,
        count: int = 1,
        advice: str | None = None,
    ) -> None:
        """Report something.

        Args:
            kind: the name of a kind.
            sides: where, and who; of a race both accesses.
            message: what happened, told for this example of it.
            buffer: the argument's name.
            count: how often.
            advice: what to do; None is what the kind's row says.
        """
        places = tuple(self.places.place(side.unit, side.pc) for side in sides)
        key = (kind, buffer, frozenset((p.file, p.line, _without_lines(p)) for p in places))
        self._counts[key] = self._counts.get(key, 0) + count
        if key in self._found:
            return
        if len(self._found) >= MOST_FINDINGS:
            self.left_out += 1
            return
        said = KINDS[kind].advice if advice is None else advice
        actors = tuple(side.actor for side in sides)
        self._found[key] = Finding(
            kind, buffer, places, actors, message, advice=said, is_raised=kind in self._errors
        )

    def findings(self) -> tuple[Finding, ...]:
        """Return what was found: by kind in the table's order, then by place."""
        counted = [
            replace(finding, count=self._counts[key]) for key, finding in self._found.items()
        ]
        return tuple(sorted(counted, key=_order))


def _without_lines(place: Place) -> str | None:
    """Return what tells places apart that have no line."""
    return place.instruction if place.line is None else None


def _order(finding: Finding) -> tuple[object, ...]:
    lines = tuple((place.file or "", place.line or 0) for place in finding.places)
    return (order_of(finding.kind), lines, finding.buffer or "", finding.message)


__all__ = ["Collector", "Side"]
