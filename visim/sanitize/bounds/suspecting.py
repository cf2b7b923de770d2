"""Accesses out of range, as quick looks hear of them: any of them is suspicious."""

from __future__ import annotations

from visim.engine.accesses import WATCH, Accesses
from visim.sanitize.bounds.detector import fill_table
from visim.sanitize.bounds.instrument import PREFIX, Reach
from visim.sanitize.bounds.table import ExtentTable
from visim.sanitize.detecting import Surroundings
from visim.sanitize.entries import entries
from visim.sanitize.quick.suspects import Suspects


class BoundsSuspects(Suspects):
    """Says where accesses have to stay, and hears of those that do not."""

    def __init__(self, surroundings: Surroundings, reach: Reach, table: ExtentTable) -> None:
        super().__init__()
        fill_table(table, surroundings, reach)

    def accesses(self, accesses: Accesses) -> None:
        """Look whether an access was out of range."""
        for _, site, _ in entries(accesses):
            if site.kind == WATCH and site.operation.startswith(PREFIX):
                self.is_suspicious = True
                return


__all__ = ["BoundsSuspects"]
