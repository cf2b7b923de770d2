"""What instruments of quick looks tell, and who hears it."""

from __future__ import annotations

from visim.engine.accesses import WATCH, Accesses
from visim.engine.observers import GroupStart
from visim.errors import Fault
from visim.sanitize.detecting import Surroundings
from visim.sanitize.entries import entries
from visim.sanitize.races.cells import CellSpace
from visim.sem.effects import Watch
from visim.sem.expr import Expr, constant
from visim.types import UQ

SUSPICION = "suspicion"
"""What a `Watch` is called where something is suspicious."""


def suspicion(where: Expr, group: tuple[Expr, Expr, Expr]) -> Watch:
    """Return what tells that something is suspicious, if the only lane of `where` holds."""
    return Watch(SUSPICION, constant(0, UQ, 1), where, group)


class Suspects:
    """A detector that notes whether anything is suspicious; one launch has several."""

    def __init__(self) -> None:
        self.is_suspicious = False

    def begin_group(self, group: GroupStart) -> None:
        """Nothing depends on where a group begins."""

    def accesses(self, accesses: Accesses) -> None:
        """Look whether anything suspicious is among what a thread told."""

    def end_group(self, fault: Fault | None) -> None:
        """Nothing is left of a group."""

    def end(self) -> None:
        """The launch has ended."""


class SuspicionDetector(Suspects):
    """Notes suspicions, and keeps the words of one launch."""

    def __init__(self, surroundings: Surroundings, space: CellSpace) -> None:
        super().__init__()
        self._space = space
        groups = (1, 1, 1) if surroundings.sizes is None else surroundings.sizes.groups
        space.begin_launch(groups, [(area.start, area.size) for area in surroundings.areas])
        space.set_table(surroundings.surfaces.items())

    def accesses(self, accesses: Accesses) -> None:
        """Look whether anything suspicious is among what a thread told."""
        for _, site, _ in entries(accesses):
            if site.kind == WATCH and site.operation == SUSPICION:
                self.is_suspicious = True
                return

    def end(self) -> None:
        """Let words be those of an earlier launch."""
        self._space.end_launch()


__all__ = ["SUSPICION", "Suspects", "SuspicionDetector", "suspicion"]
