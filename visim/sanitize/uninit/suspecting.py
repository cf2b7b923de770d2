"""Uses of what nothing has written, as quick looks hear of them: any of them is suspicious."""

from __future__ import annotations

from visim.engine.accesses import WATCH, Accesses
from visim.sanitize.detecting import Surroundings
from visim.sanitize.entries import entries
from visim.sanitize.quick.suspects import Suspects
from visim.sanitize.races.cells import CellSpace
from visim.sanitize.uninit.instrument import ADDRESS, BRANCH, STORE
from visim.sanitize.uninit.marks import Marks


class UninitSuspects(Suspects):
    """Marks what nothing has written, which native code does for each group, and hears of uses."""

    def __init__(self, surroundings: Surroundings, marks: Marks, space: CellSpace) -> None:
        super().__init__()
        self._surroundings, self._marks = surroundings, marks
        private = marks.private
        first = private[0] if private else (0, 0)
        self.is_suspicious = len(private) > 1
        scratch = surroundings.scratch_bytes, surroundings.scratch_step
        space.set_marks(surroundings.local_bytes, first, scratch)

    def accesses(self, accesses: Accesses) -> None:
        """Look whether a value that nothing has written is used."""
        for place, site, _ in entries(accesses):
            if site.kind != WATCH:
                continue
            if site.operation in {BRANCH, ADDRESS}:
                self.is_suspicious = True
            elif site.operation == STORE:
                first = place + 1 + site.masks
                told = accesses.words[first : first + site.lanes].tolist()
                self.is_suspicious |= not all(self._is_private(address) for address in told)

    def end(self) -> None:
        """Clear what was marked."""
        self._marks.clear(everything=self.is_suspicious)

    def _is_private(self, address: int) -> bool:
        area = self._surroundings.area(address) if address else None
        return area is not None and area.kind != "buffer"


__all__ = ["UninitSuspects"]
