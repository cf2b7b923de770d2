"""What is told by the instrument of suspicions: whether a launch has to be looked at precisely."""

from __future__ import annotations

from visim.engine.accesses import WATCH, Accesses
from visim.engine.observers import GroupStart
from visim.errors import Fault
from visim.sanitize.detecting import Surroundings
from visim.sanitize.entries import entries
from visim.sanitize.races.cells import CellSpace
from visim.sanitize.races.suspicions import SUSPICION


class SuspicionDetector:
    """Notes that something is suspicious, and keeps the words for one launch."""

    def __init__(self, surroundings: Surroundings, space: CellSpace) -> None:
        self.is_suspicious = False
        self._space = space
        groups = (1, 1, 1) if surroundings.sizes is None else surroundings.sizes.groups
        space.begin_launch(groups, sum(area.size for area in surroundings.areas))
        space.set_table(surroundings.surfaces.items())

    def begin_group(self, group: GroupStart) -> None:
        """Nothing depends on where a group begins."""

    def accesses(self, accesses: Accesses) -> None:
        """Look whether anything suspicious is among what a thread told."""
        for _, site, _ in entries(accesses):
            if site.kind == WATCH and site.operation == SUSPICION:
                self.is_suspicious = True
                return

    def end_group(self, fault: Fault | None) -> None:
        """Nothing is left of a group."""

    def end(self) -> None:
        """Let words be those of an earlier launch."""
        self._space.end_launch()


__all__ = ["SuspicionDetector"]
