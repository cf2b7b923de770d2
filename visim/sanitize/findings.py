"""What users get of a sanitizer: findings with both sides' places and work-items.

Knows no launch and no engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from visim.diag import Severity, visible
from visim.sanitize.kinds import KINDS

Coordinates = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Place:
    """A line of source where there is one, else of vISA text; `text` is the line's, if known.

    `instruction` is the vISA instruction that stands for it.
    """

    file: str | None
    line: int | None
    text: str | None = None
    instruction: str | None = None

    def __str__(self) -> str:
        if self.line is None:
            return self.file or self.instruction or "an unknown place"
        return f"{self.file or '?'}:{self.line}"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who takes part in a finding; what does not apply is None.

    `work_item` is its global id. A channel is None where the whole hardware thread acts.
    """

    group: Coordinates | None = None
    thread: int | None = None
    channel: int | None = None
    work_item: Coordinates | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the actor in the form that `--json` prints."""
        return {
            "group": None if self.group is None else list(self.group),
            "thread": self.thread,
            "channel": self.channel,
            "work_item": None if self.work_item is None else list(self.work_item),
        }

    def __str__(self) -> str:
        known = (
            ("work-item", self.work_item),
            ("group", self.group),
            ("thread", self.thread),
            ("channel", self.channel),
        )
        return ", ".join(f"{name} {value}" for name, value in known if value is not None)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong that a sanitizer has found, with the first example of it.

    Attributes:
        kind: what it is, such as "race-local"; docs/sanitizers.md lists all.
        buffer: the argument's name, or None.
        places: where: of a race both accesses, else the place, and of an uninitialised value where
            it was read behind it, and then where it was read first, if that is another place.
        actors: who, one for each of the first places.
        message: what happened, in one or two sentences.
        count: how often the same was found.
        advice: what to do, in one sentence.
        is_raised: whether it counts as an error because the launch said so.
    """

    kind: str
    buffer: str | None
    places: tuple[Place, ...]
    actors: tuple[Actor, ...]
    message: str
    count: int = 1
    advice: str = ""
    is_raised: bool = False

    @property
    def severity(self) -> str:
        """How much it matters: error, warning or note."""
        return str(self._severity)

    @property
    def counts(self) -> bool:
        """Whether it makes `visim run` end with exit code 1."""
        return self._severity is not Severity.NOTE

    @property
    def _severity(self) -> Severity:
        return Severity.ERROR if self.is_raised else KINDS[self.kind].severity

    @property
    def locations(self) -> list[tuple[str | None, int | None]]:
        """The file and line of each place."""
        return [(place.file, place.line) for place in self.places]

    def to_dict(self) -> dict[str, Any]:
        """Return the finding in the form that `--json` prints."""
        return {
            "kind": self.kind,
            "severity": self.severity,
            "buffer": self.buffer,
            "locations": [list(location) for location in self.locations],
            "actors": [actor.to_dict() for actor in self.actors],
            "count": self.count,
            "message": self.message,
            "advice": self.advice,
        }

    def __str__(self) -> str:
        lines = [f"{self.severity}[{self.kind}]: {self.message}"]
        for number, place in enumerate(self.places):
            actor = f"  by {self.actors[number]}" if number < len(self.actors) else ""
            lines.append(f"  --> {place}{actor}")
            shown = place.text or place.instruction
            if shown:
                lines.append(f"   | {shown.strip()}")
        if self.count > 1:
            lines.append(f"   = found {self.count} times; this is the first")
        if self.advice:
            lines.append(f"   = help: {self.advice}")
        return visible("\n".join(lines))


__all__ = ["Actor", "Coordinates", "Finding", "Place"]
