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
        space.set_table(surroundings.surfaces.items())
        if surroundings.sizes is not None:
            space.set_groups(surroundings.sizes.groups)

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
        """Forget who accessed what."""
        self._space.forget()


__all__ = ["SuspicionDetector"]
